//! The socket that this machine's clients use.

use std::path::{Path, PathBuf};
use std::time::Duration;

use daybook_config::DaemonSettings;

/// How long open requests may take when the daemon stops.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// Serves routes on a socket until it is stopped.
pub struct Server {
    path: PathBuf,
    stop: tokio::sync::watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Binds the socket with this mode, and serves.
    pub async fn start(path: PathBuf, mode: u32, router: axum::Router) -> Result<Server, String> {
        let listener = daybook_gateway::bind(&path, mode).await.map_err(|error| error.to_string())?;
        let (stop, mut told) = tokio::sync::watch::channel(false);
        let serving = daybook_gateway::serve(listener, router, async move {
            let _ = told.wait_for(|stop| *stop).await;
        });
        let task = tokio::spawn(async move {
            let _ = serving.await;
        });
        tracing::info!(socket = %path.display(), "listening");
        Ok(Server { path, stop, task })
    }

    /// Lets open requests end for [`STOP_PATIENCE`], and removes the socket.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        // Long polls and followers would keep the server for minutes: they are cut.
        if tokio::time::timeout(STOP_PATIENCE, &mut self.task).await.is_err() {
            self.task.abort();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Where it is: as asked, else as configured, else where clients look for it; without root in the user's own directory.
pub fn path(asked: Option<&Path>, settings: &DaemonSettings) -> PathBuf {
    if let Some(path) = asked.or(settings.socket.as_deref()) {
        return path.to_path_buf();
    }
    match (nix::unistd::geteuid().is_root(), std::env::var_os("XDG_RUNTIME_DIR")) {
        (true, _) | (_, None) => PathBuf::from("/run/daybook/daybook.sock"),
        (_, Some(runtime)) => PathBuf::from(runtime).join("daybook/daybook.sock"),
    }
}
