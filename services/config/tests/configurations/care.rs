//! What is done around runs.

use daybook_schemas::Seconds;
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
