//! One exchange at the daemon: the body gathered and checked, the routes asked, the answer sent.

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::http::{Request, Response};
use bytes::{Bytes, BytesMut};
use daybook_gateway::Relayed;
use daybook_schemas::BlobHash;
use daybook_schemas::api::{ApiError, ErrorCode, Peer};
use futures_util::StreamExt as _;
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt as _;

use crate::bounds::PIECE_BYTES;
use crate::frame::{Frame, Head};
use crate::line::{Line, LineError};
use crate::statement::{Opening, Statement};

/// Answers an opening that has been admitted. The routes' work ends with the exchange: when the client hangs up, when the
/// relay is silent, and when `cut` becomes true.
pub(crate) async fn answer(
    mut line: Line,
    opening: Opening,
    router: Router,
    bodies: &Semaphore,
    mut cut: watch::Receiver<bool>,
) {
    let gone = line.gone();
    let relay = opening.statement.relay.clone();
    let outcome = tokio::select! {
        outcome = exchange(&mut line, opening, router, bodies) => outcome,
        why = gone => Err(why),
        () = until(&mut cut) => {
            // Said before the process ends; who does not hear it hears the silence.
            let _ = line.send(Frame::Broken("the daemon stops".to_string())).await;
            return;
        }
    };
    if let Err(why) = outcome {
        tracing::debug!(%relay, %why, "a relayed request has ended early");
        line.give_up(&why.to_string());
    }
}

/// Waits until exchanges are cut.
async fn until(cut: &mut watch::Receiver<bool>) {
    // Who could say so and is gone has cut them, too.
    let _ = cut.wait_for(|cut| *cut).await;
}

async fn exchange(
    line: &mut Line,
    opening: Opening,
    router: Router,
    bodies: &Semaphore,
) -> Result<(), LineError> {
    let Opening { statement, body, .. } = opening;
    // Closed only with the process.
    let _room = bodies.acquire_many(kib(statement.body_bytes)).await.map_err(|_| LineError::Closed)?;
    let body = gather(line, body, statement.body_bytes).await?;
    if BlobHash::of(&body) != statement.body {
        let error = ApiError::new(ErrorCode::InvalidRequest, "The login machine's relay is not served");
        return refuse(line, error.detail("the body is not the one that was signed")).await;
    }
    match request(statement, body) {
        Ok(request) => {
            // A router answers every request, if only with 404.
            let Ok(response) = router.oneshot(request).await;
            send(line, response).await
        }
        Err(why) => {
            refuse(line, ApiError::new(ErrorCode::InvalidRequest, "Invalid request").detail(why)).await
        }
    }
}

/// What a body counts for.
pub(crate) fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX)
}

async fn gather(line: &mut Line, begun: Bytes, bytes: usize) -> Result<Bytes, LineError> {
    if begun.len() == bytes {
        return Ok(begun);
    }
    let mut body = BytesMut::with_capacity(bytes);
    body.extend_from_slice(&begun);
    while body.len() < bytes {
        match line.next().await? {
            Frame::Piece(_, piece) if !piece.is_empty() && body.len() + piece.len() <= bytes => {
                body.extend_from_slice(&piece);
            }
            _ => return Err(LineError::Lost),
        }
    }
    Ok(body.freeze())
}

fn request(statement: Statement, body: Bytes) -> Result<Request<Body>, String> {
    let request = Request::builder()
        .method(statement.method.as_str())
        .uri(statement.path.as_str())
        .header(HOST, "daybook")
        .header(CONTENT_TYPE, "application/json")
        .extension(Peer { uid: statement.uid, gid: statement.gid, pid: statement.pid })
        .extension(Relayed { via: statement.relay, user: statement.user, group: statement.group });
    request.body(Body::from(body)).map_err(|error| error.to_string())
}

/// An answer without the routes.
pub(crate) async fn refuse(line: &mut Line, error: ApiError) -> Result<(), LineError> {
    let body = serde_json::to_vec(&error).unwrap_or_default();
    let content_type = Some("application/json".to_string());
    line.send(Frame::Head(Head { status: error.code.http_status(), content_type })).await?;
    line.send_piece(body.into()).await?;
    line.send_end().await
}

async fn send(line: &mut Line, response: Response<Body>) -> Result<(), LineError> {
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let head = Head { status: response.status().as_u16(), content_type: content_type.map(String::from) };
    line.send(Frame::Head(head)).await?;
    let mut body = response.into_body().into_data_stream();
    while let Some(part) = body.next().await {
        let mut part = part.map_err(|error| LineError::Broken(error.to_string()))?;
        while !part.is_empty() {
            let piece = part.split_to(part.len().min(PIECE_BYTES));
            line.send_piece(piece).await?;
        }
    }
    line.send_end().await
}
