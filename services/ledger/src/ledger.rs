use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use daybook_log::clock::Clock;
use daybook_log::{LogHandle, ReadError};
use daybook_schemas::api::{
    AccountingAnswer, AccountingQuery, ApiError, CapacityAnswer, CapacityQuery, ErrorCode,
};
use daybook_schemas::{Commit, NodeName, Seq, Stream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::book::{Book, Identity};
use crate::bounds::{PATIENCE, POST_COMMITS, RETRY_MAX, RETRY_MIN};
use crate::error::LedgerError;
use crate::query::QueryError;
use crate::rows::{NodeHistory, VoidAllocation};
use crate::verify::VerifyReport;

/// How a ledger behaves.
#[derive(Clone)]
pub struct LedgerOptions {
    /// For the elapsed time of what runs.
    pub clock: Arc<dyn Clock>,
    /// How long a question waits for what was in the log when it came.
    pub patience: Duration,
}

impl LedgerOptions {
    /// With this clock and the usual patience.
    pub fn with_clock(clock: Arc<dyn Clock>) -> LedgerOptions {
        LedgerOptions { clock, patience: PATIENCE }
    }
}

/// Where the ledger is, and whether it has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Progress {
    position: Seq,
    /// Why nothing more is posted, for good.
    stopped: Option<String>,
    /// What it waits for before it goes on (a full disk, a log that does not answer).
    trouble: Option<String>,
}

/// In this order where there is one thing for each.
const STREAMS: [Stream; 2] = [Stream::State, Stream::Detail];

/// The ledger: follows both streams, posts them to its book, answers questions.
pub struct Ledger {
    book: Arc<Book>,
    dir: PathBuf,
    log: LogHandle,
    options: LedgerOptions,
    progress: [watch::Receiver<Progress>; 2],
    followers: [JoinHandle<()>; 2],
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.followers.iter().for_each(JoinHandle::abort);
    }
}

impl Ledger {
    /// The position that the ledger in this directory has recorded: the log that it belongs to is not shorter. Read before
    /// the log is opened. Zero where there is no ledger yet.
    pub fn recorded_position(dir: &Path) -> Result<Seq, LedgerError> {
        Book::recorded_position(dir)
    }

    /// Opens the ledger in this directory, or begins one, and follows the log. Must be called inside a tokio runtime.
    pub fn open(dir: &Path, log: LogHandle, options: LedgerOptions) -> Result<Arc<Ledger>, LedgerError> {
        let book = Arc::new(Book::open(dir)?);
        let positions = [book.position()?, book.detail_position()?];
        for (stream, posted) in STREAMS.into_iter().zip(positions) {
            let end = log.end(stream);
            if end < posted {
                return Err(LedgerError::LogTooShort { posted, end });
            }
        }
        let channels =
            positions.map(|position| watch::channel(Progress { position, stopped: None, trouble: None }));
        let [(state, state_seen), (detail, detail_seen)] = channels;
        let follow = |stream: Stream, publish: watch::Sender<Progress>| {
            tokio::spawn(run(Follower { stream, book: book.clone(), log: log.clone(), publish }))
        };
        let followers = [follow(Stream::State, state), follow(Stream::Detail, detail)];
        let progress = [state_seen, detail_seen];
        Ok(Arc::new(Ledger { book, dir: dir.to_path_buf(), log, options, progress, followers }))
    }

    /// The last commit of the state stream that is posted.
    pub fn position(&self) -> Seq {
        let [state, _] = &self.progress;
        state.borrow().position
    }

    /// Why nothing more of a stream is posted, if one has stopped.
    pub fn stopped(&self) -> Option<String> {
        self.progress.iter().find_map(|progress| progress.borrow().stopped.clone())
    }

    /// Waits, within the ledger's patience, until everything is posted that was in the log at the call.
    pub async fn caught_up(&self) -> Result<(), ApiError> {
        for (stream, progress) in STREAMS.into_iter().zip(&self.progress) {
            self.caught_up_with(stream, progress).await?;
        }
        Ok(())
    }

    async fn caught_up_with(
        &self,
        stream: Stream,
        progress: &watch::Receiver<Progress>,
    ) -> Result<(), ApiError> {
        let wanted = self.log.end(stream);
        let mut progress = progress.clone();
        let seen = progress.clone();
        let reached = progress.wait_for(|progress| progress.position >= wanted || progress.stopped.is_some());
        let not_ready =
            |why: String| Err(ApiError::new(ErrorCode::NotReady, "the ledger is not up to date").detail(why));
        match tokio::time::timeout(self.options.patience, reached).await {
            Ok(Ok(progress)) => match &progress.stopped {
                // What it has is complete up to the question, even though it goes no further.
                _ if progress.position >= wanted => Ok(()),
                Some(why) => not_ready(format!("it has stopped: {why}")),
                None => Ok(()),
            },
            Ok(Err(_)) => not_ready("the daemon is stopping".to_string()),
            Err(_) => {
                let Progress { position, trouble, .. } = seen.borrow().clone();
                let why = trouble.map_or(String::new(), |trouble| format!(" ({trouble})"));
                not_ready(format!("it is at {position} and did not reach {wanted} in time{why}; try again"))
            }
        }
    }

    /// Answers sacct's question, complete up to the log's end at the call.
    pub async fn query(&self, query: AccountingQuery) -> Result<AccountingAnswer, ApiError> {
        self.caught_up().await?;
        let now = self.options.clock.now();
        self.ask(move |book| book.accounting(&query, now)).await
    }

    /// Answers a question about the physical book, complete up to the log's end at the call.
    pub async fn capacity(&self, query: CapacityQuery) -> Result<CapacityAnswer, ApiError> {
        self.caught_up().await?;
        let now = self.options.clock.now();
        self.ask(move |book| book.capacity(&query, now)).await
    }

    /// What happened to a node, oldest first.
    pub async fn node_history(&self, node: NodeName) -> Result<Vec<NodeHistory>, ApiError> {
        self.caught_up().await?;
        self.ask(move |book| Ok(book.node_history(&node)?)).await
    }

    /// Allocations that had been overtaken, oldest first.
    pub async fn void_allocations(&self) -> Result<Vec<VoidAllocation>, ApiError> {
        self.caught_up().await?;
        self.ask(|book| Ok(book.void_allocations()?)).await
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Book) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let book = self.book.clone();
        match tokio::task::spawn_blocking(move || question(&book)).await {
            Ok(answer) => answer.map_err(refusal),
            Err(error) => {
                Err(ApiError::new(ErrorCode::Internal, "the ledger's answer failed")
                    .detail(error.to_string()))
            }
        }
    }

    /// Checks the books (conservation, contiguity, agreement with the records) and posts the log afresh beside them to
    /// compare. Needs the disk space of a second ledger while it runs.
    pub async fn verify(&self) -> Result<VerifyReport, LedgerError> {
        let book = self.book.clone();
        let (identity, faults) = blocking(move || book.check()).await?;
        let fresh_hash = self.fresh_hash(&identity).await?;
        Ok(VerifyReport {
            position: identity.position,
            spans: faults.spans,
            intervals: faults.intervals,
            records: faults.records,
            hash: identity.hash,
            fresh_hash,
            faults: faults.faults,
            fault_count: faults.count,
        })
    }

    async fn fresh_hash(&self, identity: &Identity) -> Result<String, LedgerError> {
        let dir = self.dir.join("verify");
        let clear = |dir: &Path| match std::fs::remove_dir_all(dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(LedgerError::Storage { dir: dir.display().to_string(), why: error.to_string() })
            }
            _ => Ok(()),
        };
        clear(&dir)?;
        let fresh = Arc::new(Book::open(&dir)?);
        for (stream, position) in STREAMS.into_iter().zip([identity.position, identity.detail]) {
            self.post_afresh(&fresh, stream, position).await?;
        }
        let hash = blocking(move || fresh.hash()).await;
        clear(&dir)?;
        hash
    }

    async fn post_afresh(&self, fresh: &Arc<Book>, stream: Stream, until: Seq) -> Result<(), LedgerError> {
        let mut at = Seq::ZERO;
        while at < until {
            let left = usize::try_from(until.0 - at.0).unwrap_or(usize::MAX);
            let commits = self.log.read(stream, at.next(), left.min(POST_COMMITS)).await?;
            if commits.is_empty() {
                return Err(LedgerError::LogTooShort { posted: until, end: at });
            }
            let book = fresh.clone();
            at = blocking(move || post_to(&book, stream, &commits)).await?;
        }
        Ok(())
    }
}

/// What a question's asker sees.
fn refusal(error: QueryError) -> ApiError {
    let code = match &error {
        QueryError::Backwards => ErrorCode::InvalidRequest,
        QueryError::TooMany => ErrorCode::TooLarge,
        QueryError::Ledger(LedgerError::Storage { .. }) => ErrorCode::NotReady,
        QueryError::Ledger(_) => ErrorCode::Internal,
    };
    ApiError::new(code, error.to_string())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LedgerError> + Send + 'static,
) -> Result<T, LedgerError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(LedgerError::Storage { dir: "memory".to_string(), why: error.to_string() }),
    }
}

/// What keeps the book at the end of one stream.
struct Follower {
    stream: Stream,
    book: Arc<Book>,
    log: LogHandle,
    publish: watch::Sender<Progress>,
}

fn post_to(book: &Book, stream: Stream, commits: &[Arc<Commit>]) -> Result<Seq, LedgerError> {
    match stream {
        Stream::State => book.post(commits),
        Stream::Detail => book.post_detail(commits),
    }
}

fn position_in(book: &Book, stream: Stream) -> Result<Seq, LedgerError> {
    match stream {
        Stream::State => book.position(),
        Stream::Detail => book.detail_position(),
    }
}

/// Posts until the log is closed or something does not fit; then says so and stays there.
async fn run(follower: Follower) {
    if let Some(why) = follow(&follower).await {
        tracing::error!(stream = ?follower.stream, %why, "the ledger has stopped");
        follower.publish.send_modify(|progress| progress.stopped = Some(why));
        // Those who ask are told why, as long as anybody may ask.
        follower.publish.closed().await;
    }
}

/// `None`: the log was closed, which is the daemon's end and no fault of the ledger.
async fn follow(follower: &Follower) -> Option<String> {
    let Follower { stream, book, log, publish } = follower;
    let stream = *stream;
    let mut position = publish.borrow().position;
    let mut retry = RETRY_MIN;
    let mut backlog = Backlog { told: Instant::now() };
    loop {
        match log.read(stream, position.next(), POST_COMMITS).await {
            Ok(commits) if commits.is_empty() => {
                log.wait_past(stream, position).await.ok()?;
            }
            Ok(commits) => match post(book, stream, commits).await {
                Ok(posted) => {
                    position = posted.reached;
                    publish.send_modify(|progress| (progress.position, progress.trouble) = (position, None));
                    backlog.tell(position, log.end(stream));
                    if posted.refused.is_some() {
                        return posted.refused;
                    }
                    retry = RETRY_MIN;
                }
                Err(error) => position = come_back(follower, error, &mut retry).await,
            },
            Err(ReadError::Unavailable(why)) => {
                wait(why, publish, &mut retry).await;
                // Where the log is closed for good, this says so.
                log.wait_past(stream, Seq(position.0.saturating_sub(1))).await.ok()?;
            }
            Err(error) => return Some(error.to_string()),
        }
    }
}

/// So many commits behind, it is said how far the ledger is; every so often.
const BACKLOG_COMMITS: u64 = 10_000;
const BACKLOG_EVERY: Duration = Duration::from_secs(5);

/// Says now and then how far a ledger is that has much to post.
struct Backlog {
    told: Instant,
}

impl Backlog {
    fn tell(&mut self, position: Seq, end: Seq) {
        let behind = end.0.saturating_sub(position.0);
        if behind >= BACKLOG_COMMITS && self.told.elapsed() >= BACKLOG_EVERY {
            self.told = Instant::now();
            tracing::info!(%position, %end, percent = position.0 * 100 / end.0, "the ledger catches up");
        }
    }
}

/// After a failed write: opens the rows again, as often as it takes. Where they are then: what failed to be written may be
/// there or not, the cursor beside it says.
async fn come_back(follower: &Follower, mut error: LedgerError, retry: &mut Duration) -> Seq {
    loop {
        wait(error.to_string(), &follower.publish, retry).await;
        let (again, stream) = (follower.book.clone(), follower.stream);
        match blocking(move || again.reopen().and_then(|()| position_in(&again, stream))).await {
            Ok(position) => return position,
            Err(still) => error = still,
        }
    }
}

/// Waits a while with something that may pass, and lets those who ask know.
async fn wait(trouble: String, publish: &watch::Sender<Progress>, retry: &mut Duration) {
    tracing::warn!(%trouble, "the ledger waits");
    publish.send_modify(|progress| progress.trouble = Some(trouble));
    tokio::time::sleep(*retry).await;
    *retry = (*retry * 2).min(RETRY_MAX);
}

/// How far a batch was posted, and why no further.
struct Posted {
    reached: Seq,
    refused: Option<String>,
}

/// Posts a batch. Where a commit in it does not fit, those in front of it are posted. An error: for the moment nothing can be
/// written.
async fn post(book: &Arc<Book>, stream: Stream, commits: Vec<Arc<Commit>>) -> Result<Posted, LedgerError> {
    let book = book.clone();
    blocking(move || {
        let why = match post_to(&book, stream, &commits) {
            Ok(reached) => return Ok(Posted { reached, refused: None }),
            Err(error @ LedgerError::Storage { .. }) => return Err(error),
            Err(why) => why,
        };
        let good = match &why {
            LedgerError::Unposted { seq, .. } => commits.partition_point(|commit| commit.seq < *seq),
            _ => 0,
        };
        let reached = match good {
            0 => position_in(&book, stream)?,
            good => post_to(&book, stream, &commits[..good])?,
        };
        Ok(Posted { reached, refused: Some(why.to_string()) })
    })
    .await
}
