//! A server of its own for each test.

use std::path::Path;
use std::sync::Arc;

use daybook_log::clock::Clock;
use daybook_log::jetstream::{Bus, BusError, JetStreamLog, JetStreamOptions};
use daybook_nats_server::NatsServer;

pub fn options(server: &NatsServer, copy_dir: &Path) -> JetStreamOptions {
    JetStreamOptions {
        bus: Bus { servers: server.url(), ..Bus::default() },
        cluster: "test".to_string(),
        replicas: 1,
        monitor_urls: vec![server.monitor_url()],
        accept_unsynced: false,
        create: true,
        copy_dir: copy_dir.to_path_buf(),
        recorded: Vec::new(),
        clock: None,
    }
}

pub async fn open(options: JetStreamOptions) -> Result<Arc<JetStreamLog>, BusError> {
    JetStreamLog::open(options, |_, _, _| ()).await
}

pub async fn open_with_clock(
    server: &NatsServer,
    copy_dir: &Path,
    clock: Arc<dyn Clock>,
) -> Arc<JetStreamLog> {
    open(JetStreamOptions { clock: Some(clock), ..options(server, copy_dir) }).await.unwrap()
}
