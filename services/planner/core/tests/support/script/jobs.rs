//! Jobs: what they ask for, and what is changed of them.

use daybook_schemas::events::JobUpdated;
use daybook_schemas::grammar::{dependency, license};
use daybook_schemas::job::{
    ArrayRequest, Dependencies, Dependency, DependencyKind, GpuRequest, GpuScope, JobSpec, JobUser,
    MemoryRequest, SwitchRequest, TimeLimit,
};
use daybook_schemas::{JobId, Mebibytes, NodeName, Seconds, Subject, UtcMicros};

use super::super::job;

use super::{Options, Script};

impl Script {
    pub(super) fn submit(&mut self, name: &str, options: &mut Options<'_>) -> String {
        let mut spec = job(name, options.get("p").unwrap_or("main"), 60);
        spec.time_limit = match options.get("t") {
            Some("NONE") => None,
            Some("UNLIMITED") => Some(TimeLimit::Unlimited),
            limit => Some(TimeLimit::minutes(limit.map_or(60, |limit| limit.parse().unwrap()))),
        };
        spec.account = options.get("account").map(str::to_string);
        spec.qos = options.get("qos").map(str::to_string);
        spec.begin = options.number("begin").map(|seconds| self.simulation.now.plus_seconds(seconds.into()));
        spec.nice = options.number("nice").unwrap_or(0) as i32;
        spec.reservation = options.get("reservation").map(str::to_string);
        if let Some(uid) = options.number("uid") {
            spec.user = JobUser { uid, ..(*spec.user).clone() }.into();
        }
        if let Some(name) = options.get("user") {
            spec.user = JobUser { name: name.to_string(), ..(*spec.user).clone() }.into();
        }
        spec.hold = options.get("hold").is_some();
        spec.requeue = options.get("norequeue").is_none();
        spec.kill_on_invalid_dependency = options.get("kill").is_some();
        spec.keep_on_invalid_dependency = options.get("keep").is_some();
        spec.time_min = options.number("time_min").map(TimeLimit::minutes);
        spec.deadline = self.in_minutes(options, "deadline");
        spec.dependencies = options.get("d").map(|text| dependency::parse(text).unwrap());
        if let Some((kind, other)) = options.get("after").and_then(|after| after.split_once(':')) {
            let kind = match kind {
                "ok" => DependencyKind::AfterOk,
                "corr" => DependencyKind::AfterCorr,
                _ => DependencyKind::AfterAny,
            };
            let job = Some(JobId(other.parse().unwrap()));
            let condition = Dependency { kind, job, task: None, delay_minutes: 0 };
            spec.dependencies = Some(Dependencies { conditions: vec![condition], any: false });
        }
        if let Some(array) = options.get("array") {
            let (tasks, most) =
                array.split_once('%').map_or((array, None), |(tasks, most)| (tasks, Some(most)));
            let running_max = most.map(|most| most.parse().unwrap());
            spec.array = Some(ArrayRequest { tasks: tasks.parse().unwrap(), running_max });
        }
        set_request(&mut spec, options);
        format!("job {}\n", self.simulation.submit(spec))
    }

    pub(super) fn in_minutes(&self, options: &mut Options<'_>, key: &str) -> Option<UtcMicros> {
        options.number(key).map(|minutes| self.simulation.now.plus_seconds(i64::from(minutes) * 60))
    }

    /// Changes a job as `scontrol update` does.
    pub(super) fn update(&mut self, name: &str, options: &mut Options<'_>) -> String {
        let job = JobId(name.parse().unwrap());
        let dependencies = options.get("d").map(|text| dependency::parse(text).unwrap());
        let circle = |conditions| self.simulation.cluster.would_wait_for_itself(job, conditions);
        let is_circular = dependencies.as_ref().is_some_and(circle);
        let change = JobUpdated {
            job,
            nice: options.number("nice").map(|nice| nice as i32),
            priority: options.number("priority"),
            site_factor: options.get("site").map(|site| site.parse().unwrap()),
            time_limit: options.number("t").map(TimeLimit::minutes),
            time_min: options.number("time_min").map(TimeLimit::minutes),
            deadline: self.in_minutes(options, "deadline"),
            partition: options.get("p").map(str::to_string),
            array_running_max: options.number("throttle"),
            dependencies,
            ..JobUpdated::default()
        };
        self.simulation.say(Subject::Jobs, change);
        if is_circular { "  circular: its conditions stay as they were\n".to_string() } else { String::new() }
    }
}

pub fn set_request(spec: &mut JobSpec, options: &mut Options<'_>) {
    let request = spec.request_mut();
    if let Some(nodes) = options.get("N") {
        let (least, most) = nodes.split_once('-').unwrap_or((nodes, nodes));
        request.nodes_min = least.parse().unwrap();
        request.nodes_max = Some(most.parse().unwrap());
    }
    if let Some(tasks) = options.number("n") {
        request.tasks = tasks;
        request.tasks_given = true;
    }
    if let Some(cpus) = options.number("c") {
        request.cpus_per_task = cpus;
        request.cpus_per_task_given = true;
    }
    request.tasks_per_node = options.number("tpn");
    let amount = |amount: Option<u32>| amount.map(|amount| Mebibytes(amount.into()));
    request.memory = amount(options.number("mem")).map(MemoryRequest::PerNode);
    request.memory = request.memory.or(amount(options.number("mem_per_cpu")).map(MemoryRequest::PerCpu));
    request.memory = request.memory.or(amount(options.number("mem_per_gpu")).map(MemoryRequest::PerGpu));
    for (key, scope) in [("gres", GpuScope::Node), ("gpus", GpuScope::Job), ("gpt", GpuScope::Task)] {
        for wish in options.list(key) {
            let (gpu_type, count) =
                wish.split_once(':').map_or((None, wish), |(name, count)| (Some(name), count));
            let (gpu_type, count) = (gpu_type.map(str::to_string), count.parse().unwrap());
            request.gpus.push(GpuRequest { scope, gpu_type, count });
        }
    }
    request.exclusive = options.get("exclusive").is_some();
    request.contiguous = options.get("contiguous").is_some();
    request.switches = options.get("switches").map(|few| {
        let (count, wait) = few.split_once('@').map_or((few, None), |(count, wait)| (count, Some(wait)));
        let wait = wait.map(|seconds| Seconds(seconds.parse().unwrap()));
        SwitchRequest { count: count.parse().unwrap(), wait }
    });
    request.nodes_required = options.list("w").into_iter().map(NodeName::from).collect();
    request.nodes_excluded = options.list("x").into_iter().map(NodeName::from).collect();
    request.licenses = options.get("L").map_or(Vec::new(), |text| license::parse(text).unwrap());
    request.features = options.list("C").into_iter().map(str::to_string).collect();
}
