//! Jobs that are stopped and go on, on a cluster that runs: on demand, and for others.

use daybook_tests::{Cluster, wait_until};

const GANG: &str = "\
ClusterName=test
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=10
KillWait=2
MinJobAge=300
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
PreemptParameters=suspend_grace_time=0
NodeName=n1 NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000
PartitionName=low Nodes=n1 Default=YES MaxTime=1-0 DefaultTime=10 PriorityTier=1
PartitionName=high Nodes=n1 MaxTime=1-0 DefaultTime=10 PriorityTier=10
";

const COUNTING: &str = "i=0; while [ ! -e done ]; do i=$((i+1)); echo $i > count; sleep 0.05; done";

fn started() -> Cluster {
    let mut cluster = Cluster::new(GANG);
    cluster.start();
    cluster
}

fn count(cluster: &Cluster) -> u64 {
    let text = std::fs::read_to_string(cluster.work().join("count")).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

fn stands_still(cluster: &Cluster) {
    let before = count(cluster);
    std::thread::sleep(std::time::Duration::from_millis(400));
    assert_eq!(count(cluster), before, "a stopped script counts no further");
}

fn goes_on(cluster: &Cluster) {
    let before = count(cluster);
    wait_until("it counts", || count(cluster) > before);
}

#[test]
fn a_suspended_job_stays_so_over_kills_and_goes_on_when_told() {
    let mut cluster = started();
    let job = cluster.submit(&["-c", "4"], COUNTING);
    let id = job.to_string();
    cluster.wait_state(job, "RUNNING");
    goes_on(&cluster);
    let refused = cluster.run("scontrol", &["resume", &id]);
    assert_eq!(
        (refused.code, refused.err.as_str()),
        (1, format!("Job is not suspended for job {id}\n").as_str())
    );
    cluster.run("scontrol", &["suspend", &id]).ok();
    // Killed between the order and whatever the node makes of it.
    cluster.kill();
    cluster.start();
    cluster.wait_state(job, "SUSPENDED");
    stands_still(&cluster);
    cluster.kill();
    cluster.start();
    stands_still(&cluster);
    assert_eq!(cluster.run("squeue", &["-h", "-j", &id, "-o", "%t %N"]).ok(), "S n1\n");
    let used = cluster.run("squeue", &["-h", "-j", &id, "-o", "%M"]).ok();
    let shown = cluster.run("scontrol", &["show", "job", &id]).ok();
    assert!(shown.contains("JobState=SUSPENDED") && shown.contains("SuspendTime=20"), "{shown}");

    // Its CPUs are for others meanwhile, and then it is told to wait for them.
    let other = cluster.submit(&["-c", "4"], "sleep 600");
    cluster.wait_state(other, "RUNNING");
    let busy = cluster.run("scontrol", &["resume", &id]);
    assert_eq!(busy.code, 1);
    assert!(busy.err.starts_with(&format!("Requested nodes are busy for job {id}\n")), "{}", busy.err);
    std::thread::sleep(std::time::Duration::from_millis(1_200));
    assert_eq!(cluster.run("squeue", &["-h", "-j", &id, "-o", "%M"]).ok(), used, "its time stands still");
    cluster.run("scancel", &[&other.to_string()]).ok();
    cluster.wait_ended(other);
    cluster.run("scontrol", &["resume", &id]).ok();
    cluster.kill();
    cluster.start();
    cluster.wait_state(job, "RUNNING");
    goes_on(&cluster);
    std::fs::write(cluster.work().join("done"), "").unwrap();
    assert_eq!(cluster.wait_ended(job), "COMPLETED");
    let fields = cluster.sacct(job, "ElapsedRaw,Suspended,CPUTimeRAW");
    let fields: Vec<&str> = fields.split('|').collect();
    let elapsed: u64 = fields[0].parse().unwrap();
    assert_eq!(fields[2], (elapsed * 4).to_string());
    assert_ne!(fields[1], "00:00:00");
    cluster.check_conservation();
    assert!(cluster.stop());
    cluster.verify();
}

#[test]
fn a_suspended_job_can_be_cancelled() {
    let cluster = started();
    let job = cluster.submit(&["-c", "4"], "sleep 600");
    cluster.wait_state(job, "RUNNING");
    cluster.run("scontrol", &["suspend", &job.to_string()]).ok();
    cluster.wait_state(job, "SUSPENDED");
    wait_until("the books know it", || cluster.sacct(job, "State") == "SUSPENDED");
    cluster.run("scancel", &[&job.to_string()]).ok();
    assert!(cluster.wait_ended(job).starts_with("CANCELLED"));
    let next = cluster.submit(&["-c", "4"], "true");
    assert_eq!(cluster.wait_ended(next), "COMPLETED");
    cluster.check_conservation();
}

#[test]
fn a_job_of_a_higher_tier_takes_the_cpus_of_another_which_goes_on_by_itself() {
    let mut cluster = started();
    let low = cluster.submit(&["-c", "4"], COUNTING);
    cluster.wait_state(low, "RUNNING");
    goes_on(&cluster);
    let high = cluster.submit(&["-c", "4", "-p", "high"], "while [ ! -e stop ]; do sleep 0.05; done");
    cluster.wait_state(high, "RUNNING");
    cluster.wait_state(low, "SUSPENDED");
    stands_still(&cluster);
    wait_until("it has been counted for a second", || cluster.sacct(low, "Suspended") != "00:00:00");
    // Nobody of its own partition comes before it.
    let behind = cluster.submit(&["-c", "4"], "true");
    std::fs::write(cluster.work().join("stop"), "").unwrap();
    assert_eq!(cluster.wait_ended(high), "COMPLETED");
    cluster.wait_state(low, "RUNNING");
    goes_on(&cluster);
    assert_eq!(cluster.run("squeue", &["-h", "-j", &behind.to_string(), "-o", "%T"]).ok(), "PENDING\n");
    std::fs::write(cluster.work().join("done"), "").unwrap();
    assert_eq!(cluster.wait_ended(low), "COMPLETED");
    assert_eq!(cluster.wait_ended(behind), "COMPLETED");
    assert_ne!(cluster.sacct(low, "Suspended"), "00:00:00");
    let config = cluster.run("scontrol", &["show", "config"]).ok();
    assert!(config.contains("PreemptMode             = GANG,SUSPEND"), "{config}");
    cluster.check_conservation();
    assert!(cluster.stop());
    cluster.verify();
}
