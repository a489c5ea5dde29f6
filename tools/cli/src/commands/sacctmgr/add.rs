//! `sacctmgr add`.

use daybook_schemas::api::{
    AccountsChange, AddAccounts, AddUsers, AssociationSettings, Coordinators, QosChange, QosSettings,
};

use super::call::{Session, is_denied, refused};
use super::conditions::{Conditions, Entity, admin_level, level_word};
use super::prompt;
use super::settings::{self, Fault};
use super::told;
use super::words::{self, Word};
use crate::{people, say};

/// What is to be added, as it was typed.
#[derive(Default)]
struct Asked {
    which: Conditions,
    settings: AssociationSettings,
    qos: QosSettings,
    description: Option<String>,
    organization: Option<String>,
    parent: Option<String>,
    default_account: Option<String>,
    default_wckey: Option<String>,
    admin_level: Option<daybook_schemas::accounts::AdminLevel>,
    /// Whether anything was set beside names.
    is_set: bool,
}

/// Runs it.
pub fn run(session: &mut Session, entity: Entity, arguments: &[String]) -> u8 {
    let asked = match read(entity, arguments) {
        Ok(asked) => asked,
        Err(exit) => return exit,
    };
    let unknown = |name: &&String| !name.eq_ignore_ascii_case(session.cluster());
    if let Some(other) = asked.which.clusters.iter().find(unknown).filter(|_| entity != Entity::Cluster) {
        say::line(format!(
            " This cluster '{other}' doesn't exist.\n        Contact your admin to add it to accounting."
        ));
        return 1;
    }
    match entity {
        Entity::Account => accounts(session, asked),
        Entity::User => users(session, asked),
        Entity::Qos => qos(session, asked),
        Entity::Coordinator => coordinators(session, asked),
        _ => clusters(session, &asked),
    }
}

fn read(entity: Entity, arguments: &[String]) -> Result<Asked, u8> {
    let mut asked = Asked::default();
    for text in arguments {
        let word = words::read(text);
        if word.value.is_none() && (words::is(&word.key, "where", 5) || words::is(&word.key, "set", 3)) {
            continue;
        }
        if word.value.is_some() && setting(entity, &word, &mut asked)? {
            asked.is_set = true;
            continue;
        }
        if asked.which.take(entity, &word).is_err() {
            say::line(format!(" Unknown option: {text}"));
            return Err(1);
        }
    }
    Ok(asked)
}

/// Whether a word is a setting of what is added.
fn setting(entity: Entity, word: &Word, asked: &mut Asked) -> Result<bool, u8> {
    let value = word.value.clone().unwrap_or_default();
    let key = word.key.as_str();
    let name = || Some(value.to_ascii_lowercase());
    // What names users, accounts and clusters is no setting, however short.
    let is_name =
        ["names", "users", "accounts", "clusters", "acct"].iter().any(|name| words::is(key, name, 1));
    if is_name {
        return Ok(false);
    }
    match entity {
        Entity::Account if words::is(key, "Description", 1) => asked.description = Some(value),
        Entity::Account if words::is(key, "Organization", 1) => asked.organization = Some(value),
        Entity::Account if words::is(key, "Parent", 4) => asked.parent = name(),
        Entity::User if words::is(key, "DefaultAccount", 8) => asked.default_account = name(),
        Entity::User if words::is(key, "DefaultWCKey", 8) => asked.default_wckey = name(),
        Entity::User if words::is(key, "AdminLevel", 2) => {
            let level = admin_level(&value);
            asked.admin_level =
                Some(level.ok_or_else(|| {
                    fault(&Fault::Error(format!("Invalid value for AdminLevel ({value})")))
                })?);
        }
        Entity::User if words::is(key, "Partitions", 3) || words::is(key, "WCKeys", 1) => return Ok(false),
        Entity::Account | Entity::User => {
            return settings::of_association(word, &mut asked.settings).map_err(|error| fault(&error));
        }
        Entity::Qos => return settings::of_qos(word, &mut asked.qos).map_err(|error| fault(&error)),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Says what is wrong with a setting; gives the exit status.
pub fn fault(fault: &Fault) -> u8 {
    match fault {
        Fault::Error(message) => say::error("sacctmgr", message),
        Fault::Line(line) => say::line(line),
    }
    1
}

fn nothing_new() -> u8 {
    say::print(" Nothing new added.\n");
    1
}

/// Tells what is added, asks, and adds it. Who may not is told so behind it.
fn carry_out(session: &mut Session, change: &AccountsChange, text: &str, problem: &str) -> u8 {
    match session.preview(change) {
        Ok(_) => {
            say::print(text);
            session.commit(change)
        }
        Err(error) if is_denied(&error) => {
            say::print(text);
            say::line(format!(" Problem adding {problem}: Access/permission denied"));
            1
        }
        Err(error) => refused(&error),
    }
}

fn names_below(names: &[String]) -> String {
    names.iter().map(|name| format!("  {name}\n")).collect()
}

fn accounts(session: &mut Session, asked: Asked) -> u8 {
    let names = asked.which.of(Entity::Account);
    if names.is_empty() {
        say::line(" Need name of account to add.");
        return 1;
    }
    let parent = asked.parent.clone().unwrap_or_else(|| "root".to_string());
    if session.tree.account(&parent).is_none() {
        say::print(" Nothing new added.\n");
        say::line(format!(
            " Parent account '{parent}' doesn't exist on cluster {}\n        Contact your admin to add this account.",
            session.cluster()
        ));
        return 1;
    }
    let new: Vec<String> = names.into_iter().filter(|name| session.tree.account(name).is_none()).collect();
    if new.is_empty() {
        return nothing_new();
    }
    let mut text = format!(" Adding Account(s)\n{} Settings\n", names_below(&new));
    let description = asked.description.as_deref().unwrap_or("Account Name");
    let organization = asked.organization.as_deref().unwrap_or("Parent/Account Name");
    text.push_str(&format!(
        "  Description     = {description}\n  Organization    = {organization}\n Associations\n"
    ));
    for name in &new {
        text.push_str(&format!("  A = {name:<10.10} C = {:<10.10}\n", session.cluster()));
    }
    if asked.is_set {
        text.push_str(" Settings\n");
        text.push_str(&told::association(&asked.settings, Some(&parent)));
    }
    let change = AccountsChange::AddAccounts(AddAccounts {
        names: new,
        description: asked.description,
        organization: asked.organization,
        parent: asked.parent,
        settings: asked.settings,
    });
    carry_out(session, &change, &text, "accounts")
}

fn users(session: &mut Session, asked: Asked) -> u8 {
    let names = asked.which.of(Entity::User);
    if names.is_empty() {
        say::line(" Need name of user to add.");
        return 1;
    }
    let mut accounts = asked.which.accounts.clone();
    if accounts.is_empty() {
        accounts.extend(asked.default_account.clone());
    }
    if accounts.is_empty() && asked.which.wckeys.is_empty() {
        say::line(" Need name of account to add user to.");
        return 1;
    }
    let unknown: Vec<&String> = accounts.iter().filter(|name| session.tree.account(name).is_none()).collect();
    if !unknown.is_empty() {
        say::print(" Nothing new added.\n");
        for name in unknown {
            say::line(format!(
                " This account '{name}' doesn't exist.\n        Contact your admin to add this account."
            ));
        }
        return 1;
    }
    let known = |name: &String| session.tree.view.users.iter().any(|user| user.name == *name);
    let new: Vec<String> = names.iter().filter(|name| !known(name)).cloned().collect();
    for name in new.iter().filter(|name| people::uid_of(name).is_none()) {
        let question = format!("There is no uid for user '{name}'\nAre you sure you want to continue?");
        if !prompt::agreed(&question, session.immediate) {
            say::print(" Changes Discarded\n");
            return 0;
        }
    }
    let (associations, wckeys) =
        (new_associations(session, &asked, &names, &accounts), new_wckeys(session, &asked, &names));
    if new.is_empty() && associations.is_empty() && wckeys.is_empty() && asked.default_account.is_none() {
        return nothing_new();
    }
    let mut text = String::new();
    if !new.is_empty() {
        text.push_str(&format!(" Adding User(s)\n{}", names_below(&new)));
        text.push_str(&user_settings(&asked));
    }
    if !associations.is_empty() {
        text.push_str(&format!(" Associations =\n{associations}"));
    }
    if !wckeys.is_empty() {
        text.push_str(&format!(" WCKeys =\n{wckeys}"));
    }
    if !associations.is_empty() {
        text.push_str(" Non Default Settings\n");
        text.push_str(&told::association(&asked.settings, None));
    }
    let change = AccountsChange::AddUsers(AddUsers {
        names,
        accounts,
        partitions: asked.which.partitions,
        default_account: asked.default_account,
        default_wckey: asked.default_wckey,
        admin_level: asked.admin_level,
        wckeys: asked.which.wckeys,
        settings: asked.settings,
    });
    carry_out(session, &change, &text, "user associations")
}

fn user_settings(asked: &Asked) -> String {
    let settings = [
        ("Default Account", asked.default_account.as_deref()),
        ("Default WCKey  ", asked.default_wckey.as_deref()),
        ("Admin Level    ", asked.admin_level.map(level_word)),
    ];
    let lines: String =
        settings.iter().filter_map(|(name, value)| Some(format!("  {name} = {}\n", (*value)?))).collect();
    if lines.is_empty() { lines } else { format!(" Settings =\n{lines}") }
}

fn new_associations(session: &Session, asked: &Asked, users: &[String], accounts: &[String]) -> String {
    let partitions: Vec<Option<&String>> = match asked.which.partitions.is_empty() {
        true => vec![None],
        false => asked.which.partitions.iter().map(Some).collect(),
    };
    let mut text = String::new();
    for user in users {
        for account in accounts {
            for partition in &partitions {
                let is_there = session.tree.view.associations.iter().any(|own| {
                    own.account == *account
                        && own.user.as_ref() == Some(user)
                        && own.partition.as_ref() == *partition
                });
                if is_there {
                    continue;
                }
                text.push_str(&format!(
                    "  U = {user:<9.9} A = {account:<10.10} C = {:<10.10}",
                    session.cluster()
                ));
                if let Some(partition) = partition {
                    text.push_str(&format!(" P = {partition:<10.10}"));
                }
                text.push('\n');
            }
        }
    }
    text
}

fn new_wckeys(session: &Session, asked: &Asked, users: &[String]) -> String {
    let mut text = String::new();
    for user in users {
        for name in &asked.which.wckeys {
            if !session.tree.view.wckeys.iter().any(|key| key.user == *user && key.name == *name) {
                text.push_str(&format!(
                    "  U = {user:<9.9} W = {name:<10.10} C = {:<10.10}\n",
                    session.cluster()
                ));
            }
        }
    }
    text
}

fn qos(session: &mut Session, asked: Asked) -> u8 {
    let names = asked.which.of(Entity::Qos);
    if names.is_empty() {
        say::line(" Need name of qos to add.");
        return 1;
    }
    let known = |name: &String| session.tree.view.qos.iter().any(|qos| qos.name == *name);
    let new: Vec<String> = names.into_iter().filter(|name| !known(name)).collect();
    let Some(first) = new.first() else { return nothing_new() };
    let description = asked.qos.description.as_ref().unwrap_or(first);
    let text = format!(
        " Adding QOS(s)\n{} Settings\n  Description    = {description}\n{}",
        names_below(&new),
        told::qos(&asked.qos)
    );
    let change = AccountsChange::AddQos(QosChange { names: new, settings: asked.qos });
    carry_out(session, &change, &text, "QOS")
}

fn coordinators(session: &mut Session, asked: Asked) -> u8 {
    let (users, accounts) = (asked.which.of(Entity::Coordinator), asked.which.accounts);
    if users.is_empty() || accounts.is_empty() {
        say::line(" Need both users and accounts: names=USERS account=ACCOUNTS.");
        return 1;
    }
    let text = format!(
        " Adding Coordinator User(s)\n{} To Account(s) and all sub-accounts\n{}",
        names_below(&users),
        names_below(&accounts)
    );
    let change = AccountsChange::AddCoordinators(Coordinators { accounts, users });
    match session.preview(&change) {
        Ok(reached) if reached.is_empty() => nothing_new(),
        Ok(_) => {
            say::print(&text);
            session.commit(&change)
        }
        Err(error) => refused(&error),
    }
}

/// There is one cluster, and it is there.
fn clusters(session: &Session, asked: &Asked) -> u8 {
    let names = asked.which.of(Entity::Cluster);
    if names.is_empty() {
        say::line(" Need name of cluster to add.");
        return 1;
    }
    if let Some(other) = names.iter().find(|name| !name.eq_ignore_ascii_case(session.cluster())) {
        say::error("sacctmgr", format!("{other}: a further cluster is not supported by daybook yet"));
        return 1;
    }
    names.iter().for_each(|name| say::print(&format!(" This cluster {name} already exists.  Not adding.\n")));
    nothing_new()
}
