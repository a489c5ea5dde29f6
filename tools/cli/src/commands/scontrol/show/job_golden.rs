//! The text of jobs, line by line.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::commands::sample;

fn check(job: &JobView, flags: Flags, expected: Expect) {
    expected.assert_eq(&text(job, &Defaults::default(), flags, &sample::instants()));
}

fn on_two_nodes() -> Value {
    let share = |node: &str, cpus: &str, memory: u32, tasks: u32| json!({ "node": node, "cpus": cpus, "memory": memory, "tasks": tasks });
    json!({
        "priority": 3079, "ended": sample::at("01:48:29"), "time_limit": { "minutes": 5 },
        "nodes": [share("node01", "0-2", 1500, 3), share("node02", "0", 500, 1)], "node_list": "node[01-02]",
        "tres": "cpu=4,mem=2000M,node=2,billing=4", "node_count": 2, "cpu_count": 4,
        "spec": { "name": "multi", "comment": null, "session": 7009,
            "request": { "nodes_min": 2, "nodes_max": 2, "tasks": 4, "cpus_per_task": 1, "gpus": [] } },
    })
}

#[test]
fn a_running_job_with_gpus() {
    check(
        &sample::job(391, json!({})),
        Flags::default(),
        expect![[r#"
        JobId=391 JobName=gpurun
           UserId=alice(1001) GroupId=alice(1001) MCS_label=N/A
           Priority=2922 Nice=0 Account=ml QOS=normal
           JobState=RUNNING Reason=None Dependency=(null)
           Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
           RunTime=00:00:02 TimeLimit=00:20:00 TimeMin=N/A
           SubmitTime=2026-12-02T01:43:27 EligibleTime=2026-12-02T01:43:27
           AccrueTime=2026-12-02T01:43:27
           StartTime=2026-12-02T01:43:29 EndTime=2026-12-02T02:03:29 Deadline=N/A
           PreemptEligibleTime=2026-12-02T01:43:29 PreemptTime=None
           SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-12-02T01:43:29 Scheduler=Main
           Partition=main AllocNode:Sid=localhost:7002
           ReqNodeList=(null) ExcNodeList=(null)
           NodeList=gpu01
           BatchHost=gpu01
           NumNodes=1 NumCPUs=2 NumTasks=1 CPUs/Task=2 ReqB:S:C:T=0:0:*:*
           TRES=cpu=2,mem=1000M,node=1,billing=2,gres/gpu=2
           Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
           MinCPUsNode=2 MinMemoryCPU=500M MinTmpDiskNode=0
           Features=(null) DelayBoot=00:00:00
           OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
           Command=(null)
           WorkDir=/home/alice
           Comment=hi 
           StdErr=/home/alice/slurm-391.out
           StdIn=/dev/null
           StdOut=/home/alice/slurm-391.out
           Power=
           TresPerNode=gres:gpu:2
           

    "#]],
    );
}

#[test]
fn a_running_job_on_two_nodes() {
    check(
        &sample::job(392, on_two_nodes()),
        Flags::default(),
        expect![[r#"
        JobId=392 JobName=multi
           UserId=alice(1001) GroupId=alice(1001) MCS_label=N/A
           Priority=3079 Nice=0 Account=ml QOS=normal
           JobState=RUNNING Reason=None Dependency=(null)
           Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
           RunTime=00:00:02 TimeLimit=00:05:00 TimeMin=N/A
           SubmitTime=2026-12-02T01:43:27 EligibleTime=2026-12-02T01:43:27
           AccrueTime=2026-12-02T01:43:27
           StartTime=2026-12-02T01:43:29 EndTime=2026-12-02T01:48:29 Deadline=N/A
           PreemptEligibleTime=2026-12-02T01:43:29 PreemptTime=None
           SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-12-02T01:43:29 Scheduler=Main
           Partition=main AllocNode:Sid=localhost:7009
           ReqNodeList=(null) ExcNodeList=(null)
           NodeList=node[01-02]
           BatchHost=node01
           NumNodes=2 NumCPUs=4 NumTasks=4 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
           TRES=cpu=4,mem=2000M,node=2,billing=4
           Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
           MinCPUsNode=1 MinMemoryCPU=500M MinTmpDiskNode=0
           Features=(null) DelayBoot=00:00:00
           OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
           Command=(null)
           WorkDir=/home/alice
           StdErr=/home/alice/slurm-392.out
           StdIn=/dev/null
           StdOut=/home/alice/slurm-392.out
           Power=
           

    "#]],
    );
}

/// The lines of `text` that hold one of these words.
fn lines_with(text: &str, words: &[&str]) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| words.iter().any(|word| line.contains(word))).collect();
    format!("(lines)\n{}", lines.join("\n"))
}

fn lines_of(job: &JobView, flags: Flags, words: &[&str]) -> String {
    lines_with(&text(job, &Defaults::default(), flags, &sample::instants()), words)
}

#[test]
fn details_show_what_it_has_on_each_node() {
    let flags = Flags { details: 1, ..Flags::default() };
    expect![[r#"
        (lines)
           DerivedExitCode=0:0
           JOB_GRES=gpu:a100:2
             Nodes=gpu01 CPU_IDs=0-1 Mem=1000 GRES=gpu:a100:2(IDX:0-1)"#]]
    .assert_eq(&lines_of(&sample::job(391, json!({})), flags, &["Derived", "GRES="]));
    expect![[r#"
        (lines)
           DerivedExitCode=0:0
           JOB_GRES=(null)
             Nodes=node01 CPU_IDs=0-2 Mem=1500 GRES=
             Nodes=node02 CPU_IDs=0 Mem=500 GRES="#]]
    .assert_eq(&lines_of(&sample::job(392, on_two_nodes()), flags, &["Derived", "GRES="]));
}

#[test]
fn one_line_holds_everything() {
    let flags = Flags { one_line: true, ..Flags::default() };
    check(
        &sample::job(391, json!({})),
        flags,
        expect![[r#"
        JobId=391 JobName=gpurun UserId=alice(1001) GroupId=alice(1001) MCS_label=N/A Priority=2922 Nice=0 Account=ml QOS=normal JobState=RUNNING Reason=None Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0 RunTime=00:00:02 TimeLimit=00:20:00 TimeMin=N/A SubmitTime=2026-12-02T01:43:27 EligibleTime=2026-12-02T01:43:27 AccrueTime=2026-12-02T01:43:27 StartTime=2026-12-02T01:43:29 EndTime=2026-12-02T02:03:29 Deadline=N/A PreemptEligibleTime=2026-12-02T01:43:29 PreemptTime=None SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-12-02T01:43:29 Scheduler=Main Partition=main AllocNode:Sid=localhost:7002 ReqNodeList=(null) ExcNodeList=(null) NodeList=gpu01 BatchHost=gpu01 NumNodes=1 NumCPUs=2 NumTasks=1 CPUs/Task=2 ReqB:S:C:T=0:0:*:* TRES=cpu=2,mem=1000M,node=1,billing=2,gres/gpu=2 Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=* MinCPUsNode=2 MinMemoryCPU=500M MinTmpDiskNode=0 Features=(null) DelayBoot=00:00:00 OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null) Command=(null) WorkDir=/home/alice Comment=hi  StdErr=/home/alice/slurm-391.out StdIn=/dev/null StdOut=/home/alice/slurm-391.out Power= TresPerNode=gres:gpu:2 
    "#]],
    );
}

fn waiting(over: Value) -> JobView {
    let mut base = json!({
        "state": "PENDING", "reason": "job_held_user", "priority": 0, "eligible": null, "started": null, "ended": null,
        "run": null, "nodes": [], "node_list": "", "run_seconds": 0, "tres": "cpu=1,mem=1024M,node=1,billing=1",
        "cpu_count": 1,
    });
    for (key, value) in over.as_object().cloned().unwrap_or_default() {
        base[key] = value;
    }
    sample::job(13, base)
}

#[test]
fn a_waiting_array_has_its_tasks_and_no_node() {
    let job = waiting(json!({ "tasks_waiting": "1,3,5,7,9,20",
        "spec": { "array": { "tasks": "1,3,5,7,9,20", "running_max": 2 }, "comment": null } }));
    expect![[r#"
        (lines)
        JobId=13 ArrayJobId=13 ArrayTaskId=1,3,5,7,9,20%2 ArrayTaskThrottle=2 JobName=gpurun
           JobState=PENDING Reason=JobHeldUser Dependency=(null)
           SubmitTime=2026-12-02T01:43:27 EligibleTime=Unknown
           StartTime=Unknown EndTime=Unknown Deadline=N/A
           ReqNodeList=(null) ExcNodeList=(null)
           NodeList=
           NumNodes=1 NumCPUs=1 NumTasks=1 CPUs/Task=2 ReqB:S:C:T=0:0:*:*
           TRES=cpu=1,mem=1G,node=1,billing=1"#]]
    .assert_eq(&lines_of(
        &job,
        Flags::default(),
        &[
            "JobId=",
            "JobState",
            "SubmitTime",
            "StartTime",
            "NodeList=",
            "NumNodes",
            "TRES=",
            "Preempt",
            "BatchHost",
        ],
    ));
}

#[test]
fn one_waiting_task_is_a_number() {
    let job =
        waiting(json!({ "tasks_waiting": "3", "spec": { "array": { "tasks": "1-3", "running_max": 2 } } }));
    expect![[r#"
        (lines)
        JobId=13 ArrayJobId=13 ArrayTaskId=3 ArrayTaskThrottle=2 JobName=gpurun"#]]
    .assert_eq(&lines_of(&job, Flags::default(), &["JobId="]));
}

#[test]
fn a_planned_start_gives_the_times() {
    let job = waiting(json!({ "reason": "priority", "expected_start": sample::at("09:03:00") }));
    expect![[r#"
        (lines)
           StartTime=2026-12-02T09:03:00 EndTime=2026-12-02T09:23:00 Deadline=N/A"#]]
    .assert_eq(&lines_of(&job, Flags::default(), &["StartTime"]));
}

#[test]
fn the_reason_is_one_word() {
    let job = waiting(json!({ "reason": "req_node_not_avail", "reason_detail": "UnavailableNodes:node02" }));
    expect![[r#"
        (lines)
           JobState=PENDING Reason=ReqNodeNotAvail,_UnavailableNodes:node02 Dependency=(null)"#]]
    .assert_eq(&lines_of(&job, Flags::default(), &["JobState"]));
}

#[test]
fn the_request_shows_as_it_was_made() {
    let job = waiting(json!({ "spec": {
        "command": "t/run.sh", "arguments": ["a", "b"], "comment": null,
        "request": { "nodes_min": 2, "nodes_max": 2, "tasks_per_node": 2, "memory": { "per_node": 1024 },
            "features": ["a100", "intel"], "exclusive": true, "contiguous": true,
            "switches": { "count": 2, "wait": 90 }, "licenses": [{ "name": "matlab", "count": 2 }], "nodes_required": ["node01", "node02"],
            "gpus": [{ "scope": "job", "gpu_type": "a100", "count": 2 }, { "scope": "task", "count": 1 }] },
    } }));
    expect![[r#"
        (lines)
           ReqNodeList=node[01-02] ExcNodeList=(null)
           NumNodes=2-2 NumCPUs=1 NumTasks=1 CPUs/Task=2 ReqB:S:C:T=0:0:*:*
           Socks/Node=* NtasksPerN:B:S:C=2:0:*:* CoreSpec=*
           MinCPUsNode=4 MinMemoryNode=1G MinTmpDiskNode=0
           Features=a100&intel DelayBoot=00:00:00
           OverSubscribe=NO Contiguous=1 Licenses=matlab:2 Network=(null)
           Command=t/run.sh a b
           Switches=2@00:01:30
           TresPerJob=gres:gpu:a100:2
           TresPerTask=gres:gpu:1"#]]
    .assert_eq(&lines_of(
        &job,
        Flags::default(),
        &[
            "ReqNodeList",
            "NumNodes",
            "Socks",
            "MinCPUs",
            "Features",
            "OverSub",
            "Switches",
            "Command",
            "TresPer",
            "Comment",
        ],
    ));
}

#[test]
fn memory_that_was_not_asked_for_is_the_default() {
    let job = waiting(json!({ "spec": { "request": { "memory": null } } }));
    let by_partition =
        BTreeMap::from([("main".to_string(), MemoryRequest::PerCpu(daybook_schemas::Mebibytes(500)))]);
    let defaults = Defaults { by_partition, ..Defaults::default() };
    let line = |defaults: &Defaults| {
        lines_with(&text(&job, defaults, Flags::default(), &sample::instants()), &["MinMemory"])
    };
    expect![[r#"
        (lines)
           MinCPUsNode=2 MinMemoryCPU=500M MinTmpDiskNode=0"#]]
    .assert_eq(&line(&defaults));
    expect![[r#"
        (lines)
           MinCPUsNode=2 MinMemoryNode=0 MinTmpDiskNode=0"#]]
    .assert_eq(&line(&Defaults::default()));
}
