//! What associations and QOS are to say.

use std::collections::BTreeSet;

use daybook_model::Accounts;
use daybook_schemas::Seconds;
use daybook_schemas::accounts::{Association, Limits};
use daybook_schemas::api::{
    ApiError, AssociationSettings, Change, ErrorCode, LimitChanges, ListChange, TresChange,
};
use daybook_schemas::limits::{CountLimitName, TresLimitName, WallLimitName, is_tres_name};

use super::{Edit, invalid, names};

/// The largest number in a limit: Slurm keeps the ones above for "none" and "not said".
const COUNT_MAX: u32 = u32::MAX - 2;
/// The longest time in a limit: 136 years.
const SECONDS_MAX: u64 = u32::MAX as u64;
/// The most of a resource in a limit.
const AMOUNT_MAX: u64 = i64::MAX as u64;

/// Lets an association say it.
pub(super) fn apply(
    accounts: &Accounts,
    association: &mut Association,
    settings: &AssociationSettings,
) -> Result<(), ApiError> {
    for name in settings.limits.tres.keys() {
        if !name.is_of_associations() {
            return Err(only_of_qos(format!("{name:?}")));
        }
    }
    for name in settings.limits.counts.keys() {
        if !name.is_of_associations() {
            return Err(only_of_qos(format!("{name:?}")));
        }
    }
    if let Some(shares) = &settings.shares {
        association.shares = value(shares).copied().unwrap_or_default();
    }
    if let Some(priority) = &settings.priority {
        association.priority = value(priority).copied();
    }
    if let Some(comment) = &settings.comment {
        association.comment = value(comment).map(|text| names::text(text)).transpose()?;
    }
    if let Some(change) = &settings.qos {
        association.qos = qos_list(accounts, association, change)?;
    }
    if let Some(default) = &settings.default_qos {
        association.default_qos = value(default).map(|name| known_qos(accounts, name)).transpose()?;
    }
    limits(&mut association.limits, &settings.limits)
}

fn only_of_qos(limit: String) -> ApiError {
    invalid(format!("{limit} is a limit of a QOS, not of an association"))
}

pub(super) fn value<T>(change: &Change<T>) -> Option<&T> {
    match change {
        Change::Set(value) => Some(value),
        Change::Clear => None,
    }
}

/// Lets limits say it.
pub(super) fn limits(limits: &mut Limits, changes: &LimitChanges) -> Result<(), ApiError> {
    for (&name, change) in &changes.tres {
        let amounts = limits.tres_mut(name);
        match change {
            TresChange::Clear => amounts.clear(),
            TresChange::Amounts(changes) => {
                for (resource, change) in changes {
                    if !is_tres_name(resource) {
                        return Err(invalid("Invalid Trackable RESource (TRES) specification").detail(format!(
                            "'{}' is none of cpu, mem, node, billing, gres/gpu, gres/gpu:TYPE, license/NAME",
                            resource.escape_debug()
                        )));
                    }
                    match change {
                        Change::Clear => amounts.remove(resource),
                        Change::Set(amount) if *amount > AMOUNT_MAX => {
                            return Err(invalid(format!("Invalid value for {resource} ({amount})")));
                        }
                        Change::Set(amount) => amounts.insert(resource.clone(), *amount),
                    };
                }
            }
        }
    }
    for (&name, change) in &changes.counts {
        if value(change).is_some_and(|&count| count > COUNT_MAX) {
            return Err(invalid(format!("Invalid value for {name:?}: at most {COUNT_MAX}")));
        }
        *limits.count_mut(name) = value(change).copied();
    }
    for (&name, change) in &changes.walls {
        if value(change).is_some_and(|&Seconds(seconds)| seconds > SECONDS_MAX) {
            return Err(invalid(format!("Invalid value for {name:?}: at most {SECONDS_MAX} seconds")));
        }
        *limits.wall_mut(name) = value(change).copied();
    }
    Ok(())
}

/// A QOS that there is, in lower case.
pub(super) fn known_qos(accounts: &Accounts, name: &str) -> Result<String, ApiError> {
    let name = name.to_ascii_lowercase();
    if accounts.qos(&name).is_none() {
        let message = format!("You gave a bad qos '{name}'. Use 'list qos' to get complete list.");
        return Err(ApiError::new(ErrorCode::InvalidQos, message));
    }
    Ok(name)
}

/// A list after its change, sorted.
pub(super) fn changed_list<T: Ord + Clone>(now: &[T], change: &ListChange<T>) -> Vec<T> {
    let mut items: BTreeSet<T> = now.iter().cloned().collect();
    match change {
        ListChange::Set(new) => items = new.iter().cloned().collect(),
        ListChange::Add(more) => items.extend(more.iter().cloned()),
        ListChange::Remove(less) => less.iter().for_each(|item| {
            items.remove(item);
        }),
    }
    items.into_iter().collect()
}

/// The same change with the names of QOS that there are.
pub(super) fn known_list(
    accounts: &Accounts,
    change: &ListChange<String>,
) -> Result<ListChange<String>, ApiError> {
    let known = |names: &[String]| -> Result<Vec<String>, ApiError> {
        names.iter().map(|name| known_qos(accounts, name)).collect()
    };
    Ok(match change {
        ListChange::Set(names) => ListChange::Set(known(names)?),
        ListChange::Add(names) => ListChange::Add(known(names)?),
        ListChange::Remove(names) => ListChange::Remove(known(names)?),
    })
}

/// What is added or taken away is so beside what the association may have now; what is then as above is not its own.
fn qos_list(
    accounts: &Accounts,
    association: &Association,
    change: &ListChange<String>,
) -> Result<Option<Vec<String>>, ApiError> {
    let change = known_list(accounts, change)?;
    if change == ListChange::Set(Vec::new()) {
        return Ok(None);
    }
    let list = changed_list(accounts.qos_of(association), &change);
    let is_as_above = !matches!(change, ListChange::Set(_))
        && accounts.above(association).is_some_and(|above| accounts.qos_of(above) == list);
    Ok((!is_as_above).then_some(list))
}

/// Refuses where an association, or one below it, has a default QOS that it may not have.
pub(super) fn check_default_qos(edit: &Edit<'_>, changed: &[u32]) -> Result<(), ApiError> {
    let accounts = &edit.accounts;
    let mut waiting: Vec<u32> = changed.to_vec();
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    while let Some(id) = waiting.pop() {
        let Some(association) = accounts.associations().get(&id).filter(|_| seen.insert(id)) else {
            continue;
        };
        if association.user.is_none() {
            waiting.extend(accounts.below(&association.account).map(|below| below.id));
        }
        let default = accounts.line_of(association).find_map(|above| above.default_qos.as_ref());
        if default.is_some_and(|default| !accounts.qos_of(association).contains(default)) {
            let user = association.user.as_deref().unwrap_or_default();
            let (cluster, account) = (edit.cluster_name(), &association.account);
            faults.push(format!("C = {cluster:<10} A = {account:<10} U = {user:<9}"));
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    faults.sort();
    let message = "These associations don't have access to their default qos.";
    let error = ApiError::new(ErrorCode::InvalidQos, message);
    let error = faults.into_iter().take(100).fold(error, |error, line| error.detail(line));
    Err(error.detail("Please give them access before the default can be set to this."))
}

/// A setting that, where an association does not say it, is as in the account above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inherited {
    Qos,
    DefaultQos,
    Priority,
    Tres(TresLimitName),
    Count(CountLimitName),
    Wall(WallLimitName),
}

impl Inherited {
    /// Those that a change is about.
    pub(super) fn of(settings: &AssociationSettings) -> Vec<Inherited> {
        let mut all = Vec::new();
        all.extend(settings.qos.is_some().then_some(Inherited::Qos));
        all.extend(settings.default_qos.is_some().then_some(Inherited::DefaultQos));
        all.extend(settings.priority.is_some().then_some(Inherited::Priority));
        let limits = &settings.limits;
        all.extend(limits.tres.keys().filter(|name| name.is_inherited()).map(|name| Inherited::Tres(*name)));
        all.extend(
            limits.counts.keys().filter(|name| name.is_inherited()).map(|name| Inherited::Count(*name)),
        );
        all.extend(limits.walls.keys().filter(|name| name.is_inherited()).map(|name| Inherited::Wall(*name)));
        all
    }

    /// Whether an association leaves it to the account above.
    pub(super) fn is_left_by(self, association: &Association) -> bool {
        match self {
            Inherited::Qos => association.qos.is_none(),
            Inherited::DefaultQos => association.default_qos.is_none(),
            Inherited::Priority => association.priority.is_none(),
            Inherited::Tres(name) => association.limits.tres(name).is_empty(),
            Inherited::Count(name) => association.limits.count(name).is_none(),
            Inherited::Wall(name) => association.limits.wall(name).is_none(),
        }
    }
}
