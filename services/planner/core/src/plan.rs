//! One cycle: the parent of the pure core.

mod reserved;

use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use daybook_model::fit::{Demand, Share, Site, partition_size_limit, place};
use daybook_model::{Cluster, Job, Judgement, PendingKey};
use daybook_schemas::events::{ArrayTaskId, CycleBound, JobFinished, PlannedStart, ReasonChange};
use daybook_schemas::grammar::hostlist;
use daybook_schemas::job::{JobState, Reason, TimeLimit};
use daybook_schemas::node::{ClusterParameters, PartitionState};
use daybook_schemas::{NodeName, RunId, UtcMicros};

use crate::cycle::{Cycle, Start};
use crate::explain::watch::Watch;
use crate::ground::Ground;
use crate::kinds::{FOR_EVER, Kind, Kinds, Variant};
use crate::licenses::Licenses;
use crate::policy::{Order, Policy};
use crate::promises::Promises;
use crate::queue::{Heads, candidates, weighted};
use crate::releases::{Releases, Wanted};
use crate::reservations::{Access, Reservations, is_outside};

/// Decides what starts now, what waits and why, and what is protected.
///
/// Pure: the same cluster, instant and policy give the same bytes on every machine. Its work is bounded by the
/// policy's counts. `now` should not be before the cluster's time; it is an input like any other.
pub fn plan(cluster: &Cluster, now: UtcMicros, policy: &Policy) -> Cycle {
    decide(cluster, now, policy, None)
}

/// The same; with a watch on a job only up to that job.
pub(crate) fn decide(cluster: &Cluster, now: UtcMicros, policy: &Policy, watch: Option<&mut Watch>) -> Cycle {
    let has_more_to_finish = cluster.hopeless().len() > policy.finished_max as usize;
    let mut cycle = Cycle {
        input: cluster.position(),
        now,
        policy_hash: policy.hash(),
        starts: Vec::new(),
        reasons: Vec::new(),
        reservations: Vec::new(),
        finished: hopeless(cluster, policy),
        jobs_considered: 0,
        bound: has_more_to_finish.then_some(CycleBound::Finished),
        steps: 0,
        wake: None,
        fragmentation: None,
        decision_hash: String::new(),
    };
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
            later: Vec::new(),
            cycle: &mut cycle,
            watch,
        };
        planning.walk_the_queue();
        planning.cycle.wake = planning.cycle.wake.into_iter().chain(planning.reservations.wake()).min();
        let (steps, fragmentation) = (planning.ground.steps(), planning.ground.fragmentation());
        (cycle.steps, cycle.fragmentation) = (steps, fragmentation);
    }
    cycle.seal()
}

/// Jobs that asked to be cancelled when their dependencies can never hold.
fn hopeless(cluster: &Cluster, policy: &Policy) -> Vec<JobFinished> {
    let jobs = cluster.hopeless().iter().take(policy.finished_max as usize);
    jobs.map(|job| JobFinished {
        job: *job,
        state: JobState::Cancelled,
        reason: Reason::DependencyNeverSatisfied,
    })
    .collect()
}

pub(crate) struct Planning<'a, 'c> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) parameters: &'a ClusterParameters,
    now: UtcMicros,
    policy: &'a Policy,
    pub(crate) ground: Ground<'a>,
    pub(crate) kinds: Kinds<'a>,
    pub(crate) licenses: Licenses<'a>,
    releases: Releases<'a>,
    promises: Promises,
    pub(crate) reservations: Reservations<'a>,
    /// Jobs that only a reservation kept from starting so far, by line.
    kept_back: BTreeMap<usize, u32>,
    /// Jobs blocked so far, by line: of a partition, in one reservation or outside.
    pub(crate) blocked: BTreeMap<usize, u32>,
    /// Jobs that are tried behind those of the queue's order: the shortest first.
    later: Vec<(Reverse<u32>, u64, PendingKey)>,
    pub(crate) cycle: &'c mut Cycle,
    /// The one job that the cycle is for, where it only explains.
    pub(crate) watch: Option<&'c mut Watch>,
}

impl<'a> Planning<'a, '_> {
    fn walk_the_queue(&mut self) {
        let cluster = self.cluster;
        let jobs_max = self.policy.jobs_max as usize;
        match self.policy.weights {
            None if self.policy.order == Order::Queue && !self.reservations.has_magnet() => {
                return self.walk_kinds();
            }
            None => self.walk(candidates(cluster, self.now, jobs_max)),
            Some(weights) => {
                let found = candidates(cluster, self.now, jobs_max);
                let ground = &mut self.ground;
                let cpus = |partition: &'a _| {
                    ground.field_number(cluster, partition).map_or(0, |at| ground.cpus_of(at))
                };
                let keys = weighted(cluster, found, self.now, jobs_max, &weights, cpus);
                self.walk(keys.into_iter());
            }
        }
        let mut later = std::mem::take(&mut self.later);
        later.sort_unstable();
        for (.., key) in later {
            if self.must_stop() {
                break;
            }
            if let Some(job) = cluster.jobs().get(&key.job) {
                self.consider(job);
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
            let Some(job) = cluster.jobs().get(&key.job) else { continue };
            self.cycle.jobs_considered += 1;
            let before = self.decided(job);
            self.consider(job);
            let Some(kind) = kind else { continue };
            if !self.is_settled(job, before) {
                heads.go_on(kind, key);
            } else if let Some(watched) = self.watched_of(kind).filter(|watched| *watched > key) {
                heads.go_to(kind, watched);
            }
        }
    }

    /// How much has been decided, and how many jobs of this one's partition are blocked.
    fn decided(&mut self, job: &'a Job) -> ([usize; 3], u32) {
        let field = self.ground.field_number(self.cluster, &job.partition);
        let blocked = field.and_then(|field| self.blocked.get(&field)).copied().unwrap_or(0);
        let cycle = &self.cycle;
        ([cycle.starts.len(), cycle.reasons.len(), cycle.reservations.len()], blocked)
    }

    /// Whether this job's consideration would be that of all others of its kind behind it: nothing was decided, and it
    /// was refused, or waits behind those that are protected. Behind one that waits for few switches others may have
    /// given that up.
    fn is_settled(&mut self, job: &'a Job, before: ([usize; 3], u32)) -> bool {
        if choosy_until(job, self.parameters).is_some_and(|until| until > self.now) {
            return false;
        }
        let now = self.decided(job);
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
            let Some(job) = cluster.jobs().get(&key.job) else { continue };
            self.cycle.jobs_considered += 1;
            match self.length_that_orders(job) {
                Some(seconds) if self.is_unprotected(job) => self.later.push((key.tier, seconds, key)),
                _ => self.consider(job),
            }
        }
    }

    /// The seconds by which the policy orders a job that is not protected; `None`: it stays where it is in the queue.
    fn length_that_orders(&self, job: &Job) -> Option<u64> {
        match self.policy.order {
            Order::Queue => None,
            Order::Expected => Some(self.cluster.expected_seconds(job).unwrap_or(u64::MAX)),
            Order::Limit => Some(job.time_limit.seconds().unwrap_or(u64::MAX)),
        }
    }

    /// Whether as many jobs of its partition are blocked as get a protected start.
    fn is_unprotected(&mut self, job: &'a Job) -> bool {
        let field = self.ground.field_number(self.cluster, &job.partition);
        let blocked = field.and_then(|field| self.blocked.get(&field));
        blocked.is_some_and(|blocked| *blocked >= self.policy.reservations.max(1))
    }

    /// Whether a bound is reached, or nothing is left that any job could use and enough jobs have been looked at.
    fn must_stop(&mut self) -> bool {
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

    fn meet(&mut self, bound: CycleBound) {
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

    fn consider(&mut self, job: &'a Job) {
        if self.is_watched(job) { self.consider_watched(job) } else { self.decide_on(job) }
    }

    pub(crate) fn decide_on(&mut self, job: &'a Job) {
        let (earlier, access) = match self.reservations.accesses(job) {
            Ok(accesses) => accesses,
            Err(reason) => return self.give_reason(job, reason, ""),
        };
        let number = self.kind_of(job, access);
        let kind = self.kinds.get(number);
        let is_shut = matches!(kind.refused, Some((Reason::PartitionDown | Reason::PartitionInactive, _)));
        // Unlimited is greater than any number of seconds.
        if job.time_limit > kind.time_max && !is_shut {
            return self.give_reason(job, Reason::PartitionTimeLimit, "");
        }
        if let Some((reason, detail)) = kind.refused.clone() {
            return self.give_reason(job, reason, &detail);
        }
        let mut room = self.array_room(job);
        if room == 0 {
            return self.give_reason(job, Reason::JobArrayTaskLimit, "");
        }
        let seconds = self.window(job);
        let is_closed = self.is_closed(kind.line());
        let earlier: Vec<usize> = earlier.into_iter().map(|access| self.kind_of(job, access)).collect();
        let startable = job.tasks_startable();
        let mut tasks = startable.iter().flat_map(|tasks| tasks.iter());
        while !is_closed
            && self.kinds.get(number).refused.is_none()
            && (!self.kinds.get(number).is_blocked(seconds) || self.is_any_open(&earlier, seconds))
        {
            let Some(run) = self.next_run(job, &mut tasks) else { return };
            if room == 0 {
                return self.give_reason(job, Reason::JobArrayTaskLimit, "");
            }
            if self.cycle.starts.len() >= self.policy.starts_max as usize {
                return self.meet(CycleBound::Starts);
            }
            match self.place_first(&earlier, number, seconds) {
                Some((number, shares)) => self.start(job, number, seconds, run, &shares),
                None => self.judge(job, number, seconds),
            }
            room -= 1;
        }
        match self.kinds.get(number).refused.clone() {
            Some((reason, detail)) => self.give_reason(job, reason, &detail),
            None => match self.keeper_of(number, seconds).filter(|_| !is_closed) {
                Some(keeper) => self.wait_for_nodes(job, number, seconds, keeper),
                None => self.wait_its_turn(job, number, seconds),
            },
        }
    }

    /// How long a job may hold what it gets, in seconds.
    pub(crate) fn window(&self, job: &Job) -> i64 {
        let grace = u64::from(self.parameters.over_time_limit_minutes) * 60;
        let limit = job.time_limit.seconds().map(|seconds| seconds.saturating_add(grace));
        limit.map_or(FOR_EVER, |seconds| i64::try_from(seconds).unwrap_or(FOR_EVER))
    }

    pub(crate) fn kind_of(&mut self, job: &'a Job, access: Access) -> usize {
        let is_choosy = choosy_until(job, self.parameters).is_some_and(|until| until > self.now);
        let (cluster, parameters, ground) = (self.cluster, self.parameters, &mut self.ground);
        let (licenses, reservations) = (&mut self.licenses, &self.reservations);
        self.kinds.number(job, Variant { is_choosy, access }, || {
            let field = ground.field_number(cluster, &job.partition);
            let Some(number) = field else {
                return Kind {
                    field,
                    access,
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
            let partition = ground.field(number).definition;
            let mut demand = Demand::new(&job.request, partition, parameters);
            demand.switches_max = job.request.switches.filter(|_| is_choosy).map(|few| few.count);
            let refused = match partition.state {
                PartitionState::Down => Some(Reason::PartitionDown),
                PartitionState::Inactive => Some(Reason::PartitionInactive),
                PartitionState::Up | PartitionState::Drain => {
                    let missing = cluster.missing_license(&job.request).map(|_| Reason::Licenses);
                    partition_size_limit(cluster, partition, &job.request).or(missing)
                }
            };
            Kind {
                field,
                access,
                keeper: None,
                order: reservations.restrict(access, ground.order(number, &demand)),
                demand: Some(demand),
                open: None,
                time_max: partition.max_time,
                licenses: licenses.needs(cluster, &job.request),
                refused: refused.map(|reason| (reason, Arc::from(""))),
                blocked_from: None,
                fits_when_empty: None,
                promised: None,
            }
        })
    }

    /// How many tasks of an array may start; of a plain job, or a task that starts again: without bound.
    fn array_room(&self, job: &Job) -> u64 {
        match &job.tasks_waiting {
            Some(_) => self.cluster.arrays().get(&job.id).map_or(0, |array| array.room()),
            None => u64::MAX,
        }
    }

    /// The next run of a record: a plain job's only one, an array's next waiting task.
    fn next_run(
        &self,
        job: &Job,
        tasks: &mut impl Iterator<Item = u32>,
    ) -> Option<(RunId, Option<ArrayTaskId>)> {
        if job.tasks_waiting.is_none() {
            let run = RunId::new(job.id, job.starts);
            let is_started = self.cycle.starts.last().is_some_and(|start| start.run == run);
            return (!is_started).then_some((run, None));
        }
        let task = tasks.next()?;
        let id = self.cluster.arrays().get(&job.id)?.task_job_id(task)?;
        Some((RunId::new(id, 0), Some(ArrayTaskId { array_job: job.id, task })))
    }

    fn place_now(&mut self, number: usize, seconds: i64) -> Option<Vec<Share>> {
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
            let is_kept = self.reservations.closing(kind.access, site, self.now, until).is_some();
            if is_kept { None } else { self.ground.free_until(site, until, &self.promises) }
        };
        place(kind.demand.as_ref()?, self.ground.terrain(), kind.open.as_ref()?, &free)
    }

    /// When a window from now ends; `None`: never.
    pub(crate) fn end_of(&self, seconds: i64) -> Option<UtcMicros> {
        (seconds != FOR_EVER).then(|| self.now.plus_seconds(seconds))
    }

    fn start(
        &mut self,
        job: &Job,
        number: usize,
        seconds: i64,
        run: (RunId, Option<ArrayTaskId>),
        shares: &[Share],
    ) {
        let Kind { access, licenses, .. } = self.kinds.get(number);
        let until = self.reservations.until(*access, self.end_of(seconds));
        self.licenses.take(licenses, until);
        self.ground.take(shares);
        self.releases.add(until, shares);
        self.promises.charge(&self.ground.sites, shares, until);
        self.cycle.starts.push(Start {
            run: run.0,
            array: run.1,
            nodes: shares.iter().map(|share| self.ground.sites[share.site].run_node(share)).collect(),
            time_limit: job.time_limit,
            partition: job.partition.to_string(),
            reservation: access.number().map(|number| self.reservations.name(number).to_string()),
        });
    }

    /// Why a kind does not fit: what is in use, nodes that are not up, or the request itself.
    fn judge(&mut self, job: &'a Job, number: usize, seconds: i64) {
        self.kinds.get_mut(number).block(seconds);
        if self.kinds.get(number).fits_when_empty.is_some() {
            return;
        }
        let kind = self.kinds.get(number);
        // Whether the answer is kept or not, it counts as a look at each node: the steps are those of a cycle that has
        // to find out.
        self.ground.count_steps(kind.order.len());
        let judgement =
            self.cluster.judgement(&job.partition, &job.request, || self.judge_when_empty(job, number));
        let kind = self.kinds.get_mut(number);
        kind.fits_when_empty = Some(judgement.fits);
        kind.refused = judgement.refused;
    }

    /// Whether a kind fits if nothing runs, and why not. It looks at configuration and nodes alone.
    fn judge_when_empty(&self, job: &Job, number: usize) -> Judgement {
        let kind = self.kinds.get(number);
        let up = |site: usize| self.ground.whole(site).map(Cow::Borrowed);
        let steps = Cell::new(0);
        let place_on = |demand: &Demand<'_>, nodes: &[usize]| {
            place(demand, self.ground.bare_terrain(&steps), nodes, &up)
        };
        // A wish for few switches passes: it is no reason to be refused.
        let demand = kind.demand.clone().map(|demand| Demand { switches_max: None, ..demand });
        let fits = demand.is_some_and(|demand| match demand.is_of_one_node() {
            true => kind.order.iter().any(|site| place_on(&demand, &[*site]).is_some()),
            false => place_on(&demand, &kind.order).is_some(),
        });
        let refused = if fits {
            None
        } else if self.cluster.is_possible(&job.partition, &job.request) {
            let names = self.unavailable(job, number);
            let is_of_reservation = names.is_empty() && self.kinds.get(number).access != Access::OUTSIDE;
            let names = hostlist::compress(names.iter().map(|name| name.as_str()));
            // Its reservation's nodes are all there, and too few or too small.
            Some(match is_of_reservation {
                true => (Reason::Reservation, Arc::from("")),
                false => (Reason::ReqNodeNotAvail, Arc::from(format!("UnavailableNodes:{names}"))),
            })
        } else {
            Some((Reason::BadConstraints, Arc::from("")))
        };
        Judgement { fits, refused }
    }

    /// The nodes that are not up (or whose GPUs are not all there) and that the job could use.
    pub(crate) fn unavailable(&self, job: &Job, number: usize) -> Vec<&'a NodeName> {
        let kind = self.kinds.get(number);
        let required = &job.request.nodes_required;
        let names = kind.order.iter().map(|site| &self.ground.sites[*site]).filter_map(|site| {
            let name = &site.node.definition.name;
            let is_named = required.is_empty() || required.binary_search(name).is_ok();
            let unbroken = Site::unbroken(site.node);
            let is_less = !site.node.is_schedulable() || unbroken.gpus.len() > site.gpus.len();
            let could_help = kind
                .demand
                .as_ref()
                .is_some_and(|demand| unbroken.tasks_max(&unbroken.whole(), demand).is_some());
            (is_named && is_less && could_help).then_some(name)
        });
        names.collect()
    }

    /// A blocked job: the first K of a partition get a protected start.
    fn wait_its_turn(&mut self, job: &'a Job, number: usize, seconds: i64) {
        let kind = self.kinds.get(number);
        let Some(line) = kind.line() else { return };
        if kind.demand.as_ref().is_some_and(|demand| demand.switches_max.is_some()) {
            let until = choosy_until(job, self.parameters);
            self.cycle.wake = self.cycle.wake.into_iter().chain(until).min();
        }
        let before = self.blocked.entry(line).or_insert(0);
        let position = *before;
        *before = before.saturating_add(1);
        if self.licenses.shortage(&self.kinds.get(number).licenses).is_some() {
            self.give_reason(job, Reason::Licenses, "");
        } else if position == 0 {
            self.give_reason(job, Reason::Resources, "");
        } else if job.reason != Reason::None {
            // A job of which nothing is recorded is understood to wait behind others.
            self.give_reason(job, Reason::Priority, "");
        }
        if self.may_protect(position) {
            self.reserve(job, number, seconds);
        }
    }

    /// Whether the job at this place of its line gets a protected start.
    fn may_protect(&self, position: u32) -> bool {
        self.policy.backfill
            && position < self.policy.reservations
            && self.promises.count() < self.policy.reservations_max as usize
    }

    fn reserve(&mut self, job: &Job, number: usize, seconds: i64) {
        let kind = self.kinds.get(number);
        let Some(demand) = &kind.demand else { return };
        let seconds = (seconds != FOR_EVER).then_some(seconds);
        if !kind.licenses.is_empty() {
            self.ground.count_steps(self.licenses.fill(self.cluster, self.now));
        }
        let (releases, promises, licenses) = (&mut self.releases, &mut self.promises, &self.licenses);
        let mut earliest = |wanted: &Wanted<'_>| {
            releases.earliest(self.cluster, &self.ground, self.now, promises, licenses, wanted)
        };
        let wanted = Wanted {
            demand,
            licenses: &kind.licenses,
            order: &kind.order,
            seconds,
            from: None,
            not_before: kind.not_before(seconds.unwrap_or(FOR_EVER)),
            reservations: &self.reservations,
            access: kind.access,
        };
        let mut found = earliest(&wanted);
        if demand.switches_max.is_some() && !demand.is_of_one_node() {
            let demand = Demand { switches_max: None, ..demand.clone() };
            let from = choosy_until(job, self.parameters);
            let wanted = Wanted { demand: &demand, from, ..wanted };
            let any = earliest(&wanted);
            found = match (found, any) {
                (Some(few), Some(any)) if any.start < few.start => Some(any),
                (few, any) => few.or(any),
            };
        }
        let Some(found) = found else { return };
        self.licenses.keep(&kind.licenses, found.start, found.end);
        let names = found.parts.iter().map(|part| &self.ground.sites[part.site].node.definition.name);
        let start = found.start;
        self.cycle.reservations.push(PlannedStart { job: job.id, start, nodes: names.cloned().collect() });
        self.promises.keep(found);
        self.kinds.get_mut(number).note_promise(seconds, start);
    }

    fn give_reason(&mut self, job: &'a Job, reason: Reason, detail: &str) {
        self.note_reason(job, reason);
        if job.reason == reason && job.reason_detail.as_ref() == detail {
            return;
        }
        if self.cycle.reasons.len() >= self.policy.reasons_max as usize {
            return self.meet(CycleBound::Reasons);
        }
        let figures = self.figures_of(job, reason);
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
