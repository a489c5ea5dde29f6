use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use daybook_schemas::api::{AccountingQuery, ApiError, BODY_BYTES_MAX, CapacityQuery, ErrorCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ledger::Ledger;

/// The ledger's part of the interface: `POST /v1/accounting/query` and `POST /v1/ledger/capacity`.
///
/// Everybody may ask about everybody (Slurm's `PrivateData=none`); the client decides whose records it shows by default.
pub fn router(ledger: Arc<Ledger>) -> Router {
    Router::new()
        .route("/v1/accounting/query", post(accounting))
        .route("/v1/ledger/capacity", post(capacity))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(ledger)
}

async fn accounting(State(ledger): State<Arc<Ledger>>, body: Bytes) -> Response {
    match read::<AccountingQuery>(&body) {
        Ok(query) => answer(ledger.query(query).await),
        Err(error) => refuse(&error),
    }
}

async fn capacity(State(ledger): State<Arc<Ledger>>, body: Bytes) -> Response {
    match read::<CapacityQuery>(&body) {
        Ok(query) => answer(ledger.capacity(query).await),
        Err(error) => refuse(&error),
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        ApiError::new(ErrorCode::InvalidRequest, "the request is malformed").detail(error.to_string())
    })
}

fn answer<T: Serialize>(answer: Result<T, ApiError>) -> Response {
    match answer {
        Ok(answer) => json(StatusCode::OK, &answer),
        Err(error) => refuse(&error),
    }
}

fn refuse(error: &ApiError) -> Response {
    let status = StatusCode::from_u16(error.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    json(status, error)
}

fn json<T: Serialize>(status: StatusCode, body: &T) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => (status, [(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
