//! Accounts, users and QOS with their limits; priorities.

use daybook_model::Job;
use daybook_schemas::Seconds;
use daybook_schemas::accounts::{Association, FACTOR_ONE, Limits, Qos, QosFlag, Shares};
use daybook_schemas::events::{AssociationDefined, QosDefined};
use daybook_schemas::job::JobState;
use daybook_schemas::limits::{CountLimitName, TresLimitName, WallLimitName};
use daybook_schemas::priority::{PriorityFlag, PriorityParameters};

use super::super::DAWN;
use super::site::preempt_mode;
use super::told::json;
use super::{Options, Script};

impl Script {
    pub(super) fn define(&mut self, verb: &str, name: &str, options: &mut Options<'_>) -> String {
        let (association, qos) = self.simulation.cluster.accounts().next_numbers();
        let shares = match options.get("shares") {
            Some("parent") => Shares::Parent,
            number => Shares::Number(number.map_or(1, |number| number.parse().unwrap())),
        };
        let priority = options.number("priority");
        let limits = limits(options);
        if verb == "qos" {
            let known = self.simulation.cluster.accounts().qos(name).map(|qos| qos.id);
            let usage_factor = options.number("factor").map_or(FACTOR_ONE, u64::from);
            let flags = options.list("flags");
            let flags = flags.iter().map(|flag| QosFlag::parse(flag).unwrap()).collect();
            let seconds = |number: Option<u32>| number.map(|seconds| Seconds(seconds.into()));
            let qos = Qos {
                priority: priority.unwrap_or(0),
                usage_factor,
                limits,
                flags,
                limit_factor: options.number("limit_factor").map(u64::from),
                usage_threshold: options.number("threshold").map(u64::from),
                preempt: options.list("preempt").into_iter().map(str::to_string).collect(),
                preempt_mode: options.get("mode").map(preempt_mode),
                grace_time: seconds(options.number("grace")).unwrap_or(Seconds(0)),
                preempt_exempt_time: seconds(options.number("exempt")),
                ..Qos::new(known.unwrap_or(qos), name)
            };
            self.simulation.say(daybook_schemas::Subject::Jobs, QosDefined { qos });
            return String::new();
        }
        let mut association =
            Association { id: association, shares, priority, limits, ..Association::default() };
        if verb == "user" {
            association.account = options.get("account").unwrap().to_string();
            association.user = Some(name.to_string());
        } else {
            association.account = name.to_string();
            let parent = options.get("parent").unwrap_or("root").to_string();
            association.parent = Some(parent).filter(|_| name != "root");
        }
        // One that is there is changed.
        let accounts = self.simulation.cluster.accounts();
        let known = accounts.at(&association.account, association.user.as_deref(), None);
        association.id = known.map_or(association.id, |known| known.id);
        self.simulation.say(daybook_schemas::Subject::Jobs, AssociationDefined { association });
        String::new()
    }

    /// Priorities are calculated anew, where it is time.
    pub(super) fn calculate(&mut self) -> String {
        let Some(events) = daybook_plan::calculation(&self.simulation.cluster, self.simulation.now) else {
            return "  not yet\n".to_string();
        };
        self.simulation.commit(daybook_schemas::Subject::Plan, events);
        let cluster = &self.simulation.cluster;
        let standings = cluster.standings();
        let users = cluster.accounts().associations().values().filter(|own| own.user.is_some());
        let line = |own: &std::sync::Arc<Association>| {
            let standing = standings.get(&own.id)?;
            let usage = standing.usage;
            let rank = (standing.fair_share? * 1_000) >> 32;
            let user = own.user.as_deref()?;
            Some(format!("  {}/{user} has used {usage} ms, fair share {rank} thousandths\n", own.account))
        };
        users.filter_map(line).collect()
    }

    /// Waiting jobs, and since when they gain priority by age.
    pub(super) fn ages(&self) -> String {
        let waiting = self.simulation.cluster.jobs().values().filter(|job| job.state == JobState::Pending);
        let line = |job: &std::sync::Arc<Job>| match job.accrual {
            Some(accrual) => {
                let since = (accrual.since.0 - DAWN.0) / 1_000_000;
                format!("  {} since +{since} as {}\n", job.id, accrual.count)
            }
            None => format!("  {} not yet\n", job.id),
        };
        waiting.map(line).collect()
    }

    /// Waiting jobs in the order of the queue, with what their priorities are made of.
    pub(super) fn priorities(&self) -> String {
        let cluster = &self.simulation.cluster;
        let line = |key: &daybook_model::PendingKey| {
            let job = &cluster.jobs()[&key.job];
            let (Some(parameters), Some(factors)) = (cluster.priority_parameters(), &job.priority_factors)
            else {
                return format!("  {} {} by submission\n", job.id, job.priority);
            };
            let made = daybook_model::addends(parameters, factors, job.site_factor, job.nice);
            let fixed = if job.priority_fixed { "fixed, would be " } else { "" };
            if !job.priority_fixed {
                assert_eq!(daybook_model::priority_of(&made), job.priority, "the addends of {}", job.id);
            }
            format!("  {} {} {fixed}{}\n", job.id, job.priority, json(&made))
        };
        cluster.ready().iter().map(line).collect()
    }
}

/// Limits by sacctmgr's names; amounts as `cpu:4,gres/gpu:a100:2`, times in minutes.
pub(super) fn limits(options: &mut Options<'_>) -> Limits {
    use CountLimitName::*;
    use TresLimitName::*;
    let mut limits = Limits::default();
    let tres = [
        ("GrpTRES", GrpTres),
        ("GrpTRESMins", GrpTresMins),
        ("GrpTRESRunMins", GrpTresRunMins),
        ("MaxTRES", MaxTresPerJob),
        ("MaxTRESPN", MaxTresPerNode),
        ("MaxTRESMins", MaxTresMinsPerJob),
        ("MaxTRESPU", MaxTresPerUser),
        ("MaxTRESPA", MaxTresPerAccount),
        ("MaxTRESRunMinsPU", MaxTresRunMinsPerUser),
        ("MaxTRESRunMinsPA", MaxTresRunMinsPerAccount),
        ("MinTRES", MinTresPerJob),
    ];
    for (key, name) in tres {
        let set = options.get(key).into_iter().flat_map(|set| set.split(','));
        for (tres, amount) in set.map(|set| set.rsplit_once(':').unwrap()) {
            limits.tres_mut(name).insert(tres.to_string(), amount.parse().unwrap());
        }
    }
    let counts = [
        ("GrpJobs", GrpJobs),
        ("GrpSubmit", GrpSubmitJobs),
        ("MaxJobs", MaxJobs),
        ("MaxSubmit", MaxSubmitJobs),
        ("MaxJobsPA", MaxJobsPerAccount),
        ("MaxSubmitPA", MaxSubmitJobsPerAccount),
        ("MinPrio", MinPriority),
        ("GrpAccrue", GrpJobsAccrue),
        ("MaxAccrue", MaxJobsAccrue),
        ("MaxAccruePA", MaxJobsAccruePerAccount),
    ];
    for (key, name) in counts {
        *limits.count_mut(name) = options.number(key);
    }
    for (key, name) in [("GrpWall", WallLimitName::GrpWall), ("MaxWall", WallLimitName::MaxWallPerJob)] {
        *limits.wall_mut(name) = options.number(key).map(|minutes| Seconds(u64::from(minutes) * 60));
    }
    limits
}

pub(super) fn priority_parameters(weights: &str, options: &mut Options<'_>) -> PriorityParameters {
    let mut parameters = PriorityParameters::default();
    for (name, weight) in weights.split(',').filter_map(|weight| weight.split_once(':')) {
        let weight: u32 = weight.parse().unwrap();
        match name {
            "age" => parameters.weight_age = weight,
            "assoc" => parameters.weight_association = weight,
            "fairshare" => parameters.weight_fair_share = weight,
            "size" => parameters.weight_job_size = weight,
            "partition" => parameters.weight_partition = weight,
            "qos" => parameters.weight_qos = weight,
            "short" => parameters.weight_short = weight,
            tres => drop(parameters.weight_tres.insert(tres.to_string(), weight)),
        }
    }
    let mut seconds = |key: &str, known: Seconds| options.number(key).map_or(known, |n| Seconds(n.into()));
    parameters.decay_half_life = seconds("half_life", parameters.decay_half_life);
    parameters.period = seconds("period", parameters.period);
    parameters.age_max = seconds("max_age", parameters.age_max);
    let flag = |word: &str| PriorityFlag::ALL.iter().find(|(name, _)| *name == word).unwrap().1;
    parameters.flags = options.list("flags").into_iter().map(flag).collect();
    parameters
}
