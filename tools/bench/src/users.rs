//! Users in accounts of ten, each of whom may hold so many GPUs at once.

use std::sync::Arc;

use daybook_schemas::Body;
use daybook_schemas::accounts::{
    Account, AccountUser, AdminLevel, Association, Limits, ROOT_ACCOUNT, Shares,
};
use daybook_schemas::events::{AccountDefined, AssociationDefined, UserDefined};
use daybook_schemas::job::JobUser;

/// How many of them share an account.
const IN_ACCOUNT: u32 = 10;

/// The first user id.
const FIRST_UID: u32 = 10_000;

/// The user of a number.
pub fn user(number: u32) -> Arc<JobUser> {
    let (uid, name) = (FIRST_UID + number, format!("user{number}"));
    Arc::new(JobUser { uid, gid: uid, group: name.clone(), name })
}

/// The account of the user of a number.
pub fn account_of(number: u32) -> String {
    format!("group{}", number / IN_ACCOUNT)
}

/// The facts that make so many users.
pub fn defined(users: u32, gpus_each: u64) -> Vec<Body> {
    let mut bodies: Vec<Body> = Vec::new();
    for number in 0..users {
        let account = account_of(number);
        if number % IN_ACCOUNT == 0 {
            let (description, organization) = (account.clone(), account.clone());
            let name = account.clone();
            let defined = Account { name, description, organization, coordinators: Vec::new() };
            bodies.push(AccountDefined { account: defined }.into());
            let own = association(bodies.len(), &account);
            let own = Association { parent: Some(ROOT_ACCOUNT.to_string()), ..own };
            bodies.push(AssociationDefined { association: own }.into());
        }
        let name = user(number).name.clone();
        let admin_level = AdminLevel::default();
        let default_account = Some(account.clone());
        let defined = AccountUser { name: name.clone(), default_account, default_wckey: None, admin_level };
        bodies.push(UserDefined { user: defined }.into());
        let limits = Limits {
            grp_tres: [("gres/gpu".to_string(), gpus_each)].into_iter().collect(),
            ..Limits::default()
        };
        let own = Association { user: Some(name), limits, ..association(bodies.len(), &account) };
        bodies.push(AssociationDefined { association: own }.into());
    }
    bodies
}

fn association(before: usize, account: &str) -> Association {
    Association {
        // The root has the first.
        id: u32::try_from(before).unwrap_or(u32::MAX - 10) + 10,
        account: account.to_string(),
        user: None,
        partition: None,
        parent: None,
        shares: Shares::default(),
        default_qos: None,
        qos: None,
        priority: None,
        limits: Limits::default(),
        comment: None,
    }
}
