//! The tables of sacct, character by character.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::commands::sample::{self, batch_step, record};

fn printed(words: &[&str], records: Vec<Value>) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let line = options::parse(table::OPTIONS, Order::Permute, &words).expect("known options");
    let now: ZonedDateTime = "2026-12-02T01:43:32[UTC]".parse().expect("an instant");
    let wish = wish::read(&line.options, &now, 0).expect("options that make sense");
    let mut answer = sample::accounting(records);
    answer.records = wish.selection.apply(std::mem::take(&mut answer.records));
    render(&wish, &answer, &sample::instants())
}

fn check(words: &[&str], records: Vec<Value>, expected: Expect) {
    expected.assert_eq(&format!("$ sacct {}\n{}", words.join(" "), printed(words, records)));
}

fn ended(id: u32, name: &str, state: &str, exit: Value) -> Value {
    record(id, json!({ "name": name, "state": state, "exit": exit }))
}

fn exit(code: u32, signal: u32) -> Value {
    json!({ "code": code, "signal": signal })
}

fn one_of_each() -> Vec<Value> {
    let step = |id, state: &str, exit: Value| batch_step(id, json!({ "state": state, "exit": exit }));
    let mut cancelled = ended(330, "canjob", "CANCELLED", exit(0, 0));
    cancelled["cancelled_by"] = json!(1001);
    vec![
        ended(326, "okjob", "COMPLETED", exit(0, 0)),
        step(326, "COMPLETED", exit(0, 0)),
        ended(327, "badjob", "FAILED", exit(3, 0)),
        step(327, "FAILED", exit(3, 0)),
        ended(328, "segv", "FAILED", exit(0, 11)),
        step(328, "CANCELLED", exit(0, 11)),
        ended(329, "tojob", "TIMEOUT", exit(0, 0)),
        step(329, "CANCELLED", exit(0, 15)),
        cancelled,
        step(330, "CANCELLED", exit(0, 15)),
        ended(333, "oom", "OUT_OF_MEMORY", exit(0, 125)),
        ended(347, "nfjob", "NODE_FAIL", exit(0, 0)),
        step(347, "CANCELLED", exit(0, 0)),
    ]
}

#[test]
fn the_default_has_seven_columns() {
    check(
        &[],
        one_of_each(),
        expect![[r#"
        $ sacct 
        JobID           JobName  Partition    Account  AllocCPUS      State ExitCode 
        ------------ ---------- ---------- ---------- ---------- ---------- -------- 
        326               okjob       main         ml          1  COMPLETED      0:0 
        326.batch         batch                    ml          1  COMPLETED      0:0 
        327              badjob       main         ml          1     FAILED      3:0 
        327.batch         batch                    ml          1     FAILED      3:0 
        328                segv       main         ml          1     FAILED     0:11 
        328.batch         batch                    ml          1  CANCELLED     0:11 
        329               tojob       main         ml          1    TIMEOUT      0:0 
        329.batch         batch                    ml          1  CANCELLED     0:15 
        330              canjob       main         ml          1 CANCELLED+      0:0 
        330.batch         batch                    ml          1  CANCELLED     0:15 
        333                 oom       main         ml          1 OUT_OF_ME+    0:125 
        347               nfjob       main         ml          1  NODE_FAIL      0:0 
        347.batch         batch                    ml          1  CANCELLED          
    "#]],
    );
}

#[test]
fn parsable_forms_have_a_delimiter() {
    let records = || one_of_each()[..2].to_vec();
    check(
        &["-P"],
        records(),
        expect![[r#"
        $ sacct -P
        JobID|JobName|Partition|Account|AllocCPUS|State|ExitCode
        326|okjob|main|ml|1|COMPLETED|0:0
        326.batch|batch||ml|1|COMPLETED|0:0
    "#]],
    );
    check(
        &["--parsable", "-n"],
        records(),
        expect![[r#"
        $ sacct --parsable -n
        326|okjob|main|ml|1|COMPLETED|0:0|
        326.batch|batch||ml|1|COMPLETED|0:0|
    "#]],
    );
    check(
        &["--delimiter=,", "-P", "-b"],
        records(),
        expect![[r#"
        $ sacct --delimiter=, -P -b
        JobID,State,ExitCode
        326,COMPLETED,0:0
        326.batch,COMPLETED,0:0
    "#]],
    );
}

#[test]
fn widths_cut_with_a_plus_and_justify() {
    check(
        &["-j", "326", "-o", "jobid%5,jobname%-12,state%3,nodelist%4"],
        one_of_each(),
        expect![[r#"
        $ sacct -j 326 -o jobid%5,jobname%-12,state%3,nodelist%4
        JobID JobName      Sta Node 
        ----- ------------ --- ---- 
          326 okjob        CO+ nod+ 
        326.+ batch        CO+ nod+ 
    "#]],
    );
    check(
        &["-n", "-j", "330", "-o", "jobid,state%20"],
        one_of_each(),
        expect![[r#"
        $ sacct -n -j 330 -o jobid,state%20
        330             CANCELLED by 1001 
        330.batch               CANCELLED 
    "#]],
    );
    check(
        &["-j", "326", "--format=jobid", "-o", "jobid,submitline"],
        one_of_each(),
        expect![[r#"
        $ sacct -j 326 --format=jobid -o jobid,submitline
        JobID        JobID                  SubmitLine 
        ------------ ------------ -------------------- 
        326          326          sbatch -J okjob --w+ 
        326.batch    326.batch                         
    "#]],
    );
}

#[test]
fn the_field_list_is_slurms() {
    let listing = fields::listing();
    assert!(listing.starts_with(
        "Account             AdminComment        AllocCPUS           AllocNodes         \n\
         AllocTRES           AssocID             AveCPU              AveCPUFreq         \n"
    ));
    assert!(listing.ends_with("User                UserCPU             WCKey               WCKeyID            \nWorkDir            \n"));
    assert_eq!(listing.lines().count(), 28);
}

const MANY: &str = "JobID,JobIDRaw,JobName,User,UID,Group,GID,Account,Cluster,Partition,QOS,State,ExitCode,DerivedExitCode,\
                    Submit,Eligible,Start,End,Elapsed,ElapsedRaw,Reserved,ResvCPU,Timelimit,TimelimitRaw,NNodes,NTasks,NCPUS,\
                    AllocCPUS,ReqCPUS,AllocNodes,ReqNodes,ReqMem,AllocTRES,ReqTRES,CPUTime,CPUTimeRAW,TotalCPU,UserCPU,\
                    SystemCPU,MaxRSS,MaxVMSize,AveRSS,AveCPU,MaxRSSNode,MaxRSSTask,NodeList,Priority,Reason,Comment,WorkDir,\
                    SubmitLine,Suspended,Layout,WCKey";

fn gpu_job() -> Vec<Value> {
    let common = json!({
        "name": "gpujob", "allocated_cpus": 4, "requested_cpus": 4, "node_list": "gpu01",
        "started": sample::at("01:39:46"), "ended": sample::at("01:39:48"), "requested_memory": "1024M",
        "requested_tres": "billing=4,cpu=4,gres/gpu=2,mem=1024M,node=1",
        "allocated_tres": "billing=4,cpu=4,gres/gpu=2,mem=1024M,node=1", "comment": "hello",
        "submit_line": "sbatch -J gpujob",
    });
    let with = |mut base: Value, over: Value| {
        for (key, value) in over.as_object().cloned().unwrap_or_default() {
            base[key] = value;
        }
        base
    };
    vec![
        with(
            record(374, common.clone()),
            json!({
            "usage": { "user_cpu_us": 12000, "system_cpu_us": 6000, "max_rss_kib": 10584 } }),
        ),
        with(
            batch_step(374, common),
            json!({
            "allocated_tres": "cpu=4,gres/gpu=2,mem=1024M,node=1",
            "usage": { "user_cpu_us": 8000, "system_cpu_us": 4000, "max_rss_kib": 10584 } }),
        ),
    ]
}

#[test]
fn fields_of_jobs_and_of_steps_differ() {
    check(
        &["-P", "-o", MANY],
        gpu_job(),
        expect![[r#"
        $ sacct -P -o JobID,JobIDRaw,JobName,User,UID,Group,GID,Account,Cluster,Partition,QOS,State,ExitCode,DerivedExitCode,Submit,Eligible,Start,End,Elapsed,ElapsedRaw,Reserved,ResvCPU,Timelimit,TimelimitRaw,NNodes,NTasks,NCPUS,AllocCPUS,ReqCPUS,AllocNodes,ReqNodes,ReqMem,AllocTRES,ReqTRES,CPUTime,CPUTimeRAW,TotalCPU,UserCPU,SystemCPU,MaxRSS,MaxVMSize,AveRSS,AveCPU,MaxRSSNode,MaxRSSTask,NodeList,Priority,Reason,Comment,WorkDir,SubmitLine,Suspended,Layout,WCKey
        JobID|JobIDRaw|JobName|User|UID|Group|GID|Account|Cluster|Partition|QOS|State|ExitCode|DerivedExitCode|Submit|Eligible|Start|End|Elapsed|ElapsedRaw|Reserved|ResvCPU|Timelimit|TimelimitRaw|NNodes|NTasks|NCPUS|AllocCPUS|ReqCPUS|AllocNodes|ReqNodes|ReqMem|AllocTRES|ReqTRES|CPUTime|CPUTimeRAW|TotalCPU|UserCPU|SystemCPU|MaxRSS|MaxVMSize|AveRSS|AveCPU|MaxRSSNode|MaxRSSTask|NodeList|Priority|Reason|Comment|WorkDir|SubmitLine|Suspended|Layout|WCKey
        374|374|gpujob|alice|1001|alice|1001|ml|tx|main|normal|COMPLETED|0:0|0:0|2026-12-02T01:39:45|2026-12-02T01:39:45|2026-12-02T01:39:46|2026-12-02T01:39:48|00:00:02|2|00:00:01|00:00:04|01:00:00|60|1||4|4|4|1|1|1G|billing=4,cpu=4,gres/gpu=2,mem=1G,node=1|billing=4,cpu=4,gres/gpu=2,mem=1G,node=1|00:00:08|8|00:00.018|00:00.012|00:00.006|||||||gpu01|2954|None|hello|/home/alice|sbatch -J gpujob|00:00:00||
        374.batch|374.batch|batch|||||ml|tx|||COMPLETED|0:0||2026-12-02T01:39:46|2026-12-02T01:39:46|2026-12-02T01:39:46|2026-12-02T01:39:48|00:00:02|2|||||1|1|4|4|4|1|1||cpu=4,gres/gpu=2,mem=1G,node=1||00:00:08|8|00:00.012|00:00.008|00:00.004|10584K||10584K|00:00:00|gpu01|0|gpu01||||||00:00:00|Unknown|
    "#]],
    );
}

#[test]
fn memory_is_in_the_unit_asked_for() {
    check(
        &["--units=G", "-o", "jobid,maxrss,reqmem"],
        gpu_job(),
        expect![[r#"
        $ sacct --units=G -o jobid,maxrss,reqmem
        JobID            MaxRSS     ReqMem 
        ------------ ---------- ---------- 
        374                             1G 
        374.batch         0.01G            
    "#]],
    );
    check(
        &["--noconvert", "-o", "jobid,maxrss,reqmem"],
        gpu_job(),
        expect![[r#"
        $ sacct --noconvert -o jobid,maxrss,reqmem
        JobID            MaxRSS     ReqMem 
        ------------ ---------- ---------- 
        374                          1024M 
        374.batch      10838016            
    "#]],
    );
}

#[test]
fn what_was_cancelled_before_it_ran_started_when_it_ended() {
    let record = record(
        375,
        json!({
            "name": "canp", "state": "CANCELLED", "cancelled_by": 1001, "run": null, "eligible": null, "started": null,
            "ended": sample::at("01:39:45"), "elapsed_seconds": 0, "node_list": "None assigned", "node_count": 0,
            "allocated_cpus": 0, "allocated_tres": "", "priority": 0,
        }),
    );
    let fields = "jobid,state,eligible,start,end,elapsed,reserved,resvcpu,nnodes,ncpus,alloccpus,allocnodes,alloctres,nodelist,totalcpu";
    check(
        &["-P", "-n", "-o", fields],
        vec![record],
        expect![[r#"
        $ sacct -P -n -o jobid,state,eligible,start,end,elapsed,reserved,resvcpu,nnodes,ncpus,alloccpus,allocnodes,alloctres,nodelist,totalcpu
        375|CANCELLED by 1001|Unknown|2026-12-02T01:39:45|2026-12-02T01:39:45|00:00:00|00:00:00|00:00:00|1|1|1|0||None assigned|00:00:00
    "#]],
    );
}

#[test]
fn array_tasks_have_two_ids() {
    let task = |id: u32, task: u32| record(id, json!({ "array": { "array_job": 335, "task": task } }));
    let rest =
        record(20, json!({ "tasks_waiting": "2-9", "state": "PENDING", "started": null, "ended": null }));
    check(
        &["-n", "-o", "jobid,jobidraw,state,start"],
        vec![task(336, 0), task(335, 3), rest],
        expect![[r#"
        $ sacct -n -o jobid,jobidraw,state,start
        335_0        336           COMPLETED 2026-12-02T01:39:46 
        335_3        335           COMPLETED 2026-12-02T01:39:46 
        20_[2-9]     20              PENDING             Unknown 
    "#]],
    );
}

fn requeued() -> Vec<Value> {
    let mut first = ended(341, "rqjob", "REQUEUED", exit(0, 0));
    first["run"] = json!("341.0");
    let mut step = batch_step(341, json!({ "state": "CANCELLED", "exit": exit(0, 15) }));
    step["run"] = json!("341.0");
    let mut last = ended(341, "rqjob", "COMPLETED", exit(0, 0));
    last["run"] = json!("341.1");
    vec![first, step, ended(342, "other", "COMPLETED", exit(0, 0)), last]
}

#[test]
fn earlier_runs_show_only_when_asked_for() {
    assert_eq!(printed(&["-n", "-P", "-b"], requeued()), "342|COMPLETED|0:0\n341|COMPLETED|0:0\n");
    assert_eq!(
        printed(&["-n", "-P", "-b", "-D", "-j", "341"], requeued()),
        "341|REQUEUED|0:0\n341.batch|CANCELLED|0:15\n341|COMPLETED|0:0\n"
    );
    assert_eq!(
        printed(&["-n", "-P", "-b", "-s", "RQ", "-E", "now"], requeued()),
        "341|REQUEUED|0:0\n341.batch|CANCELLED|0:15\n"
    );
}

#[test]
fn states_need_the_end_of_the_window() {
    let jobs = |words: &[&str]| {
        let all = [&["-n", "-X", "-P", "-o", "jobid"], words].concat();
        let only_jobs = one_of_each().into_iter().filter(|record| record["kind"] == "job").collect();
        printed(&all, only_jobs).replace('\n', " ")
    };
    assert_eq!(jobs(&["-s", "F"]), "");
    assert_eq!(jobs(&["-s", "F", "-S", "now-1hour"]), "");
    assert_eq!(jobs(&["-s", "F", "-S", "now-1hour", "-E", "now"]), "327 328 ");
    assert_eq!(jobs(&["-s", "TO,CA", "-E", "now"]), "329 330 ");
    assert_eq!(jobs(&["-s", "R", "-E", "now"]), "326 327 328 329 330 333 347 ");
    assert_eq!(jobs(&["-s", "F", "-S", "2026-12-01", "-E", "2026-12-01T12:00"]), "");
    assert_eq!(jobs(&["-s", "F", "-j", "326,327"]), "327 ");
}

#[test]
fn steps_can_be_named() {
    assert_eq!(printed(&["-n", "-P", "-b", "-j", "326.batch"], one_of_each()), "326.batch|COMPLETED|0:0\n");
    assert_eq!(printed(&["-n", "-P", "-b", "-j", "326.0"], one_of_each()), "");
    let task = record(336, json!({ "array": { "array_job": 335, "task": 1 } }));
    let other = record(337, json!({ "array": { "array_job": 335, "task": 2 } }));
    assert_eq!(printed(&["-n", "-P", "-o", "jobid", "-j", "335_1"], vec![task, other]), "335_1\n");
}

#[test]
fn truncated_times_lie_in_the_window() {
    let line = printed(
        &["-n", "-P", "-T", "-S", "01:39:47", "-E", "01:40", "-o", "start,end,elapsed"],
        one_of_each()[..1].to_vec(),
    );
    assert_eq!(line, "2026-12-02T01:39:47|2026-12-02T01:39:48|00:00:01\n");
}

#[test]
fn counts_and_qos_choose() {
    let wide = record(340, json!({ "node_count": 2, "allocated_cpus": 16, "qos": "high" }));
    let jobs = || vec![one_of_each().remove(0), wide.clone()];
    for (words, chosen) in [
        (&["-i", "2-4"][..], "340\n"),
        (&["-i", "1"], "326\n"),
        (&["-I", "16"], "340\n"),
        (&["-q", "high"], "340\n"),
        (&["-q", "normal,high"], "326\n340\n"),
    ] {
        let all = [&["-n", "-P", "-o", "jobid"], words].concat();
        assert_eq!(printed(&all, jobs()), chosen, "{words:?}");
    }
}
