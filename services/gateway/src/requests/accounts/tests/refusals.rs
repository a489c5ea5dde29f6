//! Changes that cannot be.

use daybook_model::TREE_DEPTH_MAX;
use daybook_schemas::api::ErrorCode;
use serde_json::{Value, json};

use super::site::Site;
use super::told;

#[test]
fn what_cannot_be_is_refused_by_name() {
    use ErrorCode::*;
    let change = |what: &str, name: &str, settings: Value| json!({ what: { "which": { "names": [name] }, "settings": settings } });
    let amount = |limit: &str, resource: &str| json!({ "limits": { "tres": { limit: { "amounts": { resource: { "set": 1 } } } } } });
    let qos =
        |name: &str, settings: Value| json!({ "modify_qos": { "names": [name], "settings": settings } });
    let table = [
        (
            json!({ "add_accounts": { "names": ["new"], "parent": "nosuch" } }),
            (
                InvalidAccount,
                "Parent account 'nosuch' doesn't exist on cluster tx\n\
                 Contact your admin to add this account.",
            ),
        ),
        (
            json!({ "add_accounts": { "names": ["fine", "a b"] } }),
            (
                InvalidRequest,
                "Invalid name 'a b'\nexpected 1 to 256 letters, digits and any of _ - . @ + $ \\",
            ),
        ),
        (
            json!({ "add_accounts": { "names": ["new"], "settings": { "qos": { "set": ["nosuch"] } } } }),
            (InvalidQos, "You gave a bad qos 'nosuch'. Use 'list qos' to get complete list."),
        ),
        (
            json!({ "modify_accounts": { "which": { "names": ["research"] }, "parent": "ml" } }),
            (
                InvalidRequest,
                "Account 'research' cannot be below 'ml'\n\
                 'ml' is 'research' itself or below it: the tree would have a loop",
            ),
        ),
        (
            json!({ "modify_accounts": { "which": { "names": ["ml"] }, "parent": "ml" } }),
            (
                InvalidRequest,
                "Account 'ml' cannot be below 'ml'\n\
                 'ml' is 'ml' itself or below it: the tree would have a loop",
            ),
        ),
        (
            json!({ "modify_accounts": { "which": { "names": ["ml"] }, "parent": "nosuch" } }),
            (InvalidAccount, "This account 'nosuch' doesn't exist.\nContact your admin to add this account."),
        ),
        (
            json!({ "modify_accounts": { "which": { "names": ["root"] }, "parent": "ml" } }),
            (InvalidRequest, "The root account has no parent."),
        ),
        // The first account of a list is refused with the last.
        (
            json!({ "modify_accounts": { "which": { "names": ["bio", "research"] }, "parent": "ml" } }),
            (
                InvalidRequest,
                "Account 'research' cannot be below 'ml'\n\
                 'ml' is 'research' itself or below it: the tree would have a loop",
            ),
        ),
        (
            change(
                "modify_accounts",
                "ml",
                json!({ "limits": { "counts": { "grp_jobs": { "set": 4_294_967_295_u32 } } } }),
            ),
            (InvalidRequest, "Invalid value for GrpJobs: at most 4294967293"),
        ),
        (
            change("modify_accounts", "ml", amount("max_tres_per_user", "cpu")),
            (InvalidRequest, "MaxTresPerUser is a limit of a QOS, not of an association"),
        ),
        (
            change("modify_accounts", "ml", amount("grp_tres", "gres/x")),
            (
                InvalidRequest,
                "Invalid Trackable RESource (TRES) specification\n\
                 'gres/x' is none of cpu, mem, node, billing, gres/gpu, gres/gpu:TYPE, license/NAME",
            ),
        ),
        (
            json!({ "add_users": { "names": ["alice"], "accounts": ["tiny", "nosuch"] } }),
            (InvalidAccount, "This account 'nosuch' doesn't exist.\nContact your admin to add this account."),
        ),
        (
            json!({ "add_users": { "names": ["dave"], "accounts": ["ml"], "partitions": ["nosuch"] } }),
            (InvalidPartition, "Invalid partition name specified\ninvalid partition specified: nosuch"),
        ),
        (
            json!({ "add_users": { "names": ["dave"], "accounts": ["ml"], "default_account": "bio" } }),
            (
                InvalidAccount,
                "Can't modify because these users aren't associated with new default account 'bio'...\n\
                 U = dave C = tx",
            ),
        ),
        (
            json!({ "modify_users": { "which": { "names": ["alice", "bob"] }, "default_account": "ml" } }),
            (
                InvalidAccount,
                "Can't modify because these users aren't associated with new default account 'ml'...\n\
                 U = bob C = tx",
            ),
        ),
        (
            change("modify_users", "bob", json!({ "default_qos": { "set": "gold" } })),
            (
                InvalidQos,
                "These associations don't have access to their default qos.\n\
                 C = tx         A = bio        U = bob      \n\
                 Please give them access before the default can be set to this.",
            ),
        ),
        (
            qos("low", json!({ "preempt": { "set": ["low"] } })),
            (
                InvalidRequest,
                "QOS Preemption loop detected\n'low' would preempt itself, directly or by way of others",
            ),
        ),
        (
            qos("low", json!({ "preempt": { "add": ["gold"] } })),
            (
                InvalidRequest,
                "QOS Preemption loop detected\n'low' would preempt itself, directly or by way of others",
            ),
        ),
        (
            qos("low", json!({ "preempt_mode": { "set": "suspend" } })),
            (
                InvalidRequest,
                "PreemptMode=suspend needs GANG in the cluster's PreemptMode\nnobody would let its jobs go on: write PreemptMode=SUSPEND,GANG into slurm.conf, or GANG beside what is there",
            ),
        ),
        (
            qos("low", json!({ "preempt": { "set": ["nosuch"] } })),
            (InvalidQos, "You gave a bad qos 'nosuch'. Use 'list qos' to get complete list."),
        ),
        (
            qos("low", json!({ "usage_factor": { "set": 2_000_000_000_000_u64 } })),
            (InvalidRequest, "Invalid factor\na factor is from 0 to 1000000"),
        ),
        (
            json!({ "add_coordinators": { "accounts": ["nosuch"], "users": ["alice"] } }),
            (InvalidAccount, "This account 'nosuch' doesn't exist.\nContact your admin to add this account."),
        ),
        (
            json!({ "add_coordinators": { "accounts": ["ml"], "users": ["nosuch"] } }),
            (InvalidRequest, "This user 'nosuch' doesn't exist.\nContact your admin to add this user."),
        ),
        (
            json!({ "remove_accounts": { "names": ["root"] } }),
            (InvalidRequest, "You are not allowed to remove the root account."),
        ),
        (
            json!({ "remove_accounts": { "names": ["research"] } }),
            (
                InUse,
                "You can not remove the default account of a user\n\
                 C = tx              A = ml         U = alice    \n\
                 C = tx              A = bio        U = bob      ",
            ),
        ),
        (json!({ "remove_accounts": {} }), (InvalidRequest, "No conditions given to remove, not executing.")),
        (json!({ "remove_users": {} }), (InvalidRequest, "No conditions given to remove, not executing.")),
        (
            json!({ "remove_users": { "names": ["root"] } }),
            (InvalidRequest, "You are not allowed to remove the user root."),
        ),
        (
            json!({ "remove_qos": { "names": ["gold", "normal"] } }),
            (InUse, "The QOS normal cannot be removed\nit is the QOS of jobs that have no other"),
        ),
    ];
    let mut site = Site::new(&[]);
    let before = site.cluster.accounts().clone();
    for (change, (code, message)) in table {
        let refused = site.change("root", &change).expect_err(&change.to_string());
        assert_eq!(told(refused), (code, message.to_string()), "{change}");
    }
    assert_eq!(*site.cluster.accounts(), before);
}

#[test]
fn the_tree_has_a_greatest_depth_however_it_is_reached() {
    let mut site = Site::new(&[]);
    let mut above = "root".to_string();
    for level in 1..TREE_DEPTH_MAX - 1 {
        let name = format!("level{level}");
        site.change("root", &json!({ "add_accounts": { "names": [name], "parent": above } })).expect(&name);
        above = name;
    }
    for change in [
        json!({ "add_accounts": { "names": ["below"], "parent": above } }),
        json!({ "modify_accounts": { "which": { "names": ["tiny"] }, "parent": above } }),
        json!({ "modify_accounts": { "which": { "names": ["level1"] }, "parent": "tiny" } }),
    ] {
        let refused = site.change("root", &change).expect_err("too deep");
        assert_eq!(refused.message, "The tree of accounts would be too deep", "{change}");
    }
}
