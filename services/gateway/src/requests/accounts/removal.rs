//! What keeps an association from being removed, and what becomes of defaults.

use std::collections::BTreeSet;
use std::sync::Arc;

use daybook_model::Job;
use daybook_schemas::accounts::AccountUser;
use daybook_schemas::api::{ApiError, ErrorCode};
use daybook_schemas::events::{AssociationRemoved, UserDefined};

use super::Edit;

/// The most lines of an explanation.
const LINES_MAX: usize = 100;

/// Refuses where a job that is not over stands in the way.
pub(super) fn check_jobs(edit: &Edit<'_>, is_in_the_way: impl Fn(&Job) -> bool) -> Result<(), ApiError> {
    let live = edit.cluster.jobs().values().filter(|job| !job.state.is_ended());
    let mut jobs: Vec<&Arc<Job>> = live.filter(|job| is_in_the_way(job)).collect();
    if jobs.is_empty() {
        return Ok(());
    }
    jobs.sort_by_key(|job| job.id);
    let mut error = ApiError::new(ErrorCode::InUse, "Job(s) active, cancel job(s) before remove");
    let cluster = edit.cluster_name();
    for job in jobs.iter().take(LINES_MAX) {
        let (account, user) = (&job.account, &job.spec.user.name);
        error = error
            .detail(format!("JobID = {:<10} C = {cluster:<10} A = {account:<10} U = {user:<9}", job.id.0));
    }
    if jobs.len() > LINES_MAX {
        error = error.detail(format!("and {} more", jobs.len() - LINES_MAX));
    }
    Err(error)
}

/// Refuses where a job that is not over has one of these associations.
pub(super) fn check_jobs_of(edit: &Edit<'_>, removed: &BTreeSet<u32>) -> Result<(), ApiError> {
    let accounts = edit.cluster.accounts();
    check_jobs(edit, |job| {
        let user = job.spec.user.name.to_ascii_lowercase();
        let own = accounts.of_job(&user, &job.account, &job.partition);
        own.is_some_and(|own| removed.contains(&own.id))
    })
}

/// Removes associations.
pub(super) fn remove_associations(edit: &mut Edit<'_>, removed: &BTreeSet<u32>) {
    for &id in removed.iter().rev() {
        edit.put(AssociationRemoved { id });
    }
}

/// The account that becomes a user's default when the associations are gone: as it was, else the oldest that is left.
pub(super) fn next_default(edit: &Edit<'_>, user: &AccountUser) -> Option<String> {
    let mut left = edit.accounts.associations().values().filter(|own| own.user.as_ref() == Some(&user.name));
    let oldest = left.next()?;
    let is_default = |account: &String| Some(account) == user.default_account.as_ref();
    let kept = is_default(&oldest.account) || left.any(|own| is_default(&own.account));
    if kept { user.default_account.clone() } else { Some(oldest.account.clone()) }
}

/// Gives users whose default account is no longer theirs another one, or none where nothing is left.
pub(super) fn move_defaults(edit: &mut Edit<'_>, users: &BTreeSet<String>) {
    for name in users {
        let Some(user) = edit.accounts.users().get(name.as_str()).cloned() else { continue };
        let default_account = next_default(edit, &user);
        if default_account != user.default_account {
            edit.put(UserDefined { user: AccountUser { default_account, ..user.as_ref().clone() } });
        }
    }
}
