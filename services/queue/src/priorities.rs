//! What the queue's order is made of: priorities of waiting jobs, and shares of associations.

use std::collections::BTreeMap;

use daybook_model::{Cluster, Counts, Job, Level, Standing, addends};
use daybook_schemas::UtcMicros;
use daybook_schemas::accounts::{Association, ROOT_ACCOUNT, Shares, TresAmounts};
use daybook_schemas::api::{AssociationShare, JobPriority, LevelFairShare, PrioritiesAnswer, SharesAnswer};
use daybook_schemas::grammar::job_id;
use daybook_schemas::job::{ArrayRequest, JobState};
use daybook_schemas::priority::PRIORITY_FACTOR_ONE;

/// Parts of a whole as they are shown.
const MILLION: u128 = 1_000_000;

/// The waiting jobs' priorities. Linear in the records in memory.
pub(crate) fn priorities(cluster: &Cluster) -> PrioritiesAnswer {
    let waiting = cluster.jobs().values().filter(|job| job.state == JobState::Pending);
    PrioritiesAnswer {
        parameters: cluster.priority_parameters().cloned(),
        calculated: cluster.priorities_calculated(),
        jobs: waiting.filter_map(|job| job_priority(cluster, job)).collect(),
    }
}

fn job_priority(cluster: &Cluster, job: &Job) -> Option<JobPriority> {
    let (parameters, factors) = (cluster.priority_parameters()?, job.priority_factors.as_deref()?);
    let running_max = || cluster.arrays().get(&job.id).and_then(|array| array.running_max);
    let waiting = job
        .tasks_waiting
        .as_ref()
        .map(|tasks| ArrayRequest { tasks: tasks.clone(), running_max: running_max() });
    Some(JobPriority {
        job: job.id,
        display_id: job_id::format_id(job.id, job.task, waiting.as_ref()),
        partition: job.partition.to_string(),
        user: job.spec.user.name.clone(),
        uid: job.spec.user.uid,
        account: job.account.to_string(),
        qos: job.qos.to_string(),
        priority: job.shown_priority(),
        fixed: job.priority_fixed || job.hold.is_some(),
        addends: addends(parameters, factors, job.site_factor, job.nice),
        factors: factors.clone(),
    })
}

/// Usage and fair share of every association, in the order of the tree. Linear in associations and runs.
pub(crate) fn shares(cluster: &Cluster, now: UtcMicros) -> SharesAnswer {
    let accounts = cluster.accounts();
    let mut told = Telling {
        cluster,
        standings: cluster.standings(),
        run_mins: run_minutes(cluster, now),
        usage_of_all: 0,
        found: Vec::new(),
    };
    if let Some(root) = accounts.at(ROOT_ACCOUNT, None, None) {
        told.usage_of_all = told.standings.get(&root.id).map_or(0, |standing| standing.usage);
        told.tell(root, 0);
    }
    SharesAnswer {
        cluster: cluster.configured().map(|configured| configured.cluster_name.clone()).unwrap_or_default(),
        multifactor: cluster.priority_parameters().is_some(),
        calculated: cluster.priorities_calculated(),
        associations: told.found,
    }
}

struct Telling<'a> {
    cluster: &'a Cluster,
    standings: BTreeMap<u32, Standing>,
    run_mins: BTreeMap<u32, TresAmounts>,
    usage_of_all: u64,
    found: Vec<AssociationShare>,
}

impl<'a> Telling<'a> {
    /// An association, then its users by name, then the accounts below by name.
    fn tell(&mut self, association: &'a Association, depth: u32) {
        let line = self.line(association, depth);
        self.found.push(line);
        if association.user.is_some() || depth as usize > daybook_model::TREE_DEPTH_MAX {
            return;
        }
        let mut below: Vec<&Association> =
            self.cluster.accounts().below(&association.account).map(|below| below.as_ref()).collect();
        below.sort_by_key(|below| (below.user.is_none(), &below.user, &below.account, &below.partition));
        below.into_iter().for_each(|below| self.tell(below, depth + 1));
    }

    fn line(&self, association: &Association, depth: u32) -> AssociationShare {
        let standing = self.standings.get(&association.id);
        let (usage, usage_above) = standing.map_or((0, 0), |standing| (standing.usage, standing.usage_above));
        let norm_shares = match (standing, association.shares) {
            (Some(standing), Shares::Number(shares)) => {
                of_whole(shares.into(), standing.shares_of_siblings.into())
            }
            _ => 0,
        };
        // As in Slurm, users that go with their account are shown with what it has.
        let above =
            self.cluster.accounts().above(association).filter(|_| association.shares == Shares::Parent);
        let norm_shares = above.map_or(norm_shares, |above| self.line(above, 0).norm_shares);
        let millionths = |rank: u64| of_whole(rank.into(), PRIORITY_FACTOR_ONE.into());
        AssociationShare {
            id: association.id,
            account: association.account.clone(),
            user: association.user.clone(),
            partition: association.partition.clone(),
            depth,
            parent: association.parent.clone(),
            shares: association.shares,
            norm_shares,
            usage,
            norm_usage: of_whole(usage.into(), self.usage_of_all.into()),
            effective_usage: of_whole(usage.into(), usage_above.into()),
            fair_share: standing.and_then(|standing| standing.fair_share).map(millionths),
            level_fair_share: standing.and_then(|standing| standing.level).map(level),
            grp_tres_mins: association.limits.grp_tres_mins.clone(),
            tres_run_mins: self.run_mins.get(&association.id).cloned().unwrap_or_else(nothing),
        }
    }
}

/// In millionths, rounded to the nearest; of nothing: nothing.
fn of_whole(part: u128, whole: u128) -> u64 {
    if whole == 0 {
        return 0;
    }
    let millionths = part.saturating_mul(MILLION).saturating_add(whole / 2) / whole;
    u64::try_from(millionths).unwrap_or(u64::MAX)
}

fn level(level: Level) -> LevelFairShare {
    match level.denominator {
        0 => LevelFairShare::Infinite,
        whole => LevelFairShare::Millionths(of_whole(level.numerator, whole)),
    }
}

/// The resources that are shown, in Slurm's order of their numbers.
fn nothing() -> TresAmounts {
    ["cpu", "mem", "node", "billing", "gres/gpu"].iter().map(|name| (name.to_string(), 0)).collect()
}

/// Resource-minutes that what runs may still use by its limits, of each association and all above it.
fn run_minutes(cluster: &Cluster, now: UtcMicros) -> BTreeMap<u32, TresAmounts> {
    let mut all: BTreeMap<u32, TresAmounts> = BTreeMap::new();
    for run in cluster.runs().values().filter(|run| run.end.is_none()) {
        let Some(end) = run.limit_end() else { continue };
        let seconds = u64::try_from(end.seconds() - now.seconds()).unwrap_or(0);
        let Some(job) = cluster.jobs().get(&run.id.job) else { continue };
        let Some(own) = cluster.association_of(job) else { continue };
        let counts = Counts::of_run(run);
        for association in cluster.accounts().line_of(own) {
            let amounts = all.entry(association.id).or_insert_with(nothing);
            for (name, amount) in amounts.iter_mut() {
                let used = counts.amount(name).saturating_mul(seconds);
                *amount = amount.saturating_add(used / 60);
            }
        }
    }
    all
}
