//! What is asked and told.

use std::fmt::Write;

use daybook_plan::Cycle;
use daybook_plan::fragmentation::Figure;
use daybook_schemas::job::JobState;
use daybook_schemas::{JobId, NodeName};

use super::super::DAWN;

use super::{NOTHING, Script};

impl Script {
    /// What is known of a job beside its state.
    pub(super) fn details(&self, name: &str) -> String {
        let cluster = &self.simulation.cluster;
        let Some(job) = cluster.jobs().get(&JobId(name.parse().unwrap())) else {
            return "  unknown\n".to_string();
        };
        let state = cluster.shown_state(job).word();
        let reason = job.shown_reason(self.simulation.now).word();
        let priority = job.shown_priority();
        let priority = if job.priority_fixed { format!("{priority} (set)") } else { priority.to_string() };
        let open = daybook_model::dependency_notation(cluster, job);
        let limit = job.time_limit.whole_minutes().map_or("none".to_string(), |minutes| minutes.to_string());
        format!(
            "  {state} {reason}, priority {priority}, nice {}, limit {limit}, open \"{open}\"\n",
            job.nice
        )
    }

    /// What is free on GPUs, and what of it those who usually come could not use, after what would be decided now.
    pub(super) fn fragmentation(&self) -> String {
        let Some(figure) = self.simulation.consider().fragmentation else {
            return "  no GPUs\n".to_string();
        };
        let Figure { gpus_free, gpus_unusable, .. } = figure;
        match gpus_unusable {
            Some(unusable) => format!("  free {gpus_free} unusable {unusable} (thousandths of a GPU)\n"),
            None => format!("  free {gpus_free}, nobody has asked for a GPU yet\n"),
        }
    }

    /// The explanation's parts, one on each line.
    pub(super) fn why(&self, job: &str) -> String {
        let (cluster, now) = (&self.simulation.cluster, self.simulation.now);
        let policy = daybook_plan::Policy::of(cluster).unwrap();
        let Some(told) = daybook_plan::explain(cluster, now, &policy, JobId(job.parse().unwrap())) else {
            return "  unknown\n".to_string();
        };
        let mut out = String::new();
        let since = (told.since.0 - DAWN.0) / 1_000_000;
        writeln!(out, "  {} {} {} since +{since}", told.display_id, told.state.word(), told.reason.word())
            .unwrap();
        for block in &told.blocks {
            writeln!(out, "  block {}", json(block)).unwrap();
        }
        if let Some(figures) = &told.figures {
            writeln!(out, "  figures {}", json(figures)).unwrap();
        }
        if let Some(place) = &told.place {
            writeln!(out, "  place {}", json(place)).unwrap();
        }
        if let Some(limit) = &told.used_up {
            writeln!(out, "  used up {}", json(limit)).unwrap();
        }
        if let Some(outlook) = &told.outlook {
            writeln!(out, "  outlook {}", json(outlook)).unwrap();
        }
        out
    }

    pub(super) fn jobs(&self) -> String {
        let mut out = String::new();
        for job in self.simulation.cluster.jobs().values().filter(|job| !job.state.is_ended()) {
            let reason = job.shown_reason(self.simulation.now).word();
            let waits = job.tasks_waiting.as_ref().map(|tasks| format!("_[{tasks}]")).unwrap_or_default();
            let shown = if job.state == JobState::Pending { reason } else { "" };
            let several =
                job.partitions.as_ref().map(|_| format!(" in {}", job.partition)).unwrap_or_default();
            writeln!(out, "  {}{waits} {} {shown}{several}", job.id, job.state.word()).unwrap();
        }
        out
    }
}

/// A cycle as text: one line for each decision.
pub fn describe(cycle: &Cycle) -> String {
    let mut out = String::new();
    for start in &cycle.starts {
        let task =
            start.array.map(|task| format!(" (task {}_{})", task.array_job, task.task)).unwrap_or_default();
        let inside = start.reservation.as_ref().map(|name| format!(" in {name}")).unwrap_or_default();
        let billing = start.billing.map(|billing| format!(" billing {billing}")).unwrap_or_default();
        writeln!(out, "  start {}{task}{inside}{billing}", start.run).unwrap();
        for share in &start.nodes {
            write!(out, "    {} cpus {} tasks {} mem {}", share.node, share.cpus, share.tasks, share.memory)
                .unwrap();
            let gpus: Vec<String> =
                share.gpus.iter().map(|gpu| format!("{}:{}", gpu.gpu_type, gpu.index)).collect();
            writeln!(out, "{}{}", if gpus.is_empty() { "" } else { " gpus " }, gpus.join(",")).unwrap();
        }
    }
    for change in &cycle.reasons {
        let separator = if change.detail.is_empty() { "" } else { ", " };
        let figures = change.figures.as_ref().map_or(String::new(), |figures| format!(" {}", json(figures)));
        writeln!(
            out,
            "  reason {} {}{separator}{}{figures}",
            change.job,
            change.reason.word(),
            change.detail
        )
        .unwrap();
    }
    for planned in &cycle.reservations {
        let nodes: Vec<&str> = planned.nodes.iter().map(NodeName::as_str).collect();
        let after = (planned.start.0 - DAWN.0) / 1_000_000;
        writeln!(out, "  protect {} at +{after} on {}", planned.job, nodes.join(",")).unwrap();
    }
    for preemption in &cycle.preemptions {
        let task = preemption
            .array
            .map(|task| format!(" (task {}_{})", task.array_job, task.task))
            .unwrap_or_default();
        let until = (preemption.grace_end.0 - DAWN.0) / 1_000_000;
        let (run, by, mode) = (preemption.run, preemption.by, preemption.mode.word());
        writeln!(out, "  preempt {run} for {by}{task} by {mode}, warned until +{until}").unwrap();
    }
    for run in &cycle.resumes {
        writeln!(out, "  resume {run}").unwrap();
    }
    for used_up in &cycle.used_up {
        writeln!(out, "  used up {} {}", used_up.run, json(&used_up.limit)).unwrap();
    }
    for finished in &cycle.finished {
        writeln!(out, "  finish {} {} {}", finished.job, finished.state.word(), finished.reason.word())
            .unwrap();
    }
    if cycle.bound.is_some() {
        writeln!(out, "  bounded after {} jobs", cycle.jobs_considered).unwrap();
    }
    if let Some(wake) = cycle.wake {
        writeln!(out, "  wake at +{}", (wake.0 - DAWN.0) / 1_000_000).unwrap();
    }
    if out.is_empty() {
        out.push_str(NOTHING);
    }
    out
}

/// Canonical JSON.
pub(super) fn json<T: serde::Serialize>(value: &T) -> String {
    String::from_utf8(daybook_schemas::canonical::to_bytes(value).unwrap()).unwrap()
}
