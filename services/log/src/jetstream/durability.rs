//! Whether a server syncs before it acknowledges: its own word, read from its monitoring endpoint.

use std::collections::BTreeSet;
use std::time::Duration;

use async_nats::Client;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::options::BusError;
use crate::Durability;

/// How long an endpoint may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

/// Asks every monitoring endpoint. All servers that may keep the log must be asked, and all must sync.
pub(super) async fn check(
    client: &Client,
    monitor_urls: &[String],
    accept_unsynced: bool,
) -> Result<Durability, BusError> {
    match ask_all(client, monitor_urls).await {
        Ok(()) => Ok(Durability::Synced),
        Err(error) if accept_unsynced => {
            tracing::warn!("{error}");
            Ok(Durability::Unsynced)
        }
        Err(error) => Err(error),
    }
}

async fn ask_all(client: &Client, monitor_urls: &[String]) -> Result<(), BusError> {
    if monitor_urls.is_empty() {
        return Err(BusError::Unsynced {
            why: "whether the NATS server syncs before it acknowledges cannot be read: [log.nats] in daybook.toml names no monitor_url".to_string(),
            hint: ", and monitor_url = \"http://HOST:8222\" (its \"http\" port) into daybook.toml",
        });
    }
    let mut asked = BTreeSet::new();
    let mut servers_in_cluster = 1;
    for url in monitor_urls {
        let unreadable = |why: String| BusError::Unsynced {
            why: format!(
                "whether the NATS server syncs before it acknowledges cannot be read from {url}: {why}"
            ),
            hint: ", and let monitor_url in daybook.toml name its \"http\" port",
        };
        let answer = tokio::time::timeout(PATIENCE, get_json(url, "/jsz"))
            .await
            .unwrap_or_else(|_| Err("no answer".to_string()))
            .map_err(unreadable)?;
        let server = answer["server_id"]
            .as_str()
            .ok_or_else(|| unreadable("it is no /jsz of nats-server".to_string()))?;
        if answer["config"]["sync_always"].as_bool() != Some(true) {
            let every = answer["config"]["sync_interval"].as_u64().unwrap_or(0) / 1_000_000_000;
            return Err(BusError::Unsynced {
                why: format!(
                    "the NATS server at {url} acknowledges before it syncs (it syncs every {every} s)"
                ),
                hint: "",
            });
        }
        servers_in_cluster =
            servers_in_cluster.max(answer["meta_cluster"]["cluster_size"].as_u64().unwrap_or(1));
        asked.insert(server.to_string());
    }
    let connected = client.server_info().server_id;
    if !asked.contains(&connected) || (asked.len() as u64) < servers_in_cluster {
        return Err(BusError::Unsynced {
            why: format!(
                "of {servers_in_cluster} NATS servers {} were asked whether they sync before they acknowledge{}",
                asked.len(),
                if asked.contains(&connected) {
                    ""
                } else {
                    ", and the one that we are connected to was not among them"
                },
            ),
            hint: " of each, and all their endpoints into monitor_url",
        });
    }
    Ok(())
}

/// A plain GET. It is one request to a server on the own network: no client library is worth it.
async fn get_json(url: &str, path: &str) -> Result<Value, String> {
    let host = url.strip_prefix("http://").ok_or("it does not start with http://")?.trim_end_matches('/');
    let address = if host.contains(':') { host.to_string() } else { format!("{host}:80") };
    let mut stream = TcpStream::connect(&address).await.map_err(|error| error.to_string())?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await.map_err(|error| error.to_string())?;
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").ok_or("it is no HTTP answer")?;
    let status = String::from_utf8_lossy(&answer[..end]).lines().next().unwrap_or_default().to_string();
    if status.split(' ').nth(1) != Some("200") {
        return Err(format!("it answers \"{status}\""));
    }
    serde_json::from_slice(&answer[end + 4..]).map_err(|error| format!("its answer is no JSON: {error}"))
}
