//! What accounts are to jobs, and jobs to accounts.

use daybook_schemas::api::{AccountsTarget, ErrorCode};
use daybook_schemas::node::AccountingEnforcement::{Associations, Qos};
use serde_json::json;

use super::site::Site;
use super::told;

#[test]
fn nothing_is_removed_while_a_job_needs_it() {
    let mut site = Site::new(&[Associations]);
    let low = json!({ "qos": { "add": ["low"] } });
    site.change("root", &json!({ "modify_users": { "which": { "names": ["bob"] }, "settings": low } }))
        .expect("a good change");
    site.submit("bob", None, Some("low")).expect("bob may");
    let removals = [
        json!({ "remove_qos": { "names": ["low"] } }),
        json!({ "remove_users": { "names": ["bob"], "accounts": ["bio"] } }),
        json!({ "remove_users": { "names": ["alice", "bob"] } }),
        json!({ "remove_accounts": { "names": ["research"] } }),
    ];
    let message = "Job(s) active, cancel job(s) before remove\n\
                   JobID = 1          C = tx         A = bio        U = bob      ";
    for removal in &removals {
        let refused = site.change("root", removal).expect_err("bob's job waits");
        assert_eq!(told(refused), (ErrorCode::InUse, message.to_string()), "{removal}");
    }
    site.change("root", &json!({ "remove_users": { "names": ["alice"], "accounts": ["bio"] } }))
        .expect("others go");
    site.cancel_all();
    for removal in &removals[..3] {
        site.change("root", removal).expect("it is over");
    }
    let accounts = site.cluster.accounts();
    assert!(accounts.qos("low").is_none() && !accounts.users().contains_key("bob"));
    assert_eq!(accounts.qos("high").map(|qos| qos.preempt.as_slice()), Some(&[] as &[String]));
    site.change("root", &removals[3]).expect("nobody is in it");
    assert_eq!(
        site.cluster.accounts().accounts().keys().map(AsRef::as_ref).collect::<Vec<&str>>(),
        ["root", "tiny"]
    );
}

#[test]
fn a_default_account_that_goes_is_followed_by_the_oldest_left() {
    let mut site = Site::new(&[]);
    let default = |site: &Site, user: &str| site.cluster.accounts().default_account(user).map(str::to_string);
    assert_eq!(default(&site, "alice").as_deref(), Some("ml"));
    let reached =
        site.change("root", &json!({ "remove_accounts": { "names": ["ml"] } })).expect("alice has bio");
    assert_eq!(reached, [AccountsTarget::Account("ml".to_string())]);
    assert_eq!(default(&site, "alice").as_deref(), Some("bio"));
    let refused =
        site.change("root", &json!({ "remove_accounts": { "names": ["bio"] } })).expect_err("her only one");
    assert_eq!(refused.code, ErrorCode::InUse);
    site.change("root", &json!({ "remove_users": { "names": ["alice"], "accounts": ["bio"] } }))
        .expect("as asked");
    assert_eq!(default(&site, "alice"), None);
}

#[test]
fn a_job_gets_the_account_and_the_qos_that_its_user_may_have() {
    let account = || Err("Invalid account or account/partition combination specified");
    let qos = || Err("Invalid qos specification");
    let gets = |account: &'static str, qos: &'static str| Ok((account, qos));
    // what is enforced, user, account, QOS, what becomes of it
    let table = [
        (vec![], "alice", None, None, gets("ml", "high")),
        (vec![], "alice", Some("BIO"), Some("Gold"), gets("bio", "gold")),
        (vec![], "alice", None, Some("nosuch"), qos()),
        (vec![], "stranger", None, None, gets("", "normal")),
        (vec![], "stranger", Some("any"), None, gets("any", "normal")),
        (vec![Associations], "stranger", None, None, account()),
        (vec![Associations], "stranger", Some("ml"), None, account()),
        (vec![Associations], "bob", Some("ml"), None, account()),
        (vec![Associations], "bob", None, None, gets("bio", "normal")),
        (vec![Associations], "bob", None, Some("gold"), gets("bio", "gold")),
        (vec![Associations, Qos], "bob", None, Some("gold"), qos()),
        (vec![Associations, Qos], "alice", None, Some("low"), gets("ml", "low")),
        (vec![Associations, Qos], "alice", Some("bio"), Some("low"), qos()),
    ];
    let in_ml = json!({ "qos": { "set": ["high", "low"] }, "default_qos": { "set": "high" } });
    for (enforced, user, account, qos, expected) in table {
        let mut site = Site::new(&enforced);
        site.change(
            "root",
            &json!({ "modify_accounts": { "which": { "names": ["ml"] }, "settings": in_ml } }),
        )
        .expect("a good change");
        let got = site.submit(user, account, qos);
        let got = got
            .as_ref()
            .map(|(account, qos)| (account.as_str(), qos.as_str()))
            .map_err(|error| error.message.as_str());
        assert_eq!(got, expected, "{enforced:?} {user} {account:?} {qos:?}");
    }
}

#[test]
fn where_nobody_has_set_accounts_up_what_is_asked_for_is_taken_as_it_is() {
    let mut site = Site::without_accounts(&[]);
    let got = site.submit("alice", Some("Physics"), Some("any")).expect("nothing is enforced");
    assert_eq!(got, ("physics".to_string(), "any".to_string()));
    let mut site = Site::without_accounts(&[Associations]);
    assert_eq!(site.submit("alice", None, None).map_err(|error| error.code), Err(ErrorCode::InvalidAccount));
    assert_eq!(site.submit("root", None, None), Ok(("root".to_string(), "normal".to_string())));
}

#[test]
fn a_job_gets_the_workload_key_that_it_names_or_its_users_default_with_a_star() {
    let invalid = || Err("Invalid wckey specification".to_string());
    let gets = |key: &str| Ok(Some(key.to_string()));
    // tracked, enforced, user, asked for, what becomes of it
    let table = [
        (false, false, "alice", None, Ok(None)),
        (false, false, "alice", Some(""), Ok(None)),
        (false, false, "alice", Some("Any"), gets("any")),
        (true, false, "alice", None, gets("*thesis")),
        (true, false, "alice", Some(""), gets("*thesis")),
        (true, false, "alice", Some("any"), gets("any")),
        (true, false, "bob", None, gets("*")),
        (true, true, "alice", Some("THESIS"), gets("thesis")),
        (true, true, "alice", Some("grant"), gets("grant")),
        (true, true, "alice", Some("any"), invalid()),
        (true, true, "alice", None, gets("*thesis")),
        (true, true, "bob", None, gets("*")),
        (true, true, "bob", Some("thesis"), invalid()),
        (false, false, "alice", Some("two words"), invalid()),
        (true, false, "alice", Some("*thesis"), invalid()),
    ];
    for (tracks, enforces, user, asked, expected) in table {
        let mut site = Site::new(&[]);
        let keys = json!({ "names": ["alice"], "accounts": ["ml"], "wckeys": ["thesis", "grant"] });
        site.change("root", &json!({ "add_users": keys })).expect("a good change");
        let default = json!({ "which": { "names": ["alice"] }, "default_wckey": "thesis" });
        site.change("root", &json!({ "modify_users": default })).expect("a good change");
        site.track_wckeys(tracks, enforces);
        let judged = site.judge_job(user, |job| job.wckey = asked.map(str::to_string));
        let got = judged.map(|bodies| match &bodies[..] {
            [daybook_schemas::Body::JobSubmitted(data)] => data.spec.wckey.clone(),
            other => panic!("{other:?}"),
        });
        assert_eq!(got.map_err(|error| error.message), expected, "{tracks} {enforces} {user} {asked:?}");
    }
}

#[test]
fn the_workload_key_of_a_waiting_job_changes_as_it_was_set() {
    let mut site = Site::new(&[]);
    let keys = json!({ "names": ["alice"], "accounts": ["ml"], "wckeys": ["thesis", "grant"] });
    site.change("root", &json!({ "add_users": keys })).expect("a good change");
    site.track_wckeys(true, true);
    site.submit("alice", None, None).expect("alice may");
    let id = daybook_schemas::JobId(1);
    let key = |site: &Site| site.cluster.jobs()[&id].wckey.as_deref().map(str::to_string);
    let change = |key: &str| daybook_schemas::events::JobUpdated {
        job: id,
        wckey: Some(key.to_string()),
        ..Default::default()
    };
    assert_eq!(key(&site).as_deref(), Some("*"));
    site.update_job("alice", change("grant")).expect("it is hers");
    assert_eq!(key(&site).as_deref(), Some("grant"));
    let refused = site.update_job("alice", change("nosuch")).expect_err("it is not hers");
    assert_eq!(told(refused), (ErrorCode::InvalidWckey, "Invalid wckey specification".to_string()));
    site.update_job("alice", change("")).expect("her default again");
    assert_eq!(key(&site).as_deref(), Some("*"));
    site.track_wckeys(false, false);
    site.update_job("alice", change("")).expect("none");
    assert_eq!(key(&site), None);
}
