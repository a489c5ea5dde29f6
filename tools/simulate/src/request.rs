//! What a trace's job asks for.

use daybook_schemas::Mebibytes;
use daybook_schemas::job::{GpuRequest, GpuScope, MemoryRequest, ResourceRequest};

use crate::machine::Machine;
use crate::trace::{TraceJob, Unit};

/// On one node all of its processors; on several as many nodes as it says, else as it needs.
pub(crate) fn request(job: &TraceJob, unit: Unit, machine: &Machine) -> ResourceRequest {
    let is_pool = machine.node_count() == 1;
    let mut request =
        ResourceRequest { nodes_max: is_pool.then_some(1), tasks_given: true, ..ResourceRequest::default() };
    if unit == Unit::Processor {
        request.tasks = job.processors;
        return request;
    }
    let gpu_type = want_type(&mut request, job, machine);
    request.gpus = vec![GpuRequest { scope: GpuScope::Job, gpu_type, count: job.processors }];
    if !is_pool {
        let largest = machine.largest_for(job);
        let nodes = job.nodes.unwrap_or(1).max(job.processors.div_ceil(largest.gpus.max(1)));
        request.nodes_min = nodes;
        request.nodes_max = Some(nodes);
        request.tasks = nodes;
        request.tasks_per_node = Some(1);
        request.cpus_per_task = job.cpus.div_ceil(nodes).clamp(1, largest.cpus.max(1));
        // Where memory is counted and the job says none, next to none: none at all would be all of a node's.
        request.memory =
            Some(MemoryRequest::PerNode(Mebibytes(job.memory.div_ceil(u64::from(nodes)).max(1))));
    }
    request
}

/// One type is asked for as such; of several the nodes of each have a feature in common. Where the nodes have no types,
/// none is asked for.
fn want_type(request: &mut ResourceRequest, job: &TraceJob, machine: &Machine) -> Option<String> {
    if !machine.has_types() || job.gpu_type.is_empty() {
        return None;
    }
    if job.gpu_type.contains('|') {
        request.features = vec![job.gpu_type.clone()];
        return None;
    }
    Some(job.gpu_type.clone())
}
