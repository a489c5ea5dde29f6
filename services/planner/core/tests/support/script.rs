//! Scripts: commands in, text out; see `tests/scripts/`.
//!
//! ```text
//! cluster weights=age:1000,fairshare:10000,size:100,short:500,qos:10,partition:10 half_life=3600 period=300 max_age=86400
//! cluster enforce=limits,safe
//! account NAME parent=root shares=1 | user NAME account=ml shares=1|parent | qos NAME priority=10 factor=2000000 flags=NoReserve
//!      (all with limits: GrpTRES=cpu:4,gres/gpu:a100:2 GrpTRESMins= GrpTRESRunMins= MaxTRES= MaxTRESPN= MaxTRESMins= MaxTRESPU= MaxTRESPA=
//!      MaxTRESRunMinsPU= MaxTRESRunMinsPA= MinTRES= GrpJobs= GrpSubmit= MaxJobs= MaxSubmit= MaxJobsPA= MaxSubmitPA= MinPrio= GrpWall= MaxWall=
//!      (minutes); limit_factor= threshold= (millionths)
//! calculate (where it is time) | priorities
//! cluster licenses=matlab:2,ansys switch_wait=300 block_sizes=2,4 memory=on order=strict|expected|queue reservations=1 jobs_max=100 default_mem_per_cpu=500
//! node node01 cpus=8 mem=16000 gpus=a100,a100 weight=1 features=a,b sockets=2 threads=2 unregistered
//!      cores=0-3/4-7 links=0,4/4,0 (of each GPU)
//! switch leaf1 nodes=node01,node02 | switch top switches=leaf1,leaf2 | block b1 nodes=node01,node02
//! partition main nodes=node01,node02 max_time=60 default_time=10 min_nodes=1 max_nodes=2 tier=1 state=UP exclusive
//!      accounts=ml deny_accounts=bio qos=high deny_qos=low max_mem=500 cpus_per_gpu=2 limits_of=QOS
//! submit NAME p=main,short account=ml qos=high t=30|NONE N=1-2 n=4 c=2 tpn=2 mem=500 mem_per_cpu=500 mem_per_gpu=500 gres=a100:2 gpus=2 gpt=1
//!        L=matlab:2,ansys contiguous switches=1@300 exclusive w=node01 x=node02 C=a array=0-9%2 begin=60 nice=5 after=ok:1 kill hold
//!        reservation=r1,r2 uid=1002 user=bob account=ml qos=high
//! reserve NAME nodes=node01 in=3600 for=1800 uids=1001 accounts=ml flags=maint,flex,overlap,magnetic,daily,purge=300,float
//! unreserve NAME | reservations
//!        time_min=30 deadline=90 (minutes from now) d=afterok:1?singleton (as typed) keep
//! update JOB nice=5 priority=7 site=-7 t=30 time_min=5 deadline=90 d=afterok:1 p=main throttle=2
//! update PARTITION … | delete PARTITION (while it runs; the settings of `partition`)
//! part ARRAY tasks=1-3 | hold JOB [admin] [tasks=1-3] | release JOB [as_owner] [tasks=1-3] | requeue JOB [hold]
//! cluster preempt=qos|tier mode=requeue exempt=60 youngest_first exempt_above=5 | qos NAME preempt=low,mid mode=off grace=60 exempt=60
//! partition NAME mode=cancel grace=60 | submit NAME norequeue
//! plan | why JOB | tick SECONDS | end RUN [fail] [preempted] [held] | cancel JOB [tasks=1-3] | drain NODE | fail NODE | resume NODE |
//!        down NODE | feature NODE active=a,b weight=3 | jobs | details JOB | fragmentation
//! ```
//!
//! Where lines of the first six kinds stand behind others, they change the configuration.

use std::fmt::Write;

use daybook_plan::Cycle;
use daybook_plan::fragmentation::Figure;
use daybook_schemas::accounts::{Association, FACTOR_ONE, Limits, PreemptMode, Qos, QosFlag, Shares};
use daybook_schemas::events::{
    AssociationDefined, JobCancelRequested, JobHeld, JobParted, JobReleased, JobRequeued, JobTarget,
    JobUpdated, NodeUpdated, PartitionDeleted, PartitionUpdated, QosDefined, ReservationCreated,
    ReservationDeleted,
};
use daybook_schemas::grammar::{dependency, license};
use daybook_schemas::job::{
    ArrayRequest, Dependencies, Dependency, DependencyKind, GpuRequest, GpuScope, JobSpec, JobState, JobUser,
    MemoryRequest, SwitchRequest, TimeLimit,
};
use daybook_schemas::license::License;
use daybook_schemas::limits::{CountLimitName, TresLimitName, WallLimitName};
use daybook_schemas::node::{
    AccountingEnforcement, ClusterParameters, NodeDefinition, NodeUpdateState, PartitionDefinition,
    PartitionState,
};
use daybook_schemas::preemption::{PreemptType, PreemptionParameters};
use daybook_schemas::priority::PriorityParameters;
use daybook_schemas::reservation::{Repeat, ReservationDefinition, ReservationFlags, ReservationUser};
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::topology::{BlockDefinition, BlockTopology, SwitchDefinition, Topology};
use daybook_schemas::{Body, JobId, Mebibytes, NodeName, Seconds, Subject, UtcMicros};

use super::{DAWN, Simulation, configuration, job, node, parameters, partition};

/// What is said of a cycle that decided nothing.
const NOTHING: &str = "  nothing\n";

pub struct Script {
    pub simulation: Simulation,
    parameters: ClusterParameters,
    nodes: Vec<NodeDefinition>,
    unregistered: Vec<NodeName>,
    partitions: Vec<PartitionDefinition>,
    switches: Vec<SwitchDefinition>,
    blocks: BlockTopology,
    licenses: Vec<License>,
    is_configured: bool,
}

/// Runs a script and gives its commands with what each said.
pub fn run(text: &str) -> String {
    let mut script = Script {
        simulation: Simulation::new(),
        parameters: parameters(),
        nodes: Vec::new(),
        unregistered: Vec::new(),
        partitions: Vec::new(),
        switches: Vec::new(),
        blocks: BlockTopology::default(),
        licenses: Vec::new(),
        is_configured: false,
    };
    let mut out = String::new();
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            writeln!(out, "{line}").unwrap();
            continue;
        }
        writeln!(out, "> {line}").unwrap();
        out.push_str(&script.command(line));
        script.simulation.cluster.sanity_check().expect("the cluster is sane");
    }
    out
}

/// `key=value` words, and words without a value.
pub struct Options<'a>(pub Vec<(&'a str, &'a str)>);

impl<'a> Options<'a> {
    pub fn get(&mut self, key: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|(name, _)| *name == key)?;
        Some(self.0.remove(at).1)
    }

    fn number(&mut self, key: &str) -> Option<u32> {
        self.get(key).map(|value| value.parse().unwrap_or_else(|_| panic!("{key}={value}: no number")))
    }

    fn parts(&mut self, key: &str) -> Vec<&'a str> {
        self.get(key).map_or(Vec::new(), |value| value.split('/').collect())
    }

    fn list(&mut self, key: &str) -> Vec<&'a str> {
        self.get(key).map_or(Vec::new(), |value| value.split(',').collect())
    }
}

impl Script {
    fn command(&mut self, line: &str) -> String {
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap();
        let configures = matches!(verb, "cluster" | "node" | "partition" | "switch" | "block");
        if !configures && !self.is_configured {
            self.configure();
        }
        let name = if verb == "cluster" { "" } else { words.next().unwrap_or("") };
        let options = words.map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
        let mut options = Options(options);
        let said = match verb {
            "cluster" => self.set_cluster(&mut options),
            "node" => self.set_node(name, &mut options),
            "partition" => self.set_partition(name, &mut options),
            "update" if name.parse::<u32>().is_err() => {
                let partition = definition(name, &mut options);
                self.simulation.say(Subject::Jobs, PartitionUpdated { partition });
                String::new()
            }
            "delete" => {
                self.simulation.say(Subject::Jobs, PartitionDeleted { name: name.to_string() });
                String::new()
            }
            "switch" | "block" => self.connect(verb, name, &mut options),
            "submit" => self.submit(name, &mut options),
            "plan" => self.plan(),
            "why" => self.why(name),
            "jobs" => self.jobs(),
            "reserve" => self.reserve(name, &mut options),
            "reservations" => self.reservations(),
            "update" => self.update(name, &mut options),
            "details" => self.details(name),
            "fragmentation" => self.fragmentation(),
            "account" | "user" | "qos" => self.define(verb, name, &mut options),
            "calculate" => self.calculate(),
            "priorities" => self.priorities(),
            _ => self.change(verb, name, &mut options),
        };
        assert!(options.0.is_empty(), "{line}: unknown {:?}", options.0);
        self.simulation.cluster.sanity_check().unwrap_or_else(|found| panic!("{line}: {found:?}"));
        said
    }

    fn set_cluster(&mut self, options: &mut Options<'_>) -> String {
        self.is_configured = false;
        let parameters = &mut self.parameters;
        if let Some(memory) = options.get("memory") {
            parameters.memory_is_consumed = memory == "on";
        }
        if let Some(order) = options.get("order") {
            parameters.strict_order = order == "strict";
            parameters.backfill_by_expected_time = order == "expected";
        }
        if let Some(weights) = options.get("weights") {
            parameters.priority = Some(priority_parameters(weights, options));
        }
        let enforced = options.list("enforce");
        parameters.accounting_enforced = enforced
            .iter()
            .map(|word| match *word {
                "limits" => AccountingEnforcement::Limits,
                "safe" => AccountingEnforcement::Safe,
                other => panic!("enforce={other}"),
            })
            .collect();
        if let Some(by) = options.get("preempt") {
            let by = if by == "qos" { PreemptType::Qos } else { PreemptType::PartitionPrio };
            let mode = options.get("mode").map_or(PreemptMode::Requeue, preempt_mode);
            parameters.preemption = Some(PreemptionParameters {
                exempt_time: Seconds(options.number("exempt").unwrap_or(0).into()),
                youngest_first: options.get("youngest_first").is_some(),
                exempt_above: options.number("exempt_above"),
                ..PreemptionParameters::new(by, mode)
            });
        }
        if let Some(seconds) = options.number("kill_wait") {
            parameters.kill_wait = Seconds(seconds.into());
        }
        if let Some(licenses) = options.get("licenses") {
            self.licenses = license::parse(licenses).unwrap();
        }
        if let Some(seconds) = options.number("switch_wait") {
            parameters.switch_wait_max = Seconds(seconds.into());
        }
        parameters.kill_invalid_dependency = options.get("kill_invalid_depend").is_some();
        let sizes = options.list("block_sizes");
        self.blocks.sizes = sizes.iter().map(|size| size.parse().unwrap()).collect();
        if let Some(count) = options.number("reservations") {
            parameters.backfill_reservations = count;
        }
        if let Some(count) = options.number("jobs_max") {
            parameters.planner_jobs_max = count;
        }
        if let Some(amount) = options.number("default_mem_per_cpu") {
            parameters.default_memory = Some(MemoryRequest::PerCpu(Mebibytes(amount.into())));
        }
        String::new()
    }

    fn set_node(&mut self, name: &str, options: &mut Options<'_>) -> String {
        self.is_configured = false;
        let cpus = options.number("cpus").unwrap_or(8);
        let memory = options.number("mem").unwrap_or(16_000);
        let gpus = options.list("gpus");
        let mut definition = node(name, cpus, memory.into(), &gpus);
        definition.weight = options.number("weight").unwrap_or(1);
        definition.features = options.list("features").into_iter().map(str::to_string).collect();
        definition.sockets = options.number("sockets").unwrap_or(1);
        definition.threads_per_core = options.number("threads").unwrap_or(1);
        definition.cores_per_socket = cpus / definition.sockets / definition.threads_per_core;
        for (gpu, cores) in definition.gpus.iter_mut().zip(options.parts("cores")) {
            gpu.cores = cores.parse().unwrap();
        }
        for (gpu, links) in definition.gpus.iter_mut().zip(options.parts("links")) {
            gpu.links = links.split(',').map(|links| links.parse().unwrap()).collect();
        }
        if options.get("unregistered").is_some() {
            self.unregistered.push(definition.name.clone());
        }
        self.nodes.retain(|node| node.name != definition.name);
        self.nodes.push(definition);
        String::new()
    }

    fn set_partition(&mut self, name: &str, options: &mut Options<'_>) -> String {
        self.is_configured = false;
        self.partitions.retain(|partition| partition.name != name);
        self.partitions.push(definition(name, options));
        String::new()
    }

    fn connect(&mut self, verb: &str, name: &str, options: &mut Options<'_>) -> String {
        self.is_configured = false;
        let (name, nodes) =
            (name.to_string(), options.list("nodes").into_iter().map(NodeName::from).collect());
        if verb == "block" {
            self.blocks.blocks.push(BlockDefinition { name, nodes });
        } else {
            let switches = options.list("switches").into_iter().map(str::to_string).collect();
            self.switches.push(SwitchDefinition { name, nodes, switches, link_speed: None });
        }
        String::new()
    }

    fn topology(&self) -> Option<Topology> {
        let tree = || Topology::Tree(self.switches.clone());
        let is_block = !self.blocks.blocks.is_empty();
        is_block.then(|| Topology::Block(self.blocks.clone())).or((!self.switches.is_empty()).then(tree))
    }

    fn configure(&mut self) {
        self.is_configured = true;
        let mut configured =
            configuration(self.nodes.clone(), self.partitions.clone(), self.parameters.clone());
        configured.topology = self.topology();
        configured.licenses = self.licenses.clone();
        self.simulation.configure(configured);
        for node in self.nodes.clone() {
            let is_known = self.simulation.cluster.nodes()[&node.name].registration.is_some();
            if !is_known && !self.unregistered.contains(&node.name) {
                self.simulation.register(&node);
            }
        }
    }

    fn submit(&mut self, name: &str, options: &mut Options<'_>) -> String {
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

    fn in_minutes(&self, options: &mut Options<'_>, key: &str) -> Option<UtcMicros> {
        options.number(key).map(|minutes| self.simulation.now.plus_seconds(i64::from(minutes) * 60))
    }

    /// Changes a job as `scontrol update` does.
    fn update(&mut self, name: &str, options: &mut Options<'_>) -> String {
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

    /// What is known of a job beside its state.
    fn details(&self, name: &str) -> String {
        let cluster = &self.simulation.cluster;
        let Some(job) = cluster.jobs().get(&JobId(name.parse().unwrap())) else {
            return "  unknown\n".to_string();
        };
        let state = cluster.shown_state(job).word();
        let reason = job.shown_reason(self.simulation.now).word();
        let priority = job.shown_priority();
        let priority = if job.priority_fixed { format!("{priority} (set)") } else { priority.to_string() };
        let open = daybook_model::dependency_notation(cluster, job);
        let limit = job.time_limit.whole_minutes().map_or("none".to_string(), |minutes| minutes.to_string());
        format!(
            "  {state} {reason}, priority {priority}, nice {}, limit {limit}, open \"{open}\"\n",
            job.nice
        )
    }

    fn plan(&mut self) -> String {
        let before = self.simulation.cluster.position();
        let cycle = self.simulation.plan();
        let said = describe(&cycle);
        let is_silent = said == NOTHING || self.simulation.cluster.position() > before;
        said + if is_silent { "" } else { "  (no news: not recorded)\n" }
    }

    fn define(&mut self, verb: &str, name: &str, options: &mut Options<'_>) -> String {
        let (association, qos) = self.simulation.cluster.accounts().next_numbers();
        let shares = match options.get("shares") {
            Some("parent") => Shares::Parent,
            number => Shares::Number(number.map_or(1, |number| number.parse().unwrap())),
        };
        let priority = options.number("priority");
        let limits = limits(options);
        if verb == "qos" {
            let known = self.simulation.cluster.accounts().qos(name).map(|qos| qos.id);
            let usage_factor = options.number("factor").map_or(FACTOR_ONE, u64::from);
            let flags = options.list("flags");
            let flags = flags.iter().map(|flag| QosFlag::parse(flag).unwrap()).collect();
            let seconds = |number: Option<u32>| number.map(|seconds| Seconds(seconds.into()));
            let qos = Qos {
                priority: priority.unwrap_or(0),
                usage_factor,
                limits,
                flags,
                limit_factor: options.number("limit_factor").map(u64::from),
                usage_threshold: options.number("threshold").map(u64::from),
                preempt: options.list("preempt").into_iter().map(str::to_string).collect(),
                preempt_mode: options.get("mode").map(preempt_mode),
                grace_time: seconds(options.number("grace")).unwrap_or(Seconds(0)),
                preempt_exempt_time: seconds(options.number("exempt")),
                ..Qos::new(known.unwrap_or(qos), name)
            };
            self.simulation.say(daybook_schemas::Subject::Jobs, QosDefined { qos });
            return String::new();
        }
        let mut association =
            Association { id: association, shares, priority, limits, ..Association::default() };
        if verb == "user" {
            association.account = options.get("account").unwrap().to_string();
            association.user = Some(name.to_string());
        } else {
            association.account = name.to_string();
            let parent = options.get("parent").unwrap_or("root").to_string();
            association.parent = Some(parent).filter(|_| name != "root");
        }
        // One that is there is changed.
        let accounts = self.simulation.cluster.accounts();
        let known = accounts.at(&association.account, association.user.as_deref(), None);
        association.id = known.map_or(association.id, |known| known.id);
        self.simulation.say(daybook_schemas::Subject::Jobs, AssociationDefined { association });
        String::new()
    }

    /// Priorities are calculated anew, where it is time.
    fn calculate(&mut self) -> String {
        let Some(events) = daybook_plan::calculation(&self.simulation.cluster, self.simulation.now) else {
            return "  not yet\n".to_string();
        };
        self.simulation.commit(daybook_schemas::Subject::Plan, events);
        let cluster = &self.simulation.cluster;
        let standings = cluster.standings();
        let users = cluster.accounts().associations().values().filter(|own| own.user.is_some());
        let line = |own: &std::sync::Arc<Association>| {
            let standing = standings.get(&own.id)?;
            let usage = standing.usage;
            let rank = (standing.fair_share? * 1_000) >> 32;
            let user = own.user.as_deref()?;
            Some(format!("  {}/{user} has used {usage} ms, fair share {rank} thousandths\n", own.account))
        };
        users.filter_map(line).collect()
    }

    /// Waiting jobs in the order of the queue, with what their priorities are made of.
    fn priorities(&self) -> String {
        let cluster = &self.simulation.cluster;
        let line = |key: &daybook_model::PendingKey| {
            let job = &cluster.jobs()[&key.job];
            let (Some(parameters), Some(factors)) = (cluster.priority_parameters(), &job.priority_factors)
            else {
                return format!("  {} {} by submission\n", job.id, job.priority);
            };
            let made = daybook_model::addends(parameters, factors, job.site_factor, job.nice);
            let fixed = if job.priority_fixed { "fixed, would be " } else { "" };
            if !job.priority_fixed {
                assert_eq!(daybook_model::priority_of(&made), job.priority, "the addends of {}", job.id);
            }
            format!("  {} {} {fixed}{}\n", job.id, job.priority, json(&made))
        };
        cluster.ready().iter().map(line).collect()
    }

    /// What is free on GPUs, and what of it those who usually come could not use, after what would be decided now.
    fn fragmentation(&self) -> String {
        let Some(figure) = self.simulation.consider().fragmentation else {
            return "  no GPUs\n".to_string();
        };
        let Figure { gpus_free, gpus_unusable, .. } = figure;
        match gpus_unusable {
            Some(unusable) => format!("  free {gpus_free} unusable {unusable} (thousandths of a GPU)\n"),
            None => format!("  free {gpus_free}, nobody has asked for a GPU yet\n"),
        }
    }

    /// The explanation's parts, one on each line.
    fn why(&self, job: &str) -> String {
        let (cluster, now) = (&self.simulation.cluster, self.simulation.now);
        let policy = daybook_plan::Policy::of(cluster).unwrap();
        let Some(told) = daybook_plan::explain(cluster, now, &policy, JobId(job.parse().unwrap())) else {
            return "  unknown\n".to_string();
        };
        let mut out = String::new();
        let since = (told.since.0 - DAWN.0) / 1_000_000;
        writeln!(out, "  {} {} {} since +{since}", told.display_id, told.state.word(), told.reason.word())
            .unwrap();
        for block in &told.blocks {
            writeln!(out, "  block {}", json(block)).unwrap();
        }
        if let Some(figures) = &told.figures {
            writeln!(out, "  figures {}", json(figures)).unwrap();
        }
        if let Some(place) = &told.place {
            writeln!(out, "  place {}", json(place)).unwrap();
        }
        if let Some(outlook) = &told.outlook {
            writeln!(out, "  outlook {}", json(outlook)).unwrap();
        }
        out
    }

    fn jobs(&self) -> String {
        let mut out = String::new();
        for job in self.simulation.cluster.jobs().values().filter(|job| !job.state.is_ended()) {
            let reason = job.shown_reason(self.simulation.now).word();
            let waits = job.tasks_waiting.as_ref().map(|tasks| format!("_[{tasks}]")).unwrap_or_default();
            let shown = if job.state == JobState::Pending { reason } else { "" };
            let several =
                job.partitions.as_ref().map(|_| format!(" in {}", job.partition)).unwrap_or_default();
            writeln!(out, "  {}{waits} {} {shown}{several}", job.id, job.state.word()).unwrap();
        }
        out
    }

    fn reserve(&mut self, name: &str, options: &mut Options<'_>) -> String {
        let start = self.simulation.now.plus_seconds(options.number("in").unwrap_or(0).into());
        let mut nodes: Vec<NodeName> = options.list("nodes").into_iter().map(NodeName::from).collect();
        nodes.sort_unstable();
        let user = |uid: &str| ReservationUser { uid: uid.parse().unwrap(), name: uid.to_string() };
        let mut flags = ReservationFlags::default();
        for flag in options.list("flags") {
            match flag.split_once('=').unwrap_or((flag, "")) {
                ("maint", _) => flags.maintenance = true,
                ("flex", _) => flags.flex = true,
                ("overlap", _) => flags.overlap = true,
                ("magnetic", _) => flags.magnetic = true,
                ("float", _) => {
                    flags.begins_in = Some(Seconds((start.seconds() - self.simulation.now.seconds()) as u64));
                }
                ("purge", seconds) => flags.purge_after = Some(Seconds(seconds.parse().unwrap())),
                (repeat, _) => {
                    let word = repeat.to_uppercase();
                    flags.repeat =
                        Repeat::ALL.iter().find(|(_, name)| *name == word).map(|(repeat, _)| *repeat);
                    assert!(flags.repeat.is_some(), "unknown flag {repeat}");
                }
            }
        }
        let reservation = ReservationDefinition {
            name: name.to_string(),
            start,
            end: start.plus_seconds(options.number("for").unwrap_or(3_600).into()),
            nodes,
            users: options.list("uids").into_iter().map(user).collect(),
            accounts: options.list("accounts").into_iter().map(str::to_string).collect(),
            flags,
            ..ReservationDefinition::default()
        };
        self.simulation.say(daybook_schemas::Subject::Jobs, ReservationCreated { reservation });
        String::new()
    }

    /// What is reserved, from when to when.
    fn reservations(&self) -> String {
        let after = |at: daybook_schemas::UtcMicros| (at.0 - DAWN.0) / 1_000_000;
        let now = self.simulation.now;
        let windows = self.simulation.cluster.reservations().iter();
        let lines = windows.map(|(name, found)| match found.window(now) {
            Some(window) => {
                let state = if found.is_active(now) { "in force" } else { "to come" };
                format!("  {name} {state} +{} to +{}\n", after(window.start), after(window.end))
            }
            None => format!("  {name} over\n"),
        });
        lines.collect()
    }

    fn change(&mut self, verb: &str, name: &str, options: &mut Options<'_>) -> String {
        let number = || JobId(name.parse().unwrap());
        let simulation = &mut self.simulation;
        match verb {
            "tick" => simulation.now = simulation.now.plus_seconds(name.parse().unwrap()),
            "end" => {
                let code = u32::from(options.get("fail").is_some());
                let cause = match options.get("preempted") {
                    Some(_) => EndCause::Preempted,
                    None => EndCause::Exited,
                };
                simulation.end_by(name.parse().unwrap(), cause, ExitStatus { code, signal: 0 });
                // Still being cleaned up: its nodes are not given back.
                if options.get("held").is_none() {
                    simulation.release(name.parse().unwrap());
                }
            }
            "cancel" | "hold" | "release" | "part" | "requeue" => {
                let tasks = options.get("tasks").map(|tasks| tasks.parse().unwrap());
                let target = JobTarget { job: number(), tasks };
                let body: Body = match verb {
                    "cancel" => JobCancelRequested { target, uid: 0, signal: None, batch: false }.into(),
                    "hold" => JobHeld { target, by_administrator: options.get("admin").is_some() }.into(),
                    "release" => JobReleased { target, as_owner: options.get("as_owner").is_some() }.into(),
                    "part" => JobParted { array: target.job, tasks: target.tasks.unwrap() }.into(),
                    _ => JobRequeued { job: target.job, hold: options.get("hold").is_some() }.into(),
                };
                simulation.say(Subject::Jobs, body);
            }
            "feature" => {
                let active =
                    options.get("active").map(|names| names.split(',').map(str::to_string).collect());
                let weight = options.number("weight");
                let change = NodeUpdated::new(NodeName::from(name), None, None);
                simulation.say(Subject::Admin, NodeUpdated { active_features: active, weight, ..change });
            }
            "fail" => simulation.update_node(name, NodeUpdateState::Fail),
            "unreserve" => {
                simulation.say(Subject::Jobs, ReservationDeleted { name: name.to_string() });
            }
            "drain" => simulation.update_node(name, NodeUpdateState::Drain),
            "resume" => simulation.update_node(name, NodeUpdateState::Resume),
            "down" => simulation.update_node(name, NodeUpdateState::Down),
            _ => panic!("unknown command {verb}"),
        }
        String::new()
    }
}

/// Limits by sacctmgr's names; amounts as `cpu:4,gres/gpu:a100:2`, times in minutes.
fn limits(options: &mut Options<'_>) -> Limits {
    use CountLimitName::*;
    use TresLimitName::*;
    let mut limits = Limits::default();
    let tres = [
        ("GrpTRES", GrpTres),
        ("GrpTRESMins", GrpTresMins),
        ("GrpTRESRunMins", GrpTresRunMins),
        ("MaxTRES", MaxTresPerJob),
        ("MaxTRESPN", MaxTresPerNode),
        ("MaxTRESMins", MaxTresMinsPerJob),
        ("MaxTRESPU", MaxTresPerUser),
        ("MaxTRESPA", MaxTresPerAccount),
        ("MaxTRESRunMinsPU", MaxTresRunMinsPerUser),
        ("MaxTRESRunMinsPA", MaxTresRunMinsPerAccount),
        ("MinTRES", MinTresPerJob),
    ];
    for (key, name) in tres {
        let set = options.get(key).into_iter().flat_map(|set| set.split(','));
        for (tres, amount) in set.map(|set| set.rsplit_once(':').unwrap()) {
            limits.tres_mut(name).insert(tres.to_string(), amount.parse().unwrap());
        }
    }
    let counts = [
        ("GrpJobs", GrpJobs),
        ("GrpSubmit", GrpSubmitJobs),
        ("MaxJobs", MaxJobs),
        ("MaxSubmit", MaxSubmitJobs),
        ("MaxJobsPA", MaxJobsPerAccount),
        ("MaxSubmitPA", MaxSubmitJobsPerAccount),
        ("MinPrio", MinPriority),
    ];
    for (key, name) in counts {
        *limits.count_mut(name) = options.number(key);
    }
    for (key, name) in [("GrpWall", WallLimitName::GrpWall), ("MaxWall", WallLimitName::MaxWallPerJob)] {
        *limits.wall_mut(name) = options.number(key).map(|minutes| Seconds(u64::from(minutes) * 60));
    }
    limits
}

fn priority_parameters(weights: &str, options: &mut Options<'_>) -> PriorityParameters {
    let mut parameters = PriorityParameters::default();
    for (name, weight) in weights.split(',').filter_map(|weight| weight.split_once(':')) {
        let weight: u32 = weight.parse().unwrap();
        match name {
            "age" => parameters.weight_age = weight,
            "assoc" => parameters.weight_association = weight,
            "fairshare" => parameters.weight_fair_share = weight,
            "size" => parameters.weight_job_size = weight,
            "partition" => parameters.weight_partition = weight,
            "qos" => parameters.weight_qos = weight,
            "short" => parameters.weight_short = weight,
            tres => drop(parameters.weight_tres.insert(tres.to_string(), weight)),
        }
    }
    let mut seconds = |key: &str, known: Seconds| options.number(key).map_or(known, |n| Seconds(n.into()));
    parameters.decay_half_life = seconds("half_life", parameters.decay_half_life);
    parameters.period = seconds("period", parameters.period);
    parameters.age_max = seconds("max_age", parameters.age_max);
    parameters
}

/// A partition with the settings given, and the rest as where nothing is said.
fn definition(name: &str, options: &mut Options<'_>) -> PartitionDefinition {
    let mut definition = partition(name, &options.list("nodes"));
    if let Some(minutes) = options.number("max_time") {
        definition.max_time = TimeLimit::minutes(minutes);
    }
    definition.default_time = options.number("default_time").map(TimeLimit::minutes);
    definition.min_nodes = options.number("min_nodes").unwrap_or(0);
    definition.max_nodes = options.number("max_nodes");
    definition.priority_tier = options.number("tier").unwrap_or(1);
    definition.exclusive = options.get("exclusive").is_some();
    definition.preempt_mode = options.get("mode").map(preempt_mode);
    definition.grace_time = Seconds(options.number("grace").unwrap_or(0).into());
    definition.state = match options.get("state") {
        Some("DOWN") => PartitionState::Down,
        Some("DRAIN") => PartitionState::Drain,
        Some("INACTIVE") => PartitionState::Inactive,
        _ => PartitionState::Up,
    };
    let names = |names: Vec<&str>| -> Vec<String> { names.into_iter().map(str::to_string).collect() };
    let allowed = |list: Vec<&str>| (!list.is_empty()).then(|| names(list));
    definition.allow_accounts = allowed(options.list("accounts"));
    definition.deny_accounts = names(options.list("deny_accounts"));
    definition.allow_qos = allowed(options.list("qos"));
    definition.deny_qos = names(options.list("deny_qos"));
    definition.qos = options.get("limits_of").map(str::to_string);
    definition.max_memory_per_node = options.number("max_mem").map(|most| Mebibytes(most.into()));
    definition.default_cpus_per_gpu = options.number("cpus_per_gpu");
    definition
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

fn preempt_mode(word: &str) -> PreemptMode {
    match word {
        "off" => PreemptMode::Off,
        "cancel" => PreemptMode::Cancel,
        "suspend" => PreemptMode::Suspend,
        _ => PreemptMode::Requeue,
    }
}

/// A cycle as text: one line for each decision.
pub fn describe(cycle: &Cycle) -> String {
    let mut out = String::new();
    for start in &cycle.starts {
        let task =
            start.array.map(|task| format!(" (task {}_{})", task.array_job, task.task)).unwrap_or_default();
        let inside = start.reservation.as_ref().map(|name| format!(" in {name}")).unwrap_or_default();
        writeln!(out, "  start {}{task}{inside}", start.run).unwrap();
        for share in &start.nodes {
            write!(out, "    {} cpus {} tasks {} mem {}", share.node, share.cpus, share.tasks, share.memory)
                .unwrap();
            let gpus: Vec<String> =
                share.gpus.iter().map(|gpu| format!("{}:{}", gpu.gpu_type, gpu.index)).collect();
            writeln!(out, "{}{}", if gpus.is_empty() { "" } else { " gpus " }, gpus.join(",")).unwrap();
        }
    }
    for change in &cycle.reasons {
        let separator = if change.detail.is_empty() { "" } else { ", " };
        let figures = change.figures.as_ref().map_or(String::new(), |figures| format!(" {}", json(figures)));
        writeln!(
            out,
            "  reason {} {}{separator}{}{figures}",
            change.job,
            change.reason.word(),
            change.detail
        )
        .unwrap();
    }
    for planned in &cycle.reservations {
        let nodes: Vec<&str> = planned.nodes.iter().map(NodeName::as_str).collect();
        let after = (planned.start.0 - DAWN.0) / 1_000_000;
        writeln!(out, "  protect {} at +{after} on {}", planned.job, nodes.join(",")).unwrap();
    }
    for preemption in &cycle.preemptions {
        let task = preemption
            .array
            .map(|task| format!(" (task {}_{})", task.array_job, task.task))
            .unwrap_or_default();
        let until = (preemption.grace_end.0 - DAWN.0) / 1_000_000;
        let (run, by, mode) = (preemption.run, preemption.by, preemption.mode.word());
        writeln!(out, "  preempt {run} for {by}{task} by {mode}, warned until +{until}").unwrap();
    }
    for finished in &cycle.finished {
        writeln!(out, "  finish {} {} {}", finished.job, finished.state.word(), finished.reason.word())
            .unwrap();
    }
    if cycle.bound.is_some() {
        writeln!(out, "  bounded after {} jobs", cycle.jobs_considered).unwrap();
    }
    if let Some(wake) = cycle.wake {
        writeln!(out, "  wake at +{}", (wake.0 - DAWN.0) / 1_000_000).unwrap();
    }
    if out.is_empty() {
        out.push_str(NOTHING);
    }
    out
}

/// Canonical JSON.
fn json<T: serde::Serialize>(value: &T) -> String {
    String::from_utf8(daybook_schemas::canonical::to_bytes(value).unwrap()).unwrap()
}
