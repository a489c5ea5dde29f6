//! Settings as they are told back before they are added.

use daybook_schemas::Seconds;
use daybook_schemas::accounts::Shares;
use daybook_schemas::api::{AssociationSettings, Change, LimitChanges, ListChange, QosSettings};
use daybook_schemas::grammar::duration;
use daybook_schemas::limits::CountLimitName::*;
use daybook_schemas::limits::TresLimitName::*;
use daybook_schemas::limits::WallLimitName::*;
use daybook_schemas::limits::{CountLimitName, TresLimitName, WallLimitName};

use super::settings::mode_word;
use super::tres;

fn or_none<T>(change: &Change<T>, text: impl Fn(&T) -> String) -> String {
    match change {
        Change::Set(value) => text(value),
        Change::Clear => "NONE".to_string(),
    }
}

/// Lines such as `  Fairshare     = 3`.
struct Lines<'a> {
    out: String,
    width: usize,
    limits: &'a LimitChanges,
}

impl Lines<'_> {
    fn line(&mut self, name: &str, value: &str) {
        self.out.push_str(&format!("  {name:<width$}= {value}\n", width = self.width));
    }

    fn tres(&mut self, name: &str, limit: TresLimitName) {
        if let Some(change) = self.limits.tres.get(&limit) {
            self.line(name, &tres::told(change));
        }
    }

    fn count(&mut self, name: &str, limit: CountLimitName) {
        if let Some(change) = self.limits.counts.get(&limit) {
            self.line(name, &or_none(change, u32::to_string));
        }
    }

    fn wall(&mut self, name: &str, limit: WallLimitName) {
        if let Some(change) = self.limits.walls.get(&limit) {
            self.line(name, &or_none(change, |Seconds(seconds)| duration::format_elapsed(*seconds)));
        }
    }

    fn list(&mut self, name: &str, change: &ListChange<String>) {
        let (ListChange::Set(list) | ListChange::Add(list) | ListChange::Remove(list)) = change;
        self.line(name, &list.join(","));
    }
}

/// Of associations; of accounts with the account above.
pub fn association(settings: &AssociationSettings, parent: Option<&str>) -> String {
    let mut lines = Lines { out: String::new(), width: 14, limits: &settings.limits };
    if let Some(comment) = &settings.comment {
        lines.line("Comment", &or_none(comment, String::clone));
    }
    if let Some(shares) = &settings.shares {
        let shares = or_none(shares, |shares| match shares {
            Shares::Number(number) => number.to_string(),
            Shares::Parent => "parent".to_string(),
        });
        lines.line("Fairshare", &shares);
    }
    lines.tres("GrpTRESMins", GrpTresMins);
    lines.tres("GrpTRESRunMins", GrpTresRunMins);
    lines.tres("GrpTRES", GrpTres);
    lines.count("GrpJobs", GrpJobs);
    lines.count("GrpJobsAccrue", GrpJobsAccrue);
    lines.count("GrpSubmitJobs", GrpSubmitJobs);
    lines.wall("GrpWall", GrpWall);
    lines.tres("MaxTRESMins", MaxTresMinsPerJob);
    lines.tres("MaxTRES", MaxTresPerJob);
    lines.tres("MaxTRESPerNode", MaxTresPerNode);
    lines.count("MaxJobs", MaxJobs);
    lines.count("MaxJobsAccrue", MaxJobsAccrue);
    lines.count("MinPrioThresh", MinPriority);
    lines.count("MaxSubmitJobs", MaxSubmitJobs);
    lines.wall("MaxWall", MaxWallPerJob);
    if let Some(parent) = parent {
        lines.line("Parent", parent);
    }
    if let Some(priority) = &settings.priority {
        lines.line("Priority", &or_none(priority, u32::to_string));
    }
    if let Some(qos) = &settings.qos {
        lines.list("QOS", qos);
    }
    if let Some(default) = &settings.default_qos {
        lines.line("DefQOS", &or_none(default, String::clone));
    }
    lines.out
}

/// Of a QOS, without its description.
pub fn qos(settings: &QosSettings) -> String {
    let mut lines = Lines { out: String::new(), width: 25, limits: &settings.limits };
    if let Some(ListChange::Set(flags) | ListChange::Add(flags) | ListChange::Remove(flags)) = &settings.flags
    {
        let words: Vec<&str> = flags.iter().map(|flag| flag.word()).collect();
        lines.line("Flags", &words.join(","));
    }
    let seconds = |Seconds(seconds): &Seconds| seconds.to_string();
    if let Some(time) = &settings.grace_time {
        lines.line("GraceTime", &or_none(time, seconds));
    }
    lines.tres("GrpTRESMins", GrpTresMins);
    lines.tres("GrpTRESRunMins", GrpTresRunMins);
    lines.tres("GrpTRES", GrpTres);
    lines.count("GrpJobs", GrpJobs);
    lines.count("GrpJobsAccrue", GrpJobsAccrue);
    lines.count("GrpSubmitJobs", GrpSubmitJobs);
    lines.wall("GrpWall", GrpWall);
    lines.tres("MaxTRESMinsPerJob", MaxTresMinsPerJob);
    lines.tres("MaxTRESRunMinsPerAccount", MaxTresRunMinsPerAccount);
    lines.tres("MaxTRESRunMinsPerUser", MaxTresRunMinsPerUser);
    lines.tres("MaxTRESPerAccount", MaxTresPerAccount);
    lines.tres("MaxTRESPerJob", MaxTresPerJob);
    lines.tres("MaxTRESPerNode", MaxTresPerNode);
    lines.tres("MaxTRESPerUser", MaxTresPerUser);
    lines.count("MaxJobsPerAccount", MaxJobsPerAccount);
    lines.count("MaxJobsPerUser", MaxJobs);
    lines.count("MaxJobsAccruePerAccount", MaxJobsAccruePerAccount);
    lines.count("MaxJobsAccruePerUser", MaxJobsAccrue);
    lines.count("MinPrioThreshold", MinPriority);
    lines.tres("MinTRESPerJob", MinTresPerJob);
    lines.count("MaxSubmitJobsPerAccount", MaxSubmitJobsPerAccount);
    lines.count("MaxSubmitJobsPerUser", MaxSubmitJobs);
    lines.wall("MaxWall", MaxWallPerJob);
    if let Some(preempt) = &settings.preempt {
        lines.list("Preempt", preempt);
    }
    if let Some(mode) = &settings.preempt_mode {
        let mode = match mode {
            Change::Set(mode) => Some(*mode),
            Change::Clear => None,
        };
        lines.line("PreemptMode", mode_word(mode));
    }
    if let Some(time) = &settings.preempt_exempt_time {
        lines.line("PreemptExemptTime", &or_none(time, seconds));
    }
    if let Some(priority) = &settings.priority {
        lines.line("Priority", &or_none(priority, u32::to_string));
    }
    let millionths = |factor: &u64| format!("{}.{:06}", factor / 1_000_000, factor % 1_000_000);
    for (name, factor) in [
        ("UsageFactor", &settings.usage_factor),
        ("UsageThreshold", &settings.usage_threshold),
        ("LimitFactor", &settings.limit_factor),
    ] {
        if let Some(factor) = factor {
            lines.line(name, &or_none(factor, millionths));
        }
    }
    lines.out
}
