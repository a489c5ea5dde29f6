//! `seff`: how much of what a job was given it used.

use std::fmt::Write as _;

use daybook_schemas::api::{AccountingAnswer, AccountingQuery, AccountingRecord, RecordKind};
use daybook_schemas::grammar::duration::format_elapsed;
use daybook_schemas::grammar::job_id::parse_selector;
use daybook_schemas::job::JobState;

use super::{Command, json};
use crate::client::Client;
use crate::options::{self, Opt, Order, Takes};
use crate::say;

pub const COMMAND: Command = Command {
    name: "seff",
    summary: "Show how much of its CPUs and memory a job used.",
    usage: "seff [OPTION]... JOB",
    options: OPTIONS,
    order: Order::Permute,
    exit_bad_option: 1,
    run,
};

const OPTIONS: &[Opt] = &[
    options::HELP,
    Opt::new(None, "json", Takes::Nothing, "the figures as JSON"),
    options::USAGE,
    options::VERSION,
];

/// What stands before the reason of a failed call.
const CALL: &str = "seff: error";
/// Of a job that nobody knows.
const EXIT_NOT_FOUND: u8 = 2;

fn run(arguments: &[String]) -> u8 {
    let line = match COMMAND.read(arguments) {
        Ok(line) => line,
        Err(exit) => return exit,
    };
    let [id] = line.operands.as_slice() else {
        say::line(format!("Usage: {}", COMMAND.usage));
        return 1;
    };
    let selector = match parse_selector(id) {
        Ok(selector) if selector.tasks.as_ref().is_none_or(|tasks| tasks.len() == 1) => selector,
        _ => {
            say::error("seff", format!("Invalid job id specified: {id}; expected such as 12 or 12_3"));
            return 1;
        }
    };
    let query = AccountingQuery { jobs: vec![selector], ..AccountingQuery::default() };
    let answer = Client::connect()
        .map_err(Into::into)
        .and_then(|mut client| client.post::<_, AccountingAnswer>("/v1/accounting/query", &query));
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return json::report(CALL, &error),
    };
    let Some(used) = Used::of(&answer) else {
        say::line("Job not found.");
        return EXIT_NOT_FOUND;
    };
    if line.options.iter().any(|given| given.option.long == "json") {
        return json::print("efficiency", &used.figures());
    }
    say::print(&used.text());
    0
}

/// What one run of a job had and used.
struct Used<'a> {
    cluster: &'a str,
    job: &'a AccountingRecord,
    cores: u64,
    /// Microseconds.
    cpu_us: u64,
    /// KiB.
    memory_used: u64,
    /// KiB, of all nodes together.
    memory_given: u64,
}

/// The figures of `--json`.
#[derive(serde::Serialize)]
struct Figures<'a> {
    job: &'a AccountingRecord,
    cpu_seconds_used: u64,
    cpu_seconds_given: u64,
    memory_kib_used: u64,
    memory_kib_given: u64,
}

impl Used<'_> {
    /// Of the last run that the job had. Of an array named without a task it is the first of its records.
    fn of(answer: &AccountingAnswer) -> Option<Used<'_>> {
        let job = answer.records.iter().find(|record| record.kind == RecordKind::Job)?;
        let usage = job.usage.unwrap_or_default();
        let memory_given = memory_of(&job.allocated_tres).or_else(|| memory_of(&job.requested_tres));
        Some(Used {
            cluster: &answer.cluster,
            job,
            cores: u64::from(job.allocated_cpus.max(1)),
            cpu_us: usage.user_cpu_us.saturating_add(usage.system_cpu_us),
            memory_used: usage.max_rss_kib,
            memory_given: memory_given.unwrap_or(0),
        })
    }

    fn figures(&self) -> Figures<'_> {
        Figures {
            job: self.job,
            cpu_seconds_used: self.cpu_us / 1_000_000,
            cpu_seconds_given: self.core_seconds(),
            memory_kib_used: self.memory_used,
            memory_kib_given: self.memory_given,
        }
    }

    fn core_seconds(&self) -> u64 {
        self.job.elapsed_seconds.saturating_mul(self.cores)
    }

    fn text(&self) -> String {
        let job = self.job;
        let mut out = String::new();
        let _ = writeln!(out, "Job ID: {}", job.job);
        if let Some(task) = job.array {
            let _ = writeln!(out, "Array Job ID: {}_{}", task.array_job, task.task);
        }
        let _ = writeln!(out, "Cluster: {}", self.cluster);
        let _ = writeln!(out, "User/Group: {}/{}", job.user.name, job.user.group);
        let has_exit = job.state.is_ended();
        let exit = if has_exit { format!(" (exit code {})", job.exit.code) } else { String::new() };
        let _ = writeln!(out, "State: {}{exit}", job.state.word());
        let cores = if job.started.is_some() { self.cores } else { u64::from(job.requested_cpus.max(1)) };
        let nodes = u64::from(job.node_count.max(1));
        if cores == 1 {
            let _ = writeln!(out, "Cores: 1");
        } else {
            let _ = writeln!(out, "Nodes: {nodes}\nCores per node: {}", cores / nodes);
        }
        if job.started.is_none() {
            let _ = writeln!(out, "Efficiency not available for jobs in the {} state.", job.state.word());
            return out;
        }
        let given = self.core_seconds();
        let _ = writeln!(out, "CPU Utilized: {}", format_elapsed(self.cpu_us / 1_000_000));
        let _ = writeln!(
            out,
            "CPU Efficiency: {} of {} core-walltime",
            percent(self.cpu_us / 10_000, given.saturating_mul(100)),
            format_elapsed(given)
        );
        let _ = writeln!(out, "Job Wall-clock time: {}", format_elapsed(job.elapsed_seconds));
        let _ = writeln!(out, "Memory Utilized: {}", memory(self.memory_used));
        let _ = writeln!(
            out,
            "Memory Efficiency: {} of {}",
            percent(self.memory_used, self.memory_given),
            memory(self.memory_given)
        );
        if job.state == JobState::Running {
            out.push_str("WARNING: Efficiency statistics may be misleading for RUNNING jobs.\n");
        }
        if job.usage.is_none() {
            out.push_str("WARNING: Nobody measured what this job used.\n");
        }
        out
    }
}

/// `12.34%`, rounded.
fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0.00%".to_string();
    }
    let hundredths = (u128::from(part) * 10_000 + u128::from(whole) / 2) / u128::from(whole);
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

/// `1.21 GB`: in the largest unit of which there is one, rounded.
fn memory(kibibytes: u64) -> String {
    const UNITS: [&str; 5] = ["KB", "MB", "GB", "TB", "PB"];
    let (mut unit, mut divisor) = (0, 1_u64);
    while unit + 1 < UNITS.len() && kibibytes / divisor >= 1024 {
        unit += 1;
        divisor *= 1024;
    }
    let hundredths = (u128::from(kibibytes) * 100 + u128::from(divisor) / 2) / u128::from(divisor);
    format!("{}.{:02} {}", hundredths / 100, hundredths % 100, UNITS[unit])
}

/// The `mem=` of a TRES list, in KiB.
fn memory_of(tres: &str) -> Option<u64> {
    let amount = tres.split(',').find_map(|part| part.strip_prefix("mem="))?;
    let digits = amount.len() - amount.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = amount.split_at(digits);
    let power = ["K", "M", "G", "T", "P"].iter().position(|known| *known == unit)?;
    number.parse::<u64>().ok()?.checked_mul(1024_u64.checked_pow(u32::try_from(power).ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::sample::{accounting, record};
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    fn check(over: Value, expected: Expect) {
        let answer = accounting(vec![record(7, over)]);
        expected.assert_eq(&Used::of(&answer).unwrap().text());
    }

    #[test]
    fn a_job_that_ended() {
        check(
            json!({
                "elapsed_seconds": 959, "allocated_cpus": 4, "allocated_tres": "billing=4,cpu=4,mem=16G,node=1",
                "usage": { "user_cpu_us": 3_700_000_000_u64, "system_cpu_us": 23_000_000, "max_rss_kib": 1_268_776 },
            }),
            expect![[r#"
                Job ID: 7
                Cluster: tx
                User/Group: alice/alice
                State: COMPLETED (exit code 0)
                Nodes: 1
                Cores per node: 4
                CPU Utilized: 01:02:03
                CPU Efficiency: 97.05% of 01:03:56 core-walltime
                Job Wall-clock time: 00:15:59
                Memory Utilized: 1.21 GB
                Memory Efficiency: 7.56% of 16.00 GB
            "#]],
        );
    }

    #[test]
    fn jobs_of_which_less_is_known() {
        check(
            json!({ "exit": { "code": 3, "signal": 0 }, "state": "FAILED" }),
            expect![[r#"
            Job ID: 7
            Cluster: tx
            User/Group: alice/alice
            State: FAILED (exit code 3)
            Cores: 1
            CPU Utilized: 00:00:00
            CPU Efficiency: 0.00% of 00:00:02 core-walltime
            Job Wall-clock time: 00:00:02
            Memory Utilized: 0.00 KB
            Memory Efficiency: 0.00% of 500.00 MB
            WARNING: Nobody measured what this job used.
        "#]],
        );
        check(
            json!({
                "state": "PENDING", "started": null, "ended": null, "node_count": 0, "allocated_cpus": 0,
                "requested_cpus": 8, "elapsed_seconds": 0,
            }),
            expect![[r#"
                Job ID: 7
                Cluster: tx
                User/Group: alice/alice
                State: PENDING
                Nodes: 1
                Cores per node: 8
                Efficiency not available for jobs in the PENDING state.
            "#]],
        );
        check(
            json!({
                "state": "RUNNING", "ended": null, "node_count": 2, "allocated_cpus": 8, "array": { "array_job": 5, "task": 2 },
                "usage": { "user_cpu_us": 1_000_000, "system_cpu_us": 0, "max_rss_kib": 512 },
            }),
            expect![[r#"
                Job ID: 7
                Array Job ID: 5_2
                Cluster: tx
                User/Group: alice/alice
                State: RUNNING
                Nodes: 2
                Cores per node: 4
                CPU Utilized: 00:00:01
                CPU Efficiency: 6.25% of 00:00:16 core-walltime
                Job Wall-clock time: 00:00:02
                Memory Utilized: 512.00 KB
                Memory Efficiency: 0.10% of 500.00 MB
                WARNING: Efficiency statistics may be misleading for RUNNING jobs.
            "#]],
        );
    }
}
