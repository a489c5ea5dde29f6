//! The loop around the pure core: wakes when something has changed, plans on the newest snapshot, appends, and waits
//! until it sees its own commit.
//!
//! What makes it safe to kill at any line: a decision exists once it is in the log and not before; its event ids are
//! made from the position that it was decided from, so no position decides twice; and the append expects the last
//! commit of the subject `plan` that this planner has folded, so one that has been replaced cannot write.

use std::sync::Arc;
use std::time::Duration;

use daybook_log::clock::Clock;
use daybook_log::follow::{Live, NotReady};
use daybook_log::{Append, AppendError, LogHandle};
use daybook_model::Cluster;
use daybook_schemas::{Draft, Event, EventId, Seq, Stream, Subject, UtcMicros};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use daybook_plan::{Policy, calculation, plan};

/// How often expected starts alone are worth a commit.
const EXPECTATIONS_EVERY: Duration = Duration::from_secs(10);
/// The longest wait for a moment that matters: the machine's clock may be set meanwhile.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// How long one wait for the own commit is before it is said that it takes long.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between tries while the log does not take commits: doubled from the first to the last.
const BACKOFF: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(5)];

/// The running planner. Dropping it stops it.
pub struct Planner {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Planner {
    /// Starts planning. Must be called inside a tokio runtime.
    pub fn start(log: LogHandle, live: Live<Cluster>, clock: Arc<dyn Clock>) -> Planner {
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(Loop { log, live, clock, troubled: false, backoff: BACKOFF[0] }.run(stopped));
        Planner { stop, task }
    }

    /// Stops after the append that is under way, if any.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the planner did not end by itself");
        }
    }

    /// Waits until the planner has ended; it does so only when stopped, or when its projection cannot go on.
    pub async fn ended(&mut self) {
        if let Err(error) = (&mut self.task).await {
            tracing::error!(%error, "the planner has failed");
        }
    }
}

struct Loop {
    log: LogHandle,
    live: Live<Cluster>,
    clock: Arc<dyn Clock>,
    /// Whether trouble with the log has been told and is not over.
    troubled: bool,
    backoff: Duration,
}

/// What to do after a look at the cluster.
enum Next {
    /// Go on when this commit is folded.
    Fold(Seq),
    /// Nothing to do before a new snapshot, or this long.
    Wait(Option<Duration>),
    /// Try again after a pause.
    Pause,
}

impl Loop {
    async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let mut snapshots = self.live.subscribe();
        while !*stopped.borrow() {
            let cluster = snapshots.borrow_and_update().clone();
            let next = self.look(&cluster).await;
            let goes_on = tokio::select! {
                goes_on = self.follow(next, &mut snapshots) => goes_on,
                _ = stopped.wait_for(|stopped| *stopped) => false,
            };
            if !goes_on {
                return;
            }
        }
    }

    /// False: the projection will not move any more.
    async fn follow(&mut self, next: Next, snapshots: &mut watch::Receiver<Arc<Cluster>>) -> bool {
        match next {
            Next::Fold(seq) => self.fold_to(seq).await,
            Next::Pause => {
                tokio::time::sleep(self.backoff).await;
                self.backoff = (self.backoff * 2).min(BACKOFF[1]);
                true
            }
            Next::Wait(None) => snapshots.changed().await.is_ok(),
            Next::Wait(Some(wait)) => tokio::select! {
                changed = snapshots.changed() => changed.is_ok(),
                () = tokio::time::sleep(wait.min(WAIT_MAX)) => true,
            },
        }
    }

    async fn fold_to(&self, seq: Seq) -> bool {
        loop {
            match self.live.at_least(seq, PATIENCE).await {
                Ok(_) => return true,
                Err(NotReady::Behind { at, wanted }) => {
                    tracing::warn!(%at, %wanted, "the planner waits for the state to reach its own decision");
                }
                Err(NotReady::Stopped(why)) => {
                    tracing::error!(%why, "the planner stops: the state that it plans on does not move any more");
                    return false;
                }
            }
        }
    }

    /// One look at a snapshot: plans, and records what was decided.
    async fn look(&mut self, cluster: &Arc<Cluster>) -> Next {
        // The log's time is never behind what it has acknowledged; a clock that was set back does not undo it.
        let now = self.clock.now().max(cluster.time());
        let Some(policy) = Policy::of(cluster) else { return Next::Wait(None) };
        if let Some(events) = calculation(cluster, now) {
            return self.record(cluster, events).await;
        }
        let input = cluster.clone();
        let cycle = match tokio::task::spawn_blocking(move || plan(&input, now, &policy)).await {
            Ok(cycle) => cycle,
            Err(error) => return self.trouble(&format!("a planning cycle failed: {error}")),
        };
        if cycle.decides()
            || cycle.expects_otherwise(cluster) && self.until_expectations(cluster, now).is_none()
        {
            return self.record(cluster, cycle.to_events()).await;
        }
        let expectations =
            cycle.expects_otherwise(cluster).then(|| self.until_expectations(cluster, now)).flatten();
        let begin = cluster.delayed().iter().map(|(begin, _)| *begin).find(|begin| *begin > now);
        let begin = begin.map(|begin| Duration::from_micros(begin.0.abs_diff(now.0)));
        let wake = cycle.wake.map(|wake| Duration::from_micros(wake.0.abs_diff(now.0)));
        let due = cluster.priorities_due(now).map(|due| Duration::from_micros(due.0.abs_diff(now.0)));
        Next::Wait([begin, wake, expectations, due].into_iter().flatten().min())
    }

    /// How long until expected starts alone may be recorded again; `None`: they may now.
    fn until_expectations(&self, cluster: &Cluster, now: UtcMicros) -> Option<Duration> {
        let since =
            Duration::from_micros(u64::try_from(now.0.saturating_sub(cluster.last_cycle()?.0)).unwrap_or(0));
        EXPECTATIONS_EVERY.checked_sub(since).filter(|left| !left.is_zero())
    }

    async fn record(&mut self, cluster: &Cluster, events: Vec<Event>) -> Next {
        let first = events.first().map(|event| event.id.clone());
        let draft = Draft { subject: Subject::Plan, expect: Some(cluster.plan_seq()), events };
        let appended = self.log.append(Append { stream: Stream::State, draft, blobs: Vec::new() }).await;
        let seq = match appended {
            Ok(appended) => appended.seq,
            Err(AppendError::Duplicate { seq, .. }) => seq,
            Err(AppendError::Expectation { actual, .. }) => actual,
            Err(AppendError::Unknown(why)) => return self.look_up(first, &why).await,
            Err(error) => return self.trouble(&error.to_string()),
        };
        self.settled(cluster, seq)
    }

    /// After an unknown outcome the log is asked; nothing is decided before it has answered.
    async fn look_up(&mut self, first: Option<EventId>, why: &str) -> Next {
        self.trouble(why);
        let Some(id) = first else { return Next::Pause };
        loop {
            match self.log.find(Stream::State, &id).await {
                Ok(Some(seq)) => {
                    self.recovered();
                    return Next::Fold(seq);
                }
                // Not there: decide again. Should it still come, its ids and the expectation keep it from counting twice.
                Ok(None) => return Next::Pause,
                Err(error) => {
                    self.trouble(&error.to_string());
                    tokio::time::sleep(self.backoff).await;
                    self.backoff = (self.backoff * 2).min(BACKOFF[1]);
                }
            }
        }
    }

    fn settled(&mut self, cluster: &Cluster, seq: Seq) -> Next {
        if seq <= cluster.position() {
            let position = cluster.position();
            return self.trouble(&format!(
                "the log says that commit {seq} stands against a decision from position {position}, which has it"
            ));
        }
        self.recovered();
        Next::Fold(seq)
    }

    fn recovered(&mut self) {
        if self.troubled {
            tracing::info!("the planner records decisions again");
        }
        self.troubled = false;
        self.backoff = BACKOFF[0];
    }

    /// Tells about trouble once; nothing starts while it lasts, and nothing is lost.
    fn trouble(&mut self, why: &str) -> Next {
        if !self.troubled {
            tracing::error!(%why, "the planner cannot record decisions: nothing starts until it can; it keeps trying");
        }
        self.troubled = true;
        Next::Pause
    }
}
