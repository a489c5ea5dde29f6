//! Whose runs give way to whom, and who may use how much: what a seed decides of it, and what must hold then.

use std::collections::BTreeMap;

use daybook_model::{Cluster, Job};
use daybook_schemas::accounts::{
    Account, AccountUser, AdminLevel, Association, Limits, PreemptMode, Qos, ROOT_ACCOUNT, Shares,
};
use daybook_schemas::events::{
    AccountDefined, AssociationDefined, ClusterConfigured, QosDefined, UserDefined,
};
use daybook_schemas::job::{GpuScope, Reason, ResourceRequest};
use daybook_schemas::node::AccountingEnforcement;
use daybook_schemas::orders::RunWish;
use daybook_schemas::preemption::{PreemptType, PreemptionParameters};
use daybook_schemas::{Body, Seconds};

use crate::choice::Choice;
use crate::scenario::USERS;

/// The QOS that others give way to, in some of the clusters.
pub const HIGH: &str = "high";
/// The QOS of everybody else.
const NORMAL: &str = "normal";
/// The account of the first two users, and that of the third.
const ACCOUNTS: [(&str, &[u32]); 2] = [("lab", &[USERS[1], USERS[2]]), ("club", &[USERS[3]])];

/// Draws preemption and limits into a configuration; gives the facts about accounts that belong to them.
pub fn draw(configured: &mut ClusterConfigured, choice: &mut Choice) -> Vec<Body> {
    let mut bodies = Vec::new();
    if choice.chance(45) {
        draw_preemption(configured, &mut bodies, choice);
    }
    if choice.chance(45) {
        let enforced = &mut configured.parameters.accounting_enforced;
        *enforced = vec![AccountingEnforcement::Associations, AccountingEnforcement::Limits];
        draw_accounts(&mut bodies, choice);
    }
    bodies
}

fn draw_preemption(configured: &mut ClusterConfigured, bodies: &mut Vec<Body>, choice: &mut Choice) {
    let by = choice.pick(&[PreemptType::Qos, PreemptType::PartitionPrio]).unwrap_or(PreemptType::Qos);
    let mode = choice.pick(&[PreemptMode::Cancel, PreemptMode::Requeue]).unwrap_or(PreemptMode::Cancel);
    configured.parameters.preemption = Some(PreemptionParameters {
        exempt_time: Seconds(u64::from(choice.pick(&[0, 0, 40]).unwrap_or(0u32))),
        youngest_first: choice.chance(30),
        ..PreemptionParameters::new(by, mode)
    });
    let mut grace = || Seconds(u64::from(choice.pick(&[0, 0, 15]).unwrap_or(0u32)));
    configured.partitions.iter_mut().for_each(|partition| partition.grace_time = grace());
    let normal = Qos { grace_time: grace(), ..Qos::new(1, NORMAL) };
    let high = Qos { preempt: vec![NORMAL.to_string()], ..Qos::new(2, HIGH) };
    bodies.extend([normal, high].map(|qos| QosDefined { qos }.into()));
}

fn draw_accounts(bodies: &mut Vec<Body>, choice: &mut Choice) {
    let mut id = 100;
    let mut association = |account: &str, limits: Limits| {
        id += 1;
        Association {
            id,
            account: account.to_string(),
            user: None,
            partition: None,
            parent: None,
            shares: Shares::default(),
            default_qos: None,
            qos: None,
            priority: None,
            limits,
            comment: None,
        }
    };
    for (account, users) in ACCOUNTS {
        let (name, description, organization) =
            (account.to_string(), account.to_string(), account.to_string());
        let defined = Account { name, description, organization, coordinators: Vec::new() };
        bodies.push(AccountDefined { account: defined }.into());
        let own = association(account, Limits { max_jobs: None, ..limits(choice) });
        bodies.push(
            AssociationDefined { association: Association { parent: Some(ROOT_ACCOUNT.to_string()), ..own } }
                .into(),
        );
        for uid in users {
            let user = AccountUser {
                name: uid.to_string(),
                default_account: Some(account.to_string()),
                default_wckey: None,
                admin_level: AdminLevel::default(),
            };
            bodies.push(UserDefined { user }.into());
            let own = association(account, limits(choice));
            bodies.push(
                AssociationDefined { association: Association { user: Some(uid.to_string()), ..own } }.into(),
            );
        }
    }
}

/// `MaxJobs` is of each user: an account's would be that of its users who have none.
fn limits(choice: &mut Choice) -> Limits {
    let mut grp_tres = BTreeMap::new();
    if choice.chance(30) {
        grp_tres.insert("cpu".to_string(), u64::from(choice.between(1, 8)));
    }
    if choice.chance(30) {
        grp_tres.insert("gres/gpu".to_string(), u64::from(choice.between(0, 3)));
    }
    Limits {
        grp_tres,
        grp_jobs: choice.chance(20).then(|| choice.between(1, 4)),
        max_jobs: choice.chance(20).then(|| choice.between(1, 3)),
        grp_submit_jobs: choice.chance(15).then(|| choice.between(4, 20)),
        ..Limits::default()
    }
}

/// What is in use of what is limited.
#[derive(Default)]
struct InUse {
    jobs: u64,
    cpus: u64,
    gpus: u64,
}

impl InUse {
    /// The limit that it is above, in words.
    fn above(&self, limits: &Limits) -> Option<String> {
        let tres = [("cpu", self.cpus), ("gres/gpu", self.gpus)];
        let tres = tres.map(|(name, used)| (name, used, limits.grp_tres.get(name).copied()));
        let jobs = [("GrpJobs", limits.grp_jobs), ("MaxJobs", limits.max_jobs)];
        let jobs = jobs.map(|(name, most)| (name, self.jobs, most.map(u64::from)));
        let is_above = |(_, used, most): &(&str, u64, Option<u64>)| most.is_some_and(|most| *used > most);
        let found = tres.into_iter().chain(jobs).find(is_above);
        found.map(|(name, used, most)| format!("{used} of {name}, with a limit of {most:?}"))
    }
}

/// No association is above its limits. A run that is told to end does not count any more, as in Slurm.
pub fn check_limits(cluster: &Cluster) -> Result<(), String> {
    if !cluster.enforces_limits() {
        return Ok(());
    }
    let mut used: BTreeMap<(String, Option<String>), InUse> = BTreeMap::new();
    let live = cluster.runs().values().filter(|run| run.end.is_none() && run.wish == RunWish::Run);
    for run in live {
        let Some(job) = cluster.jobs().get(&run.id.job) else { continue };
        for user in [None, Some(job.spec.user.name.clone())] {
            let used = used.entry((job.account.to_string(), user)).or_default();
            used.jobs += 1;
            used.cpus += run.nodes.iter().map(|share| share.cpus.len()).sum::<u64>();
            used.gpus += run.nodes.iter().map(|share| share.gpus.len() as u64).sum::<u64>();
        }
    }
    for ((account, user), used) in &used {
        let who = format!("{account} {user:?}");
        let found = cluster.accounts().at(account, user.as_deref(), None);
        let own = found.ok_or_else(|| format!("a job runs of {who}, of whom there is no association"))?;
        if let Some(what) = used.above(&own.limits) {
            return Err(format!("{who} has {what}"));
        }
    }
    Ok(())
}

/// Whether a job that a limit keeps back may be above one by itself: on as many nodes as it may be spread over, for want of
/// larger ones.
pub fn is_above_alone(cluster: &Cluster, job: &Job) -> bool {
    if !matches!(job.reason, Reason::Limit(_)) {
        return false;
    }
    let request = &job.request;
    let nodes = request.nodes_max.unwrap_or(u32::MAX).min(request.tasks.max(gpus(request, 1)));
    let nodes = nodes.max(request.nodes_min).min(u32::try_from(cluster.nodes().len()).unwrap_or(u32::MAX));
    let cpus = u64::from(request.tasks.max(nodes)) * u64::from(request.cpus_per_task);
    let alone = InUse { jobs: 1, cpus, gpus: gpus(request, nodes).into() };
    // One that has its nodes alone is given all that they have.
    let is_above =
        |limits: &Limits| alone.above(limits).is_some() || request.exclusive && !limits.grp_tres.is_empty();
    let user = Some(job.spec.user.name.as_str());
    let held = [None, user].map(|user| cluster.accounts().at(&job.account, user, None));
    held.into_iter().flatten().any(|own| is_above(&own.limits))
}

/// The GPUs of a request on so many nodes.
fn gpus(request: &ResourceRequest, nodes: u32) -> u32 {
    let of = |scope: GpuScope, count: u32| match scope {
        GpuScope::Job => count,
        GpuScope::Node => count * nodes,
        GpuScope::Task => count * request.tasks,
    };
    request.gpus.iter().map(|wish| of(wish.scope, wish.count)).sum()
}
