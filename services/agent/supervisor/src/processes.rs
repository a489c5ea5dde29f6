//! Looking at processes, and ending a run's.
//!
//! What belongs to a run is what is in its control group, where it has one, and every descendant of its supervisor: it is a
//! subreaper, so what loses its parent (also in a session of its own) becomes its child.

use std::collections::BTreeSet;

use daybook_cgroup::Group;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The most processes that one look follows; a run with more is ended in several rounds.
const PROCESSES_MAX: usize = 65_536;

/// All processes of the run that this process supervises.
#[derive(Clone, Debug)]
pub struct Run {
    supervisor: i32,
    group: Option<Group>,
}

impl Run {
    /// From here on orphans of this process's descendants come to it.
    pub fn contain(group: Option<Group>) -> nix::Result<Run> {
        nix::sys::prctl::set_child_subreaper(true)?;
        Ok(Run { supervisor: own_pid(), group })
    }

    /// Its control group.
    pub fn group(&self) -> Option<&Group> {
        self.group.as_ref()
    }

    /// The processes there are, without the supervisor. One that starts another one during the look may be missed.
    pub fn processes(&self) -> Vec<i32> {
        let mut found = descendants(self.supervisor);
        let known: BTreeSet<i32> = found.iter().copied().collect();
        found.extend(self.group.iter().flat_map(Group::processes).filter(|pid| !known.contains(pid)));
        found
    }

    /// Ends each of them for good.
    pub fn kill(&self) {
        if let Some(group) = &self.group {
            group.kill();
        }
        self.signal(Signal::SIGKILL);
    }

    /// Sends a signal to each of them.
    pub fn signal(&self, signal: Signal) {
        for pid in self.processes() {
            // One that has ended meanwhile is what was wanted.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

/// Whether a process does nothing any more: it is stopped, traced or over.
pub fn is_stopped(pid: i32) -> bool {
    status(pid).is_none_or(|status| matches!(status.state, 'T' | 't' | 'Z' | 'X'))
}

/// Some fields of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// One letter: `R`, `S`, `Z`, …
    pub state: char,
    /// The session.
    pub session: i32,
    /// When it started, in clock ticks since boot: with the id it names a process for the whole of a boot.
    pub start_time: u64,
}

/// This process's id.
pub fn own_pid() -> i32 {
    std::process::id().cast_signed()
}

/// A process as it is; `None` where there is none.
pub fn status(pid: i32) -> Option<Status> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// A process's start time in clock ticks since boot; `None` where there is no such process.
pub fn start_time(pid: i32) -> Option<u64> {
    status(pid).map(|status| status.start_time)
}

/// The command's name stands in parentheses and may hold anything, so the fields are counted from its end.
fn parse_stat(text: &str) -> Option<Status> {
    let (_, behind) = text.rsplit_once(')')?;
    let mut fields = behind.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let session = fields.nth(2)?.parse().ok()?;
    let start_time = fields.nth(15)?.parse().ok()?;
    Some(Status { state, session, start_time })
}

/// All descendants of a process, nearest first, without itself.
pub fn descendants(of: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut known = BTreeSet::from([of]);
    let mut parents = vec![of];
    while let Some(parent) = parents.pop() {
        for child in children(parent) {
            if found.len() < PROCESSES_MAX && known.insert(child) {
                found.push(child);
                parents.push(child);
            }
        }
    }
    found
}

/// Children are listed with the thread that made them.
fn children(pid: i32) -> Vec<i32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        if let Ok(list) = std::fs::read_to_string(thread.path().join("children")) {
            children.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
    }
    children
}

/// What lives of the session that a process of this start time led, and its descendants: what a dead supervisor has left.
///
/// A session's id is given to no other process while the session has members, so if a process of that id exists now
/// with another start time, the session is gone.
pub fn session_members(leader: i32, start_time: u64) -> Vec<i32> {
    if status(leader).is_some_and(|status| status.start_time != start_time) {
        return Vec::new();
    }
    let mut all = BTreeSet::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if status(pid).is_some_and(|status| status.session == leader && status.state != 'Z') {
            all.insert(pid);
            all.extend(descendants(pid));
        }
    }
    all.into_iter().collect()
}

/// The kernel's boot id.
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_cannot_confuse_the_fields() {
        let text = "42 (a) S 1 (x)) S 7 42 40 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2";
        assert_eq!(parse_stat(text), Some(Status { state: 'S', session: 40, start_time: 987_654 }));
        assert_eq!(parse_stat("42 (cut) S 7"), None);
    }

    #[test]
    fn children_of_every_thread_are_found() {
        let child = std::thread::spawn(|| std::process::Command::new("sleep").arg("60").spawn().unwrap());
        let mut child = child.join().unwrap();
        let found = descendants(own_pid());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains(&child.id().cast_signed()), "{found:?}");
    }

    #[test]
    fn a_session_is_known_by_its_leader_s_start_too() {
        let own = status(own_pid()).unwrap();
        let leader = own.session;
        let start = start_time(leader).unwrap_or(own.start_time);
        assert!(session_members(leader, start).contains(&own_pid()));
        if start_time(leader).is_some() {
            assert_eq!(session_members(leader, start + 1), Vec::<i32>::new());
        }
    }
}
