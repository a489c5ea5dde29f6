//! The working directory and the standard files, opened as the job's user.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};

use daybook_schemas::grammar::output_pattern::{self, PatternValues};
use daybook_schemas::job::{JobSpec, OpenMode};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, FcntlArg, OFlag, fcntl, openat};
use nix::sys::stat::{Mode, fstat, fstatat, umask};
use nix::unistd::{Gid, Uid, User, getegid, getgrouplist, setegid, seteuid, setgroups};

use crate::records::Intent;

/// Whom the script runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user.
    pub uid: Uid,
    /// The primary group.
    pub gid: Gid,
    /// All groups.
    pub groups: Vec<Gid>,
}

impl Identity {
    /// Of a job's user; `None`: this process is no root and is the user already. Where the machine does not know the
    /// user under that name, the job has its primary group only.
    pub fn of(spec: &JobSpec) -> Result<Option<Identity>, String> {
        let (uid, gid) = (Uid::from_raw(spec.user.uid), Gid::from_raw(spec.user.gid));
        if !nix::unistd::geteuid().is_root() {
            return match uid == nix::unistd::geteuid() {
                true => Ok(None),
                false => Err(format!(
                    "daybookd runs without root and cannot start jobs of user {}",
                    spec.user.name
                )),
            };
        }
        let known = User::from_uid(uid).ok().flatten().is_some_and(|user| user.name == spec.user.name);
        let groups = match (known, CString::new(spec.user.name.as_str())) {
            (true, Ok(name)) => getgrouplist(&name, gid).map_err(|error| {
                format!("the groups of {} cannot be found: {}", spec.user.name, error.desc())
            })?,
            _ => vec![gid],
        };
        Ok(Some(Identity { uid, gid, groups }))
    }
}

/// The paths of the standard files, relative to the working directory unless absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Standard input's.
    pub std_in: String,
    /// Standard output's.
    pub std_out: String,
    /// Standard error's; absent: into standard output.
    pub std_err: Option<String>,
    /// Whether the output files are continued and not emptied: as asked, and always after a requeue.
    pub append: bool,
}

impl Paths {
    /// By the job's patterns.
    pub fn of(intent: &Intent) -> Paths {
        let order = &intent.order;
        let spec = &order.spec;
        let values = PatternValues {
            job: order.job(),
            array_job: order.array.map_or(order.job(), |task| task.id.array_job),
            array_task: order.array.map(|task| task.id.task),
            node: &intent.node,
            user: &spec.user.name,
            name: &spec.name,
        };
        let expand = |pattern: &str| output_pattern::expand(pattern, &values);
        let default = if order.array.is_some() { "slurm-%A_%a.out" } else { "slurm-%j.out" };
        Paths {
            std_in: spec.std_in.as_deref().map_or_else(|| "/dev/null".to_string(), expand),
            std_out: expand(spec.std_out.as_deref().unwrap_or(default)),
            std_err: spec.std_err.as_deref().map(expand),
            append: spec.open_mode == OpenMode::Append || order.run.start > 0,
        }
    }
}

/// What the script gets; all close-on-exec.
#[derive(Debug)]
pub struct Opened {
    /// Where it starts.
    pub work_dir: OwnedFd,
    /// Standard input.
    pub std_in: OwnedFd,
    /// Standard output.
    pub std_out: OwnedFd,
    /// Standard error.
    pub std_err: OwnedFd,
}

/// Opens everything, or says in a sentence what could not be opened. With the user's own rights, so that nobody writes
/// where they may not, and so that file servers that trust no root are asked by the user. Creates with the job's umask.
/// The process must have one thread.
pub fn open(spec: &JobSpec, paths: &Paths, identity: Option<&Identity>) -> Result<Opened, String> {
    let mask = Mode::from_bits_truncate(spec.umask & 0o777);
    match identity {
        None => with_umask(mask, || open_here(&spec.work_dir, paths)),
        Some(identity) => as_user(identity, || with_umask(mask, || open_here(&spec.work_dir, paths))),
    }
}

fn with_umask<T>(mask: Mode, act: impl FnOnce() -> T) -> T {
    let before = umask(mask);
    let outcome = act();
    umask(before);
    outcome
}

/// Switches the effective identity for the time of `act`.
fn as_user<T>(identity: &Identity, act: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let before = getegid();
    let switched =
        setgroups(&identity.groups).and_then(|()| setegid(identity.gid)).and_then(|()| seteuid(identity.uid));
    let outcome = match switched {
        Ok(()) => act(),
        Err(error) => Err(format!("cannot become user {}: {}", identity.uid, error.desc())),
    };
    // A process that cannot become again what it was must not go on.
    if seteuid(Uid::from_raw(0)).and_then(|()| setegid(before)).is_err() {
        std::process::abort();
    }
    outcome
}

fn open_here(work_dir: &str, paths: &Paths) -> Result<Opened, String> {
    let work_dir =
        enter(work_dir).map_err(|error| format!("working directory {work_dir}: {}", error.desc()))?;
    let fault = |what: &str, path: &str, error: Errno| format!("{what} {path}: {}", error.desc());
    let std_in = open_at(&work_dir, &paths.std_in, OFlag::O_RDONLY)
        .map_err(|error| fault("standard input", &paths.std_in, error))?;
    let how = if paths.append { OFlag::O_APPEND } else { OFlag::O_TRUNC };
    let mode = OFlag::O_WRONLY | OFlag::O_CREAT | how;
    let std_out = open_at(&work_dir, &paths.std_out, mode)
        .map_err(|error| fault("output file", &paths.std_out, error))?;
    let std_err = match &paths.std_err {
        Some(path) if !is_same_file(&work_dir, path, &std_out) => {
            open_at(&work_dir, path, mode).map_err(|error| fault("error file", path, error))?
        }
        _ => std_out.try_clone().map_err(|error| format!("output file {}: {error}", paths.std_out))?,
    };
    Ok(Opened { work_dir, std_in, std_out, std_err })
}

/// Opens a directory that may be entered: `O_PATH` alone asks for no right on the directory itself.
fn enter(path: &str) -> nix::Result<OwnedFd> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let directory = nix::fcntl::open(path, flags, Mode::empty())?;
    nix::unistd::faccessat(&directory, ".", nix::unistd::AccessFlags::X_OK, AtFlags::AT_EACCESS)?;
    Ok(directory)
}

/// Whether the error file is standard output already, under whatever name: opened twice, each would write over the other.
fn is_same_file(work_dir: &OwnedFd, path: &str, std_out: &OwnedFd) -> bool {
    let Ok(named) = fstatat(work_dir, path, AtFlags::empty()) else { return false };
    let is_file = named.st_mode & nix::libc::S_IFMT == nix::libc::S_IFREG;
    is_file && fstat(std_out).is_ok_and(|out| (out.st_dev, out.st_ino) == (named.st_dev, named.st_ino))
}

/// Without waiting (a FIFO that nobody reads is an error), and without becoming anybody's terminal.
fn open_at(work_dir: impl AsFd, path: &str, mode: OFlag) -> nix::Result<OwnedFd> {
    let flags = mode | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let file = openat(work_dir, path, flags, Mode::from_bits_truncate(0o666))?;
    let set = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL)?);
    fcntl(&file, FcntlArg::F_SETFL(set - OFlag::O_NONBLOCK))?;
    Ok(file)
}

#[cfg(test)]
mod tests;
