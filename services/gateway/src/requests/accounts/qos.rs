//! Qualities of service.

use std::collections::BTreeSet;

use daybook_schemas::Seconds;
use daybook_schemas::accounts::{Association, FACTOR_ONE, NORMAL_QOS, PreemptMode, Qos};
use daybook_schemas::api::{AccountsTarget, ApiError, ErrorCode, QosChange, QosSettings};
use daybook_schemas::events::{AssociationDefined, QosDefined, QosRemoved};

use super::settings::{changed_list, known_list, limits, value};
use super::{Edit, Reached, invalid, names, removal};

/// The most that a factor may be: a million.
const FACTOR_MAX: u64 = 1_000_000 * FACTOR_ONE;

pub(super) fn add(edit: &mut Edit<'_>, asked: &QosChange) -> Reached {
    edit.needs_administrator()?;
    let names = names::all(&asked.names)?;
    if names.is_empty() {
        return Err(invalid("Need name of qos to add."));
    }
    let mut reached = Vec::new();
    for name in names {
        if edit.accounts.qos(&name).is_some() {
            continue;
        }
        let (_, id) = edit.accounts.next_numbers();
        let mut qos = Qos::new(id, &name);
        apply(edit, &mut qos, &asked.settings)?;
        edit.put(QosDefined { qos });
        reached.push(AccountsTarget::Qos(name));
    }
    Ok(reached)
}

pub(super) fn modify(edit: &mut Edit<'_>, asked: &QosChange) -> Reached {
    edit.needs_administrator()?;
    if asked.settings == QosSettings::default() {
        return Ok(Vec::new());
    }
    let wanted = names::wanted(&asked.names);
    let is_meant = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let meant: Vec<_> = edit.accounts.all_qos().values().filter(|qos| is_meant(&qos.name)).cloned().collect();
    for now in &meant {
        let mut qos = now.as_ref().clone();
        apply(edit, &mut qos, &asked.settings)?;
        if qos != **now {
            edit.put(QosDefined { qos });
        }
    }
    Ok(meant.iter().map(|qos| AccountsTarget::Qos(qos.name.clone())).collect())
}

fn apply(edit: &Edit<'_>, qos: &mut Qos, asked: &QosSettings) -> Result<(), ApiError> {
    if let Some(description) = &asked.description {
        qos.description = names::text(description)?;
    }
    if let Some(priority) = &asked.priority {
        qos.priority = value(priority).copied().unwrap_or_default();
    }
    if let Some(mode) = &asked.preempt_mode {
        let is_gang = edit.cluster.preemption().is_some_and(|parameters| parameters.gang);
        if value(mode) == Some(&PreemptMode::Suspend) && !is_gang {
            return Err(invalid("PreemptMode=suspend needs GANG in the cluster's PreemptMode")
                .detail("nobody would let its jobs go on: write PreemptMode=SUSPEND,GANG into slurm.conf, or GANG beside what is there"));
        }
        qos.preempt_mode = value(mode).copied();
    }
    if let Some(time) = &asked.grace_time {
        qos.grace_time = value(time).copied().unwrap_or(Seconds(0));
    }
    if let Some(time) = &asked.preempt_exempt_time {
        qos.preempt_exempt_time = value(time).copied();
    }
    let factors = [&asked.usage_factor, &asked.limit_factor, &asked.usage_threshold];
    if factors.into_iter().flatten().filter_map(value).any(|&factor| factor > FACTOR_MAX) {
        return Err(invalid("Invalid factor").detail("a factor is from 0 to 1000000"));
    }
    if let Some(factor) = &asked.usage_factor {
        qos.usage_factor = value(factor).copied().unwrap_or(FACTOR_ONE);
    }
    if let Some(factor) = &asked.limit_factor {
        qos.limit_factor = value(factor).copied();
    }
    if let Some(threshold) = &asked.usage_threshold {
        qos.usage_threshold = value(threshold).copied();
    }
    if let Some(flags) = &asked.flags {
        qos.flags = changed_list(&qos.flags, flags);
    }
    limits(&mut qos.limits, &asked.limits)?;
    if let Some(change) = &asked.preempt {
        // A new one may not name itself: it is not there yet, and would be its own prey.
        qos.preempt = changed_list(&qos.preempt, &known_list(&edit.accounts, change)?);
        check_preemption(edit, qos)?;
    }
    Ok(())
}

/// Refuses where a QOS would take from itself, be it by way of others.
fn check_preemption(edit: &Edit<'_>, qos: &Qos) -> Result<(), ApiError> {
    let mut waiting: Vec<&str> = qos.preempt.iter().map(String::as_str).collect();
    let mut seen = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        if name == qos.name {
            return Err(invalid("QOS Preemption loop detected")
                .detail(format!("'{name}' would preempt itself, directly or by way of others")));
        }
        if seen.insert(name) {
            let next = edit.accounts.qos(name).into_iter().flat_map(|qos| &qos.preempt);
            waiting.extend(next.map(String::as_str));
        }
    }
    Ok(())
}

pub(super) fn remove(edit: &mut Edit<'_>, names: &[String]) -> Reached {
    edit.needs_administrator()?;
    if names.is_empty() {
        return Err(invalid("No conditions given to remove, not executing."));
    }
    let wanted: BTreeSet<String> = names::wanted(names).into_iter().collect();
    let gone: BTreeSet<String> =
        wanted.into_iter().filter(|name| edit.accounts.qos(name).is_some()).collect();
    if gone.contains(NORMAL_QOS) {
        return Err(ApiError::new(ErrorCode::InUse, "The QOS normal cannot be removed")
            .detail("it is the QOS of jobs that have no other"));
    }
    removal::check_jobs(edit, |job| gone.contains(job.qos.as_ref()))?;
    let associations: Vec<_> = edit.accounts.associations().values().cloned().collect();
    for now in associations {
        let mut association: Association = now.as_ref().clone();
        association.qos.iter_mut().for_each(|list| list.retain(|name| !gone.contains(name)));
        association.default_qos = association.default_qos.filter(|name| !gone.contains(name));
        if association != *now {
            edit.put(AssociationDefined { association });
        }
    }
    let others: Vec<_> = edit.accounts.all_qos().values().cloned().collect();
    for now in others {
        let mut qos = now.as_ref().clone();
        qos.preempt.retain(|name| !gone.contains(name));
        if qos != *now && !gone.contains(&qos.name) {
            edit.put(QosDefined { qos });
        }
    }
    for qos in &gone {
        edit.put(QosRemoved { qos: qos.clone() });
    }
    Ok(gone.into_iter().map(AccountsTarget::Qos).collect())
}
