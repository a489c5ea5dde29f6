//! What each factor is at its edges, and that the addends make the priority.

mod history;

use daybook_model::{Cluster, Job, addends, priority_of};
use daybook_schemas::accounts::{AccountUser, Association, Qos};
use daybook_schemas::events::{
    AssociationDefined, Body, ClusterConfigured, JobHeld, JobReleased, JobSubmitted, JobTarget, JobUpdated,
    PrioritiesCalculated, QosDefined, UserDefined,
};
use daybook_schemas::job::{GpuRequest, GpuScope, JobSpec, MemoryRequest, ResourceRequest, TimeLimit};
use daybook_schemas::node::{ClusterParameters, GpuDevice, NodeDefinition, PartitionDefinition};
use daybook_schemas::priority::{
    PRIORITY_FACTOR_ONE as ONE, PriorityFactors, PriorityFlag, PriorityParameters,
};
use daybook_schemas::{JobId, Mebibytes, Seconds, Subject};
use history::History;

const DAY: i64 = 86_400;

/// Four nodes of 8 CPUs, 1000 MiB and 2 GPUs; two partitions, one of half of them.
fn configuration(parameters: Option<PriorityParameters>) -> ClusterConfigured {
    let names = ["n1", "n2", "n3", "n4"];
    let node = |name: &&str| NodeDefinition {
        gpus: (0..2).map(|index| GpuDevice::new(name, index, "a100")).collect(),
        ..NodeDefinition::new(name, 8, Mebibytes(1_000))
    };
    let partition = |name: &str, nodes: &[&str], priority_job_factor| PartitionDefinition {
        priority_job_factor,
        default_time: Some(TimeLimit::minutes(60)),
        ..PartitionDefinition::new(name, nodes.iter().map(|name| (*name).into()).collect())
    };
    ClusterConfigured {
        cluster_name: "test".into(),
        nodes: names.iter().map(node).collect(),
        partitions: vec![partition("main", &names, 1), partition("short", &names[..2], 10)],
        parameters: ClusterParameters { priority: parameters, ..ClusterParameters::default() },
        ..ClusterConfigured::default()
    }
}

fn weights() -> PriorityParameters {
    PriorityParameters {
        weight_age: 1_000,
        weight_association: 100,
        weight_fair_share: 10_000,
        weight_job_size: 1_000,
        weight_partition: 1_000,
        weight_qos: 10_000,
        weight_short: 2_000,
        weight_tres: [("cpu".into(), 320), ("mem".into(), 400), ("gres/gpu:a100".into(), 80)].into(),
        age_max: Seconds(DAY as u64),
        ..PriorityParameters::default()
    }
}

/// A cluster with an account `ml`, its user user1 with priority 3 of at most 6, and a QOS `high` of 5 of at most 10.
fn history(parameters: PriorityParameters) -> History {
    let mut history = History::new();
    history.say(Subject::Admin, configuration(Some(parameters)));
    let account = Association {
        id: 3,
        account: "ml".into(),
        parent: Some("root".into()),
        priority: Some(3),
        ..Association::default()
    };
    let other = Association { id: 5, account: "bio".into(), priority: Some(6), ..account.clone() };
    let user =
        Association { id: 4, user: Some("user1".into()), parent: None, priority: None, ..account.clone() };
    for association in [account, user, other] {
        history.say(Subject::Jobs, AssociationDefined { association });
    }
    let user =
        AccountUser { name: "user1".into(), default_account: Some("ml".into()), ..AccountUser::default() };
    history.say(Subject::Jobs, UserDefined { user });
    for (id, name, priority) in [(2, "high", 5), (3, "higher", 10)] {
        history.say(Subject::Jobs, QosDefined { qos: Qos { priority, ..Qos::new(id, name) } });
    }
    calculate(&mut history);
    history
}

fn calculate(history: &mut History) {
    let (input, at) = (history.cluster.position(), history.now());
    history.say(Subject::Plan, PrioritiesCalculated { input, at });
}

fn submit(history: &mut History, change: impl FnOnce(&mut JobSpec)) -> JobId {
    let job = history.cluster.next_job_id();
    let mut spec = history::spec("job", 1);
    change(&mut spec);
    history.say(Subject::Jobs, JobSubmitted { job, ids: 1, spec });
    job
}

fn record(cluster: &Cluster, job: JobId) -> &Job {
    &cluster.jobs()[&job]
}

fn factors(history: &History, job: JobId) -> PriorityFactors {
    *record(&history.cluster, job).priority_factors.clone().expect("made of factors")
}

fn request(spec: &mut JobSpec, nodes: u32, tasks: u32) -> &mut ResourceRequest {
    let request = spec.request_mut();
    (request.nodes_min, request.tasks) = (nodes, tasks);
    request
}

#[test]
fn the_age_grows_from_when_it_could_have_started_to_its_most() {
    let mut history = history(weights());
    let free = submit(&mut history, |_| ());
    let held = submit(&mut history, |spec| spec.hold = true);
    let mut ages = Vec::new();
    for seconds in [0, DAY / 4, DAY / 4, DAY / 2 - 1, 1, DAY] {
        history.wait(seconds);
        calculate(&mut history);
        ages.push(factors(&history, free).age);
        assert_eq!(factors(&history, held).age, 0, "a held job does not age");
    }
    let almost = u64::try_from((u128::from(ONE) * (DAY as u128 - 1)).div_ceil(DAY as u128)).unwrap();
    assert_eq!(ages, [0, ONE / 4, ONE / 2, almost, ONE, ONE]);

    let accrue = PriorityParameters { flags: vec![PriorityFlag::AccrueAlways], ..weights() };
    let mut history = self::history(accrue);
    let held = submit(&mut history, |spec| spec.hold = true);
    history.wait(DAY / 2);
    calculate(&mut history);
    assert_eq!(factors(&history, held).age, ONE / 2, "but with ACCRUE_ALWAYS");
}

#[test]
fn the_size_is_the_mean_of_parts_of_nodes_and_cpus() {
    // nodes, tasks, factor in 64ths: large, small, and relative to an hour of a whole cluster (in 64ths of a 60th)
    let table = [(1, 1, 9), (1, 8, 16), (2, 16, 32), (4, 32, 64), (4, 4, 36)];
    for (nodes, tasks, part) in table {
        let size = |parameters: PriorityParameters| {
            let mut history = history(parameters);
            let job = submit(&mut history, |spec| {
                request(spec, nodes, tasks);
            });
            factors(&history, job).job_size
        };
        assert_eq!(size(weights()), ONE / 64 * part, "{nodes} {tasks}");
        let small = PriorityParameters { favor_small: true, ..weights() };
        assert_eq!(size(small), ONE - ONE / 64 * part, "{nodes} {tasks}");
        let relative = PriorityParameters { flags: vec![PriorityFlag::SmallRelativeToTime], ..weights() };
        let cpus = u128::from((nodes * 8).max(tasks));
        assert_eq!(u128::from(size(relative)), (cpus * u128::from(ONE)).div_ceil(32 * 60), "{nodes} {tasks}");
    }
}

#[test]
fn partition_qos_association_and_limit_have_their_parts() {
    let mut history = history(weights());
    let plain = submit(&mut history, |_| ());
    let special = submit(&mut history, |spec| {
        spec.partition = "short".into();
        spec.qos = Some("high".into());
        spec.time_limit = Some(TimeLimit::Seconds(1_200));
    });
    let endless = submit(&mut history, |spec| spec.time_limit = Some(TimeLimit::Unlimited));
    let stranger = submit(&mut history, |spec| *spec = history::spec("job", 9));
    let of = |job| {
        let found = factors(&history, job);
        (found.partition, found.qos, found.association, found.fair_share, found.short)
    };
    let tenth = ONE.div_ceil(10);
    // Two users (root too) that have used nothing: both have the first rank.
    assert_eq!(of(plain), (tenth, 0, ONE / 2, ONE, ONE / 2));
    assert_eq!(of(special), (ONE, ONE / 2, ONE / 2, ONE, ONE / 4 * 3));
    assert_eq!(of(endless), (tenth, 0, ONE / 2, ONE, 0));
    assert_eq!(of(stranger), (tenth, 0, 0, 0, ONE / 2));

    use PriorityFlag::{NoNormalAssoc, NoNormalPart, NoNormalQos};
    let raw = PriorityParameters { flags: vec![NoNormalAssoc, NoNormalPart, NoNormalQos], ..weights() };
    history.say(Subject::Admin, configuration(Some(raw)));
    let found = factors(&history, special);
    assert_eq!((found.partition, found.qos, found.association), (10 * ONE, 5 * ONE, 3 * ONE));
}

#[test]
fn resources_are_parts_of_what_the_partition_has() {
    let mut history = history(weights());
    let job = submit(&mut history, |spec| {
        spec.partition = "short".into();
        let request = request(spec, 2, 4);
        request.memory = Some(MemoryRequest::PerNode(Mebibytes(500)));
        request.gpus = vec![GpuRequest { scope: GpuScope::Node, gpu_type: Some("a100".into()), count: 1 }];
    });
    let found = factors(&history, job).tres;
    let parts: Vec<(&str, u64)> = found.iter().map(|(name, factor)| (name.as_str(), *factor)).collect();
    assert_eq!(parts, [("cpu", ONE / 4), ("gres/gpu:a100", ONE / 2), ("mem", ONE / 2)]);
    let made = addends(&weights(), &factors(&history, job), 0, 0);
    assert_eq!(made.tres.values().copied().collect::<Vec<_>>(), [80, 40, 200]);
}

#[test]
fn the_addends_with_site_and_nice_make_the_priority_and_at_least_one() {
    let mut history = history(weights());
    let job = submit(&mut history, |spec| spec.nice = 7);
    history.say(Subject::Jobs, JobUpdated { job, site_factor: Some(50), ..JobUpdated::default() });
    let found = record(&history.cluster, job);
    let made = addends(&weights(), found.priority_factors.as_ref().unwrap(), found.site_factor, found.nice);
    let sum = made.association + made.fair_share + made.job_size + made.partition + made.qos + made.short;
    assert_eq!(u64::from(found.priority), sum + made.tres.values().sum::<u64>() + 50 - 7);
    assert_eq!(found.priority, priority_of(&made));
    for (nice, expected) in [(i32::MAX, 1), (i32::MIN, u32::MAX)] {
        history.say(Subject::Jobs, JobUpdated { job, nice: Some(nice), ..JobUpdated::default() });
        assert!(record(&history.cluster, job).priority <= expected);
        assert!(record(&history.cluster, job).priority >= 1);
    }
}

#[test]
fn what_is_set_by_hand_stays_until_it_is_released() {
    let mut history = history(weights());
    let job = submit(&mut history, |_| ());
    let made = record(&history.cluster, job).priority;
    history.say(Subject::Jobs, JobUpdated { job, priority: Some(77), ..JobUpdated::default() });
    calculate(&mut history);
    history.say(Subject::Jobs, JobUpdated { job, nice: Some(5), ..JobUpdated::default() });
    assert_eq!(record(&history.cluster, job).priority, 77);
    let target = || JobTarget { job, tasks: None };
    history.say(Subject::Jobs, JobHeld { target: target(), by_administrator: true });
    assert_eq!(record(&history.cluster, job).shown_priority(), 0);
    history.say(Subject::Jobs, JobReleased { target: target(), as_owner: false });
    assert_eq!(record(&history.cluster, job).priority, made, "what was set takes nice back");
}

#[test]
fn without_factors_jobs_fall_back_to_the_order_of_their_submission() {
    let mut history = History::new();
    history.say(Subject::Admin, configuration(None));
    let before = submit(&mut history, |_| ());
    let basic = record(&history.cluster, before).priority;
    history.say(Subject::Admin, configuration(Some(weights())));
    assert_ne!(record(&history.cluster, before).priority, basic);
    calculate(&mut history);
    let after = submit(&mut history, |_| ());
    history.say(Subject::Admin, configuration(None));
    assert_eq!(record(&history.cluster, before).priority, basic);
    assert_eq!(record(&history.cluster, after).priority, basic - 1);
    assert_eq!(history.cluster.priorities_calculated(), None);
    let body: Body = PrioritiesCalculated { input: history.cluster.position(), at: history.now() }.into();
    history.say(Subject::Plan, body);
    assert_eq!(
        record(&history.cluster, after).priority,
        basic - 1,
        "one that comes too late changes nothing"
    );
    history.cluster.sanity_check().expect("a sane cluster");
}

/// A job on hold may ask for more than there can be; everybody who folds its submission counts it nevertheless.
#[test]
fn absurd_requests_have_whole_factors() {
    let mut history = history(weights());
    let gpus = |scope| GpuRequest { scope, gpu_type: Some("a100".to_string()), count: u32::MAX };
    let mut spec = history::spec("absurd", 1);
    let request = spec.request_mut();
    (request.tasks, request.cpus_per_task, request.nodes_min) = (u32::MAX, u32::MAX, u32::MAX);
    request.gpus = vec![gpus(GpuScope::Node), gpus(GpuScope::Task), gpus(GpuScope::Job)];
    request.memory = Some(MemoryRequest::PerGpu(Mebibytes(u64::MAX)));
    let job = history.cluster.next_job_id();
    history.say(Subject::Jobs, JobSubmitted { job, ids: 1, spec });
    let factors = history.cluster.jobs()[&job].priority_factors.clone().expect("it waits");
    assert!(factors.tres.values().all(|factor| *factor == ONE), "{:?}", factors.tres);
}
