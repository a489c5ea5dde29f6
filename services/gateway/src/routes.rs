//! The requests over HTTP.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use daybook_log::LogHandle;
use daybook_log::follow::Live;
use daybook_model::Cluster;
use daybook_schemas::api::{
    AccountsChangeRequest, AccountsChanged, ApiError, BODY_BYTES_MAX, CancelRequest, Changed, ErrorCode,
    JobAction, JobSubmission, JobUpdateRequest, NodeUpdateRequest, PartitionChange, PartitionDeletion, Ping,
    Reconfiguration, ReservationAnswer, ReservationDeletion, ReservationRequest, SubmitAnswer, openapi,
};
use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::{BlobHash, Stream};

use crate::asker::Asker;
use crate::authority::{Authority, denied};
use crate::intake::{Intake, Outcome};
use crate::requests::{
    self, AccountsRequest, Action, ActionKind, Cancel, CreatePartition, DeletePartition, NodeUpdate,
    Reconfigure, Request, ReservationChange, Submission, Suspension, Update, UpdatePartition,
};

/// What the routes work with.
#[derive(Clone)]
pub struct Gateway {
    /// Where requests become events.
    pub intake: Intake,
    /// The model.
    pub live: Live<Cluster>,
    /// The log, for the events route.
    pub log: LogHandle,
    /// The daemon's standing.
    pub authority: Authority,
    /// Reads the configuration files again.
    pub read_configuration: ReadConfiguration,
}

/// Reads the configuration files, and says what they describe; may block. An error is answered as it is.
pub type ReadConfiguration = Arc<dyn Fn() -> Result<ClusterConfigured, ApiError> + Send + Sync>;

pub(crate) struct Refused(pub(crate) ApiError);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(self.0)).into_response()
    }
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Refused {
        Refused(error)
    }
}

type Answer<T> = Result<Json<T>, Refused>;

/// The routes of the service `gateway` in [`daybook_schemas::api::OPERATIONS`], and `/openapi.json`.
pub fn router(gateway: Gateway) -> Router {
    Router::new()
        .route("/v1/ping", get(ping))
        .route("/v1/jobs", post(submit))
        .route("/v1/jobs/cancel", post(cancel))
        .route("/v1/jobs/hold", post(hold))
        .route("/v1/jobs/release", post(release))
        .route("/v1/jobs/requeue", post(requeue))
        .route("/v1/jobs/top", post(top))
        .route("/v1/jobs/suspend", post(suspend))
        .route("/v1/jobs/resume", post(resume))
        .route("/v1/jobs/update", post(update))
        .route("/v1/nodes/update", post(update_nodes))
        .route("/v1/accounts/change", post(change_accounts))
        .route("/v1/partitions/create", post(create_partition))
        .route("/v1/partitions/update", post(update_partition))
        .route("/v1/partitions/delete", post(delete_partition))
        .route("/v1/reconfigure", post(reconfigure))
        .route("/v1/reservations/create", post(create_reservation))
        .route("/v1/reservations/update", post(update_reservation))
        .route("/v1/reservations/delete", post(delete_reservation))
        .route("/v1/events", get(crate::events_route::events))
        .route("/openapi.json", get(|| async { Json(openapi(env!("CARGO_PKG_VERSION"))) }))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(gateway)
}

async fn ping(State(gateway): State<Gateway>) -> Answer<Ping> {
    let cluster = gateway.live.current(Duration::from_secs(5)).await;
    let cluster = cluster.map_err(|error| ApiError::new(ErrorCode::NotReady, error.to_string()))?;
    let host = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Json(Ping {
        version: env!("CARGO_PKG_VERSION").to_string(),
        cluster: cluster.configured().map(|configured| configured.cluster_name.clone()).unwrap_or_default(),
        host,
        end: gateway.log.end(Stream::State),
        shown: cluster.position(),
        pid: std::process::id(),
    }))
}

impl Gateway {
    /// Admits the peer and has the request decided.
    async fn ask(
        &self,
        asker: Asker,
        request_id: String,
        request: Request,
        blobs: Vec<Arc<[u8]>>,
    ) -> Result<Outcome, ApiError> {
        self.authority.admit(asker.peer)?;
        self.intake.submit(request, request_id, asker.peer, asker.actor(), blobs).await
    }

    fn is_administrator(&self, asker: &Asker) -> bool {
        let authority = self.authority.asked_by(&asker.identity().name);
        authority.is_administrator(&self.live.now(), asker.peer.uid)
    }
}

async fn submit(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(mut asked): Json<JobSubmission>,
) -> Answer<SubmitAnswer> {
    requests::check_payload(&asked)?;
    let user = match asked.user.take() {
        None => asker.identity(),
        Some(user) if user.uid == asker.peer.uid => asker.identity(),
        Some(user) if gateway.is_administrator(&asker) => user,
        Some(_) => return Err(denied().into()),
    };
    let script: Arc<[u8]> = std::mem::take(&mut asked.script.0).into();
    let mut environment = Vec::new();
    for entry in std::mem::take(&mut asked.environment) {
        environment.extend_from_slice(&entry.0);
        environment.push(0);
    }
    let environment: Arc<[u8]> = environment.into();
    let submission = Submission {
        script: BlobHash::of(&script),
        script_bytes: script.len() as u64,
        environment: BlobHash::of(&environment),
        user,
        asked,
    };
    let request_id = submission.asked.request_id.clone();
    let request = Request::Submission(Box::new(submission));
    let outcome = gateway.ask(asker, request_id, request, vec![script, environment]).await?;
    let job = outcome.decided.job.ok_or_else(|| {
        ApiError::new(ErrorCode::InvalidRequest, "Invalid request id")
            .detail("it was used for another kind of request")
    })?;
    let cluster = gateway.live.now().configured().map(|configured| configured.cluster_name.clone());
    Ok(Json(SubmitAnswer { job, cluster: cluster.unwrap_or_default(), seq: outcome.seq }))
}

async fn cancel(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<CancelRequest>,
) -> Answer<Changed> {
    requests::check_restricted(&asked.filter)?;
    if asked.signal.is_some_and(|signal| !(1..=64).contains(&signal)) {
        return Err(ApiError::new(ErrorCode::InvalidRequest, "Invalid signal number").into());
    }
    changed(&gateway, asker, asked.request_id.clone(), Request::Cancel(Cancel(asked))).await
}

async fn changed(gateway: &Gateway, asker: Asker, request_id: String, request: Request) -> Answer<Changed> {
    let outcome = gateway.ask(asker, request_id, request, Vec::new()).await?;
    Ok(Json(Changed { outcomes: outcome.decided.targets, more: outcome.decided.more }))
}

async fn act(gateway: &Gateway, asker: Asker, kind: ActionKind, action: JobAction) -> Answer<Changed> {
    changed(gateway, asker, action.request_id.clone(), Request::Action(Action { kind, action })).await
}

async fn hold(State(gateway): State<Gateway>, asker: Asker, Json(asked): Json<JobAction>) -> Answer<Changed> {
    act(&gateway, asker, ActionKind::Hold, asked).await
}

async fn release(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<JobAction>,
) -> Answer<Changed> {
    act(&gateway, asker, ActionKind::Release, asked).await
}

async fn requeue(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<JobAction>,
) -> Answer<Changed> {
    act(&gateway, asker, ActionKind::Requeue, asked).await
}

async fn top(State(gateway): State<Gateway>, asker: Asker, Json(asked): Json<JobAction>) -> Answer<Changed> {
    act(&gateway, asker, ActionKind::Top, asked).await
}

async fn suspend(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<JobAction>,
) -> Answer<Changed> {
    let request = Request::Suspension(Suspension { resume: false, action: asked.clone() });
    changed(&gateway, asker, asked.request_id, request).await
}

async fn resume(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<JobAction>,
) -> Answer<Changed> {
    let request = Request::Suspension(Suspension { resume: true, action: asked.clone() });
    changed(&gateway, asker, asked.request_id, request).await
}

async fn update(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<JobUpdateRequest>,
) -> Answer<Changed> {
    changed(&gateway, asker, asked.request_id.clone(), Request::Update(Box::new(Update(asked)))).await
}

async fn change_accounts(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<AccountsChangeRequest>,
) -> Answer<AccountsChanged> {
    let request_id = asked.request_id.clone();
    let request = Request::Accounts(Box::new(AccountsRequest(asked)));
    let outcome = gateway.ask(asker, request_id, request, Vec::new()).await?;
    Ok(Json(AccountsChanged { targets: outcome.decided.accounts, seq: outcome.seq }))
}

async fn update_nodes(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<NodeUpdateRequest>,
) -> Answer<Changed> {
    changed(&gateway, asker, asked.request_id.clone(), Request::NodeUpdate(NodeUpdate(asked))).await
}

async fn reserve(
    gateway: &Gateway,
    asker: Asker,
    request_id: String,
    change: ReservationChange,
) -> Answer<ReservationAnswer> {
    let request = Request::Reservation(Box::new(change));
    let outcome = gateway.ask(asker, request_id, request, Vec::new()).await?;
    let name = outcome.decided.reservation.ok_or_else(|| {
        ApiError::new(ErrorCode::InvalidRequest, "Invalid request id")
            .detail("it was used for another kind of request")
    })?;
    Ok(Json(ReservationAnswer { name }))
}

async fn create_reservation(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<ReservationRequest>,
) -> Answer<ReservationAnswer> {
    reserve(&gateway, asker, asked.request_id.clone(), ReservationChange::Create(asked)).await
}

async fn update_reservation(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<ReservationRequest>,
) -> Answer<ReservationAnswer> {
    reserve(&gateway, asker, asked.request_id.clone(), ReservationChange::Update(asked)).await
}

async fn delete_reservation(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<ReservationDeletion>,
) -> Answer<ReservationAnswer> {
    reserve(&gateway, asker, asked.request_id.clone(), ReservationChange::Delete(asked)).await
}

async fn create_partition(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<PartitionChange>,
) -> Answer<Changed> {
    let request_id = asked.request_id.clone();
    changed(&gateway, asker, request_id, Request::CreatePartition(CreatePartition(asked))).await
}

async fn update_partition(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<PartitionChange>,
) -> Answer<Changed> {
    let request_id = asked.request_id.clone();
    changed(&gateway, asker, request_id, Request::UpdatePartition(UpdatePartition(asked))).await
}

async fn delete_partition(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<PartitionDeletion>,
) -> Answer<Changed> {
    let request_id = asked.request_id.clone();
    changed(&gateway, asker, request_id, Request::DeletePartition(DeletePartition(asked))).await
}

async fn reconfigure(
    State(gateway): State<Gateway>,
    asker: Asker,
    Json(asked): Json<Reconfiguration>,
) -> Answer<Changed> {
    gateway.authority.admit(asker.peer)?;
    requests::may_reconfigure(&gateway.live.now(), &gateway.authority, asker.peer)?;
    let read = gateway.read_configuration.clone();
    let read = tokio::task::spawn_blocking(move || read()).await;
    let configuration = read.map_err(|error| ApiError::new(ErrorCode::Internal, error.to_string()))??;
    let request = Request::Reconfigure(Box::new(Reconfigure(configuration)));
    changed(&gateway, asker, asked.request_id, request).await
}
