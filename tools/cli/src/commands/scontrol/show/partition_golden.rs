//! The text of partitions.

use expect_test::expect;

use super::*;
use crate::commands::sample;

#[test]
fn a_partition_shows_its_limits() {
    let texts: Vec<String> =
        sample::partitions().iter().map(|partition| text(partition, Flags::default())).collect();
    expect![[r#"
        PartitionName=main
           AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
           AllocNodes=ALL Default=YES QoS=N/A
           DefaultTime=01:00:00 DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO
           MaxNodes=UNLIMITED MaxTime=2-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
           Nodes=gpu[01-02],node[01-02]
           PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO
           OverTimeLimit=NONE PreemptMode=OFF
           State=UP TotalCPUs=32 TotalNodes=4 SelectTypeParameters=NONE
           JobDefaults=(null)
           DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED
           TRES=cpu=32,mem=62.50G,node=4,billing=32,gres/gpu=8

    "#]]
    .assert_eq(&texts[0]);
    expect![[r#"
        PartitionName=debug
           AllowGroups=ALL AllowAccounts=ml AllowQos=ALL
           AllocNodes=ALL Default=NO QoS=N/A
           DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO
           MaxNodes=1 MaxTime=00:30:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
           Nodes=node01
           PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO
           OverTimeLimit=NONE PreemptMode=OFF
           State=DOWN TotalCPUs=8 TotalNodes=1 SelectTypeParameters=NONE
           JobDefaults=(null)
           DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED
           TRES=cpu=8,mem=16000M,node=1,billing=8

    "#]]
    .assert_eq(&texts[3]);
}

#[test]
fn weights_are_shown_where_there_are_any() {
    let mut partition = sample::partitions().remove(2);
    let weights = daybook_schemas::grammar::billing_weights::parse("CPU=1.0,Mem=0.25G").expect("weights");
    partition.definition.billing_weights = Some(weights);
    let text = text(&partition, Flags::default());
    let last: Vec<&str> = text.lines().filter(|line| line.contains("TRES")).collect();
    let expected =
        ["   TRES=cpu=16,mem=32000M,node=2,billing=16,gres/gpu=8", "   TRESBillingWeights=CPU=1.0,Mem=0.25G"];
    assert_eq!(last, expected);
}

#[test]
fn one_line_holds_everything() {
    let flags = Flags { one_line: true, ..Flags::default() };
    expect!["PartitionName=gpu AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=NO QoS=N/A DefaultTime=01:00:00 DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO MaxNodes=UNLIMITED MaxTime=1-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED Nodes=gpu[01-02] PriorityJobFactor=5 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO OverTimeLimit=NONE PreemptMode=OFF State=UP TotalCPUs=16 TotalNodes=2 SelectTypeParameters=NONE JobDefaults=(null) DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED TRES=cpu=16,mem=32000M,node=2,billing=16,gres/gpu=8\n"]
        .assert_eq(&text(&sample::partitions()[2], flags));
}

#[test]
fn a_partition_says_whether_it_takes_the_least_loaded_nodes() {
    let mut partition = sample::partitions().remove(0);
    for (least_loaded, expected) in [(true, " LLN=YES "), (false, " LLN=NO ")] {
        partition.definition.least_loaded = least_loaded;
        assert!(text(&partition, Flags::default()).contains(expected));
    }
}
