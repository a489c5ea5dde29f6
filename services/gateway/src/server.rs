//! The Unix socket: bound with care, served with the peer's credentials.

use std::future::Future;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use axum::Router;
use axum::extract::{ConnectInfo, Request, connect_info::Connected};
use axum::middleware::Next;
use axum::serve::IncomingStream;
use daybook_schemas::api::Peer;
use tokio::net::{UnixListener, UnixStream};

/// Why the socket cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another daemon answers there.
    #[error("{0} is served by another daybookd; stop it, or choose another path with --socket")]
    InUse(PathBuf),
    /// Something that is no socket stands there.
    #[error("{0} exists and is no socket; remove it, or choose another path with --socket")]
    NoSocket(PathBuf),
    /// The operating system refuses.
    #[error("cannot serve {path}: {source}")]
    Io {
        /// The socket.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Binds the socket; one that a dead daemon left behind is replaced. `mode` is set before anybody is served.
pub async fn bind(path: &Path, mode: u32) -> Result<UnixListener, ServeError> {
    let fault = |source| ServeError::Io { path: path.to_path_buf(), source };
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).map_err(fault)?;
    }
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => return Err(ServeError::NoSocket(path.to_path_buf())),
        Ok(_) => {
            if UnixStream::connect(path).await.is_ok() {
                return Err(ServeError::InUse(path.to_path_buf()));
            }
            std::fs::remove_file(path).map_err(fault)?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(fault(error)),
    }
    let listener = UnixListener::bind(path).map_err(fault)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(fault)?;
    Ok(listener)
}

/// The peer of a connection; `None` where the kernel would not say.
#[derive(Clone, Copy)]
struct Connection(Option<Peer>);

impl Connected<IncomingStream<'_, UnixListener>> for Connection {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Connection {
        let peer = stream.io().peer_cred().ok();
        Connection(peer.map(|peer| Peer { uid: peer.uid(), gid: peer.gid(), pid: peer.pid() }))
    }
}

/// Serves until `stop` is ready, then lets open requests end.
pub async fn serve(
    listener: UnixListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let router = router.layer(axum::middleware::from_fn(name_peer));
    let service = router.into_make_service_with_connect_info::<Connection>();
    axum::serve(listener, service).with_graceful_shutdown(stop).await
}

/// Puts the peer into the request; without one nobody is served.
async fn name_peer(mut request: Request, next: Next) -> axum::response::Response {
    use axum::response::IntoResponse;
    let connection = request.extensions().get::<ConnectInfo<Connection>>().map(|info| info.0);
    match connection.and_then(|connection| connection.0) {
        Some(peer) => {
            request.extensions_mut().insert(peer);
            next.run(request).await
        }
        None => axum::http::StatusCode::UNAUTHORIZED.into_response(),
    }
}
