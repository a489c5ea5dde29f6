//! The questions over HTTP.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use daybook_log::clock::Clock;
use daybook_log::follow::Live;
use daybook_model::{Cluster, Job};
use daybook_plan::{Policy, explain};
use daybook_schemas::JobId;
use daybook_schemas::api::{
    AccountsView, ApiError, ErrorCode, Explanation, JobQuery, JobView, JobWaitAnswer, LicenseView, NodeView,
    PartitionView, PrioritiesAnswer, ReservationView, SharesAnswer, Statistics,
};
use daybook_schemas::events::ClusterConfigured;
use serde::Deserialize;

use crate::accounts::accounts_view;
use crate::statistics::Began;
use crate::table::job_table;
use crate::views::{job_view, license_views, node_view, partition_view, reservation_view};

/// The longest that a question waits for the projection to catch up.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest that one wait for a job's end takes.
const WAIT_SECONDS_MAX: u64 = 300;

/// What the routes answer from.
#[derive(Clone)]
pub struct Queue {
    /// The model.
    pub live: Live<Cluster>,
    /// For the running time of what runs.
    pub clock: Arc<dyn Clock>,
    /// Where counting began.
    began: Arc<Began>,
}

struct Refused(ApiError);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(self.0)).into_response()
    }
}

type Answer<T> = Result<Json<T>, Refused>;

/// The routes of the service `queue` in [`daybook_schemas::api::OPERATIONS`].
pub fn router(queue: Queue) -> Router {
    Router::new()
        .route("/v1/jobs/query", post(query))
        .route("/v1/jobs", get(jobs))
        .route("/v1/jobs/{id}", get(job))
        .route("/v1/jobs/{id}/wait", get(wait))
        .route("/v1/jobs/{id}/why", get(why))
        .route("/v1/statistics", get(statistics))
        .route("/v1/nodes", get(nodes))
        .route("/v1/partitions", get(partitions))
        .route("/v1/accounts", get(accounts))
        .route("/v1/licenses", get(licenses))
        .route("/v1/reservations", get(reservations))
        .route("/v1/priorities", get(priorities))
        .route("/v1/shares", get(shares))
        .route("/v1/cluster", get(cluster))
        .with_state(queue)
}

impl Queue {
    /// Answers from this model; counts from here on.
    pub fn new(live: Live<Cluster>, clock: Arc<dyn Clock>) -> Queue {
        let began = Arc::new(Began::of(&live.now(), clock.now()));
        Queue { live, clock, began }
    }

    async fn current(&self) -> Result<Arc<Cluster>, Refused> {
        self.live
            .current(PATIENCE)
            .await
            .map_err(|error| Refused(ApiError::new(ErrorCode::NotReady, error.to_string())))
    }
}

fn unknown_job() -> Refused {
    Refused(ApiError::new(ErrorCode::InvalidJobId, "Invalid job id specified"))
}

/// The records of a job id: itself, and of an array every task's too.
fn records(cluster: &Cluster, id: JobId) -> Vec<Arc<Job>> {
    let mut found: Vec<Arc<Job>> = cluster.jobs().get(&id).cloned().into_iter().collect();
    if let Some(array) = cluster.arrays().get(&id) {
        let tasks =
            array.started.iter().filter_map(|task| array.task_job_id(task)).filter(|task| *task != id);
        found.extend(tasks.filter_map(|task| cluster.jobs().get(&task).cloned()));
    }
    found
}

async fn query(State(queue): State<Queue>, Json(query): Json<JobQuery>) -> Result<Response, Refused> {
    let cluster = queue.current().await?;
    if let [only] = &query.filter.jobs[..]
        && records(&cluster, only.job).is_empty()
    {
        return Err(unknown_job());
    }
    let now = queue.clock.now();
    // A table of a large queue takes milliseconds of computing: not on the threads that serve connections.
    let table = tokio::task::spawn_blocking(move || job_table(&cluster, &query, now)).await;
    let internal = |error: String| Refused(ApiError::new(ErrorCode::Internal, error));
    let table =
        table.map_err(|error| internal(error.to_string()))?.map_err(|error| internal(error.to_string()))?;
    Ok(([(CONTENT_TYPE, "application/json")], table).into_response())
}

async fn accounts(State(queue): State<Queue>) -> Answer<AccountsView> {
    Ok(Json(accounts_view(queue.current().await?.as_ref())))
}

async fn jobs(State(queue): State<Queue>) -> Answer<Vec<JobView>> {
    let cluster = queue.current().await?;
    let now = queue.clock.now();
    Ok(Json(cluster.jobs().values().map(|job| job_view(&cluster, job, now)).collect()))
}

fn parse_id(text: &str) -> Result<JobId, Refused> {
    text.parse().map(JobId).map_err(|_| unknown_job())
}

async fn job(State(queue): State<Queue>, Path(id): Path<String>) -> Answer<Vec<JobView>> {
    let id = parse_id(&id)?;
    let cluster = queue.current().await?;
    let found = records(&cluster, id);
    if found.is_empty() {
        return Err(unknown_job());
    }
    let now = queue.clock.now();
    Ok(Json(found.iter().map(|job| job_view(&cluster, job, now)).collect()))
}

#[derive(Deserialize)]
struct WaitParameters {
    timeout_seconds: Option<u64>,
}

async fn wait(
    State(queue): State<Queue>,
    Path(id): Path<String>,
    Query(parameters): Query<WaitParameters>,
) -> Answer<JobWaitAnswer> {
    let id = parse_id(&id)?;
    if records(&*queue.current().await?, id).is_empty() {
        return Err(unknown_job());
    }
    let patience = Duration::from_secs(parameters.timeout_seconds.unwrap_or(60).min(WAIT_SECONDS_MAX));
    let mut snapshots = queue.live.subscribe();
    let ended =
        tokio::time::timeout(patience, snapshots.wait_for(|cluster| outcome(cluster, id).is_some())).await;
    Ok(Json(match ended {
        Ok(Ok(cluster)) => JobWaitAnswer { ended: true, exit_code: outcome(&cluster, id).unwrap_or(0) },
        _ => JobWaitAnswer { ended: false, exit_code: 0 },
    }))
}

/// The exit code of a job that is over: of an array the highest of its tasks'. A job no longer in memory is over.
fn outcome(cluster: &Cluster, id: JobId) -> Option<u32> {
    if let Some(array) = cluster.arrays().get(&id)
        && !array.is_over()
    {
        return None;
    }
    let codes = records(cluster, id).into_iter().map(|job| {
        let code = if job.exit.signal > 0 { 1 } else { job.exit.code };
        let failed_without_code = job.state != daybook_schemas::job::JobState::Completed && code == 0;
        job.state.is_ended().then_some(if failed_without_code { 1 } else { code })
    });
    codes.collect::<Option<Vec<u32>>>().map(|codes| codes.into_iter().max().unwrap_or(0))
}

#[derive(Deserialize)]
struct WhyParameters {
    task: Option<String>,
}

async fn why(
    State(queue): State<Queue>,
    Path(id): Path<String>,
    Query(parameters): Query<WhyParameters>,
) -> Answer<Explanation> {
    let id = parse_id(&id)?;
    let task = parameters.task.map(|task| task.parse().map_err(|_| unknown_job())).transpose()?;
    let cluster = queue.current().await?;
    let record = record_of(&cluster, id, task).ok_or_else(unknown_job)?;
    let policy = Policy::of(&cluster)
        .ok_or_else(|| Refused(ApiError::new(ErrorCode::NotReady, "the cluster is not configured yet")))?;
    // As the planner does: its clock is never behind the log.
    let now = queue.clock.now().max(cluster.time());
    // It takes as long as a planning cycle: not on the threads that serve connections.
    let explained = tokio::task::spawn_blocking(move || explain(&cluster, now, &policy, record)).await;
    let explained =
        explained.map_err(|error| Refused(ApiError::new(ErrorCode::Internal, error.to_string())))?;
    explained.map(Json).ok_or_else(unknown_job)
}

/// The record that a person means by a job's id, or by an array's and a task.
fn record_of(cluster: &Cluster, id: JobId, task: Option<u32>) -> Option<JobId> {
    let array = cluster.arrays().get(&id);
    let in_memory = |id: &JobId| cluster.jobs().contains_key(id);
    let Some(task) = task else {
        // Of an array whose own record is gone, the first task that is still there.
        let first = || records(cluster, id).first().map(|job| job.id);
        return Some(id).filter(in_memory).or_else(first);
    };
    let array = array?;
    if array.started.contains(task) {
        return array.task_job_id(task).filter(in_memory);
    }
    let waits = |job: &Arc<Job>| job.tasks_waiting.as_ref().is_some_and(|tasks| tasks.contains(task));
    cluster.jobs().get(&id).filter(|job| waits(job)).map(|job| job.id)
}

async fn statistics(State(queue): State<Queue>) -> Answer<Statistics> {
    let cluster = queue.current().await?;
    let now = queue.clock.now();
    let counted = tokio::task::spawn_blocking(move || queue.began.count(&cluster, now)).await;
    counted.map(Json).map_err(|error| Refused(ApiError::new(ErrorCode::Internal, error.to_string())))
}

async fn nodes(State(queue): State<Queue>) -> Answer<Vec<NodeView>> {
    let cluster = queue.current().await?;
    let mut nodes: Vec<_> = cluster.nodes().values().collect();
    nodes.sort_by_key(|node| node.order);
    let planned = cluster.planned_nodes();
    let now = queue.clock.now().max(cluster.time());
    let view =
        |node: &daybook_model::Node| node_view(&cluster, node, planned.contains(&node.definition.name), now);
    Ok(Json(nodes.into_iter().map(|node| view(node)).collect()))
}

async fn partitions(State(queue): State<Queue>) -> Answer<Vec<PartitionView>> {
    let cluster = queue.current().await?;
    let partitions = cluster.configured().map_or(&[][..], |configured| &configured.partitions);
    Ok(Json(partitions.iter().map(|partition| partition_view(&cluster, partition)).collect()))
}

async fn licenses(State(queue): State<Queue>) -> Answer<Vec<LicenseView>> {
    let cluster = queue.current().await?;
    Ok(Json(license_views(&cluster)))
}

async fn reservations(State(queue): State<Queue>) -> Answer<Vec<ReservationView>> {
    let cluster = queue.current().await?;
    let now = queue.clock.now().max(cluster.time());
    let all = cluster.reservations().values();
    Ok(Json(all.filter_map(|found| reservation_view(&cluster, found, now)).collect()))
}

async fn priorities(State(queue): State<Queue>) -> Answer<PrioritiesAnswer> {
    let cluster = queue.current().await?;
    let told = tokio::task::spawn_blocking(move || crate::priorities::priorities(&cluster)).await;
    told.map(Json).map_err(|error| Refused(ApiError::new(ErrorCode::Internal, error.to_string())))
}

async fn shares(State(queue): State<Queue>) -> Answer<SharesAnswer> {
    let cluster = queue.current().await?;
    let now = queue.clock.now().max(cluster.time());
    let told = tokio::task::spawn_blocking(move || crate::priorities::shares(&cluster, now)).await;
    told.map(Json).map_err(|error| Refused(ApiError::new(ErrorCode::Internal, error.to_string())))
}

async fn cluster(State(queue): State<Queue>) -> Answer<ClusterConfigured> {
    let cluster = queue.current().await?;
    match cluster.configured() {
        Some(configured) => Ok(Json((**configured).clone())),
        None => Err(Refused(ApiError::new(ErrorCode::NotReady, "the cluster is not configured yet"))),
    }
}
