//! Licences on a cluster that runs: refused, held, waited for, changed and shown.

use daybook_tests::{Cluster, wait_until};

const LICENSED: &str = "\
ClusterName=test
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=10
KillWait=2
MinJobAge=300
Licenses=matlab:2,ansys
NodeName=n1 NodeAddr=127.0.0.1 CPUs=8 RealMemory=1000
PartitionName=main Nodes=n1 Default=YES MaxTime=1-0 DefaultTime=10
";

fn licenses(cluster: &Cluster) -> String {
    cluster.run("scontrol", &["-o", "show", "licenses"]).ok()
}

#[test]
fn a_job_holds_its_licences_and_another_waits_for_them() {
    let mut cluster = Cluster::new(LICENSED);
    cluster.start();
    for asked in ["nosuch", "matlab:3", "matlab:2,matlab"] {
        let refused = cluster.run("sbatch", &["-L", asked, "--wrap", "true"]);
        let words = "sbatch: error: Batch job submission failed: Invalid license specification\n";
        assert_eq!((refused.err.as_str(), refused.out.as_str()), (words, ""), "{asked}");
    }

    let holder = cluster.submit(&["-L", "matlab:2"], "sleep 300");
    cluster.wait_state(holder, "RUNNING");
    let used = "LicenseName=ansys Total=1 Used=0 Free=1 Reserved=0 Remote=no\n\
                LicenseName=matlab Total=2 Used=2 Free=0 Reserved=0 Remote=no\n";
    assert_eq!(licenses(&cluster), used);
    let waits = cluster.submit(&["-L", "matlab,ansys"], "sleep 300");
    let id = waits.to_string();
    let shown = || cluster.run("squeue", &["-h", "-j", &id, "-o", "%T %r %W"]).out;
    wait_until("the job waits for licences", || shown().trim() == "PENDING Licenses ansys:1,matlab:1");
    let told = cluster.run("why", &[&id]).ok();
    assert!(told.contains("It needs 1 of licence matlab; 0 of 2 are free now."), "{told}");
    assert!(told.contains(&format!("when job {holder} reaches its time limit")), "{told}");

    // Without matlab nothing is in its way.
    cluster.run("scontrol", &["update", &format!("jobid={id}"), "licenses=ansys"]).ok();
    cluster.wait_state(waits, "RUNNING");
    assert!(cluster.run("scontrol", &["show", "job", &id]).ok().contains(" Licenses=ansys:1 "));
    for job in [holder, waits] {
        cluster.run("scancel", &[&job.to_string()]).ok();
        cluster.wait_ended(job);
    }
    let free = used.replace("Used=2 Free=0", "Used=0 Free=2");
    assert_eq!(licenses(&cluster), free);
}
