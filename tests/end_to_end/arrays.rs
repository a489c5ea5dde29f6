//! Arrays: one record while they wait, ids of their own when they run.

use daybook_tests::{Cluster, wait_until};

#[test]
fn every_task_runs_once_with_its_own_index_and_file() {
    let cluster = Cluster::started();
    let job = cluster.submit(&["--array=0-4%2"], "echo $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT");
    wait_until("all tasks are in the ledger", || {
        let states = cluster.sacct(job, "JobID,State");
        states.lines().filter(|line| line.ends_with("|COMPLETED")).count() == 5
    });
    for task in 0..5 {
        let file = cluster.work().join(format!("slurm-{job}_{task}.out"));
        assert_eq!(std::fs::read_to_string(file).expect("its output"), format!("{task} of 5\n"));
    }
    let next = cluster.submit(&[], "true");
    assert_eq!(next, job + 5, "the array has reserved an id for each task");
}

#[test]
fn a_held_array_is_one_line_and_its_tasks_can_be_cancelled_alone() {
    let cluster = Cluster::started();
    let job = cluster.submit(&["--hold", "--array=1-6"], "true");
    let shown = || cluster.run("squeue", &["-h", "-j", &job.to_string(), "-o", "%i"]).out;
    assert_eq!(shown(), format!("{job}_[1-6]\n"));
    cluster.run("scancel", &[&format!("{job}_[2-3]")]).ok();
    assert_eq!(shown(), format!("{job}_[1,4-6]\n"));
    cluster.run("scancel", &[&job.to_string()]).ok();
    assert_eq!(shown(), "");
}
