//! Every rule of the event log.

use std::sync::Arc;

use async_trait::async_trait;
use daybook_log::LogHandle;
use daybook_log::clock::Clock;
use daybook_log::conformance::Place;
use daybook_nats_server::{NatsServer, Settings};
use tempfile::TempDir;

use crate::support::open_with_clock;

struct OnABus {
    dir: TempDir,
    server: NatsServer,
}

impl OnABus {
    fn fresh() -> OnABus {
        let dir = tempfile::tempdir().unwrap();
        let server = NatsServer::start(&dir.path().join("nats"), &Settings::default()).unwrap();
        OnABus { dir, server }
    }
}

#[async_trait]
impl Place for OnABus {
    async fn open(&self, clock: Arc<dyn Clock>) -> LogHandle {
        open_with_clock(&self.server, &self.dir.path().join("copy"), clock).await
    }
}

daybook_log::conformance_suite!(OnABus::fresh());
