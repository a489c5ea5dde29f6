//! Accounts on a cluster that runs: made by `sacctmgr`, binding jobs, kept over a `kill -9`.

use daybook_tests::{Cluster, wait_until};

const ENFORCED: &str = "\
ClusterName=test
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=10
KillWait=2
MinJobAge=300
AccountingStorageEnforce=associations,qos
NodeName=n1 NodeAddr=127.0.0.1 CPUs=8 RealMemory=1000
PartitionName=main Nodes=n1 Default=YES MaxTime=1-0 DefaultTime=10
";

/// Users whom every Debian has: a member of `physics`, one of `theory` below it, and a stranger.
const MEMBER: (u32, &str) = (1, "daemon");
const THEORIST: (u32, &str) = (2, "bin");
const STRANGER: u32 = 65_534;

const NO_ACCOUNT: &str = "Invalid account or account/partition combination specified";
const NO_QOS: &str = "Invalid qos specification";

fn sacctmgr(cluster: &Cluster, line: &str) -> String {
    let arguments: Vec<&str> = std::iter::once("-i").chain(line.split(' ')).collect();
    cluster.run("sacctmgr", &arguments).ok()
}

fn set_up(cluster: &Cluster) {
    let (member, theorist) = (MEMBER.1, THEORIST.1);
    for line in [
        "add qos high priority=100 maxwall=1:00:00",
        "add qos long",
        "add account physics organization=science grptres=cpu=64",
        "add account theory parent=physics fairshare=3",
        &format!("add user {member} account=physics"),
        &format!("add user {theorist} account=theory maxjobs=5"),
        "modify account physics set qos=high,normal defaultqos=high",
        &format!("modify user {theorist} set qos+=long defaultqos=normal"),
    ] {
        sacctmgr(cluster, line);
    }
}

fn associations(cluster: &Cluster) -> String {
    let columns = "format=account,user,parentname,share,grptres,maxjobs,qos,defaultqos";
    cluster.run("sacctmgr", &["-nP", "show", "assoc", columns]).ok()
}

/// Submits as a user; gives the job id.
#[track_caller]
fn submit(cluster: &Cluster, user: u32, options: &[&str]) -> u32 {
    let wrapped = [&["--parsable", "-o", "/dev/null", "-D", "/"], options, &["--wrap=sleep 300"]].concat();
    cluster.run_as(user, "sbatch", &wrapped).ok().trim().parse().expect("a job id")
}

fn charged(cluster: &Cluster, job: u32) -> String {
    cluster.run("squeue", &["-h", "-j", &job.to_string(), "-o", "%a %q"]).ok().trim().to_string()
}

#[test]
fn accounts_made_by_sacctmgr_bind_jobs_and_outlive_a_crash() {
    let mut cluster = Cluster::new(ENFORCED);
    cluster.start();
    set_up(&cluster);
    let expected = "\
root|||1|||normal|
root|root||1|||normal|
physics||root|1|cpu=64||high,normal|high
physics|daemon||1|||high,normal|high
theory||physics|3|||high,normal|high
theory|bin||1||5|high,long,normal|normal
";
    assert_eq!(associations(&cluster), expected);

    // Who is in no account, or asks for what is not theirs, has no job.
    for (user, options, why) in [
        (STRANGER, &[] as &[&str], NO_ACCOUNT),
        (STRANGER, &["-A", "physics"], NO_ACCOUNT),
        (MEMBER.0, &["-A", "theory"], NO_ACCOUNT),
        (MEMBER.0, &["-A", "nosuch"], NO_ACCOUNT),
        (MEMBER.0, &["-q", "long"], NO_QOS),
        (MEMBER.0, &["-q", "nosuch"], NO_QOS),
    ] {
        let refused = cluster.run_as(user, "sbatch", &[options, &["--wrap=true"]].concat());
        let words = format!("sbatch: error: Batch job submission failed: {why}\n");
        assert_eq!((refused.code, refused.out.as_str(), refused.err), (1, "", words), "{user} {options:?}");
    }
    let denied = cluster.run_as(MEMBER.0, "sacctmgr", &["-i", "add", "account", "mine"]);
    assert_eq!(
        (denied.code, denied.err.as_str()),
        (1, " Problem adding accounts: Access/permission denied\n")
    );
    assert_eq!(associations(&cluster), expected);
    assert_eq!(cluster.run("squeue", &["-h"]).ok(), "");

    // A member's job gets the default account and QOS.
    let jobs = [
        (submit(&cluster, MEMBER.0, &[]), "physics", "high"),
        (submit(&cluster, THEORIST.0, &[]), "theory", "normal"),
        (submit(&cluster, THEORIST.0, &["-A", "Theory", "-q", "long"]), "theory", "long"),
    ];
    for (job, account, qos) in jobs {
        cluster.wait_state(job, "RUNNING");
        assert_eq!(charged(&cluster, job), format!("{account} {qos}"));
        wait_until("the ledger has the job", || {
            cluster.sacct(job, "account,qos") == format!("{account}|{qos}")
        });
    }

    // What a job needs stays, also after a crash; the accounts are as they were.
    cluster.kill();
    cluster.start();
    assert_eq!(associations(&cluster), expected);
    let (first, last) = (jobs[0].0, jobs[2].0);
    for line in ["delete qos long", "delete account physics", "delete user bin account=theory"] {
        let arguments: Vec<&str> = std::iter::once("-i").chain(line.split(' ')).collect();
        let refused = cluster.run("sacctmgr", &arguments);
        let words = " Error with request: Job(s) active, cancel job(s) before remove\n";
        assert!(refused.code == 1 && refused.err.starts_with(words), "{line}: {refused:?}");
        let named = format!("  JobID = {last:<10} C = test       A = theory     U = bin      \n");
        assert!(refused.err.contains(&named), "{line}: {refused:?}");
    }

    // Later changes leave the job as it was charged.
    let waits = submit(&cluster, MEMBER.0, &["--hold"]);
    sacctmgr(&cluster, "modify account physics set defaultqos=normal");
    assert_eq!(charged(&cluster, waits), "physics high");
    let update =
        |setting: &str| cluster.run_as(MEMBER.0, "scontrol", &["update", &format!("jobid={waits}"), setting]);
    assert_eq!(update("qos=long").err, format!("{NO_QOS} for job {waits}\n"));
    update("qos=normal").ok();
    assert_eq!(charged(&cluster, waits), "physics normal");

    for job in [first, jobs[1].0, last, waits] {
        cluster.run("scancel", &[&job.to_string()]).ok();
        cluster.wait_ended(job);
    }
    assert_eq!(cluster.sacct(waits, "account,qos"), "physics|normal");
    sacctmgr(&cluster, "delete user bin,daemon");
    assert_eq!(sacctmgr(&cluster, "delete account physics"), " Deleting accounts...\n  physics\n  theory\n");
    sacctmgr(&cluster, "delete qos high,long");
    assert_eq!(associations(&cluster), "root|||1|||normal|\nroot|root||1|||normal|\n");
}
