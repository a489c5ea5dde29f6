//! Every rule of the event log.

use std::sync::Arc;

use async_trait::async_trait;
use daybook_log::LogHandle;
use daybook_log::clock::Clock;
use daybook_log::conformance::Place;
use daybook_log::embedded::{EmbeddedLog, OpenOptions};
use tempfile::TempDir;

struct OnDisk(TempDir);

impl OnDisk {
    fn fresh() -> OnDisk {
        OnDisk(tempfile::tempdir().unwrap())
    }
}

#[async_trait]
impl Place for OnDisk {
    async fn open(&self, clock: Arc<dyn Clock>) -> LogHandle {
        EmbeddedLog::open(&self.0.path().join("log"), OpenOptions { clock, recorded: Vec::new() }).unwrap()
    }
}

daybook_log::conformance_suite!(OnDisk::fresh());
