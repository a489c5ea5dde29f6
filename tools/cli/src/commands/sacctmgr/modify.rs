//! `sacctmgr modify`.

use daybook_schemas::api::{
    AccountCondition, AccountsChange, AccountsTarget, AssociationSettings, ErrorCode, ModifyAccounts,
    ModifyUsers, QosChange, QosSettings, UserCondition,
};

use super::add::fault;
use super::call::{Session, is_denied, refused};
use super::conditions::{Conditions, Entity, admin_level};
use super::prompt;
use super::settings::{self, Fault, Known};
use super::tree::Tree;
use super::words::{self, Word};
use crate::client::CallError;
use crate::say;

const WITHOUT_CONDITIONS: &str =
    " You didn't set any conditions with 'WHERE'.\n Are you sure you want to continue?";

/// What is to be changed, as it was typed.
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
    is_set: bool,
}

/// Runs it.
pub fn run(session: &mut Session, entity: Entity, arguments: &[String]) -> u8 {
    let asked = match read(entity, arguments) {
        Ok(asked) => asked,
        Err(exit) => return exit,
    };
    if asked.which.clusters.iter().any(|name| !name.eq_ignore_ascii_case(session.cluster())) {
        return nothing();
    }
    let conditions = Conditions { clusters: Vec::new(), ..asked.which.clone() };
    let is_everything = conditions == Conditions::default() && entity != Entity::Cluster;
    if is_everything && !prompt::agreed(WITHOUT_CONDITIONS, session.immediate) {
        say::print("Aborted\n");
        return 0;
    }
    let change = match entity {
        Entity::Account => AccountsChange::ModifyAccounts(ModifyAccounts {
            which: accounts_meant(&asked.which),
            description: asked.description,
            organization: asked.organization,
            parent: asked.parent,
            settings: asked.settings,
        }),
        Entity::User => AccountsChange::ModifyUsers(ModifyUsers {
            which: users_meant(&asked.which),
            default_account: asked.default_account,
            default_wckey: asked.default_wckey,
            admin_level: asked.admin_level,
            settings: asked.settings,
        }),
        Entity::Qos => {
            AccountsChange::ModifyQos(QosChange { names: asked.which.of(Entity::Qos), settings: asked.qos })
        }
        _ => {
            let named = asked.which.of(Entity::Cluster);
            if named.iter().any(|name| !name.eq_ignore_ascii_case(session.cluster())) {
                return nothing();
            }
            AccountsChange::ModifyCluster(asked.settings)
        }
    };
    match session.preview(&change) {
        Ok(reached) if reached.is_empty() => nothing(),
        Ok(reached) => {
            say::print(&told(&session.tree, entity, &reached));
            session.commit(&change)
        }
        Err(error) => not_modified(entity, &change, &error),
    }
}

pub fn accounts_meant(which: &Conditions) -> AccountCondition {
    AccountCondition {
        names: which.of(Entity::Account),
        descriptions: which.descriptions.clone(),
        organizations: which.organizations.clone(),
        parents: which.parents.clone(),
    }
}

pub fn users_meant(which: &Conditions) -> UserCondition {
    UserCondition {
        names: which.of(Entity::User),
        accounts: which.accounts.clone(),
        partitions: which.partitions.clone(),
        default_accounts: which.default_accounts.clone(),
        admin_level: which.admin_level,
        wckeys: which.wckeys.clone(),
    }
}

fn nothing() -> u8 {
    say::print(" Nothing modified\n");
    1
}

fn not_modified(entity: Entity, change: &AccountsChange, error: &CallError) -> u8 {
    if let CallError::Refused(refusal) = error
        && refusal.code == ErrorCode::InvalidAccount
        && refusal.message.starts_with("Can't modify")
    {
        say::print(&format!(" {}\n", refusal.message));
        refusal.details.iter().for_each(|line| say::print(&format!("  {line}\n")));
        return 1;
    }
    if !is_denied(error) || entity == Entity::Qos {
        return refused(error);
    }
    let what = match change {
        AccountsChange::ModifyUsers(asked) if asked.settings == AssociationSettings::default() => "users",
        AccountsChange::ModifyAccounts(asked)
            if asked.settings == AssociationSettings::default() && asked.parent.is_none() =>
        {
            "accts"
        }
        _ => "assocs",
    };
    say::print(" Nothing modified\n");
    say::line(format!(
        "sacctmgr: accounting_storage/slurmdbd: acct_storage_p_modify_{what}: Request didn't affect anything or \
         your user doesn't have privilege to perform this action"
    ));
    1
}

/// What a change reaches, under Slurm's headings.
fn told(tree: &Tree, entity: Entity, reached: &[AccountsTarget]) -> String {
    let mut named = String::new();
    let mut ids = Vec::new();
    for target in reached {
        match target {
            AccountsTarget::Account(name) | AccountsTarget::User(name) | AccountsTarget::Qos(name) => {
                named.push_str(&format!("  {name}\n"));
            }
            AccountsTarget::Association(id) => ids.push(*id),
            AccountsTarget::Coordinator { .. } | AccountsTarget::WorkloadKey(_) => {}
        }
    }
    let (things, associations) = match entity {
        Entity::Account => ("accounts", "account associations"),
        Entity::User => ("users", "user associations"),
        Entity::Qos => ("qos", ""),
        _ => ("", "cluster defaults"),
    };
    let mut text = String::new();
    if !named.is_empty() {
        text.push_str(&format!(" Modified {things}...\n{named}"));
    }
    let cluster = &tree.view.cluster;
    if !ids.is_empty() {
        text.push_str(&format!(" Modified {associations}...\n"));
        for own in tree.in_walk_order(ids.iter().filter_map(|id| tree.association(*id))) {
            let account = &own.account;
            let line = match (&own.user, &own.parent, &own.partition) {
                (Some(user), _, None) => format!("C = {cluster:<10} A = {account:<20} U = {user:<9}"),
                (Some(user), _, Some(partition)) => {
                    format!("C = {cluster:<10} A = {account:<20} U = {user:<9} P = {partition}")
                }
                (None, Some(parent), _) => format!("C = {cluster:<10} A = {account} of {parent}"),
                (None, None, _) => format!("C = {cluster:<10} A = {account}"),
            };
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}

fn read(entity: Entity, arguments: &[String]) -> Result<Asked, u8> {
    let mut asked = Asked::default();
    let (mut sets, mut broken) = (false, false);
    for text in arguments {
        let word = words::read(text);
        if word.value.is_none() && words::is(&word.key, "where", 5) {
            sets = false;
        } else if word.value.is_none() && words::is(&word.key, "set", 3) {
            sets = true;
        } else if !sets {
            if asked.which.take(entity, &word).is_err() {
                say::line(format!(" Unknown condition: {text}\n Use keyword 'set' to modify value"));
                return Err(1);
            }
        } else if word.value.is_none() {
            say::line(format!(" Bad format on {text}: End your option with an '=' sign"));
            return Err(1);
        } else {
            match setting(entity, &word, &mut asked) {
                Ok(true) => asked.is_set = true,
                Ok(false) => return Err(unknown(entity, text)),
                Err(error) => {
                    fault(&error);
                    broken = true;
                }
            }
        }
    }
    if !asked.is_set {
        say::line(" You didn't give me anything to set");
        return Err(1);
    }
    // Nothing is changed by half.
    if broken { Err(1) } else { Ok(asked) }
}

fn unknown(entity: Entity, text: &str) -> u8 {
    let line = format!(" Unknown option: {text}\n Use keyword 'where' to modify condition");
    match entity {
        Entity::Qos => say::print(&format!("{line}\n")),
        _ => say::line(line),
    }
    1
}

fn setting(entity: Entity, word: &Word, asked: &mut Asked) -> Known {
    let value = word.value.clone().unwrap_or_default();
    let key = word.key.as_str();
    let name = || Some(value.to_ascii_lowercase());
    match entity {
        Entity::Account if words::is(key, "Description", 1) => asked.description = Some(value),
        Entity::Account if words::is(key, "Organization", 1) => asked.organization = Some(value),
        Entity::Account if words::is(key, "Parent", 4) => asked.parent = name(),
        Entity::User if words::is(key, "DefaultAccount", 8) => asked.default_account = name(),
        Entity::User if words::is(key, "DefaultWCKey", 8) => asked.default_wckey = name(),
        Entity::User if words::is(key, "AdminLevel", 2) => {
            let bad = || Fault::Error(format!("Invalid value for AdminLevel ({value})"));
            asked.admin_level = Some(admin_level(&value).ok_or_else(bad)?);
        }
        Entity::Qos => return settings::of_qos(word, &mut asked.qos),
        _ => return settings::of_association(word, &mut asked.settings),
    }
    Ok(true)
}
