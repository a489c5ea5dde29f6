use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::job::MemoryRequest;
use daybook_schemas::node::{ClusterParameters, NodeDefinition, PartitionState};
use daybook_schemas::{Actor, Commit, Event, EventId, Mebibytes, NodeName, Seq, Subject, UtcMicros};

use super::*;

const TIME: &str = "Requested time limit is invalid (missing or exceeds some limit)";
const NODES: &str = "Node count specification invalid";
const CPUS: &str = "More processors requested than permitted";
const MEMORY: &str = "Memory required by task is not available";
const ACCOUNT: &str = "Invalid account or account/partition combination specified";
const QOS: &str = "Invalid qos specification";
const NOT_AVAILABLE: &str = "Required partition not available (inactive or drain)";

fn partition(name: &str, nodes: &[&str]) -> PartitionDefinition {
    PartitionDefinition::new(name, nodes.iter().copied().map(NodeName::from).collect())
}

fn cluster(enforced: bool, one_suffices: bool) -> Cluster {
    let both = ["n1", "n2"];
    let partitions = vec![
        PartitionDefinition { max_time: TimeLimit::minutes(60), ..partition("short", &both) },
        PartitionDefinition { max_nodes: Some(1), ..partition("one", &both) },
        partition("main", &both),
        PartitionDefinition { min_nodes: 2, ..partition("wide", &both) },
        PartitionDefinition { max_memory_per_node: Some(Mebibytes(500)), ..partition("small", &both) },
        PartitionDefinition { allow_accounts: Some(vec!["ml".to_string()]), ..partition("ml", &both) },
        PartitionDefinition { deny_qos: vec!["low".to_string()], ..partition("nolow", &both) },
        PartitionDefinition { state: PartitionState::Down, ..partition("down", &both) },
        PartitionDefinition { state: PartitionState::Drain, ..partition("drain", &both) },
        PartitionDefinition { state: PartitionState::Inactive, ..partition("inactive", &both) },
        PartitionDefinition { root_only: true, ..partition("root", &both) },
        PartitionDefinition { no_root_jobs: true, ..partition("noroot", &both) },
        PartitionDefinition { allow_groups: Some(vec!["staff".to_string()]), ..partition("staff", &both) },
        PartitionDefinition { submit_hosts: Some(vec!["login1".to_string()]), ..partition("login", &both) },
    ];
    let parameters = ClusterParameters {
        enforce_partition_limits: enforced,
        one_partition_suffices: one_suffices,
        ..ClusterParameters::default()
    };
    let nodes = both.map(|name| NodeDefinition::new(name, 4, Mebibytes(1000))).to_vec();
    let configured = ClusterConfigured { nodes, partitions, parameters, ..ClusterConfigured::default() };
    let event = Event {
        id: EventId::from("test/0"),
        source: "test".to_string(),
        time: UtcMicros(1),
        actor: Actor::service("test"),
        cause: None,
        body: configured.into(),
    };
    let mut cluster = Cluster::new();
    let commit = Commit { seq: Seq(1), time: UtcMicros(1), subject: Subject::Admin, events: vec![event] };
    cluster.apply(&commit).expect("it folds");
    cluster
}

/// `t=MINUTES N=NODES n=TASKS mem=MIB account=NAME qos=NAME`
fn asked<'a>(words: &'a str, request: &'a mut ResourceRequest) -> Asked<'a> {
    let (mut time_limit, mut account, mut qos) = (None, "", "normal");
    for (key, value) in words.split_whitespace().filter_map(|word| word.split_once('=')) {
        let number = || value.parse().expect("a number");
        match key {
            "t" => time_limit = Some(TimeLimit::minutes(number())),
            "N" => (request.nodes_min, request.nodes_max) = (number(), Some(number())),
            "n" => request.tasks = number(),
            "mem" => request.memory = Some(MemoryRequest::PerNode(Mebibytes(number().into()))),
            "account" => account = value,
            _ => qos = value,
        }
    }
    Asked { request, time_limit, account, qos }
}

#[test]
fn enforcepartlimits_refuses_none_all_or_what_breaks_every_partitions_limits() {
    // Partitions, what is asked, and what is said with ALL and with ANY.
    let table: &[(&str, &str, Option<&str>, Option<&str>)] = &[
        ("short", "t=60", None, None),
        ("short", "t=61", Some(TIME), Some(TIME)),
        ("short", "", None, None),
        ("short,main", "t=61", Some(TIME), None),
        ("short,one", "t=61 N=2", Some(TIME), Some(TIME)),
        ("one", "N=2", Some(NODES), Some(NODES)),
        ("one,main", "N=2", Some(NODES), None),
        ("wide", "N=1", Some(NODES), Some(NODES)),
        ("wide", "N=2", None, None),
        ("main", "N=3", Some(NODES), Some(NODES)),
        ("main", "n=8", None, None),
        ("main", "n=9", Some(CPUS), Some(CPUS)),
        ("small", "mem=500", None, None),
        ("small", "mem=501", Some(MEMORY), Some(MEMORY)),
        ("small", "mem=0", None, None),
        ("ml", "account=ml", None, None),
        ("ml", "account=bio", Some(ACCOUNT), Some(ACCOUNT)),
        ("ml", "", Some(ACCOUNT), Some(ACCOUNT)),
        ("nolow", "qos=low", Some(QOS), Some(QOS)),
        ("nolow,main", "qos=low", Some(QOS), None),
        ("down", "", None, None),
    ];
    for (names, words, all, any) in table {
        for (enforced, one_suffices, expected) in
            [(false, false, &None), (true, false, all), (true, true, any)]
        {
            let cluster = cluster(enforced, one_suffices);
            let mut request = ResourceRequest { tasks_given: true, ..ResourceRequest::default() };
            let asked = asked(words, &mut request);
            let partitions = accepting(&cluster, names).expect("they accept jobs");
            let said = check_limits(&cluster, &partitions, &asked).err().map(|error| error.message);
            assert_eq!(said.as_deref(), *expected, "-p {names} {words}, enforced {enforced} {one_suffices}");
        }
    }
}

#[test]
fn partitions_that_accept_no_jobs_are_left_out_and_unknown_ones_named() {
    let cluster = cluster(false, false);
    for (names, expected) in [
        ("main", Ok("main")),
        ("down,main", Ok("down,main")),
        ("main,main,short", Ok("main,short")),
        ("drain,main,inactive", Ok("main")),
        ("drain", Err((NOT_AVAILABLE, None))),
        ("drain,inactive", Err((NOT_AVAILABLE, None))),
        ("main,x,y", Err(("Invalid partition name specified", Some("invalid partition specified: x,y")))),
    ] {
        let found = accepting(&cluster, names).map(|partitions| joined(&partitions));
        let found = found.map_err(|error| (error.message, error.details.first().cloned()));
        let expected = expected.map(str::to_string).map_err(|(message, detail): (&str, Option<&str>)| {
            (message.to_string(), detail.map(str::to_string))
        });
        assert_eq!(found, expected, "{names}");
    }
}

#[test]
fn who_may_not_use_a_partition_is_refused() {
    let cluster = cluster(false, false);
    let alice = JobUser { uid: 54_321, gid: 54_321, name: "no-such-user".into(), group: "guests".into() };
    let member = JobUser { group: "staff".into(), ..alice.clone() };
    let root = JobUser { uid: 0, gid: 0, name: "root".into(), group: "root".into() };
    for (name, user, is_administrator, host, is_admitted) in [
        ("main", &alice, false, "anywhere", true),
        ("root", &alice, false, "anywhere", false),
        ("root", &root, true, "anywhere", true),
        ("noroot", &alice, false, "anywhere", true),
        ("noroot", &root, true, "anywhere", false),
        ("staff", &alice, false, "anywhere", false),
        ("staff", &member, false, "anywhere", true),
        ("staff", &root, true, "anywhere", true),
        ("login", &alice, false, "login2", false),
        ("login", &alice, false, "login1", true),
        ("login", &alice, false, "Login1.site.example", true),
    ] {
        let partition = cluster.partition(name).expect("it is there");
        let answer = check_access(partition, &Submitter { user, is_administrator, host });
        assert_eq!(answer.is_ok(), is_admitted, "{name} {} {host}: {answer:?}", user.name);
    }
}
