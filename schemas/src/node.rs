//! What a node, a GPU, a partition and a cluster's configuration are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::grammar::index_set::IndexSet;
use crate::job::TimeLimit;
use crate::units::{GpuUuid, Mebibytes, NodeName, Seconds};

/// A GPU of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuDevice {
    /// Its index on the node, from 0 (what `CUDA_VISIBLE_DEVICES` and `IDX` show).
    pub index: u32,
    /// Its identity in the books.
    pub uuid: GpuUuid,
    /// Its type (`a100`), lower case; empty where none was declared.
    pub gpu_type: String,
    /// Its device file; absent where neither `gres.conf` nor the driver names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The cores of its node that it is bound to (`Cores`), by index; empty: none named, all are equally close.
    #[serde(default, skip_serializing_if = "IndexSet::is_empty")]
    pub cores: IndexSet,
    /// How well it is connected to each GPU of its node, by index (`Links`): the number of links, 0 for itself. Empty:
    /// unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<u32>,
}

impl GpuDevice {
    /// A GPU without a device file, with the identity that is made of its node's name where no driver gives one.
    pub fn new(node: &str, index: u32, gpu_type: &str) -> GpuDevice {
        let uuid = GpuUuid::from(format!("{node}/gpu{index}"));
        GpuDevice {
            index,
            uuid,
            gpu_type: gpu_type.to_string(),
            file: None,
            cores: IndexSet::new(),
            links: Vec::new(),
        }
    }
}

/// A node as configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeDefinition {
    /// Its name.
    pub name: NodeName,
    /// The machine that it is on (`NodeHostname`).
    pub hostname: String,
    /// `NodeAddr`.
    pub address: String,
    /// `CPUs`, at least 1.
    pub cpus: u32,
    /// `Boards`.
    pub boards: u32,
    /// Sockets in all.
    pub sockets: u32,
    /// `CoresPerSocket`.
    pub cores_per_socket: u32,
    /// `ThreadsPerCore`.
    pub threads_per_core: u32,
    /// `RealMemory`.
    pub memory: Mebibytes,
    /// `TmpDisk`.
    pub tmp_disk: Mebibytes,
    /// `Weight`: light nodes are used first.
    pub weight: u32,
    /// `Feature`, in the order given.
    pub features: Vec<String>,
    /// GPUs by index.
    pub gpus: Vec<GpuDevice>,
    /// The `Gres` text as configured, such as `gpu:a100:4`; empty: none.
    pub gres: String,
    /// True for a node without a machine: its jobs take their declared time and no process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// The state at the start by `State=`: down or drain with a reason; absent: decided by registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<InitialNodeState>,
}

impl NodeDefinition {
    /// A node of one socket on the machine of its own name, without GPUs and features.
    pub fn new(name: &str, cpus: u32, memory: Mebibytes) -> NodeDefinition {
        NodeDefinition {
            name: NodeName::from(name),
            hostname: name.to_string(),
            address: name.to_string(),
            cpus,
            boards: 1,
            sockets: 1,
            cores_per_socket: cpus,
            threads_per_core: 1,
            memory,
            tmp_disk: Mebibytes(0),
            weight: 1,
            features: Vec::new(),
            gpus: Vec::new(),
            gres: String::new(),
            simulated: false,
            initial: None,
        }
    }
}

/// `State=DOWN` or `State=DRAIN` of a `NodeName` line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InitialNodeState {
    /// `down` or `drain`.
    pub state: NodeUpdateState,
    /// `Reason=`; empty: none was given.
    pub reason: String,
}

/// What an administrator sets a node to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeUpdateState {
    /// No new work; what runs may end.
    Drain,
    /// Back from drain or down.
    Resume,
    /// Drain is taken back, down is not.
    Undrain,
    /// Not usable; what runs there ends as NODE_FAIL (or is requeued).
    Down,
    /// Expected to fail: no new work; what runs may end.
    Fail,
}

/// `ReturnToService`: which nodes come back by themselves when they are heard again. What an administrator set down stays
/// down in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReturnToService {
    /// 0: none whose runs were given up.
    Never,
    /// 1: those that were only silent, unless they rebooted meanwhile.
    UnlessRebooted,
    /// 2: all.
    #[default]
    Always,
}

/// A partition's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum PartitionState {
    /// Queues and starts.
    #[default]
    Up,
    /// Queues, does not start.
    Down,
    /// Starts what is queued, accepts no more.
    Drain,
    /// Neither.
    Inactive,
}

/// A partition as configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionDefinition {
    /// Its name.
    pub name: String,
    /// Its nodes, in the cluster's order.
    pub nodes: Vec<NodeName>,
    /// `Nodes=` as written.
    pub nodes_text: String,
    /// Whether jobs without `-p` go here.
    pub default: bool,
    /// `State`.
    pub state: PartitionState,
    /// `MaxTime`.
    pub max_time: TimeLimit,
    /// `DefaultTime`; absent: `MaxTime`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_time: Option<TimeLimit>,
    /// `MinNodes`.
    pub min_nodes: u32,
    /// `MaxNodes`; absent: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_nodes: Option<u32>,
    /// `PriorityTier`.
    pub priority_tier: u32,
    /// `PriorityJobFactor`.
    pub priority_job_factor: u32,
    /// `AllowAccounts`; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_accounts: Option<Vec<String>>,
    /// `DenyAccounts`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny_accounts: Vec<String>,
    /// `AllowGroups`; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_groups: Option<Vec<String>>,
    /// `RootOnly`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub root_only: bool,
    /// `Hidden`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// `OverSubscribe=EXCLUSIVE`: every job has its nodes alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive: bool,
    /// `LLN`: its jobs go to the nodes with the greatest share of idle CPUs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub least_loaded: bool,
    /// Default memory of jobs here; absent: the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_memory: Option<crate::job::MemoryRequest>,
    /// `AllowQos`; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_qos: Option<Vec<String>>,
    /// `DenyQos`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny_qos: Vec<String>,
    /// `AllocNodes`: machines on which jobs may be submitted; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit_hosts: Option<Vec<String>>,
    /// `DisableRootJobs`: root's jobs are refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_root_jobs: bool,
    /// `DefCpuPerGPU`: CPUs for each GPU of jobs that ask for GPUs and not for CPUs; absent: one for each task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_cpus_per_gpu: Option<u32>,
    /// `MaxMemPerNode`; absent: the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_memory_per_node: Option<Mebibytes>,
    /// `QOS`: the name of the partition's QOS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos: Option<String>,
    /// `PreemptMode`; absent: the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempt_mode: Option<crate::accounts::PreemptMode>,
    /// `GraceTime`: for how long runs here are warned before they give way to those of a higher tier.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub grace_time: Seconds,
    /// `TRESBillingWeights`; absent: a run is billed its CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing_weights: Option<crate::billing::BillingWeights>,
}

impl PartitionDefinition {
    /// A partition that is up, open to everybody and without limits.
    pub fn new(name: &str, nodes: Vec<NodeName>) -> PartitionDefinition {
        let names: Vec<&str> = nodes.iter().map(NodeName::as_str).collect();
        PartitionDefinition {
            name: name.to_string(),
            nodes_text: names.join(","),
            nodes,
            default: false,
            state: PartitionState::Up,
            max_time: TimeLimit::Unlimited,
            default_time: None,
            min_nodes: 0,
            max_nodes: None,
            priority_tier: 1,
            priority_job_factor: 1,
            allow_accounts: None,
            deny_accounts: Vec::new(),
            allow_groups: None,
            root_only: false,
            hidden: false,
            exclusive: false,
            least_loaded: false,
            default_memory: None,
            allow_qos: None,
            deny_qos: Vec::new(),
            submit_hosts: None,
            no_root_jobs: false,
            default_cpus_per_gpu: None,
            max_memory_per_node: None,
            qos: None,
            preempt_mode: None,
            grace_time: Seconds(0),
            billing_weights: None,
        }
    }

    /// Whether it starts what waits in it.
    pub fn starts_jobs(&self) -> bool {
        matches!(self.state, PartitionState::Up | PartitionState::Drain)
    }

    /// Whether it accepts jobs.
    pub fn accepts_jobs(&self) -> bool {
        matches!(self.state, PartitionState::Up | PartitionState::Down)
    }

    /// Whether it makes a difference here which account and QOS a job has.
    pub fn restricts_accounts_or_qos(&self) -> bool {
        self.allow_accounts.is_some()
            || !self.deny_accounts.is_empty()
            || self.allow_qos.is_some()
            || !self.deny_qos.is_empty()
    }

    /// Why a job of this account (empty: none) may not use it, in Slurm's words.
    pub fn account_refusal(&self, account: &str) -> Option<String> {
        refusal("account", &self.name, self.allow_accounts.as_deref(), &self.deny_accounts, account)
    }

    /// Why a job of this QOS may not use it, in Slurm's words.
    pub fn qos_refusal(&self, qos: &str) -> Option<String> {
        refusal("QOS", &self.name, self.allow_qos.as_deref(), &self.deny_qos, qos)
    }
}

/// As in Slurm a list of those that are denied counts for nothing beside one of those that are allowed.
fn refusal(
    what: &str,
    partition: &str,
    allowed: Option<&[String]>,
    denied: &[String],
    value: &str,
) -> Option<String> {
    let has = |list: &[String]| list.iter().any(|name| name.eq_ignore_ascii_case(value));
    let (verb, list, joint) = match allowed {
        Some(list) if !has(list) => ("allows", list, "not"),
        None if has(denied) => ("denies", denied, "including"),
        _ => return None,
    };
    let value = if value.is_empty() { "(null)" } else { value };
    let list = list.join(",");
    Some(format!(
        "Job's {what} not permitted to use this partition ({partition} {verb} {list} {joint} {value})"
    ))
}

/// Cluster-wide parameters that decisions depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterParameters {
    /// `KillWait`: from TERM to KILL.
    pub kill_wait: Seconds,
    /// `MinJobAge`: how long an ended job stays in the queue's memory.
    pub min_job_age: Seconds,
    /// `MaxArraySize`: task indices are below it.
    pub max_array_size: u32,
    /// `MaxJobCount`: waiting and running job records at once.
    pub max_job_count: u32,
    /// `FirstJobId`.
    pub first_job_id: u32,
    /// `DefMemPerCPU`, `DefMemPerNode` or `DefMemPerGPU`; absent: all of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_memory: Option<crate::job::MemoryRequest>,
    /// Whether memory is a consumed resource (`SelectTypeParameters` with `_Memory`).
    pub memory_is_consumed: bool,
    /// `CR_LLN` of `SelectTypeParameters`: `LLN` of every partition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub least_loaded: bool,
    /// `EnforcePartLimits`: whether what breaks a partition's limit is refused at submission.
    pub enforce_partition_limits: bool,
    /// `EnforcePartLimits=ANY`: of several partitions that a job names it need break no limit of one only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_partition_suffices: bool,
    /// `MaxMemPerNode`; absent: all that a node has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_memory_per_node: Option<Mebibytes>,
    /// `JobRequeue`: whether jobs may be requeued unless they say otherwise.
    pub job_requeue: bool,
    /// `SlurmdTimeout`: for how long a silent node's runs are waited for; 0: for ever.
    #[serde(default = "default_node_timeout")]
    pub node_timeout: Seconds,
    /// `OverTimeLimit`: minutes that a job may run beyond its limit.
    pub over_time_limit_minutes: u32,
    /// How many blocked jobs get a protected start (1: EASY backfill); `bf` in `daybook.toml`'s `[planner]`.
    pub backfill_reservations: u32,
    /// The most jobs that one planning cycle looks at.
    pub planner_jobs_max: u32,
    /// `max_switch_wait`: for how long a job may wait for few switches.
    #[serde(default = "default_switch_wait", skip_serializing_if = "is_default_switch_wait")]
    pub switch_wait_max: Seconds,
    /// `SchedulerType=sched/builtin`: a blocked job blocks everybody behind it in its partition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict_order: bool,
    /// `ReturnToService`
    #[serde(default, skip_serializing_if = "is_always")]
    pub return_to_service: ReturnToService,
    /// `kill_invalid_depend`: jobs whose dependencies can never hold are cancelled unless they say otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kill_invalid_dependency: bool,
    /// `enable_user_top`: whether users may put their own jobs in front of their others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub enable_user_top: bool,
    /// Behind protected starts the shortest expected run is tried first; `backfill_order` in `daybook.toml`'s
    /// `[planner]`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub backfill_by_expected_time: bool,
    /// `PriorityType=priority/multifactor`; absent: jobs stand in the order of their submission (`priority/basic`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<crate::priority::PriorityParameters>,
    /// `PreemptType`, and what belongs to it; absent: no run gives way (`preempt/none`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<crate::preemption::PreemptionParameters>,
    /// `suspend_grace_time`: from TSTP to STOP, where a job is suspended.
    #[serde(default = "default_suspend_grace", skip_serializing_if = "is_default_suspend_grace")]
    pub suspend_grace: Seconds,
    /// `AccountingStorageEnforce`, sorted, with all that follows from what is written there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounting_enforced: Vec<AccountingEnforcement>,
    /// `TrackWCKey`: jobs that name no workload key have their user's default, and keys are shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub track_wckeys: bool,
}

/// What of the accounts binds jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountingEnforcement {
    /// A job needs an association of its user with its account.
    Associations,
    /// Limits of associations and QOS hold.
    Limits,
    /// A job's QOS is one of its association's.
    Qos,
    /// A job starts only if limits on resource-minutes leave room for its whole time limit.
    Safe,
    /// A workload key that a job names is one of its user's.
    Wckeys,
    /// Jobs have no records in the books; the log has them.
    NoJobs,
    /// Steps have none.
    NoSteps,
}

impl ClusterParameters {
    /// Whether this binds jobs.
    pub fn enforces(&self, what: AccountingEnforcement) -> bool {
        self.accounting_enforced.contains(&what)
    }
}

impl Default for ClusterParameters {
    /// What holds where `slurm.conf` says nothing.
    fn default() -> ClusterParameters {
        ClusterParameters {
            kill_wait: Seconds(30),
            min_job_age: Seconds(300),
            max_array_size: 1001,
            max_job_count: 10_000,
            first_job_id: 1,
            default_memory: None,
            memory_is_consumed: true,
            least_loaded: false,
            enforce_partition_limits: false,
            one_partition_suffices: false,
            max_memory_per_node: None,
            job_requeue: true,
            node_timeout: default_node_timeout(),
            over_time_limit_minutes: 0,
            backfill_reservations: 1,
            planner_jobs_max: 10_000,
            switch_wait_max: default_switch_wait(),
            strict_order: false,
            return_to_service: ReturnToService::Always,
            kill_invalid_dependency: false,
            enable_user_top: false,
            backfill_by_expected_time: false,
            priority: None,
            preemption: None,
            suspend_grace: default_suspend_grace(),
            accounting_enforced: Vec::new(),
            track_wckeys: false,
        }
    }
}

/// Slurm's.
fn default_suspend_grace() -> Seconds {
    Seconds(2)
}

fn is_default_suspend_grace(grace: &Seconds) -> bool {
    *grace == default_suspend_grace()
}

/// Slurm's `max_switch_wait` where nobody says.
fn default_switch_wait() -> Seconds {
    Seconds(300)
}

fn is_default_switch_wait(wait: &Seconds) -> bool {
    *wait == default_switch_wait()
}

fn is_no_time(time: &Seconds) -> bool {
    time.0 == 0
}

fn is_always(rule: &ReturnToService) -> bool {
    *rule == ReturnToService::Always
}

/// Slurm's `SlurmdTimeout` where nobody says.
fn default_node_timeout() -> Seconds {
    Seconds(300)
}
