//! The runs' directories: the intent, the wish, what a supervisor has left.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use daybook_log::EventLog;
use daybook_schemas::orders::RunOrder;
use daybook_schemas::{BlobHash, RunId, UtcMicros};
use daybook_supervisor::files::{Durability, read_json, write_json};
use daybook_supervisor::processes::boot_id;
use daybook_supervisor::records::{
    CLAIM, CONTROL, Claim, EXIT, Exit, Intent, LOCK, ORDER, STARTED, Started, WISH, Wish,
};
use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use nix::sys::stat::Mode;
use tokio::process::{Child, Command};

use crate::agent::{AgentConfig, StartError};
use crate::watch::Outcome;

/// Where the spool is when the users cannot pass through the configured one.
const SPOOL_FALLBACK: &str = "/var/spool/daybook";

/// One node's directories.
pub(crate) struct Directories {
    runs: PathBuf,
    spool: PathBuf,
    boot_id: String,
}

/// What a run's directory says at the agent's start.
pub(crate) enum Found {
    /// The supervisor has left its exit record.
    Ended(Exit),
    /// A supervisor lives.
    Supervised(Box<Intent>, Claim),
    /// Nobody has claimed it: the agent ended between intent and supervisor.
    Unclaimed(Box<Intent>),
    /// Nobody saw its end.
    Lost { last_evidence: UtcMicros, message: String },
}

impl Directories {
    pub(crate) fn prepare(config: &AgentConfig) -> Result<Directories, StartError> {
        let make = |path: &Path, mode: u32| {
            let made = std::fs::DirBuilder::new().recursive(true).mode(mode).create(path);
            made.map_err(|source| StartError::Directory {
                node: config.node.name.to_string(),
                path: path.to_path_buf(),
                source,
            })
        };
        let runs = config.state_dir.join("runs");
        make(&runs, 0o700)?;
        let mut spool = config.spool_dir.clone();
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
    pub(crate) fn scan(&self) -> Vec<(RunId, Found)> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.runs).into_iter().flatten().flatten() {
            let Some(run) = entry.file_name().to_str().and_then(|name| name.parse::<RunId>().ok()) else {
                continue;
            };
            match read_json::<Intent>(&entry.path(), ORDER) {
                Ok(Some(intent)) => found.push((run, self.judge(run, intent))),
                Ok(None) => self.remove(run),
                Err(error) => {
                    let message = format!("its intent cannot be read: {error}");
                    found.push((run, Found::Lost { last_evidence: self.evidence(run), message }));
                }
            }
        }
        found.sort_by_key(|(run, _)| *run);
        found
    }

    fn judge(&self, run: RunId, intent: Intent) -> Found {
        let directory = self.run(run);
        if let Ok(Some(exit)) = read_json::<Exit>(&directory, EXIT) {
            return Found::Ended(exit);
        }
        let lost =
            |message: &str| Found::Lost { last_evidence: self.evidence(run), message: message.to_string() };
        if intent.boot_id != self.boot_id {
            return lost("the machine was restarted while it ran");
        }
        // A supervisor that is just starting holds the lock before it has claimed; it claims at once.
        for _ in 0..500 {
            let alive = is_locked(&directory);
            match (read_json::<Claim>(&directory, CLAIM).ok().flatten(), alive) {
                (Some(claim), true) => return Found::Supervised(Box::new(intent), claim),
                (Some(_), false) => {
                    return match read_json::<Exit>(&directory, EXIT) {
                        Ok(Some(exit)) => Found::Ended(exit),
                        _ => lost("its supervisor is gone and has left no exit status"),
                    };
                }
                (None, false) => return Found::Unclaimed(Box::new(intent)),
                (None, true) => std::thread::sleep(std::time::Duration::from_millis(10)),
            }
        }
        lost("its supervisor neither claims it nor ends")
    }

    /// The last instant at which the run is known to have been: the newest change of what is in its directory.
    fn evidence(&self, run: RunId) -> UtcMicros {
        let mut newest = 0i64;
        for entry in std::fs::read_dir(self.run(run)).into_iter().flatten().flatten() {
            if let Ok(found) = entry.metadata() {
                newest = newest.max(found.mtime().saturating_mul(1_000_000) + found.mtime_nsec() / 1000);
            }
        }
        UtcMicros(newest)
    }

    /// Writes the intent and what the script needs, then starts the supervisor. `Err` says what is in the way.
    pub(crate) async fn launch(
        &self,
        config: &AgentConfig,
        log: &dyn EventLog,
        order: &RunOrder,
    ) -> Result<Child, String> {
        let script = blob(log, &order.spec.script, "script").await?;
        let environment = blob(log, &order.spec.environment, "environment").await?;
        let uid = order.spec.user.uid;
        if !config.allow_other_users && uid != nix::unistd::geteuid().as_raw() {
            return Err(format!(
                "daybookd runs without root and cannot start jobs of user {}",
                order.spec.user.name
            ));
        }
        let (directory, job) = (self.run(order.run), self.job(order.run));
        let intent = Intent {
            order: order.clone(),
            node: config.node.name.to_string(),
            boot_id: self.boot_id.clone(),
            script: job.join("slurm_script").display().to_string(),
            environment: directory.join("environment").display().to_string(),
        };
        let gid = order.spec.user.gid;
        let owner = config.allow_other_users.then_some((uid, gid));
        let made = tokio::task::spawn_blocking({
            let directory = directory.clone();
            move || prepare(&directory, &job, &intent, &script, &environment, owner)
        });
        made.await
            .map_err(|error| error.to_string())?
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        let log_file =
            OpenOptions::new().create(true).append(true).mode(0o600).open(directory.join("supervisor.log"));
        Command::new(&config.supervisor_binary)
            .arg(&directory)
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log_file.map_or_else(|_| Stdio::null(), Stdio::from))
            .spawn()
            .map_err(|error| format!("{}: {error}", config.supervisor_binary.display()))
    }

    pub(crate) fn started(&self, run: RunId) -> Option<Started> {
        read_json(&self.run(run), STARTED).ok().flatten()
    }

    /// What a supervisor that has ended has left.
    pub(crate) fn outcome(&self, run: RunId) -> Outcome {
        match read_json::<Exit>(&self.run(run), EXIT) {
            Ok(Some(exit)) => Outcome::Ended(Box::new(exit)),
            _ => {
                self.kill_rest(run);
                let message = "its supervisor ended without an exit status".to_string();
                Outcome::Lost { last_evidence: self.evidence(run), message }
            }
        }
    }

    /// Ends what a dead supervisor has left: the script's session.
    fn kill_rest(&self, run: RunId) {
        let Some(started) = self.started(run) else { return };
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let pid = nix::unistd::Pid::from_raw(pid);
            if nix::unistd::getsid(Some(pid)).is_ok_and(|session| session.as_raw() == started.pid) {
                let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
            }
        }
    }

    /// Puts a wish where the supervisor finds it, and wakes it.
    pub(crate) fn tell(&self, run: RunId, wish: &Wish) {
        let directory = self.run(run);
        if let Err(error) = write_json(&directory, WISH, wish, Durability::ProcessDeath) {
            tracing::error!(%run, %error, "the run's supervisor cannot be told");
            return;
        }
        let control =
            OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(directory.join(CONTROL));
        // Nobody listens yet or any more: a supervisor reads the wish when it begins.
        if let Ok(mut control) = control {
            let _ = control.write_all(b"!");
        }
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

/// Whether every directory on the way can be passed by everybody.
fn others_may_pass(path: &Path) -> bool {
    path.ancestors().all(|part| {
        std::fs::metadata(part)
            .map_or(true, |found| !found.is_dir() || found.permissions().mode() & 0o001 != 0)
    })
}

fn is_locked(directory: &Path) -> bool {
    match OpenOptions::new().read(true).open(directory.join(LOCK)) {
        Ok(file) => Flock::lock(file, FlockArg::LockExclusiveNonblock).is_err(),
        Err(_) => false,
    }
}

async fn blob(log: &dyn EventLog, hash: &BlobHash, what: &str) -> Result<std::sync::Arc<[u8]>, String> {
    match log.blob(hash).await {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(format!("the {what} {hash} is not in the log")),
        Err(error) => Err(format!("the {what} cannot be read: {error}")),
    }
}

/// Everything on disk, the intent last and synced.
fn prepare(
    directory: &Path,
    job: &Path,
    intent: &Intent,
    script: &[u8],
    environment: &[u8],
    owner: Option<(u32, u32)>,
) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(job)?;
    let script_path = job.join("slurm_script");
    write_file(&script_path, script, 0o700)?;
    write_file(&directory.join("environment"), environment, 0o600)?;
    if let Some((uid, gid)) = owner {
        std::os::unix::fs::chown(&script_path, Some(uid), Some(gid))?;
        std::os::unix::fs::chown(job, Some(uid), Some(gid))?;
    }
    let control = directory.join(CONTROL);
    let name = CString::new(control.as_os_str().as_encoded_bytes())?;
    match nix::unistd::mkfifo(name.as_c_str(), Mode::from_bits_truncate(0o600)) {
        Ok(()) | Err(nix::errno::Errno::EEXIST) => {}
        Err(error) => return Err(error.into()),
    }
    write_json(directory, ORDER, intent, Durability::PowerCut)?;
    match directory.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

fn write_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    // A leftover of an attempt that was cut off may belong to the user already.
    let _ = std::fs::remove_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)
}
