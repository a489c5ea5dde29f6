//! From the supervisor's process to the script's: fork, become the user, execute.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::time::Duration;

use daybook_cgroup::Group;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{ForkResult, Pid, fchdir, fork, getppid, setgid, setgroups, setsid, setuid};

use crate::environment::batch_environment;
use crate::notice;
use crate::records::Intent;
use crate::standard_files::{self, Identity, Opened, Paths};

/// How often a script that is "busy" is tried again: a descriptor on which the agent has written it may be open in a
/// process that the agent has just forked, until that one executes its own program.
const BUSY_TRIES: u32 = 100;
/// The wait between those tries.
const BUSY_WAIT: Duration = Duration::from_millis(20);

/// Everything the child needs, made before the fork.
#[derive(Debug)]
pub struct Launch<'a> {
    intent: &'a Intent,
    identity: Option<Identity>,
    script: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    limits: Vec<(Resource, u64)>,
    opened: Opened,
}

/// A script that could not be started.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// Before its process was the user's: Slurm's 0:53.
    Launch(String),
    /// The kernel did not execute it (a bad interpreter, no `#!`). As in Slurm its process says so in the job's standard
    /// error and ends with the error's number: this exit code.
    Execution {
        /// The exit code.
        code: u32,
        /// For people.
        message: String,
    },
}

impl<'a> Launch<'a> {
    /// Prepares, with the environment that was submitted; an error says what cannot be opened or expressed.
    pub fn prepare(intent: &'a Intent, submitted: &[u8]) -> Result<Launch<'a>, String> {
        let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| "a NUL byte in an argument".to_string());
        let spec = &intent.order.spec;
        let script = text(intent.script.as_bytes())?;
        let mut arguments = vec![script.clone()];
        for argument in &spec.arguments {
            arguments.push(text(argument.as_bytes())?);
        }
        let variables = batch_environment(intent, submitted);
        let mut environment: Vec<CString> =
            variables.iter().map(|entry| text(entry)).collect::<Result<_, _>>()?;
        environment.reserve_exact(1);
        let identity = Identity::of(spec)?;
        let opened = standard_files::open(spec, &Paths::of(intent), identity.as_ref())?;
        let limits = limits(intent);
        Ok(Launch { intent, identity, script, arguments, environment, limits, opened })
    }

    /// Forks and starts the script, in its control group. Afterwards its process exists and has executed the script. Gives it and the job's
    /// standard error.
    pub fn start(self, group: Option<&Group>) -> Result<(Pid, File), Failure> {
        let fault = |what: &str, error: Errno| Failure::Launch(format!("{what}: {}", error.desc()));
        let (report, told) = nix::unistd::pipe2(OFlag::O_CLOEXEC).map_err(|error| fault("pipe", error))?;
        let supervisor = nix::unistd::getpid();
        // SAFETY: this process has one thread, so the child is a whole copy of it and may do what this one may,
        // allocation included.
        match unsafe { fork() }.map_err(|error| fault("fork", error))? {
            ForkResult::Child => {
                drop(report);
                self.become_script(told, supervisor, group)
            }
            ForkResult::Parent { child } => {
                drop(told);
                let mut why = Vec::new();
                let _ = File::from(report).read_to_end(&mut why);
                match why.split_first() {
                    None => Ok((child, File::from(self.opened.std_err))),
                    Some((&code, message)) => {
                        let _ = nix::sys::wait::waitpid(child, None);
                        let message = String::from_utf8_lossy(message).into_owned();
                        Err(match code {
                            0 => Failure::Launch(message),
                            _ => Failure::Execution { code: u32::from(code), message },
                        })
                    }
                }
            }
        }
    }

    /// In the child: never returns. What fails goes through the pipe: the exit code (0: not executed at all), and words.
    fn become_script(mut self, told: OwnedFd, supervisor: Pid, group: Option<&Group>) -> ! {
        let mut told = File::from(told);
        let code = match self.set_up(supervisor, group) {
            Err(why) => {
                let _ = told.write_all(&[&[0], why.as_bytes()].concat());
                1
            }
            Ok(()) => {
                let error = self.execute();
                let why = notice::not_executed(self.intent, error);
                let _ = std::io::stderr().write_all(why.as_bytes());
                let code = u8::try_from(error as i32).unwrap_or(1).max(1);
                let _ = told.write_all(&[&[code], why.trim_end().as_bytes()].concat());
                i32::from(code)
            }
        };
        // SAFETY: ends the child without running what the parent has registered for its own end.
        unsafe { libc::_exit(code) }
    }

    fn execute(&mut self) -> Errno {
        self.environment.extend(CString::new(format!("SLURM_TASK_PID={}", nix::unistd::getpid())));
        for _ in 0..BUSY_TRIES {
            let Err(error) = nix::unistd::execve(&self.script, &self.arguments, &self.environment);
            if error != Errno::ETXTBSY {
                return error;
            }
            std::thread::sleep(BUSY_WAIT);
        }
        Errno::ETXTBSY
    }

    fn set_up(&self, supervisor: Pid, group: Option<&Group>) -> Result<(), String> {
        let fault = |what: &'static str| move |error: Errno| format!("{what}: {}", error.desc());
        setsid().map_err(fault("setsid"))?;
        // Before it becomes the user, who may not.
        group.map_or(Ok(()), |group| group.join().map_err(|fault| fault.to_string()))?;
        default_signals().map_err(fault("signals"))?;
        nix::unistd::dup2_stdin(&self.opened.std_in).map_err(fault("standard input"))?;
        nix::unistd::dup2_stdout(&self.opened.std_out).map_err(fault("standard output"))?;
        nix::unistd::dup2_stderr(&self.opened.std_err).map_err(fault("standard error"))?;
        self.set_limits();
        umask(Mode::from_bits_truncate(self.intent.order.spec.umask & 0o777));
        if let Some(identity) = &self.identity {
            setgroups(&identity.groups).map_err(fault("setgroups"))?;
            setgid(identity.gid).map_err(fault("setgid"))?;
            setuid(identity.uid).map_err(fault("setuid"))?;
        }
        // A supervisor that is killed takes the script with it: nobody else would end it at its limit while the agent is
        // away. Changing the user clears this, so it comes after.
        nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).map_err(fault("prctl"))?;
        if getppid() != supervisor {
            return Err("the supervisor was killed".to_string());
        }
        fchdir(&self.opened.work_dir).map_err(|error| {
            format!("working directory {}: {}", self.intent.order.spec.work_dir, error.desc())
        })
    }

    /// Soft limits as the submitter had them, as far as the machine's hard limits let them be. RSS has both.
    fn set_limits(&self) {
        for &(resource, wanted) in &self.limits {
            if let Ok((_, hard)) = getrlimit(resource) {
                let soft = wanted.min(hard);
                let hard = if resource == Resource::RLIMIT_RSS { soft } else { hard };
                let _ = setrlimit(resource, soft, hard);
            }
        }
    }
}

/// The script starts with every signal as after boot: nothing blocked, nothing ignored. (Rust's runtime ignores
/// `SIGPIPE`, and the daemon may have been started with others ignored.)
fn default_signals() -> nix::Result<()> {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for signal in Signal::iterator().filter(|signal| !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP)) {
        // SAFETY: the default action runs no code of this program.
        unsafe { sigaction(signal, &default) }?;
    }
    SigSet::empty().thread_set_mask()
}

/// The submitter's limits; the one on RSS is the job's memory here, as in Slurm.
fn limits(intent: &Intent) -> Vec<(Resource, u64)> {
    const KNOWN: [(&str, Resource); 15] = [
        ("AS", Resource::RLIMIT_AS),
        ("CORE", Resource::RLIMIT_CORE),
        ("CPU", Resource::RLIMIT_CPU),
        ("DATA", Resource::RLIMIT_DATA),
        ("FSIZE", Resource::RLIMIT_FSIZE),
        ("LOCKS", Resource::RLIMIT_LOCKS),
        ("MEMLOCK", Resource::RLIMIT_MEMLOCK),
        ("MSGQUEUE", Resource::RLIMIT_MSGQUEUE),
        ("NICE", Resource::RLIMIT_NICE),
        ("NOFILE", Resource::RLIMIT_NOFILE),
        ("NPROC", Resource::RLIMIT_NPROC),
        ("RTPRIO", Resource::RLIMIT_RTPRIO),
        ("RTTIME", Resource::RLIMIT_RTTIME),
        ("SIGPENDING", Resource::RLIMIT_SIGPENDING),
        ("STACK", Resource::RLIMIT_STACK),
    ];
    let given = &intent.order.spec.resource_limits;
    let unlimited = |limit: u64| if limit == u64::MAX { RLIM_INFINITY } else { limit };
    let mut limits: Vec<(Resource, u64)> = KNOWN
        .iter()
        .filter_map(|(name, resource)| Some((*resource, unlimited(*given.get(*name)?))))
        .collect();
    let memory = intent.here().map_or(0, |share| share.memory.0);
    if memory > 0 {
        limits.push((Resource::RLIMIT_RSS, memory.saturating_mul(1 << 20)));
    } else if let Some(&given) = given.get("RSS") {
        limits.push((Resource::RLIMIT_RSS, unlimited(given)));
    }
    limits
}
