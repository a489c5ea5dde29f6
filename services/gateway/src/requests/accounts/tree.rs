//! Accounts and their places in the tree.

use std::collections::BTreeSet;

use daybook_model::TREE_DEPTH_MAX;
use daybook_schemas::accounts::{Account, Association, ROOT_ACCOUNT};
use daybook_schemas::api::{
    AccountCondition, AccountsTarget, AddAccounts, ApiError, AssociationSettings, ErrorCode, ModifyAccounts,
};
use daybook_schemas::events::{AccountDefined, AccountRemoved, AssociationDefined};

use super::settings::Inherited;
use super::{Edit, Reached, conditions, invalid, names, no_account, removal, settings};

pub(super) fn add(edit: &mut Edit<'_>, asked: &AddAccounts) -> Reached {
    let names = names::all(&asked.names)?;
    if names.is_empty() {
        return Err(invalid("Need name of account to add."));
    }
    let parent = names::one(asked.parent.as_deref().unwrap_or(ROOT_ACCOUNT))?;
    edit.needs_account(&parent)?;
    if edit.accounts.at(&parent, None, None).is_none() {
        let message = format!("Parent account '{parent}' doesn't exist on cluster {}", edit.cluster_name());
        return Err(ApiError::new(ErrorCode::InvalidAccount, message)
            .detail("Contact your admin to add this account."));
    }
    check_depth(depth(edit, &parent) + 1)?;
    let (mut reached, mut changed) = (Vec::new(), Vec::new());
    for name in names {
        if edit.accounts.at(&name, None, None).is_some() {
            continue;
        }
        let default_organization = if parent == ROOT_ACCOUNT { &name } else { &parent };
        let account = Account {
            description: names::text(asked.description.as_deref().unwrap_or(&name))?,
            organization: names::text(asked.organization.as_deref().unwrap_or(default_organization))?,
            name: name.clone(),
            coordinators: Vec::new(),
        };
        edit.put(AccountDefined { account });
        let (id, _) = edit.accounts.next_numbers();
        let mut association =
            Association { id, account: name.clone(), parent: Some(parent.clone()), ..Association::default() };
        settings::apply(&edit.accounts, &mut association, &asked.settings)?;
        edit.put(AssociationDefined { association });
        changed.push(id);
        reached.extend([AccountsTarget::Account(name), AccountsTarget::Association(id)]);
    }
    settings::check_default_qos(edit, &changed)?;
    Ok(reached)
}

/// How many accounts there are from an account to the root, with both.
fn depth(edit: &Edit<'_>, account: &str) -> usize {
    edit.accounts.at(account, None, None).map_or(0, |own| edit.accounts.line_of(own).count())
}

/// How many accounts there are below each other, from this one down.
fn height(edit: &Edit<'_>, account: &str) -> usize {
    let mut deepest = 0;
    let mut waiting = vec![(account.to_string(), 1)];
    while let Some((account, level)) = waiting.pop() {
        deepest = deepest.max(level);
        // The tree has no loops and is never deeper; this bounds the walk all the same.
        if level <= TREE_DEPTH_MAX {
            let below = edit.accounts.below(&account).filter(|below| below.user.is_none());
            waiting.extend(below.map(|below| (below.account.clone(), level + 1)));
        }
    }
    deepest
}

/// A user's association is one more.
fn check_depth(accounts: usize) -> Result<(), ApiError> {
    if accounts >= TREE_DEPTH_MAX {
        return Err(invalid("The tree of accounts would be too deep")
            .detail(format!("at most {} accounts may stand below each other", TREE_DEPTH_MAX - 1)));
    }
    Ok(())
}

pub(super) fn modify(edit: &mut Edit<'_>, asked: &ModifyAccounts) -> Reached {
    let meant = conditions::accounts(&edit.accounts, &asked.which);
    for name in &meant {
        edit.needs_account(name)?;
    }
    let (mut accounts, mut associations) = (Vec::new(), Vec::new());
    if asked.description.is_some() || asked.organization.is_some() {
        for name in &meant {
            describe(edit, name, asked)?;
            accounts.push(AccountsTarget::Account(name.clone()));
        }
    }
    if asked.parent.is_some() || asked.settings != AssociationSettings::default() {
        let parent = asked.parent.as_deref().map(names::one).transpose()?;
        for name in &meant {
            associations.extend(change_association(edit, name, parent.as_deref(), &asked.settings)?);
        }
        settings::check_default_qos(edit, &associations)?;
    }
    accounts.extend(associations.into_iter().map(AccountsTarget::Association));
    Ok(accounts)
}

fn describe(edit: &mut Edit<'_>, name: &str, asked: &ModifyAccounts) -> Result<(), ApiError> {
    let Some(now) = edit.accounts.accounts().get(name).cloned() else { return Ok(()) };
    let mut account = now.as_ref().clone();
    if let Some(description) = &asked.description {
        account.description = names::text(description)?;
    }
    if let Some(organization) = &asked.organization {
        account.organization = names::text(organization)?;
    }
    if account != *now {
        edit.put(AccountDefined { account });
    }
    Ok(())
}

/// The associations that the change reaches: the account's own, and those of users below that leave it to the account.
fn change_association(
    edit: &mut Edit<'_>,
    name: &str,
    parent: Option<&str>,
    asked: &AssociationSettings,
) -> Result<Vec<u32>, ApiError> {
    let Some(now) = edit.accounts.at(name, None, None).cloned() else { return Ok(Vec::new()) };
    let mut association = now.as_ref().clone();
    if let Some(parent) = parent {
        check_move(edit, name, parent)?;
        association.parent = Some(parent.to_string());
    }
    settings::apply(&edit.accounts, &mut association, asked)?;
    if association != *now {
        edit.put(AssociationDefined { association });
    }
    let mut reached = vec![now.id];
    let mut waiting = vec![(name.to_string(), Inherited::of(asked))];
    while let Some((account, inherited)) = waiting.pop() {
        for below in edit.accounts.below(&account) {
            let left: Vec<Inherited> =
                inherited.iter().copied().filter(|setting| setting.is_left_by(below)).collect();
            match (&below.user, left.is_empty()) {
                (_, true) => {}
                (Some(_), false) => reached.push(below.id),
                (None, false) => waiting.push((below.account.clone(), left)),
            }
        }
    }
    Ok(reached)
}

fn check_move(edit: &Edit<'_>, name: &str, parent: &str) -> Result<(), ApiError> {
    if name == ROOT_ACCOUNT {
        return Err(invalid("The root account has no parent."));
    }
    if edit.accounts.at(parent, None, None).is_none() {
        return Err(no_account(parent));
    }
    if edit.accounts.is_within(parent, name) {
        return Err(invalid(format!("Account '{name}' cannot be below '{parent}'"))
            .detail(format!("'{parent}' is '{name}' itself or below it: the tree would have a loop")));
    }
    edit.needs_account(parent)?;
    check_depth(depth(edit, parent) + height(edit, name))
}

/// Accounts with all that is below them.
pub(super) fn remove(edit: &mut Edit<'_>, which: &AccountCondition) -> Reached {
    if *which == AccountCondition::default() {
        return Err(invalid("No conditions given to remove, not executing."));
    }
    let named = conditions::accounts(&edit.accounts, which);
    if named.iter().any(|name| name == ROOT_ACCOUNT) {
        return Err(invalid("You are not allowed to remove the root account."));
    }
    for name in &named {
        edit.needs_account(name)?;
    }
    let mut gone: BTreeSet<String> = BTreeSet::new();
    let (mut associations, mut users) = (BTreeSet::new(), BTreeSet::new());
    let mut waiting = named;
    while let Some(name) = waiting.pop() {
        if !gone.insert(name.clone()) {
            continue;
        }
        associations.extend(edit.accounts.at(&name, None, None).map(|own| own.id));
        for below in edit.accounts.below(&name) {
            match &below.user {
                Some(user) => {
                    associations.insert(below.id);
                    users.insert(user.clone());
                }
                None => waiting.push(below.account.clone()),
            }
        }
    }
    removal::check_jobs(edit, |job| gone.contains(job.account.as_ref()))?;
    removal::remove_associations(edit, &associations);
    check_defaults(edit, &gone, &users)?;
    removal::move_defaults(edit, &users);
    for account in &gone {
        edit.put(AccountRemoved { account: account.clone() });
    }
    Ok(gone.into_iter().map(AccountsTarget::Account).collect())
}

/// Refuses where a user's only account would be gone.
fn check_defaults(
    edit: &Edit<'_>,
    gone: &BTreeSet<String>,
    users: &BTreeSet<String>,
) -> Result<(), ApiError> {
    let message = "You can not remove the default account of a user";
    let mut error = ApiError::new(ErrorCode::InUse, message);
    for name in users {
        let Some(user) = edit.accounts.users().get(name.as_str()) else { continue };
        let default = user.default_account.as_ref().filter(|account| gone.contains(*account));
        let Some(account) = default.filter(|_| removal::next_default(edit, user).is_none()) else { continue };
        let cluster = edit.cluster_name();
        error = error.detail(format!("C = {cluster:<15} A = {account:<10} U = {name:<9}"));
    }
    if error.details.is_empty() { Ok(()) } else { Err(error) }
}
