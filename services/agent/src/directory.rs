//! The runs' directories: the intent, the wish, what a supervisor has left. All of it may block.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use daybook_schemas::orders::RunOrder;
use daybook_schemas::{BlobHash, RunId, Seq, UtcMicros};
use daybook_supervisor::files::{Durability, read_json, write_json};
use daybook_supervisor::processes::{boot_id, session_members};
use daybook_supervisor::records::{
    CLAIM, CONTROL, Claim, EXIT, Exit, Intent, LOCK, ORDER, STARTED, Started, WISH, Wish,
};
use daybook_supervisor::standard_files::Paths;
use daybook_supervisor::supervise;
use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::Pid;
use tokio::process::{Child, Command};

use crate::agent::{AgentConfig, Node, StartError};

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

/// What a run's directory says.
pub(crate) enum Found {
    /// There is none, or one without an intent.
    Nothing,
    /// Nobody has claimed it.
    Unclaimed(Box<Intent>),
    /// A supervisor is about to.
    Claiming,
    /// A supervisor lives.
    Supervised(Box<Intent>, Claim),
    /// The supervisor has left its exit record.
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
    message: String,
}

/// A run whose end nobody saw, after what was left of it has been ended.
#[derive(Debug)]
pub(crate) struct Loss {
    pub(crate) last_evidence: UtcMicros,
    pub(crate) message: String,
}

/// A run that was found at the agent's start.
pub(crate) struct Scanned {
    pub(crate) run: RunId,
    /// Absent where the intent cannot be read.
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

    fn run(&self, run: RunId) -> PathBuf {
        self.runs.join(run.to_string())
    }

    /// `job00123`, as Slurm calls it; a later start of the same job has its own.
    fn job(&self, run: RunId) -> PathBuf {
        let name = format!("job{:05}", run.job.0);
        self.spool.join(if run.start == 0 { name } else { format!("{name}.{}", run.start) })
    }

    /// Every run that has a directory. Leftovers without an intent are removed.
    pub(crate) fn scan(&self) -> Vec<Scanned> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.runs).into_iter().flatten().flatten() {
            let Some(run) = entry.file_name().to_str().and_then(|name| name.parse::<RunId>().ok()) else {
                continue;
            };
            match read_json::<Intent>(&entry.path(), ORDER) {
                Ok(Some(intent)) => found.push(Scanned { run, order: Some(intent.order) }),
                Ok(None) => self.remove(run),
                Err(_) => found.push(Scanned { run, order: None }),
            }
        }
        found.sort_by_key(|scanned| scanned.run);
        found
    }

    /// What is the case with a run.
    pub(crate) fn judge(&self, run: RunId) -> Found {
        let directory = self.run(run);
        let lost = |intent: Option<Intent>, is_of_an_earlier_boot: bool, message: String| {
            Found::Lost(Box::new(Dead { intent, is_of_an_earlier_boot, message }))
        };
        let intent = match read_json::<Intent>(&directory, ORDER) {
            Ok(Some(intent)) => intent,
            Ok(None) => return Found::Nothing,
            Err(error) => return lost(None, false, format!("its intent cannot be read: {error}")),
        };
        let is_of_an_earlier_boot = intent.boot_id != self.boot_id;
        // The claim, then the lock, then the exit record: a supervisor holds the lock from before its claim until after
        // its exit record, so a claim without a lock has either all there will be, or was left by a dead one.
        let claim = match read_json::<Claim>(&directory, CLAIM) {
            Ok(claim) => claim,
            // Power went before it was whole on disk.
            Err(_) if is_of_an_earlier_boot => None,
            Err(error) => return lost(Some(intent), false, format!("its claim cannot be read: {error}")),
        };
        let is_supervised = is_locked(&directory);
        match (read_json::<Exit>(&directory, EXIT), claim, is_supervised) {
            (Ok(Some(exit)), _, false) => Found::Ended(exit),
            (_, Some(claim), true) => Found::Supervised(Box::new(intent), claim),
            (_, None, true) => Found::Claiming,
            _ if is_of_an_earlier_boot => {
                lost(Some(intent), true, "the machine was restarted while it ran".to_string())
            }
            (Err(error), ..) => lost(Some(intent), false, format!("its exit record cannot be read: {error}")),
            (Ok(_), None, false) => Found::Unclaimed(Box::new(intent)),
            (Ok(_), Some(_), false) => {
                lost(Some(intent), false, "its supervisor is gone and has left no exit record".to_string())
            }
        }
    }

    /// Writes the intent and what the script needs. An error is the disk's, and may pass.
    pub(crate) fn prepare(&self, node: &Node, order: &RunOrder, payload: Payload) -> io::Result<()> {
        let (directory, job) = (self.run(order.run), self.job(order.run));
        let intent = Intent {
            order: order.clone(),
            node: node.name().to_string(),
            boot_id: self.boot_id.clone(),
            script: job.join("slurm_script").display().to_string(),
            environment: directory.join("environment").display().to_string(),
        };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&job)?;
        let script = job.join("slurm_script");
        write_file(&script, &payload.script, 0o700)?;
        write_file(&directory.join("environment"), &payload.environment, 0o600)?;
        if node.config.allow_other_users {
            let (uid, gid) = (order.spec.user.uid, order.spec.user.gid);
            std::os::unix::fs::chown(&script, Some(uid), Some(gid))?;
            std::os::unix::fs::chown(&job, Some(uid), Some(gid))?;
        }
        match nix::unistd::mkfifo(&directory.join(CONTROL), Mode::from_bits_truncate(0o600)) {
            Ok(()) | Err(nix::errno::Errno::EEXIST) => {}
            Err(error) => return Err(error.into()),
        }
        // Last, and synced: with it the run may start. The script and its environment need no sync: after a power cut
        // the intent's boot is another one, and the run does not start.
        write_json(&directory, ORDER, &intent, Durability::PowerCut)?;
        File::open(&self.runs)?.sync_all()
    }

    /// Starts a supervisor for a run.
    pub(crate) fn spawn(&self, node: &Node, run: RunId) -> io::Result<Child> {
        let directory = self.run(run);
        let messages =
            OpenOptions::new().create(true).append(true).mode(0o600).open(directory.join("supervisor.log"));
        Command::new(&node.config.supervisor_binary)
            .arg(&directory)
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(messages.map_or_else(|_| Stdio::null(), Stdio::from))
            .spawn()
    }

    /// Claims a run for nobody: its script will not be started.
    pub(crate) fn claim_unstarted(&self, run: RunId, exit: &Exit) -> io::Result<()> {
        let directory = self.run(run);
        match supervise::claim(&directory)? {
            true => write_json(&directory, EXIT, exit, Durability::PowerCut),
            false => Ok(()),
        }
    }

    /// The script's process, if there has been one.
    pub(crate) fn started(&self, run: RunId) -> Option<Started> {
        read_json(&self.run(run), STARTED).ok().flatten()
    }

    /// The script's process, unless it is over already: then start and end are told together.
    pub(crate) fn started_and_goes_on(&self, run: RunId) -> Option<Started> {
        self.started(run).filter(|_| !self.run(run).join(EXIT).exists())
    }

    /// Ends what a dead supervisor has left (the script's session and its descendants; the script itself dies with its
    /// supervisor), and finds the last evidence of the run.
    pub(crate) fn bury(&self, run: RunId, dead: Dead) -> Loss {
        let Dead { intent, is_of_an_earlier_boot, mut message } = dead;
        if is_of_an_earlier_boot {
            let last_evidence = self.evidence(run, intent.as_ref()).min(boot_time());
            return Loss { last_evidence, message };
        }
        let killed = self.started(run).map_or(Killed::Nothing, |script| kill_session(&script));
        let last_evidence = match killed {
            Killed::Nothing => self.evidence(run, intent.as_ref()),
            Killed::All => now(),
            Killed::NotAll => {
                message.push_str("; some of its processes could not be killed");
                now()
            }
        };
        Loss { last_evidence, message }
    }

    /// The last instant at which the run is known to have been: the newest change of its records and its output. Who
    /// owns the output can give it any time, so it is taken up to the present only.
    fn evidence(&self, run: RunId, intent: Option<&Intent>) -> UtcMicros {
        let changed = |path: &Path| {
            let found = std::fs::metadata(path).ok()?;
            Some(found.mtime().saturating_mul(1_000_000).saturating_add(found.mtime_nsec() / 1000))
        };
        let directory = self.run(run);
        let mut paths: Vec<PathBuf> =
            [ORDER, CLAIM, STARTED, EXIT].iter().map(|name| directory.join(name)).collect();
        if let Some(intent) = intent {
            let work_dir = Path::new(&intent.order.spec.work_dir);
            let Paths { std_out, std_err, .. } = Paths::of(intent);
            paths.extend([Some(std_out), std_err].into_iter().flatten().map(|path| work_dir.join(path)));
        }
        let newest = paths.iter().filter_map(|path| changed(path)).max().unwrap_or(0);
        UtcMicros(newest).min(now())
    }

    /// Puts a wish where the supervisor finds it, and wakes it.
    pub(crate) fn tell(&self, run: RunId, wish: &Wish) -> io::Result<()> {
        let directory = self.run(run);
        write_json(&directory, WISH, wish, Durability::ProcessDeath)?;
        let control =
            OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(directory.join(CONTROL));
        // Nobody listens yet or any more: a supervisor reads the wish when it begins.
        if let Ok(mut control) = control {
            let _ = control.write_all(b"!");
        }
        Ok(())
    }

    /// Removes what is left of a run. The intent goes first: a directory without one is a leftover, whatever is in it.
    pub(crate) fn remove(&self, run: RunId) {
        let directory = self.run(run);
        let gone = |result: io::Result<()>| match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%run, %error, "a leftover of the run cannot be removed");
            }
            _ => {}
        };
        gone(std::fs::remove_file(directory.join(ORDER)));
        gone(std::fs::remove_dir_all(self.job(run)));
        gone(std::fs::remove_dir_all(&directory));
    }
}

enum Killed {
    Nothing,
    All,
    NotAll,
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

fn is_locked(directory: &Path) -> bool {
    match OpenOptions::new().read(true).open(directory.join(LOCK)) {
        // Shared, so that two who look do not take each other for a supervisor.
        Ok(file) => Flock::lock(file, FlockArg::LockSharedNonblock).is_err(),
        Err(_) => false,
    }
}

fn write_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    // A leftover of an attempt that was cut off may belong to the user already.
    let _ = std::fs::remove_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)
}
