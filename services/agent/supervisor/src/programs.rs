//! A site's own programs around a run: `Prolog` and `Epilog`.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use daybook_schemas::Seconds;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// So much of the last that a program has printed is kept, in bytes.
const OUTPUT_MAX: usize = 500;
/// A program that has ended is seen at once, when its output closes, or after so long, when it has left it to others.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Programs that are run one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs {
    /// Absolute paths, in order. One with `*`, `?` or `[` stands for what it matches, from the last in the alphabet to the
    /// first, as in Slurm.
    pub paths: Vec<String>,
    /// How long they may take together; absent: as long as they like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Seconds>,
}

impl Programs {
    /// Whether there are none.
    pub fn are_none(&self) -> bool {
        self.paths.is_empty()
    }

    /// Runs them with this environment and nothing else, each in a session of its own, in `/`. The first that fails is the
    /// last that is run; the error says which, how, and what it printed last.
    pub fn run(&self, environment: &[(String, String)]) -> Result<(), String> {
        let until = self.limit.map(|limit| Instant::now() + Duration::from_secs(limit.0));
        for pattern in &self.paths {
            for program in matching(pattern)? {
                run_one(&program, environment, until).map_err(|why| format!("{program}: {why}"))?;
            }
        }
        Ok(())
    }
}

fn matching(pattern: &str) -> Result<Vec<String>, String> {
    if !pattern.contains(['*', '?', '[']) {
        return Ok(vec![pattern.to_string()]);
    }
    let found = glob::glob(pattern).map_err(|error| format!("{pattern}: {error}"))?;
    let mut found: Vec<String> = found
        .map(|path| path.map(|path| path.display().to_string()).map_err(|error| error.to_string()))
        .collect::<Result<_, _>>()?;
    found.sort_unstable_by(|a, b| b.cmp(a));
    match found.is_empty() {
        true => Err(format!("{pattern}: there is no such program")),
        false => Ok(found),
    }
}

fn run_one(program: &str, environment: &[(String, String)], until: Option<Instant>) -> Result<(), String> {
    let text = |error: io::Error| error.to_string();
    let (mut printed, prints) = io::pipe().map_err(text)?;
    let flags = OFlag::O_NONBLOCK;
    fcntl(&printed, FcntlArg::F_SETFL(flags)).map_err(|error| error.desc().to_string())?;
    let mut command = Command::new(program);
    command.env_clear().envs(environment.iter().map(|(name, value)| (name, value))).current_dir("/");
    command.stdin(Stdio::null()).stdout(prints.try_clone().map_err(text)?).stderr(prints);
    // SAFETY: both are system calls that may be made between fork and exec.
    unsafe {
        command.pre_exec(|| {
            nix::unistd::setsid()?;
            // Whoever waits for it is killed only where all is lost; nobody would end it then.
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            Ok(())
        });
    }
    let mut child = command.spawn().map_err(text)?;
    // The command holds the pipe's other end.
    drop(command);
    let mut output = Vec::new();
    let status = wait(&mut child, &mut printed, &mut output, until).map_err(text);
    let said = || match String::from_utf8_lossy(&output).trim() {
        "" => String::new(),
        last => format!(": {last}"),
    };
    match status? {
        None => Err(format!("ended for it took too long{}", said())),
        Some(status) if status.success() => Ok(()),
        Some(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Err(format!("exit code {code}{}", said())),
            (None, signal) => Err(format!("ended by signal {}{}", signal.unwrap_or(0), said())),
        },
    }
}

/// `None`: its time was up, and it has been killed.
fn wait(
    child: &mut Child,
    printed: &mut io::PipeReader,
    output: &mut Vec<u8>,
    until: Option<Instant>,
) -> io::Result<Option<ExitStatus>> {
    let mut is_open = true;
    loop {
        if let Some(status) = child.try_wait()? {
            read_last(printed, output);
            return Ok(Some(status));
        }
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            let group = Pid::from_raw(child.id().cast_signed());
            let _ = killpg(group, Signal::SIGKILL);
            child.wait()?;
            read_last(printed, output);
            return Ok(None);
        }
        let pause = left.unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN);
        if !is_open {
            std::thread::sleep(pause);
            continue;
        }
        let millis = PollTimeout::try_from(pause.as_millis().max(1)).unwrap_or(PollTimeout::from(1u8));
        // An interrupted wait is a short one.
        let _ = poll(&mut [PollFd::new(printed.as_fd(), PollFlags::POLLIN)], millis);
        is_open = read_last(printed, output);
    }
}

/// Takes what there is, and keeps the last of it. False: nobody will write any more.
fn read_last(printed: &mut io::PipeReader, output: &mut Vec<u8>) -> bool {
    let mut buffer = [0; 4096];
    // What can be in a pipe at once; more is read at the next look.
    for _ in 0..16 {
        match printed.read(&mut buffer) {
            Ok(0) => return false,
            Ok(count) => {
                output.extend_from_slice(&buffer[..count]);
                let surplus = output.len().saturating_sub(OUTPUT_MAX);
                output.drain(..surplus);
            }
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        }
    }
    true
}

#[cfg(test)]
mod tests;
