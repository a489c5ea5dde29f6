//! The connection, and what a server must be able to do.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event};

use super::options::{Bus, BusError};

/// How long the first connection may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// How often the connection is tried for life; two unanswered pings end it.
const PING_EVERY: Duration = Duration::from_secs(2);
/// Messages of one subscription that may wait for their reader.
const SUBSCRIPTION_CAPACITY: usize = 16 << 10;
/// The longest pause between tries to connect again.
const RECONNECT_MAX: Duration = Duration::from_millis(500);

/// The oldest server that will do: earlier ones sync differently.
pub(super) const SERVER_MIN: (i64, i64, i64) = (2, 12, 0);
/// The least `max_payload`, in bytes: a planner's commit of a large cluster must fit.
const PAYLOAD_MIN: usize = 8_000_000;

const TLS_REMEDY: &str = "check that the server speaks TLS, its certificate (its names, and whether it has expired), and \
                          ca_file under [log.nats] in daybook.toml";

/// How servers say that they have no room: for the server, and for the account.
const STORE_FULL: [&str; 2] = ["error code 10023", "error code 10047"];

/// Connects, and checks that the server will do.
pub async fn connect(bus: &Bus, name: &str) -> Result<Client, BusError> {
    let addresses = addresses(&bus.servers)?;
    let is_secure = bus.servers.split(',').any(|url| url.trim().starts_with("tls://"));
    let mut options = ConnectOptions::new()
        .name(name)
        .connection_timeout(CONNECT_PATIENCE)
        .ping_interval(PING_EVERY)
        .require_tls(is_secure)
        .subscription_capacity(SUBSCRIPTION_CAPACITY)
        .max_reconnects(None)
        .reconnect_delay_callback(|attempts| {
            Duration::from_millis(50 * u64::try_from(attempts.min(10)).unwrap_or(10)).min(RECONNECT_MAX)
        })
        .event_callback(|event| async move {
            match event {
                Event::Connected => tracing::debug!("connected to the NATS server"),
                Event::Disconnected => {
                    tracing::warn!("the connection to the NATS server is lost; trying again")
                }
                other => tracing::warn!(event = %other, "NATS"),
            }
        });
    if let Some(path) = &bus.nkey_file {
        options = options.nkey(read_seed(path)?);
    }
    if let Some(path) = &bus.ca_file {
        if !path.is_file() {
            return Err(BusError::File {
                path: path.clone(),
                why: "no such file; it is made by \"daybook keys\"".to_string(),
            });
        }
        options = options.add_root_certificates(path.clone());
    }
    if let Some(prefix) = &bus.inbox_prefix {
        options = options.custom_inbox_prefix(prefix);
    }
    let client = options.connect(addresses).await.map_err(|error| {
        let why = chain(&error);
        // Some faults of TLS come as faults of the connection.
        let is_tls = is_secure && ["certificate", "corrupt message", "handshake"].iter().any(|word| why.contains(word));
        let remedy = match error.kind() {
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                "the server does not know this key: check nkey_file under [log.nats] in daybook.toml, and the users in \
                 the server's configuration"
            }
            _ if is_tls => TLS_REMEDY,
            ConnectErrorKind::Tls => TLS_REMEDY,
            ConnectErrorKind::Dns => "check the host's name",
            _ => "check that nats-server runs there, and the address given with --log",
        };
        BusError::Connect { servers: bus.servers.clone(), why, remedy }
    })?;
    check_server(&client)?;
    Ok(client)
}

fn addresses(servers: &str) -> Result<Vec<async_nats::ServerAddr>, BusError> {
    let parse = |url: &str| {
        let fault = |why: String| BusError::Url { url: url.to_string(), why };
        if !url.starts_with("nats://") && !url.starts_with("tls://") {
            return Err(fault("it starts with neither nats:// nor tls://".to_string()));
        }
        if url.ends_with("://") {
            return Err(fault("it names no host".to_string()));
        }
        url.parse::<async_nats::ServerAddr>().map_err(|error| fault(error.to_string()))
    };
    servers.split(',').map(|url| parse(url.trim())).collect()
}

fn read_seed(path: &Path) -> Result<String, BusError> {
    let fault = |why: String| BusError::File { path: path.to_path_buf(), why };
    let metadata = std::fs::metadata(path)
        .map_err(|error| fault(format!("{error}; the key is made by \"daybook keys\"")))?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(fault(format!(
            "others can read this key (mode {mode:03o}); chmod 600 it, and make a new one if somebody may have"
        )));
    }
    let seed = std::fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
    match seed.trim() {
        "" => Err(fault("it is empty; the key is made by \"daybook keys\"".to_string())),
        seed => Ok(seed.to_string()),
    }
}

fn check_server(client: &Client) -> Result<(), BusError> {
    let info = client.server_info();
    let unfit = |why: String| {
        Err(BusError::Server { server: info.server_name.clone(), version: info.version.clone(), why })
    };
    let (major, minor, patch) = SERVER_MIN;
    if !client.is_server_compatible(major, minor, patch) {
        return unfit(format!("it is too old; {major}.{minor} or later is needed"));
    }
    if !info.jetstream {
        return unfit("JetStream is off; add \"jetstream { ... }\" to its configuration".to_string());
    }
    if info.max_payload < PAYLOAD_MIN {
        return unfit(format!(
            "its messages have at most {} bytes; put \"max_payload: 8MB\" into its configuration",
            info.max_payload
        ));
    }
    Ok(())
}

/// An error with what caused it.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    if STORE_FULL.iter().any(|code| text.contains(code)) {
        text.push_str(
            ": the NATS server's store is full; make room on its disk or raise max_file_store, and restart nats-server (it \
             looks at the disk when it starts)",
        );
    }
    text
}
