//! The log itself, read over HTTP as lines of JSON.

use std::collections::VecDeque;

use axum::body::Body as HttpBody;
use axum::extract::{Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use daybook_log::LogHandle;
use daybook_model::Cluster;
use daybook_schemas::api::{EventQuery, EventRecord};
use daybook_schemas::{Body, Commit, JobId, Seq, Stream};

use crate::routes::{Gateway, Refused};

/// Commits read at once.
const BATCH: usize = 256;

/// `GET /v1/events`.
pub(crate) async fn events(
    State(gateway): State<Gateway>,
    Query(query): Query<EventQuery>,
) -> Result<Response, Refused> {
    let from = query.from.unwrap_or(Seq(1)).max(Seq(1));
    let until = (!query.follow).then(|| gateway.log.end(query.stream));
    let reader = Reader {
        log: gateway.log.clone(),
        stream: query.stream,
        next: from,
        until,
        wanted: query.job.map(|job| Wanted::new(&gateway.live.now(), job)),
        left: query.limit.unwrap_or(u64::MAX),
        lines: VecDeque::new(),
    };
    let stream = futures_util::stream::unfold(reader, |mut reader| async move {
        reader.chunk().await.map(|chunk| (chunk, reader))
    });
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], HttpBody::from_stream(stream)).into_response())
}

/// The ids of one job: of an array its tasks' too.
struct Wanted {
    first: u32,
    last: u32,
}

impl Wanted {
    fn new(cluster: &Cluster, job: JobId) -> Wanted {
        let tasks = cluster.arrays().get(&job).map_or(1, |array| array.tasks().len());
        Wanted { first: job.0, last: job.0.saturating_add(u32::try_from(tasks).unwrap_or(u32::MAX) - 1) }
    }

    /// Whether an event is about it. A submission of an array tells how many ids there are.
    fn is_in(&mut self, body: &Body) -> bool {
        if let Body::JobSubmitted(data) = body
            && data.job.0 == self.first
        {
            self.last = data.job.0.saturating_add(data.ids.saturating_sub(1));
        }
        let ids = self.first..=self.last;
        let one = |job: JobId| ids.contains(&job.0);
        match body {
            Body::JobSubmitted(data) => one(data.job),
            Body::JobUpdated(data) => one(data.job),
            Body::JobParted(data) => one(data.array),
            Body::JobHeld(data) => one(data.target.job),
            Body::JobReleased(data) => one(data.target.job),
            Body::JobCancelRequested(data) => one(data.target.job),
            Body::JobRequeued(data) => one(data.job),
            Body::JobFinished(data) => one(data.job),
            Body::RunAllocated(data) => one(data.run.job),
            Body::RunStarted(data) => one(data.run.job),
            Body::RunEnded(data) => one(data.run.job),
            Body::RunLost(data) => one(data.run.job),
            Body::RunNodeReleased(data) => one(data.run.job),
            Body::JobSuspendRequested(data) => one(data.job),
            Body::JobResumeRequested(data) => one(data.job),
            Body::RunSuspended(data) => one(data.run.job),
            Body::RunResumed(data) => one(data.run.job),
            Body::RunResumeOrdered(data) => one(data.run.job),
            Body::RunPreempted(data) => {
                one(data.run.job) || one(data.by) || data.array.is_some_and(|task| one(task.array_job))
            }
            Body::RunUsedUp(data) => one(data.run.job),
            Body::RunUsage(data) => one(data.run.job),
            Body::PlannerCycle(data) => {
                data.starts.iter().any(|run| one(run.job))
                    || data.reasons.iter().any(|change| one(change.job))
                    || data.reservations.iter().any(|planned| one(planned.job))
            }
            Body::AccountDefined(_)
            | Body::AccountRemoved(_)
            | Body::AssociationDefined(_)
            | Body::AssociationRemoved(_)
            | Body::QosDefined(_)
            | Body::QosRemoved(_)
            | Body::UserDefined(_)
            | Body::UserRemoved(_)
            | Body::WckeyDefined(_)
            | Body::WckeyRemoved(_)
            | Body::PrioritiesCalculated(_)
            | Body::ClusterConfigured(_)
            | Body::PartitionUpdated(_)
            | Body::PartitionDeleted(_)
            | Body::ReservationCreated(_)
            | Body::ReservationUpdated(_)
            | Body::ReservationDeleted(_)
            | Body::NodeRegistered(_)
            | Body::NodeUpdated(_)
            | Body::NodeLeaseLost(_)
            | Body::NodeLeaseRegained(_)
            | Body::NodeTimedOut(_)
            | Body::LogDurabilityDeclared(_)
            | Body::LogVersionBarrier(_) => false,
        }
    }
}

struct Reader {
    log: LogHandle,
    stream: Stream,
    next: Seq,
    /// The last position to read; `None`: follow.
    until: Option<Seq>,
    wanted: Option<Wanted>,
    left: u64,
    lines: VecDeque<String>,
}

impl Reader {
    /// The next lines, or `None` at the end. An unreadable commit ends the answer with an error, never with a gap.
    async fn chunk(&mut self) -> Option<Result<String, std::io::Error>> {
        loop {
            if !self.lines.is_empty() {
                return Some(Ok(self.lines.drain(..).collect()));
            }
            if self.left == 0 || self.until.is_some_and(|until| self.next > until) {
                return None;
            }
            let commits = match self.log.read(self.stream, self.next, BATCH).await {
                Ok(commits) => commits,
                Err(error) => return Some(Err(std::io::Error::other(error.to_string()))),
            };
            if commits.is_empty() {
                // Only a follower gets here: the end stands still.
                self.until.is_none().then_some(())?;
                let before = Seq(self.next.0 - 1);
                self.log.wait_past(self.stream, before).await.ok()?;
                continue;
            }
            for commit in &commits {
                self.take(commit);
                self.next = commit.seq.next();
                if self.until.is_some_and(|until| commit.seq >= until) {
                    break;
                }
            }
        }
    }

    fn take(&mut self, commit: &Commit) {
        for event in &commit.events {
            let meant = self.wanted.as_mut().is_none_or(|wanted| wanted.is_in(&event.body));
            if !meant || self.left == 0 {
                continue;
            }
            let Ok(value) = event.to_value() else { continue };
            let record = EventRecord {
                seq: commit.seq,
                logged_at: commit.time,
                writer: commit.subject.to_string(),
                event: value,
            };
            if let Ok(mut line) = serde_json::to_string(&record) {
                line.push('\n');
                self.lines.push_back(line);
                self.left -= 1;
            }
        }
    }
}
