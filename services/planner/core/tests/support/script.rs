//! Scripts: commands in, text out; see `tests/scripts/`.
//!
//! ```text
//! The site (script/site.rs)
//! cluster licenses=matlab:2,ansys switch_wait=300 block_sizes=2,4 memory=on order=strict|expected|queue reservations=1 jobs_max=100
//!        default_mem_per_cpu=500 kill_invalid_depend kill_wait=30 lln enforce=limits,safe
//!        weights=age:1000,fairshare:10000,size:100,short:500,qos:10,partition:10 half_life=3600 period=300 max_age=86400
//!        flags=MAX_TRES
//!        preempt=qos|tier mode=requeue exempt=60 youngest_first exempt_above=5
//! node node01 cpus=8 mem=16000 gpus=a100,a100 weight=1 features=a,b sockets=2 threads=2 unregistered
//!      cores=0-3/4-7 links=0,4/4,0 (of each GPU)
//! switch leaf1 nodes=node01,node02 | switch top switches=leaf1,leaf2 | block b1 nodes=node01,node02
//! partition main nodes=node01,node02 max_time=60 default_time=10 min_nodes=1 max_nodes=2 tier=1 state=UP exclusive lln
//!      accounts=ml deny_accounts=bio qos=high deny_qos=low max_mem=500 cpus_per_gpu=2 limits_of=QOS mode=cancel grace=60
//!      billing=cpu=1,mem=0.25G,gres/gpu=2
//!
//! Accounts (script/accounts.rs)
//! account NAME parent=root shares=1 | user NAME account=ml shares=1|parent
//! qos NAME priority=10 factor=2000000 flags=NoReserve limit_factor= threshold= (millionths) preempt=low,mid mode=off grace=60 exempt=60
//!      (all with limits: GrpTRES=cpu:4,gres/gpu:a100:2 GrpTRESMins= GrpTRESRunMins= MaxTRES= MaxTRESPN= MaxTRESMins= MaxTRESPU=
//!      MaxTRESPA= MaxTRESRunMinsPU= MaxTRESRunMinsPA= MinTRES= GrpJobs= GrpSubmit= MaxJobs= MaxSubmit= MaxJobsPA= MaxSubmitPA=
//!      MinPrio= GrpWall= MaxWall= (minutes) GrpAccrue= MaxAccrue= MaxAccruePA=)
//! calculate (where it is time) | priorities | ages (since when who gains priority by age, as how many jobs)
//!
//! Jobs (script/jobs.rs)
//! submit NAME p=main,short account=ml qos=high t=30|NONE N=1-2 n=4 c=2 tpn=2 mem=500 mem_per_cpu=500 mem_per_gpu=500 gres=a100:2
//!        gpus=2 gpt=1 L=matlab:2,ansys contiguous switches=1@300 exclusive w=node01 x=node02 C=a array=0-9%2 begin=60 nice=5
//!        after=ok:1 d=afterok:1?singleton (as typed) kill keep hold norequeue reservation=r1,r2 uid=1002 user=bob time_min=30
//!        deadline=90 (minutes from now)
//! update JOB nice=5 priority=7 site=-7 t=30 time_min=5 deadline=90 d=afterok:1 p=main throttle=2
//! part ARRAY tasks=1-3 | hold JOB [admin] [tasks=1-3] | release JOB [as_owner] [tasks=1-3] | requeue JOB [hold] | cancel JOB [tasks=1-3]
//!
//! Reservations (script/reservations.rs)
//! reserve NAME nodes=node01 cpus=0-3/0 (of each node) in=3600 for=1800 uids=1001 accounts=ml flags=maint,flex,overlap,magnetic,daily,purge=300,float
//! unreserve NAME | reservations
//!
//! What happens, and what is asked
//! suspend JOB | unsuspend JOB | stopped RUN | going RUN (what the run's node says of the last order)
//! plan | tick SECONDS | end RUN [fail] [preempted|limit|unfit] [held] | drain NODE | fail NODE | resume NODE | down NODE
//! withdraw NODE why=text (said by its agent) | reason NODE
//! feature NODE active=a,b weight=3 | update PARTITION … | delete PARTITION (while it runs; the settings of `partition`)
//! why JOB | jobs | details JOB | fragmentation
//! ```
//!
//! Where lines of the first six kinds stand behind others, they change the configuration.

mod accounts;
pub mod jobs;
mod reservations;
mod site;
mod told;

use std::fmt::Write;

use daybook_schemas::events::{
    JobCancelRequested, JobHeld, JobParted, JobReleased, JobRequeued, JobResumeRequested,
    JobSuspendRequested, JobTarget, NodeUpdated, PartitionDeleted, PartitionUpdated, ReservationDeleted,
    RunResumed, RunSuspended,
};
use daybook_schemas::license::License;
use daybook_schemas::node::{ClusterParameters, NodeDefinition, NodeUpdateState, PartitionDefinition};
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::topology::{BlockTopology, SwitchDefinition};
use daybook_schemas::{Body, JobId, NodeName, RunId, Subject};

use super::{Simulation, configuration, parameters};

use site::definition;

#[allow(unused_imports)] // each test binary uses its own part
pub use jobs::set_request;
pub use told::describe;

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
            "ages" => self.ages(),
            _ => self.change(verb, name, &mut options),
        };
        assert!(options.0.is_empty(), "{line}: unknown {:?}", options.0);
        said
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

    fn plan(&mut self) -> String {
        let before = self.simulation.cluster.position();
        let cycle = self.simulation.plan();
        let said = describe(&cycle);
        let is_silent = said == NOTHING || self.simulation.cluster.position() > before;
        said + if is_silent { "" } else { "  (no news: not recorded)\n" }
    }

    fn change(&mut self, verb: &str, name: &str, options: &mut Options<'_>) -> String {
        let number = || JobId(name.parse().unwrap());
        let simulation = &mut self.simulation;
        match verb {
            "tick" => simulation.now = simulation.now.plus_seconds(name.parse().unwrap()),
            "end" => {
                let code = u32::from(options.get("fail").is_some());
                let cause = match (options.get("preempted"), options.get("limit"), options.get("unfit")) {
                    (Some(_), _, _) => EndCause::Preempted,
                    (_, Some(_), _) => EndCause::TimeLimit,
                    (_, _, Some(_)) => EndCause::NodeUnfit,
                    _ => EndCause::Exited,
                };
                simulation.end_by(name.parse().unwrap(), cause, ExitStatus { code, signal: 0 });
                // Still being cleaned up: its nodes are not given back.
                if options.get("held").is_none() {
                    simulation.release(name.parse().unwrap());
                }
            }
            "suspend" => {
                simulation.say(Subject::Jobs, JobSuspendRequested { job: number(), uid: 0 });
            }
            "unsuspend" => {
                simulation.say(Subject::Jobs, JobResumeRequested { job: number(), uid: 0 });
            }
            "stopped" | "going" => {
                let run: RunId = name.parse().unwrap();
                let ordered = simulation.cluster.runs()[&run].ordered;
                let node = simulation.cluster.runs()[&run].nodes[0].node.clone();
                let body: Body = match verb {
                    "stopped" => RunSuspended { run, node: node.clone(), ordered }.into(),
                    _ => RunResumed { run, node: node.clone(), ordered }.into(),
                };
                simulation.say(Subject::Node(node), body);
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
            // By its own agent.
            "withdraw" => {
                let why = options.get("why").map(str::to_string);
                let data = NodeUpdated::new(name.into(), Some(NodeUpdateState::Drain), why);
                simulation.say(Subject::Node(name.into()), data);
            }
            "reason" => {
                let reason = simulation.cluster.nodes()[&NodeName::from(name)].reason.clone();
                return reason.map_or("  none\n".to_string(), |reason| format!("  {}\n", reason.text));
            }
            "resume" => simulation.update_node(name, NodeUpdateState::Resume),
            "down" => simulation.update_node(name, NodeUpdateState::Down),
            _ => panic!("unknown command {verb}"),
        }
        String::new()
    }
}
