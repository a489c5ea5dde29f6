//! From the claim to the exit record.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use daybook_cgroup::Group;
use daybook_schemas::job::TimeLimit;
use daybook_schemas::orders::RunWish;
use daybook_schemas::run::{EndCause, ExitStatus, ProcessUsage};
use daybook_schemas::{Seq, UtcMicros};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeValLike;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::environment::program_environment;
use crate::journal::{Journal, STARTED_LINE, say};
use crate::launch::{Failure, Launch};
use crate::notice;
use crate::processes::{Run, boot_id, is_stopped, own_pid, start_time};
use crate::records::{Claim, Confined, Entry, Exit, Intent, Started, Trouble, TroubleKind, Turn};
use crate::run_files::{Order, RunFiles};

/// Slurm's exit code for what could not be launched: 0:53.
const LAUNCH_FAILED: ExitStatus = ExitStatus { code: 0, signal: 53 };
/// The longest message kept, in characters.
const MESSAGE_MAX: usize = 1000;
/// What the script left running has so long between TERM and KILL, where nobody has asked for the run's end, at most.
const SWEEP_WAIT_MAX: Duration = Duration::from_secs(2);
/// What is left so long after the script's end is not waited for any more before that end is told.
const LINGER: Duration = Duration::from_millis(250);
/// KILL is sent again this often, to what was started in the meantime.
const KILL_AGAIN: Duration = Duration::from_millis(50);
/// While something resists, KILL is sent again after a pause that grows up to this.
const KILL_AGAIN_MAX: Duration = Duration::from_secs(1);
/// A group from which all have gone is free at once, or very soon: so often it is tried before anybody is told.
const REMOVE_TRIES: u32 = 5;
/// Between those tries.
const REMOVE_AGAIN: Duration = Duration::from_millis(2);
/// STOP is sent again this often, to what was started in the meantime.
const STOP_AGAIN: Duration = Duration::from_millis(10);
/// What does not stop for so long (it hangs in the kernel) counts as stopped: it does so as soon as it can.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// The longest wait; the clock is looked at again then.
const WAIT_MAX: Duration = Duration::from_secs(3600);

/// Supervises a run. `Ok` also where another supervisor has it or had it. An error means that nothing was started and
/// nothing is claimed.
pub fn supervise(files: &RunFiles) -> Result<(), String> {
    let fault = |error: io::Error| format!("{}: {error}", files.base().display());
    // First, so that no signal ends this process from here on.
    let signals = block_signals().map_err(|error| format!("signals: {error}"))?;
    // Away from the daemon's session and terminal: it may be stopped, this goes on.
    let _ = nix::unistd::setsid();
    let Some(lock) = files.lock().map_err(fault)? else { return Ok(()) };
    let Order::Whole(intent, environment) = files.read_order().map_err(fault)? else { return Ok(()) };
    if intent.boot_id != boot_id() {
        return Ok(());
    }
    let Some(mut record) = files.claim(&lock).map_err(fault)? else { return Ok(()) };
    let pid = own_pid();
    let claim = Claim { pid, start_time: start_time(pid).unwrap_or(0) };
    if let Err(error) = record.add(&Entry::Claimed(claim)) {
        // Nothing was started and the lock is held, so the claim may be given back.
        let _ = std::fs::remove_file(files.record());
        return Err(fault(error));
    }
    let mut journal = Journal::new(files, record);
    let exit = run(&mut journal, &intent, &environment, &signals);
    if let Err(why) = intent.care.epilog.run(&program_environment(&intent, "epilog_slurmd")) {
        journal.trouble(Trouble { at: now(), kind: TroubleKind::Epilog, message: shortened(&why) });
    }
    journal.end(exit);
    Ok(())
}

fn shortened(message: &str) -> String {
    message.chars().take(MESSAGE_MAX).collect()
}

fn never_began(cause: EndCause, exit: ExitStatus, why: &str) -> Exit {
    Exit { at: now(), cause, exit, message: Some(shortened(why)), usage: None }
}

/// Blocks what is read one by one instead; whoever supervises ends with its run, not with a signal.
fn block_signals() -> nix::Result<SigSet> {
    let mut watched = SigSet::empty();
    for signal in
        [Signal::SIGCHLD, Signal::SIGUSR1, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT]
    {
        watched.add(signal);
    }
    watched.thread_block()?;
    Ok(watched)
}

fn now() -> UtcMicros {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    UtcMicros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// From the prolog to when nothing of the script is left.
fn run(journal: &mut Journal<'_>, intent: &Intent, environment: &[u8], signals: &SigSet) -> Exit {
    if let Err(why) = intent.care.prolog.run(&program_environment(intent, "prolog_slurmd")) {
        return unfit(journal, TroubleKind::Prolog, &why);
    }
    // A prolog may take long enough for somebody to change his mind.
    if let Some(cause) = journal.files.read_wish().and_then(|wish| wish.end_before_start()) {
        return Exit::unstarted(cause, now());
    }
    let group = match intent.confined.as_ref().map(Confined::make).transpose() {
        Ok(group) => group,
        Err(fault) => {
            intent.confined.iter().for_each(|confined| {
                confined.group().remove();
            });
            return unfit(journal, TroubleKind::Unconfined, &fault.to_string());
        }
    };
    let started = start(journal, intent, environment, signals, group.as_ref());
    match started {
        Ok(supervision) => supervision.until_over(),
        Err(exit) => {
            if let Some(group) = &group {
                clear_group(group, journal, intent, &exit);
            }
            exit
        }
    }
}

/// The end of a run whose node is no good for it.
fn unfit(journal: &mut Journal<'_>, kind: TroubleKind, why: &str) -> Exit {
    journal.trouble(Trouble { at: now(), kind, message: shortened(why) });
    never_began(EndCause::NodeUnfit, LAUNCH_FAILED, &format!("{}: {why}", kind.reason()))
}

/// Starts the script. An error is the run's end: it could not be started.
fn start<'a, 'b>(
    journal: &'a mut Journal<'b>,
    intent: &'a Intent,
    environment: &[u8],
    signals: &SigSet,
    group: Option<&Group>,
) -> Result<Supervision<'a, 'b>, Exit> {
    let failed = |why: String| never_began(EndCause::LaunchFailed, LAUNCH_FAILED, &why);
    let watch = Watch::new(signals, group.cloned()).map_err(failed)?;
    let launch = Launch::prepare(intent, environment).map_err(failed)?;
    let (script, std_err) = launch.start(group).map_err(|failure| match failure {
        Failure::Launch(why) => failed(why),
        Failure::Execution { code, message } => {
            never_began(EndCause::Exited, ExitStatus { code, signal: 0 }, &message)
        }
    })?;
    let start_time = start_time(script.as_raw()).unwrap_or(0);
    // Where this cannot be written the run goes on all the same: its end is what counts.
    journal.note(&Entry::Started(Started { pid: script.as_raw(), start_time, at: now() }));
    // The agent waits for this line: the script's process exists.
    say(STARTED_LINE);
    Ok(Supervision {
        journal,
        intent,
        watch,
        script,
        std_err,
        halt: Halt::None,
        paused: Duration::ZERO,
        ordered: Seq::ZERO,
        started: Instant::now(),
        limit: intent.order.time_limit,
        ending: None,
        give_way_at: None,
        sent: Seq::ZERO,
        exit: None,
    })
}

/// What wakes the supervisor.
struct Watch {
    run: Run,
    signals: SignalFd,
}

/// What it was told.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    /// By the agent: there is a new wish.
    wish: bool,
    /// By whoever ends everything here: the machine goes down.
    end: bool,
}

impl Watch {
    fn new(signals: &SigSet, group: Option<Group>) -> Result<Watch, String> {
        let run = Run::contain(group).map_err(|error| format!("subreaper: {error}"))?;
        let signals = SignalFd::with_flags(signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
            .map_err(|error| format!("signalfd: {error}"))?;
        Ok(Watch { run, signals })
    }

    /// Sleeps until a child ends, somebody has something to say, or the time is up.
    fn wait(&self, longest: Duration) -> Told {
        // Rounded up, so that the moment has come when it wakes.
        let millis = i32::try_from(longest.min(WAIT_MAX).as_millis()).unwrap_or(i32::MAX - 1) + 1;
        let mut sources = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        // An interrupted wait is a short one.
        let _ = poll(&mut sources, PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX));
        let mut told = Told::default();
        while let Ok(Some(signal)) = self.signals.read_signal() {
            match Signal::try_from(signal.ssi_signo.cast_signed()) {
                Ok(Signal::SIGUSR1) => told.wish = true,
                Ok(Signal::SIGTERM) => told.end = true,
                _ => {}
            }
        }
        told
    }
}

/// The run is being ended by us.
struct Ending {
    cause: EndCause,
    kill_at: Instant,
}

/// Whether the run is to stop, or has.
#[derive(Clone, Copy, Debug)]
enum Halt {
    /// It goes on.
    None,
    /// It has been warned by TSTP, and is stopped then.
    Due(Instant),
    /// It is stopped since then.
    Since(Instant),
}

/// A script under supervision.
struct Supervision<'a, 'b> {
    journal: &'a mut Journal<'b>,
    intent: &'a Intent,
    halt: Halt,
    /// For how long it was stopped, without a stop that lasts.
    paused: Duration,
    /// The last order to stop or to go on.
    ordered: Seq,
    watch: Watch,
    script: Pid,
    std_err: File,
    started: Instant,
    limit: TimeLimit,
    ending: Option<Ending>,
    /// It has been warned that it is ended then, for another job.
    give_way_at: Option<Instant>,
    /// The last signal order sent.
    sent: Seq,
    exit: Option<(ExitStatus, UtcMicros)>,
}

impl Supervision<'_, '_> {
    fn until_over(mut self) -> Exit {
        self.heed_wish();
        let (exit, at) = loop {
            self.reap();
            if let Some(exit) = self.exit {
                break exit;
            }
            let longest = self.heed_clock();
            let told = self.watch.wait(longest);
            if told.end {
                self.end(EndCause::NodeFailed);
            }
            if told.wish {
                self.heed_wish();
            }
        };
        let oom_kills = self.watch.run.group().and_then(Group::oom_kills).unwrap_or(0);
        let cause = match &self.ending {
            Some(ending) => ending.cause,
            None if oom_kills > 0 => {
                let line = notice::out_of_memory(self.intent, oom_kills);
                let _ = self.std_err.write_all(line.as_bytes());
                EndCause::OutOfMemory
            }
            // Whoever ends well after a warning has done its work.
            None if self.give_way_at.is_some() && !exit.is_success() => {
                self.say_ended(EndCause::Preempted);
                EndCause::Preempted
            }
            None => EndCause::Exited,
        };
        let end = Exit { at, cause, exit, message: None, usage: None };
        if !self.intent.care.epilog.are_none() {
            let exit = Exit { usage: usage(self.watch.run.group()), ..end.clone() };
            self.journal.over(&exit);
        }
        self.sweep(&end);
        // What was taken over meanwhile is counted too.
        let usage = usage(self.watch.run.group());
        let exit = Exit { usage, ..end };
        if let Some(group) = self.watch.run.group().cloned() {
            clear_group(&group, self.journal, self.intent, &exit);
        }
        exit
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
                self.watch.run.kill();
                return KILL_AGAIN;
            }
            return left;
        }
        match self.halt {
            Halt::None => {}
            Halt::Due(due) => {
                let left = due.saturating_duration_since(Instant::now());
                return if left.is_zero() { self.make_stop(due) } else { left };
            }
            // Its time stands still.
            Halt::Since(_) => return WAIT_MAX,
        }
        let warned = self.give_way_at.map(|at| at.saturating_duration_since(Instant::now()));
        if warned.is_some_and(|left| left.is_zero()) {
            self.end(EndCause::Preempted);
            return Duration::ZERO;
        }
        let warned = warned.unwrap_or(WAIT_MAX);
        let TimeLimit::Seconds(seconds) = self.limit else { return warned };
        let ran = self.started.elapsed().saturating_sub(self.paused);
        let left = Duration::from_secs(seconds).saturating_sub(ran);
        if left.is_zero() {
            self.end(EndCause::TimeLimit);
        }
        left.min(warned)
    }

    /// What the agent wishes, read from its file.
    fn heed_wish(&mut self) {
        let Some(wish) = self.journal.files.read_wish() else { return };
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
            RunWish::UsedUp => self.end(EndCause::TimeLimit),
            RunWish::GiveWay => self.give_way(Duration::from_secs(wish.grace.0)),
            RunWish::Suspend => self.stop(wish.ordered, Duration::from_secs(wish.suspend_grace.0)),
            RunWish::Run => self.go_on(wish.ordered),
        }
    }

    /// Warns with TSTP; STOP follows after the grace. What is stopped already says so again for a newer order.
    fn stop(&mut self, ordered: Seq, grace: Duration) {
        if self.ending.is_some() || self.give_way_at.is_some() || ordered <= self.ordered {
            return;
        }
        self.ordered = ordered;
        match self.halt {
            Halt::None => {
                self.watch.run.signal(Signal::SIGTSTP);
                self.halt = Halt::Due(Instant::now() + grace);
            }
            Halt::Due(_) => {}
            Halt::Since(_) => self.note_turn(true),
        }
    }

    /// Stops every process; gives when to look again.
    fn make_stop(&mut self, due: Instant) -> Duration {
        self.watch.run.signal(Signal::SIGSTOP);
        let all_stopped = self.watch.run.processes().into_iter().all(is_stopped);
        if !all_stopped && due.elapsed() < STOP_PATIENCE {
            return STOP_AGAIN;
        }
        self.halt = Halt::Since(Instant::now());
        self.note_turn(true);
        WAIT_MAX
    }

    /// Lets it go on, where it was told to stop.
    fn go_on(&mut self, ordered: Seq) {
        if self.ending.is_some() || ordered <= self.ordered {
            return;
        }
        self.ordered = ordered;
        self.end_halt();
        self.watch.run.signal(Signal::SIGCONT);
        self.note_turn(false);
    }

    fn end_halt(&mut self) {
        if let Halt::Since(since) = std::mem::replace(&mut self.halt, Halt::None) {
            self.paused += since.elapsed();
        }
    }

    fn note_turn(&mut self, is_stop: bool) {
        self.journal.add(&Entry::Turned(Turn { is_stop, ordered: self.ordered, at: now() }));
    }

    /// Says so in the job's output, then TERM (and CONT, for what is stopped), KILL after the kill wait. The first cause
    /// counts.
    fn end(&mut self, cause: EndCause) {
        if self.ending.is_some() {
            return;
        }
        self.end_halt();
        self.say_ended(cause);
        self.terminate();
        let kill_at = Instant::now() + Duration::from_secs(self.intent.order.kill_wait.0);
        self.ending = Some(Ending { cause, kill_at });
    }

    /// Warns with TERM (and CONT), and ends it after its grace; at once where it has none. The first warning counts.
    fn give_way(&mut self, grace: Duration) {
        if self.ending.is_some() || self.give_way_at.is_some() {
            return;
        }
        if grace.is_zero() {
            return self.end(EndCause::Preempted);
        }
        self.end_halt();
        self.terminate();
        self.give_way_at = Instant::now().checked_add(grace);
    }

    fn say_ended(&mut self, cause: EndCause) {
        let line = notice::ended(self.intent, cause, &notice::local_time(now()));
        let _ = self.std_err.write_all(line.as_bytes());
    }

    fn terminate(&self) {
        self.watch.run.signal(Signal::SIGTERM);
        self.watch.run.signal(Signal::SIGCONT);
    }

    /// Ends what the script has left running, however long it takes.
    fn sweep(&mut self, end: &Exit) {
        if self.reap() {
            return;
        }
        let told_at = Instant::now() + LINGER;
        let kill_at = match &self.ending {
            Some(ending) => ending.kill_at,
            None => {
                self.terminate();
                Instant::now() + Duration::from_secs(self.intent.order.kill_wait.0).min(SWEEP_WAIT_MAX)
            }
        };
        let mut patience = Patience::new(kill_at.max(Instant::now()), self.intent);
        while !self.reap() {
            let now = Instant::now();
            if now >= told_at {
                let usage = usage(self.watch.run.group());
                self.journal.over(&Exit { usage, ..end.clone() });
            }
            if now < kill_at {
                // Once more when its end is to be told.
                let until = if now < told_at { kill_at.min(told_at) } else { kill_at };
                self.watch.wait(until - now);
            } else {
                self.watch.run.kill();
                let left = || {
                    let pids = self.watch.run.processes();
                    let shown: Vec<String> = pids.iter().take(10).map(ToString::to_string).collect();
                    format!("{} processes cannot be killed, among them {}", pids.len(), shown.join(" "))
                };
                patience.complain_if_over(self.journal, left);
                self.watch.wait(patience.pause());
            }
        }
    }
}

/// How long something may resist before the node's administrator is told; once.
struct Patience<'a> {
    intent: &'a Intent,
    until: Option<Instant>,
    pause: Duration,
}

impl Patience<'_> {
    fn new(from: Instant, intent: &Intent) -> Patience<'_> {
        let until = from.checked_add(Duration::from_secs(intent.care.unkillable_after.0));
        Patience { intent, until, pause: KILL_AGAIN }
    }

    fn pause(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = (pause * 2).min(KILL_AGAIN_MAX);
        pause
    }

    fn complain_if_over(&mut self, journal: &mut Journal<'_>, what: impl FnOnce() -> String) {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            self.until = None;
            journal.trouble(Trouble {
                at: now(),
                kind: TroubleKind::Unkillable,
                message: shortened(&what()),
            });
            let environment = program_environment(self.intent, "unkillable_step");
            // It is there to tell people; if it cannot, the node's reason does.
            let _ = self.intent.care.unkillable.run(&environment);
        }
    }
}

/// Ends what is in a group, and removes it, however long that takes.
fn clear_group(group: &Group, journal: &mut Journal<'_>, intent: &Intent, exit: &Exit) {
    for _ in 0..REMOVE_TRIES {
        if group.remove() {
            return;
        }
        group.kill();
        std::thread::sleep(REMOVE_AGAIN);
    }
    journal.over(exit);
    let mut patience = Patience::new(Instant::now(), intent);
    while !group.remove() {
        group.kill();
        let left = || match group.processes().len() {
            0 => "its control group cannot be removed".to_string(),
            count => format!("{count} processes in its control group cannot be killed"),
        };
        patience.complain_if_over(journal, left);
        std::thread::sleep(patience.pause());
    }
}

/// What the script and its children have used; all of them have been waited for. What went to and from disks is counted
/// where the run has a control group.
fn usage(group: Option<&Group>) -> Option<ProcessUsage> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let counted = group.map(Group::usage).unwrap_or_default();
    let micros = |micros: i64| u64::try_from(micros).unwrap_or(0);
    Some(ProcessUsage {
        user_cpu_us: micros(usage.user_time().num_microseconds()),
        system_cpu_us: micros(usage.system_time().num_microseconds()),
        max_rss_kib: u64::try_from(usage.max_rss()).unwrap_or(0),
        read_bytes: counted.read_bytes,
        written_bytes: counted.written_bytes,
    })
}
