//! The text of nodes.

use expect_test::expect;
use serde_json::json;

use super::*;
use crate::commands::sample;

fn shown(node: &NodeView, flags: Flags) -> String {
    text(node, flags, &sample::instants())
}

#[test]
fn a_drained_node_says_why() {
    expect![[r#"
        NodeName=node02 Arch=x86_64 CoresPerSocket=8 
           CPUAlloc=0 CPUEfctv=8 CPUTot=8 CPULoad=N/A
           AvailableFeatures=intel,avx512
           ActiveFeatures=intel,avx512
           Gres=(null)
           NodeAddr=127.0.0.1 NodeHostName=vm Version=0.1.0
           OS=Linux 6.18.44 
           RealMemory=16000 AllocMem=0 FreeMem=N/A Sockets=1 Boards=1
           State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=1000 Weight=1 Owner=N/A MCS_label=N/A
           Partitions=main,short 
           BootTime=None SlurmdStartTime=2026-12-02T01:05:25
           LastBusyTime=Unknown
           CfgTRES=cpu=8,mem=16000M,billing=8
           AllocTRES=
           CapWatts=n/a
           CurrentWatts=0 AveWatts=0
           ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s
           Reason=bad disk [root@2026-12-02T01:23:53]

    "#]]
    .assert_eq(&shown(&sample::nodes()[3], Flags::default()));
}

#[test]
fn details_show_the_gpus_in_use() {
    let flags = Flags { details: 1, ..Flags::default() };
    let text = shown(&sample::nodes()[1], flags);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("Gres") || line.contains("TRES") || line.contains("State"))
        .collect();
    expect![[r#"
        (lines)
           Gres=gpu:a100:4
           GresDrain=N/A
           GresUsed=gpu:a100:2(IDX:0-1)
           State=MIXED ThreadsPerCore=1 TmpDisk=1000 Weight=10 Owner=N/A MCS_label=N/A
           CfgTRES=cpu=8,mem=16000M,billing=8,gres/gpu=4
           AllocTRES=cpu=2,mem=1000M,gres/gpu=2"#]]
    .assert_eq(&format!("(lines)\n{}", lines.join("\n")));
}

#[test]
fn states_have_their_flags() {
    for (over, state) in [
        (json!({ "state": "completing" }), "IDLE+COMPLETING"),
        (json!({ "state": "down", "not_responding": true }), "DOWN+NOT_RESPONDING"),
        (json!({ "state": "mixed", "drain": true }), "MIXED+DRAIN"),
        (json!({ "state": "completing", "allocated": { "cpus": 8 } }), "ALLOCATED+COMPLETING"),
    ] {
        let text = shown(&sample::node("node01", over), Flags::default());
        assert!(text.contains(&format!("State={state} ")), "{text}");
    }
}

#[test]
fn one_line_holds_everything() {
    let text = shown(&sample::nodes()[0], Flags { one_line: true, ..Flags::default() });
    assert_eq!(text.lines().count(), 1);
    assert!(text.starts_with("NodeName=gpu01 Arch=x86_64 CoresPerSocket=8  CPUAlloc=0 "), "{text}");
    assert!(text.ends_with("ExtSensorsTemp=n/s\n"), "{text}");
}
