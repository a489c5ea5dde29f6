//! The runs' files and scripts: the intent, the wish, what a supervisor has left. All of it may block.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use daybook_cgroup::Group;
use daybook_schemas::orders::RunOrder;
use daybook_schemas::{BlobHash, EventId, NodeName, RunId, Seq, UtcMicros};
use daybook_supervisor::environment::program_environment;
use daybook_supervisor::processes::{boot_id, session_members, start_time};
use daybook_supervisor::records::{
    Claim, Confined, Entry, Exit, Intent, Record, Started, Trouble, TroubleKind, Turn, Wish,
};
use daybook_supervisor::run_files::{Order, RunFiles};
use daybook_supervisor::standard_files::Paths;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
use tokio::process::{Child, Command};

use crate::agent::{AgentConfig, Node, StartError};
use crate::report::Report;

/// Where the spool is when the users cannot pass through the configured one.
const SPOOL_FALLBACK: &str = "/var/spool/daybook";
/// What a dead supervisor has left is killed for so long; what resists then is said.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// Between looks at whether it is gone.
const KILL_AGAIN: Duration = Duration::from_millis(10);

/// One node's directories.
pub(crate) struct Directories {
    runs: PathBuf,
    spool: PathBuf,
    boot_id: String,
}

/// What a run's files say.
pub(crate) enum Found {
    /// There are none, or none with an order that was written to its end.
    Nothing,
    /// Nobody has claimed it.
    Unclaimed(Box<Intent>),
    /// A supervisor is about to.
    Claiming,
    /// A supervisor lives.
    Supervised(Box<Intent>, Claim),
    /// The supervisor has recorded the end.
    Ended(Exit),
    /// Nobody saw its end.
    Lost(Box<Dead>),
}

/// A run that nobody sees any more.
pub(crate) struct Dead {
    /// Absent where it cannot be read.
    intent: Option<Intent>,
    /// The machine was restarted since.
    is_of_an_earlier_boot: bool,
    /// The end of its script, where that was seen.
    over: Option<Exit>,
    message: String,
}

/// A run whose supervisor is gone, after what was left of it has been cleared up.
pub(crate) struct Buried {
    pub(crate) last: Last,
    /// What is wrong with the node, beside what the record says.
    pub(crate) troubles: Vec<Trouble>,
}

/// What is known of a run's end.
pub(crate) enum Last {
    /// The supervisor has seen it.
    Seen(Exit),
    /// Nobody has.
    Unseen(Loss),
}

/// A run whose end nobody saw.
#[derive(Debug)]
pub struct Loss {
    /// The last instant at which the run is known to have been.
    pub last_evidence: UtcMicros,
    /// What happened, for people.
    pub message: String,
}

/// A run that was found at the agent's start.
pub(crate) struct Scanned {
    pub(crate) run: RunId,
    /// Absent where it cannot be read.
    pub(crate) order: Option<RunOrder>,
}

impl Scanned {
    /// The commit that allocated it; where that is not known no orders are new enough to end it.
    pub(crate) fn allocated(&self) -> Seq {
        self.order.as_ref().map_or(Seq(u64::MAX), |order| order.allocated)
    }
}

/// What the script's process needs beside the order.
pub(crate) struct Payload {
    pub(crate) script: Arc<[u8]>,
    pub(crate) environment: Arc<[u8]>,
}

/// The events that an agent may report again when it starts: those of the runs that its node still has on its disk.
pub fn reports_in_doubt(state_dir: &Path, node: &NodeName) -> Vec<EventId> {
    let runs = state_dir.join("runs");
    let of_run = |run| {
        let record = RunFiles::of(&runs, run).read_record().ok().flatten().unwrap_or_default();
        let turns = record.turns.into_iter().map(move |turn| Report::turn_id(node, run, turn));
        let troubles = TroubleKind::ALL.map(|kind| Report::trouble_id(node, run, kind));
        Report::ids_of(node, run).into_iter().chain(turns).chain(troubles)
    };
    RunFiles::runs_in(&runs).into_iter().flat_map(of_run).collect()
}

impl Directories {
    pub(crate) fn prepare_for(config: &AgentConfig) -> Result<Directories, StartError> {
        let runs = config.state_dir.join("runs");
        let mut spool = config.spool_dir.clone();
        if config.node.simulated {
            return Ok(Directories { runs, spool, boot_id: boot_id() });
        }
        let make = |path: &Path, mode: u32| {
            let made = std::fs::DirBuilder::new().recursive(true).mode(mode).create(path);
            made.map_err(|source| StartError::Directory {
                node: config.node.name.to_string(),
                path: path.to_path_buf(),
                source,
            })
        };
        make(&runs, 0o700)?;
        make(&spool, 0o711)?;
        if config.allow_other_users && !others_may_pass(&spool) {
            let fallback =
                Path::new(SPOOL_FALLBACK).join(BlobHash::of(spool.as_os_str().as_encoded_bytes()).0);
            tracing::warn!(
                spool = %spool.display(),
                fallback = %fallback.display(),
                "other users cannot pass through the spool directory; scripts go to the other one"
            );
            make(&fallback, 0o711)?;
            spool = fallback;
        }
        Ok(Directories { runs, spool, boot_id: boot_id() })
    }

    fn files(&self, run: RunId) -> RunFiles {
        RunFiles::of(&self.runs, run)
    }

    /// `job00123`, as Slurm calls it; a later start of the same job has its own.
    fn job(&self, run: RunId) -> PathBuf {
        let name = format!("job{:05}", run.job.0);
        self.spool.join(if run.start == 0 { name } else { format!("{name}.{}", run.start) })
    }

    /// Every run that has files. Leftovers without an order are removed.
    pub(crate) fn scan(&self) -> Vec<Scanned> {
        let mut found = Vec::new();
        for run in RunFiles::runs_in(&self.runs) {
            match self.files(run).read_order() {
                Ok(Order::Whole(intent, _)) => found.push(Scanned { run, order: Some(intent.order) }),
                Ok(Order::None) => self.remove(run),
                // Nobody starts anything before the order is whole: unless it is claimed, this one was cut off.
                Ok(Order::Torn) if !self.files(run).record().exists() => self.remove(run),
                Ok(Order::Torn) | Err(_) => found.push(Scanned { run, order: None }),
            }
        }
        found
    }

    /// What is the case with a run.
    pub(crate) fn judge(&self, run: RunId) -> Found {
        let files = self.files(run);
        let lost = |intent: Option<Intent>, is_of_an_earlier_boot: bool, message: String| {
            let over = self.record(run).over;
            Found::Lost(Box::new(Dead { intent, is_of_an_earlier_boot, over, message }))
        };
        // The claim, then the lock, then the end: a supervisor holds the lock from before its claim until after its end, so
        // a claim without a lock has either all there will be, or was left by a dead one.
        let claimed = files.read_record();
        let is_supervised = files.is_locked();
        let (claimed, record) = match (claimed, files.read_record()) {
            (Ok(claimed), Ok(record)) => (claimed, record.unwrap_or_default()),
            (Err(error), _) | (_, Err(error)) => {
                return lost(None, false, format!("its record cannot be read: {error}"));
            }
        };
        let intent = match files.read_order() {
            Ok(Order::Whole(intent, _)) => *intent,
            Ok(Order::None) => return Found::Nothing,
            // Nobody starts anything before the order is whole and on stable storage.
            Ok(Order::Torn) if claimed.is_none() => return Found::Nothing,
            Ok(Order::Torn) => return lost(None, false, "its order is damaged".to_string()),
            Err(error) => return lost(None, false, format!("its order cannot be read: {error}")),
        };
        let is_of_an_earlier_boot = intent.boot_id != self.boot_id;
        match (claimed, record, is_supervised) {
            (_, Record { ended: Some(exit), .. }, false) => Found::Ended(exit),
            (Some(Record { claimed: Some(claim), .. }), _, true) => {
                Found::Supervised(Box::new(intent), claim)
            }
            (_, _, true) => Found::Claiming,
            _ if is_of_an_earlier_boot => {
                lost(Some(intent), true, "the machine was restarted while it ran".to_string())
            }
            // Claimed between the looks.
            (None, Record { claimed: Some(_), .. }, false) => Found::Claiming,
            (None, _, false) => Found::Unclaimed(Box::new(intent)),
            (Some(_), _, false) => {
                lost(Some(intent), false, "its supervisor is gone and has not recorded its end".to_string())
            }
        }
    }

    /// Writes the intent and what the script needs. An error is the disk's, and may pass.
    pub(crate) fn prepare(&self, node: &Node, order: &RunOrder, payload: Payload) -> io::Result<()> {
        let job = self.job(order.run);
        let script = job.join("slurm_script");
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&job)?;
        write_file(&script, &payload.script, 0o700)?;
        if node.config.allow_other_users {
            let (uid, gid) = (order.spec.user.uid, order.spec.user.gid);
            std::os::unix::fs::chown(&script, Some(uid), Some(gid))?;
            std::os::unix::fs::chown(&job, Some(uid), Some(gid))?;
        }
        let share = order.nodes.iter().find(|share| share.node == *node.name());
        let intent = Intent {
            order: order.clone(),
            node: node.name().to_string(),
            boot_id: self.boot_id.clone(),
            script: script.display().to_string(),
            environment_bytes: payload.environment.len() as u64,
            confined: share.and_then(|share| node.confiner.confine(order.run, share, &node.config.node)),
            care: node.config.care.clone(),
        };
        // Last, and synced: with it the run may start. The script needs no sync: after a power cut the intent's boot is
        // another one, and the run does not start.
        self.files(order.run).write_order(&intent, &payload.environment)
    }

    /// Starts a supervisor for a run. What it prints comes through the pipe.
    pub(crate) fn spawn(&self, node: &Node, run: RunId) -> io::Result<(Child, io::PipeReader)> {
        let (printed, prints) = io::pipe()?;
        let child = Command::new(&node.config.supervisor_binary)
            .arg(self.files(run).base())
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::null())
            .stdout(prints.try_clone()?)
            .stderr(prints)
            .spawn()?;
        Ok((child, printed))
    }

    /// Claims a run for nobody: its script will not be started. Where a supervisor has claimed it, nothing is done.
    pub(crate) fn claim_unstarted(&self, run: RunId, exit: Exit) -> io::Result<()> {
        let files = self.files(run);
        let Some(lock) = files.lock()? else { return Ok(()) };
        match files.claim(&lock)? {
            Some(mut record) => record.add_synced(&Entry::Ended(exit)).inspect_err(|_| {
                // Nothing was started and the lock is held, so the claim may be given back.
                let _ = std::fs::remove_file(files.record());
            }),
            None => Ok(()),
        }
    }

    /// What its supervisor has written.
    pub(crate) fn record(&self, run: RunId) -> Record {
        self.files(run).read_record().ok().flatten().unwrap_or_default()
    }

    /// Orders to stop and to go on that its supervisor has followed, newer than one.
    pub(crate) fn turns_after(&self, run: RunId, reported: Seq) -> Vec<Turn> {
        self.record(run).turns.into_iter().filter(|turn| turn.ordered > reported).collect()
    }

    /// Its supervisor and the script's process, unless it is over already: then start and end are told together.
    pub(crate) fn started_and_goes_on(&self, run: RunId) -> Option<(Claim, Started)> {
        let record = self.record(run);
        let started = record.started.filter(|_| record.ended.is_none() && record.over.is_none())?;
        Some((record.claimed?, started))
    }

    /// Clears up behind a dead supervisor: ends what it has left (the script's session and its descendants, all that is in
    /// the run's group; the script itself dies with its supervisor), and runs the epilog. Where this is cut off it is
    /// done again. After a restart of the machine there is nothing to clear up.
    pub(crate) fn bury(&self, run: RunId, dead: Dead) -> Buried {
        let Dead { intent, is_of_an_earlier_boot, over, mut message } = dead;
        let evidence = self.evidence(run, intent.as_ref());
        if is_of_an_earlier_boot {
            let unseen = || Last::Unseen(Loss { last_evidence: evidence.min(boot_time()), message });
            return Buried { last: over.map_or_else(unseen, Last::Seen), troubles: Vec::new() };
        }
        let group = intent.as_ref().and_then(|intent| intent.confined.as_ref()).map(Confined::group);
        let killed = self.record(run).started.map_or(Killed::Nothing, |script| kill_session(&script));
        let killed = killed.and(group.map_or(Killed::Nothing, |group| empty_group(&group)));
        let mut troubles = Vec::new();
        let mut trouble =
            |kind: TroubleKind, message: String| troubles.push(Trouble { at: now(), kind, message });
        if let Killed::NotAll = killed {
            message.push_str("; some of its processes could not be killed");
            trouble(TroubleKind::Unkillable, "what a dead supervisor has left cannot be killed".to_string());
        }
        let last_evidence = if let Killed::Nothing = killed { evidence } else { now() };
        if let Some(intent) = &intent
            && let Err(why) = intent.care.epilog.run(&program_environment(intent, "epilog_slurmd"))
        {
            trouble(TroubleKind::Epilog, why);
        }
        let unseen = || Last::Unseen(Loss { last_evidence, message });
        Buried { last: over.map_or_else(unseen, Last::Seen), troubles }
    }

    /// The last instant at which the run is known to have been: the newest change of its records and its output. Who
    /// owns the output can give it any time, so it is taken up to the present only.
    fn evidence(&self, run: RunId, intent: Option<&Intent>) -> UtcMicros {
        let changed = |path: &Path| {
            let found = std::fs::metadata(path).ok()?;
            Some(found.mtime().saturating_mul(1_000_000).saturating_add(found.mtime_nsec() / 1000))
        };
        let files = self.files(run);
        let mut paths: Vec<PathBuf> = vec![files.order(), files.record()];
        if let Some(intent) = intent {
            let work_dir = Path::new(&intent.order.spec.work_dir);
            let Paths { std_out, std_err, .. } = Paths::of(intent);
            paths.extend([Some(std_out), std_err].into_iter().flatten().map(|path| work_dir.join(path)));
        }
        let newest = paths.iter().filter_map(|path| changed(path)).max().unwrap_or(0);
        UtcMicros(newest).min(now())
    }

    /// Puts a wish where the supervisor finds it, and wakes it. One that has not claimed the run yet looks by itself.
    pub(crate) fn tell(&self, run: RunId, wish: &Wish) -> io::Result<()> {
        self.files(run).write_wish(wish)?;
        if let Some(claim) = self.record(run).claimed {
            wake(claim);
        }
        Ok(())
    }

    /// Whether no run has a file here.
    pub(crate) fn are_empty(&self) -> bool {
        RunFiles::runs_in(&self.runs).is_empty()
    }

    /// Removes what is left of a run.
    pub(crate) fn remove(&self, run: RunId) {
        let job = self.job(run);
        let removed = self.files(run).remove(|| match std::fs::remove_dir_all(&job) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        });
        if let Err(error) = removed {
            tracing::warn!(%run, %error, "a leftover of the run cannot be removed");
        }
    }
}

/// Wakes a supervisor, if it is still that process.
fn wake(claim: Claim) {
    let Some(pid) = rustix::process::Pid::from_raw(claim.pid) else { return };
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    // Looked at after it was opened: the descriptor is of the process that has this start time.
    if start_time(claim.pid) == Some(claim.start_time) {
        let _ = pidfd_send_signal(process, rustix::process::Signal::USR1);
    }
}

enum Killed {
    Nothing,
    All,
    NotAll,
}

impl Killed {
    fn and(self, other: Killed) -> Killed {
        match (self, other) {
            (Killed::NotAll, _) | (_, Killed::NotAll) => Killed::NotAll,
            (Killed::Nothing, Killed::Nothing) => Killed::Nothing,
            _ => Killed::All,
        }
    }
}

/// Ends all that is in a run's control group, and removes it.
fn empty_group(group: &Group) -> Killed {
    let since = Instant::now();
    let mut killed = Killed::Nothing;
    while !group.remove() {
        if since.elapsed() > KILL_PATIENCE {
            return Killed::NotAll;
        }
        if !group.processes().is_empty() {
            killed = Killed::All;
            group.kill();
        }
        std::thread::sleep(KILL_AGAIN);
    }
    killed
}

fn kill_session(script: &Started) -> Killed {
    let since = Instant::now();
    let mut killed = Killed::Nothing;
    loop {
        let members = session_members(script.pid, script.start_time);
        if members.is_empty() {
            return killed;
        }
        killed = Killed::All;
        if since.elapsed() > KILL_PATIENCE {
            return Killed::NotAll;
        }
        for pid in members {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        std::thread::sleep(KILL_AGAIN);
    }
}

fn now() -> UtcMicros {
    use daybook_log::clock::Clock as _;
    daybook_log::clock::SystemClock.now()
}

/// When the machine was started, by its own clock.
fn boot_time() -> UtcMicros {
    let statistics = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let seconds = statistics.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok());
    seconds.map_or_else(now, UtcMicros::from_seconds)
}

/// Whether every directory on the way can be passed by everybody.
fn others_may_pass(path: &Path) -> bool {
    path.ancestors().all(|part| {
        std::fs::metadata(part)
            .map_or(true, |found| !found.is_dir() || found.permissions().mode() & 0o001 != 0)
    })
}

fn write_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    // A leftover of an attempt that was cut off may belong to the user already.
    let _ = std::fs::remove_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)
}
