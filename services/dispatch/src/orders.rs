//! A node's desired set, derived from the model.

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_model::{Cluster, Job, Run};
use daybook_schemas::events::ArrayTaskId;
use daybook_schemas::orders::{ArrayTaskOrder, DesiredSet, RunOrder, RunWish};
use daybook_schemas::{NodeName, RunId, Seconds};

/// What should be on a node at the snapshot's position.
pub fn desired_set(cluster: &Cluster, node: &NodeName) -> DesiredSet {
    OrderCache::default().desired_set(cluster, node)
}

/// Orders derived before, so that one run's change does not derive its neighbours' again.
#[derive(Default)]
pub(crate) struct OrderCache {
    orders: BTreeMap<RunId, (Arc<Run>, Arc<RunOrder>)>,
}

impl OrderCache {
    pub(crate) fn desired_set(&mut self, cluster: &Cluster, name: &NodeName) -> DesiredSet {
        let mut orders = BTreeMap::new();
        let runs = cluster.nodes().get(name).map(|node| node.runs.clone()).unwrap_or_default();
        for id in &runs {
            let Some(run) = cluster.runs().get(id) else { continue };
            let order = match self.orders.remove(id) {
                Some((seen, order)) if Arc::ptr_eq(&seen, run) => order,
                _ => match order(cluster, run) {
                    Some(order) => Arc::new(order),
                    None => continue,
                },
            };
            orders.insert(*id, (run.clone(), order));
        }
        self.orders = orders;
        DesiredSet {
            node: name.clone(),
            generation: cluster.position(),
            runs: self.orders.values().map(|(_, order)| order.clone()).collect(),
        }
    }
}

fn order(cluster: &Cluster, run: &Run) -> Option<RunOrder> {
    let job = run.parted_from.as_ref().or_else(|| cluster.jobs().get(&run.id.job))?;
    let configured = cluster.configured();
    Some(RunOrder {
        run: run.id,
        allocated: run.allocated_seq,
        allocated_at: run.allocated,
        cluster_name: configured.map(|configured| configured.cluster_name.clone()).unwrap_or_default(),
        nodes: run.nodes.to_vec(),
        array: job.task.and_then(|task| array_task(cluster, task)),
        spec: current_spec(job),
        partition: run.partition.to_string(),
        account: job.account.to_string(),
        qos: job.qos.to_string(),
        time_limit: run.time_allowed(),
        kill_wait: configured.map_or(Seconds(30), |configured| configured.parameters.kill_wait),
        wish: run.wish,
        grace: run.giving_way.as_ref().map_or(Seconds(0), |giving| giving.grace()),
        ordered: run.ordered,
        suspend_grace: match run.wish {
            RunWish::Suspend => {
                configured.map_or(Seconds(2), |configured| configured.parameters.suspend_grace)
            }
            _ => Seconds(0),
        },
        paused: u64::try_from(run.paused()).unwrap_or(0),
        stopped: run.pauses.and_then(|pauses| pauses.stopped),
        signals: run.signals.clone(),
    })
}

/// The request as submitted, but for what may have been changed before the start and the script can see.
fn current_spec(job: &Job) -> Arc<daybook_schemas::job::JobSpec> {
    let is_changed = *job.name != *job.spec.name || job.request != job.spec.request;
    if !is_changed {
        return job.spec.clone();
    }
    let mut spec = (*job.spec).clone();
    spec.name = job.name.to_string();
    spec.request = job.request.clone();
    Arc::new(spec)
}

fn array_task(cluster: &Cluster, task: ArrayTaskId) -> Option<ArrayTaskOrder> {
    let tasks = cluster.arrays().get(&task.array_job)?.tasks();
    Some(ArrayTaskOrder {
        id: task,
        task_count: tasks.len(),
        task_min: tasks.first()?,
        task_max: tasks.last()?,
        task_step: tasks.regular_step().unwrap_or(1),
    })
}
