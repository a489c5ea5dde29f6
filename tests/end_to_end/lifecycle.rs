//! Jobs as their users see them: start, end, limits, cancellation, holding, requeueing.

use daybook_tests::{Cluster, is_root, wait_until};

#[test]
fn a_job_with_gpus_goes_from_sbatch_to_the_ledger() {
    let cluster = Cluster::started();
    let job = cluster
        .submit(&["--gres=gpu:2", "-J", "train"], "echo gpus=$CUDA_VISIBLE_DEVICES node=$SLURMD_NODENAME");
    assert_eq!(cluster.wait_ended(job), "COMPLETED");
    assert_eq!(cluster.output(job), "gpus=0,1 node=g1\n");
    assert_eq!(
        cluster.sacct(job, "JobName,Partition,AllocTRES,ExitCode"),
        "train|main|billing=1,cpu=1,gres/gpu=2,mem=10M,node=1|0:0"
    );
    let events = cluster.run("daybook", &["events", "--job", &job.to_string(), "--json"]);
    let events =
        if events.code == 0 { events } else { cluster.run("events", &["--job", &job.to_string(), "--json"]) };
    let types: Vec<String> = events
        .ok()
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("JSON")["event"]["type"].to_string()
        })
        .filter(|name| !name.contains("planner"))
        .collect();
    assert_eq!(
        types,
        [
            "\"job.submitted.v1\"",
            "\"run.allocated.v1\"",
            "\"run.started.v1\"",
            "\"run.ended.v1\"",
            "\"run.node_released.v1\""
        ]
    );
    cluster.check_conservation();
}

#[test]
fn exit_codes_and_signals_arrive_in_the_ledger() {
    let cluster = Cluster::started();
    let failing = cluster.submit(&[], "exit 3");
    let killed = cluster.submit(&[], "kill -SEGV $$");
    assert_eq!(cluster.wait_ended(failing), "FAILED");
    assert_eq!(cluster.sacct(failing, "ExitCode"), "3:0");
    assert_eq!(cluster.wait_ended(killed), "FAILED");
    assert_eq!(cluster.sacct(killed, "ExitCode"), "0:11");
}

#[test]
fn a_working_directory_or_output_that_cannot_be_had_fails_the_job_with_0_53() {
    let cluster = Cluster::started();
    let no_output = cluster.submit(&["-o", "missing/out"], "echo never");
    let no_directory = cluster.submit(&["-D", "/nonexistent"], "echo never");
    for job in [no_output, no_directory] {
        assert_eq!(cluster.wait_ended(job), "FAILED");
        assert_eq!(cluster.sacct(job, "ExitCode"), "0:53");
    }
}

#[test]
fn a_cancelled_job_ends_with_its_children_and_says_by_whom() {
    let cluster = Cluster::started();
    let job = cluster.submit(&[], "echo $$ > pid; sleep 1000 & echo $! >> pid; wait");
    wait_until("the script has written its pids", || {
        std::fs::read_to_string(cluster.work().join("pid")).is_ok_and(|pids| pids.lines().count() == 2)
    });
    assert_eq!(cluster.run("scancel", &[&job.to_string()]).code, 0);
    let uid = nix::unistd::getuid();
    assert_eq!(cluster.wait_ended(job), format!("CANCELLED by {uid}"));
    for pid in std::fs::read_to_string(cluster.work().join("pid")).expect("pids").lines() {
        wait_until("its processes are gone", || !std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
}

#[test]
fn a_held_job_waits_until_it_is_released() {
    let cluster = Cluster::started();
    let job = cluster.submit(&["--hold"], "true");
    let reason = || cluster.run("squeue", &["-h", "-j", &job.to_string(), "-o", "%r"]).out;
    assert_eq!(reason().trim(), "JobHeldUser");
    cluster.run("scontrol", &["release", &job.to_string()]).ok();
    assert_eq!(cluster.wait_ended(job), "COMPLETED");
}

#[test]
fn a_dependent_job_starts_after_the_one_it_waits_for() {
    let cluster = Cluster::started();
    let first = cluster.submit(&[], "sleep 0.5; echo first > order");
    let second = cluster.submit(&["-d", &format!("afterok:{first}")], "echo second >> order");
    assert_eq!(cluster.wait_ended(second), "COMPLETED");
    assert_eq!(std::fs::read_to_string(cluster.work().join("order")).expect("order"), "first\nsecond\n");
    let bad = cluster.submit(&[], "exit 1");
    let never = cluster.submit(&["--kill-on-invalid-dep=yes", "-d", &format!("afterok:{bad}")], "true");
    assert!(cluster.wait_ended(never).starts_with("CANCELLED"));
}

#[test]
fn gpus_are_given_to_one_job_at_a_time_and_the_next_says_why_it_waits() {
    let cluster = Cluster::started();
    let holder = cluster.submit(&["--gres=gpu:3"], "sleep 1000");
    cluster.wait_state(holder, "RUNNING");
    let waiting = cluster.submit(&["--gres=gpu:2"], "true");
    wait_until("the reason is told", || {
        cluster.run("squeue", &["-h", "-j", &waiting.to_string(), "-o", "%r"]).out.trim() == "Resources"
    });
    let small = cluster.submit(&["--gres=gpu:1", "-t", "1"], "echo $CUDA_VISIBLE_DEVICES");
    assert_eq!(cluster.wait_ended(small), "COMPLETED");
    assert_eq!(cluster.output(small), "3\n");
    cluster.run("scancel", &[&holder.to_string()]).ok();
    assert_eq!(cluster.wait_ended(waiting), "COMPLETED");
    cluster.check_conservation();
}

#[test]
fn a_drained_node_gets_no_new_work_and_resumes() {
    let cluster = Cluster::started();
    cluster.run("scontrol", &["update", "NodeName=g1", "State=DRAIN", "Reason=fans"]).ok();
    let job = cluster.submit(&["-p", "gpu"], "true");
    let state = cluster.run("sinfo", &["-h", "-n", "g1", "-p", "gpu", "-o", "%T"]).ok();
    assert_eq!(state.trim(), "drained");
    assert!(cluster.run("sinfo", &["-R"]).ok().contains("fans"));
    cluster.run("scontrol", &["update", "NodeName=g1", "State=RESUME"]).ok();
    assert_eq!(cluster.wait_ended(job), "COMPLETED");
}

#[test]
fn wait_gives_the_exit_code_of_the_job() {
    let cluster = Cluster::started();
    assert_eq!(cluster.run("sbatch", &["--wait", "--wrap=exit 7"]).code, 7);
    assert_eq!(cluster.run("sbatch", &["--wait", "--wrap=true"]).code, 0);
}

#[test]
fn another_user_may_not_touch_a_job_and_runs_as_herself() {
    if !is_root() {
        eprintln!("left out: needs root");
        return;
    }
    let cluster = Cluster::started();
    let mine = cluster.submit(&[], "sleep 1000");
    let answer = cluster.run_as(65534, "scancel", &[&mine.to_string()]);
    assert_eq!(answer.code, 210, "{answer:?}");
    assert_eq!(
        answer.err,
        format!("scancel: error: Kill job error on job id {mine}: Access/permission denied\n")
    );
    let script = "--wrap=test $(id -u) = 65534";
    let theirs =
        cluster.run_as(65534, "sbatch", &["--parsable", "-D", "/tmp", "-o", "/dev/null", script]).ok();
    let theirs: u32 = theirs.trim().parse().expect("an id");
    assert_eq!(cluster.wait_ended(theirs), "COMPLETED");
}
