//! Over random histories with every limit set, no instant exceeds any; and nobody is kept back by a limit that has room.
//!
//! What counts is added up here from runs and jobs one by one, and not as the model does it.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use daybook_model::{Charge, Cluster, Job, Need};
use daybook_plan::{Policy, explain};
use daybook_schemas::accounts::{Association, Limits, Qos, QosFlag};
use daybook_schemas::api::Block;
use daybook_schemas::events::{AssociationDefined, LimitFigures, QosDefined};
use daybook_schemas::grammar::billing_weights;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::{ArrayRequest, GpuRequest, GpuScope, JobSpec, JobUser, TimeLimit};
use daybook_schemas::limits::{CountLimitName, TresLimitName, WallLimitName};
use daybook_schemas::node::{AccountingEnforcement, ClusterParameters, PartitionDefinition};
use daybook_schemas::orders::RunWish;
use daybook_schemas::run::ExitStatus;
use daybook_schemas::{RunId, Seconds, Subject};
use proptest::prelude::*;
use support::{Simulation, configuration, job, node, parameters, partition};

/// User, uid and account of everybody; the accounts bio and ml are below research.
const USERS: [(&str, u32, &str); 4] =
    [("alice", 1001, "ml"), ("bob", 1002, "ml"), ("carol", 1003, "bio"), ("alice", 1001, "bio")];
const QOS: [&str; 3] = ["normal", "high", "part"];
const TRES: [&str; 6] = ["cpu", "mem", "node", "gres/gpu", "gres/gpu:a100", "billing"];
/// The weights of both partitions.
const WEIGHTS: &str = "cpu=0.5,mem=0.001,gres/gpu=3";

#[derive(Clone, Debug)]
struct Wish {
    who: usize,
    qos: usize,
    partition: &'static str,
    nodes: u32,
    tasks: u32,
    minutes: u32,
    gpus: Option<(u32, bool)>,
    array: Option<u32>,
}

#[derive(Clone, Debug)]
enum Act {
    Submit(Wish),
    /// The n-th run.
    End(usize),
    Tick(i64),
}

fn limits() -> impl Strategy<Value = Limits> {
    let amounts = || prop::option::weighted(0.3, (0..TRES.len(), 1u64..9));
    let count = || prop::option::weighted(0.2, 1u32..5);
    let tres = prop::collection::vec(amounts(), 8);
    let counts = prop::collection::vec(count(), 6);
    (tres, counts, prop::option::weighted(0.2, 5u64..40)).prop_map(|(tres, counts, wall)| {
        use CountLimitName::*;
        use TresLimitName::*;
        let mut limits = Limits::default();
        let names = [
            GrpTres,
            GrpTresRunMins,
            MaxTresPerJob,
            MaxTresPerNode,
            MaxTresPerUser,
            MaxTresPerAccount,
            MaxTresMinsPerJob,
            MaxTresRunMinsPerUser,
        ];
        for (name, set) in names.into_iter().zip(tres) {
            let scale = if matches!(name, GrpTresRunMins | MaxTresMinsPerJob | MaxTresRunMinsPerUser) {
                40
            } else {
                1
            };
            if let Some((tres, most)) = set {
                let most = if TRES[tres] == "mem" { most * 500 } else { most };
                limits.tres_mut(name).insert(TRES[tres].to_string(), most * scale);
            }
        }
        let names =
            [GrpJobs, MaxJobs, MaxJobsPerAccount, GrpSubmitJobs, MaxSubmitJobs, MaxSubmitJobsPerAccount];
        for (name, set) in names.into_iter().zip(counts) {
            let is_of_waiting = matches!(name, GrpSubmitJobs | MaxSubmitJobs | MaxSubmitJobsPerAccount);
            *limits.count_mut(name) = set.map(|most| if is_of_waiting { most + 3 } else { most });
        }
        *limits.wall_mut(WallLimitName::MaxWallPerJob) = wall.map(|minutes| Seconds(minutes * 60));
        limits
    })
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let wish = (
        (0..USERS.len(), 0..QOS.len() - 1, prop_oneof![Just("main"), Just("small")]),
        (1u32..3, 1u32..5, 1u32..45),
        (prop::option::weighted(0.4, (1u32..3, any::<bool>())), prop::option::weighted(0.2, 1u32..6)),
    );
    let wish = wish.prop_map(|((who, qos, partition), (nodes, tasks, minutes), (gpus, array))| Wish {
        who,
        qos,
        partition,
        nodes,
        tasks,
        minutes,
        gpus,
        array,
    });
    let act = prop_oneof![
        5 => wish.prop_map(Act::Submit),
        2 => any::<usize>().prop_map(Act::End),
        2 => (1i64..1500).prop_map(Act::Tick),
    ];
    prop::collection::vec(act, 1..50)
}

/// Root, research, ml, bio, then the users; then the QOS.
fn site(all: &[Limits], over: bool) -> Simulation {
    let nodes = vec![
        node("a", 8, 4000, &[]),
        node("b", 8, 4000, &["a100", "a100"]),
        node("c", 8, 4000, &["a100", "h100"]),
    ];
    let weighed = |name: &str, nodes: &[&str]| PartitionDefinition {
        billing_weights: Some(billing_weights::parse(WEIGHTS).unwrap()),
        ..partition(name, nodes)
    };
    let small = PartitionDefinition { qos: Some("part".to_string()), ..weighed("small", &["b", "c"]) };
    let partitions = vec![weighed("main", &["a", "b", "c"]), small];
    let accounting_enforced = vec![AccountingEnforcement::Associations, AccountingEnforcement::Limits];
    let parameters = ClusterParameters { accounting_enforced, ..parameters() };
    let mut simulation = Simulation::new();
    let configured = configuration(nodes, partitions, parameters);
    simulation.configure(configured.clone());
    configured.nodes.iter().for_each(|node| simulation.register(node));
    let account = |account: &str, parent: Option<&str>| Association {
        account: account.to_string(),
        parent: parent.map(str::to_string),
        ..Association::default()
    };
    let mut associations = vec![
        Association { id: 1, ..account("root", None) },
        account("research", Some("root")),
        account("ml", Some("research")),
        account("bio", Some("research")),
    ];
    associations.extend(
        USERS.map(|(user, _, own)| Association { user: Some(user.to_string()), ..account(own, None) }),
    );
    for (mut association, limits) in associations.into_iter().zip(all) {
        association.limits = limits.clone();
        if association.id == 0 {
            association.id = simulation.cluster.accounts().next_numbers().0;
        }
        simulation.say(Subject::Jobs, AssociationDefined { association });
    }
    for (name, limits) in QOS.iter().zip(&all[8..]) {
        let known = simulation.cluster.accounts().qos(name).map(|qos| qos.id);
        let id = known.unwrap_or(simulation.cluster.accounts().next_numbers().1);
        let flags = if over && *name == "high" { vec![QosFlag::OverPartQos] } else { Vec::new() };
        let qos = Qos { limits: limits.clone(), flags, ..Qos::new(id, name) };
        simulation.say(Subject::Jobs, QosDefined { qos });
    }
    simulation
}

fn spec(wish: &Wish) -> JobSpec {
    let mut spec = job("job", wish.partition, wish.minutes);
    let (name, uid, account) = USERS[wish.who];
    spec.user = JobUser { uid, name: name.to_string(), ..(*spec.user).clone() }.into();
    spec.account = Some(account.to_string());
    spec.qos = Some(QOS[wish.qos].to_string());
    let request = spec.request_mut();
    (request.nodes_min, request.nodes_max) = (wish.nodes, Some(wish.nodes));
    request.tasks = wish.tasks.max(wish.nodes);
    request.tasks_given = true;
    request.memory = Some(daybook_schemas::job::MemoryRequest::PerCpu(daybook_schemas::Mebibytes(100)));
    request.gpus.extend(wish.gpus.map(|(count, typed)| GpuRequest {
        scope: GpuScope::Node,
        gpu_type: typed.then(|| "a100".to_string()),
        count,
    }));
    spec.array =
        wish.array.map(|tasks| ArrayRequest { tasks: IndexSet::range(0, tasks - 1), running_max: None });
    spec
}

/// Submits a job as a gateway would: not where a limit on waiting jobs forbids it.
fn submit(simulation: &mut Simulation, wish: &Wish) {
    let spec = spec(wish);
    let charge = Charge {
        partition: spec.partition.as_str().into(),
        qos: QOS[wish.qos].into(),
        account: USERS[wish.who].2.into(),
        user: USERS[wish.who].0.into(),
    };
    let time = TimeLimit::minutes(wish.minutes);
    let need = Need::of_request(&simulation.cluster, &spec.request, wish.partition, time);
    let count = spec.array.as_ref().map_or(1, |array| array.tasks.len());
    if simulation.cluster.submission_refusal(&charge, count, &need).is_none() {
        simulation.submit(spec);
    }
}

/// Sums by what they are of, whose they are, and the resource.
type Sums = BTreeMap<(&'static str, String, &'static str), u64>;

fn tres_of(nodes: &[daybook_schemas::run::RunNode], tres: &str) -> u64 {
    let gpus = |wanted: Option<&str>| {
        let all = nodes.iter().flat_map(|share| &share.gpus);
        all.filter(|gpu| wanted.is_none_or(|wanted| gpu.gpu_type == wanted)).count() as u64
    };
    match tres {
        "cpu" => nodes.iter().map(|share| share.cpus.len()).sum(),
        "mem" => nodes.iter().map(|share| share.memory.0).sum(),
        "node" => nodes.len() as u64,
        "gres/gpu" => gpus(None),
        "billing" => {
            let (cpus, memory) = (tres_of(nodes, "cpu"), tres_of(nodes, "mem"));
            (500 * cpus + memory + 3_000 * gpus(None)) / 1_000
        }
        _ => gpus(Some("a100")),
    }
}

fn groups_of(account: &str) -> Vec<String> {
    let above = [account, "research", "root"];
    above.iter().map(|account| format!("account {account}")).collect()
}

/// The QOS that limit a job, the first before the second.
fn qos_of<'a>(cluster: &'a Cluster, job: &Job, partition: &str) -> Vec<&'a Qos> {
    let own = cluster.accounts().qos(&job.qos).unwrap();
    let part = cluster.accounts().qos("part").filter(|_| partition == "small").map(|qos| &**qos);
    let over = own.has(QosFlag::OverPartQos);
    let both = if over { [Some(&**own), part] } else { [part, Some(&**own)] };
    both.into_iter().flatten().collect()
}

/// Whose limits somebody counts at who does not have to keep them, as another holder's come first: limit, resource, and
/// whose it is.
type Excepted = BTreeSet<(String, &'static str, String)>;

/// Everybody a run or waiting job is counted for.
fn whom(cluster: &Cluster, job: &Job, partition: &str) -> Vec<String> {
    let user = &job.spec.user.name;
    let mut whom = groups_of(&job.account);
    whom.push(format!("user {user} {}", job.account));
    for qos in qos_of(cluster, job, partition) {
        whom.push(format!("qos {}", qos.name));
        whom.push(format!("qos {} user {user}", qos.name));
        whom.push(format!("qos {} account {}", qos.name, job.account));
    }
    whom
}

fn except(excepted: &mut Excepted, cluster: &Cluster, job: &Job, partition: &str) {
    use CountLimitName::*;
    use TresLimitName::*;
    let qos = qos_of(cluster, job, partition);
    let mut note = |limit: String, tres: &'static str, first: Option<&&Qos>| {
        let Some(first) = first else { return };
        let own = format!("qos {}", first.name);
        let is_own = |name: &String| *name == own || name.starts_with(&format!("{own} "));
        let others = whom(cluster, job, partition).into_iter().filter(|name| !is_own(name));
        excepted.extend(others.map(|name| (limit.clone(), tres, name)));
    };
    for tres in TRES {
        for name in [GrpTres, GrpTresRunMins, MaxTresPerUser, MaxTresPerAccount, MaxTresRunMinsPerUser] {
            let first = qos.iter().find(|qos| qos.limits.tres(name).contains_key(tres));
            note(format!("{name:?}"), tres, first);
        }
    }
    for name in [GrpJobs, GrpSubmitJobs, MaxJobs, MaxSubmitJobs, MaxJobsPerAccount, MaxSubmitJobsPerAccount] {
        note(format!("{name:?}"), "", qos.iter().find(|qos| qos.limits.count(name).is_some()));
    }
}

/// Checks the limits of everybody whom a run is counted for.
fn check(simulation: &Simulation) {
    let cluster = &simulation.cluster;
    let mut excepted = Excepted::new();
    let mut sums: Sums = BTreeMap::new();
    let live = || cluster.runs().values().filter(|run| run.end.is_none() && run.wish == RunWish::Run);
    for run in live() {
        let job = &cluster.jobs()[&run.id.job];
        let left = run.limit_end().map_or(0, |end| (end.0 - simulation.now.0).max(0) as u64 / 1_000_000);
        except(&mut excepted, cluster, job, &run.partition);
        for whom in whom(cluster, job, &run.partition) {
            *sums.entry(("jobs", whom.clone(), "")).or_default() += 1;
            for tres in TRES {
                let amount = tres_of(&run.nodes, tres);
                *sums.entry(("tres", whom.clone(), tres)).or_default() += amount;
                *sums.entry(("left", whom.clone(), tres)).or_default() += amount * left;
            }
        }
    }
    for job in cluster.jobs().values().filter(|job| !job.state.is_ended()) {
        let count = job.tasks_waiting.as_ref().map_or(1, |tasks| tasks.len());
        except(&mut excepted, cluster, job, &job.partition);
        for whom in whom(cluster, job, &job.partition) {
            *sums.entry(("submitted", whom, "")).or_default() += count;
        }
    }
    // 0 where somebody counts who does not have to keep it.
    let sum = |what, limit: String, whom: &str, tres| {
        let is_excepted = excepted.contains(&(limit, tres, whom.to_string()));
        sums.get(&(what, whom.to_string(), tres)).copied().filter(|_| !is_excepted).unwrap_or(0)
    };
    for run in live() {
        let job = &cluster.jobs()[&run.id.job];
        let qos = qos_of(cluster, job, &run.partition);
        let user = &job.spec.user.name;
        let own = cluster.accounts().of_job(user, &job.account, "main").unwrap();
        let line: Vec<&Association> = cluster.accounts().line_of(own).collect();
        let TimeLimit::Seconds(limit) = run.time_limit else { panic!("every job has a limit") };
        let context = format!("run {} of {user} in {} by {}", run.id, job.account, job.qos);
        for tres in TRES {
            // Whose limit holds: the first QOS that has it, else every level, or the first.
            let of_qos = |name| qos.iter().find_map(|qos| Some((*qos, *qos.limits.tres(name).get(tres)?)));
            let first = |name| {
                let of_line = || line.iter().find_map(|own| own.limits.tres(name).get(tres).copied());
                of_qos(name).map(|(_, most)| most).or_else(of_line)
            };
            let amount = tres_of(&run.nodes, tres);
            let per_node =
                run.nodes.iter().map(|share| tres_of(std::slice::from_ref(share), tres)).max().unwrap();
            for (name, what, scale) in
                [(TresLimitName::GrpTres, "tres", 1), (TresLimitName::GrpTresRunMins, "left", 60)]
            {
                if amount == 0 {
                    continue;
                }
                if let Some((qos, most)) = of_qos(name) {
                    let used = sum(what, format!("{name:?}"), &format!("qos {}", qos.name), tres);
                    assert!(
                        used <= most * scale,
                        "{context}: {name:?} {tres} of {}: {used} of {most}",
                        qos.name
                    );
                    continue;
                }
                for level in &line {
                    let Some(most) = level.limits.tres(name).get(tres) else { continue };
                    let whom = match &level.user {
                        Some(user) => format!("user {user} {}", level.account),
                        None => format!("account {}", level.account),
                    };
                    let used = sum(what, format!("{name:?}"), &whom, tres);
                    assert!(used <= most * scale, "{context}: {name:?} {tres} of {whom}: {used} of {most}");
                }
            }
            let of_users = [
                (TresLimitName::MaxTresPerUser, "tres", "user", 1),
                (TresLimitName::MaxTresPerAccount, "tres", "account", 1),
                (TresLimitName::MaxTresRunMinsPerUser, "left", "user", 60),
            ];
            for (name, what, whose, scale) in of_users {
                let Some((qos, most)) = of_qos(name).filter(|_| amount > 0) else { continue };
                let whose_name = if whose == "user" { user.as_str() } else { &job.account };
                let whom = format!("qos {} {whose} {whose_name}", qos.name);
                let used = sum(what, format!("{name:?}"), &whom, tres);
                assert!(used <= most * scale, "{context}: {name:?} {tres}: {used} of {most}");
            }
            let of_jobs = [
                (TresLimitName::MaxTresPerJob, amount, 1),
                (TresLimitName::MaxTresPerNode, per_node, 1),
                (TresLimitName::MaxTresMinsPerJob, amount * limit, 60),
            ];
            for (name, amount, scale) in of_jobs {
                assert!(first(name).is_none_or(|most| amount <= most * scale), "{context}: {name:?} {tres}");
            }
        }
        let wall = qos.iter().map(|qos| &qos.limits).chain(line.iter().map(|own| &own.limits));
        let wall = wall.into_iter().find_map(|limits| limits.max_wall_per_job);
        assert!(wall.is_none_or(|most| limit <= most.0), "{context}: MaxWall");
        check_counts(&context, (user, &job.account), (&qos, &line), &|what, limit, whom| {
            sum(what, format!("{limit:?}"), whom, "")
        });
    }
}

fn check_counts(
    context: &str,
    (user, account): (&str, &str),
    (qos, line): (&[&Qos], &[&Association]),
    sum: &dyn Fn(&'static str, CountLimitName, &str) -> u64,
) {
    use CountLimitName::*;
    for (name, what) in [(GrpJobs, "jobs"), (GrpSubmitJobs, "submitted")] {
        if let Some((qos, most)) = qos.iter().find_map(|qos| Some((qos, qos.limits.count(name)?))) {
            assert!(sum(what, name, &format!("qos {}", qos.name)) <= most.into(), "{context}: {name:?}");
            continue;
        }
        for level in line {
            let Some(most) = level.limits.count(name) else { continue };
            let whom = match &level.user {
                Some(user) => format!("user {user} {}", level.account),
                None => format!("account {}", level.account),
            };
            assert!(sum(what, name, &whom) <= most.into(), "{context}: {name:?} of {whom}");
        }
    }
    for (name, what) in [(MaxJobs, "jobs"), (MaxSubmitJobs, "submitted")] {
        if let Some((qos, most)) = qos.iter().find_map(|qos| Some((qos, qos.limits.count(name)?))) {
            assert!(
                sum(what, name, &format!("qos {} user {user}", qos.name)) <= most.into(),
                "{context}: {name:?}"
            );
        } else if let Some(most) = line.iter().find_map(|own| own.limits.count(name)) {
            assert!(sum(what, name, &format!("user {user} {account}")) <= most.into(), "{context}: {name:?}");
        }
    }
    for (name, what) in [(MaxJobsPerAccount, "jobs"), (MaxSubmitJobsPerAccount, "submitted")] {
        if let Some((qos, most)) = qos.iter().find_map(|qos| Some((qos, qos.limits.count(name)?))) {
            let used = sum(what, name, &format!("qos {} account {account}", qos.name));
            assert!(used <= most.into(), "{context}: {name:?}");
        }
    }
}

fn end(simulation: &mut Simulation, run: RunId) {
    simulation.end(run, ExitStatus { code: 0, signal: 0 });
    simulation.release(run);
}

/// Runs do not go beyond their limits.
fn end_overdue(simulation: &mut Simulation) {
    let overdue = simulation.cluster.runs().values();
    let overdue = overdue.filter(|run| run.limit_end().is_some_and(|end| end <= simulation.now));
    let overdue: Vec<RunId> = overdue.map(|run| run.id).collect();
    overdue.into_iter().for_each(|run| end(simulation, run));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_instant_exceeds_any_limit(
        all in prop::collection::vec(limits(), 11),
        over in any::<bool>(),
        acts in acts(),
    ) {
        let mut simulation = site(&all, over);
        for act in &acts {
            match act {
                Act::Submit(wish) => submit(&mut simulation, wish),
                Act::End(number) => {
                    let runs: Vec<RunId> = simulation.cluster.runs().keys().copied().collect();
                    if let Some(run) = runs.get(number % runs.len().max(1)) {
                        end(&mut simulation, *run);
                    }
                }
                Act::Tick(seconds) => simulation.now = simulation.now.plus_seconds(*seconds),
            }
            end_overdue(&mut simulation);
            simulation.plan();
            check(&simulation);
            // A start may fill a limit that somebody in front, who waited for resources, meets from now on; others then wait
            // behind nobody. It comes to an end.
            let mut cycles = 0;
            while !simulation.plan().starts.is_empty() {
                check(&simulation);
                cycles += 1;
                prop_assert!(cycles <= acts.len(), "it starts and starts");
            }
            prop_assert_eq!(simulation.cluster.void_allocations(), 0, "what is decided is not void");
            prop_assert!(simulation.cluster.sanity_check().is_ok(), "{:?}", simulation.cluster.sanity_check());
        }
        // With nothing running, who waits could not start if it were alone: what it asks for is above the limit by itself.
        loop {
            let runs: Vec<RunId> = simulation.cluster.runs().keys().copied().collect();
            runs.into_iter().for_each(|run| end(&mut simulation, run));
            if simulation.plan().starts.is_empty() {
                break;
            }
        }
        let policy = Policy::of(&simulation.cluster).expect("configured");
        for job in simulation.cluster.jobs().values().filter(|job| job.is_ready()) {
            let told = explain(&simulation.cluster, simulation.now, &policy, job.id).expect("it waits");
            let is_hopeless = match &told.blocks[..] {
                [Block::Limit(LimitFigures { most, used, needs, .. })] => {
                    used.unwrap_or(0) == 0 && needs.is_none_or(|needs| needs > *most)
                }
                [Block::Impossible { .. }] => true,
                _ => false,
            };
            prop_assert!(is_hopeless, "{} waits beside nobody: {:?}", job.id, told.blocks);
        }
    }
}
