use std::collections::BTreeMap;

use daybook_schemas::api::CapacityClass;
use daybook_schemas::events::{ClusterConfigured, NodeLeaseLost, NodeRegistered, NodeTimedOut, NodeUpdated};
use daybook_schemas::node::{GpuDevice, NodeDefinition, NodeUpdateState, ReturnToService};
use daybook_schemas::{GpuUuid, Mebibytes, NodeName, RunId};

use super::{Place, physical, run};
use crate::error::LedgerError;
use crate::keys;
use crate::posting::Posting;
use crate::rows::{NODE_HISTORY, NodeAct, NodeHistory, NodeRow, OpenCpus};

pub(super) fn configured(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &ClusterConfigured,
) -> Result<(), LedgerError> {
    posting.cluster.configure(data);
    let named: BTreeMap<&NodeName, &NodeDefinition> =
        data.nodes.iter().map(|node| (&node.name, node)).collect();
    for name in posting.node_names()? {
        if named.contains_key(&name) {
            continue;
        }
        let Some(mut node) = posting.take::<NodeRow>(&name)? else { continue };
        if !node.leaving {
            note(posting, place, &name, NodeAct::Removed, None)?;
        }
        node.leaving = true;
        forget_given_up(posting, &name, &mut node)?;
        node.gpus.values_mut().for_each(|gpu| gpu.leaving = true);
        physical::settle(posting, place.seq, &name, node, place.now.seconds())?;
    }
    named.values().try_for_each(|definition| define(posting, place, definition))
}

/// What has been given up on a node goes with it: nobody will ever say that it is over.
fn forget_given_up(
    posting: &mut Posting<'_>,
    name: &NodeName,
    node: &mut NodeRow,
) -> Result<(), LedgerError> {
    let given_up: Vec<RunId> =
        node.shares.iter().filter(|(_, share)| share.given_up).map(|(run, _)| *run).collect();
    for id in given_up {
        node.shares.remove(&id);
        run::let_go(posting, id, name)?;
    }
    Ok(())
}

fn define(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    definition: &NodeDefinition,
) -> Result<(), LedgerError> {
    let name = &definition.name;
    let at = place.now.seconds();
    let gpus = by_uuid(&definition.gpus);
    if let Some(mut node) = posting.take::<NodeRow>(name)? {
        (node.cpus, node.memory, node.configured_gpus, node.leaving) =
            (definition.cpus, definition.memory, gpus, false);
        physical::renumber(posting, place.seq, name, &mut node, at)?;
        return physical::settle(posting, place.seq, name, node, at);
    }
    let initial = definition.initial.as_ref();
    let is = |state| initial.is_some_and(|initial| initial.state == state);
    let node = NodeRow {
        cpus: definition.cpus,
        memory: definition.memory,
        configured_gpus: gpus,
        registered_gpus: None,
        drain: is(NodeUpdateState::Drain),
        down: is(NodeUpdateState::Down),
        fail: is(NodeUpdateState::Fail),
        boot: String::new(),
        timed_out: false,
        silent: false,
        leaving: false,
        shares: BTreeMap::new(),
        gpus: BTreeMap::new(),
        open: OpenCpus {
            from: at,
            seq: place.seq,
            cpus: 0,
            cpus_allocated: 0,
            memory: Mebibytes(0),
            memory_allocated: Mebibytes(0),
            rest: CapacityClass::Unknown,
        },
        boundary: at,
        installed_since: at,
    };
    note(posting, place, name, NodeAct::Added, initial.map(|initial| initial.reason.clone()))?;
    physical::found(posting, place.seq, name, node, at)
}

pub(super) fn registered(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &NodeRegistered,
) -> Result<(), LedgerError> {
    let at = place.now.seconds();
    let Some(mut node) = posting.take::<NodeRow>(&data.node)? else { return Ok(()) };
    let rule = posting.cluster.return_to_service;
    let rebooted = node.registered_gpus.is_some() && !node.boot.is_empty() && node.boot != data.boot_id;
    node.down |= rebooted && rule != ReturnToService::Always;
    node.boot.clone_from(&data.boot_id);
    node.registered_gpus = Some(by_uuid(&data.gpus));
    come_back(&mut node, rule);
    if !node.leaving {
        physical::renumber(posting, place.seq, &data.node, &mut node, at)?;
    }
    physical::settle(posting, place.seq, &data.node, node, at)?;
    posting.cluster.registered_since = posting.cluster.registered_since.or(Some(at));
    note(posting, place, &data.node, NodeAct::Registered, None)
}

/// The node is heard again. Whether it is down from now on is `ReturnToService`'s rule.
fn come_back(node: &mut NodeRow, rule: ReturnToService) -> bool {
    node.down |= std::mem::take(&mut node.timed_out) && rule == ReturnToService::Never;
    std::mem::take(&mut node.silent)
}

pub(super) fn updated(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &NodeUpdated,
) -> Result<(), LedgerError> {
    if let Some(mut node) = posting.take::<NodeRow>(&data.node)? {
        match data.state {
            Some(NodeUpdateState::Drain) => node.drain = true,
            Some(NodeUpdateState::Undrain) => node.drain = false,
            Some(NodeUpdateState::Down) => node.down = true,
            Some(NodeUpdateState::Fail) => node.fail = true,
            Some(NodeUpdateState::Resume) => (node.drain, node.down, node.fail) = (false, false, false),
            None => {}
        }
        physical::settle(posting, place.seq, &data.node, node, place.now.seconds())?;
    }
    let act = data.state.map_or(NodeAct::Reason, NodeAct::Set);
    note(posting, place, &data.node, act, data.reason.clone())
}

/// From the last sign of it on the node is down.
pub(super) fn lease_lost(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &NodeLeaseLost,
) -> Result<(), LedgerError> {
    let Some(mut node) = posting.take::<NodeRow>(&data.node)? else { return Ok(()) };
    let is_new = node.registered_gpus.is_some() && !node.silent;
    node.silent |= is_new;
    let at = data.last_heard.min(place.now).seconds();
    physical::settle(posting, place.seq, &data.node, node, at)?;
    if is_new { note(posting, place, &data.node, NodeAct::LeaseLost, None) } else { Ok(()) }
}

pub(super) fn lease_regained(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    name: &NodeName,
) -> Result<(), LedgerError> {
    let Some(mut node) = posting.take::<NodeRow>(name)? else { return Ok(()) };
    let was_silent = come_back(&mut node, posting.cluster.return_to_service);
    physical::settle(posting, place.seq, name, node, place.now.seconds())?;
    if was_silent { note(posting, place, name, NodeAct::LeaseRegained, None) } else { Ok(()) }
}

/// The runs of a node that has been silent for too long end at its last sign, and its books go on without them.
pub(super) fn timed_out(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &NodeTimedOut,
) -> Result<(), LedgerError> {
    let Some(node) = posting.get::<NodeRow>(&data.node)?.filter(|node| node.silent) else { return Ok(()) };
    let runs: Vec<RunId> = node.booked_shares().map(|(run, _)| *run).collect();
    posting.edit(&data.node, |node: &mut NodeRow| node.timed_out = true)?;
    for id in runs {
        run::give_up(posting, place, id, data)?;
    }
    note(posting, place, &data.node, NodeAct::TimedOut, None)
}

fn by_uuid(gpus: &[GpuDevice]) -> BTreeMap<GpuUuid, u32> {
    gpus.iter().map(|gpu| (gpu.uuid.clone(), gpu.index)).collect()
}

fn note(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    node: &NodeName,
    act: NodeAct,
    reason: Option<String>,
) -> Result<(), LedgerError> {
    let actor = &place.event.actor;
    let row = NodeHistory {
        seq: place.seq,
        at: place.now,
        act,
        by: actor.name.clone(),
        uid: actor.uid,
        reason: reason.filter(|reason| !reason.is_empty()),
    };
    posting.append(NODE_HISTORY, &keys::node_event(node, place.seq, place.index), &row)
}
