//! Which nodes a reservation keeps whole.

use daybook_model::{Cluster, Node, Reservation, Run};
use daybook_schemas::api::{ApiError, ErrorCode, NamedNodes, ReservationWish};
use daybook_schemas::reservation::{NodeChoice, ReservationDefinition};
use daybook_schemas::{NodeName, UtcMicros};

/// Chooses the nodes: those named, all of the partition or the cluster, or as many as are wanted of those that are not
/// reserved, on which nothing runs that goes on into it. An update that asks for none keeps those that there are.
pub(super) fn choose(
    cluster: &Cluster,
    made: &mut ReservationDefinition,
    wish: &ReservationWish,
    now: UtcMicros,
) -> Result<(), ApiError> {
    let members = members(cluster, made)?;
    let asks_for_partition = made.choice == NodeChoice::Partition;
    let wants_all = matches!(wish.nodes, Some(NamedNodes::All));
    check_partition_nodes(made, wish)?;
    match (&wish.nodes, wish.node_count) {
        (Some(NamedNodes::These(names)), _) => {
            made.choice = NodeChoice::Named;
            made.nodes.clone_from(names);
        }
        _ if wants_all || asks_for_partition => {
            if !asks_for_partition {
                made.choice = if made.partition.is_some() { NodeChoice::Named } else { NodeChoice::All };
            }
            made.nodes = members.iter().map(|node| node.definition.name.clone()).collect();
        }
        (_, Some(count)) => {
            made.choice = NodeChoice::Counted;
            made.nodes = counted(cluster, made, &members, count, now)?;
        }
        (_, None) if made.nodes.is_empty() => {
            return Err(ApiError::new(ErrorCode::InvalidNodeName, "Invalid node name specified")
                .detail("it keeps no node: name nodes, or say how many"));
        }
        (_, None) => {}
    }
    made.nodes.sort_unstable();
    made.nodes.dedup();
    if made.nodes.is_empty() || made.nodes.iter().any(|name| !cluster.nodes().contains_key(name)) {
        return Err(invalid_name());
    }
    if made.nodes.iter().any(|name| is_reserved(cluster, made, name, now)) {
        return Err(overlap());
    }
    if !made.flags.ignore_jobs && made.nodes.iter().any(|name| is_busy(cluster, made, name)) {
        return Err(busy());
    }
    Ok(())
}

/// What the flag for all nodes of a partition goes with.
pub(super) fn check_partition_nodes(
    made: &ReservationDefinition,
    wish: &ReservationWish,
) -> Result<(), ApiError> {
    let names_others = made.partition.is_none() || matches!(wish.nodes, Some(NamedNodes::These(_)));
    if made.choice == NodeChoice::Partition && names_others {
        return Err(ApiError::new(ErrorCode::InvalidPartition, "Invalid partition name specified")
            .detail("PART_NODES goes with a partition and Nodes=ALL"));
    }
    Ok(())
}

pub(super) fn invalid_name() -> ApiError {
    ApiError::new(ErrorCode::InvalidNodeName, "Invalid node name specified")
}

pub(super) fn overlap() -> ApiError {
    ApiError::new(ErrorCode::InvalidReservation, "Requested reservation overlaps with another reservation")
}

pub(super) fn busy() -> ApiError {
    ApiError::new(ErrorCode::WrongState, "Requested nodes are busy")
}

/// Of these nodes those with the features that are wanted.
pub(super) fn with_features<'n>(
    made: &ReservationDefinition,
    members: &[&'n Node],
) -> Result<Vec<&'n Node>, ApiError> {
    let known = |feature: &String| members.iter().any(|node| node.definition.features.contains(feature));
    if !made.features.iter().all(known) {
        return Err(ApiError::new(ErrorCode::UnavailableConfiguration, "Invalid feature specification"));
    }
    let fits = |node: &&&Node| made.features.iter().all(|feature| node.definition.features.contains(feature));
    Ok(members.iter().filter(fits).copied().collect())
}

/// The nodes to choose from, in the order of the configuration.
pub(super) fn members<'a>(
    cluster: &'a Cluster,
    made: &ReservationDefinition,
) -> Result<Vec<&'a Node>, ApiError> {
    let all: Vec<&NodeName> = match &made.partition {
        None => cluster.nodes().keys().collect(),
        Some(name) => {
            let partition = cluster.partition(name).ok_or_else(|| {
                ApiError::new(ErrorCode::InvalidPartition, "Invalid partition name specified")
            })?;
            partition.nodes.iter().collect()
        }
    };
    let nodes = all.into_iter().filter_map(|name| cluster.nodes().get(name)).map(AsRef::as_ref);
    let mut nodes: Vec<&Node> = nodes.filter(|node| !node.retired).collect();
    nodes.sort_by_key(|node| (node.order, &node.definition.name));
    Ok(nodes)
}

/// So many nodes with the features; those on which nothing runs are preferred, then those of the lowest weight. Nodes that
/// the reservation has already are kept.
fn counted(
    cluster: &Cluster,
    made: &ReservationDefinition,
    members: &[&Node],
    count: u32,
    now: UtcMicros,
) -> Result<Vec<NodeName>, ApiError> {
    let fitting = with_features(made, members)?;
    let wanted = count as usize;
    if wanted == 0 {
        return Err(ApiError::new(ErrorCode::NodeCountInvalid, "Node count specification invalid"));
    }
    if fitting.len() < wanted {
        return Err(ApiError::new(
            ErrorCode::UnavailableConfiguration,
            "Requested node configuration is not available",
        ));
    }
    let can_be_kept = |node: &&&Node| {
        let name = &node.definition.name;
        node.is_schedulable()
            && !is_reserved(cluster, made, name, now)
            && (made.flags.ignore_jobs || !is_busy(cluster, made, name))
    };
    let mut free: Vec<&&Node> = fitting.iter().filter(can_be_kept).collect();
    free.sort_by_key(|node| {
        let is_new = !made.nodes.contains(&node.definition.name);
        (is_new, !node.runs.is_empty(), node.definition.weight, node.order)
    });
    if free.len() < wanted {
        return Err(busy());
    }
    Ok(free.into_iter().take(wanted).map(|node| node.definition.name.clone()).collect())
}

/// Whether another reservation keeps a node, or CPUs of it, at a time of this one.
fn is_reserved(cluster: &Cluster, made: &ReservationDefinition, name: &NodeName, now: UtcMicros) -> bool {
    others_on(cluster, made, name, now).next().is_some()
}

/// Other reservations that keep something of a node at a time of this one. Those that may overlap are no matter.
pub(super) fn others_on<'c>(
    cluster: &'c Cluster,
    made: &'c ReservationDefinition,
    name: &'c NodeName,
    now: UtcMicros,
) -> impl Iterator<Item = &'c Reservation> {
    let may_overlap = made.flags.maintenance || made.flags.overlap;
    let counts = move |other: &&Reservation| {
        let definition = &other.definition;
        !may_overlap
            && definition.name != made.name
            && !definition.flags.maintenance
            && !definition.flags.overlap
            && definition.nodes.binary_search(name).is_ok()
    };
    let others = cluster.reservations().values().map(AsRef::as_ref).filter(counts);
    others.filter(move |other| overlaps(other, made, now))
}

/// Whether two reservations meet: of one that repeats its times in the weeks to come count, as in Slurm.
fn overlaps(other: &Reservation, made: &ReservationDefinition, now: UtcMicros) -> bool {
    let own = Reservation {
        definition: std::sync::Arc::new(made.clone()),
        unused_since: None,
        changed: Default::default(),
    };
    let horizon = now.max(made.start).plus_seconds(WATCHED_SECONDS);
    let mut at = now;
    while let Some(window) = own.window(at).filter(|window| window.start < horizon) {
        if other.meets(now, window.start.max(now), Some(window.end)) {
            return true;
        }
        if made.flags.repeat.is_none() || made.flags.begins_in.is_some() {
            break;
        }
        at = window.end;
    }
    false
}

/// How far ahead times of reservations that repeat are compared: each of them comes the same every week.
const WATCHED_SECONDS: i64 = 8 * 86_400;

/// Whether something runs on a node that goes on into the reservation.
fn is_busy(cluster: &Cluster, made: &ReservationDefinition, name: &NodeName) -> bool {
    let Some(node) = cluster.nodes().get(name) else { return false };
    going_on(cluster, made, node).next().is_some()
}

/// What runs on a node and goes on into the reservation.
pub(super) fn going_on<'c>(
    cluster: &'c Cluster,
    made: &'c ReservationDefinition,
    node: &'c Node,
) -> impl Iterator<Item = &'c Run> {
    let goes_on = |run: &&Run| {
        run.reservation.as_deref() != Some(made.name.as_str())
            && run.end.is_none()
            && run.limit_end().is_none_or(|end| end > made.start)
    };
    let runs = node.runs.iter().filter_map(|id| cluster.runs().get(id)).map(AsRef::as_ref);
    runs.filter(goes_on)
}
