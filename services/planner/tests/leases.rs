//! One node, `n1`: what is heard of it, and what follows.

#[path = "../core/tests/support/mod.rs"]
mod support;

use std::time::Duration;

use daybook_planner::leases::{Leases, Moment};
use daybook_schemas::api::NodeState;
use daybook_schemas::events::{
    Body, NodeLeaseLost, NodeLeaseRegained, NodeTimedOut, RunEnded, RunLost, RunNodeReleased, RunStarted,
};
use daybook_schemas::job::JobState;
use daybook_schemas::node::NodeUpdateState;
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::{NodeName, RunId, Seconds, Seq, Subject};
use support::{DAWN, Simulation, configuration, job, node, parameters, partition};

const LEASE: Duration = Duration::from_secs(10);
const TIMEOUT: u64 = 60;

fn moment(seconds: u64) -> Moment {
    Moment { elapsed: Duration::from_secs(seconds), time: DAWN.plus_seconds(seconds as i64) }
}

/// A cluster with a node that has not registered.
fn one_node(timeout: u64) -> Simulation {
    let mut simulation = Simulation::new();
    let parameters =
        daybook_schemas::node::ClusterParameters { node_timeout: Seconds(timeout), ..parameters() };
    let (nodes, partitions) = (vec![node("n1", 4, 1000, &[])], vec![partition("main", &["n1"])]);
    simulation.configure(configuration(nodes, partitions, parameters));
    simulation
}

/// A cluster, and a planner that listens.
struct Story {
    simulation: Simulation,
    leases: Leases,
}

impl Story {
    fn begin(timeout: u64) -> Story {
        let mut story = Story { simulation: one_node(timeout), leases: Leases::new(LEASE, moment(0)) };
        story.simulation.register(&node("n1", 4, 1000, &[]));
        story
    }

    /// Looks, puts what follows into the log, and says it.
    fn look(&mut self, seconds: u64) -> Vec<&'static str> {
        self.simulation.now = moment(seconds).time;
        let concluded = self.leases.conclude(&self.simulation.cluster, moment(seconds));
        for body in &concluded {
            self.simulation.say(Subject::Plan, body.clone());
        }
        concluded.iter().map(Body::type_name).collect()
    }

    fn hear(&mut self, seconds: u64) {
        self.leases.hear("n1".into(), moment(seconds));
    }

    fn last_heard(&self) -> Option<i64> {
        let node = &self.simulation.cluster.nodes()[&NodeName::from("n1")];
        node.silence.map(|silence| silence.last_heard.seconds() - DAWN.seconds())
    }
}

const LOST: [&str; 1] = ["node.lease_lost.v1"];
const REGAINED: [&str; 1] = ["node.lease_regained.v1"];
const TIMED_OUT: [&str; 1] = ["node.timed_out.v1"];
const NOTHING: [&str; 0] = [];

#[test]
fn who_is_heard_in_time_keeps_the_lease() {
    let mut story = Story::begin(TIMEOUT);
    for second in 1..50 {
        if second % 9 == 0 {
            story.hear(second);
        }
        assert_eq!(story.look(second), NOTHING, "{second}");
    }
}

#[test]
fn a_silent_node_is_lost_once_times_out_once_and_comes_back() {
    let mut story = Story::begin(TIMEOUT);
    story.hear(5);
    assert_eq!(story.look(14), NOTHING);
    assert_eq!(story.look(15), LOST);
    assert_eq!(story.last_heard(), Some(5));
    assert_eq!(story.look(16), NOTHING);
    assert_eq!(story.look(64), NOTHING);
    assert_eq!(story.look(65), TIMED_OUT);
    assert_eq!(story.look(66), NOTHING);
    story.hear(70);
    assert_eq!(story.look(71), REGAINED);
    assert_eq!(story.last_heard(), None);
    assert_eq!(story.look(79), NOTHING);
    assert_eq!(story.look(80), LOST);
}

#[test]
fn without_a_timeout_runs_are_waited_for_until_the_node_is_set_down() {
    let mut story = Story::begin(0);
    assert_eq!(story.look(10), LOST);
    assert_eq!(story.look(100_000), NOTHING);
    story.simulation.update_node("n1", NodeUpdateState::Down);
    assert_eq!(story.look(100_001), TIMED_OUT);
}

#[test]
fn one_who_could_not_hear_concludes_nothing_from_it() {
    let mut story = Story::begin(TIMEOUT);
    story.hear(1);
    story.leases.was_deaf(moment(30));
    assert_eq!(story.look(30), NOTHING);
    assert_eq!(story.look(39), NOTHING);
    assert_eq!(story.look(40), LOST);
    // The timeout counts from the last sign, but nobody is given up before a lease's length of listening.
    story.leases.was_deaf(moment(100));
    assert_eq!(story.look(101), NOTHING);
    assert_eq!(story.look(110), TIMED_OUT);
}

#[test]
fn a_new_planner_knows_from_the_log_who_was_lost_and_when_an_agent_wrote_last() {
    let mut story = Story::begin(TIMEOUT);
    story.leases = Leases::new(LEASE, moment(200));
    assert_eq!(story.look(209), NOTHING);
    assert_eq!(story.look(210), LOST);
    assert_eq!(story.last_heard(), Some(0), "the registration is the last sign");
    story.leases = Leases::new(LEASE, moment(220));
    story.hear(221);
    assert_eq!(story.look(222), REGAINED);
}

#[test]
fn a_planner_whose_clock_is_behind_hears_all_the_same() {
    let mut story = Story::begin(TIMEOUT);
    story.simulation.now = moment(5_000).time;
    let last_heard = moment(5_000).time;
    story.simulation.say(Subject::Plan, NodeLeaseLost { node: "n1".into(), last_heard });
    story.leases = Leases::new(LEASE, moment(200));
    assert_eq!(story.look(201), NOTHING);
    story.hear(202);
    assert_eq!(story.look(203), REGAINED);
}

#[test]
fn having_been_deaf_brings_nobody_back() {
    let mut story = Story::begin(TIMEOUT);
    story.hear(5);
    assert_eq!(story.look(15), LOST);
    story.leases.was_deaf(moment(16));
    assert_eq!(story.look(17), NOTHING);
}

#[test]
fn who_has_never_registered_has_no_lease() {
    let mut story = Story::begin(TIMEOUT);
    story.simulation = one_node(TIMEOUT);
    assert_eq!(story.look(1000), NOTHING);
}

#[test]
fn the_ids_of_conclusions_come_from_the_position() {
    let events = Leases::to_events(
        vec![NodeLeaseRegained { node: "n1".into() }.into(), NodeLeaseRegained { node: "n2".into() }.into()],
        Seq(7),
        moment(1).time,
    );
    let ids: Vec<String> = events.iter().map(|event| event.id.to_string()).collect();
    assert_eq!(ids, ["leases/7/0", "leases/7/1"]);
}

/// Two nodes of four CPUs, and a job that fills one of them.
fn two_nodes() -> (Simulation, RunId) {
    let mut simulation = Simulation::new();
    let nodes = vec![node("n1", 4, 1000, &[]), node("n2", 4, 1000, &[])];
    let partitions = vec![partition("main", &["n1", "n2"])];
    simulation.configure(configuration(nodes.clone(), partitions, parameters()));
    nodes.iter().for_each(|node| simulation.register(node));
    let mut spec = job("train", "main", 60);
    spec.request_mut().cpus_per_task = 4;
    simulation.submit(spec);
    let cycle = simulation.plan();
    assert_eq!(cycle.starts[0].nodes[0].node, NodeName::from("n1"));
    (simulation, cycle.starts[0].run)
}

fn say(simulation: &mut Simulation, body: impl Into<Body>) {
    simulation.say(Subject::Plan, body);
    assert_eq!(simulation.cluster.sanity_check(), Ok(()));
}

#[test]
fn a_silent_node_gets_no_work_and_keeps_what_it_has() {
    let (mut simulation, run) = two_nodes();
    say(&mut simulation, NodeLeaseLost { node: "n1".into(), last_heard: DAWN });
    assert!(simulation.cluster.runs()[&run].end.is_none());
    simulation.submit(job("small", "main", 1));
    assert_eq!(simulation.plan().starts[0].nodes[0].node, NodeName::from("n2"));
    let node = &simulation.cluster.nodes()[&NodeName::from("n1")];
    assert_eq!(node.base_state(false), NodeState::Down);
}

#[test]
fn a_job_given_up_on_a_silent_node_runs_again_elsewhere_while_the_node_still_holds_it() {
    let (mut simulation, run) = two_nodes();
    say(&mut simulation, NodeLeaseLost { node: "n1".into(), last_heard: DAWN });
    simulation.now = DAWN.plus_seconds(300);
    say(&mut simulation, NodeTimedOut { node: "n1".into(), last_evidence: DAWN, waited: Seconds(300) });
    assert_eq!(simulation.cluster.jobs()[&run.job].state, JobState::Pending);
    let second = simulation.plan().starts[0].clone();
    assert_eq!((second.run, second.nodes[0].node.as_str()), (RunId::new(run.job, 1), "n2"));
    // Back, but its first run's processes may still be there: nothing else gets its CPUs before it says that they are not.
    say(&mut simulation, NodeLeaseRegained { node: "n1".into() });
    simulation.submit(job("next", "main", 60));
    assert_eq!(simulation.plan().starts, []);
    let release = RunNodeReleased { run, node: "n1".into() };
    simulation.say(Subject::Node("n1".into()), release);
    assert_eq!(simulation.cluster.sanity_check(), Ok(()));
    assert_eq!(simulation.cluster.runs().keys().collect::<Vec<_>>(), [&second.run]);
    assert_eq!(simulation.plan().starts[0].nodes[0].node.as_str(), "n1");
    assert_eq!(simulation.cluster.jobs()[&run.job].run, Some(second.run));
}

#[test]
fn what_was_given_up_goes_with_its_node() {
    let (mut simulation, _) = two_nodes();
    say(&mut simulation, NodeLeaseLost { node: "n1".into(), last_heard: DAWN });
    say(&mut simulation, NodeTimedOut { node: "n1".into(), last_evidence: DAWN, waited: Seconds(300) });
    let left = vec![node("n2", 4, 1000, &[])];
    simulation.configure(configuration(left, vec![partition("main", &["n2"])], parameters()));
    assert_eq!(simulation.cluster.sanity_check(), Ok(()));
    assert!(simulation.cluster.runs().is_empty());
    assert_eq!(simulation.cluster.nodes().len(), 1);
}

#[test]
fn a_node_says_nothing_about_runs_that_it_does_not_hold() {
    let (mut simulation, run) = two_nodes();
    let clean = ExitStatus::default();
    let ended =
        RunEnded { run, node: "n2".into(), cause: EndCause::Exited, exit: clean, message: None, usage: None };
    let lost = RunLost { run, node: "n2".into(), last_evidence: DAWN, message: String::new() };
    let n2 = Subject::Node("n2".into());
    simulation.say(n2.clone(), RunStarted { run, node: "n2".into(), pid: None });
    simulation.say(n2.clone(), ended.clone());
    simulation.say(n2.clone(), lost);
    // In another's name.
    simulation.say(n2, RunEnded { node: "n1".into(), ..ended });
    let run = &simulation.cluster.runs()[&run];
    assert_eq!((run.started, &run.end), (None, &None));
}
