//! A run whose script belongs here: from the order to its end in the log.
//!
//! Every step looks at the run's files first, so a run that is new and one that is found after a restart go the same
//! way.

use std::io::PipeReader;
use std::sync::Arc;
use std::time::Duration;

use daybook_log::{EventLog, ReadError};
use daybook_schemas::orders::{RunOrder, RunWish};
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::{BlobHash, RunId, Seq};
use daybook_supervisor::journal::{NEWS_LINE, STARTED_LINE};
use daybook_supervisor::records::{Claim, Exit, Intent, Wish};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::agent::Node;
use crate::directory::{Buried, Found, Last, Payload};
use crate::held::release;
use crate::report::Report;
use crate::watch::{Wishes, wait_for_supervisor};

/// Launches that go on at once in this process, whatever the number of its nodes.
const LAUNCHES_MAX: usize = 16;
static LAUNCHES: Semaphore = Semaphore::const_new(LAUNCHES_MAX);
/// A launch that takes longer (its output is on a file server that hangs) does not keep others from starting.
const LAUNCH_COUNTS_FOR: Duration = Duration::from_secs(2);
/// Between tries of what the disk, the log or the kernel refuses for the moment: doubled from the first to the last.
const BACKOFF: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(5)];
/// Between looks at whether a supervisor has followed an order to stop or to go on, at most.
const TURN_PAUSE_MAX: Duration = Duration::from_millis(500);
/// Between looks at what a supervisor has written that speaks to nobody.
const NEWS_PAUSE: Duration = Duration::from_secs(2);
/// Slurm's exit code for what could not be launched: 0:53.
const LAUNCH_FAILED: ExitStatus = ExitStatus { code: 0, signal: 53 };

/// How it came to its end.
enum Outcome {
    /// By an exit record, or without having been started.
    Ended(Exit),
    /// Its supervisor is gone, and what it left has been cleared up.
    Buried(Buried),
    /// The log has its end already, from elsewhere.
    Released,
}

/// News of a run that has been told before its end.
#[derive(Default)]
struct Told {
    /// So many troubles.
    troubles: usize,
    /// That the script has ended.
    over: bool,
}

/// A run and its task.
struct Script {
    node: Arc<Node>,
    run: RunId,
    /// Absent: found on disk.
    order: Option<Arc<RunOrder>>,
    wishes: Wishes,
    is_start_told: bool,
    /// The last order to stop or to go on of which it was told that it is followed.
    turned: Seq,
    /// How much of the record's news has been told.
    told: Told,
    /// Held from the preparation until the script has started.
    permit: Option<SemaphorePermit<'static>>,
    pause: Duration,
}

/// Takes a run to its end in the log; gives the commit. `None`: the agent has stopped; the run goes on.
pub(crate) async fn see_to_end(
    node: Arc<Node>,
    run: RunId,
    order: Option<Arc<RunOrder>>,
    wishes: Wishes,
) -> Option<Seq> {
    let mut script = Script {
        node,
        run,
        order,
        wishes,
        is_start_told: false,
        turned: Seq::ZERO,
        told: Told::default(),
        permit: None,
        pause: BACKOFF[0],
    };
    let outcome = script.until_over().await;
    script.node.observed.end(run);
    let outcome = outcome?;
    let seq = script.report(outcome).await?;
    let node = script.node.clone();
    node.blocking(move |node| node.directories.remove(run)).await;
    Some(seq)
}

impl Script {
    async fn until_over(&mut self) -> Option<Outcome> {
        loop {
            let run = self.run;
            let found = self.node.blocking(move |node| node.directories.judge(run)).await?;
            match found {
                Found::Nothing => match self.prepare().await {
                    Ok(()) => {}
                    Err(Obstacle::ForGood(outcome)) => return Some(outcome),
                    Err(Obstacle::ForNow(why)) => {
                        self.permit = None;
                        self.back_off(&why).await?;
                    }
                },
                Found::Unclaimed(intent) => self.launch(&intent).await?,
                Found::Claiming => self.wishes.unless_stopped(tokio::time::sleep(BACKOFF[0])).await?,
                Found::Supervised(intent, claim) => self.adopt(&intent, claim).await?,
                Found::Ended(exit) => return Some(Outcome::Ended(exit)),
                Found::Lost(dead) => {
                    let buried = self.node.blocking(move |node| node.directories.bury(run, *dead)).await?;
                    return Some(Outcome::Buried(buried));
                }
            }
        }
    }

    /// Nothing is on disk: puts the script, its environment and the intent there.
    async fn prepare(&mut self) -> Result<(), Obstacle> {
        let gone = || Obstacle::ForNow("somebody has removed its order".to_string());
        let order = self.order.clone().ok_or_else(gone)?;
        let wish = self.wishes.newest();
        if wish.wish == RunWish::Release {
            return Err(Obstacle::ForGood(Outcome::Released));
        }
        if let Some(cause) = wish.end_before_start() {
            return Err(Obstacle::ForGood(Outcome::Ended(Exit::unstarted(cause, self.node.clock.now()))));
        }
        let refused = |why: String| Obstacle::ForGood(Outcome::Ended(self.launch_failed(why)));
        self.node.may_start(&order).map_err(refused)?;
        if self.take_permit().await.is_none() {
            return Err(Obstacle::ForNow("the agent stops".to_string()));
        }
        let log = self.node.log.as_ref();
        let script = blob(log, &order.spec.script, "script").await.map_err(|obstacle| obstacle.of(self))?;
        let environment =
            blob(log, &order.spec.environment, "environment").await.map_err(|obstacle| obstacle.of(self))?;
        let made = self
            .node
            .blocking(move |node| node.directories.prepare(node, &order, Payload { script, environment }));
        match made.await {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => {
                Err(Obstacle::ForNow(format!("cannot write down what is to be started: {error}")))
            }
            None => Err(Obstacle::ForNow("the writing ended early".to_string())),
        }
    }

    /// The intent is there and nobody has claimed it: starts a supervisor and stays with it.
    async fn launch(&mut self, intent: &Intent) -> Option<()> {
        let run = self.run;
        let wish = self.wishes.newest();
        if let Some(cause) = wish.end_before_start() {
            // Claimed here, so that no supervisor can start it any more.
            let exit = Exit::unstarted(cause, self.node.clock.now());
            let claimed = self.node.blocking(move |node| node.directories.claim_unstarted(run, exit)).await?;
            return match claimed {
                Ok(()) => Some(()),
                Err(error) => self.back_off(&error.to_string()).await,
            };
        }
        self.take_permit().await?;
        self.tell_if_new(intent, wish).await;
        let spawned = self.node.blocking(move |node| node.directories.spawn(node, run)).await?;
        match spawned {
            Ok((child, printed)) => {
                self.stay_with(child, printed).await?;
                self.permit = None;
                self.slow_down_if_unclaimed().await
            }
            Err(error) => {
                self.permit = None;
                let program = self.node.config.supervisor_binary.display().to_string();
                self.back_off(&format!("{program}: {error}")).await
            }
        }
    }

    /// `None`: the agent stops.
    async fn take_permit(&mut self) -> Option<()> {
        if self.permit.is_none() {
            // The semaphore is never closed.
            self.permit = self.wishes.unless_stopped(LAUNCHES.acquire()).await?.ok();
        }
        Some(())
    }

    /// A supervisor that ends without a claim of anybody is tried again, slower and slower.
    async fn slow_down_if_unclaimed(&mut self) -> Option<()> {
        let run = self.run;
        let found = self.node.blocking(move |node| node.directories.judge(run)).await?;
        match found {
            Found::Unclaimed(_) => {
                self.back_off("the supervisor ended without having started anything").await
            }
            _ => Some(()),
        }
    }

    /// Until the supervisor ends.
    async fn stay_with(&mut self, mut child: Child, printed: PipeReader) -> Option<()> {
        let mut printed = match Receiver::from_owned_fd(printed.into()) {
            Ok(printed) => BufReader::new(printed).lines(),
            Err(error) => return self.back_off(&format!("its supervisor cannot be heard: {error}")).await,
        };
        let mut is_heard = true;
        let mut pause = BACKOFF[0];
        loop {
            tokio::select! {
                biased;
                _ = child.wait() => return Some(()),
                line = printed.next_line(), if is_heard => match line {
                    Ok(Some(line)) if line == STARTED_LINE.trim_end() => {
                        self.permit = None;
                        self.tell_start().await;
                    }
                    Ok(Some(line)) if line == NEWS_LINE.trim_end() => {
                        self.permit = None;
                        self.tell_news().await;
                    }
                    Ok(Some(line)) => {
                        tracing::warn!(run = %self.run, node = %self.node.name(), line, "a supervisor complains");
                    }
                    Ok(None) | Err(_) => {
                        is_heard = false;
                        self.permit = None;
                    }
                },
                () = tokio::time::sleep(LAUNCH_COUNTS_FOR), if self.permit.is_some() => self.permit = None,
                changed = self.wishes.changed() => {
                    changed?;
                    self.tell().await;
                    pause = BACKOFF[0];
                }
                () = tokio::time::sleep(pause), if self.is_turn_awaited() => {
                    self.tell_turns().await;
                    pause = (pause * 2).min(TURN_PAUSE_MAX);
                }
            }
        }
    }

    /// Stays with a supervisor that was here before.
    async fn adopt(&mut self, intent: &Intent, claim: Claim) -> Option<()> {
        let wish = self.wishes.newest();
        self.tell_if_new(intent, wish).await;
        let ended = wait_for_supervisor(claim);
        tokio::pin!(ended);
        let mut pause = BACKOFF[0];
        loop {
            self.tell_start().await;
            self.tell_news().await;
            tokio::select! {
                biased;
                () = &mut ended => return Some(()),
                changed = self.wishes.changed() => {
                    changed?;
                    self.tell().await;
                    pause = BACKOFF[0];
                }
                () = tokio::time::sleep(pause.min(TURN_PAUSE_MAX)), if self.is_start_told && self.is_turn_awaited() => {
                    self.tell_turns().await;
                    pause *= 2;
                }
                // It is between its claim and the script's start, which is soon over; it speaks to nobody.
                () = tokio::time::sleep(pause), if !self.is_start_told => pause = (pause * 2).min(BACKOFF[1]),
                () = tokio::time::sleep(NEWS_PAUSE) => {}
            }
        }
    }

    async fn tell_start(&mut self) {
        let run = self.run;
        if self.is_start_told {
            return;
        }
        let started =
            self.node.blocking(move |node| node.directories.started_and_goes_on(run)).await.flatten();
        if let Some((supervisor, started)) = started {
            self.is_start_told = true;
            self.node.observed.begin(run, supervisor);
            self.node.reporter.send(Report::started(self.node.name(), run, &started)).await;
        }
    }

    /// Tells what is in the record and need not wait for the run's end.
    async fn tell_news(&mut self) {
        let run = self.run;
        let Some(record) = self.node.blocking(move |node| node.directories.record(run)).await else { return };
        self.tell_start().await;
        for trouble in record.troubles.iter().skip(self.told.troubles) {
            self.node.reporter.send(Report::trouble(self.node.name(), run, trouble)).await;
        }
        self.told.troubles = self.told.troubles.max(record.troubles.len());
        if let (false, Some(over), None) = (self.told.over, record.over, record.ended) {
            self.told.over = true;
            // Start and orders first: nothing is told of a run after its end.
            let report = self.with_what_was_before(Report::ended(self.node.name(), run, over)).await;
            if let Some(report) = report {
                self.node.reporter.send(report).await;
            }
        }
    }

    /// Whether the supervisor has not yet said that it has followed the last order to stop or to go on.
    fn is_turn_awaited(&self) -> bool {
        self.wishes.ordered() > self.turned
    }

    /// Tells what the supervisor has done of such orders.
    async fn tell_turns(&mut self) {
        for report in self.turn_reports().await {
            self.node.reporter.send(report).await;
        }
    }

    async fn turn_reports(&mut self) -> Vec<Report> {
        let (run, turned) = (self.run, self.turned);
        let turns = self.node.blocking(move |node| node.directories.turns_after(run, turned)).await;
        let turns = turns.unwrap_or_default();
        self.turned = turns.last().map_or(self.turned, |turn| turn.ordered);
        turns.into_iter().map(|turn| Report::turned(self.node.name(), run, turn)).collect()
    }

    async fn tell_if_new(&mut self, intent: &Intent, wish: Wish) {
        // A supervisor that starts looks at the wish's file, not at what the order wished.
        if wish != Wish::of(&intent.order) || wish.wish == RunWish::Suspend {
            self.tell().await;
        }
    }

    /// Puts the newest wish where the supervisor finds it; tries until that is done or there is a newer one.
    async fn tell(&mut self) {
        let run = self.run;
        let mut pause = BACKOFF[0];
        loop {
            let wish = self.wishes.newest();
            let told = self.node.blocking(move |node| node.directories.tell(run, &wish)).await;
            match told {
                Some(Ok(())) | None => return,
                Some(Err(error)) => {
                    tracing::error!(%run, %error, "the run's supervisor cannot be told; trying again")
                }
            }
            if self.wishes.unless_stopped(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
            pause = (pause * 2).min(BACKOFF[1]);
        }
    }

    async fn report(&mut self, outcome: Outcome) -> Option<Seq> {
        let (name, now, run) = (self.node.name().clone(), self.node.clock.now(), self.run);
        let (end, buried) = match outcome {
            Outcome::Ended(exit) => (Report::ended(&name, run, exit), Vec::new()),
            Outcome::Buried(Buried { last: Last::Seen(exit), troubles }) => {
                (Report::ended(&name, run, exit), troubles)
            }
            Outcome::Buried(Buried { last: Last::Unseen(loss), troubles }) => {
                tracing::error!(%run, message = %loss.message, "a run was lost");
                (Report::lost(&name, run, loss, now), troubles)
            }
            Outcome::Released => return release(&self.node, run, &mut self.wishes).await,
        };
        let recorded = self.node.blocking(move |node| node.directories.record(run)).await?.troubles;
        let untold = recorded.into_iter().skip(self.told.troubles).chain(buried);
        let troubles: Vec<Report> = untold.map(|trouble| Report::trouble(&name, run, &trouble)).collect();
        let released = Report::released(&name, run, now);
        let report = match self.told.over {
            true => released,
            false => released.after(Some(self.with_what_was_before(end).await?)),
        };
        let report = troubles.into_iter().rev().fold(report, |report, trouble| report.after(Some(trouble)));
        self.wishes.unless_stopped(self.node.reporter.append(report)).await?
    }

    /// An end behind what the record has from before it, as far as it has not been told. `None`: not now.
    async fn with_what_was_before(&mut self, end: Report) -> Option<Report> {
        let (run, name) = (self.run, self.node.name().clone());
        let started = match self.is_start_told {
            true => None,
            false => self.node.blocking(move |node| node.directories.record(run)).await?.started,
        };
        self.is_start_told |= started.is_some();
        let turns = self.turn_reports().await;
        let end = turns.into_iter().rev().fold(end, |end, turn| end.after(Some(turn)));
        Some(end.after(started.map(|started| Report::started(&name, run, &started))))
    }

    fn launch_failed(&self, why: String) -> Exit {
        let at = self.node.clock.now();
        Exit { at, cause: EndCause::LaunchFailed, exit: LAUNCH_FAILED, message: Some(why), usage: None }
    }

    /// Says what is in the way and waits, longer each time. `None`: the agent stops.
    async fn back_off(&mut self, why: &str) -> Option<()> {
        tracing::error!(run = %self.run, node = %self.node.name(), why, "a run waits to be started; trying again");
        self.wishes.unless_stopped(tokio::time::sleep(self.pause)).await?;
        self.pause = (self.pause * 2).min(BACKOFF[1]);
        Some(())
    }
}

/// Why something could not be prepared.
enum Obstacle {
    /// It never will be.
    ForGood(Outcome),
    /// It may be later: the disk is full, the log does not answer.
    ForNow(String),
}

/// Why a blob is not here.
enum NoBlob {
    ForGood(String),
    ForNow(String),
}

impl NoBlob {
    fn of(self, script: &Script) -> Obstacle {
        match self {
            NoBlob::ForGood(why) => Obstacle::ForGood(Outcome::Ended(script.launch_failed(why))),
            NoBlob::ForNow(why) => Obstacle::ForNow(why),
        }
    }
}

async fn blob(log: &dyn EventLog, hash: &BlobHash, what: &str) -> Result<Arc<[u8]>, NoBlob> {
    match log.blob(hash).await {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(NoBlob::ForGood(format!("the {what} {hash} is not in the log"))),
        Err(ReadError::Unavailable(why)) => Err(NoBlob::ForNow(format!("the {what} cannot be read: {why}"))),
        Err(error) => Err(NoBlob::ForGood(format!("the {what} cannot be read: {error}"))),
    }
}
