//! The text of reservations, as Slurm 22.05 was recorded to write it.

use daybook_schemas::NodeName;
use daybook_schemas::UtcMicros;
use daybook_schemas::api::ReservedCores;
use daybook_schemas::reservation::{NodeChoice, ReservationDefinition, ReservationFlags, ReservationUser};
use expect_test::expect;

use super::*;
use crate::commands::sample;

fn at(time: &str) -> UtcMicros {
    sample::at(time).parse().expect("an instant")
}

fn r1() -> ReservationView {
    ReservationView {
        definition: ReservationDefinition {
            name: "r1".to_string(),
            start: at("01:25:01"),
            end: at("01:30:01"),
            nodes: vec![NodeName::from("node02")],
            choice: NodeChoice::Named,
            users: vec![ReservationUser { uid: 1001, name: "alice".to_string() }],
            ..ReservationDefinition::default()
        },
        active: false,
        cpus: 8,
        cores: 8,
        core_ids: Vec::new(),
        jobs: 0,
    }
}

fn maint() -> ReservationView {
    let flags = ReservationFlags { maintenance: true, ignore_jobs: true, ..ReservationFlags::default() };
    let nodes = ["gpu01", "gpu02", "node01", "node02"];
    ReservationView {
        definition: ReservationDefinition {
            name: "maint".to_string(),
            start: at("01:38:38"),
            end: at("02:38:38"),
            nodes: nodes.into_iter().map(NodeName::from).collect(),
            choice: NodeChoice::All,
            users: vec![ReservationUser { uid: 0, name: "root".to_string() }],
            flags,
            ..ReservationDefinition::default()
        },
        active: false,
        cpus: 32,
        cores: 32,
        core_ids: Vec::new(),
        jobs: 0,
    }
}

#[test]
fn a_reservation_is_shown_as_slurm_shows_it() {
    let instants = sample::instants();
    expect![[r#"
        ReservationName=r1 StartTime=2026-12-02T01:25:01 EndTime=2026-12-02T01:30:01 Duration=00:05:00
           Nodes=node02 NodeCnt=1 CoreCnt=8 Features=(null) PartitionName=(null) Flags=SPEC_NODES
           TRES=cpu=8
           Users=alice Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a
           MaxStartDelay=(null)

    "#]]
    .assert_eq(&text(&r1(), Flags::default(), &instants));
    expect![[r#"
        ReservationName=maint StartTime=2026-12-02T01:38:38 EndTime=2026-12-02T02:38:38 Duration=01:00:00
           Nodes=gpu[01-02],node[01-02] NodeCnt=4 CoreCnt=32 Features=(null) PartitionName=(null) Flags=MAINT,IGNORE_JOBS,SPEC_NODES,ALL_NODES
           TRES=cpu=32
           Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a
           MaxStartDelay=(null)

    "#]]
    .assert_eq(&text(&maint(), Flags::default(), &instants));
}

#[test]
fn cores_are_shown_node_by_node() {
    let cores = |node: &str, cores: &str| ReservedCores {
        node: NodeName::from(node),
        cores: cores.parse().expect("cores"),
    };
    let mut found = r1();
    found.definition.nodes = vec![NodeName::from("node01"), NodeName::from("node02")];
    (found.cpus, found.cores) = (10, 5);
    found.core_ids = vec![cores("node01", "0-2"), cores("node02", "0,3")];
    expect![[r#"
        ReservationName=r1 StartTime=2026-12-02T01:25:01 EndTime=2026-12-02T01:30:01 Duration=00:05:00
           Nodes=node[01-02] NodeCnt=2 CoreCnt=5 Features=(null) PartitionName=(null) Flags=SPEC_NODES
             NodeName=node01 CoreIDs=0-2
             NodeName=node02 CoreIDs=0,3
           TRES=cpu=10
           Users=alice Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a
           MaxStartDelay=(null)

    "#]]
    .assert_eq(&text(&found, Flags::default(), &sample::instants()));
}

#[test]
fn the_table_of_sinfo_has_a_line_for_each() {
    expect![[r#"
        RESV_NAME     STATE           START_TIME             END_TIME     DURATION  NODELIST
        maint      INACTIVE  2026-12-02T01:38:38  2026-12-02T02:38:38     01:00:00  gpu[01-02],node[01-02]
        r1         INACTIVE  2026-12-02T01:25:01  2026-12-02T01:30:01     00:05:00  node02
    "#]]
    .assert_eq(&table(&[maint(), r1()], true, &sample::instants()));
    assert_eq!(table(&[], true, &sample::instants()), "No reservations in the system\n");
}
