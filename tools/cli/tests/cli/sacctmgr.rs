//! `sacctmgr` against the accounts of a recorded cluster (`sacctmgr/accounts.json`).
//!
//! `sacctmgr/tables.txt` and `sacctmgr/mistakes.txt` have commands with what they print, in the form of
//! Slurm's recordings; `UPDATE_EXPECT=1` writes them anew.

use std::path::PathBuf;

use daybook_schemas::api::{AccountsChange, ApiError, ErrorCode};
use expect_test::expect_file;
use serde_json::{Value, json};

use crate::harness::{Daemon, Reply, Request, refuse};

const CHANGE: &str = "/v1/accounts/change";

fn accounts() -> Value {
    serde_json::from_str(include_str!("sacctmgr/accounts.json")).expect("accounts")
}

fn golden(name: &str) -> PathBuf {
    let crate_folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate");
    PathBuf::from(crate_folder).join("tests/cli/sacctmgr").join(name)
}

/// A daemon with the recorded accounts that answers changes so.
fn recorded(changes: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Daemon {
    Daemon::start(move |request| match request.path.as_str() {
        "/v1/accounts" => Reply::Answer(accounts()),
        "/v1/ping" => Reply::Answer(json!({ "version": "0.1.0", "host": "vm", "pid": 1, "end": 1 })),
        CHANGE => changes(request),
        other => panic!("nobody asks for {other}"),
    })
}

/// One that takes every change, which is said to reach this.
fn reaching(targets: Value) -> Daemon {
    recorded(move |_| Reply::Answer(json!({ "targets": targets, "seq": 38 })))
}

fn refusing(code: ErrorCode, message: &'static str) -> Daemon {
    recorded(move |_| refuse(code, message))
}

/// What was sent to be changed in the end.
fn changes(daemon: &Daemon) -> Vec<AccountsChange> {
    let sent = daemon.requests().into_iter().filter(|request| request.path == CHANGE);
    sent.filter(|request| request.body.get("preview") != Some(&json!(true)))
        .map(|request| change(request.body["change"].clone()))
        .collect()
}

fn change(json: Value) -> AccountsChange {
    serde_json::from_value(json).expect("a change of accounts")
}

/// Runs `sacctmgr LINE` for each line, and gives what a recording would have.
fn record(daemon: &Daemon, lines: &[&str]) -> String {
    let one = |line: &&str| format!("# sacctmgr {line}\n{}\n\n", daemon.run(&format!("sacctmgr {line}")));
    lines.iter().map(one).collect()
}

#[test]
fn tables_are_as_slurm_prints_them() {
    let daemon = reaching(json!([]));
    let shown = record(
        &daemon,
        &[
            "show account",
            "show account -P",
            "-n show account phys",
            "show account withassoc -P",
            "-p show account organization=lab",
            "show account ml withcoord",
            "show user",
            "show user -P withassoc",
            "-sP list user bob",
            "show user bob withassoc format=user,account,defaultaccount,qos,maxjobs",
            "show user nosuch",
            "-nP show users withassoc format=account,qos where user=alice cluster=tx",
            "show user where account=bio adminlevel=op",
            "show assoc",
            "-P show assoc",
            "show assoc tree format=account,user,fairshare,grptres,grptresmins,maxjobs,qos%30",
            "show assoc user=carol account=phys format=account,maxwall,qos,parentname woplimits",
            "-P show assoc account=astro format=account,parentname,parentid",
            "-P show assoc account=astro format=account,parentname,parentid wopinfo",
            "-P show assoc user=bob account=phys format=cluster,account,user,partition,share,maxjobs,maxsubmit,qos,\
             defaultqos,id,parentname,lft,rgt",
            "show assoc where user=alice format=user%-10,account%3,qos",
            "show assoc format=User,Account,GrpCPU,GrpMem,GrpJobs,GrpSubmit --noheader --parsable2",
            "show qos",
            "-P show qos",
            "show qos format=name,priority,gracetime,preempt,preemptmode,flags,usagefactor,maxwall,maxtrespu,grptres",
            "-P show cluster",
            "show tres",
            "-P -n show tres",
            "show wckey",
            "show runaway",
            "--json show qos gold",
        ],
    );
    expect_file![golden("tables.txt")].assert_eq(&shown);
    assert_eq!(changes(&daemon), []);
}

#[test]
fn a_mistake_is_named_and_changes_nothing() {
    let daemon = reaching(json!([{ "association": 14 }]));
    let mistakes = record(
        &daemon,
        &[
            "",
            "nosuch",
            "-x show user",
            "show",
            "show nosuch",
            "show events",
            "show assoc format=nosuch",
            "show assoc where foo=1",
            "show user withdeleted",
            "add",
            "add federation x",
            "dump tx",
            "-i add account",
            "-i add account phys",
            "-i add account new parent=nosuch",
            "-i add account new cluster=other",
            "-i add account new fairshare=-5",
            "-i add account new maxsubmit=-5",
            "-i add account new grpcpus=many",
            "-i add account new grptres=cpu=-2",
            "-i add account new grptres=foo=2",
            "-i add account new maxwall=soon",
            "-i add user alice",
            "-i add user alice account=ml,nosuch",
            "-i add user alice account=ml",
            "-i add user alice account=ml adminlevel=king",
            "-i add user alice account=ml foo=1",
            "-i add coordinator names=alice",
            "-i add qos",
            "-i add qos gold",
            "-i add cluster tx",
            "-i add cluster ty",
            "modify",
            "modify job jobid=1 set comment=x",
            "-i modify user bob",
            "-i modify user bob set fairshare",
            "-i modify user bob where account=phys set foo=1",
            "-i modify user bob cluster=other set fairshare=2",
            "-i modify user bob foo=1 set fairshare=2",
            "-i modify account phys set maxtresperuser=cpu=1",
            "-i modify account phys set maxjobs=5 grpjobs=-7",
            "-i modify qos normal set priority=abc",
            "-i modify qos normal set nosuch=1",
            "-i modify qos gold set flags=nosuch",
            "-i modify qos gold set maxjobspu=-3",
            "-i modify qos gold set preemptmode=zap gracetime=abc",
            "-i delete account",
            "-i delete user where foo=1",
            "-i delete cluster tx",
            "-r -i delete account phys",
            "--json -i delete account phys",
        ],
    );
    expect_file![golden("mistakes.txt")].assert_eq(&mistakes);
    assert_eq!(changes(&daemon), []);
}

#[test]
fn a_change_is_told_and_sent_whole() {
    // command, what it reaches, what is printed, what is sent
    let table = [
        (
            "-i add account dept parent=phys fairshare=3 grptres=cpu=100,gres/gpu=4",
            json!([{ "account": "dept" }, { "association": 17 }]),
            " Adding Account(s)\n  dept\n Settings\n  Description     = Account Name\n  \
             Organization    = Parent/Account Name\n Associations\n  A = dept       C = tx        \n Settings\n  \
             Fairshare     = 3\n  GrpTRES       = cpu=100,gres/gpu=4\n  Parent        = phys\n",
            json!({ "add_accounts": {
                "names": ["dept"], "parent": "phys",
                "settings": {
                    "shares": { "set": { "number": 3 } },
                    "limits": { "tres": { "grp_tres": { "amounts": { "cpu": { "set": 100 }, "gres/gpu": { "set": 4 } } } } },
                },
            } }),
        ),
        (
            "-i add user bob account=ml fairshare=2",
            json!([{ "association": 17 }]),
            " Associations =\n  U = bob       A = ml         C = tx        \n Non Default Settings\n  \
             Fairshare     = 2\n",
            json!({ "add_users": {
                "names": ["bob"], "accounts": ["ml"], "settings": { "shares": { "set": { "number": 2 } } },
            } }),
        ),
        (
            "-i add qos silver priority=500 maxwall=2-0 flags=DenyOnLimit",
            json!([{ "qos": "silver" }]),
            " Adding QOS(s)\n  silver\n Settings\n  Description    = silver\n  Flags                    = DenyOnLimit\n  \
             MaxWall                  = 2-00:00:00\n  Priority                 = 500\n",
            json!({ "add_qos": {
                "names": ["silver"],
                "settings": {
                    "priority": { "set": 500 }, "flags": { "set": ["deny_on_limit"] },
                    "limits": { "walls": { "max_wall_per_job": { "set": 172_800 } } },
                },
            } }),
        ),
        (
            "-i modify user bob where account=phys set qos+=gold maxjobs=-1",
            json!([{ "association": 14 }]),
            " Modified user associations...\n  C = tx         A = phys                 U = bob      \n",
            json!({ "modify_users": {
                "which": { "names": ["bob"], "accounts": ["phys"] },
                "settings": { "qos": { "add": ["gold"] }, "limits": { "counts": { "max_jobs": "clear" } } },
            } }),
        ),
        (
            "-i modify account phys set maxwall=1:00:00",
            json!([{ "association": 12 }, { "association": 14 }, { "association": 15 }, { "association": 16 }]),
            " Modified account associations...\n  C = tx         A = phys of root\n  \
             C = tx         A = phys                 U = carol    \n  \
             C = tx         A = phys                 U = nosuchunix\n  \
             C = tx         A = phys                 U = bob      \n",
            json!({ "modify_accounts": {
                "which": { "names": ["phys"] },
                "settings": { "limits": { "walls": { "max_wall_per_job": { "set": 3_600 } } } },
            } }),
        ),
        (
            "-i delete user bob where account=phys",
            json!([{ "association": 14 }]),
            " Deleting user associations...\n  C = tx         A = phys       U = bob      \n",
            json!({ "remove_users": { "names": ["bob"], "accounts": ["phys"] } }),
        ),
        (
            "-i delete coordinator account=ml names=carol",
            json!([{ "coordinator": { "account": "ml", "user": "carol" } }]),
            " Removing Coordinators with user name\n  carol\n From Account(s)\n  ml\n \
             Removed Coordinators (sub accounts not listed)...\n  U = carol     A = ml        \n",
            json!({ "remove_coordinators": { "accounts": ["ml"], "users": ["carol"] } }),
        ),
    ];
    for (line, targets, printed, sent) in table {
        let daemon = reaching(targets);
        assert_eq!(daemon.run(&format!("sacctmgr {line}")), format!("stdout:\n{printed}exit: 0"), "{line}");
        assert_eq!(changes(&daemon), [change(sent)], "{line}");
    }
}

#[test]
fn what_reaches_nothing_is_said() {
    let daemon = reaching(json!([]));
    for (line, said) in [
        ("-i modify account nosuch set fairshare=3", " Nothing modified"),
        ("-i delete qos nosuch", " Nothing deleted"),
        ("-i add coordinator account=ml names=carol", " Nothing new added."),
    ] {
        assert_eq!(daemon.run(&format!("sacctmgr {line}")), format!("stdout:\n{said}\nexit: 1"), "{line}");
    }
    assert_eq!(changes(&daemon), []);
}

#[test]
fn only_a_yes_commits() {
    let told = "stdout:\n Associations =\n  U = carol     A = tiny       C = tx        \n Non Default Settings\n\
                Would you like to commit changes? (You have 30 seconds to decide)\n(N/y): ";
    for (typed, printed, commits) in [
        ("y\n", "\n", 1),
        ("n\n", "\n Changes Discarded\n", 0),
        ("", "\n Changes Discarded\n", 0),
        ("xY\n", "\nY or N please\n(N/y): \n", 1),
    ] {
        let daemon = reaching(json!([{ "association": 17 }]));
        let run = daemon.call("sacctmgr add user carol account=tiny").stdin(typed).run();
        assert_eq!(run, format!("{told}{printed}exit: 0"), "{typed:?}");
        assert_eq!(changes(&daemon).len(), commits, "{typed:?}");
    }
}

#[test]
fn a_refusal_has_slurms_words() {
    let denied = (ErrorCode::PermissionDenied, "Access/permission denied");
    for (line, (code, message), expected) in [
        (
            "-i add account hack",
            denied,
            "stdout:\n Adding Account(s)\n  hack\n Settings\n  Description     = Account Name\n  \
             Organization    = Parent/Account Name\n Associations\n  A = hack       C = tx        \n\
             stderr:\n Problem adding accounts: Access/permission denied\nexit: 1",
        ),
        (
            "-i modify user alice set fairshare=100",
            denied,
            "stdout:\n Nothing modified\nstderr:\nsacctmgr: accounting_storage/slurmdbd: \
             acct_storage_p_modify_assocs: Request didn't affect anything or your user doesn't have privilege to \
             perform this action\nexit: 1",
        ),
        (
            "-i delete qos high",
            denied,
            "stderr:\nsacctmgr: error: Your user doesn't have privilege to perform this action\n \
             Error with request: Access/permission denied\nexit: 1",
        ),
        (
            "-i modify qos gold set preempt=gold",
            (ErrorCode::InvalidRequest, "QOS Preemption loop detected"),
            "stderr:\n Error with request: QOS Preemption loop detected\nexit: 1",
        ),
        (
            "-i add account new qos=nosuch",
            (ErrorCode::InvalidQos, "You gave a bad qos 'nosuch'. Use 'list qos' to get complete list."),
            "stderr:\nsacctmgr: error: You gave a bad qos 'nosuch'. Use 'list qos' to get complete list.\nexit: 1",
        ),
    ] {
        assert_eq!(refusing(code, message).run(&format!("sacctmgr {line}")), expected, "{line}");
    }
    let with_details = |code: ErrorCode, message: &'static str, detail: &'static str| {
        recorded(move |_| Reply::Refuse(ApiError::new(code, message).detail(detail)))
    };
    let default = "You can not remove the default account of a user";
    let daemon = with_details(ErrorCode::InUse, default, "C = tx              A = phys       U = nosuchunix");
    assert_eq!(
        daemon.run("sacctmgr -i delete account phys"),
        "stderr:\n Error with request: You can not remove the default account of a user\n  \
         C = tx              A = phys       U = nosuchunix\n \
         Please either remove the accounts listed above from list and resubmit,\n \
         or change these users' default accounts to remove the account(s).\n Changes Discarded\nexit: 1"
    );
    let unknown = "Can't modify because these users aren't associated with new default account 'nosuch'...";
    let daemon = with_details(ErrorCode::InvalidAccount, unknown, "U = bob C = tx");
    assert_eq!(
        daemon.run("sacctmgr -i modify user bob set defaultaccount=nosuch"),
        format!("stdout:\n {unknown}\n  U = bob C = tx\nexit: 1")
    );
}

#[test]
fn a_silent_daemon_is_an_error() {
    let expected = "stderr:\nsacctmgr: error: Unable to contact slurm controller (connect failure)\n";
    for line in ["sacctmgr show user", "sacctmgr -i add account x"] {
        let run = Daemon::absent().run(line);
        assert!(run.starts_with(expected) && run.ends_with("exit: 1"), "{line}: {run}");
    }
}
