//! One cycle: the parent of the pure core.

mod reserved;
mod turns;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use daybook_model::fit::{Demand, Share, admission_refusal, partition_size_limit, place};
use daybook_model::{Charges, Cluster, Job, Lifted, PendingKey};
use daybook_schemas::events::{ArrayTaskId, CycleBound, LimitFigures, ReasonChange};
use daybook_schemas::job::{Reason, TimeLimit};
use daybook_schemas::node::{ClusterParameters, PartitionState};
use daybook_schemas::{JobId, RunId, UtcMicros};

use crate::cycle::{Cycle, Start};
use crate::endings::{end_used_up, ended_unstarted, next_deadline};
use crate::explain::watch::Watch;
use crate::ground::Ground;
use crate::kinds::{FOR_EVER, Kind, Kinds, Variant};
use crate::licenses::Licenses;
use crate::policy::{Order, Policy};
use crate::preemption::{Preempting, room_order};
use crate::promises::Promises;
use crate::queue::{Heads, Turn, candidates, weighted};
use crate::releases::Releases;
use crate::reservations::{Access, Reservations, is_outside};
use crate::resuming::Resuming;
use crate::several::Several;

/// Decides what starts now, what waits and why, and what is protected.
///
/// Pure: the same cluster, instant and policy give the same bytes on every machine. Its work is bounded by the
/// policy's counts. `now` should not be before the cluster's time; it is an input like any other.
pub fn plan(cluster: &Cluster, now: UtcMicros, policy: &Policy) -> Cycle {
    decide(cluster, now, policy, None)
}

/// The same; with a watch on a job only up to that job.
pub(crate) fn decide(cluster: &Cluster, now: UtcMicros, policy: &Policy, watch: Option<&mut Watch>) -> Cycle {
    let overdue = cluster.deadlines().iter().take_while(|(latest, _)| *latest < now);
    let has_more_to_finish = overdue.take(policy.finished_max as usize + 1).count()
        + cluster.hopeless().len()
        > policy.finished_max as usize;
    let mut cycle = Cycle {
        input: cluster.position(),
        now,
        policy_hash: policy.hash(),
        starts: Vec::new(),
        reasons: Vec::new(),
        reservations: Vec::new(),
        preemptions: Vec::new(),
        resumes: Vec::new(),
        used_up: Vec::new(),
        finished: ended_unstarted(cluster, now, policy),
        jobs_considered: 0,
        bound: has_more_to_finish.then_some(CycleBound::Finished),
        steps: 0,
        wake: next_deadline(cluster, now),
        fragmentation: None,
        decision_hash: String::new(),
    };
    end_used_up(cluster, &mut cycle, policy);
    if let Some(configured) = cluster.configured() {
        let ground = Ground::new(cluster, policy.steps_max);
        let reservations = Reservations::new(cluster, now, &ground);
        let mut planning = Planning {
            cluster,
            parameters: &configured.parameters,
            now,
            policy,
            promises: Promises::new(ground.sites.len()),
            reservations,
            kept_back: BTreeMap::new(),
            ground,
            kinds: Kinds::default(),
            licenses: Licenses::default(),
            releases: Releases::default(),
            blocked: BTreeMap::new(),
            started_tasks: BTreeMap::new(),
            enforces_limits: cluster.enforces_limits(),
            charges: cluster.charges().clone(),
            limit_met: None,
            later: Vec::new(),
            several: Several::default(),
            preempting: Preempting::default(),
            resuming: Resuming::new(cluster),
            cycle: &mut cycle,
            watch,
        };
        planning.fill_rooms();
        planning.walk_the_queue();
        planning.settle_several();
        planning.resume_all();
        planning.cycle.wake = planning.cycle.wake.into_iter().chain(planning.reservations.wake()).min();
        let (steps, fragmentation) = (planning.ground.steps(), planning.ground.fragmentation());
        (cycle.steps, cycle.fragmentation) = (steps, fragmentation);
    }
    cycle.seal()
}

pub(crate) struct Planning<'a, 'c> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) parameters: &'a ClusterParameters,
    pub(crate) now: UtcMicros,
    pub(crate) policy: &'a Policy,
    pub(crate) ground: Ground<'a>,
    pub(crate) kinds: Kinds<'a>,
    pub(crate) licenses: Licenses<'a>,
    pub(crate) releases: Releases<'a>,
    pub(crate) promises: Promises,
    pub(crate) reservations: Reservations<'a>,
    /// Jobs that only a reservation kept from starting so far, by line.
    kept_back: BTreeMap<usize, u32>,
    /// Jobs blocked so far, by line: of a partition, in one reservation or outside.
    pub(crate) blocked: BTreeMap<usize, u32>,
    /// Tasks of each array that this cycle has started.
    started_tasks: BTreeMap<JobId, u64>,
    pub(crate) enforces_limits: bool,
    /// Who has what waiting and running, with this cycle's starts; empty where no limits are enforced.
    pub(crate) charges: Charges,
    /// Of the last job that a limit kept back.
    pub(crate) limit_met: Option<Arc<LimitFigures>>,
    /// Jobs that are tried behind those of the queue's order: the shortest first.
    later: Vec<(Reverse<u32>, u64, PendingKey)>,
    /// Jobs that may start in several partitions.
    pub(crate) several: Several<'a>,
    /// Runs that give way, and jobs for which they do.
    pub(crate) preempting: Preempting<'a>,
    /// Runs that were suspended for others.
    pub(crate) resuming: Resuming<'a>,
    pub(crate) cycle: &'c mut Cycle,
    /// The one job that the cycle is for, where it only explains.
    pub(crate) watch: Option<&'c mut Watch>,
}

impl<'a> Planning<'a, '_> {
    fn walk_the_queue(&mut self) {
        let cluster = self.cluster;
        let jobs_max = self.policy.jobs_max as usize;
        match &self.policy.weights {
            None if self.policy.order == Order::Queue && !self.reservations.has_magnet() => {
                return self.walk_kinds();
            }
            None => self.walk(candidates(cluster, self.now, jobs_max)),
            Some(weights) => {
                let found = candidates(cluster, self.now, jobs_max);
                let keys = weighted(cluster, found, self.now, jobs_max, weights);
                self.walk(keys.into_iter());
            }
        }
        let mut later = std::mem::take(&mut self.later);
        later.sort_unstable();
        for (.., key) in later {
            if self.must_stop() {
                break;
            }
            if let Some(turn) = Turn::of(cluster, key) {
                self.consider(turn);
            }
        }
    }

    /// Walks the kinds of the queue: of a kind that is blocked, and of which no reason is to be changed, no further
    /// record is looked at.
    fn walk_kinds(&mut self) {
        let cluster = self.cluster;
        let mut heads = Heads::new(cluster, self.now, self.policy.jobs_max as usize);
        while let Some((key, kind)) = heads.take_first() {
            if self.must_stop() {
                break;
            }
            let Some(turn) = Turn::of(cluster, key) else { continue };
            self.cycle.jobs_considered += 1;
            let before = self.decided(turn);
            self.consider(turn);
            let Some(kind) = kind else { continue };
            if !self.is_settled(turn, before) {
                heads.go_on(kind, key);
                continue;
            }
            if turn.has_others() {
                self.several.leave(kind, key, turn);
            }
            if let Some(watched) = self.watched_of(kind).filter(|watched| *watched > key) {
                heads.go_to(kind, watched);
            }
        }
    }

    /// How much has been decided, and how many jobs of this one's partition are blocked.
    fn decided(&mut self, turn: Turn<'a>) -> ([usize; 3], u32) {
        let field = self.ground.field_number(self.cluster, turn.partition);
        let blocked = field.and_then(|field| self.blocked.get(&field)).copied().unwrap_or(0);
        let cycle = &self.cycle;
        ([cycle.starts.len(), cycle.reasons.len(), cycle.reservations.len()], blocked)
    }

    /// Whether this job's consideration would be that of all others of its kind behind it: nothing was decided, and it
    /// was refused, or waits behind those that are protected. Behind one that waits for few switches others may have
    /// given that up.
    fn is_settled(&mut self, turn: Turn<'a>, before: ([usize; 3], u32)) -> bool {
        if choosy_until(turn.job, self.parameters).is_some_and(|until| until > self.now)
            || self.several.has_started(turn.job)
            || self.several.is_postponed(turn.job)
        {
            return false;
        }
        let now = self.decided(turn);
        let are_promises_full = self.promises.count() >= self.policy.reservations_max as usize;
        let protected = if are_promises_full { 1 } else { self.policy.reservations.max(1) };
        now.0 == before.0 && (now.1 == before.1 || now.1 > protected)
    }

    fn walk(&mut self, keys: impl Iterator<Item = PendingKey>) {
        let cluster = self.cluster;
        for key in keys {
            if self.must_stop() {
                break;
            }
            let Some(turn) = Turn::of(cluster, key) else { continue };
            self.cycle.jobs_considered += 1;
            match self.length_that_orders(turn) {
                Some(seconds) if self.is_unprotected(turn) => self.later.push((key.tier, seconds, key)),
                _ => self.consider(turn),
            }
        }
    }

    /// The seconds by which the policy orders a job that is not protected; `None`: it stays where it is in the queue.
    fn length_that_orders(&self, turn: Turn<'_>) -> Option<u64> {
        match self.policy.order {
            Order::Queue => None,
            Order::Expected => Some(self.cluster.expected_seconds(turn.job).unwrap_or(u64::MAX)),
            Order::Limit => Some(self.limit_of(turn).seconds().unwrap_or(u64::MAX)),
        }
    }

    /// Whether as many jobs of its partition are blocked as get a protected start.
    fn is_unprotected(&mut self, turn: Turn<'a>) -> bool {
        let field = self.ground.field_number(self.cluster, turn.partition);
        let blocked = field.and_then(|field| self.blocked.get(&field));
        blocked.is_some_and(|blocked| *blocked >= self.policy.reservations.max(1))
    }

    /// Whether a bound is reached, or nothing is left that any job could use and enough jobs have been looked at.
    pub(crate) fn must_stop(&mut self) -> bool {
        if self.has_seen_enough() {
            return true;
        }
        let considered = self.cycle.jobs_considered;
        let bound = if considered >= self.policy.jobs_max && self.later.is_empty() {
            Some(CycleBound::Jobs)
        } else if self.cycle.starts.len() >= self.policy.starts_max as usize {
            Some(CycleBound::Starts)
        } else if self.ground.is_exhausted() {
            Some(CycleBound::Steps)
        } else {
            None
        };
        if let Some(bound) = bound {
            self.meet(bound);
            return true;
        }
        let nothing_can_start = self.ground.cpus_free == 0 || self.is_all_closed();
        if nothing_can_start && considered >= self.policy.considered_min {
            self.meet(CycleBound::Full);
            return true;
        }
        false
    }

    pub(crate) fn meet(&mut self, bound: CycleBound) {
        self.cycle.bound.get_or_insert(bound);
    }

    /// Whether a blocked job keeps everybody behind it from starting, in every partition.
    fn is_all_closed(&self) -> bool {
        let partitions = self.cluster.configured().map_or(0, |configured| configured.partitions.len());
        let blocked = self.blocked.keys().filter(|line| is_outside(**line));
        !self.policy.backfill && blocked.count() >= partitions
    }

    /// Without backfill: whether a job of the line is blocked.
    pub(crate) fn is_closed(&self, line: Option<usize>) -> bool {
        !self.policy.backfill && line.is_some_and(|line| self.blocked.contains_key(&line))
    }

    pub(crate) fn consider(&mut self, turn: Turn<'a>) {
        self.resume_before(turn);
        if self.is_watched(turn.job) { self.consider_watched(turn) } else { self.decide_on(turn) }
    }

    /// The time limit that a job has in a partition.
    pub(crate) fn limit_of(&self, turn: Turn<'_>) -> TimeLimit {
        self.cluster.time_limit_in(turn.job, turn.partition)
    }

    /// Why the partition is not for the job's account or QOS.
    fn admission_refusal(&self, turn: Turn<'_>) -> Option<(Reason, String)> {
        let partition = self.cluster.partition(turn.partition)?;
        partition.restricts_accounts_or_qos().then_some(())?;
        admission_refusal(partition, &turn.job.account, &turn.job.qos)
    }

    pub(crate) fn kind_of(&mut self, turn: Turn<'a>, access: Access) -> usize {
        let job = turn.job;
        let is_choosy = choosy_until(job, self.parameters).is_some_and(|until| until > self.now);
        let (cluster, parameters, ground) = (self.cluster, self.parameters, &mut self.ground);
        let (licenses, reservations) = (&mut self.licenses, &self.reservations);
        let lifted = if self.enforces_limits { cluster.lifted(&job.qos) } else { Lifted::default() };
        let room = self.preempting.serving();
        self.kinds.number(turn, Variant { is_choosy, access, lifted, room }, || {
            let field = ground.field_number(cluster, turn.partition);
            let Some(number) = field else {
                return Kind {
                    field,
                    access,
                    lifted,
                    keeper: None,
                    demand: None,
                    time_max: TimeLimit::Unlimited,
                    licenses: Vec::new(),
                    order: Rc::from([]),
                    open: None,
                    refused: Some((Reason::PartitionConfig, Arc::from(""))),
                    blocked_from: None,
                    fits_when_empty: None,
                    promised: None,
                };
            };
            let partition = lifted.of(ground.field(number).definition);
            let mut demand = Demand::new(&job.request, &partition, parameters);
            demand.switches_max = job.request.switches.filter(|_| is_choosy).map(|few| few.count);
            let refused = match partition.state {
                PartitionState::Down => Some(Reason::PartitionDown),
                PartitionState::Inactive => Some(Reason::PartitionInactive),
                PartitionState::Up | PartitionState::Drain => {
                    let missing = cluster.missing_license(&job.request).map(|_| Reason::Licenses);
                    partition_size_limit(cluster, &partition, &job.request).or(missing)
                }
            };
            let order = ground.order(number, &demand);
            Kind {
                field,
                access,
                lifted,
                keeper: None,
                order: room_order(cluster, ground, room, reservations.restrict(access, order)),
                demand: Some(demand),
                open: None,
                time_max: partition.max_time,
                licenses: licenses.needs(cluster, &job.request),
                refused: refused.map(|reason| (reason, Arc::from(""))),
                blocked_from: None,
                // Of its own room nothing is to be learnt of the request.
                fits_when_empty: room.map(|_| true),
                promised: None,
            }
        })
    }

    /// How many tasks of an array may start; of a plain job, or a task that starts again: without bound.
    pub(crate) fn array_room(&self, job: &Job) -> u64 {
        let array = match (&job.tasks_waiting, job.task) {
            (Some(_), _) => job.id,
            // A task that left its array's record counts as those in it.
            (None, Some(task)) if job.starts == 0 => task.array_job,
            (None, _) => return u64::MAX,
        };
        let started = self.started_tasks.get(&array).copied().unwrap_or(0);
        self.cluster.arrays().get(&array).map_or(0, |array| array.room().saturating_sub(started))
    }

    /// The next run of a record: a plain job's only one, an array's next waiting task.
    fn next_run(
        &self,
        job: &Job,
        tasks: &mut impl Iterator<Item = u32>,
    ) -> Option<(RunId, Option<ArrayTaskId>)> {
        if job.tasks_waiting.is_none() {
            let run = RunId::new(job.id, job.starts);
            let is_started = self.cycle.starts.last().is_some_and(|start| start.run == run)
                || self.several.has_started(job)
                || self.preempting.has_started(job);
            return (!is_started).then_some((run, job.task.filter(|_| job.starts == 0)));
        }
        let task = tasks.next()?;
        let id = self.cluster.arrays().get(&job.id)?.task_job_id(task)?;
        Some((RunId::new(id, 0), Some(ArrayTaskId { array_job: job.id, task })))
    }

    pub(crate) fn place_now(&mut self, number: usize, seconds: i64) -> Option<Vec<Share>> {
        let until = self.reservations.until(self.kinds.get(number).access, self.end_of(seconds));
        let (kind, ground) = (self.kinds.get_mut(number), &self.ground);
        if !self.licenses.may_take(&kind.licenses, until) {
            return None;
        }
        let demand = kind.demand.as_ref()?;
        if demand.cpus_min() > self.ground.cpus_free
            || demand.gpus_min() > self.ground.gpus_free
            || demand.cpus_per_task > self.ground.cpus_free_most()
        {
            return None;
        }
        let (cpus, gpus) = (demand.cpus_per_task, demand.gpus_per_node.total());
        let open = kind.open.get_or_insert_with(|| kind.order.to_vec());
        open.retain(|site| ground.has(*site, cpus, gpus));
        let kind = self.kinds.get(number);
        let free = |site: usize| {
            let free = || self.ground.free_until(site, until, &self.promises);
            self.reservations.open(kind.access, site, (self.now, until), free)
        };
        place(kind.demand.as_ref()?, self.ground.terrain(), kind.open.as_ref()?, &free)
    }

    /// When a window from now ends; `None`: never.
    pub(crate) fn end_of(&self, seconds: i64) -> Option<UtcMicros> {
        (seconds != FOR_EVER).then(|| self.now.plus_seconds(seconds))
    }

    fn start(
        &mut self,
        turn: Turn<'a>,
        number: usize,
        (time_limit, seconds): (TimeLimit, i64),
        run: (RunId, Option<ArrayTaskId>),
        shares: &[Share],
    ) {
        if let Some(array) = run.1.or(turn.job.task) {
            *self.started_tasks.entry(array.array_job).or_insert(0) += 1;
        }
        let Kind { access, licenses, .. } = self.kinds.get(number);
        let access = *access;
        let until = self.reservations.until(access, self.end_of(seconds));
        self.licenses.take(licenses, until);
        self.ground.take(shares);
        self.releases.add(until, shares);
        self.promises.charge(&self.ground.sites, shares, until);
        let nodes = self.run_nodes(shares);
        let counts = self.counts_of(turn, &nodes);
        let billing = counts.billing;
        let ends = self.limit_end(access, time_limit);
        self.cluster.charge_start(
            &mut self.charges,
            (run.0, turn.job, turn.partition),
            &counts,
            (self.now, ends),
        );
        self.cycle.starts.push(Start {
            run: run.0,
            array: run.1,
            nodes,
            time_limit,
            partition: turn.partition.to_string(),
            reservation: access.number().map(|number| self.reservations.name(number).to_string()),
            billing,
        });
        self.preempting.note_start(turn.job, run.1.map(|task| task.task));
        if turn.has_others() {
            self.several.note_start(turn.job, run.1.map(|task| task.task));
        }
    }

    pub(crate) fn give_reason(&mut self, turn: Turn<'a>, reason: Reason, detail: &str) {
        self.note_reason(turn.job, reason);
        if self.preempting.serving().is_some() {
            return self.preempting.note_said(turn, reason, detail);
        }
        if self.preempting.is_told(turn.job) {
            return;
        }
        match turn.has_others() {
            true => self.several.note_verdict(turn, reason, detail),
            false => self.record_reason(turn, reason, detail),
        }
    }

    /// Records a reason where it is another than the recorded one.
    pub(crate) fn record_reason(&mut self, turn: Turn<'a>, reason: Reason, detail: &str) {
        let job = turn.job;
        if job.reason == reason && job.reason_detail.as_ref() == detail {
            return;
        }
        if self.cycle.reasons.len() >= self.policy.reasons_max as usize {
            return self.meet(CycleBound::Reasons);
        }
        let figures = self.figures_of(turn, reason);
        self.cycle.reasons.push(ReasonChange { job: job.id, reason, detail: detail.to_string(), figures });
    }
}

/// Until when a job waits for few switches; `None`: it has no such wish.
pub(crate) fn choosy_until(job: &Job, parameters: &ClusterParameters) -> Option<UtcMicros> {
    let few = job.request.switches?;
    let wait = i64::try_from(few.wait_within(parameters.switch_wait_max).0).unwrap_or(i64::MAX);
    // Its begin has come, and no commit has said so yet.
    Some(job.eligible.or(job.begin)?.plus_seconds(wait))
}
