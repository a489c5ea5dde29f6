//! From the claim to the exit record.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use daybook_schemas::job::TimeLimit;
use daybook_schemas::orders::RunWish;
use daybook_schemas::run::{EndCause, ExitStatus, ProcessUsage};
use daybook_schemas::{Seq, UtcMicros};
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
use crate::launch::{Failure, Launch};
use crate::notice;
use crate::processes::{Run, boot_id, own_pid, start_time};
use crate::records::{CLAIM, CONTROL, Claim, EXIT, Exit, Intent, LOCK, ORDER, STARTED, Started, WISH, Wish};

/// Slurm's exit code for what could not be launched: 0:53.
const LAUNCH_FAILED: ExitStatus = ExitStatus { code: 0, signal: 53 };
/// The longest message kept, in characters.
const MESSAGE_MAX: usize = 1000;
/// What the script left running has so long between TERM and KILL, where nobody has asked for the run's end, at most.
const SWEEP_WAIT_MAX: Duration = Duration::from_secs(2);
/// KILL is sent again this often, to what was started in the meantime.
const KILL_AGAIN: Duration = Duration::from_millis(50);
/// What cannot be killed for so long (it hangs in the kernel) is left behind, and said.
const KILL_PATIENCE: Duration = Duration::from_secs(60);
/// The longest wait; the clock is looked at again then.
const WAIT_MAX: Duration = Duration::from_secs(3600);
/// While the disk does not take the exit record: between tries, doubled from the first to the last.
const BACKOFF: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// Supervises the run of this directory. `Ok` also where another supervisor has it or had it. An error means that
/// nothing was started and nothing is claimed.
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
    let exit = run(directory, &intent).unwrap_or_else(|why| Exit {
        at: now(),
        cause: EndCause::LaunchFailed,
        exit: LAUNCH_FAILED,
        message: Some(why.chars().take(MESSAGE_MAX).collect()),
        usage: None,
    });
    leave(directory, &exit);
    Ok(())
}

/// Makes this process's claim; false where there is one, or the run has been over for long.
pub fn claim(directory: &Path) -> io::Result<bool> {
    let pid = own_pid();
    let claim = Claim { pid, start_time: start_time(pid).unwrap_or(0) };
    let temporary = directory.join(format!("{CLAIM}.{pid}"));
    std::fs::write(&temporary, serde_json::to_vec(&claim)?)?;
    // A hard link is made whole or not at all, and not over another one.
    let made = std::fs::hard_link(&temporary, directory.join(CLAIM));
    std::fs::remove_file(&temporary)?;
    match made {
        // Removing a directory starts with the order: if that is gone by now, so may be the claim of who ran it.
        Ok(()) => Ok(directory.join(ORDER).exists()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes the exit record, however long the disk does not take it: until then the run is not over for anybody, and this
/// process keeps what it knows. If the directory is gone, nobody wants it.
fn leave(directory: &Path, exit: &Exit) {
    let mut pause = BACKOFF[0];
    while write_json(directory, EXIT, exit, Durability::PowerCut).is_err() && directory.exists() {
        std::thread::sleep(pause);
        pause = (pause * 2).min(BACKOFF[1]);
    }
}

fn now() -> UtcMicros {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    UtcMicros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Starts the script and sees it to its end. An error says why it could not be started.
fn run(directory: &Path, intent: &Intent) -> Result<Exit, String> {
    let watch = Watch::new(directory)?;
    let (script, std_err) = match Launch::prepare(intent)?.start() {
        Ok(started) => started,
        Err(Failure::Launch(why)) => return Err(why),
        Err(Failure::Execution { code, message }) => {
            let exit = ExitStatus { code, signal: 0 };
            return Ok(Exit {
                at: now(),
                cause: EndCause::Exited,
                exit,
                message: Some(message),
                usage: None,
            });
        }
    };
    let started =
        Started { pid: script.as_raw(), start_time: start_time(script.as_raw()).unwrap_or(0), at: now() };
    // Where this cannot be written the run goes on all the same: its end is what counts.
    let _ = write_json(directory, STARTED, &started, Durability::ProcessDeath);
    // The agent waits for this line: the script's process exists.
    let _ = io::stdout().write_all(b"started\n").and_then(|()| io::stdout().flush());
    let supervision = Supervision {
        directory,
        intent,
        watch,
        script,
        std_err,
        started: Instant::now(),
        limit: intent.order.time_limit,
        ending: None,
        sent: Seq::ZERO,
        exit: None,
    };
    Ok(supervision.until_over())
}

/// What wakes the supervisor.
struct Watch {
    run: Run,
    signals: SignalFd,
    control: File,
}

impl Watch {
    fn new(directory: &Path) -> Result<Watch, String> {
        let run = Run::contain().map_err(|error| format!("subreaper: {error}"))?;
        let mut watched = SigSet::empty();
        watched.add(Signal::SIGCHLD);
        // Whoever supervises ends with its run, not with a signal.
        [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT]
            .into_iter()
            .for_each(|signal| watched.add(signal));
        watched.thread_block().map_err(|error| format!("signals: {error}"))?;
        let signals = SignalFd::with_flags(&watched, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
            .map_err(|error| format!("signalfd: {error}"))?;
        let control = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(directory.join(CONTROL))
            .map_err(|error| format!("{CONTROL}: {error}"))?;
        Ok(Watch { run, signals, control })
    }

    /// Sleeps until a child ends, the agent has something to say, or the time is up.
    fn wait(&self, longest: Duration) {
        // Rounded up, so that the moment has come when it wakes.
        let millis = i32::try_from(longest.min(WAIT_MAX).as_millis()).unwrap_or(i32::MAX - 1) + 1;
        let mut sources = [
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.control.as_fd(), PollFlags::POLLIN),
        ];
        // An interrupted wait is a short one.
        let _ = poll(&mut sources, PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX));
    }

    /// Whether the agent has knocked.
    fn is_called(&mut self) -> bool {
        let mut bytes = [0u8; 256];
        let mut called = false;
        while matches!(self.control.read(&mut bytes), Ok(read) if read > 0) {
            called = true;
        }
        called
    }

    /// Whether this process was told to end: so does a machine that goes down.
    fn is_told_to_end(&self) -> bool {
        let mut told = false;
        while let Ok(Some(signal)) = self.signals.read_signal() {
            told |= signal.ssi_signo == (Signal::SIGTERM as i32).cast_unsigned();
        }
        told
    }
}

/// The run is being ended by us.
struct Ending {
    cause: EndCause,
    kill_at: Instant,
}

/// A script under supervision.
struct Supervision<'a> {
    directory: &'a Path,
    intent: &'a Intent,
    watch: Watch,
    script: Pid,
    std_err: File,
    started: Instant,
    limit: TimeLimit,
    ending: Option<Ending>,
    /// The last signal order sent.
    sent: Seq,
    exit: Option<(ExitStatus, UtcMicros)>,
}

impl Supervision<'_> {
    fn until_over(mut self) -> Exit {
        self.heed_wish();
        let (exit, at) = loop {
            self.reap();
            if let Some(exit) = self.exit {
                break exit;
            }
            let longest = self.heed_clock();
            self.watch.wait(longest);
            if self.watch.is_told_to_end() {
                self.end(EndCause::NodeFailed);
            }
            if self.watch.is_called() {
                self.heed_wish();
            }
        };
        let left = self.sweep();
        Exit {
            at,
            cause: self.ending.map_or(EndCause::Exited, |ending| ending.cause),
            exit,
            message: (left > 0).then(|| format!("{left} processes of the run could not be killed")),
            usage: usage(),
        }
    }

    /// Takes every child that has ended, orphans of the job among them; gives whether there is none left at all.
    fn reap(&mut self) -> bool {
        loop {
            let (pid, exit) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => {
                    (pid, ExitStatus { code: code.cast_unsigned(), signal: 0 })
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) => {
                    (pid, ExitStatus { code: 0, signal: (signal as i32).cast_unsigned() })
                }
                Ok(WaitStatus::StillAlive) => return false,
                Err(Errno::ECHILD) => return true,
                Ok(_) | Err(_) => continue,
            };
            if pid == self.script {
                self.exit = Some((exit, now()));
            }
        }
    }

    /// Does what is due, and gives how long nothing will be.
    fn heed_clock(&mut self) -> Duration {
        if let Some(ending) = &self.ending {
            let left = ending.kill_at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.watch.run.signal(Signal::SIGKILL);
                return KILL_AGAIN;
            }
            return left;
        }
        let TimeLimit::Minutes(minutes) = self.limit else { return WAIT_MAX };
        let left = Duration::from_secs(u64::from(minutes) * 60).saturating_sub(self.started.elapsed());
        if left.is_zero() {
            self.end(EndCause::TimeLimit);
        }
        left
    }

    /// What the agent wishes, read from its file.
    fn heed_wish(&mut self) {
        let Ok(Some(wish)) = read_json::<Wish>(self.directory, WISH) else { return };
        self.limit = wish.time_limit;
        for order in wish.signals {
            if order.requested > self.sent {
                self.sent = order.requested;
                if let (true, Ok(signal)) = (order.batch, Signal::try_from(order.signal)) {
                    self.watch.run.signal(signal);
                }
            }
        }
        match wish.wish {
            // A run that the orders do not know any more (Release) is as good as cancelled.
            RunWish::Cancel | RunWish::Release => self.end(EndCause::Cancelled),
            RunWish::Requeue => self.end(EndCause::Requeued),
            RunWish::NodeDown => self.end(EndCause::NodeFailed),
            RunWish::Run => {}
        }
    }

    /// Says so in the job's output, then TERM (and CONT, for what is stopped), KILL after the kill wait. The first cause
    /// counts.
    fn end(&mut self, cause: EndCause) {
        if self.ending.is_some() {
            return;
        }
        let line = notice::ended(self.intent, cause, &notice::local_time(now()));
        let _ = self.std_err.write_all(line.as_bytes());
        self.terminate();
        let kill_at = Instant::now() + Duration::from_secs(self.intent.order.kill_wait.0);
        self.ending = Some(Ending { cause, kill_at });
    }

    fn terminate(&self) {
        self.watch.run.signal(Signal::SIGTERM);
        self.watch.run.signal(Signal::SIGCONT);
    }

    /// Ends what the script has left running. Gives how many processes would not end.
    fn sweep(&mut self) -> usize {
        if self.reap() {
            return 0;
        }
        let kill_at = match &self.ending {
            Some(ending) => ending.kill_at,
            None => {
                self.terminate();
                Instant::now() + Duration::from_secs(self.intent.order.kill_wait.0).min(SWEEP_WAIT_MAX)
            }
        };
        let give_up = kill_at.max(Instant::now()) + KILL_PATIENCE;
        while !self.reap() {
            let now = Instant::now();
            if now >= give_up {
                return self.watch.run.processes().len();
            }
            if now < kill_at {
                self.watch.wait(kill_at - now);
            } else {
                self.watch.run.signal(Signal::SIGKILL);
                self.watch.wait(KILL_AGAIN);
            }
            self.watch.is_told_to_end();
            self.watch.is_called();
        }
        0
    }
}

/// What the script and its children have used; all of them have been waited for.
fn usage() -> Option<ProcessUsage> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    Some(ProcessUsage {
        user_cpu_us: u64::try_from(usage.user_time().num_microseconds()).unwrap_or(0),
        system_cpu_us: u64::try_from(usage.system_time().num_microseconds()).unwrap_or(0),
        max_rss_kib: u64::try_from(usage.max_rss()).unwrap_or(0),
    })
}
