//! Who may change what.

use daybook_schemas::api::ErrorCode;
use serde_json::json;

use super::site::Site;
use super::told;

#[test]
fn everybody_changes_what_is_theirs_and_no_more() {
    // who, what, whether it is allowed
    let table = [
        (
            "alice",
            json!({ "modify_users": { "which": { "names": ["alice"] }, "default_account": "bio" } }),
            true,
        ),
        (
            "alice",
            json!({ "modify_users": { "which": { "names": ["bob"] }, "default_account": "bio" } }),
            false,
        ),
        (
            "alice",
            json!({ "modify_users": { "which": {}, "settings": { "shares": { "set": { "number": 9 } } } } }),
            false,
        ),
        (
            "alice",
            json!({ "modify_users": { "which": { "names": ["alice"] }, "admin_level": "operator" } }),
            false,
        ),
        ("alice", json!({ "add_accounts": { "names": ["hack"] } }), false),
        ("alice", json!({ "add_users": { "names": ["alice"], "accounts": ["tiny"] } }), false),
        ("alice", json!({ "remove_users": { "names": ["bob"] } }), false),
        ("alice", json!({ "remove_qos": { "names": ["gold"] } }), false),
        ("alice", json!({ "modify_cluster": { "shares": { "set": { "number": 2 } } } }), false),
        // A coordinator of research also coordinates what is below it.
        ("carol", json!({ "add_accounts": { "names": ["new"], "parent": "ml" } }), true),
        ("carol", json!({ "add_users": { "names": ["dave"], "accounts": ["bio"] } }), true),
        ("carol", json!({ "modify_accounts": { "which": { "names": ["bio"] }, "parent": "tiny" } }), false),
        ("carol", json!({ "modify_accounts": { "which": { "names": ["tiny"] }, "parent": "ml" } }), false),
        (
            "carol",
            json!({ "add_users": { "names": ["dave"], "accounts": ["bio"], "admin_level": "operator" } }),
            false,
        ),
        ("oscar", json!({ "add_accounts": { "names": ["open"] } }), true),
        (
            "oscar",
            json!({ "modify_users": { "which": { "names": ["bob"] }, "admin_level": "operator" } }),
            true,
        ),
        (
            "oscar",
            json!({ "modify_users": { "which": { "names": ["oscar"] }, "admin_level": "administrator" } }),
            false,
        ),
        (
            "oscar",
            json!({ "modify_users": { "which": { "names": ["root"] }, "admin_level": "none" } }),
            false,
        ),
        ("oscar", json!({ "add_qos": { "names": ["mine"] } }), false),
    ];
    let mut site = Site::new(&[]);
    for change in [
        json!({ "add_coordinators": { "accounts": ["research"], "users": ["carol"] } }),
        json!({ "add_users": { "names": ["oscar"], "accounts": ["tiny"], "admin_level": "operator" } }),
    ] {
        site.change("root", &change).expect("a good change");
    }
    for (user, change, is_allowed) in table {
        match site.change(user, &change) {
            Ok(_) => assert!(is_allowed, "{user}: {change}"),
            Err(refused) => {
                let denied = (ErrorCode::PermissionDenied, "Access/permission denied".to_string());
                assert_eq!((told(refused), is_allowed), (denied, false), "{user}: {change}");
            }
        }
    }
}
