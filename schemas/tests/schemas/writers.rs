//! Who may say what: a node speaks of itself alone, and every reader leaves out the rest.

use daybook_schemas::events::NodeUpdated;
use daybook_schemas::node::NodeUpdateState;
use daybook_schemas::{Body, Commit, Subject};

use crate::samples;

/// The types that count when this writer says them.
fn counted(subject: &Subject) -> Vec<&'static str> {
    let said = |commit: &Commit| {
        let commit = Commit { subject: subject.clone(), ..commit.clone() };
        commit.counted().map(|(_, event)| event.body.type_name()).collect::<Vec<_>>()
    };
    samples::all().iter().flat_map(|sample| said(&sample.full)).collect()
}

#[test]
fn a_nodes_agent_speaks_of_its_own_node_and_what_runs_there() {
    let node = samples::all().into_iter().find_map(|sample| match &sample.full.events[0].body {
        Body::RunStarted(data) => Some(data.node.clone()),
        _ => None,
    });
    let own = counted(&Subject::Node(node.expect("a sample of a run's start")));
    assert_eq!(
        own,
        [
            "node.registered.v1",
            "run.ended.v1",
            "run.lost.v1",
            "run.node_released.v1",
            "run.resumed.v1",
            "run.started.v1",
            "run.suspended.v1",
            "run.usage.v1"
        ]
    );
    assert_eq!(counted(&Subject::Node("another".into())), Vec::<&str>::new());
}

#[test]
fn a_nodes_agent_may_take_its_node_out_of_service_with_a_reason_and_change_nothing_else() {
    let said = |change: &dyn Fn(&mut NodeUpdated)| {
        let mut commit = samples::of("node.updated.v1").full;
        let mut data =
            NodeUpdated::new("n7".into(), Some(NodeUpdateState::Drain), Some("Prolog error".to_string()));
        change(&mut data);
        commit.subject = Subject::Node("n7".into());
        commit.events[0].body = data.into();
        commit.counted().count() == 1
    };
    assert!(said(&|_| ()));
    let refused: [&dyn Fn(&mut NodeUpdated); 5] = [
        &|data| data.node = "n8".into(),
        &|data| data.reason = None,
        &|data| data.state = Some(NodeUpdateState::Resume),
        &|data| data.state = None,
        &|data| data.weight = Some(1),
    ];
    assert!(refused.iter().all(|change| !said(change)));
}

#[test]
fn the_central_writers_are_believed() {
    for subject in [Subject::Jobs, Subject::Plan, Subject::Admin, Subject::Ledger, Subject::Audit] {
        assert_eq!(counted(&subject).len(), samples::all().len(), "{subject}");
    }
}

#[test]
fn what_does_not_count_keeps_its_place_in_the_commit() {
    let foreign = samples::of("run.started.v1").full.events[0].clone();
    let mut own = foreign.clone();
    if let Body::RunStarted(data) = &mut own.body {
        data.node = "n7".into();
    }
    let commit = Commit {
        subject: Subject::Node("n7".into()),
        events: vec![foreign.clone(), own.clone(), foreign],
        ..samples::of("run.started.v1").full
    };
    assert_eq!(commit.counted().map(|(place, _)| place).collect::<Vec<_>>(), [1]);
}
