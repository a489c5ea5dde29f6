//! How much a run has used so far, while it runs.

use std::fs;
use std::sync::LazyLock;

use daybook_cgroup::Group;
use nix::unistd::{SysconfVar, sysconf};

use crate::processes::{descendants, start_time};
use crate::records::Claim;

/// What all processes of a run have used since its begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// CPU time in user mode, microseconds.
    pub user_cpu_us: u64,
    /// CPU time in the kernel, microseconds.
    pub system_cpu_us: u64,
    /// Their memory now, without the cache of files, KiB.
    pub resident_kib: u64,
    /// Bytes read from block devices; absent: nobody counts.
    pub read_bytes: Option<u64>,
    /// Bytes written to block devices; absent: nobody counts.
    pub written_bytes: Option<u64>,
    /// How many there are now.
    pub processes: u32,
}

/// Looks at a run: at what the kernel counts of its control group, and where it has none, or that is not counted, at its
/// processes. `None`: its supervisor is gone.
pub fn look(supervisor: Claim, group: Option<&Group>) -> Option<Used> {
    if start_time(supervisor.pid) != Some(supervisor.start_time) {
        return None;
    }
    let counted = group.map(Group::usage).unwrap_or_default();
    let of_processes = match (counted.user_cpu_us, counted.system_cpu_us, counted.resident_bytes) {
        (Some(_), Some(_), Some(_)) => None,
        _ => Some(look_at_processes(supervisor.pid)),
    };
    let seen = of_processes.unwrap_or_default();
    let processes = match (of_processes, group) {
        (None, Some(group)) => u32::try_from(group.processes().len()).unwrap_or(u32::MAX),
        _ => seen.processes,
    };
    Some(Used {
        user_cpu_us: counted.user_cpu_us.unwrap_or(seen.user_cpu_us),
        system_cpu_us: counted.system_cpu_us.unwrap_or(seen.system_cpu_us),
        resident_kib: counted.resident_bytes.map_or(seen.resident_kib, |bytes| bytes / 1024),
        read_bytes: counted.read_bytes,
        written_bytes: counted.written_bytes,
        processes,
    })
}

/// The supervisor's descendants as they are, and those that have ended: each has been waited for by another, or by the
/// supervisor. One that ends during the look may be missed until the next.
fn look_at_processes(supervisor: i32) -> Used {
    let waited_for = times(supervisor).unwrap_or_default();
    let mut used = Used {
        user_cpu_us: waited_for.children_user_us,
        system_cpu_us: waited_for.children_system_us,
        ..Used::default()
    };
    for times in descendants(supervisor).into_iter().filter_map(times) {
        used.user_cpu_us =
            used.user_cpu_us.saturating_add(times.user_us).saturating_add(times.children_user_us);
        used.system_cpu_us =
            used.system_cpu_us.saturating_add(times.system_us).saturating_add(times.children_system_us);
        used.resident_kib = used.resident_kib.saturating_add(times.resident_kib);
        used.processes += 1;
    }
    used
}

/// Some fields of `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    user_us: u64,
    system_us: u64,
    children_user_us: u64,
    children_system_us: u64,
    resident_kib: u64,
}

fn times(pid: i32) -> Option<Times> {
    static TICK_US: LazyLock<u64> = LazyLock::new(|| 1_000_000 / system_figure(SysconfVar::CLK_TCK, 100));
    static PAGE_KIB: LazyLock<u64> = LazyLock::new(|| system_figure(SysconfVar::PAGE_SIZE, 4096) / 1024);
    parse_times(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?, *TICK_US, *PAGE_KIB)
}

fn system_figure(what: SysconfVar, usual: u64) -> u64 {
    let figure = sysconf(what).ok().flatten().and_then(|figure| u64::try_from(figure).ok());
    figure.filter(|figure| *figure > 0).unwrap_or(usual)
}

/// The command's name stands in parentheses and may hold anything, so the fields are counted from its end.
fn parse_times(stat: &str, tick_us: u64, page_kib: u64) -> Option<Times> {
    let (_, behind) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = behind.split_ascii_whitespace().collect();
    // The third field of proc(5) is the first behind the name.
    let field = |number: usize| fields.get(number - 3)?.parse::<i64>().ok();
    let amount =
        |number: usize, unit: u64| Some(u64::try_from(field(number)?).unwrap_or(0).saturating_mul(unit));
    Some(Times {
        user_us: amount(14, tick_us)?,
        system_us: amount(15, tick_us)?,
        children_user_us: amount(16, tick_us)?,
        children_system_us: amount(17, tick_us)?,
        resident_kib: amount(24, page_kib)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::own_pid;

    #[test]
    fn fields_are_counted_from_behind_the_name() {
        let text = "42 (a) S 1 (x)) S 7 42 40 0 -1 4194304 1 2 3 4 50 6 70 8 20 0 1 0 987654 4096 25 1";
        let expected = Times {
            user_us: 500_000,
            system_us: 60_000,
            children_user_us: 700_000,
            children_system_us: 80_000,
            resident_kib: 100,
        };
        assert_eq!(parse_times(text, 10_000, 4), Some(expected));
        assert_eq!(parse_times("42 (cut) S 7", 10_000, 4), None);
        let odd = text.replace(" 50 6 ", " -1 6 ");
        assert_eq!(parse_times(&odd, 10_000, 4).map(|times| times.user_us), Some(0), "a counter below zero");
    }

    #[test]
    fn what_is_not_there_has_used_nothing_that_is_known() {
        let own = Claim { pid: own_pid(), start_time: start_time(own_pid()).unwrap() };
        assert!(look(own, None).is_some());
        assert_eq!(look(Claim { start_time: own.start_time + 1, ..own }, None), None);
    }
}
