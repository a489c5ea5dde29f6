use daybook_schemas::api::{FlagChange, ReservationFlag};
use daybook_schemas::events::{ClusterConfigured, NodeRegistered, ReservationCreated};
use daybook_schemas::node::{NodeDefinition, PartitionDefinition};
use daybook_schemas::{
    Actor, Body, Commit, Event, EventId, Mebibytes, NodeName, Seconds, Seq, Subject, UtcMicros,
};

use super::super::{create, update};
use super::*;

const BUSY: &str = "Requested nodes are busy";
const INCONSISTENT: &str = "Core count for reservation node list is not consistent!";
const IMPOSSIBLE: &str = "Requested node configuration is not available";
const OVERLAP: &str = "Requested reservation overlaps with another reservation";
const FIXED: &str = "Core-based reservation can not be updated";

/// a: 2 cores of two threads; b, c: 4 cores; c is heavier, and d, of 8 cores, is not up. A course keeps two cores of b.
struct Site {
    cluster: Cluster,
}

impl Site {
    fn new() -> Site {
        let node = |name: &str, cpus| NodeDefinition::new(name, cpus, Mebibytes(1_000));
        let nodes = vec![
            NodeDefinition { threads_per_core: 2, cores_per_socket: 2, ..node("a", 4) },
            NodeDefinition { features: vec!["big".to_string()], ..node("b", 4) },
            NodeDefinition { weight: 5, features: vec!["big".to_string()], ..node("c", 4) },
            node("d", 8),
        ];
        let two = [NodeName::from("b"), NodeName::from("c")];
        let partitions = vec![PartitionDefinition::new("two", two.to_vec())];
        let mut site = Site { cluster: Cluster::new() };
        site.say(ClusterConfigured { nodes, partitions, ..ClusterConfigured::default() }.into());
        for name in ["a", "b", "c"] {
            site.say(
                NodeRegistered {
                    node: NodeName::from(name),
                    boot_id: "boot".to_string(),
                    cpus: 4,
                    memory: Mebibytes(1_000),
                    gpus: Vec::new(),
                    agent_version: String::new(),
                    operating_system: String::new(),
                    architecture: String::new(),
                    unconfined: None,
                }
                .into(),
            );
        }
        site.reserve("course", "b=2");
        site
    }

    fn say(&mut self, body: Body) {
        let seq = Seq(self.cluster.position().0 + 1);
        let event = Event {
            id: EventId::from(format!("test/{}", seq.0)),
            source: "test".to_string(),
            time: UtcMicros(1),
            actor: Actor::service("test"),
            cause: None,
            body,
        };
        let commit = Commit { seq, time: UtcMicros(1), subject: Subject::Jobs, events: vec![event] };
        self.cluster.apply(&commit).expect("it folds");
    }

    fn reserve(&mut self, name: &str, words: &str) {
        let mut wish = wish(words);
        wish.name = Some(name.to_string());
        let reservation = create(&self.cluster, &wish, UtcMicros(1)).expect("it can be");
        self.say(ReservationCreated { reservation }.into());
    }

    /// `a 0-1, b 2` or Slurm's sentence.
    fn asked(&self, words: &str) -> String {
        told(create(&self.cluster, &wish(words), UtcMicros(1)))
    }
}

fn told(answer: Result<ReservationDefinition, ApiError>) -> String {
    match answer {
        Ok(made) => {
            assert!(made.cpus.iter().map(|kept| &kept.node).eq(&made.nodes), "{made:?}");
            made.cpus.iter().map(|kept| format!("{} {}", kept.node, kept.cpus)).collect::<Vec<_>>().join(", ")
        }
        Err(error) => error.message,
    }
}

/// `2,1 nodes=a,b` or `b=2`: counts, and `nodes=`, `count=`, `in=` (seconds), `feature=`, `partition=`, `overlap`.
fn wish(words: &str) -> ReservationWish {
    let user = "root".to_string();
    let mut wish = ReservationWish {
        start: Some(UtcMicros(1)),
        duration: Some(Seconds(3_600)),
        users: Some(daybook_schemas::api::ListChange::Set(vec![user])),
        ..ReservationWish::default()
    };
    for word in words.split_whitespace() {
        match word.split_once('=').unwrap_or((word, "")) {
            ("nodes", "ALL") => wish.nodes = Some(NamedNodes::All),
            ("nodes", names) => {
                let names = names.split(',').map(NodeName::from).collect();
                wish.nodes = Some(NamedNodes::These(names));
            }
            ("count", number) => wish.node_count = Some(number.parse().expect("a number")),
            ("in", seconds) => {
                wish.start = Some(UtcMicros(1).plus_seconds(seconds.parse().expect("seconds")));
            }
            ("feature", name) => wish.features = Some(vec![name.to_string()]),
            ("partition", name) => wish.partition = Some(name.to_string()),
            ("overlap", _) => wish.flags.push(FlagChange { flag: ReservationFlag::Overlap, set: true }),
            ("b", number) => {
                wish.nodes = Some(NamedNodes::These(vec![NodeName::from("b")]));
                wish.core_counts = Some(vec![number.parse().expect("a number")]);
            }
            (counts, _) => {
                let counts = counts.split(',').map(|count| count.parse().expect("a count"));
                wish.core_counts = Some(counts.collect());
            }
        }
    }
    wish
}

#[test]
fn cores_are_chosen_as_slurm_chooses_them() {
    let site = Site::new();
    for (words, expected) in [
        // Of named nodes a count for each, in the order of the configuration; of each core all CPUs.
        ("1 nodes=a", "a 0-1"),
        ("2,1 nodes=b,a", "a 0-3, b 2"),
        ("1,2 nodes=c,b", "b 2, c 0-1"),
        ("2 nodes=d", "d 0-1"),
        ("1,1,1,1 nodes=ALL", "a 0-1, b 2, c 0, d 0"),
        ("1,1 nodes=ALL partition=two", "b 2, c 0"),
        // What the course keeps is not to be had while it lasts, but before and behind it, or where both may overlap.
        ("3 nodes=b", BUSY),
        ("3 nodes=b in=3600", "b 0-2"),
        ("3 nodes=b overlap", "b 0-2"),
        // Of a number of nodes the same of each, one more of one of them; the light ones first, and none that is not up.
        ("2 count=2", "a 0-1, b 2"),
        ("5 count=2", "a 0-3, c 0-2"),
        ("7 count=2 feature=big", BUSY),
        ("7 count=2 feature=big in=3600", "b 0-3, c 0-2"),
        ("3 count=2", "a 0-3, b 2"),
        // Alone: as few nodes as have them.
        ("3", "a 0-3, b 2"),
        ("8", "a 0-3, b 2-3, c 0-3"),
        ("9", BUSY),
        ("19", IMPOSSIBLE),
        ("3 partition=two", "b 2-3, c 0"),
        // What makes no sense.
        ("5 nodes=c", IMPOSSIBLE),
        ("1 nodes=a,b", INCONSISTENT),
        ("1,1,1 nodes=a,b", INCONSISTENT),
        ("0 nodes=a", INCONSISTENT),
        ("1,0 nodes=a,b", INCONSISTENT),
        ("0", INCONSISTENT),
        ("1,1", INCONSISTENT),
        ("1,1 count=2", INCONSISTENT),
        ("1 count=2", INCONSISTENT),
        ("1 count=0", "Node count specification invalid"),
        ("1 nodes=x", "Invalid node name specified"),
        ("1 count=1 feature=none", "Invalid feature specification"),
        ("1 partition=none", "Invalid partition name specified"),
    ] {
        assert_eq!(site.asked(words), expected, "{words}");
    }
}

#[test]
fn whole_nodes_and_cores_keep_out_of_each_others_way() {
    let mut site = Site::new();
    assert_eq!(site.asked("nodes=b"), OVERLAP);
    site.reserve("whole", "nodes=c");
    assert_eq!(site.asked("1 nodes=c"), OVERLAP);
    assert_eq!(site.asked("8"), BUSY);
    assert_eq!(site.asked("1 nodes=c in=3600"), "c 0");
}

#[test]
fn cores_stay_and_their_time_can_change() {
    let mut site = Site::new();
    site.reserve("later", "b=2 in=3600");
    let changed = |name: &str, words: &str| {
        let mut wish = ReservationWish {
            name: Some(name.to_string()),
            start: None,
            duration: None,
            users: None,
            ..wish(words)
        };
        if words.contains("in=") {
            wish.start = Some(UtcMicros(1).plus_seconds(1_800));
        }
        told(update(&site.cluster, &wish, UtcMicros(1)))
    };
    assert_eq!(changed("later", "in=1800"), OVERLAP);
    assert_eq!(changed("later", "in=1800 overlap"), "b 0-1");
    for words in ["1", "nodes=b", "count=1", "partition=two", "feature=big", "1 nodes=b"] {
        assert_eq!(changed("later", words), FIXED, "{words}");
    }
}
