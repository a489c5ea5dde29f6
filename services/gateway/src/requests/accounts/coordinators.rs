//! Who coordinates which accounts.

use daybook_schemas::api::{AccountsTarget, ApiError, Coordinators};
use daybook_schemas::events::AccountDefined;

use super::{Edit, Reached, invalid, names, no_account};

pub(super) fn add(edit: &mut Edit<'_>, asked: &Coordinators) -> Reached {
    let (accounts, users) = (names::all(&asked.accounts)?, names::all(&asked.users)?);
    if accounts.is_empty() {
        return Err(invalid("Need name of account to add coordinators to."));
    }
    for user in &users {
        if !edit.accounts.users().contains_key(user.as_str()) {
            return Err(invalid(format!("This user '{user}' doesn't exist."))
                .detail("Contact your admin to add this user."));
        }
    }
    change(edit, &accounts, |coordinators| {
        let new: Vec<String> = users.iter().filter(|user| !coordinators.contains(user)).cloned().collect();
        coordinators.extend(new.iter().cloned());
        coordinators.sort();
        new
    })
}

pub(super) fn remove(edit: &mut Edit<'_>, asked: &Coordinators) -> Reached {
    let (named, users) = (names::all(&asked.accounts)?, names::all(&asked.users)?);
    if named.is_empty() && users.is_empty() {
        return Err(invalid("No conditions given to remove, not executing."));
    }
    let accounts = match named.is_empty() {
        true => edit.accounts.accounts().keys().map(ToString::to_string).collect(),
        false => named,
    };
    change(edit, &accounts, |coordinators| {
        let is_meant = |user: &String| users.is_empty() || users.contains(user);
        let (gone, left) = coordinators.drain(..).partition(is_meant);
        *coordinators = left;
        gone
    })
}

/// Changes the coordinators of each account; `by` gives those that came or went.
fn change(
    edit: &mut Edit<'_>,
    accounts: &[String],
    by: impl Fn(&mut Vec<String>) -> Vec<String>,
) -> Result<Vec<AccountsTarget>, ApiError> {
    let mut reached = Vec::new();
    for name in accounts {
        let now = edit.accounts.accounts().get(name.as_str()).cloned().ok_or_else(|| no_account(name))?;
        let mut account = now.as_ref().clone();
        let changed = by(&mut account.coordinators);
        if changed.is_empty() {
            continue;
        }
        edit.needs_account(name)?;
        edit.put(AccountDefined { account });
        let target = |user| AccountsTarget::Coordinator { account: name.clone(), user };
        reached.extend(changed.into_iter().map(target));
    }
    Ok(reached)
}
