//! The lines that Slurm writes into a job's standard error. People and programs look for them, so they are the same here.

use std::path::Path;

use daybook_schemas::UtcMicros;
use daybook_schemas::grammar::instant::format_local;
use daybook_schemas::run::EndCause;
use jiff::tz::TimeZone;
use nix::errno::Errno;

use crate::records::Intent;

/// `slurmstepd-node01: error: *** JOB 329 ON node01 CANCELLED AT 2026-12-02T01:26:25 DUE TO TIME LIMIT ***`
pub fn ended(intent: &Intent, cause: EndCause, local_time: &str) -> String {
    let why = match cause {
        EndCause::TimeLimit => " DUE TO TIME LIMIT",
        EndCause::Preempted => " DUE TO PREEMPTION",
        EndCause::Requeued => " DUE TO JOB REQUEUE",
        EndCause::NodeFailed => " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS",
        _ => "",
    };
    let (job, node) = (intent.order.job(), &intent.node);
    format!("slurmstepd-{node}: error: *** JOB {job} ON {node} CANCELLED AT {local_time}{why} ***\n")
}

/// `slurmstepd-node01: error: Detected 1 oom-kill event(s) in StepId=333.batch. Some of …`
pub fn out_of_memory(intent: &Intent, kills: u64) -> String {
    let (job, node) = (intent.order.job(), &intent.node);
    format!(
        "slurmstepd-{node}: error: Detected {kills} oom-kill event(s) in StepId={job}.batch. Some of your processes may \
         have been killed by the cgroup out-of-memory handler.\n"
    )
}

/// An instant as Slurm prints it, in the machine's zone.
pub fn local_time(instant: UtcMicros) -> String {
    format_local(instant, &TimeZone::system())
}

/// Why the kernel did not execute the script; where only its interpreter is missing, that.
pub fn not_executed(intent: &Intent, error: Errno) -> String {
    let what = match interpreter(Path::new(&intent.script)) {
        Some(interpreter) if error == Errno::ENOENT => format!("bad interpreter({interpreter})"),
        _ => intent.script.clone(),
    };
    format!("slurmstepd-{}: error: execve(): {what}: {}\n", intent.node, error.desc())
}

fn interpreter(script: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut head = Vec::new();
    std::fs::File::open(script).ok()?.take(256).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).trim().to_string())
}
