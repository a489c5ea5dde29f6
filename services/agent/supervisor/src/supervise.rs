//! From the claim to the exit record.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use daybook_schemas::UtcMicros;
use daybook_schemas::job::TimeLimit;
use daybook_schemas::orders::RunWish;
use daybook_schemas::run::{EndCause, ExitStatus, ProcessUsage};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeValLike;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::files::{Durability, read_json, write_json};
use crate::launch::Launch;
use crate::processes::{boot_id, clear_children, signal_descendants, start_time};
use crate::records::{CLAIM, CONTROL, Claim, EXIT, Exit, Intent, LOCK, ORDER, STARTED, Started, WISH, Wish};

/// Slurm's exit code for what could not be launched: 0:53.
const LAUNCH_FAILED: ExitStatus = ExitStatus { code: 0, signal: 53 };

/// Supervises the run of this directory. `Ok` also where another supervisor has it or had it.
pub fn supervise(directory: &Path) -> Result<(), String> {
    let fault = |error: io::Error| format!("{}: {error}", directory.display());
    // Away from the daemon's session and terminal: it may be stopped, this goes on.
    let _ = nix::unistd::setsid();
    let lock =
        OpenOptions::new().create(true).append(true).mode(0o600).open(directory.join(LOCK)).map_err(fault)?;
    let Ok(_held) = Flock::lock(lock, FlockArg::LockExclusiveNonblock) else { return Ok(()) };
    let Some(intent) = read_json::<Intent>(directory, ORDER).map_err(fault)? else { return Ok(()) };
    if intent.boot_id != boot_id() || !claim(directory).map_err(fault)? {
        return Ok(());
    }
    let exit = Run::begin(directory, intent).and_then(Run::watch).unwrap_or_else(|why| Exit {
        at: now(),
        cause: EndCause::LaunchFailed,
        exit: LAUNCH_FAILED,
        message: Some(why.chars().take(1000).collect()),
        usage: None,
    });
    write_json(directory, EXIT, &exit, Durability::PowerCut).map_err(fault)
}

/// Makes the claim; false where there is one.
fn claim(directory: &Path) -> io::Result<bool> {
    let pid = std::process::id() as i32;
    let claim = Claim { pid, start_time: start_time(pid).unwrap_or(0) };
    let temporary = directory.join(format!("{CLAIM}.{pid}"));
    std::fs::write(&temporary, serde_json::to_vec(&claim)?)?;
    // A hard link is made whole or not at all, and not over another one.
    let made = std::fs::hard_link(&temporary, directory.join(CLAIM));
    std::fs::remove_file(&temporary)?;
    match made {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

fn now() -> UtcMicros {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    UtcMicros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// A script under supervision.
struct Run<'a> {
    directory: &'a Path,
    intent: Intent,
    script: Pid,
    signals: SignalFd,
    control: File,
    started: Instant,
    /// Why it is being ended, once it is.
    ending: Option<EndCause>,
    /// When what resists is killed.
    kill_at: Option<Instant>,
    /// The last signal order sent.
    sent: daybook_schemas::Seq,
}

impl<'a> Run<'a> {
    fn begin(directory: &'a Path, intent: Intent) -> Result<Run<'a>, String> {
        nix::sys::prctl::set_child_subreaper(true).map_err(|error| format!("subreaper: {error}"))?;
        let mut watched = SigSet::empty();
        watched.add(Signal::SIGCHLD);
        // Whoever supervises ends with its run, not with a signal to a session.
        [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().for_each(|signal| watched.add(signal));
        watched.thread_block().map_err(|error| format!("signals: {error}"))?;
        let signals = SignalFd::with_flags(&watched, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC);
        let signals = signals.map_err(|error| format!("signalfd: {error}"))?;
        let control = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(directory.join(CONTROL))
            .map_err(|error| format!("{CONTROL}: {error}"))?;
        let script = Launch::prepare(intent.clone())?.start()?;
        let started = Started { pid: script.as_raw(), at: now() };
        write_json(directory, STARTED, &started, Durability::ProcessDeath)
            .map_err(|error| format!("{STARTED}: {error}"))?;
        // The agent waits for this line: the script's process exists.
        let _ = io::stdout().write_all(b"started\n").and_then(|()| io::stdout().flush());
        Ok(Run {
            directory,
            intent,
            script,
            signals,
            control,
            started: Instant::now(),
            ending: None,
            kill_at: None,
            sent: daybook_schemas::Seq::ZERO,
        })
    }

    fn watch(mut self) -> Result<Exit, String> {
        self.heed_wish();
        let status = loop {
            match waitpid(self.script, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(_, code)) => break ExitStatus { code: code as u32, signal: 0 },
                Ok(WaitStatus::Signaled(_, signal, _)) => {
                    break ExitStatus { code: 0, signal: signal as u32 };
                }
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(format!("wait: {error}")),
            }
            self.wait_for_something()?;
        };
        let at = now();
        let clean = clear_children();
        Ok(Exit {
            at,
            cause: self.ending.unwrap_or(EndCause::Exited),
            exit: status,
            message: (!clean).then(|| "processes of the run could not be killed".to_string()),
            usage: usage(),
        })
    }

    /// Sleeps until a child ends, the agent has something to say, or a moment has come.
    fn wait_for_something(&mut self) -> Result<(), String> {
        let timeout = match self.next_moment() {
            // Rounded up, so that the moment has come when it wakes.
            Some(moment) => {
                let left = moment.saturating_duration_since(Instant::now()).as_millis() + 1;
                PollTimeout::from(u16::try_from(left).unwrap_or(u16::MAX))
            }
            None => PollTimeout::NONE,
        };
        let mut sources = [
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.control.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut sources, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(format!("poll: {error}")),
        }
        while let Ok(Some(_)) = self.signals.read_signal() {}
        self.reap_orphans();
        let mut bytes = [0u8; 256];
        if matches!(self.control.read(&mut bytes), Ok(read) if read > 0) {
            while matches!(self.control.read(&mut bytes), Ok(read) if read > 0) {}
            self.heed_wish();
        }
        self.heed_clock();
        Ok(())
    }

    /// Orphans of the job become children here: those that have ended are taken away, the script's end is left to
    /// its own wait.
    fn reap_orphans(&self) {
        loop {
            // SAFETY: plain system call with a zeroed out-parameter; it only looks (WNOWAIT).
            let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
            let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            // SAFETY: `info` is valid for writes.
            if unsafe { libc::waitid(libc::P_ALL, 0, &mut info, flags) } != 0 {
                return;
            }
            // SAFETY: waitid has filled `info` (pid 0: nobody has ended).
            let pid = unsafe { info.si_pid() };
            if pid == 0 || pid == self.script.as_raw() {
                return;
            }
            let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
        }
    }

    fn limit(&self) -> Option<Instant> {
        match self.intent.order.time_limit {
            TimeLimit::Minutes(minutes) => Some(self.started + Duration::from_secs(u64::from(minutes) * 60)),
            TimeLimit::Unlimited => None,
        }
    }

    fn next_moment(&self) -> Option<Instant> {
        if self.ending.is_some() { self.kill_at } else { self.limit() }
    }

    fn heed_clock(&mut self) {
        let moment = Instant::now();
        if self.ending.is_none() && self.limit().is_some_and(|limit| limit <= moment) {
            self.end(EndCause::TimeLimit);
        } else if self.kill_at.is_some_and(|at| at <= moment) {
            signal_descendants(std::process::id() as i32, Signal::SIGKILL);
            // Again soon: what forks while it is killed.
            self.kill_at = Some(moment + Duration::from_millis(50));
        }
    }

    /// What the agent wishes, read from its file.
    fn heed_wish(&mut self) {
        let Ok(Some(wish)) = read_json::<Wish>(self.directory, WISH) else { return };
        for order in wish.signals {
            if order.requested > self.sent {
                self.sent = order.requested;
                if let (true, Ok(signal)) = (order.batch, Signal::try_from(order.signal)) {
                    signal_descendants(std::process::id() as i32, signal);
                }
            }
        }
        match wish.wish {
            RunWish::Cancel => self.end(EndCause::Cancelled),
            RunWish::Requeue => self.end(EndCause::Requeued),
            RunWish::NodeDown => self.end(EndCause::NodeFailed),
            RunWish::Run | RunWish::Release => {}
        }
    }

    /// TERM now (and CONT, for what is stopped), KILL after the kill wait.
    fn end(&mut self, cause: EndCause) {
        if self.ending.is_some() {
            return;
        }
        self.ending = Some(cause);
        let own = std::process::id() as i32;
        signal_descendants(own, Signal::SIGCONT);
        signal_descendants(own, Signal::SIGTERM);
        self.kill_at = Some(Instant::now() + Duration::from_secs(self.intent.order.kill_wait.0));
    }
}

/// What the script and its children have used.
fn usage() -> Option<ProcessUsage> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    Some(ProcessUsage {
        user_cpu_us: u64::try_from(usage.user_time().num_microseconds()).unwrap_or(0),
        system_cpu_us: u64::try_from(usage.system_time().num_microseconds()).unwrap_or(0),
        max_rss_kib: u64::try_from(usage.max_rss()).unwrap_or(0),
    })
}
