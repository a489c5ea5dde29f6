//! Changes of accounts, users, associations and QOS: one file for what is changed.
//!
//! A request is decided on a copy of the accounts that follows its own events, so that what is said later in it may
//! build on what was said before; all of its events are appended together, or none.

mod conditions;
mod coordinators;
mod names;
mod qos;
mod removal;
mod settings;
#[cfg(test)]
mod tests;
mod tree;
mod users;

use daybook_model::{Accounts, Cluster};
use daybook_schemas::accounts::ROOT_ACCOUNT;
use daybook_schemas::api::{
    AccountsChange, AccountsChangeRequest, AccountsTarget, ApiError, AssociationSettings, ErrorCode, Peer,
};
use daybook_schemas::events::AssociationDefined;
use daybook_schemas::{Body, Draft};

use super::{Decided, Decision};
use crate::authority::{Authority, denied};

pub(super) use names::one as name_of;

/// `POST /v1/accounts/change`.
pub(crate) struct AccountsRequest(pub(crate) AccountsChangeRequest);

impl AccountsRequest {
    pub(super) fn decide(&self, cluster: &Cluster, authority: &Authority, peer: Peer) -> Decision {
        let mut edit = Edit::new(cluster, authority, peer);
        let reached = match &self.0.change {
            AccountsChange::AddAccounts(asked) => tree::add(&mut edit, asked),
            AccountsChange::ModifyAccounts(asked) => tree::modify(&mut edit, asked),
            AccountsChange::RemoveAccounts(which) => tree::remove(&mut edit, which),
            AccountsChange::AddUsers(asked) => users::add(&mut edit, asked),
            AccountsChange::ModifyUsers(asked) => users::modify(&mut edit, asked),
            AccountsChange::RemoveUsers(which) => users::remove(&mut edit, which),
            AccountsChange::AddQos(asked) => qos::add(&mut edit, asked),
            AccountsChange::ModifyQos(asked) => qos::modify(&mut edit, asked),
            AccountsChange::RemoveQos(asked) => qos::remove(&mut edit, &asked.names),
            AccountsChange::AddCoordinators(asked) => coordinators::add(&mut edit, asked),
            AccountsChange::RemoveCoordinators(asked) => coordinators::remove(&mut edit, asked),
            AccountsChange::ModifyCluster(asked) => modify_cluster(&mut edit, asked),
        }?;
        if edit.bodies.len() > Draft::EVENTS_MAX {
            return Err(ApiError::new(ErrorCode::TooLarge, "Too much for one request").detail(format!(
                "it would be {} events, at most {} are one commit: name fewer things",
                edit.bodies.len(),
                Draft::EVENTS_MAX
            )));
        }
        let bodies = if self.0.preview { Vec::new() } else { edit.bodies };
        Ok((Decided { accounts: reached, ..Decided::default() }, bodies))
    }
}

/// What a part of a request reaches.
type Reached = Result<Vec<AccountsTarget>, ApiError>;

/// Accounts as they become while a request is decided, with the events that make them so.
struct Edit<'a> {
    cluster: &'a Cluster,
    authority: &'a Authority,
    peer: Peer,
    accounts: Accounts,
    bodies: Vec<Body>,
}

impl<'a> Edit<'a> {
    fn new(cluster: &'a Cluster, authority: &'a Authority, peer: Peer) -> Edit<'a> {
        Edit { cluster, authority, peer, accounts: cluster.accounts().clone(), bodies: Vec::new() }
    }

    /// One more event.
    fn put(&mut self, body: impl Into<Body>) {
        let body = body.into();
        self.accounts.apply(&body);
        self.bodies.push(body);
    }

    fn cluster_name(&self) -> &str {
        self.cluster.configured().map_or("", |configured| configured.cluster_name.as_str())
    }

    fn is_administrator(&self) -> bool {
        self.authority.is_administrator(self.cluster, self.peer.uid)
    }

    fn is_operator(&self) -> bool {
        self.authority.is_operator(self.cluster, self.peer.uid)
    }

    /// Refuses whoever is no administrator.
    fn needs_administrator(&self) -> Result<(), ApiError> {
        if self.is_administrator() { Ok(()) } else { Err(denied()) }
    }

    /// Refuses who may change nothing in an account: neither operator nor coordinator of it, as it was before.
    fn needs_account(&self, account: &str) -> Result<(), ApiError> {
        if self.is_operator() || self.authority.coordinates(self.cluster, account) {
            Ok(())
        } else {
            Err(denied())
        }
    }
}

fn modify_cluster(edit: &mut Edit<'_>, asked: &AssociationSettings) -> Reached {
    edit.needs_administrator()?;
    if *asked == AssociationSettings::default() {
        return Ok(Vec::new());
    }
    let Some(root) = edit.accounts.at(ROOT_ACCOUNT, None, None).cloned() else { return Ok(Vec::new()) };
    let mut association = root.as_ref().clone();
    settings::apply(&edit.accounts, &mut association, asked)?;
    if association != *root {
        edit.put(AssociationDefined { association });
    }
    settings::check_default_qos(edit, &[root.id])?;
    Ok(vec![AccountsTarget::Association(root.id)])
}

fn invalid(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, message)
}

fn no_account(name: &str) -> ApiError {
    ApiError::new(ErrorCode::InvalidAccount, format!("This account '{name}' doesn't exist."))
        .detail("Contact your admin to add this account.")
}
