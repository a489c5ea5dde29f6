//! What sacct can show of a record: the fields of `sacct --helpformat` in Slurm 22.05.

use std::fmt::Write as _;

use daybook_schemas::api::{AccountingAnswer, AccountingRecord, RecordKind};
use daybook_schemas::grammar::duration::{format_cpu_time, format_elapsed, format_time_limit};
use daybook_schemas::job::JobState;
use daybook_schemas::run::ProcessUsage;

use crate::table::amounts::{self, MemoryUnits};
use crate::table::instants::Instants;

/// A record with what is needed to show it.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    pub record: &'a AccountingRecord,
    pub answer: &'a AccountingAnswer,
    pub instants: &'a Instants,
    pub units: MemoryUnits,
}

/// One field.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub width: usize,
    /// Justified to the left.
    pub left: bool,
    /// Appends its text.
    pub write: Write,
}

type Write = fn(&Shown<'_>, &mut String);

/// The field whose name starts so, in any letter case; the first in the order of the table.
pub fn by_name(name: &str) -> Option<&'static Field> {
    let starts =
        |field: &&Field| field.name.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    if name.is_empty() {
        return None;
    }
    FIELDS.iter().find(starts).or_else(|| NEWER_FIELDS.iter().find(starts))
}

/// The names, four in a line.
pub fn listing() -> String {
    let names: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
    listing_of(&names)
}

/// Names of fields, four in a line.
pub fn listing_of(names: &[&str]) -> String {
    let mut text = String::new();
    for names in names.chunks(4) {
        let names: Vec<String> = names.iter().map(|name| format!("{name:<19}")).collect();
        text.push_str(&names.join(" "));
        text.push('\n');
    }
    text
}

const fn field(name: &'static str, width: usize, write: Write) -> Field {
    Field { name, width, left: false, write }
}

const fn left(name: &'static str, width: usize, write: Write) -> Field {
    Field { name, width, left: true, write }
}

/// A field that Slurm has and Daybook's records do not.
const fn unset(name: &'static str, width: usize) -> Field {
    Field { name, width, left: false, write: |_, _| () }
}

impl Shown<'_> {
    fn is_job(&self) -> bool {
        self.record.kind == RecordKind::Job
    }

    fn of_job(&self, out: &mut String, text: &str) {
        if self.is_job() {
            out.push_str(text);
        }
    }

    /// CPUs given; of what never ran those asked for.
    fn cpus(&self) -> u64 {
        let record = self.record;
        u64::from(if record.allocated_cpus > 0 { record.allocated_cpus } else { record.requested_cpus })
    }

    /// Seconds that it was ready to run and did not.
    fn waited(&self) -> u64 {
        let record = self.record;
        let Some(eligible) = record.eligible else { return 0 };
        let until = record.started.or(record.ended).unwrap_or(self.answer.now);
        u64::try_from(until.seconds() - eligible.seconds()).unwrap_or(0)
    }

    fn usage(&self) -> ProcessUsage {
        self.record.usage.unwrap_or_default()
    }

    /// What was measured, of a step only.
    fn of_step(&self, out: &mut String, write: impl Fn(ProcessUsage, &mut String)) {
        if let (RecordKind::BatchStep, Some(usage)) = (self.record.kind, self.record.usage) {
            write(usage, out);
        }
    }

    /// What went from disks, of a step of which somebody counted it.
    fn read(&self, out: &mut String, text: impl Fn(u64) -> String) {
        self.of_step(out, |usage, out| {
            usage.read_bytes.into_iter().for_each(|bytes| out.push_str(&text(bytes)))
        });
    }

    /// What went to disks.
    fn written(&self, out: &mut String, text: impl Fn(u64) -> String) {
        self.of_step(out, |usage, out| {
            usage.written_bytes.into_iter().for_each(|bytes| out.push_str(&text(bytes)));
        });
    }

    fn memory(&self, kibibytes: u64) -> String {
        amounts::memory(kibibytes.saturating_mul(1024), 0, self.units)
    }

    /// The batch script's node: the first one.
    fn batch_node(&self) -> String {
        let nodes = daybook_schemas::grammar::hostlist::expand(&self.record.node_list).unwrap_or_default();
        nodes.into_iter().next().unwrap_or_default()
    }
}

fn number(out: &mut String, number: impl std::fmt::Display) {
    let _ = write!(out, "{number}");
}

/// `10_3`, `10_[2-9]`, `123.batch`
fn display_id(shown: &Shown<'_>, out: &mut String) {
    let record = shown.record;
    let _ = match (&record.array, &record.tasks_waiting) {
        (Some(task), _) => write!(out, "{}_{}", task.array_job, task.task),
        (None, Some(waiting)) => write!(out, "{}_[{}]", record.job, waiting.step_notation()),
        (None, None) => write!(out, "{}", record.job),
    };
    step_suffix(shown, out);
}

fn raw_id(shown: &Shown<'_>, out: &mut String) {
    number(out, shown.record.job);
    step_suffix(shown, out);
}

fn step_suffix(shown: &Shown<'_>, out: &mut String) {
    if !shown.is_job() {
        out.push_str(".batch");
    }
}

fn name(shown: &Shown<'_>, out: &mut String) {
    out.push_str(if shown.is_job() { &shown.record.name } else { "batch" });
}

fn state(shown: &Shown<'_>, out: &mut String) {
    out.push_str(shown.record.state.word());
    if let (JobState::Cancelled, Some(uid), true) =
        (shown.record.state, shown.record.cancelled_by, shown.is_job())
    {
        let _ = write!(out, " by {uid}");
    }
}

/// Of a step that ended with its node nobody knows it.
fn exit_code(shown: &Shown<'_>, out: &mut String) {
    let record = shown.record;
    if shown.is_job() || record.state != JobState::Cancelled || !record.exit.is_success() {
        number(out, record.exit);
    }
}

/// Steps are submitted when they start.
fn submitted(shown: &Shown<'_>, out: &mut String) {
    let record = shown.record;
    let at = if shown.is_job() { Some(record.submitted) } else { record.started };
    out.push_str(&shown.instants.text_or(at, "Unknown"));
}

fn eligible(shown: &Shown<'_>, out: &mut String) {
    let record = shown.record;
    let at = if shown.is_job() { record.eligible } else { record.started };
    out.push_str(&shown.instants.text_or(at, "Unknown"));
}

/// What was cancelled before it ran started when it ended.
fn started(shown: &Shown<'_>, out: &mut String) {
    let at = shown.record.started.or(shown.record.ended);
    out.push_str(&shown.instants.text_or(at, "Unknown"));
}

fn ended(shown: &Shown<'_>, out: &mut String) {
    out.push_str(&shown.instants.text_or(shown.record.ended, "Unknown"));
}

fn time_limit(shown: &Shown<'_>, out: &mut String) {
    shown.of_job(out, &format_time_limit(shown.record.time_limit));
}

fn time_limit_raw(shown: &Shown<'_>, out: &mut String) {
    if shown.is_job() {
        match shown.record.time_limit.whole_minutes() {
            Some(minutes) => number(out, minutes),
            None => out.push_str("UNLIMITED"),
        }
    }
}

fn nodes(shown: &Shown<'_>, out: &mut String) {
    let record = shown.record;
    number(out, if record.node_count > 0 { record.node_count } else { record.requested_nodes });
}

fn requested_cpus(shown: &Shown<'_>, out: &mut String) {
    number(out, if shown.is_job() { u64::from(shown.record.requested_cpus) } else { shown.cpus() });
}

fn waited(shown: &Shown<'_>, out: &mut String) {
    shown.of_job(out, &format_elapsed(shown.waited()));
}

fn waited_cpu(shown: &Shown<'_>, out: &mut String) {
    shown.of_job(out, &format_elapsed(shown.waited() * u64::from(shown.record.requested_cpus)));
}

fn waited_cpu_raw(shown: &Shown<'_>, out: &mut String) {
    shown.of_job(out, &(shown.waited() * u64::from(shown.record.requested_cpus)).to_string());
}

fn cpu_seconds(shown: &Shown<'_>) -> u64 {
    shown.record.elapsed_seconds * shown.cpus()
}

fn average_cpu(shown: &Shown<'_>, out: &mut String) {
    shown.of_step(out, |usage, out| {
        out.push_str(&format_elapsed((usage.user_cpu_us + usage.system_cpu_us) / 1_000_000));
    });
}

fn largest_memory(shown: &Shown<'_>, out: &mut String) {
    shown.of_step(out, |usage, out| out.push_str(&shown.memory(usage.max_rss_kib)));
}

fn measured_node(shown: &Shown<'_>, out: &mut String) {
    shown.of_step(out, |_, out| out.push_str(&shown.batch_node()));
}

fn measured_task(shown: &Shown<'_>, out: &mut String) {
    shown.of_step(out, |_, out| out.push('0'));
}

/// `cpu=00:00:01,fs/disk=34826,mem=10584K`: what is measured of a step.
fn usage_in(shown: &Shown<'_>, out: &mut String) {
    shown.of_step(out, |usage, out| {
        let cpu = format_elapsed(usage.user_cpu_us.saturating_add(usage.system_cpu_us) / 1_000_000);
        let memory = shown.memory(usage.max_rss_kib);
        push_usage_in(out, usage, [&cpu, &usage.read_bytes.unwrap_or(0).to_string(), &memory]);
    });
}

fn usage_in_node(shown: &Shown<'_>, out: &mut String) {
    shown.of_step(out, |usage, out| {
        let node = shown.batch_node();
        push_usage_in(out, usage, [&node; 3]);
    });
}

fn usage_in_task(shown: &Shown<'_>, out: &mut String) {
    shown.of_step(out, |usage, out| push_usage_in(out, usage, ["0"; 3]));
}

/// What is read is named where somebody counts it.
fn push_usage_in<T: AsRef<str>>(out: &mut String, usage: ProcessUsage, [cpu, read, memory]: [T; 3]) {
    let _ = write!(out, "cpu={}", cpu.as_ref());
    if usage.read_bytes.is_some() {
        let _ = write!(out, ",fs/disk={}", read.as_ref());
    }
    let _ = write!(out, ",mem={}", memory.as_ref());
}

/// `fs/disk=1079`
fn usage_out(shown: &Shown<'_>, out: &mut String) {
    shown.written(out, |bytes| format!("fs/disk={bytes}"));
}

fn usage_out_node(shown: &Shown<'_>, out: &mut String) {
    shown.written(out, |_| format!("fs/disk={}", shown.batch_node()));
}

fn usage_out_task(shown: &Shown<'_>, out: &mut String) {
    shown.written(out, |_| "fs/disk=0".to_string());
}

fn disk_read(shown: &Shown<'_>, out: &mut String) {
    shown.read(out, |bytes| amounts::memory(bytes, 0, shown.units));
}

fn disk_written(shown: &Shown<'_>, out: &mut String) {
    shown.written(out, |bytes| amounts::memory(bytes, 0, shown.units));
}

fn read_node(shown: &Shown<'_>, out: &mut String) {
    shown.read(out, |_| shown.batch_node());
}

fn read_task(shown: &Shown<'_>, out: &mut String) {
    shown.read(out, |_| "0".to_string());
}

fn written_node(shown: &Shown<'_>, out: &mut String) {
    shown.written(out, |_| shown.batch_node());
}

fn written_task(shown: &Shown<'_>, out: &mut String) {
    shown.written(out, |_| "0".to_string());
}

/// Every field, in the order of `--helpformat`.
pub const FIELDS: &[Field] = &[
    field("Account", 10, |s, o| o.push_str(&s.record.account)),
    unset("AdminComment", 15),
    field("AllocCPUS", 10, |s, o| number(o, s.cpus())),
    field("AllocNodes", 10, |s, o| number(o, s.record.node_count)),
    field("AllocTRES", 10, |s, o| o.push_str(&amounts::tres(&s.record.allocated_tres, s.units))),
    unset("AssocID", 7),
    field("AveCPU", 10, average_cpu),
    unset("AveCPUFreq", 10),
    field("AveDiskRead", 14, disk_read),
    field("AveDiskWrite", 14, disk_written),
    unset("AvePages", 10),
    field("AveRSS", 10, largest_memory),
    unset("AveVMSize", 10),
    unset("BlockID", 16),
    field("Cluster", 10, |s, o| o.push_str(&s.answer.cluster)),
    field("Comment", 14, |s, o| s.of_job(o, s.record.comment.as_deref().unwrap_or_default())),
    unset("Constraints", 19),
    field("ConsumedEnergy", 14, |_, o| o.push('0')),
    field("ConsumedEnergyRaw", 17, |_, o| o.push('0')),
    unset("Container", 19),
    field("CPUTime", 10, |s, o| o.push_str(&format_elapsed(cpu_seconds(s)))),
    field("CPUTimeRAW", 10, |s, o| number(o, cpu_seconds(s))),
    Field { name: "DBIndex", width: 10, left: true, write: |_, _| () },
    field("DerivedExitCode", 15, |s, o| s.of_job(o, "0:0")),
    field("Elapsed", 10, |s, o| o.push_str(&format_elapsed(s.record.elapsed_seconds))),
    field("ElapsedRaw", 10, |s, o| number(o, s.record.elapsed_seconds)),
    field("Eligible", 19, eligible),
    field("End", 19, ended),
    field("ExitCode", 8, exit_code),
    unset("Flags", 19),
    field("GID", 6, |s, o| s.of_job(o, &s.record.user.gid.to_string())),
    field("Group", 9, |s, o| s.of_job(o, &s.record.user.group)),
    left("JobID", 12, display_id),
    left("JobIDRaw", 12, raw_id),
    field("JobName", 10, name),
    field("Layout", 9, |s, o| o.push_str(if s.is_job() { "" } else { "Unknown" })),
    field("MaxDiskRead", 12, disk_read),
    field("MaxDiskReadNode", 15, read_node),
    field("MaxDiskReadTask", 15, read_task),
    field("MaxDiskWrite", 12, disk_written),
    field("MaxDiskWriteNode", 16, written_node),
    field("MaxDiskWriteTask", 16, written_task),
    unset("MaxPages", 8),
    unset("MaxPagesNode", 12),
    unset("MaxPagesTask", 14),
    field("MaxRSS", 10, largest_memory),
    field("MaxRSSNode", 10, measured_node),
    field("MaxRSSTask", 10, measured_task),
    unset("MaxVMSize", 10),
    unset("MaxVMSizeNode", 14),
    unset("MaxVMSizeTask", 14),
    unset("McsLabel", 12),
    field("MinCPU", 10, average_cpu),
    field("MinCPUNode", 10, measured_node),
    field("MinCPUTask", 10, measured_task),
    field("NCPUS", 10, |s, o| number(o, s.cpus())),
    field("NNodes", 8, nodes),
    field("NodeList", 15, |s, o| o.push_str(&s.record.node_list)),
    field("NTasks", 8, |s, o| o.push_str(if s.is_job() { "" } else { "1" })),
    field("Partition", 10, |s, o| s.of_job(o, &s.record.partition)),
    field("Priority", 10, |s, o| s.of_job(o, &s.record.priority.to_string())),
    field("QOS", 10, |s, o| s.of_job(o, &s.record.qos)),
    unset("QOSRAW", 6),
    field("Reason", 22, |s, o| s.of_job(o, s.record.reason.word())),
    unset("ReqCPUFreq", 10),
    unset("ReqCPUFreqGov", 13),
    unset("ReqCPUFreqMax", 13),
    unset("ReqCPUFreqMin", 13),
    field("ReqCPUS", 8, requested_cpus),
    field("ReqMem", 10, |s, o| s.of_job(o, &amounts::memory_text(&s.record.requested_memory, s.units))),
    field("ReqNodes", 8, |s, o| number(o, s.record.requested_nodes)),
    field("ReqTRES", 10, |s, o| s.of_job(o, &amounts::tres(&s.record.requested_tres, s.units))),
    unset("Reservation", 20),
    unset("ReservationId", 8),
    field("Reserved", 10, waited),
    field("ResvCPU", 10, waited_cpu),
    field("ResvCPURAW", 10, waited_cpu_raw),
    field("Start", 19, started),
    field("State", 10, state),
    field("Submit", 19, submitted),
    field("SubmitLine", 20, |s, o| s.of_job(o, &s.record.submit_line)),
    field("Suspended", 10, |s, o| o.push_str(&format_elapsed(s.record.suspended_seconds))),
    unset("SystemComment", 15),
    field("SystemCPU", 10, |s, o| o.push_str(&format_cpu_time(s.usage().system_cpu_us))),
    field("Timelimit", 10, time_limit),
    field("TimelimitRaw", 10, time_limit_raw),
    field("TotalCPU", 10, |s, o| {
        o.push_str(&format_cpu_time(s.usage().user_cpu_us + s.usage().system_cpu_us));
    }),
    field("TRESUsageInAve", 14, usage_in),
    field("TRESUsageInMax", 14, usage_in),
    field("TRESUsageInMaxNode", 18, usage_in_node),
    field("TRESUsageInMaxTask", 18, usage_in_task),
    field("TRESUsageInMin", 14, usage_in),
    field("TRESUsageInMinNode", 18, usage_in_node),
    field("TRESUsageInMinTask", 18, usage_in_task),
    field("TRESUsageInTot", 14, usage_in),
    field("TRESUsageOutAve", 15, usage_out),
    field("TRESUsageOutMax", 15, usage_out),
    field("TRESUsageOutMaxNode", 19, usage_out_node),
    field("TRESUsageOutMaxTask", 19, usage_out_task),
    field("TRESUsageOutMin", 15, usage_out),
    field("TRESUsageOutMinNode", 19, usage_out_node),
    field("TRESUsageOutMinTask", 19, usage_out_task),
    field("TRESUsageOutTot", 15, usage_out),
    field("UID", 6, |s, o| s.of_job(o, &s.record.user.uid.to_string())),
    field("User", 9, |s, o| s.of_job(o, &s.record.user.name)),
    field("UserCPU", 10, |s, o| o.push_str(&format_cpu_time(s.usage().user_cpu_us))),
    field("WCKey", 10, |s, o| o.push_str(&s.record.wckey)),
    unset("WCKeyID", 8),
    field("WorkDir", 20, |s, o| s.of_job(o, &s.record.work_dir)),
];

/// Names that newer releases have for fields of this one.
const NEWER_FIELDS: &[Field] = &[
    field("Planned", 10, waited),
    field("PlannedCPU", 10, waited_cpu),
    field("PlannedCPURAW", 10, waited_cpu_raw),
];

/// The columns of `--long`.
pub const LONG: &[&str] = &[
    "JobID",
    "JobIDRaw",
    "JobName",
    "Partition",
    "MaxVMSize",
    "MaxVMSizeNode",
    "MaxVMSizeTask",
    "AveVMSize",
    "MaxRSS",
    "MaxRSSNode",
    "MaxRSSTask",
    "AveRSS",
    "MaxPages",
    "MaxPagesNode",
    "MaxPagesTask",
    "AvePages",
    "MinCPU",
    "MinCPUNode",
    "MinCPUTask",
    "AveCPU",
    "NTasks",
    "AllocCPUS",
    "Elapsed",
    "State",
    "ExitCode",
    "AveCPUFreq",
    "ReqCPUFreqMin",
    "ReqCPUFreqMax",
    "ReqCPUFreqGov",
    "ReqMem",
    "ConsumedEnergy",
    "MaxDiskRead",
    "MaxDiskReadNode",
    "MaxDiskReadTask",
    "AveDiskRead",
    "MaxDiskWrite",
    "MaxDiskWriteNode",
    "MaxDiskWriteTask",
    "AveDiskWrite",
    "ReqTRES",
    "AllocTRES",
    "TRESUsageInAve",
    "TRESUsageInMax",
    "TRESUsageInMaxNode",
    "TRESUsageInMaxTask",
    "TRESUsageInMin",
    "TRESUsageInMinNode",
    "TRESUsageInMinTask",
    "TRESUsageInTot",
    "TRESUsageOutMax",
    "TRESUsageOutMaxNode",
    "TRESUsageOutMaxTask",
    "TRESUsageOutAve",
    "TRESUsageOutTot",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_be_shortened_in_any_letter_case() {
        for (text, name) in [
            ("jobid", Some("JobID")),
            ("JOBIDRAW", Some("JobIDRaw")),
            ("maxrss", Some("MaxRSS")),
            ("timelimitr", Some("TimelimitRaw")),
            ("cpu", Some("CPUTime")),
            ("planned", Some("Planned")),
            ("reserved", Some("Reserved")),
            ("nosuchfield", None),
            ("", None),
        ] {
            assert_eq!(by_name(text).map(|field| field.name), name, "{text}");
        }
    }

    #[test]
    fn the_long_columns_are_fields() {
        for name in LONG {
            assert_eq!(by_name(name).map(|field| field.name), Some(*name));
        }
    }
}
