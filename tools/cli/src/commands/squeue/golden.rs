//! The tables of squeue, character by character.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::commands::sample;

fn wish(words: &[&str]) -> Wish {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let line = options::parse(table::OPTIONS, Order::Permute, &words).expect("known options");
    wish::read(&line.options).expect("options that make sense")
}

/// A record with all columns, of which `over` changes some.
fn job(over: Value) -> Value {
    let mut job: Value = serde_json::from_str(
        r#"{
        "job_id": 289, "display_id": "289", "array_job_id": 289, "array_task": null, "name": "filler",
        "user": "alice", "uid": 1001, "group": "alice", "gid": 1001, "account": "ml", "partition": "main",
        "qos": "normal", "state": "RUNNING", "reason": "None", "reason_detail": "", "priority": 12329, "nice": 0,
        "submit_time": 1796174632, "eligible_time": 1796174632, "accrue_time": 1796174632, "start_time": 1796174632,
        "end_time": 1796176432, "expected_start": null, "time_limit": 30, "time_used": 20, "node_count": 4,
        "node_list": "gpu[01-02],node[01-02]", "required_nodes": null, "excluded_nodes": null, "features": null,
        "task_count": 4, "cpu_count": 32, "cpus_per_task": 1, "min_memory": "500M", "min_cpus": 1,
        "tres_allocated": "cpu=32,mem=16000M,node=4,billing=32,gres/gpu=8", "tres_per_node": "N/A",
        "tres_per_job": null, "command": null, "work_dir": "/home/alice", "std_out": "/home/alice/slurm-289.out",
        "std_err": "/home/alice/slurm-289.out", "std_in": "/dev/null", "comment": null, "dependency": null,
        "batch_host": "gpu01", "requeue": true, "restarts": 0, "exclusive": true, "exit_code": "0:0",
        "submit_host": "localhost", "contiguous": false, "switches": 0, "licenses": null
    }"#,
    )
    .expect("a record");
    for (key, value) in over.as_object().cloned().unwrap_or_default() {
        assert!(job.get(&key).is_some(), "{key} is a column");
        job[key] = value;
    }
    job
}

/// The same as a waiting job of one node.
fn waiting(over: Value) -> Value {
    let mut base = json!({
        "state": "PENDING", "reason": "Priority", "start_time": null, "end_time": null, "time_used": 0,
        "time_limit": 60, "node_count": 1, "node_list": "", "cpu_count": 1, "batch_host": null, "exclusive": false,
    });
    for (key, value) in over.as_object().cloned().unwrap_or_default() {
        base[key] = value;
    }
    job(base)
}

/// What squeue prints for these words when the queue holds these jobs.
fn printed(words: &[&str], jobs: &[Value]) -> String {
    let wish = wish(words);
    let query = query(&wish, false);
    let rows: Vec<Vec<Value>> = jobs
        .iter()
        .map(|job| {
            let name = |column: &JobColumn| serde_json::to_value(column).expect("a name");
            query.columns.iter().map(|column| job[name(column).as_str().expect("a text")].clone()).collect()
        })
        .collect();
    let answer = json!({ "seq": 1, "now": sample::NOW, "rows": rows }).to_string();
    text(&wish, &answer, &query.columns, &[])
}

fn text(wish: &Wish, answer: &str, columns: &[JobColumn], hidden: &[String]) -> String {
    let places = Places::of(columns);
    let mut out = String::new();
    let shown = Shown { wish, places: &places, hidden };
    shown.write(answer.as_bytes(), sample::instants(), |text| out.push_str(text)).expect("an answer");
    out
}

fn check(words: &[&str], jobs: &[Value], expected: Expect) {
    expected.assert_eq(&format!("$ squeue {}\n{}", words.join(" "), printed(words, jobs)));
}

fn queue() -> Vec<Value> {
    vec![
        waiting(json!({ "job_id": 305, "array_job_id": 305, "display_id": "305", "partition": "debug",
            "name": "wrongacct", "user": "bob", "reason": "PartitionDown", "time_limit": 30 })),
        waiting(
            json!({ "job_id": 303, "array_job_id": 303, "display_id": "303", "name": "averyveryverylongjobname" }),
        ),
        waiting(json!({ "job_id": 302, "array_job_id": 302, "display_id": "302_[1-50%3]", "name": "anarray",
            "array_task": "1-50%3", "start_time": 1_796_201_000 })),
        waiting(json!({ "job_id": 306, "array_job_id": 306, "display_id": "306", "name": "drained",
            "reason": "ReqNodeNotAvail", "reason_detail": "UnavailableNodes:node02" })),
        job(json!({})),
    ]
}

#[test]
fn the_default_has_eight_columns() {
    check(
        &[],
        &queue(),
        expect![[r#"
        $ squeue 
                     JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
                       305     debug wrongacc      bob PD       0:00      1 (PartitionDown)
                       303      main averyver    alice PD       0:00      1 (Priority)
              302_[1-50%3]      main  anarray    alice PD       0:00      1 (Priority)
                       306      main  drained    alice PD       0:00      1 (ReqNodeNotAvail, UnavailableNodes:node02)
                       289      main   filler    alice  R       0:20      4 gpu[01-02],node[01-02]
    "#]],
    );
}

#[test]
fn an_empty_queue_has_its_header() {
    check(
        &[],
        &[],
        expect![[r#"
        $ squeue 
                     JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
    "#]],
    );
    check(
        &["-h"],
        &[],
        expect![[r#"
        $ squeue -h
    "#]],
    );
}

#[test]
fn long_has_the_time_above_and_the_limit() {
    check(
        &["-l"],
        &queue()[3..],
        expect![[r#"
        $ squeue -l
        Wed Dec 02 01:43:32 2026
                     JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES NODELIST(REASON)
                       306      main  drained    alice  PENDING       0:00   1:00:00      1 (ReqNodeNotAvail, UnavailableNodes:node02)
                       289      main   filler    alice  RUNNING       0:20     30:00      4 gpu[01-02],node[01-02]
    "#]],
    );
}

#[test]
fn start_is_sorted_by_the_expected_start() {
    check(
        &["--start"],
        &queue()[1..3],
        expect![[r#"
        $ squeue --start
                     JOBID PARTITION     NAME     USER ST          START_TIME  NODES SCHEDNODES           NODELIST(REASON)
              302_[1-50%3]      main  anarray    alice PD 2026-12-02T08:43:20      1 (null)               (Priority)
                       303      main averyver    alice PD                 N/A      1 (null)               (Priority)
    "#]],
    );
    assert_eq!(wish(&["--start", "-O", "JobID"]).filter.states, [daybook_schemas::job::JobState::Pending]);
}

fn array_10() -> Vec<Value> {
    let task = |id: u32, task: u32| {
        job(
            json!({ "job_id": id, "array_job_id": 10, "display_id": format!("10_{task}"), "array_task": task.to_string(),
            "name": "wrap", "time_used": 2, "node_count": 1, "node_list": "node01" }),
        )
    };
    let rest =
        waiting(json!({ "job_id": 10, "array_job_id": 10, "display_id": "10_[2-9%2]", "array_task": "2-9%2",
        "name": "wrap", "reason": "JobArrayTaskLimit" }));
    vec![rest, task(11, 0), task(12, 1)]
}

#[test]
fn an_array_has_its_waiting_tasks_on_one_line() {
    check(
        &[],
        &array_10(),
        expect![[r#"
        $ squeue 
                     JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
                10_[2-9%2]      main     wrap    alice PD       0:00      1 (JobArrayTaskLimit)
                      10_0      main     wrap    alice  R       0:02      1 node01
                      10_1      main     wrap    alice  R       0:02      1 node01
    "#]],
    );
    check(
        &["-h", "-o", "%i|%A|%F|%K|%T|%r"],
        &array_10()[..1],
        expect![[r#"
        $ squeue -h -o %i|%A|%F|%K|%T|%r
        10_[2-9%2]|10|10|2-9%2|PENDING|JobArrayTaskLimit
    "#]],
    );
    check(
        &["--array-unique", "-h", "-O", "JobID,JobArrayID,ArrayJobID,ArrayTaskID,State"],
        &array_10(),
        expect![[r#"
        $ squeue --array-unique -h -O JobID,JobArrayID,ArrayJobID,ArrayTaskID,State
        10                  10_[2-9%2]          10                  2-9%2               PENDING             
        11                  10_0                10                  0                   RUNNING             
        12                  10_1                10                  1                   RUNNING             
    "#]],
    );
}

#[test]
fn long_ids_are_cut_without_a_mark() {
    let job =
        waiting(json!({ "display_id": "13_[1,3,5,7,9,20%2]", "name": "wrap", "reason": "JobHeldUser" }));
    check(
        &["-h"],
        &[job],
        expect![[r#"
        $ squeue -h
        13_[1,3,5,7,9,20%2      main     wrap    alice PD       0:00      1 (JobHeldUser)
    "#]],
    );
}

#[test]
fn every_letter_shows_what_slurm_shows() {
    let format = "%a|%A|%b|%B|%c|%C|%d|%D|%e|%E|%f|%F|%g|%G|%h|%H|%i|%I|%j|%J|%k|%K|%l|%L|%m|%M|%n|%N|%o|%O|%p|%P|%q|%Q|\
                  %r|%R|%s|%S|%t|%T|%u|%U|%v|%V|%w|%W|%x|%X|%y|%Y|%z|%Z";
    check(
        &["-o", format],
        &[job(json!({}))],
        expect![[r#"
        $ squeue -o %a|%A|%b|%B|%c|%C|%d|%D|%e|%E|%f|%F|%g|%G|%h|%H|%i|%I|%j|%J|%k|%K|%l|%L|%m|%M|%n|%N|%o|%O|%p|%P|%q|%Q|%r|%R|%s|%S|%t|%T|%u|%U|%v|%V|%w|%W|%x|%X|%y|%Y|%z|%Z
        ACCOUNT|JOBID|TRES_PER_NODE|EXEC_HOST|MIN_CPUS|CPUS|MIN_TMP_DISK|NODES|END_TIME|DEPENDENCY|FEATURES|ARRAY_JOB_ID|GROUP|GROUP|OVER_SUBSCRIBE|SOCKETS_PER_NODE|JOBID|CORES_PER_SOCKET|NAME|THREADS_PER_CORE|COMMENT|ARRAY_TASK_ID|TIME_LIMIT|TIME_LEFT|MIN_MEMORY|TIME|REQ_NODES|NODELIST|COMMAND|CONTIGUOUS|PRIORITY|PARTITION|QOS|PRIORITY|REASON|NODELIST(REASON)||START_TIME|ST|STATE|USER|UID|RESERVATION|SUBMIT_TIME|WCKEY|LICENSES|EXC_NODES|CORE_SPEC|NICE|SCHEDNODES|S:C:T|WORK_DIR
        ml|289|N/A|gpu01|1|32|0|4|2026-12-02T01:53:52|(null)|(null)|289|alice|1001|NO|*|289|*|filler|*|(null)|N/A|30:00|29:40|500M|0:20||gpu[01-02],node[01-02]|(null)|0|0.00000287056901|main|normal|12329|None|gpu[01-02],node[01-02]||2026-12-02T01:23:52|R|RUNNING|alice|1001|(null)|2026-12-02T01:23:52|(null)|(null)||N/A|0|(null)|*:*:*|/home/alice
    "#]],
    );
}

#[test]
fn widths_cut_and_justify() {
    let jobs = [job(json!({}))];
    check(
        &["-o", "%5i|%.5j|%20T|%.20T|%j"],
        &jobs,
        expect![[r#"
        $ squeue -o %5i|%.5j|%20T|%.20T|%j
        JOBID| NAME|STATE               |               STATE|NAME
        289  |fille|RUNNING             |             RUNNING|filler
    "#]],
    );
    check(
        &["-O", "JobID:8,Name:5,State,Partition:.12,UserName:3"],
        &jobs,
        expect![[r#"
        $ squeue -O JobID:8,Name:5,State,Partition:.12,UserName:3
        JOBID   NAME STATE                  PARTITIONUSE
        289     filleRUNNING                     mainali
    "#]],
    );
    check(
        &["-h", "-O", "JobID: |,Name: |,State:"],
        &jobs,
        expect![[r#"
        $ squeue -h -O JobID: |,Name: |,State:
        289 |filler |RUNNING
    "#]],
    );
    check(
        &["-o", "%zz"],
        &jobs,
        expect![[r#"
        $ squeue -o %zz
        S:C:Tz
        *:*:*z
    "#]],
    );
}

#[test]
fn unknown_names_leave_an_empty_line_for_each_job() {
    check(
        &["-O", "foo"],
        &queue()[..2],
        expect![[r#"
        $ squeue -O foo



    "#]],
    );
}

#[test]
fn every_name_is_twenty_wide() {
    let jobs = [job(json!({}))];
    for field in fields::FIELDS.iter().filter(|field| !field.name.is_empty()) {
        let text = printed(&["-h", "-O", field.name], &jobs);
        assert_eq!(text.len(), 21, "{}: {text}", field.name);
    }
}

#[test]
fn a_waiting_job_ends_its_limit_after_its_expected_start() {
    let jobs = [
        waiting(json!({ "start_time": 1_796_176_432 })),
        waiting(json!({})),
        job(json!({ "time_limit": null, "end_time": null })),
    ];
    check(
        &["-h", "-o", "%S|%e|%l|%L"],
        &jobs,
        expect![[r#"
        $ squeue -h -o %S|%e|%l|%L
        2026-12-02T01:53:52|2026-12-02T02:53:52|1:00:00|1:00:00
        N/A|N/A|1:00:00|1:00:00
        2026-12-02T01:23:52|NONE|UNLIMITED|UNLIMITED
    "#]],
    );
}

#[test]
fn failed_jobs_show_why_and_others_where() {
    let ended =
        |state: &str, reason: &str| job(json!({ "state": state, "reason": reason, "node_list": "node01" }));
    let jobs = [
        ended("FAILED", "NonZeroExitCode"),
        ended("TIMEOUT", "TimeLimit"),
        ended("COMPLETED", "None"),
        ended("CANCELLED", "None"),
        ended("COMPLETING", "None"),
    ];
    check(
        &["-h", "-o", "%t %R"],
        &jobs,
        expect![[r#"
        $ squeue -h -o %t %R
        F (NonZeroExitCode)
        TO (TimeLimit)
        CD node01
        CA node01
        CG node01
    "#]],
    );
}

#[test]
fn memory_is_in_the_unit_that_fits() {
    let jobs = [waiting(json!({ "min_memory": "1024M" })), waiting(json!({ "min_memory": "0" }))];
    check(
        &["-h", "-o", "%m"],
        &jobs,
        expect![[r#"
        $ squeue -h -o %m
        1G
        0
    "#]],
    );
}

#[test]
fn sorting_takes_letters() {
    check(
        &["-h", "-S", "i", "-o", "%i %Q"],
        &queue(),
        expect![[r#"
        $ squeue -h -S i -o %i %Q
        289 12329
        302_[1-50%3] 12329
        303 12329
        305 12329
        306 12329
    "#]],
    );
    assert_eq!(printed(&["-h", "-S", "-i", "-o", "%A"], &queue()), "306\n305\n303\n302\n289\n");
}

#[test]
fn a_question_asks_for_each_column_once() {
    let wish = wish(&["-o", "%i %i %A %R", "-S", "P,i"]);
    use JobColumn::{ArrayJobId, DisplayId, JobId, NodeList, Partition, Reason, ReasonDetail, State};
    assert_eq!(
        query(&wish, true).columns,
        [JobId, DisplayId, ArrayJobId, Partition, State, Reason, ReasonDetail, NodeList]
    );
}

#[test]
fn states_may_be_short_or_long_or_foreign() {
    use daybook_schemas::job::JobState;
    assert_eq!(wish(&["-t", "R,pending"]).filter.states, [JobState::Running, JobState::Pending]);
    assert_eq!(wish(&["-t", "all"]).filter.states.len(), JobState::ALL.len());
    assert!(wish(&["-t", "CONFIGURING"]).nothing);
    let words: Vec<String> = ["-t", "foo"].map(String::from).to_vec();
    let line = options::parse(table::OPTIONS, Order::Permute, &words).expect("known options");
    assert_eq!(wish::read(&line.options).err(), Some(1));
}

#[test]
fn large_tables_are_written_in_pieces_without_a_seam() {
    let jobs: Vec<Value> = (0..5000).map(|id| waiting(json!({ "job_id": id }))).collect();
    let ids: Vec<String> = (0..5000).map(|id| id.to_string()).collect();
    assert_eq!(printed(&["-h", "-o", "%A"], &jobs), format!("{}\n", ids.join("\n")));
    let wide = printed(&["-h", "-o", "%100A"], &jobs);
    assert_eq!((wide.len(), wide.lines().last().map(str::trim_end)), (5000 * 101, Some("4999")));
}

#[test]
fn hidden_partitions_are_left_out() {
    let wish = wish(&["-h", "-o", "%P"]);
    let answer = json!({ "seq": 1, "now": 0, "rows": [["main"], ["secret"]] }).to_string();
    assert_eq!(text(&wish, &answer, &[JobColumn::Partition], &["secret".to_string()]), "main\n");
}
