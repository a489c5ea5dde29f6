//! The report, in Slurm's layout as far as the figures are Slurm's.

use std::fmt::Write as _;

use daybook_schemas::UtcMicros;
use daybook_schemas::api::Statistics;

use crate::table::instants::Instants;

const RULE: &str = "*******************************************************\n";

/// The text. There is a line for what is measured, and none for what is not.
pub fn of(statistics: &Statistics, instants: &Instants) -> String {
    let mut out = String::new();
    let jobs = &statistics.jobs;
    out.push_str(RULE);
    let _ = writeln!(out, "sdiag output at {}", moment(statistics.now, instants));
    let _ = writeln!(out, "Data since      {}", moment(statistics.since, instants));
    out.push_str(RULE);
    for (name, count) in [
        ("submitted:", jobs.submitted),
        ("started:", jobs.started),
        ("completed:", jobs.completed),
        ("canceled:", jobs.canceled),
        ("failed:", jobs.failed),
    ] {
        let _ = writeln!(out, "Jobs {name:<10} {count}");
    }
    let _ = writeln!(out, "\nJob states ts:  {}", moment(statistics.now, instants));
    let _ = writeln!(out, "Jobs pending:   {}", statistics.pending);
    let _ = writeln!(out, "Jobs running:   {}", statistics.running);
    cycles(statistics, instants, &mut out);
    out
}

/// `Wed Dec 02 01:24:07 2026 (1796174647)`.
fn moment(at: UtcMicros, instants: &Instants) -> String {
    format!("{} ({})", instants.clone().at(at.seconds()).headline(), at.seconds())
}

fn cycles(statistics: &Statistics, instants: &Instants, out: &mut String) {
    let recent = &statistics.recent;
    out.push_str(
        "\nMain schedule statistics (planning cycles in the log: those that decided or changed something):\n",
    );
    let mut line = |name: &str, value: String| {
        let _ = writeln!(out, "\t{name:<33}{value}");
    };
    line("Total cycles:", statistics.cycles.to_string());
    let Some(last) = &recent.last else {
        line("Last cycle:", "none".to_string());
        return;
    };
    line("Last cycle when:", moment(last.at, instants));
    line("Last depth cycle:", last.jobs.to_string());
    line("Last steps:", last.steps.to_string());
    line("Last starts:", last.starts.to_string());
    line("Last reasons:", last.reasons.to_string());
    line("Last bound:", last.bound.map_or("none", |bound| bound.word()).to_string());
    let _ = writeln!(
        out,
        "\nOf the last {} cycles in the log ({} s from the first to the last):",
        recent.count, recent.seconds
    );
    let mut line = |name: &str, value: String| {
        let _ = writeln!(out, "\t{name:<33}{value}");
    };
    let between = u64::from(recent.count.saturating_sub(1));
    // Less than a minute says nothing of a minute.
    if let Some(per_minute) = (between * 60).checked_div(recent.seconds).filter(|_| recent.seconds >= 60) {
        line("Cycles per minute:", per_minute.to_string());
    }
    line("Mean depth cycle:", recent.jobs_mean.to_string());
    line("Max depth cycle:", recent.jobs_max.to_string());
    line("Mean steps:", recent.steps_mean.to_string());
    line("Max steps:", recent.steps_max.to_string());
    line("Starts:", recent.starts.to_string());
    line("Reasons changed:", recent.reasons.to_string());
    let bounded: u32 = recent.bounds.iter().map(|bound| bound.cycles).sum();
    line("Met no bound:", (recent.count - bounded.min(recent.count)).to_string());
    for bound in &recent.bounds {
        line(&format!("Met {}:", bound.bound.word()), bound.cycles.to_string());
    }
    out.push_str("\nBackfilling stats\n");
    let _ = writeln!(out, "\t{:<33}{}", "Protected starts:", last.protected);
}
