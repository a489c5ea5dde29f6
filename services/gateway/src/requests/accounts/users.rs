//! Users and their associations.

use std::collections::BTreeSet;
use std::sync::Arc;

use daybook_schemas::accounts::{AccountUser, AdminLevel, Association, WorkloadKey};
use daybook_schemas::api::{
    AccountsTarget, AddUsers, ApiError, AssociationSettings, Change, ErrorCode, ModifyUsers, UserCondition,
};
use daybook_schemas::events::{
    AccountDefined, AssociationDefined, UserDefined, UserRemoved, WckeyDefined, WckeyRemoved,
};

use super::{Edit, Reached, conditions, invalid, names, no_account, removal, settings};
use crate::authority::denied;

pub(super) fn add(edit: &mut Edit<'_>, asked: &AddUsers) -> Reached {
    let (users, accounts) = (names::all(&asked.names)?, names::all(&asked.accounts)?);
    let wckeys = names::all(&asked.wckeys)?;
    let default = asked.default_account.as_deref().map(names::one).transpose()?;
    if users.is_empty() {
        return Err(invalid("Need name of user to add."));
    }
    if accounts.is_empty() && wckeys.is_empty() {
        return Err(invalid("Need name of account to add user to."));
    }
    for account in &accounts {
        if edit.accounts.at(account, None, None).is_none() {
            return Err(no_account(account));
        }
        edit.needs_account(account)?;
    }
    for partition in &asked.partitions {
        if edit.cluster.partition(partition).is_none() {
            return Err(ApiError::new(ErrorCode::InvalidPartition, "Invalid partition name specified")
                .detail(format!("invalid partition specified: {partition}")));
        }
    }
    if !edit.is_operator() && (!wckeys.is_empty() || asked.admin_level.is_some()) {
        return Err(denied());
    }
    check_level(edit, asked.admin_level, AdminLevel::None)?;
    let mut reached = Vec::new();
    for user in &users {
        add_one(edit, asked, user, &accounts, default.as_deref(), &mut reached)?;
        for name in &wckeys {
            let key = WorkloadKey { user: user.clone(), name: name.clone() };
            if !edit.accounts.wckeys().contains(&key) {
                edit.put(WckeyDefined { key: key.clone() });
                reached.push(AccountsTarget::WorkloadKey(key));
            }
        }
    }
    Ok(reached)
}

/// A user with associations. What is there already stays.
fn add_one(
    edit: &mut Edit<'_>,
    asked: &AddUsers,
    name: &str,
    accounts: &[String],
    default: Option<&str>,
    reached: &mut Vec<AccountsTarget>,
) -> Result<(), ApiError> {
    let partitions: Vec<Option<&str>> = match asked.partitions.is_empty() {
        true => vec![None],
        false => asked.partitions.iter().map(|partition| Some(partition.as_str())).collect(),
    };
    let before = edit.accounts.users().get(name).cloned();
    let mut user = before.as_deref().cloned().unwrap_or_else(|| AccountUser {
        name: name.to_string(),
        default_wckey: asked.default_wckey.clone(),
        admin_level: asked.admin_level.unwrap_or_default(),
        ..AccountUser::default()
    });
    let will_have =
        |account: &str| accounts.iter().any(|own| own == account) || has_account(edit, name, account);
    if let Some(default) = default {
        if !will_have(default) {
            return Err(not_associated(default, &[name.to_string()], edit.cluster_name()));
        }
        user.default_account = Some(default.to_string());
    } else if user.default_account.is_none() {
        user.default_account = accounts.first().cloned();
    }
    if before.is_none() {
        reached.push(AccountsTarget::User(name.to_string()));
    }
    if before.as_deref() != Some(&user) {
        edit.put(UserDefined { user });
    }
    let mut changed = Vec::new();
    for account in accounts {
        for &partition in &partitions {
            if edit.accounts.at(account, Some(name), partition).is_some() {
                continue;
            }
            let (id, _) = edit.accounts.next_numbers();
            let mut association = Association {
                id,
                account: account.clone(),
                user: Some(name.to_string()),
                partition: partition.map(str::to_string),
                ..Association::default()
            };
            settings::apply(&edit.accounts, &mut association, &asked.settings)?;
            edit.put(AssociationDefined { association });
            changed.push(id);
            reached.push(AccountsTarget::Association(id));
        }
    }
    settings::check_default_qos(edit, &changed)
}

fn has_account(edit: &Edit<'_>, user: &str, account: &str) -> bool {
    let mut below = edit.accounts.below(account);
    below.any(|own| own.user.as_deref() == Some(user))
}

fn not_associated(account: &str, users: &[String], cluster: &str) -> ApiError {
    let message =
        format!("Can't modify because these users aren't associated with new default account '{account}'...");
    let error = ApiError::new(ErrorCode::InvalidAccount, message);
    users.iter().fold(error, |error, user| error.detail(format!("U = {user} C = {cluster}")))
}

/// Operators make operators; only administrators make administrators, or change them.
fn check_level(edit: &Edit<'_>, new: Option<AdminLevel>, now: AdminLevel) -> Result<(), ApiError> {
    let touches_administrators =
        new.is_some() && (new == Some(AdminLevel::Administrator) || now == AdminLevel::Administrator);
    if touches_administrators && !edit.is_administrator() { Err(denied()) } else { Ok(()) }
}

pub(super) fn modify(edit: &mut Edit<'_>, asked: &ModifyUsers) -> Reached {
    let users = conditions::users(&edit.accounts, &asked.which);
    let mut reached = Vec::new();
    let about_users =
        asked.default_account.is_some() || asked.default_wckey.is_some() || asked.admin_level.is_some();
    if about_users {
        modify_users(edit, asked, &users)?;
        reached.extend(users.iter().map(|user| AccountsTarget::User(user.name.clone())));
    }
    if asked.settings != AssociationSettings::default() {
        let meant = conditions::associations(&edit.accounts, &asked.which);
        let mut changed = Vec::new();
        for now in meant {
            check_own(edit, &now, &asked.settings)?;
            let mut association = now.as_ref().clone();
            settings::apply(&edit.accounts, &mut association, &asked.settings)?;
            if association != *now {
                edit.put(AssociationDefined { association });
            }
            changed.push(now.id);
        }
        settings::check_default_qos(edit, &changed)?;
        reached.extend(changed.into_iter().map(AccountsTarget::Association));
    }
    Ok(reached)
}

/// Users may choose the default QOS of their own associations; all else is for who may change the account.
fn check_own(
    edit: &Edit<'_>,
    association: &Association,
    asked: &AssociationSettings,
) -> Result<(), ApiError> {
    let only_default = AssociationSettings { default_qos: asked.default_qos.clone(), ..Default::default() };
    let is_own = association.user.as_deref().is_some_and(|user| edit.authority.asker() == Some(user));
    let chooses = matches!(asked.default_qos, Some(Change::Set(_))) && *asked == only_default;
    if is_own && chooses { Ok(()) } else { edit.needs_account(&association.account) }
}

fn modify_users(
    edit: &mut Edit<'_>,
    asked: &ModifyUsers,
    users: &[Arc<AccountUser>],
) -> Result<(), ApiError> {
    let default = asked.default_account.as_deref().map(names::one).transpose()?;
    let wckey = asked.default_wckey.as_deref().map(names::one).transpose()?;
    for user in users {
        let is_own = edit.authority.asker() == Some(user.name.as_str());
        if !edit.is_operator() && (asked.admin_level.is_some() || !is_own) {
            return Err(denied());
        }
        check_level(edit, asked.admin_level, user.admin_level)?;
    }
    if let Some(account) = &default {
        let without: Vec<String> = users
            .iter()
            .filter(|user| !has_account(edit, &user.name, account))
            .map(|user| user.name.clone())
            .collect();
        if !without.is_empty() {
            return Err(not_associated(account, &without, edit.cluster_name()));
        }
    }
    for now in users {
        let mut user = now.as_ref().clone();
        if let Some(name) = &wckey {
            let key = WorkloadKey { user: user.name.clone(), name: name.clone() };
            if !edit.accounts.wckeys().contains(&key) {
                return Err(invalid(format!("User '{}' has no workload key '{name}'", user.name)));
            }
            user.default_wckey = Some(name.clone());
        }
        if default.is_some() {
            user.default_account.clone_from(&default);
        }
        user.admin_level = asked.admin_level.unwrap_or(user.admin_level);
        if user != **now {
            edit.put(UserDefined { user });
        }
    }
    Ok(())
}

pub(super) fn remove(edit: &mut Edit<'_>, which: &UserCondition) -> Reached {
    if *which == UserCondition::default() {
        return Err(invalid("No conditions given to remove, not executing."));
    }
    if !which.wckeys.is_empty() {
        return remove_wckeys(edit, which);
    }
    if !which.accounts.is_empty() || !which.partitions.is_empty() {
        return remove_associations(edit, which);
    }
    let users = conditions::users(&edit.accounts, which);
    if users.is_empty() {
        return Ok(Vec::new());
    }
    if !edit.is_operator() {
        return Err(denied());
    }
    for user in &users {
        if user.name == "root" {
            return Err(invalid("You are not allowed to remove the user root."));
        }
        check_level(edit, Some(AdminLevel::None), user.admin_level)?;
    }
    let associations = conditions::associations(&edit.accounts, which);
    let gone: BTreeSet<u32> = associations.iter().map(|association| association.id).collect();
    removal::check_jobs_of(edit, &gone)?;
    removal::remove_associations(edit, &gone);
    for user in &users {
        let is_own = |key: &&WorkloadKey| key.user == user.name;
        let keys: Vec<WorkloadKey> = edit.accounts.wckeys().iter().filter(is_own).cloned().collect();
        keys.into_iter().for_each(|key| edit.put(WckeyRemoved { key }));
        no_longer_coordinates(edit, &user.name);
        edit.put(UserRemoved { user: user.name.clone() });
    }
    Ok(users.iter().map(|user| AccountsTarget::User(user.name.clone())).collect())
}

fn no_longer_coordinates(edit: &mut Edit<'_>, user: &str) {
    let is_one = |name: &String| name == user;
    let coordinated: Vec<_> = edit.accounts.accounts().values().cloned().collect();
    for account in coordinated.into_iter().filter(|account| account.coordinators.iter().any(is_one)) {
        let mut account = account.as_ref().clone();
        account.coordinators.retain(|name| name != user);
        edit.put(AccountDefined { account });
    }
}

fn remove_associations(edit: &mut Edit<'_>, which: &UserCondition) -> Reached {
    let meant = conditions::associations(&edit.accounts, which);
    for association in &meant {
        edit.needs_account(&association.account)?;
    }
    let gone: BTreeSet<u32> = meant.iter().map(|association| association.id).collect();
    let users: BTreeSet<String> = meant.iter().filter_map(|association| association.user.clone()).collect();
    removal::check_jobs_of(edit, &gone)?;
    removal::remove_associations(edit, &gone);
    removal::move_defaults(edit, &users);
    Ok(gone.into_iter().map(AccountsTarget::Association).collect())
}

fn remove_wckeys(edit: &mut Edit<'_>, which: &UserCondition) -> Reached {
    if !edit.is_operator() {
        return Err(denied());
    }
    let users: BTreeSet<String> =
        conditions::users(&edit.accounts, which).iter().map(|user| user.name.clone()).collect();
    let wanted = names::wanted(&which.wckeys);
    let is_meant = |key: &&WorkloadKey| users.contains(&key.user) && wanted.contains(&key.name);
    let keys: Vec<WorkloadKey> = edit.accounts.wckeys().iter().filter(is_meant).cloned().collect();
    for key in &keys {
        edit.put(WckeyRemoved { key: key.clone() });
        let user = edit.accounts.users().get(key.user.as_str()).cloned();
        if let Some(user) = user.filter(|user| user.default_wckey.as_ref() == Some(&key.name)) {
            edit.put(UserDefined { user: AccountUser { default_wckey: None, ..user.as_ref().clone() } });
        }
    }
    Ok(keys.into_iter().map(AccountsTarget::WorkloadKey).collect())
}
