//! Login machines: what runs on one (`daybookd relay`), and the service that answers them.

use std::sync::Arc;

use daybook_config::Configuration;
use daybook_log::clock::{Clock, SystemClock};
use daybook_log::jetstream;
use daybook_relay::{KnownRelay, Login, Service};

use crate::RelayArguments;
use crate::cluster::{configure, wait_for_stop};
use crate::log::{Place, bus};
use crate::roles::Roles;
use crate::socket::{self, Server};

/// Everybody on the machine may ask; who they are, the kernel says.
const SOCKET_MODE: u32 = 0o666;

/// Passes requests on until TERM or INT.
pub async fn run(arguments: RelayArguments) -> Result<(), String> {
    let configuration = configure(&arguments.config)?;
    let settings = &configuration.daemon;
    let Place::Bus(servers) = Place::choose(arguments.log.as_deref(), settings)? else {
        return Err("a relay reaches the cluster over its NATS servers: put backend = \"nats\" under [log] and their url \
                    under [log.nats] into daybook.toml, or give --log nats://HOST:PORT"
            .to_string());
    };
    let Some(seed_file) = &settings.nats.nkey_file else {
        return Err("a relay signs with its key: make one with \"daybook keys add-relay\", and name its file as nkey_file \
                    under [log.nats] in daybook.toml"
            .to_string());
    };
    let name = match arguments.name {
        Some(name) => name,
        None => host_name()?,
    };
    let client = jetstream::connect(&bus(&servers, &settings.nats), &format!("daybook relay {name}"))
        .await
        .map_err(|error| error.to_string())?;
    let cluster = &configuration.cluster.cluster_name;
    let login = Login::new(client, cluster, &name, seed_file, Arc::new(SystemClock))
        .map_err(|error| error.to_string())?;
    tracing::info!(relay = %name, %cluster, key = %login.public_key(), "passing requests on");
    let path = socket::path(arguments.socket.as_deref(), settings);
    let server = Server::start(path, SOCKET_MODE, daybook_relay::router(login)).await?;
    crate::say::ready();
    let outcome = wait_for_stop().await;
    tracing::info!("stopping");
    server.stop().await;
    outcome
}

fn host_name() -> Result<String, String> {
    let unnamed = |why: &str| format!("this machine's name: {why}; give --name");
    let name = nix::unistd::gethostname().map_err(|error| unnamed(&error.to_string()))?;
    name.into_string().map_err(|_| unnamed("it is not UTF-8"))
}

/// Answers the relays that are configured, where everything that they may ask for is served.
pub async fn serve(
    roles: Roles,
    configuration: &Configuration,
    place: &Place,
    router: axum::Router,
    clock: Arc<dyn Clock>,
) -> Result<Option<Service>, String> {
    let settings = &configuration.daemon;
    let known = |relay: &daybook_config::RelaySettings| KnownRelay {
        name: relay.name.clone(),
        key: relay.key.clone(),
        root: relay.root,
    };
    let relays: Vec<KnownRelay> = settings.relays.iter().map(known).collect();
    let Place::Bus(servers) = place else {
        if !relays.is_empty() {
            tracing::warn!(
                "[relays] has no effect: relays reach a cluster over NATS, and this log is embedded"
            );
        }
        return Ok(None);
    };
    if relays.is_empty() {
        return Ok(None);
    }
    if !(roles.gateway && roles.queue && roles.ledger) {
        tracing::info!(
            "relays are served by daemons with the roles gateway, queue and ledger; not by this one"
        );
        return Ok(None);
    }
    // A connection of its own: bodies would be in the way of the log's appends.
    let client = jetstream::connect(&bus(servers, &settings.nats), "daybook relays")
        .await
        .map_err(|error| error.to_string())?;
    let cluster = &configuration.cluster.cluster_name;
    let service =
        Service::start(client, cluster, &relays, router, clock).await.map_err(|error| error.to_string())?;
    tracing::info!(relays = relays.len(), "serving login machines");
    Ok(Some(service))
}
