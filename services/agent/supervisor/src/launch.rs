//! Starting the batch script: as its user, in its directory, with its files.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use daybook_schemas::grammar::output_pattern::{self, PatternValues};
use daybook_schemas::job::{JobSpec, OpenMode};
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{ForkResult, Gid, Pid, Uid, fork, initgroups, setgid, setgroups, setsid, setuid};

use crate::environment::batch_environment;
use crate::records::Intent;

/// Everything the child needs, made before the fork.
pub struct Launch {
    intent: Intent,
    script: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    stdin: PathBuf,
    stdout: PathBuf,
    stderr: Option<PathBuf>,
}

impl Launch {
    /// Prepares; an error says what cannot be read or expressed.
    pub fn prepare(intent: Intent) -> Result<Launch, String> {
        let submitted =
            std::fs::read(&intent.environment).map_err(|error| format!("{}: {error}", intent.environment))?;
        let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| "a NUL byte in an argument".to_string());
        let spec = &intent.order.spec;
        let script = text(intent.script.as_bytes())?;
        let mut arguments = vec![script.clone()];
        for argument in &spec.arguments {
            arguments.push(text(argument.as_bytes())?);
        }
        let environment = batch_environment(&intent, &submitted)
            .iter()
            .map(|entry| text(entry))
            .collect::<Result<_, _>>()?;
        let default = if intent.order.array.is_some() { "slurm-%A_%a.out" } else { "slurm-%j.out" };
        let stdout = output_path(&intent, spec.std_out.as_deref().unwrap_or(default));
        let stderr = spec
            .std_err
            .as_deref()
            .map(|pattern| output_path(&intent, pattern))
            .filter(|path| *path != stdout);
        let stdin = spec
            .std_in
            .as_deref()
            .map_or(PathBuf::from("/dev/null"), |pattern| output_path(&intent, pattern));
        Ok(Launch { script, arguments, environment, stdin, stdout, stderr, intent })
    }

    /// Forks and starts the script. `Ok` has its process id; `Err` says why there is none (the child has ended).
    pub fn start(&self) -> Result<Pid, String> {
        let (report, told) =
            nix::unistd::pipe2(OFlag::O_CLOEXEC).map_err(|error| format!("pipe: {error}"))?;
        // SAFETY: this process has one thread, so the child may allocate and call anything before it executes.
        match unsafe { fork() }.map_err(|error| format!("fork: {error}"))? {
            ForkResult::Child => {
                drop(report);
                self.become_script(told)
            }
            ForkResult::Parent { child } => {
                drop(told);
                let mut why = String::new();
                File::from(report).read_to_string(&mut why).map_err(|error| error.to_string())?;
                if why.is_empty() { Ok(child) } else { Err(why) }
            }
        }
    }

    /// In the child: never returns.
    fn become_script(&self, told: OwnedFd) -> ! {
        if let Err(why) = self.set_up() {
            let _ = nix::unistd::write(&told, why.as_bytes());
            // SAFETY: ends the child without running the parent's destructors.
            unsafe { libc::_exit(1) }
        }
        // From here on it is the script's own end, in its own output.
        drop(told);
        let error = match nix::unistd::execve(&self.script, &self.arguments, &self.environment) {
            Ok(never) => match never {},
            Err(error) => error,
        };
        eprintln!("slurmstepd: error: execve(): {}: {}", self.script.to_string_lossy(), error.desc());
        // SAFETY: as above. Slurm gives the error's number as the exit code.
        unsafe { libc::_exit(error as i32) }
    }

    fn set_up(&self) -> Result<(), String> {
        let spec = &self.intent.order.spec;
        setsid().map_err(|error| format!("setsid: {error}"))?;
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)
            .map_err(|error| format!("signals: {error}"))?;
        set_limits(spec);
        become_user(spec)?;
        umask(Mode::from_bits_truncate(spec.umask as libc::mode_t));
        std::env::set_current_dir(&spec.work_dir)
            .map_err(|error| format!("working directory {}: {error}", spec.work_dir))?;
        let stdin = File::open(&self.stdin)
            .map_err(|error| format!("standard input {}: {error}", self.stdin.display()))?;
        let stdout = self.open_output(&self.stdout)?;
        let stderr = self.stderr.as_deref().map(|path| self.open_output(path)).transpose()?;
        replace(stdin, 0)?;
        let stderr = match stderr {
            Some(file) => file,
            None => stdout.try_clone().map_err(|error| format!("standard error: {error}"))?,
        };
        replace(stdout, 1)?;
        replace(stderr, 2)
    }

    fn open_output(&self, path: &Path) -> Result<File, String> {
        let append = self.intent.order.spec.open_mode == OpenMode::Append || self.intent.order.run.start > 0;
        let file =
            std::fs::OpenOptions::new().write(true).create(true).append(append).truncate(!append).open(path);
        file.map_err(|error| format!("output file {}: {error}", path.display()))
    }
}

/// A pattern's path, absolute.
fn output_path(intent: &Intent, pattern: &str) -> PathBuf {
    let order = &intent.order;
    let values = PatternValues {
        job: order.job(),
        array_job: order.array.map_or(order.job(), |task| task.id.array_job),
        array_task: order.array.map(|task| task.id.task),
        node: &intent.node,
        user: &order.spec.user.name,
        name: &order.spec.name,
    };
    let expanded = output_pattern::expand(pattern, &values);
    Path::new(&order.spec.work_dir).join(OsStr::from_bytes(expanded.as_bytes()))
}

fn replace(file: File, descriptor: i32) -> Result<(), String> {
    let source = file.into_raw_fd();
    // SAFETY: `source` was just given up by its owner; `descriptor` is one of the three standard ones.
    let result = unsafe { libc::dup2(source, descriptor) };
    if result < 0 {
        return Err(format!("dup2: {}", std::io::Error::last_os_error()));
    }
    if source != descriptor {
        // SAFETY: it is open and nobody else has it.
        drop(unsafe { OwnedFd::from_raw_fd(source) });
    }
    Ok(())
}

/// Becomes the job's user, with all groups; as root only. Without root the user must be the daemon's own.
fn become_user(spec: &JobSpec) -> Result<(), String> {
    let (uid, gid) = (Uid::from_raw(spec.user.uid), Gid::from_raw(spec.user.gid));
    if !Uid::effective().is_root() {
        return match Uid::effective() == uid {
            true => Ok(()),
            false => {
                Err(format!("daybookd runs without root and cannot start jobs of user {}", spec.user.name))
            }
        };
    }
    let name = CString::new(spec.user.name.as_str()).map_err(|_| "user name".to_string())?;
    let known =
        nix::unistd::User::from_uid(uid).ok().flatten().is_some_and(|user| user.name == spec.user.name);
    let groups = if known { initgroups(&name, gid) } else { setgroups(&[gid]) };
    groups.map_err(|error| format!("groups of {}: {error}", spec.user.name))?;
    setgid(gid).map_err(|error| format!("setgid {gid}: {error}"))?;
    setuid(uid).map_err(|error| format!("setuid {uid}: {error}"))
}

/// The submitter's soft limits, as far as the machine's hard limits let them be. The RSS limit is the job's memory.
fn set_limits(spec: &JobSpec) {
    const KNOWN: [(&str, Resource); 9] = [
        ("AS", Resource::RLIMIT_AS),
        ("CORE", Resource::RLIMIT_CORE),
        ("CPU", Resource::RLIMIT_CPU),
        ("DATA", Resource::RLIMIT_DATA),
        ("FSIZE", Resource::RLIMIT_FSIZE),
        ("MEMLOCK", Resource::RLIMIT_MEMLOCK),
        ("NOFILE", Resource::RLIMIT_NOFILE),
        ("NPROC", Resource::RLIMIT_NPROC),
        ("STACK", Resource::RLIMIT_STACK),
    ];
    for (name, resource) in KNOWN {
        let Some(wanted) = spec.resource_limits.get(name) else { continue };
        if let Ok((_, hard)) = nix::sys::resource::getrlimit(resource) {
            let _ = setrlimit(resource, (*wanted).min(hard), hard);
        }
    }
}
