//! What `/proc` says about processes.

use std::collections::BTreeSet;

/// The most processes that one look follows; a run with more is ended in several rounds.
const PROCESSES_MAX: usize = 65_536;

/// Some fields of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// One letter: `R`, `S`, `Z`, …
    pub state: char,
    /// The parent's process id.
    pub parent: i32,
    /// The process group.
    pub group: i32,
    /// The session.
    pub session: i32,
    /// When it started, in clock ticks since boot: with the id it names a process for the whole of a boot.
    pub start_ticks: u64,
}

/// A process as it is; `None` where there is none.
pub fn status(pid: i32) -> Option<Status> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The command's name stands in parentheses and may hold anything, so the fields are counted from its end.
fn parse_stat(text: &str) -> Option<Status> {
    let (_, behind) = text.rsplit_once(')')?;
    let mut fields = behind.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let mut numbers = fields;
    let parent = numbers.next()?.parse().ok()?;
    let group = numbers.next()?.parse().ok()?;
    let session = numbers.next()?.parse().ok()?;
    let start_ticks = numbers.nth(15)?.parse().ok()?;
    Some(Status { state, parent, group, session, start_ticks })
}

/// Whether this very process still exists (a zombie does not count).
pub fn is_alive(pid: i32, start_ticks: u64) -> bool {
    status(pid).is_some_and(|status| status.start_ticks == start_ticks && status.state != 'Z')
}

/// All descendants of a process, nearest first, without itself. A process that starts another one during the look may
/// be missed; who must have all looks again until there is none.
pub fn descendants(root: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut known = BTreeSet::from([root]);
    let mut next = 0;
    let mut parent = root;
    loop {
        for child in children(parent) {
            if found.len() < PROCESSES_MAX && known.insert(child) {
                found.push(child);
            }
        }
        let Some(&pid) = found.get(next) else { return found };
        parent = pid;
        next += 1;
    }
}

/// Children are listed with the thread that made them.
fn children(pid: i32) -> Vec<i32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()).collect()
}

/// The processes of a session that are not dead yet, and all their descendants.
pub fn session_members(session: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let members: Vec<i32> =
        pids.filter(|&pid| status(pid).is_some_and(|s| s.session == session && s.state != 'Z')).collect();
    let mut all = BTreeSet::new();
    for member in members {
        all.insert(member);
        all.extend(descendants(member));
    }
    all.into_iter().collect()
}

/// The kernel's boot id.
pub fn boot_id() -> std::io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_cannot_confuse_the_fields() {
        let text = "42 (a) S 1 (x)) S 7 42 40 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2";
        let expected = Status { state: 'S', parent: 7, group: 42, session: 40, start_ticks: 987_654 };
        assert_eq!(parse_stat(text), Some(expected));
        assert_eq!(parse_stat("42 (cut) S 7"), None);
    }

    #[test]
    fn this_process_is_alive_under_its_own_start_only() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let ticks = status(pid).unwrap().start_ticks;
        assert!(is_alive(pid, ticks));
        assert!(!is_alive(pid, ticks + 1));
    }

    #[test]
    fn children_of_every_thread_are_found() {
        let child = std::thread::spawn(|| std::process::Command::new("sleep").arg("60").spawn().unwrap());
        let mut child = child.join().unwrap();
        let id = i32::try_from(child.id()).unwrap();
        let found = descendants(i32::try_from(std::process::id()).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains(&id), "{found:?}");
    }
}
