//! `sacctmgr delete`.

use daybook_schemas::api::{AccountsChange, AccountsTarget, Coordinators, QosNames};

use super::call::{Session, refused};
use super::conditions::{Conditions, Entity};
use super::modify::{accounts_meant, users_meant};
use super::words;
use crate::say;

/// Runs it.
pub fn run(session: &mut Session, entity: Entity, arguments: &[String]) -> u8 {
    let mut which = Conditions::default();
    for text in arguments {
        let word = words::read(text);
        if word.value.is_none() && (words::is(&word.key, "where", 5) || words::is(&word.key, "set", 3)) {
            continue;
        }
        if which.take(entity, &word).is_err() {
            say::line(format!(" Unknown condition: {text}"));
            return 1;
        }
    }
    if which.clusters.iter().any(|name| !name.eq_ignore_ascii_case(session.cluster())) {
        return nothing();
    }
    which.clusters.clear();
    if entity == Entity::Cluster {
        say::error("sacctmgr", "removing the cluster is not supported by daybook yet");
        return 1;
    }
    if which == Conditions::default() {
        say::line(" No conditions given to remove, not executing.");
        return 1;
    }
    let change = match entity {
        Entity::Account => AccountsChange::RemoveAccounts(accounts_meant(&which)),
        Entity::User => AccountsChange::RemoveUsers(users_meant(&which)),
        Entity::Qos => AccountsChange::RemoveQos(QosNames { names: which.of(Entity::Qos) }),
        _ => AccountsChange::RemoveCoordinators(Coordinators {
            accounts: which.accounts.clone(),
            users: which.of(Entity::Coordinator),
        }),
    };
    match session.preview(&change) {
        Ok(reached) if reached.is_empty() => nothing(),
        Ok(reached) => {
            say::print(&told(session, &which, &reached));
            session.commit(&change)
        }
        Err(error) => refused(&error),
    }
}

fn nothing() -> u8 {
    say::print(" Nothing deleted\n");
    1
}

fn told(session: &Session, which: &Conditions, reached: &[AccountsTarget]) -> String {
    let tree = &session.tree;
    let cluster = session.cluster();
    let mut lines = String::new();
    let mut ids = Vec::new();
    let mut heading = String::new();
    for target in reached {
        let (kind, line) = match target {
            AccountsTarget::Association(id) => {
                ids.push(*id);
                continue;
            }
            AccountsTarget::Account(name) => ("accounts", name.clone()),
            AccountsTarget::User(name) => ("users", name.clone()),
            AccountsTarget::Qos(name) => ("QOS(s)", name.clone()),
            AccountsTarget::WorkloadKey(key) => {
                ("user wckeys", format!("C = {cluster:<10} W = {:<10} U = {:<9}", key.name, key.user))
            }
            AccountsTarget::Coordinator { account, user } => ("", format!("U = {user:<9} A = {account:<10}")),
        };
        if heading.is_empty() {
            heading = match kind {
                "" => coordinators(which),
                kind => format!(" Deleting {kind}...\n"),
            };
        }
        lines.push_str(&format!("  {line}\n"));
    }
    if !ids.is_empty() {
        heading.push_str(" Deleting user associations...\n");
    }
    for own in tree.in_walk_order(ids.iter().filter_map(|id| tree.association(*id))) {
        let (account, user) = (&own.account, own.user.as_deref().unwrap_or_default());
        lines.push_str(&format!("  C = {cluster:<10} A = {account:<10} U = {user:<9}"));
        if let Some(partition) = &own.partition {
            lines.push_str(&format!(" P = {partition:<10}"));
        }
        lines.push('\n');
    }
    format!("{heading}{lines}")
}

fn coordinators(which: &Conditions) -> String {
    let below = |names: &[String]| names.iter().map(|name| format!("  {name}\n")).collect::<String>();
    let users = which.of(Entity::Coordinator);
    let mut text = String::new();
    if !users.is_empty() {
        text.push_str(&format!(" Removing Coordinators with user name\n{}", below(&users)));
        if !which.accounts.is_empty() {
            text.push_str(&format!(" From Account(s)\n{}", below(&which.accounts)));
        }
    } else {
        text.push_str(&format!(" Removing all users from Accounts\n{}", below(&which.accounts)));
    }
    text.push_str(" Removed Coordinators (sub accounts not listed)...\n");
    text
}
