//! What keeps a job from starting.

use daybook_model::fit::{Demand, admission_refusal, could_ever_start};
use daybook_model::{Cluster, Hold, Job, Node, condition_notation};
use daybook_schemas::api::{Block, NodeTrouble, OpenCondition, Outlook, Promise, Trouble};
use daybook_schemas::job::{JobState, Reason};
use daybook_schemas::license::License;
use daybook_schemas::node::PartitionDefinition;
use daybook_schemas::reservation::named;
use daybook_schemas::{JobId, NodeName, UtcMicros};

use super::NAMED_MAX;
use super::figures::Sight;
use super::watch::{Met, Watch};
use crate::policy::Policy;

/// What keeps a waiting job out of the line: it is held, depends on others, begins later, or is not yet cleaned up.
pub(super) fn outside_the_line(cluster: &Cluster, now: UtcMicros, job: &Job) -> Option<(Block, Outlook)> {
    if let Some(hold) = job.hold {
        let block = Block::Held {
            by_administrator: hold == Hold::Admin,
            after_failed_launch: job.reason == Reason::LaunchFailedRequeuedHeld,
        };
        return Some((block, Outlook::UntilChanged));
    }
    if !job.dependencies_satisfied() {
        let never = job.dependencies_hopeless();
        let outlook = if never { Outlook::UntilChanged } else { Outlook::NotInLine };
        return Some((dependencies(cluster, job, never), outlook));
    }
    if let Some(at) = job.begin.filter(|begin| *begin > now) {
        return Some((Block::Begin { at }, Outlook::NotInLine));
    }
    let run = job.run.and_then(|run| cluster.runs().get(&run))?;
    let nodes = run.held_on.iter().take(NAMED_MAX).cloned().collect();
    Some((Block::EarlierRun { run: run.id, nodes }, Outlook::NotInLine))
}

fn dependencies(cluster: &Cluster, job: &Job, never: bool) -> Block {
    let open = || job.unfulfilled_conditions();
    let condition = |state: &daybook_model::DependencyState| OpenCondition {
        notation: condition_notation(cluster, state),
        job: state.condition.job,
        state: state.condition.job.and_then(|other| state_of(cluster, other, state.condition.task)),
    };
    Block::Dependencies {
        any: job.dependencies_any,
        never,
        conditions: open().take(NAMED_MAX).map(condition).collect(),
        count: u32::try_from(open().count()).unwrap_or(u32::MAX),
    }
}

/// How a job that a condition looks at stands; of an array with running and waiting tasks: it runs.
fn state_of(cluster: &Cluster, other: JobId, task: Option<u32>) -> Option<JobState> {
    let array = cluster.arrays().get(&other);
    let id = match (array, task) {
        (Some(array), Some(task)) if array.started.contains(task) => array.task_job_id(task)?,
        (Some(array), None) if !array.running.is_empty() => return Some(JobState::Running),
        _ => other,
    };
    cluster.jobs().get(&id).map(|job| cluster.shown_state(job))
}

/// What a job is refused for: it stands in no line, and holds nobody up.
pub(super) fn refusal(
    cluster: &Cluster,
    job: &Job,
    verdict: Reason,
    now: UtcMicros,
    watch: &Watch,
) -> Option<(Block, Outlook)> {
    let name = watch.partition(job);
    let partition = cluster.partition(name);
    let block = match (verdict, partition) {
        (Reason::PartitionDown | Reason::PartitionInactive, partition) => {
            Block::Partition { state: partition.map(|partition| partition.state) }
        }
        (Reason::PartitionConfig, None) => Block::Partition { state: None },
        (Reason::PartitionConfig, Some(partition)) => partition_size(cluster, partition, job),
        (Reason::PartitionTimeLimit, Some(partition)) => {
            Block::TimeLimit { asked: cluster.time_limit_in(job, name), most: partition.max_time }
        }
        (Reason::PartitionNodeLimit, Some(partition)) => node_limit(partition, job),
        (Reason::InvalidAccount | Reason::InvalidQos, Some(partition)) => {
            let why = admission_refusal(partition, &job.account, &job.qos);
            Block::NotPermitted { message: why.map(|(_, why)| why).unwrap_or_default() }
        }
        (Reason::MaxMemPerLimit, Some(partition)) => memory_limit(cluster, partition, job),
        (Reason::Limit(_), _) => {
            let met = watch.met().and_then(|met| met.limit.clone())?;
            return Some((Block::Limit(met), Outlook::NotInLine));
        }
        (Reason::JobArrayTaskLimit, _) => {
            let block = array_tasks(cluster, job)?;
            return Some((block, Outlook::NotInLine));
        }
        (Reason::Licenses, _) => {
            let mut licenses = super::figures::licenses(cluster, job);
            licenses.retain(|license| license.needs > license.in_all);
            if licenses.is_empty() {
                return None;
            }
            Block::NoSuchLicenses { licenses }
        }
        (Reason::Reservation | Reason::ReservationDeleted, _) => {
            return Some((reservation_wanted(cluster, now, job)?, Outlook::NotInLine));
        }
        (Reason::ReqNodeNotAvail, _) => nodes_not_up(cluster, watch.met()),
        (Reason::BadConstraints, _) => {
            let why = could_ever_start(cluster, name, &job.request).err();
            let message = |why: daybook_model::fit::Impossible| match why.detail() {
                Some(detail) => format!("{detail}; {why}"),
                None => why.to_string(),
            };
            Block::Impossible { message: why.map(message).unwrap_or_default() }
        }
        _ => return None,
    };
    Some((block, Outlook::UntilChanged))
}

/// The reservation that a job asks for: the first that there is and that it may use, else the first that it names.
fn reservation_wanted(cluster: &Cluster, now: UtcMicros, job: &Job) -> Option<Block> {
    let names = || named(job.reservation.as_deref().unwrap_or_default());
    let known = |name: &str| cluster.reservations().get(name);
    let is_permitted = |name: &str| known(name).is_some_and(|found| found.admits(job));
    let name = names().find(|name| is_permitted(name)).or_else(|| names().next())?;
    Some(Block::ReservationWanted {
        name: name.to_string(),
        start: known(name).and_then(|found| found.window(now)).map(|window| window.start),
        permitted: is_permitted(name),
    })
}

/// The reservation without which the job would start.
pub(super) fn kept(watch: &Watch) -> Option<Block> {
    let (name, window, maintenance) = watch.kept_by()?;
    Some(Block::KeptByReservation {
        name: name.clone(),
        start: window.start,
        end: window.end,
        maintenance: *maintenance,
    })
}

fn partition_size(cluster: &Cluster, partition: &PartitionDefinition, job: &Job) -> Block {
    let cpus = |name| cluster.nodes().get(name).map_or(0, |node| u64::from(node.definition.cpus));
    let request = &job.request;
    Block::PartitionSize {
        cpus_needed: u64::from(request.tasks.max(nodes_asked(job))) * u64::from(request.cpus_per_task.max(1)),
        cpus_in_all: partition.nodes.iter().map(cpus).sum(),
    }
}

/// The fewest nodes that a job asks for.
pub(crate) fn nodes_asked(job: &Job) -> u32 {
    job.request.nodes_min.max(u32::try_from(job.request.nodes_required.len()).unwrap_or(u32::MAX))
}

/// The most nodes that a partition gives.
pub(crate) fn nodes_most(partition: &PartitionDefinition) -> u32 {
    let nodes = u32::try_from(partition.nodes.len()).unwrap_or(u32::MAX);
    partition.max_nodes.map_or(nodes, |most| most.min(nodes))
}

fn node_limit(partition: &PartitionDefinition, job: &Job) -> Block {
    Block::NodeLimit {
        asked: nodes_asked(job),
        asked_most: job.request.nodes_max,
        least: partition.min_nodes,
        most: nodes_most(partition),
    }
}

fn memory_limit(cluster: &Cluster, partition: &PartitionDefinition, job: &Job) -> Block {
    let demand =
        cluster.configured().map(|configured| Demand::new(&job.request, partition, &configured.parameters));
    let (asked, most) =
        demand.map_or((0, 0), |demand| (demand.memory_per_node_min(), demand.memory_max.unwrap_or(0)));
    let message = format!(
        "It asks for {asked} MiB of memory on a node, and partition {} gives at most {most} MiB",
        partition.name
    );
    Block::NotPermitted { message }
}

fn array_tasks(cluster: &Cluster, job: &Job) -> Option<Block> {
    let array = cluster.arrays().get(&job.id)?;
    Some(Block::ArrayTasks { running: array.running.len(), most: array.running_max? })
}

fn nodes_not_up(cluster: &Cluster, met: Option<&Met>) -> Block {
    let names: &[NodeName] = met.map_or(&[], |met| &met.unavailable);
    let node = |name: &NodeName| cluster.nodes().get(name).map(|node| trouble_of(node));
    Block::NodesNotUp {
        nodes: names.iter().take(NAMED_MAX).filter_map(node).collect(),
        count: u32::try_from(names.len()).unwrap_or(u32::MAX),
    }
}

fn trouble_of(node: &Node) -> NodeTrouble {
    let trouble = match node {
        node if node.retired => Trouble::Retired,
        node if node.down => Trouble::Down,
        node if node.silence.is_some() => Trouble::NotResponding,
        node if node.registration.is_none() => Trouble::NotRegistered,
        node if node.drain => Trouble::Drained,
        _ => Trouble::GpusMissing,
    };
    let reason = node.reason.as_ref().map(|reason| reason.text.clone()).unwrap_or_default();
    NodeTrouble { node: node.definition.name.clone(), trouble, reason }
}

/// What keeps a job that stands in the line.
pub(super) fn in_line(
    cluster: &Cluster,
    now: UtcMicros,
    job: &Job,
    policy: &Policy,
    watch: &Watch,
    sight: Option<&Sight>,
) -> Option<Block> {
    let met = watch.met();
    if met.is_some_and(|met| met.is_started) {
        return None;
    }
    if let Some(sight) = sight.filter(|sight| !sight.figures.fits_now) {
        return Some(Block::Resources { short: sight.short.clone() });
    }
    let met = met?;
    if met.was_closed {
        let first = super::line::place(cluster, now, policy, job, watch.partition(job)).first?;
        return Some(Block::StrictOrder { first });
    }
    if let Some((most, until)) = met.few_switches {
        return Some(Block::FewSwitches { most, until });
    }
    let Some(nodes) = &met.without_promises else {
        return Some(Block::StartsInFront { count: met.starts_in_front });
    };
    // Which of its own licences are kept for another job.
    let shared = |other: JobId| -> Vec<License> {
        let others = cluster.jobs().get(&other).map_or(&[][..], |other| &other.request.licenses);
        let is_needed = |name: &str| job.request.licenses.iter().any(|license| license.name == name);
        others.iter().filter(|license| is_needed(&license.name)).cloned().collect()
    };
    let overlaps = |planned: &&daybook_schemas::events::PlannedStart| {
        met.until.is_none_or(|until| planned.start < until)
            && (planned.nodes.iter().any(|name| nodes.contains(name)) || !shared(planned.job).is_empty())
    };
    let promise = |planned: &daybook_schemas::events::PlannedStart| Promise {
        job: planned.job,
        start: planned.start,
        nodes: planned.nodes.iter().take(NAMED_MAX).cloned().collect(),
        licenses: shared(planned.job),
    };
    Some(Block::Promises {
        promises: met.promises.iter().filter(overlaps).take(NAMED_MAX).map(promise).collect(),
    })
}
