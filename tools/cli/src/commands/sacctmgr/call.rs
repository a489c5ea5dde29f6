//! Asking the daemon for changes, and how it is told that one was refused.

use daybook_schemas::api::{
    AccountsChange, AccountsChangeRequest, AccountsChanged, AccountsTarget, ApiError, ErrorCode,
};

use super::prompt;
use super::tree::Tree;
use crate::client::{CallError, Client};
use crate::say;

/// A command at work: the connection, the accounts as they were, and whether to ask before changing.
pub struct Session {
    client: Client,
    pub tree: Tree,
    pub immediate: bool,
}

impl Session {
    /// Connects and fetches the accounts.
    pub fn open(immediate: bool) -> Result<Session, CallError> {
        let mut client = Client::connect()?;
        let tree = Tree::new(client.get("/v1/accounts")?);
        Ok(Session { client, tree, immediate })
    }

    pub fn cluster(&self) -> &str {
        &self.tree.view.cluster
    }

    /// What a change would reach.
    pub fn preview(&mut self, change: &AccountsChange) -> Result<Vec<AccountsTarget>, CallError> {
        self.post(change, true)
    }

    fn post(&mut self, change: &AccountsChange, preview: bool) -> Result<Vec<AccountsTarget>, CallError> {
        let request_id = uuid::Uuid::new_v4().to_string();
        let request = AccountsChangeRequest { request_id, preview, change: change.clone() };
        let changed: AccountsChanged = self.client.post("/v1/accounts/change", &request)?;
        Ok(changed.targets)
    }

    /// Asks and then changes. Gives the exit status.
    pub fn commit(&mut self, change: &AccountsChange) -> u8 {
        if !prompt::agreed(prompt::COMMIT, self.immediate) {
            say::print(" Changes Discarded\n");
            return 0;
        }
        match self.post(change, false) {
            Ok(_) => 0,
            Err(error) => refused(&error),
        }
    }
}

/// Whether nothing but a lack of rights stood in the way.
pub fn is_denied(error: &CallError) -> bool {
    matches!(error, CallError::Refused(ApiError { code: ErrorCode::PermissionDenied, .. }))
}

/// Says why something was not done; gives the exit status.
pub fn refused(error: &CallError) -> u8 {
    let CallError::Refused(refusal) = error else {
        say::error("sacctmgr", error.to_string());
        error.hint().iter().for_each(say::line);
        return 1;
    };
    if refusal.code == ErrorCode::PermissionDenied {
        say::error("sacctmgr", "Your user doesn't have privilege to perform this action");
    }
    if refusal.code == ErrorCode::InvalidQos && refusal.details.is_empty() {
        say::error("sacctmgr", &refusal.message);
        return 1;
    }
    say::line(format!(" Error with request: {}", refusal.message));
    refusal.details.iter().for_each(|line| say::line(format!("  {line}")));
    if refusal.code == ErrorCode::InUse && refusal.message.contains("default account") {
        say::line(" Please either remove the accounts listed above from list and resubmit,");
        say::line(" or change these users' default accounts to remove the account(s).");
        say::line(" Changes Discarded");
    }
    1
}
