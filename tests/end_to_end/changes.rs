//! Jobs that are held, let go, changed, put back and moved to the front, by several users.

use daybook_tests::{Answer, Cluster, TWO_NODES, is_root};

const OWNER: u32 = 65_534;
const OTHER: u32 = 60_001;

/// Both nodes are taken, so everything else waits.
fn full_cluster() -> (Cluster, u32) {
    let mut cluster = Cluster::new(&format!("{TWO_NODES}SchedulerParameters=enable_user_top\n"));
    cluster.start();
    let full = cluster.submit(&["-N2", "--exclusive"], "sleep 1000");
    cluster.wait_state(full, "RUNNING");
    (cluster, full)
}

#[track_caller]
fn submit(cluster: &Cluster, name: &str, options: &[&str]) -> String {
    let mut arguments = vec!["--parsable", "-D", "/tmp", "-o", "/dev/null", "-t", "10", "-J", name];
    arguments.extend_from_slice(options);
    arguments.push("--wrap=true");
    cluster.run_as(OWNER, "sbatch", &arguments).ok().trim().to_string()
}

#[track_caller]
fn refused(answer: Answer, expected: &str) {
    assert_eq!((answer.err.as_str(), answer.out.as_str(), answer.code), (expected, "", 1));
}

fn shown(cluster: &Cluster, job: &str, format: &str) -> String {
    cluster.run("squeue", &["-h", "-j", job, "-o", format]).ok().trim_end().to_string()
}

#[test]
fn owners_hold_and_change_their_jobs_and_administrators_everybodys() {
    if !is_root() {
        return;
    }
    let (cluster, full) = full_cluster();
    let job = submit(&cluster, "ctl", &[]);
    let owner = |words: &[&str]| cluster.run_as(OWNER, "scontrol", words);
    let root = |words: &[&str]| cluster.run("scontrol", words).ok();

    refused(
        cluster.run_as(OTHER, "scontrol", &["hold", &job]),
        &format!("Invalid user id for job {job}\nslurm_suspend error: Invalid user id\n"),
    );
    owner(&["hold", &job]).ok();
    assert_eq!(shown(&cluster, &job, "%r %Q"), "JobHeldUser 0");
    owner(&["release", "jobname=ctl"]).ok();
    root(&["hold", &job]);
    owner(&["hold", &job]).ok();
    assert_eq!(shown(&cluster, &job, "%r"), "JobHeldAdmin");
    refused(
        owner(&["release", &job]),
        &format!("Access/permission denied for job {job}\nslurm_suspend error: Access/permission denied\n"),
    );
    root(&["release", &job]);

    let named = format!("jobid={job}");
    let update = |setting: &str| owner(&["update", &named, setting]);
    update("timelimit=+5").ok();
    assert_eq!(shown(&cluster, &job, "%l"), "15:00");
    let denied = format!("Access/permission denied for job {job}\n");
    refused(update("timelimit=3-0"), &denied);
    refused(update("priority=4294967290"), &denied);
    root(&["update", &named, "priority=99999"]);
    // A priority that was set is not moved by nice; its owner may lower it.
    update("nice=100").ok();
    assert_eq!(shown(&cluster, &job, "%Q"), "99999");
    update("priority=5").ok();
    assert_eq!(shown(&cluster, &job, "%Q"), "5");
    refused(
        cluster.run_as(OTHER, "scontrol", &["update", &named, "timelimit=5"]),
        &format!("Invalid user id for job {job}\n"),
    );
    refused(owner(&["requeue", &job]), &format!("Job is pending execution for job {job}\n"));

    let other = submit(&cluster, "other", &["-d", &format!("afterok:{job}")]);
    refused(
        update(&format!("dependency=afterok:{other}")),
        &format!("Circular job dependency for job {job}\n"),
    );

    let running = full.to_string();
    root(&["hold", &running]);
    root(&["release", &running]);
    root(&["requeuehold", &running]);
    cluster.wait_state(full, "PENDING");
    assert_eq!(shown(&cluster, &running, "%r %Q"), "job requeued in held state 0");
    cluster.check_conservation();
}

#[test]
fn parts_of_arrays_are_held_and_own_jobs_are_put_in_front() {
    if !is_root() {
        return;
    }
    let (cluster, full) = full_cluster();
    let array = submit(&cluster, "arr", &["-a", "0-3"]);
    let owner = |words: &[&str]| cluster.run_as(OWNER, "scontrol", words);
    owner(&["hold", &format!("{array}_[1,3]")]).ok();
    let mut held: Vec<String> = cluster
        .run("squeue", &["-h", "-r", "-j", &array, "-o", "%i %Q"])
        .ok()
        .lines()
        .filter_map(|line| line.strip_suffix(" 0").map(str::to_string))
        .collect();
    held.sort();
    assert_eq!(held, [format!("{array}_1"), format!("{array}_3")]);

    let (first, second) = (submit(&cluster, "first", &[]), submit(&cluster, "second", &[]));
    let order = || {
        let both = format!("{first},{second}");
        let jobs = cluster.run("squeue", &["-h", "-j", &both, "-S", "-p", "-o", "%i"]).ok();
        jobs.lines().map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(order(), [first.clone(), second.clone()]);
    refused(
        cluster.run_as(OTHER, "scontrol", &["top", &second]),
        &format!("Invalid user id for job {second}\n"),
    );
    owner(&["top", &second]).ok();
    assert_eq!(order(), [second.clone(), first.clone()]);

    // Let go, all of it runs: the held parts once they are released.
    cluster.run("scancel", &[&full.to_string()]).ok();
    for job in [&first, &second] {
        assert_eq!(cluster.wait_ended(job.parse().expect("a job id")), "COMPLETED");
    }
    owner(&["release", &array]).ok();
    let array: u32 = array.parse().expect("a job id");
    daybook_tests::wait_until("every task has ended", || {
        cluster.sacct(array, "State").lines().filter(|state| *state == "COMPLETED").count() == 4
    });
    cluster.check_conservation();
}

#[test]
fn a_waiting_jobs_partitions_change_by_the_rules_of_a_submission() {
    if !is_root() {
        return;
    }
    let (cluster, full) = full_cluster();
    let owner = |words: &[&str]| cluster.run_as(OWNER, "scontrol", words);
    let root = |words: &[&str]| cluster.run("scontrol", words).ok();
    root(&["create", "partitionname=shut", "nodes=n1", "state=drain"]);
    root(&["create", "partitionname=quick", "nodes=n1", "defaulttime=5", "maxtime=30"]);
    let job = submit(&cluster, "moved", &["-p", "gpu"]);
    let update = |setting: &str| owner(&["update", &format!("jobid={job}"), setting]);
    let refuses = |setting: &str, why: &str| refused(update(setting), &format!("{why} for job {job}\n"));

    update("partition=main,quick").ok();
    assert_eq!(shown(&cluster, &job, "%P %T"), "main,quick PENDING");
    refuses("partition=main,nosuch", "Invalid partition name specified");
    refuses("partition=shut", "Required partition not available (inactive or drain)");
    assert_eq!(shown(&cluster, &job, "%P"), "main,quick");
    // As at a submission those that accept no jobs are left out.
    update("partition=shut,gpu").ok();
    assert_eq!(shown(&cluster, &job, "%P"), "gpu");
    update("partition=quick,gpu").ok();

    let too_long = "Requested time limit is invalid (missing or exceeds some limit)";
    update("timemin=5").ok();
    refuses("timemin=20", too_long);
    refuses("deadline=now+2minutes", too_long);
    update("deadline=now+8minutes").ok();
    refuses("timemin=0", too_long);
    update("deadline=now+1hour").ok();
    update("timemin=0").ok();
    refuses("deadline=now+8minutes", too_long);
    // Nobody gives a limit: each partition gives its own, and one of them has to be long enough.
    let several = |least: &str| {
        let arguments =
            ["-p", "quick,main", "-D", "/tmp", "-o", "/dev/null", "-J", "several", least, "--wrap=true"];
        cluster.run_as(OWNER, "sbatch", &arguments)
    };
    refused(several("--time-min=20"), &format!("sbatch: error: Batch job submission failed: {too_long}\n"));
    several("--time-min=8").ok();

    owner(&["hold", "name=moved"]).ok();
    assert_eq!(shown(&cluster, &job, "%P %r"), "quick,gpu JobHeldUser");
    owner(&["release", "name=moved"]).ok();
    let in_use = "delete_partition partitionname=quick: Partition is in use\n";
    refused(cluster.run("scontrol", &["delete", "partitionname=quick"]), in_use);
    cluster.run("scancel", &[&full.to_string()]).ok();
    assert_eq!(cluster.wait_ended(job.parse().expect("a job id")), "COMPLETED");
    cluster.check_conservation();
}
