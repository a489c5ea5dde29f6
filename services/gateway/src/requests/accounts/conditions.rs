//! Which accounts, users and associations a request means.

use std::sync::Arc;

use daybook_model::Accounts;
use daybook_schemas::accounts::{AccountUser, Association};
use daybook_schemas::api::{AccountCondition, UserCondition};

use super::names;

fn listed(list: &[String], value: &str) -> bool {
    list.is_empty() || list.iter().any(|item| item == value)
}

/// The names of the accounts that are meant, sorted.
pub(super) fn accounts(accounts: &Accounts, which: &AccountCondition) -> Vec<String> {
    let (wanted, parents) = (names::wanted(&which.names), names::wanted(&which.parents));
    let is_meant = |account: &daybook_schemas::accounts::Account| {
        let own = accounts.at(&account.name, None, None);
        let parent = own.and_then(|own| own.parent.as_deref()).unwrap_or_default();
        listed(&wanted, &account.name)
            && listed(&which.descriptions, &account.description)
            && listed(&which.organizations, &account.organization)
            && listed(&parents, parent)
    };
    let all = accounts.accounts().values().filter(|account| is_meant(account));
    all.map(|account| account.name.clone()).collect()
}

/// The users that are meant by what is said of users, sorted by name.
pub(super) fn users(accounts: &Accounts, which: &UserCondition) -> Vec<Arc<AccountUser>> {
    let (wanted, defaults) = (names::wanted(&which.names), names::wanted(&which.default_accounts));
    let is_meant = |user: &AccountUser| {
        listed(&wanted, &user.name)
            && listed(&defaults, user.default_account.as_deref().unwrap_or_default())
            && which.admin_level.is_none_or(|level| level == user.admin_level)
    };
    accounts.users().values().filter(|user| is_meant(user)).cloned().collect()
}

/// The associations of those users that are meant.
pub(super) fn associations(accounts: &Accounts, which: &UserCondition) -> Vec<Arc<Association>> {
    let meant: std::collections::BTreeSet<String> =
        users(accounts, which).iter().map(|user| user.name.clone()).collect();
    let in_accounts = names::wanted(&which.accounts);
    let all = accounts.associations().values().filter(|association| {
        association.user.as_ref().is_some_and(|user| meant.contains(user))
            && listed(&in_accounts, &association.account)
            && listed(&which.partitions, association.partition.as_deref().unwrap_or_default())
    });
    all.cloned().collect()
}
