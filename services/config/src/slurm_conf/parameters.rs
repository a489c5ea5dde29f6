//! Cluster-wide parameters.

use daybook_schemas::Seconds;
use daybook_schemas::grammar::license;
use daybook_schemas::job::MemoryRequest;
use daybook_schemas::license::License;
use daybook_schemas::node::{AccountingEnforcement, ClusterParameters, ReturnToService};

use super::enforcement::enforced;
use super::parameter_keys::SCHEDULER_OPTIONS;
use super::partition::max_memory;
use super::preemption::{preemption, suspend_grace};
use super::priority::priority;
use super::{SLURM_CONF, SlurmConf};
use crate::daybook_toml::BACKFILL_RESERVATIONS_MAX;
use crate::diagnostic::{Findings, Place, did_you_mean};
use crate::keys::{Key, is_supported, known_word, no_effect, not_needed, supported};
use crate::lines::Pair;
use crate::machine::Machine;
use crate::values;

/// What the cluster is called where nobody says.
pub(crate) const CLUSTER_NAME: &str = "cluster";
/// The most jobs that one planning cycle looks at, where nobody says.
pub(crate) const PLANNER_JOBS_MAX: u32 = 10_000;
/// The bound of that bound.
pub(crate) const PLANNER_JOBS_MAX_MAX: u32 = 10_000_000;
/// Slurm keeps these in 16 bits.
const SIXTEEN_BITS_MAX: u32 = 65_533;
/// `MinJobAge=0` keeps ended jobs always: for 136 years.
const ALWAYS: Seconds = Seconds(u32::MAX as u64);

/// What the parameters say.
pub(crate) struct Parameters {
    pub cluster_name: String,
    pub cluster: ClusterParameters,
    pub licenses: Vec<License>,
    /// User ids.
    pub administrators: Vec<u32>,
    /// `SlurmdSpoolDir`.
    pub spool_dir: Option<Pair>,
    /// `select/linear`: every job has its nodes alone.
    pub whole_nodes: bool,
    /// `GresTypes`, lower case; absent where it is not given.
    pub gres_types: Option<Vec<String>>,
    /// Where CPUs are to be given out by the core or the socket.
    pub coarse_cpus: Option<Pair>,
}

/// The parameters that hold where `slurm.conf` names none: Slurm's own.
pub(crate) fn defaults() -> ClusterParameters {
    ClusterParameters { planner_jobs_max: PLANNER_JOBS_MAX, ..ClusterParameters::default() }
}

/// Reads the parameters.
pub(crate) fn parameters(conf: &SlurmConf, machine: &dyn Machine, findings: &mut Findings) -> Parameters {
    let mut cluster = defaults();
    numbers(conf, &mut cluster, findings);
    if let Some(memory) = default_memory(|key| conf.parameter(key), findings) {
        // All of the node's memory is what happens without a default.
        let is_all =
            matches!(memory, MemoryRequest::PerNode(amount) | MemoryRequest::PerCpu(amount) if amount.0 == 0);
        cluster.default_memory = (!is_all).then_some(memory);
    }
    if let Some(pair) = conf.parameter("EnforcePartLimits") {
        const WORDS: &[(&str, (bool, bool))] =
            &[("NO", (false, false)), ("ALL", (true, false)), ("YES", (true, false)), ("ANY", (true, true))];
        if let Some((enforced, any)) = values::choice(pair, WORDS, findings) {
            cluster.enforce_partition_limits = enforced;
            cluster.one_partition_suffices = any;
        }
    }
    if let Some(pair) = conf.parameter("MaxMemPerNode") {
        cluster.max_memory_per_node = max_memory(pair, findings);
    }
    if let Some(pair) = conf.parameter("JobRequeue")
        && let Some(requeue) = values::number(pair, 0, 1, findings)
    {
        cluster.job_requeue = requeue == 1;
    }
    let rule = conf.parameter("ReturnToService").and_then(|pair| values::number(pair, 0, 2, findings));
    cluster.return_to_service = match rule {
        Some(2) => ReturnToService::Always,
        Some(1) => ReturnToService::UnlessRebooted,
        _ => ReturnToService::Never,
    };
    if let Some(pair) = conf.parameter("AccountingStorageEnforce") {
        cluster.accounting_enforced = enforced(pair, findings);
    }
    if let Some(pair) = conf.parameter("TrackWCKey")
        && let Some(tracks) = values::boolean(pair, findings)
    {
        cluster.track_wckeys = tracks;
    }
    // As in Slurm: who enforces keys tracks them.
    cluster.track_wckeys |= cluster.enforces(AccountingEnforcement::Wckeys);
    let whole_nodes = select_type(conf, findings);
    let coarse_cpus = select_type_parameters(conf, &mut cluster, findings);
    scheduler_type(conf, &mut cluster, findings);
    scheduler_parameters(conf, &mut cluster, findings);
    cluster.priority = priority(conf, findings);
    cluster.preemption = preemption(conf, findings);
    cluster.suspend_grace = suspend_grace(conf, findings).unwrap_or(cluster.suspend_grace);
    Parameters {
        cluster_name: cluster_name(conf, findings),
        cluster,
        licenses: licenses(conf, findings),
        administrators: administrators(conf, machine, findings),
        spool_dir: conf.parameter("SlurmdSpoolDir").cloned(),
        whole_nodes,
        gres_types: gres_types(conf, findings),
        coarse_cpus,
    }
}

fn numbers(conf: &SlurmConf, cluster: &mut ClusterParameters, findings: &mut Findings) {
    let mut number = |key: &str, min: u32, max: u32| {
        conf.parameter(key).and_then(|pair| values::number32(pair, min, max, findings))
    };
    if let Some(seconds) = number("KillWait", 0, SIXTEEN_BITS_MAX) {
        cluster.kill_wait = Seconds(seconds.into());
    }
    if let Some(seconds) = number("MinJobAge", 0, u32::MAX - 1) {
        cluster.min_job_age = if seconds == 0 { ALWAYS } else { Seconds(seconds.into()) };
    }
    if let Some(seconds) = number("SlurmdTimeout", 0, SIXTEEN_BITS_MAX) {
        cluster.node_timeout = Seconds(seconds.into());
    }
    if let Some(size) = number("MaxArraySize", 0, 4_000_001) {
        cluster.max_array_size = size;
    }
    if let Some(count) = number("MaxJobCount", 1, 10_000_000) {
        cluster.max_job_count = count;
    }
    if let Some(id) = number("FirstJobId", 1, u32::MAX / 2) {
        cluster.first_job_id = id;
    }
    let Some(pair) = conf.parameter("OverTimeLimit") else { return };
    if values::is_unlimited(pair) {
        let remedy = format!("{SIXTEEN_BITS_MAX} minutes (45 days) are used");
        findings.warning(&pair.place, format!("{} is not supported", pair.text()), remedy);
        cluster.over_time_limit_minutes = SIXTEEN_BITS_MAX;
    } else if let Some(minutes) = values::number32(pair, 0, SIXTEEN_BITS_MAX, findings) {
        cluster.over_time_limit_minutes = minutes;
    }
}

/// `DefMemPerNode`, else `DefMemPerCPU`, else `DefMemPerGPU`; what stands beside the one used is reported.
pub(super) fn default_memory<'a>(
    get: impl Fn(&str) -> Option<&'a Pair>,
    findings: &mut Findings,
) -> Option<MemoryRequest> {
    let given: Vec<&Pair> =
        ["DefMemPerNode", "DefMemPerCPU", "DefMemPerGPU"].iter().filter_map(|key| get(key)).collect();
    let (&used, others) = given.split_first()?;
    for other in others {
        let what = format!("{} stands beside {}", other.text(), used.text());
        findings.warning(&other.place, what, format!("{} is used; remove one of them", used.key));
    }
    let amount = match values::is_unlimited(used) {
        true => daybook_schemas::Mebibytes(0),
        false => values::mebibytes(used, 0, findings)?,
    };
    Some(match used.key.to_ascii_lowercase().as_str() {
        "defmempernode" => MemoryRequest::PerNode(amount),
        "defmempercpu" => MemoryRequest::PerCpu(amount),
        _ => MemoryRequest::PerGpu(amount),
    })
}

fn cluster_name(conf: &SlurmConf, findings: &mut Findings) -> String {
    let Some(pair) = conf.parameter("ClusterName") else {
        let remedy = format!("\"{CLUSTER_NAME}\" is used; add a line such as ClusterName=hall1");
        findings.warning(&Place::file(SLURM_CONF), "ClusterName is missing", remedy);
        return CLUSTER_NAME.to_string();
    };
    let legal = pair.value.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    if !legal || pair.value.is_empty() {
        let what = format!("{} is no name of a cluster", pair.text());
        findings.error(&pair.place, what, "use letters, digits, _, - and .");
    }
    pair.value.to_ascii_lowercase()
}

fn administrators(conf: &SlurmConf, machine: &dyn Machine, findings: &mut Findings) -> Vec<u32> {
    let Some(pair) = conf.parameter("SlurmUser") else { return Vec::new() };
    // Slurm's notation may have the number behind the name.
    let user = pair.value.split('(').next().unwrap_or_default();
    match user.parse().ok().or_else(|| machine.user_id(user)) {
        // Root is an administrator anyway.
        Some(0) => Vec::new(),
        Some(uid) => vec![uid],
        None => {
            let what = format!("{}: this machine knows no such user", pair.text());
            findings.warning(&pair.place, what, "nobody becomes an administrator by it; root is one anyway");
            Vec::new()
        }
    }
}

/// The cluster's licences. `(null)` is how Slurm shows that there are none.
fn licenses(conf: &SlurmConf, findings: &mut Findings) -> Vec<License> {
    let Some(pair) = conf.parameter("Licenses").filter(|pair| pair.value != "(null)") else {
        return Vec::new();
    };
    license::parse(&pair.value).unwrap_or_else(|error| {
        let remedy = "write names with counts, such as Licenses=matlab:10,ansys:4";
        findings.error(&pair.place, format!("Licenses: {error}"), remedy);
        Vec::new()
    })
}

fn gres_types(conf: &SlurmConf, findings: &mut Findings) -> Option<Vec<String>> {
    let pair = conf.parameter("GresTypes")?;
    let types: Vec<String> = values::list(&pair.value).iter().map(|name| name.to_ascii_lowercase()).collect();
    for other in types.iter().filter(|name| !matches!(name.as_str(), "gpu" | "none")) {
        let setting = format!("GresTypes={other}");
        findings.without_effect(&pair.place, &setting, "any generic resource but gpu");
    }
    Some(types)
}

/// Whether every job has its nodes alone.
fn select_type(conf: &SlurmConf, findings: &mut Findings) -> bool {
    let Some(pair) = conf.parameter("SelectType") else { return false };
    const WORDS: &[(&str, bool)] =
        &[("select/cons_tres", false), ("select/cons_res", false), ("select/linear", true)];
    values::choice(pair, WORDS, findings).unwrap_or(false)
}

/// What words of tasks' placement are about.
const PLACEMENT: &str = "this way of placing tasks";

/// Words of `SelectTypeParameters`. CPUs are given out one by one: where a core or socket has several, words that
/// ask for whole ones are reported apart.
pub(crate) const SELECT_OPTIONS: &[Key] = &[
    supported("CR_Core", "CPUs; a warning where a core has several, which are given out one by one"),
    no_effect("CR_Core_Default_Dist_Block", PLACEMENT),
    supported("CR_Core_Memory", "the same as CR_Core, and memory"),
    supported("CR_CPU", "CPUs"),
    supported("CR_CPU_Memory", "CPUs and memory"),
    supported("CR_LLN", "LLN of every partition"),
    supported("CR_Memory", "memory beside CPUs"),
    no_effect("CR_One_Task_Per_Core", PLACEMENT),
    no_effect("CR_Pack_Nodes", PLACEMENT),
    supported("CR_Socket", "CPUs; a warning where a socket has several, which are given out one by one"),
    supported("CR_Socket_Memory", "the same as CR_Socket, and memory"),
    no_effect("ENFORCE_BINDING_GRES", PLACEMENT),
    no_effect("LL_SHARED_GRES", PLACEMENT),
    no_effect("MULTIPLE_SHARING_GRES_PJ", PLACEMENT),
    not_needed("NONE", "no word"),
    no_effect("ONE_TASK_PER_SHARING_GRES", PLACEMENT),
    not_needed("OTHER_CONS_RES", "what select/linear is done by anyway"),
    not_needed("OTHER_CONS_TRES", "what select/linear is done by anyway"),
];
/// Those that give CPUs out by the core or socket.
const COARSE_OPTIONS: [&str; 4] = ["CR_Core", "CR_Core_Memory", "CR_Socket", "CR_Socket_Memory"];

/// Whether memory is consumed; the pair where CPUs are to be given out by the core or the socket.
fn select_type_parameters(
    conf: &SlurmConf,
    cluster: &mut ClusterParameters,
    findings: &mut Findings,
) -> Option<Pair> {
    let pair = conf.parameter("SelectTypeParameters")?;
    let mut coarse = None;
    let options = values::list(&pair.value);
    let is_given = |word: &str| options.iter().any(|option| option.eq_ignore_ascii_case(word));
    cluster.memory_is_consumed =
        options.iter().any(|option| option.to_ascii_lowercase().ends_with("_memory"));
    cluster.least_loaded = is_given("CR_LLN");
    for option in &options {
        let key = known_word(pair, option, SELECT_OPTIONS, findings);
        if key.is_some_and(|key| COARSE_OPTIONS.contains(&key.name)) {
            coarse = Some(pair.clone());
        }
    }
    coarse
}

fn scheduler_type(conf: &SlurmConf, cluster: &mut ClusterParameters, findings: &mut Findings) {
    let Some(pair) = conf.parameter("SchedulerType") else { return };
    const WORDS: &[(&str, bool)] = &[("sched/backfill", false), ("sched/builtin", true)];
    if let Some(is_strict) = values::choice(pair, WORDS, findings) {
        cluster.strict_order = is_strict;
    }
}

/// Options of the scheduler: names, or `name=value`. Slurm passes over unknown ones; here they are reported.
fn scheduler_parameters(conf: &SlurmConf, cluster: &mut ClusterParameters, findings: &mut Findings) {
    let Some(pair) = conf.parameter("SchedulerParameters") else { return };
    for option in values::list(&pair.value) {
        let (name, value) = option.split_once('=').unwrap_or((&option, ""));
        let option = Pair { key: name.to_string(), value: value.to_string(), place: pair.place.clone() };
        if crate::keys::find(SCHEDULER_OPTIONS, name).is_none() {
            let names = SCHEDULER_OPTIONS.iter().map(|key| key.name);
            let remedy = did_you_mean(name, names, "it has no effect; Slurm does not know it either");
            findings.warning(
                &pair.place,
                format!("unknown option \"{name}\" in SchedulerParameters"),
                remedy,
            );
            continue;
        }
        let supported = is_supported(&option, SCHEDULER_OPTIONS, "option", findings);
        if !supported {
            continue;
        }
        if name.eq_ignore_ascii_case("preempt_youngest_first") {
            // It is a word of PreemptParameters today.
        } else if name.eq_ignore_ascii_case("kill_invalid_depend") {
            cluster.kill_invalid_dependency = true;
        } else if name.eq_ignore_ascii_case("enable_user_top") {
            cluster.enable_user_top = true;
        } else if name.eq_ignore_ascii_case("bf_job_part_count_reserve") {
            if let Some(jobs) = values::number32(&option, 1, BACKFILL_RESERVATIONS_MAX, findings) {
                cluster.backfill_reservations = jobs;
            }
        } else if name.eq_ignore_ascii_case("max_switch_wait") {
            if let Some(seconds) = values::number32(&option, 0, u32::MAX, findings) {
                cluster.switch_wait_max = Seconds(seconds.into());
            }
        } else if let Some(jobs) = values::number32(&option, 1, PLANNER_JOBS_MAX_MAX, findings) {
            cluster.planner_jobs_max = jobs;
        }
    }
}
