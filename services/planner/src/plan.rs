//! One cycle: the parent of the pure core.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use daybook_model::fit::{Demand, Share, Site, could_ever_start, partition_limit, place};
use daybook_model::{Cluster, Job};
use daybook_schemas::events::{ArrayTaskId, JobFinished, PlannedStart, ReasonChange};
use daybook_schemas::grammar::hostlist;
use daybook_schemas::job::{JobState, Reason, TimeLimit};
use daybook_schemas::node::{ClusterParameters, PartitionState};
use daybook_schemas::{RunId, UtcMicros};

use crate::cycle::{Cycle, Start};
use crate::ground::Ground;
use crate::policy::Policy;
use crate::queue::candidates;
use crate::reserve::{Releases, Reservation, Wanted, charge};
use crate::shape::{Shape, Shapes, Verdict};

/// Decides what starts now, what waits and why, and what is protected.
///
/// Pure: the same cluster, instant and policy give the same bytes on every machine. Its work is bounded by the
/// policy's counts. `now` should not be before the cluster's time; it is an input like any other.
pub fn plan(cluster: &Cluster, now: UtcMicros, policy: &Policy) -> Cycle {
    let mut cycle = Cycle {
        input: cluster.position(),
        now,
        policy_hash: policy.hash(),
        starts: Vec::new(),
        reasons: Vec::new(),
        reservations: Vec::new(),
        finished: hopeless(cluster, policy),
        jobs_considered: 0,
        bounded: cluster.hopeless().len() > policy.finished_max as usize,
        decision_hash: String::new(),
    };
    if let Some(configured) = cluster.configured() {
        let mut planning = Planning {
            cluster,
            parameters: &configured.parameters,
            now,
            policy,
            ground: Ground::new(cluster),
            shapes: Shapes::default(),
            releases: Releases::default(),
            reservations: Vec::new(),
            blocked: BTreeMap::new(),
            cycle: &mut cycle,
        };
        planning.walk_the_queue();
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

struct Planning<'a, 'c> {
    cluster: &'a Cluster,
    parameters: &'a ClusterParameters,
    now: UtcMicros,
    policy: &'a Policy,
    ground: Ground<'a>,
    shapes: Shapes<'a>,
    releases: Releases,
    reservations: Vec<Reservation>,
    /// Jobs blocked so far, by partition.
    blocked: BTreeMap<usize, u32>,
    cycle: &'c mut Cycle,
}

impl<'a> Planning<'a, '_> {
    fn walk_the_queue(&mut self) {
        let cluster = self.cluster;
        for key in candidates(cluster, self.now, self.policy.jobs_max as usize) {
            if self.must_stop() {
                self.cycle.bounded = true;
                break;
            }
            let Some(job) = cluster.jobs().get(&key.job) else { continue };
            self.cycle.jobs_considered += 1;
            self.consider(job);
        }
    }

    /// Whether a bound is reached, or nothing is left that any job could use and enough jobs have been looked at.
    fn must_stop(&self) -> bool {
        let considered = self.cycle.jobs_considered;
        considered >= self.policy.jobs_max
            || self.cycle.starts.len() >= self.policy.starts_max as usize
            || self.ground.cpus_free == 0 && considered >= self.policy.considered_min
    }

    fn consider(&mut self, job: &'a Job) {
        let number = self.shape_of(job);
        if let Verdict::Refused(reason, detail) = self.shapes.get(number).verdict.clone() {
            self.give_reason(job, reason, &detail);
            return;
        }
        let mut room = self.array_room(job);
        if room == 0 {
            self.give_reason(job, Reason::JobArrayTaskLimit, "");
            return;
        }
        let mut tasks = job.tasks_waiting.iter().flat_map(|tasks| tasks.iter());
        while self.shapes.get(number).verdict == Verdict::Open {
            let Some(run) = self.next_run(job, &mut tasks) else { return };
            if room == 0 {
                self.give_reason(job, Reason::JobArrayTaskLimit, "");
                return;
            }
            if self.cycle.starts.len() >= self.policy.starts_max as usize {
                self.cycle.bounded = true;
                return;
            }
            match self.place_now(number) {
                Some(shares) => self.start(job, number, run, &shares),
                None => self.judge(job, number),
            }
            room -= 1;
        }
        match self.shapes.get(number).verdict.clone() {
            Verdict::Refused(reason, detail) => self.give_reason(job, reason, &detail),
            _ => self.wait_its_turn(job, number),
        }
    }

    fn shape_of(&mut self, job: &'a Job) -> usize {
        let (cluster, parameters, ground) = (self.cluster, self.parameters, &mut self.ground);
        self.shapes.number(job, || {
            let field = ground.field_number(cluster, &job.partition);
            let seconds = match job.time_limit {
                TimeLimit::Minutes(minutes) => {
                    Some((i64::from(minutes) + i64::from(parameters.over_time_limit_minutes)) * 60)
                }
                TimeLimit::Unlimited => None,
            };
            let Some(number) = field else {
                let verdict = Verdict::Refused(Reason::PartitionConfig, Rc::from(""));
                return Shape { field, demand: None, seconds, order: Rc::from([]), verdict };
            };
            let partition = ground.field(number).definition;
            let demand = Demand::new(&job.request, partition, parameters);
            let refused = match partition.state {
                PartitionState::Down => Some(Reason::PartitionDown),
                PartitionState::Inactive => Some(Reason::PartitionInactive),
                PartitionState::Up | PartitionState::Drain => {
                    partition_limit(cluster, partition, &job.request, job.time_limit)
                }
            };
            let verdict = refused.map_or(Verdict::Open, |reason| Verdict::Refused(reason, Rc::from("")));
            Shape { field, order: ground.order(number, &demand), demand: Some(demand), seconds, verdict }
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

    fn place_now(&self, number: usize) -> Option<Vec<Share>> {
        let shape = self.shapes.get(number);
        let demand = shape.demand.as_ref()?;
        if demand.cpus_per_task > self.ground.cpus_free_most() {
            return None;
        }
        let until = shape.seconds.map(|seconds| self.now.plus_seconds(seconds));
        let free = |site: usize| self.ground.free_until(site, until, &self.reservations);
        place(demand, &self.ground.sites, &shape.order, &free)
    }

    fn start(&mut self, job: &Job, number: usize, run: (RunId, Option<ArrayTaskId>), shares: &[Share]) {
        let until = self.shapes.get(number).seconds.map(|seconds| self.now.plus_seconds(seconds));
        self.ground.take(shares);
        self.releases.add(until, shares);
        charge(&mut self.reservations, shares, None, until);
        self.cycle.starts.push(Start {
            run: run.0,
            array: run.1,
            nodes: shares.iter().map(|share| self.ground.sites[share.site].run_node(share)).collect(),
            time_limit: job.time_limit,
            partition: job.partition.to_string(),
        });
    }

    /// Why a shape does not fit: what is in use, nodes that are not up, or the request itself.
    fn judge(&mut self, job: &'a Job, number: usize) {
        let fits_when_empty = match self.shapes.fits_when_empty(job) {
            Some(known) => known,
            None => {
                let shape = self.shapes.get(number);
                let up = |site: usize| self.ground.whole(site).map(Cow::Borrowed);
                let sites = &self.ground.sites;
                let fits = shape
                    .demand
                    .as_ref()
                    .is_some_and(|demand| place(demand, sites, &shape.order, &up).is_some());
                self.shapes.note_fits_when_empty(job, fits);
                fits
            }
        };
        let verdict = if fits_when_empty {
            Verdict::Blocked
        } else if could_ever_start(self.cluster, &job.partition, &job.request).is_ok() {
            Verdict::Refused(Reason::ReqNodeNotAvail, self.unavailable(job, number).into())
        } else {
            Verdict::Refused(Reason::BadConstraints, Rc::from(""))
        };
        self.shapes.set_verdict(number, verdict);
    }

    /// The nodes that are not up (or whose GPUs are not all there) and that the job could use, as Slurm names them.
    fn unavailable(&self, job: &Job, number: usize) -> String {
        let shape = self.shapes.get(number);
        let required = &job.request.nodes_required;
        let names = shape.order.iter().map(|site| &self.ground.sites[*site]).filter_map(|site| {
            let name = &site.node.definition.name;
            let is_named = required.is_empty() || required.binary_search(name).is_ok();
            let unbroken = Site::unbroken(site.node);
            let is_less = !site.node.is_schedulable() || unbroken.gpus.len() > site.gpus.len();
            let could_help = shape
                .demand
                .as_ref()
                .is_some_and(|demand| unbroken.tasks_max(&unbroken.whole(), demand).is_some());
            (is_named && is_less && could_help).then(|| name.as_str())
        });
        format!("UnavailableNodes:{}", hostlist::compress(names))
    }

    /// A blocked job: the first K of a partition get a protected start.
    fn wait_its_turn(&mut self, job: &'a Job, number: usize) {
        let Some(field) = self.shapes.get(number).field else { return };
        let before = self.blocked.entry(field).or_insert(0);
        let position = *before;
        *before = before.saturating_add(1);
        if position == 0 {
            self.give_reason(job, Reason::Resources, "");
        } else if job.reason != Reason::None {
            // A job of which nothing is recorded is understood to wait behind others.
            self.give_reason(job, Reason::Priority, "");
        }
        if position < self.policy.reservations
            && self.reservations.len() < self.policy.reservations_max as usize
        {
            self.reserve(job, number);
        }
    }

    fn reserve(&mut self, job: &Job, number: usize) {
        let shape = self.shapes.get(number);
        let Some(demand) = &shape.demand else { return };
        let wanted = Wanted { demand, order: &shape.order, seconds: shape.seconds };
        let found = self.releases.earliest(self.cluster, &self.ground, self.now, &self.reservations, &wanted);
        let Some(reservation) = found else { return };
        charge(&mut self.reservations, &reservation.shares, Some(reservation.start), reservation.end);
        let names =
            reservation.shares.iter().map(|share| &self.ground.sites[share.site].node.definition.name);
        self.cycle.reservations.push(PlannedStart {
            job: job.id,
            start: reservation.start,
            nodes: names.cloned().collect(),
        });
        self.reservations.push(reservation);
    }

    fn give_reason(&mut self, job: &Job, reason: Reason, detail: &str) {
        if job.reason == reason && job.reason_detail.as_ref() == detail {
            return;
        }
        if self.cycle.reasons.len() >= self.policy.reasons_max as usize {
            self.cycle.bounded = true;
            return;
        }
        self.cycle.reasons.push(ReasonChange { job: job.id, reason, detail: detail.to_string() });
    }
}
