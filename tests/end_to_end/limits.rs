//! Limits on a cluster that runs: refused at once, waiting with a reason, and free again; also after a crash.

use daybook_tests::{Cluster, wait_until};

const LIMITED: &str = "\
ClusterName=test
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=10
KillWait=2
MinJobAge=300
AccountingStorageEnforce=associations,limits,qos
NodeName=n1 NodeAddr=127.0.0.1 CPUs=8 RealMemory=1000
PartitionName=main Nodes=n1 Default=YES MaxTime=1-0 DefaultTime=60
";

/// Users whom every Debian has, both in the account `ml`.
const ALICE: (u32, &str) = (1, "daemon");
const BOB: (u32, &str) = (2, "bin");

const POLICY: &str = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)";

fn sacctmgr(cluster: &Cluster, line: &str) {
    let arguments: Vec<&str> = std::iter::once("-i").chain(line.split(' ')).collect();
    cluster.run("sacctmgr", &arguments).ok();
}

fn submit(cluster: &Cluster, user: u32, options: &[&str]) -> u32 {
    let wrapped = [&["--parsable", "-o", "/dev/null", "-D", "/"], options, &["--wrap=sleep 300"]].concat();
    cluster.run_as(user, "sbatch", &wrapped).ok().trim().parse().expect("a job id")
}

fn reason(cluster: &Cluster, job: u32) -> String {
    cluster.run("squeue", &["-h", "-j", &job.to_string(), "-o", "%r"]).ok().trim().to_string()
}

fn wait_for_reason(cluster: &Cluster, job: u32, word: &str) {
    wait_until(&format!("job {job} waits for {word}"), || reason(cluster, job) == word);
}

#[test]
fn limits_keep_back_who_is_above_them_and_nobody_else() {
    let mut cluster = Cluster::new(LIMITED);
    cluster.start();
    for line in [
        "add qos lim maxjobsperuser=1 maxsubmitjobsperuser=3 maxwall=00:30:00 maxtresperuser=cpu=4",
        "add account ml organization=science grptres=cpu=6",
        &format!("add user {} account=ml", ALICE.1),
        &format!("add user {} account=ml", BOB.1),
        "modify account ml set qos=normal,lim",
    ] {
        sacctmgr(&cluster, line);
    }
    let first = submit(&cluster, ALICE.0, &["-q", "lim"]);
    cluster.wait_state(first, "RUNNING");
    let limit = cluster.run("squeue", &["-h", "-j", &first.to_string(), "-o", "%l"]).ok();
    assert_eq!(limit.trim(), "30:00", "the longest that its QOS allows, not the partition's hour");
    let second = submit(&cluster, ALICE.0, &["-q", "lim"]);
    let long = submit(&cluster, ALICE.0, &["-q", "lim", "-t", "31"]);
    wait_for_reason(&cluster, second, "QOSMaxJobsPerUserLimit");
    let refused = cluster.run_as(ALICE.0, "sbatch", &["-q", "lim", "--wrap=true"]);
    let words = format!(
        "sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: {POLICY}\n"
    );
    assert_eq!((refused.code, refused.out.as_str(), refused.err), (1, "", words));

    // The account's CPUs: what waits for them holds nobody up, and `daybook why` says how many there are.
    let wide = submit(&cluster, BOB.0, &["-c", "6"]);
    let narrow = submit(&cluster, BOB.0, &["-c", "5"]);
    cluster.wait_state(narrow, "RUNNING");
    wait_for_reason(&cluster, wide, "AssocGrpCpuLimit");
    let why = cluster.run("why", &[&wide.to_string()]).ok();
    let figures = "The limit GrpTRES=cpu of account ml is 6: 6 in use, and it needs 6.";
    assert!(why.contains(figures), "{why}");

    // All of it is as it was after a crash: nothing starts, and nobody may submit more.
    cluster.kill();
    cluster.start();
    let refused = cluster.run_as(ALICE.0, "sbatch", &["-q", "lim", "--wrap=true"]);
    assert!(refused.err.contains("QOSMaxSubmitJobPerUserLimit"), "{}", refused.err);
    for (job, word) in [(second, "QOSMaxJobsPerUserLimit"), (wide, "AssocGrpCpuLimit")] {
        wait_for_reason(&cluster, job, word);
    }
    // What is over makes room.
    cluster.run("scancel", &[&narrow.to_string()]).ok();
    cluster.run("scancel", &[&first.to_string()]).ok();
    cluster.wait_state(second, "RUNNING");
    wait_for_reason(&cluster, long, "QOSMaxJobsPerUserLimit");
    cluster.run("scancel", &[&second.to_string()]).ok();
    cluster.wait_state(wide, "RUNNING");
    wait_for_reason(&cluster, long, "QOSMaxWallDurationPerJobLimit");
    // A limit that is raised lets it go.
    cluster.run("scancel", &[&wide.to_string()]).ok();
    sacctmgr(&cluster, "modify qos lim set maxwall=1:00:00");
    cluster.wait_state(long, "RUNNING");
}

#[test]
fn many_who_submit_at_once_are_not_more_than_the_limit() {
    let mut cluster = Cluster::new(LIMITED);
    cluster.start();
    for line in [
        "add account ml organization=science grpsubmitjobs=5",
        &format!("add user {} account=ml", ALICE.1),
        &format!("add user {} account=ml", BOB.1),
    ] {
        sacctmgr(&cluster, line);
    }
    // Requests that come together are decided together.
    let cluster = &cluster;
    let accepted: usize = std::thread::scope(|scope| {
        let submit = |number: u32| {
            let user = if number.is_multiple_of(2) { ALICE.0 } else { BOB.0 };
            scope.spawn(move || cluster.run_as(user, "sbatch", &["-H", "--wrap=true"]).code == 0)
        };
        let all: Vec<_> = (0..16).map(submit).collect();
        all.into_iter().map(|one| usize::from(one.join().expect("it ends"))).sum()
    });
    assert_eq!(accepted, 5);
    assert_eq!(cluster.run("squeue", &["-h", "-o", "%i"]).ok().lines().count(), 5);
}

#[test]
fn what_is_used_up_ends_what_runs_at_the_moment() {
    let slurm_conf = format!("{LIMITED}PriorityType=priority/multifactor\nPriorityDecayHalfLife=0\n");
    let mut cluster = Cluster::new(&slurm_conf);
    cluster.start();
    for line in [
        "add account ml organization=science grptresmins=cpu=1",
        &format!("add user {} account=ml", ALICE.1),
        "add account bio organization=science",
        &format!("add user {} account=bio", BOB.1),
    ] {
        sacctmgr(&cluster, line);
    }
    // Six CPUs use their minute in ten seconds.
    let free = submit(&cluster, BOB.0, &["-c", "1"]);
    let wide = submit(&cluster, ALICE.0, &["-c", "6", "-t", "60"]);
    cluster.wait_state(wide, "RUNNING");
    cluster.wait_ended(wide);
    let next = submit(&cluster, ALICE.0, &["-c", "1"]);
    wait_for_reason(&cluster, next, "AssocGrpCPUMinutesLimit");
    let shown = cluster.run("scontrol", &["show", "job", &wide.to_string()]).ok();
    assert!(shown.contains("JobState=TIMEOUT Reason=TimeLimit"), "{shown}");
    let why = cluster.run("why", &[&wide.to_string()]).ok();
    assert!(why.contains("because the limit GrpTRESMins=cpu of account ml, 1, is used up."), "{why}");
    cluster.wait_state(free, "RUNNING");
    wait_until("the books have its end", || {
        let options = ["-n", "-P", "-j", &wide.to_string(), "-o", "jobid,state,exitcode,elapsedraw"];
        let listed = cluster.run("sacct", &options).ok();
        let mut lines = listed.lines();
        let first = lines.next().unwrap_or_default();
        let seconds: u32 = first.rsplit('|').next().and_then(|text| text.parse().ok()).unwrap_or(0);
        first.starts_with(&format!("{wide}|TIMEOUT|0:0|"))
            && (10..=12).contains(&seconds)
            && lines.next().is_some_and(|batch| batch.starts_with(&format!("{wide}.batch|CANCELLED|0:15|")))
    });
    // Raised, it starts; and after a crash in the middle of it the rest is still counted.
    sacctmgr(&cluster, "modify account ml set grptresmins=cpu=2");
    cluster.wait_state(next, "RUNNING");
    let wide = submit(&cluster, ALICE.0, &["-c", "6"]);
    cluster.wait_state(wide, "RUNNING");
    cluster.kill();
    cluster.start();
    for job in [next, wide] {
        cluster.wait_ended(job);
        let shown = cluster.run("scontrol", &["show", "job", &job.to_string()]).ok();
        assert!(shown.contains("JobState=TIMEOUT Reason=TimeLimit"), "{shown}");
    }
}

#[test]
fn age_is_gained_by_as_many_as_the_limit_lets_and_the_next_begins_when_one_is_gone() {
    let slurm_conf = format!("{LIMITED}PriorityType=priority/multifactor\nPriorityWeightAge=1000\n");
    let mut cluster = Cluster::new(&slurm_conf);
    cluster.start();
    for line in [
        "add account ml organization=science",
        &format!("add user {} account=ml maxjobsaccrue=1", ALICE.1),
        &format!("add user {} account=ml", BOB.1),
    ] {
        sacctmgr(&cluster, line);
    }
    let full = submit(&cluster, BOB.0, &["-c", "8"]);
    cluster.wait_state(full, "RUNNING");
    let jobs: Vec<u32> = (0..3).map(|_| submit(&cluster, ALICE.0, &["-c", "8"])).collect();
    let others = submit(&cluster, BOB.0, &["-c", "8"]);
    let since = |cluster: &Cluster, job: u32| {
        let options = ["-h", "-j", &job.to_string(), "-O", "AccrueTime:30"];
        cluster.run("squeue", &options).ok().trim().to_string()
    };
    let shown = |cluster: &Cluster| jobs.iter().map(|job| since(cluster, *job)).collect::<Vec<_>>();
    let first = shown(&cluster);
    assert!(first[0].starts_with("20") && first[1..] == ["N/A", "N/A"], "{first:?}");
    assert!(since(&cluster, others).starts_with("20"), "it is another's limit");
    cluster.kill();
    cluster.start();
    assert_eq!(shown(&cluster), first);
    let record = cluster.run("scontrol", &["show", "job", &jobs[1].to_string()]).ok();
    assert!(record.contains("AccrueTime=Unknown") && !record.contains("EligibleTime=Unknown"), "{record}");
    // Held, it gains no more; the next one begins, and released it is behind it.
    cluster.run("scontrol", &["hold", &jobs[0].to_string()]).ok();
    cluster.run("scontrol", &["release", &jobs[0].to_string()]).ok();
    let then = shown(&cluster);
    assert!(then[1].starts_with("20"), "{then:?}");
    assert_eq!((then[0].as_str(), then[2].as_str()), ("N/A", "N/A"));
    cluster.run("scancel", &[&jobs[1].to_string()]).ok();
    assert!(since(&cluster, jobs[2]).starts_with("20") || since(&cluster, jobs[0]).starts_with("20"));
}
