use daybook_model::Cluster;
use daybook_schemas::events::{Body, PrioritiesCalculated};
use daybook_schemas::{Actor, Event, EventId, Seq, UtcMicros};

/// The events of a commit by which usage, fair shares and priorities are calculated anew, where it is time for that.
pub fn calculation(cluster: &Cluster, now: UtcMicros) -> Option<Vec<Event>> {
    if cluster.priorities_due(now)? > now {
        return None;
    }
    let input = cluster.position();
    Some(vec![Event {
        id: calculation_id(input),
        source: "planner".to_string(),
        time: now,
        actor: Actor::service("planner"),
        cause: Some(input),
        body: Body::from(PrioritiesCalculated { input, at: now }),
    }])
}

/// The identity of the event that is asked for from a position.
fn calculation_id(input: Seq) -> EventId {
    EventId::from(format!("priorities/{input}"))
}
