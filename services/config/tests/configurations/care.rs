//! What is done around runs, and to see whether nodes are well.

use daybook_schemas::Seconds;
use daybook_supervisor::health::{HealthCheck, NodeLoad};
use daybook_supervisor::records::Care;

use crate::machine::Vm;
use crate::written::usable;

const CLUSTER: &str = "ClusterName=tx\nNodeName=n1 CPUs=8 RealMemory=16000\nPartitionName=main Nodes=ALL\n";

fn care(slurm_conf: &str) -> Care {
    let slurm_conf = format!("{CLUSTER}{slurm_conf}");
    usable(&[("slurm.conf", slurm_conf.as_str())], &Vm::with_two_gpus(), &[]).daemon.care
}

#[test]
fn nothing_is_done_unless_somebody_says_so() {
    let none = care("");
    assert!(none.prolog.are_none() && none.epilog.are_none() && none.unkillable.are_none(), "{none:?}");
    assert_eq!(none.unkillable_after, Care::default().unkillable_after);
    assert!(none.slurm_conf.ends_with("slurm.conf"), "programs may ask where it is: {none:?}");
}

#[test]
fn programs_run_in_the_order_of_their_lines_and_none_takes_back_those_before() {
    let paths = |conf: &str| care(conf).prolog.paths;
    assert_eq!(paths("Prolog=/a\nProlog=/b.d/*\nprolog=/c\n"), ["/a", "/b.d/*", "/c"]);
    assert_eq!(paths("Prolog=/a\nProlog=(null)\nProlog=/b\n"), ["/b"]);
    assert_eq!(paths("Prolog=/a\nProlog=none\n"), Vec::<String>::new());
    assert_eq!(care("Epilog=/e\n").epilog.paths, ["/e"]);
    assert_eq!(care("UnkillableStepProgram=/u\n").unkillable.paths, ["/u"]);
}

#[test]
fn each_has_its_limit_or_that_of_both() {
    let limits = |conf: &str| (care(conf).prolog.limit, care(conf).epilog.limit);
    let seconds = |seconds: u64| Some(Seconds(seconds));
    assert_eq!(limits(""), (None, None));
    assert_eq!(limits("PrologEpilogTimeout=30\n"), (seconds(30), seconds(30)));
    assert_eq!(limits("PrologEpilogTimeout=30\nPrologTimeout=5\n"), (seconds(5), seconds(30)));
    assert_eq!(limits("EpilogTimeout=7\n"), (None, seconds(7)));
    let patience = |conf: &str| (care(conf).unkillable_after, care(conf).unkillable.limit);
    assert_eq!(patience(""), (Seconds(60), seconds(60)));
    assert_eq!(patience("UnkillableStepTimeout=120\n"), (Seconds(120), seconds(120)));
}

fn health(conf: &str) -> HealthCheck {
    let slurm_conf = format!("{CLUSTER}{conf}");
    usable(&[("slurm.conf", slurm_conf.as_str())], &Vm::with_two_gpus(), &[]).daemon.health
}

#[test]
fn a_health_check_needs_a_program_and_an_interval() {
    for conf in ["", "HealthCheckProgram=/check\n", "HealthCheckInterval=60\n"] {
        assert_eq!(health(conf), HealthCheck::default(), "{conf}");
    }
    let both = "HealthCheckProgram=/check\nHealthCheckInterval=60\n";
    let expected = HealthCheck {
        programs: daybook_supervisor::programs::Programs {
            paths: vec!["/check".to_string()],
            limit: Some(Seconds(60)),
        },
        interval: Some(Seconds(60)),
        loads: Vec::new(),
        is_spread: false,
    };
    assert_eq!(health(both), expected);
    let state = |words: &str| health(&format!("{both}HealthCheckNodeState={words}\n"));
    assert_eq!(state("any"), expected);
    assert_eq!(state("START_ONLY"), HealthCheck { interval: None, ..expected.clone() });
    assert_eq!(
        state("CYCLE,Idle,mixed"),
        HealthCheck { loads: vec![NodeLoad::Idle, NodeLoad::Mixed], is_spread: true, ..expected }
    );
}

#[test]
fn runs_are_looked_at_as_often_as_slurm_would() {
    let interval = |conf: &str| {
        let slurm_conf = format!("{CLUSTER}{conf}");
        let daemon = usable(&[("slurm.conf", slurm_conf.as_str())], &Vm::with_two_gpus(), &[]).daemon;
        daemon.usage_interval.map(|interval| interval.as_secs())
    };
    assert_eq!(interval(""), Some(30));
    assert_eq!(interval("JobAcctGatherType=jobacct_gather/cgroup\n"), Some(30));
    assert_eq!(interval("JobAcctGatherFrequency=10\n"), Some(10));
    assert_eq!(interval("JobAcctGatherFrequency=energy=60,Task=2\n"), Some(2));
    assert_eq!(interval("JobAcctGatherFrequency=energy=60\n"), Some(30));
    assert_eq!(interval("JobAcctGatherFrequency=0\n"), None);
    assert_eq!(interval("JobAcctGatherType=jobacct_gather/none\n"), None);
}
