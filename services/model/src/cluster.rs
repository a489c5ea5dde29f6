use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use daybook_schemas::events::{ClusterConfigured, LogDurabilityDeclared};
use daybook_schemas::job::{JobState, ResourceRequest};
use daybook_schemas::node::PartitionDefinition;
use daybook_schemas::{Commit, JobId, NodeName, RunId, Seq, UtcMicros};
use imbl::{OrdMap, OrdSet};

use crate::array::ArrayState;
use crate::job::Job;
use crate::node::Node;
use crate::run::Run;

/// The order in which jobs are looked at: partition tier, then priority (both highest first), then eligibility,
/// then job id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PendingKey {
    /// The partition's `PriorityTier`.
    pub tier: Reverse<u32>,
    /// The job's priority.
    pub priority: Reverse<u32>,
    /// Since which commit it could have started.
    pub eligible: Seq,
    /// The record.
    pub job: JobId,
    /// Which of the partitions that it may start in, from 0 in its order.
    pub place: u32,
}

/// The nodes of each planned start of a record.
pub(crate) type PlannedNodes = Arc<[Arc<[NodeName]>]>;

/// The whole state at one position of the state stream.
///
/// `jobs`, `runs`, `nodes`, `arrays`, `reservations` and `rooms` are the state; the other maps are indexes over them that the reducer keeps
/// (and [`Cluster::sanity_check`] derives again and compares).
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    pub(crate) position: Seq,
    pub(crate) time: UtcMicros,
    pub(crate) configured: Option<Arc<ClusterConfigured>>,
    /// Partitions by name, from `configured`.
    pub(crate) partitions: OrdMap<Arc<str>, Arc<PartitionDefinition>>,
    pub(crate) nodes: OrdMap<NodeName, Arc<Node>>,
    pub(crate) jobs: OrdMap<JobId, Arc<Job>>,
    pub(crate) runs: OrdMap<RunId, Arc<Run>>,
    pub(crate) arrays: OrdMap<JobId, Arc<ArrayState>>,
    pub(crate) reservations: OrdMap<Arc<str>, Arc<crate::reservation::Reservation>>,
    /// What runs make for waiting records.
    pub(crate) rooms: OrdMap<JobId, crate::room::Room>,
    pub(crate) next_job_id: u32,
    /// Last commit of the subject `jobs` and of `plan`.
    pub(crate) jobs_seq: Seq,
    pub(crate) plan_seq: Seq,
    /// Expected starts of the last planning cycle.
    pub(crate) expected_starts: OrdMap<JobId, UtcMicros>,
    /// The nodes that it keeps something of for them, for each start.
    pub(crate) planned_nodes: OrdMap<JobId, PlannedNodes>,
    /// `now` of the last recorded planning cycle.
    pub(crate) last_cycle: Option<UtcMicros>,
    /// Allocations that were void when they came.
    pub(crate) void_allocations: u64,
    /// What the log's acknowledgements mean, as declared last.
    pub(crate) durability: Option<Arc<LogDurabilityDeclared>>,
    /// How long earlier runs took.
    pub(crate) run_times: crate::run_times::AllRunTimes,
    /// Which requests for GPUs usually come.
    pub(crate) usual_requests: crate::usual::UsualRequests,
    /// What has happened, counted.
    pub(crate) totals: crate::totals::Totals,
    /// Who may use the cluster.
    pub(crate) accounts: crate::accounts::Accounts,
    /// Usage, ranks and what else priorities are made of.
    pub(crate) priorities: crate::priority::Priorities,
    /// What is known of requests as long as configuration and nodes stay; no part of the state.
    pub(crate) judgements: Arc<crate::judgement::Kept<crate::Judgement>>,
    pub(crate) possible: Arc<crate::judgement::Kept<bool>>,

    // Indexes.
    /// What factors of priorities are parts of, from `configured`.
    pub(crate) scale: crate::priority::Scale,
    pub(crate) ready: OrdSet<PendingKey>,
    pub(crate) ready_kinds: crate::ready::ReadyKinds,
    pub(crate) delayed: OrdSet<(UtcMicros, JobId)>,
    pub(crate) ended: OrdSet<(UtcMicros, JobId)>,
    pub(crate) dependents: OrdMap<JobId, OrdSet<JobId>>,
    pub(crate) active_names: OrdMap<(u32, Arc<str>), OrdSet<JobId>>,
    pub(crate) singletons: OrdMap<(u32, Arc<str>), OrdSet<JobId>>,
    pub(crate) hopeless: OrdSet<JobId>,
    pub(crate) deadlines: OrdSet<(UtcMicros, JobId)>,
    /// Of each partition the ready jobs that are recorded to wait for resources or licences.
    pub(crate) blocked: OrdMap<Arc<str>, OrdSet<PendingKey>>,
    /// Jobs that do not gain priority by age yet; and whether some may begin by what the present commit has changed.
    pub(crate) waiting_for_age: crate::accrual::WaitingForAge,
    pub(crate) accrual_is_stale: bool,
    /// Who has what waiting and running.
    pub(crate) charges: crate::charges::Charges,
    /// Which runs hold licences, and how many in all.
    pub(crate) licenses: crate::license::LicensesHeld,
    /// Runs that have given their CPUs back.
    pub(crate) stopped: OrdSet<RunId>,
    pub(crate) reservation_jobs: crate::reservation::ReservationJobs,
    /// One copy of each request that a record has, with the number of its records.
    pub(crate) requests: OrdMap<Arc<ResourceRequest>, u32>,
}

impl Cluster {
    /// The state before the first commit.
    pub fn new() -> Cluster {
        Cluster { next_job_id: 1, ..Cluster::default() }
    }

    /// Folds the next commit; the one reducer. `Err` names a commit that is no valid successor of this state.
    pub fn apply(&mut self, commit: &Commit) -> Result<(), String> {
        crate::reducer::apply(self, commit)
    }

    /// The last commit folded.
    pub fn position(&self) -> Seq {
        self.position
    }

    /// The log's time of that commit.
    pub fn time(&self) -> UtcMicros {
        self.time
    }

    /// The configuration in force; `None` before the first `cluster.configured`.
    pub fn configured(&self) -> Option<&Arc<ClusterConfigured>> {
        self.configured.as_ref()
    }

    /// Whether this configuration is what is in force, without any partition changed since.
    pub fn is_in_force(&self, configuration: &ClusterConfigured) -> bool {
        self.configured.as_ref().is_some_and(|in_force| {
            in_force.config_hash == configuration.config_hash
                && in_force.partitions == configuration.partitions
        })
    }

    /// A partition.
    pub fn partition(&self, name: &str) -> Option<&Arc<PartitionDefinition>> {
        self.partitions.get(name)
    }

    /// Accounts, users, associations and qualities of service.
    pub fn accounts(&self) -> &crate::accounts::Accounts {
        &self.accounts
    }

    /// Nodes by name.
    pub fn nodes(&self) -> &OrdMap<NodeName, Arc<Node>> {
        &self.nodes
    }

    /// Job records by id: waiting, running, and ended less than `MinJobAge` ago.
    pub fn jobs(&self) -> &OrdMap<JobId, Arc<Job>> {
        &self.jobs
    }

    /// Runs that hold something, by id.
    pub fn runs(&self) -> &OrdMap<RunId, Arc<Run>> {
        &self.runs
    }

    /// Arrays of which a record is in memory, by id.
    pub fn arrays(&self) -> &OrdMap<JobId, Arc<ArrayState>> {
        &self.arrays
    }

    /// Jobs that nothing but priority, resources and policy keeps from starting, in the order to look at them.
    /// Those with a begin time that has not come by the last commit are in [`Cluster::delayed`] instead.
    pub fn ready(&self) -> &OrdSet<PendingKey> {
        &self.ready
    }

    /// Ready but for their begin time, soonest first.
    pub fn delayed(&self) -> &OrdSet<(UtcMicros, JobId)> {
        &self.delayed
    }

    /// Waiting jobs that have a deadline, by the last instant at which they can start, soonest first.
    pub fn deadlines(&self) -> &OrdSet<(UtcMicros, JobId)> {
        &self.deadlines
    }

    /// Waiting jobs whose dependencies can never hold and that are to be cancelled then.
    pub fn hopeless(&self) -> &OrdSet<JobId> {
        &self.hopeless
    }

    /// How many of the records in memory are over and released.
    pub fn ended_count(&self) -> usize {
        self.ended.len()
    }

    /// The records of a user that have not ended, by name.
    pub fn active_of(&self, uid: u32) -> impl Iterator<Item = &Arc<Job>> {
        let from = (uid, Arc::from(""));
        let named = self.active_names.range(from..).take_while(move |((of, _), _)| *of == uid);
        named.flat_map(|(_, ids)| ids).filter_map(|id| self.jobs.get(id))
    }

    /// The id that the next job gets.
    pub fn next_job_id(&self) -> JobId {
        JobId(self.next_job_id)
    }

    /// The last commit of the subject `jobs`: what a gateway expects when it appends.
    pub fn jobs_seq(&self) -> Seq {
        self.jobs_seq
    }

    /// The last commit of the subject `plan`: what the planner expects when it appends.
    pub fn plan_seq(&self) -> Seq {
        self.plan_seq
    }

    /// When the last recorded planning cycle expects a waiting job to start.
    pub fn expected_start(&self, job: JobId) -> Option<UtcMicros> {
        self.expected_starts.get(&job).copied()
    }

    /// Expected starts of the last recorded planning cycle.
    pub fn expected_starts(&self) -> &OrdMap<JobId, UtcMicros> {
        &self.expected_starts
    }

    /// The nodes that the last recorded planning cycle keeps something of for jobs that start later.
    pub fn planned_nodes(&self) -> BTreeSet<&NodeName> {
        self.planned_nodes.values().flat_map(|starts| starts.iter()).flat_map(|nodes| nodes.iter()).collect()
    }

    /// Those that it keeps something of for each planned start of a job; of an array there may be several.
    pub fn nodes_planned_for(&self, job: JobId) -> &[Arc<[NodeName]>] {
        self.planned_nodes.get(&job).map_or(&[], |starts| &starts[..])
    }

    /// `now` of the last recorded planning cycle.
    pub fn last_cycle(&self) -> Option<UtcMicros> {
        self.last_cycle
    }

    /// What the log's acknowledgements mean, as declared last.
    pub fn durability(&self) -> Option<&Arc<LogDurabilityDeclared>> {
        self.durability.as_ref()
    }

    /// How many allocations were void when they came.
    pub fn void_allocations(&self) -> u64 {
        self.void_allocations
    }

    /// The state that squeue shows: `Completing` while a run that has ended still holds something.
    pub fn shown_state(&self, job: &Job) -> JobState {
        match job.run.and_then(|run| self.runs.get(&run)) {
            Some(run) if run.end.is_some() => JobState::Completing,
            _ => job.state,
        }
    }

    /// Whether a run that has ended still holds something on this node, and somebody waits for it.
    pub fn is_completing(&self, node: &Node) -> bool {
        node.runs.iter().any(|run| self.runs.get(run).is_some_and(|run| run.end.is_some()))
    }

    /// The place of a waiting record in the queue; of one that may start in several partitions, the first.
    pub fn pending_key(&self, job: &Job) -> PendingKey {
        self.pending_keys(job).min().unwrap_or_else(|| self.pending_key_in(job, 0))
    }

    /// Its places in the queue: one for each partition that it may start in, in its order.
    pub fn pending_keys<'a>(&'a self, job: &'a Job) -> impl Iterator<Item = PendingKey> + 'a {
        (0u32..).zip(job.partitions()).map(move |(place, _)| self.pending_key_in(job, place))
    }

    /// Its place in the queue for the `place`-th partition that it may start in.
    pub fn pending_key_in(&self, job: &Job, place: u32) -> PendingKey {
        let name = job.partitions().get(place as usize);
        let tier = name.and_then(|name| self.partitions.get(name)).map_or(0, |found| found.priority_tier);
        PendingKey {
            tier: Reverse(tier),
            priority: Reverse(job.priority),
            eligible: job.eligible_seq.unwrap_or(job.submitted_seq),
            job: job.id,
            place,
        }
    }
}

impl daybook_schemas::Fold for Cluster {
    fn position(&self) -> Seq {
        self.position
    }

    fn apply(&mut self, commit: &Commit) -> Result<(), String> {
        Cluster::apply(self, commit)
    }
}
