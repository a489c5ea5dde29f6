//! What squeue can show of a job: by letter (`-o`) and by name (`-O`).

use std::fmt::Write as _;

use daybook_schemas::api::JobColumn;
use daybook_schemas::grammar::duration::format_run_time_squeue;
use daybook_schemas::job::JobState;

use super::rows::Row;
use crate::table::amounts::{self, MemoryUnits};
use crate::table::instants::Instants;

/// One thing that can be shown.
#[derive(Debug)]
pub struct Field {
    /// Of `-o`.
    pub letter: Option<char>,
    /// Of `-O`; compared without regard to letter case. Empty: only by letter.
    pub name: &'static str,
    pub header: &'static str,
    /// What it is made of, and what `--sort` compares.
    pub columns: &'static [JobColumn],
    /// Appends its text.
    pub write: fn(&Row<'_>, &Instants, &mut String),
}

/// The field of a letter.
pub fn by_letter(letter: char) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.letter == Some(letter))
}

/// The field of a name.
pub fn by_name(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| !field.name.is_empty() && field.name.eq_ignore_ascii_case(name))
}

/// The format of `-o %all`: every letter, in the separators that Slurm uses.
pub fn all_letters() -> String {
    let letters = || FIELDS.iter().filter_map(|field| field.letter);
    let mut sorted: Vec<char> = letters().filter(char::is_ascii_lowercase).collect();
    sorted.sort_unstable();
    let mut capitals: Vec<char> = letters().filter(char::is_ascii_uppercase).collect();
    capitals.sort_unstable();
    let small = sorted.iter().map(|letter| format!("%{letter}|"));
    let format: String = small.chain(capitals.iter().map(|letter| format!("%{letter} |"))).collect();
    format.trim_end_matches('|').to_string()
}

type Write = fn(&Row<'_>, &Instants, &mut String);

const fn field(
    letter: char,
    name: &'static str,
    header: &'static str,
    columns: &'static [JobColumn],
    write: Write,
) -> Field {
    Field { letter: Some(letter), name, header, columns, write }
}

const fn named(
    name: &'static str,
    header: &'static str,
    columns: &'static [JobColumn],
    write: Write,
) -> Field {
    Field { letter: None, name, header, columns, write }
}

/// A field that Slurm has and Daybook's jobs do not: what Slurm shows where nothing is set.
const fn unset(letter: Option<char>, name: &'static str, header: &'static str, write: Write) -> Field {
    Field { letter, name, header, columns: &[], write }
}

fn null(_: &Row<'_>, _: &Instants, out: &mut String) {
    out.push_str("(null)");
}

fn not_available(_: &Row<'_>, _: &Instants, out: &mut String) {
    out.push_str("N/A");
}

fn any(_: &Row<'_>, _: &Instants, out: &mut String) {
    out.push('*');
}

fn zero(_: &Row<'_>, _: &Instants, out: &mut String) {
    out.push('0');
}

fn text_or(row: &Row<'_>, column: JobColumn, absent: &str, out: &mut String) {
    out.push_str(row.text(column).unwrap_or(absent));
}

fn number(row: &Row<'_>, column: JobColumn, out: &mut String) {
    let _ = write!(out, "{}", row.integer(column).unwrap_or(0));
}

fn instant(row: &Row<'_>, instants: &Instants, column: JobColumn, out: &mut String) {
    match row.integer(column) {
        Some(second) => instants.write(second, out),
        None => out.push_str("N/A"),
    }
}

fn state(row: &Row<'_>) -> Option<JobState> {
    row.text(JobColumn::State).and_then(JobState::parse)
}

fn flag(row: &Row<'_>, column: JobColumn, out: &mut String) {
    out.push(if row.is_true(column) { '1' } else { '0' });
}

/// `None`, `Resources`; of nodes that are not there also which, or that they are reserved, and in place of an account's or
/// QOS's word its sentence.
fn reason(row: &Row<'_>, out: &mut String) {
    let word = row.text(JobColumn::Reason).unwrap_or("None");
    let detail = row.text(JobColumn::ReasonDetail);
    if let Some(sentence) =
        detail.filter(|text| matches!(word, "InvalidAccount" | "InvalidQOS") && !text.is_empty())
    {
        return out.push_str(sentence);
    }
    out.push_str(word);
    if let Some(detail) = detail
        && word == "ReqNodeNotAvail"
        && !detail.is_empty()
    {
        out.push_str(", ");
        out.push_str(detail);
    }
}

/// Why it waits or how it failed, in parentheses; else where it runs.
fn reason_or_nodes(row: &Row<'_>, _: &Instants, out: &mut String) {
    use JobState::{Deadline, Failed, OutOfMemory, Pending, Timeout};
    if matches!(state(row), Some(Pending | Timeout | OutOfMemory | Deadline | Failed)) {
        out.push('(');
        reason(row, out);
        out.push(')');
    } else {
        text_or(row, JobColumn::NodeList, "", out);
    }
}

fn time_limit(row: &Row<'_>, _: &Instants, out: &mut String) {
    match row.integer(JobColumn::TimeLimit) {
        Some(minutes) => out.push_str(&format_run_time_squeue(minutes.unsigned_abs() * 60)),
        None => out.push_str("UNLIMITED"),
    }
}

fn time_left(row: &Row<'_>, _: &Instants, out: &mut String) {
    match row.integer(JobColumn::TimeLimit) {
        Some(minutes) => {
            let left = minutes * 60 - row.integer(JobColumn::TimeUsed).unwrap_or(0);
            out.push_str(&format_run_time_squeue(u64::try_from(left).unwrap_or(0)));
        }
        None => out.push_str("UNLIMITED"),
    }
}

/// The end, or when the limit ends it; of a job that waits, counted from its expected start.
fn end_time(row: &Row<'_>, instants: &Instants, out: &mut String) {
    let limit = row.integer(JobColumn::TimeLimit);
    let start = row.integer(JobColumn::StartTime);
    match (row.integer(JobColumn::EndTime), start, limit) {
        (Some(end), _, _) => instants.write(end, out),
        (None, Some(start), Some(minutes)) => instants.write(start + minutes * 60, out),
        (None, Some(_), None) => out.push_str("NONE"),
        _ => out.push_str("N/A"),
    }
}

/// Of the largest priority that there is.
fn priority_fraction(row: &Row<'_>, _: &Instants, out: &mut String) {
    let priority = row.integer(JobColumn::Priority).unwrap_or(0);
    let _ = write!(out, "{:.14}", priority as f64 / f64::from(u32::MAX));
}

fn pending_time(row: &Row<'_>, instants: &Instants, out: &mut String) {
    let submitted = row.integer(JobColumn::SubmitTime).unwrap_or(instants.now());
    let started = match state(row) {
        Some(JobState::Pending) => None,
        _ => row.integer(JobColumn::StartTime),
    };
    let _ = write!(out, "{}", (started.unwrap_or(instants.now()) - submitted).max(0));
}

fn exit_code(row: &Row<'_>, _: &Instants, out: &mut String) {
    let text = row.text(JobColumn::ExitCode).unwrap_or("0:0");
    out.push_str(text.split(':').next().unwrap_or(text));
}

fn memory(row: &Row<'_>, _: &Instants, out: &mut String) {
    let text = row.text(JobColumn::MinMemory).unwrap_or("0");
    out.push_str(&amounts::memory_text(text, MemoryUnits::Fitting));
}

const TIMES: &[JobColumn] = &[JobColumn::EndTime, JobColumn::StartTime, JobColumn::TimeLimit];
const WHY: &[JobColumn] = &[JobColumn::Reason, JobColumn::ReasonDetail];
const WHERE: &[JobColumn] =
    &[JobColumn::NodeList, JobColumn::State, JobColumn::Reason, JobColumn::ReasonDetail];

/// Every field. Letters and names are those of Slurm 22.05.
pub const FIELDS: &[Field] = {
    use JobColumn::*;
    &[
        field('a', "Account", "ACCOUNT", &[Account], |r, _, o| text_or(r, Account, "(null)", o)),
        field('A', "JobID", "JOBID", &[JobId], |r, _, o| number(r, JobId, o)),
        field('b', "tres-per-node", "TRES_PER_NODE", &[TresPerNode], |r, _, o| {
            text_or(r, TresPerNode, "N/A", o)
        }),
        field('B', "BatchHost", "EXEC_HOST", &[BatchHost], |r, _, o| text_or(r, BatchHost, "n/a", o)),
        field('c', "MinCPUs", "MIN_CPUS", &[MinCpus], |r, _, o| number(r, MinCpus, o)),
        field('C', "NumCPUs", "CPUS", &[CpuCount], |r, _, o| number(r, CpuCount, o)),
        unset(Some('d'), "MinTmpDisk", "MIN_TMP_DISK", zero),
        field('D', "NumNodes", "NODES", &[NodeCount], |r, _, o| number(r, NodeCount, o)),
        field('e', "EndTime", "END_TIME", TIMES, end_time),
        field('E', "Dependency", "DEPENDENCY", &[Dependency], |r, _, o| text_or(r, Dependency, "(null)", o)),
        field('f', "Feature", "FEATURES", &[Features], |r, _, o| text_or(r, Features, "(null)", o)),
        field('F', "ArrayJobID", "ARRAY_JOB_ID", &[ArrayJobId], |r, _, o| number(r, ArrayJobId, o)),
        field('g', "GroupName", "GROUP", &[Group], |r, _, o| text_or(r, Group, "", o)),
        field('G', "GroupID", "GROUP", &[Gid], |r, _, o| number(r, Gid, o)),
        field('h', "OverSubscribe", "OVER_SUBSCRIBE", &[Exclusive], |r, _, o| {
            o.push_str(if r.is_true(Exclusive) { "NO" } else { "OK" });
        }),
        unset(Some('H'), "Sockets", "SOCKETS_PER_NODE", any),
        field('i', "JobArrayID", "JOBID", &[DisplayId], |r, _, o| text_or(r, DisplayId, "", o)),
        unset(Some('I'), "Cores", "CORES_PER_SOCKET", any),
        field('j', "Name", "NAME", &[Name], |r, _, o| text_or(r, Name, "", o)),
        unset(Some('J'), "Threads", "THREADS_PER_CORE", any),
        field('k', "Comment", "COMMENT", &[Comment], |r, _, o| text_or(r, Comment, "(null)", o)),
        field('K', "ArrayTaskID", "ARRAY_TASK_ID", &[ArrayTask], |r, _, o| text_or(r, ArrayTask, "N/A", o)),
        field('l', "TimeLimit", "TIME_LIMIT", &[TimeLimit], time_limit),
        field('L', "TimeLeft", "TIME_LEFT", &[TimeLimit, TimeUsed], time_left),
        field('m', "MinMemory", "MIN_MEMORY", &[MinMemory], memory),
        field('M', "TimeUsed", "TIME", &[TimeUsed], |r, _, o| {
            o.push_str(&format_run_time_squeue(u64::try_from(r.integer(TimeUsed).unwrap_or(0)).unwrap_or(0)));
        }),
        field('n', "ReqNodes", "REQ_NODES", &[RequiredNodes], |r, _, o| text_or(r, RequiredNodes, "", o)),
        field('N', "NodeList", "NODELIST", &[NodeList], |r, _, o| text_or(r, NodeList, "", o)),
        field('o', "Command", "COMMAND", &[Command], |r, _, o| text_or(r, Command, "(null)", o)),
        field('O', "Contiguous", "CONTIGUOUS", &[Contiguous], |r, _, o| flag(r, Contiguous, o)),
        field('p', "Priority", "PRIORITY", &[Priority], priority_fraction),
        field('P', "Partition", "PARTITION", &[Partition], |r, _, o| text_or(r, Partition, "", o)),
        field('q', "QOS", "QOS", &[Qos], |r, _, o| text_or(r, Qos, "", o)),
        field('Q', "PriorityLong", "PRIORITY", &[Priority], |r, _, o| number(r, Priority, o)),
        field('r', "Reason", "REASON", WHY, |r, _, o| reason(r, o)),
        field('R', "ReasonList", "NODELIST(REASON)", WHERE, reason_or_nodes),
        unset(Some('s'), "SelectJobInfo", "", |_, _, _| ()),
        field('S', "StartTime", "START_TIME", &[StartTime], |r, i, o| instant(r, i, StartTime, o)),
        field('t', "StateCompact", "ST", &[State], |r, _, o| {
            o.push_str(state(r).map_or("", JobState::code));
        }),
        field('T', "State", "STATE", &[State], |r, _, o| text_or(r, State, "", o)),
        field('u', "UserName", "USER", &[User], |r, _, o| text_or(r, User, "", o)),
        field('U', "UserID", "UID", &[Uid], |r, _, o| number(r, Uid, o)),
        field('v', "Reservation", "RESERVATION", &[Reservation], |r, _, o| {
            text_or(r, Reservation, "(null)", o)
        }),
        field('V', "SubmitTime", "SUBMIT_TIME", &[SubmitTime], |r, i, o| instant(r, i, SubmitTime, o)),
        field('w', "WCKey", "WCKEY", &[Wckey], |r, _, o| text_or(r, Wckey, "(null)", o)),
        field('W', "Licenses", "LICENSES", &[Licenses], |r, _, o| text_or(r, Licenses, "(null)", o)),
        field('x', "", "EXC_NODES", &[ExcludedNodes], |r, _, o| text_or(r, ExcludedNodes, "", o)),
        unset(Some('X'), "CoreSpec", "CORE_SPEC", not_available),
        field('y', "Nice", "NICE", &[Nice], |r, _, o| number(r, Nice, o)),
        unset(Some('Y'), "SchedNodes", "SCHEDNODES", null),
        unset(Some('z'), "SCT", "S:C:T", |_, _, o| o.push_str("*:*:*")),
        field('Z', "WorkDir", "WORK_DIR", &[WorkDir], |r, _, o| text_or(r, WorkDir, "", o)),
        named("AccrueTime", "ACCRUE_TIME", &[AccrueTime], |r, i, o| instant(r, i, AccrueTime, o)),
        unset(None, "admin_comment", "ADMIN_COMMENT", null),
        named("AllocNodes", "ALLOC_NODES", &[SubmitHost], |r, _, o| text_or(r, SubmitHost, "", o)),
        unset(None, "AllocSID", "ALLOC_SID", not_available),
        unset(None, "AssocID", "ASSOCID", zero),
        unset(None, "BatchFlag", "BATCH_FLAG", |_, _, o| o.push('1')),
        unset(None, "BurstBuffer", "BURST_BUFFER", null),
        unset(None, "BurstBufferState", "BURST_BUFFER_STATE", |_, _, _| ()),
        unset(None, "Cluster", "CLUSTER", not_available),
        unset(None, "ClusterFeature", "CLUSTER_FEATURES", null),
        unset(None, "Container", "CONTAINER", null),
        unset(None, "cpus-per-tres", "CPUS_PER_TRES", not_available),
        named("cpus-per-task", "CPUS_PER_TASK", &[CpusPerTask], |r, _, o| number(r, CpusPerTask, o)),
        unset(None, "Deadline", "DEADLINE", not_available),
        unset(None, "DelayBoot", "DELAY_BOOT", |_, _, o| o.push_str("0:00")),
        unset(None, "DerivedEC", "DERIVED_EC", zero),
        named("EligibleTime", "ELIGIBLE_TIME", &[EligibleTime], |r, i, o| instant(r, i, EligibleTime, o)),
        named("exit_code", "EXIT_CODE", &[ExitCode], exit_code),
        unset(None, "LastSchedEval", "LAST_SCHED_EVAL", not_available),
        named("MaxCPUs", "MAX_CPUS", &[CpuCount], |r, _, o| number(r, CpuCount, o)),
        named("MaxNodes", "MAX_NODES", &[NodeCount], |r, _, o| number(r, NodeCount, o)),
        unset(None, "MCSLabel", "MCSLABEL", null),
        unset(None, "mem-per-tres", "MEM_PER_TRES", not_available),
        unset(None, "MinTime", "MIN_TIME", |_, _, o| o.push_str("0:00")),
        unset(None, "Network", "NETWORK", null),
        unset(None, "NTPerBoard", "TASKS_PER_BOARD", zero),
        unset(None, "NTPerCore", "TASKS_PER_CORE", not_available),
        unset(None, "NTPerNode", "TASKS_PER_NODE", zero),
        unset(None, "NTPerSocket", "TASKS_PER_SOCKET", not_available),
        named("NumTasks", "TASKS", &[TaskCount], |r, _, o| number(r, TaskCount, o)),
        named("PendingTime", "PENDING_TIME", &[SubmitTime, StartTime, State], pending_time),
        named("PreemptTime", "PREEMPT_TIME", &[PreemptTime], |r, i, o| instant(r, i, PreemptTime, o)),
        unset(None, "Profile", "PROFILE", |_, _, o| o.push_str("NotSet")),
        unset(None, "Reboot", "REBOOT", zero),
        named("ReqSwitch", "REQ_SWITCH", &[Switches], |r, _, o| number(r, Switches, o)),
        named("Requeue", "REQUEUE", &[Requeue], |r, _, o| flag(r, Requeue, o)),
        unset(None, "ResizeTime", "RESIZE_TIME", not_available),
        named("RestartCnt", "RESTART_COUNT", &[Restarts], |r, _, o| number(r, Restarts, o)),
        unset(None, "SiblingsActive", "ACTIVE_SIBLINGS", |_, _, o| o.push_str("NA")),
        unset(None, "SiblingsViable", "VIABLE_SIBLINGS", |_, _, o| o.push_str("NA")),
        named("STDERR", "STDERR", &[StdErr], |r, _, o| text_or(r, StdErr, "", o)),
        named("STDIN", "STDIN", &[StdIn], |r, _, o| text_or(r, StdIn, "", o)),
        named("STDOUT", "STDOUT", &[StdOut], |r, _, o| text_or(r, StdOut, "", o)),
        unset(None, "system_comment", "SYSTEM_COMMENT", null),
        named("tres-alloc", "TRES_ALLOC", &[TresAllocated], |r, _, o| {
            let tres = r.text(TresAllocated).unwrap_or("N/A");
            o.push_str(&amounts::tres(tres, MemoryUnits::Fitting));
        }),
        unset(None, "tres-bind", "TRES_BIND", not_available),
        unset(None, "tres-freq", "TRES_FREQ", not_available),
        named("tres-per-job", "TRES_PER_JOB", &[TresPerJob], |r, _, o| text_or(r, TresPerJob, "N/A", o)),
        unset(None, "tres-per-socket", "TRES_PER_SOCKET", not_available),
        unset(None, "tres-per-task", "TRES_PER_TASK", not_available),
        unset(None, "Wait4Switch", "WAIT4SWITCH", |_, _, o| o.push_str("0:00")),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_of_the_alphabet_is_a_field() {
        for letter in ('a'..='z').chain('A'..='Z') {
            assert!(by_letter(letter).is_some(), "%{letter}");
        }
    }

    #[test]
    fn no_letter_and_no_name_stands_for_two_fields() {
        for (position, field) in FIELDS.iter().enumerate() {
            for other in &FIELDS[position + 1..] {
                assert!(field.letter.is_none() || field.letter != other.letter, "%{:?}", field.letter);
                assert!(
                    field.name.is_empty() || !field.name.eq_ignore_ascii_case(other.name),
                    "{}",
                    field.name
                );
            }
        }
    }
}
