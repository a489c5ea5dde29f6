//! How much a group has used.

use std::path::Path;

use crate::fault::get;
use crate::group::Group;
use crate::hierarchies::Controller;

/// What the kernel has counted of a group since it was made. Absent: not counted on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupUsage {
    /// CPU time in user mode, microseconds.
    pub user_cpu_us: Option<u64>,
    /// CPU time in the kernel, microseconds.
    pub system_cpu_us: Option<u64>,
    /// Memory of its processes now, without the cache of files, bytes.
    pub resident_bytes: Option<u64>,
    /// Bytes read from block devices.
    pub read_bytes: Option<u64>,
    /// Bytes written to block devices.
    pub written_bytes: Option<u64>,
    /// How often the kernel has ended a process of it for lack of memory.
    pub oom_kills: Option<u64>,
}

impl Group {
    /// What it has used so far. What cannot be read is absent.
    pub fn usage(&self) -> GroupUsage {
        let mut usage = GroupUsage::default();
        if let Some(group) = self.v1(Controller::Cpuacct) {
            let micros = |file: &str| get(group, file)?.parse::<u64>().ok().map(|nanos| nanos / 1000);
            usage.user_cpu_us = micros("cpuacct.usage_user");
            usage.system_cpu_us = micros("cpuacct.usage_sys");
        } else if let Some(group) = self.v2_dir() {
            usage.user_cpu_us = field(group, "cpu.stat", "user_usec");
            usage.system_cpu_us = field(group, "cpu.stat", "system_usec");
        }
        if let Some(group) = self.v1(Controller::Memory) {
            usage.resident_bytes = field(group, "memory.stat", "total_rss");
        } else if let Some(group) = self.v2_dir() {
            usage.resident_bytes = field(group, "memory.stat", "anon");
        }
        usage.oom_kills = self.oom_kills();
        if let Some(group) = self.v1(Controller::Io) {
            if let Some(text) = get(group, "blkio.throttle.io_service_bytes_recursive")
                .or_else(|| get(group, "blkio.throttle.io_service_bytes"))
            {
                usage.read_bytes = Some(sum(&text, |line| line_of_v1(line, "Read")));
                usage.written_bytes = Some(sum(&text, |line| line_of_v1(line, "Write")));
            }
        } else if let Some(text) = self.v2_dir().and_then(|group| get(group, "io.stat")) {
            usage.read_bytes = Some(sum(&text, |line| field_of_v2(line, "rbytes=")));
            usage.written_bytes = Some(sum(&text, |line| field_of_v2(line, "wbytes=")));
        }
        usage
    }

    /// How often the kernel has ended a process of it for lack of memory.
    pub fn oom_kills(&self) -> Option<u64> {
        match (self.v1(Controller::Memory), self.v2_dir()) {
            (Some(group), _) => field(group, "memory.oom_control", "oom_kill"),
            (None, Some(group)) => field(group, "memory.events", "oom_kill"),
            (None, None) => None,
        }
    }
}

/// `NAME VALUE` of a file with such lines.
fn field(group: &Path, file: &str, name: &str) -> Option<u64> {
    let text = get(group, file)?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

fn sum(text: &str, of_line: impl Fn(&str) -> Option<u64>) -> u64 {
    text.lines().filter_map(of_line).fold(0, u64::saturating_add)
}

/// `8:0 Read 4096`
fn line_of_v1(line: &str, what: &str) -> Option<u64> {
    let mut words = line.split(' ').skip(1);
    if words.next()? == what { words.next()?.parse().ok() } else { None }
}

/// `8:0 rbytes=4096 wbytes=0 rios=1 …`
fn field_of_v2(line: &str, name: &str) -> Option<u64> {
    line.split(' ').find_map(|word| word.strip_prefix(name)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_of_all_devices_are_added() {
        let v1 = "8:0 Read 4096\n8:0 Write 10\n8:0 Total 4106\n8:16 Read 1\nTotal 4107";
        assert_eq!(sum(v1, |line| line_of_v1(line, "Read")), 4097);
        let v2 = "8:0 rbytes=4096 wbytes=10 rios=1\n259:0 rbytes=1 wbytes=0\n7:0 ";
        assert_eq!(sum(v2, |line| field_of_v2(line, "rbytes=")), 4097);
        assert_eq!(sum(v2, |line| field_of_v2(line, "wbytes=")), 10);
    }
}
