//! How runs are started: as whom, where, with which files; and what stands in the way.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::sync::Arc;

use daybook_schemas::orders::{RunOrder, RunWish};
use daybook_schemas::run::EndCause;

use crate::bench::{Bench, until_written};

#[tokio::test]
async fn a_script_has_its_directory_its_files_and_its_environment() {
    let mut bench = Bench::new().await;
    let script = "#!/bin/sh\npwd; echo \"$0\" \"$@\"; echo $SLURM_JOB_ID $SLURM_TASK_PID $$ $MINE; umask; ulimit -n; \
        ulimit -m; cat; tty; echo err >&2\n";
    let mut order = bench.order(script, "MINE=yes\0").await;
    let spec = Arc::make_mut(&mut order.spec);
    spec.arguments = vec!["one".into(), "two words".into()];
    spec.umask = 0o027;
    Arc::make_mut(&mut spec.resource_limits).insert("NOFILE".into(), 77);
    let run = bench.give(order);
    assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
    let output = std::fs::read_to_string(bench.work("slurm-1.out")).unwrap();
    let lines: Vec<&str> = output.lines().collect();
    let work = bench.directory.path().join("work");
    assert_eq!(lines[0], work.to_str().unwrap());
    let spooled = bench.directory.path().join("spool/job00001/slurm_script");
    assert_eq!(lines[1], format!("{} one two words", spooled.display()));
    let pid = bench.start_of(run).await.pid.unwrap();
    assert_eq!(lines[2], format!("1 {pid} {pid} yes"));
    assert_eq!(lines[3..], ["0027", "77", "512000", "not a tty", "err"]);
    assert_eq!(bench.work("slurm-1.out").metadata().unwrap().permissions().mode() & 0o777, 0o640);
}

#[tokio::test]
async fn a_script_can_be_ended_by_a_broken_pipe() {
    let mut bench = Bench::new().await;
    let run = bench.run("#!/bin/bash\nyes | head -1 > first\necho ${PIPESTATUS[0]}\n").await;
    bench.end_of(run).await;
    assert_eq!(
        std::fs::read_to_string(bench.work("slurm-1.out")).unwrap(),
        "141\n",
        "SIGPIPE is not ignored"
    );
}

#[tokio::test]
async fn a_task_of_an_array_knows_its_place_and_names_its_output() {
    let mut bench = Bench::new().await;
    let mut order = bench.order("#!/bin/sh\nenv | grep ^SLURM_ARRAY | sort\n", "").await;
    let task = serde_json::json!({
        "id": { "array_job": 168, "task": 3 }, "task_count": 2, "task_min": 3, "task_max": 5, "task_step": 2
    });
    order.array = Some(serde_json::from_value(task).unwrap());
    let run = bench.give(order);
    bench.end_of(run).await;
    assert_eq!(
        std::fs::read_to_string(bench.work("slurm-168_3.out")).unwrap(),
        "SLURM_ARRAY_JOB_ID=168\nSLURM_ARRAY_TASK_COUNT=2\nSLURM_ARRAY_TASK_ID=3\nSLURM_ARRAY_TASK_MAX=5\n\
         SLURM_ARRAY_TASK_MIN=3\nSLURM_ARRAY_TASK_STEP=2\n"
    );
}

#[tokio::test]
async fn what_cannot_be_launched_ends_as_0_53_without_a_file() {
    let mut bench = Bench::new().await;
    type Spoil = fn(&mut daybook_schemas::job::JobSpec);
    let spoil: [(Spoil, &str); 3] = [
        (
            |spec| spec.work_dir = "/nonexistent".into(),
            "working directory /nonexistent: No such file or directory",
        ),
        (|spec| spec.std_out = Some("no/x.out".into()), "output file no/x.out: No such file or directory"),
        (|spec| spec.std_in = Some("gone".into()), "standard input gone: No such file or directory"),
    ];
    for (spoil, expected) in spoil {
        let mut order = bench.order("#!/bin/sh\ntouch ran\n", "").await;
        spoil(Arc::make_mut(&mut order.spec));
        let run = bench.give(order);
        let end = bench.end_of(run).await;
        assert_eq!(end.text(), "launch_failed 0:53");
        assert_eq!(end.ended().message.as_deref(), Some(expected));
        assert_eq!(bench.events(run).await.len(), 2, "it never started");
        bench.is_settled(run).await;
        assert!(!bench.work(&format!("slurm-{}.out", run.job)).exists());
    }
    assert!(!bench.work("ran").exists());
}

#[tokio::test]
async fn what_cannot_be_executed_says_so_in_its_output_and_ends_with_the_error_s_number() {
    let mut bench = Bench::new().await;
    for (script, expected, line) in [
        (
            "#!/no/such/shell -x\n",
            "exited 2:0",
            "bad interpreter(/no/such/shell -x): No such file or directory\n",
        ),
        ("#!/etc/passwd\n", "exited 13:0", "slurm_script: Permission denied\n"),
        ("\x7fELF no program\n", "exited 8:0", "slurm_script: Exec format error\n"),
    ] {
        let run = bench.run(script).await;
        assert_eq!(bench.end_of(run).await.text(), expected);
        let output = std::fs::read_to_string(bench.work(&format!("slurm-{}.out", run.job))).unwrap();
        assert!(output.starts_with("slurmstepd-n1: error: execve(): ") && output.ends_with(line), "{output}");
        bench.is_settled(run).await;
    }
}

#[tokio::test]
async fn a_job_of_somebody_whom_this_daemon_cannot_serve_fails_and_says_why() {
    let mut bench = Bench::unstarted(false);
    bench.allow_other_users = false;
    let mut bench = bench.started().await;
    let mut order = bench.order("#!/bin/sh\n", "").await;
    let user = Arc::make_mut(&mut Arc::make_mut(&mut order.spec).user);
    (user.uid, user.name) = (4_000_000, "stranger".into());
    let run = bench.give(order);
    let end = bench.end_of(run).await;
    assert_eq!(end.text(), "launch_failed 0:53");
    assert!(end.ended().message.unwrap().contains("cannot start jobs of user stranger"));
}

/// As another user, where this is root.
async fn as_nobody(bench: &mut Bench, script: &str) -> RunOrder {
    let mut order = bench.order(script, "").await;
    let user = Arc::make_mut(&mut Arc::make_mut(&mut order.spec).user);
    (user.uid, user.gid, user.name, user.group) = (65_534, 65_534, "nobody".into(), "nogroup".into());
    order
}

#[tokio::test]
async fn a_job_runs_as_its_user() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let mut bench = Bench::new().await;
    let order = as_nobody(
        &mut bench,
        "#!/bin/sh\nid -un; id -Gn; cat \"$0\" | wc -l\nwhile [ ! -e go ]; do sleep 0.01; done\n",
    )
    .await;
    let run = bench.give(order);
    bench.start_of(run).await;
    let spooled = bench.directory.path().join("spool/job00001/slurm_script").metadata().unwrap();
    assert_eq!((spooled.uid(), spooled.permissions().mode() & 0o777), (65_534, 0o700));
    std::fs::write(bench.work("go"), "").unwrap();
    assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
    let output = bench.work("slurm-1.out");
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "nobody\nnogroup\n3\n");
    assert_eq!(output.metadata().unwrap().uid(), 65_534);
}

#[tokio::test]
async fn a_job_writes_and_enters_only_what_its_user_may() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let mut bench = Bench::new().await;
    std::fs::write(bench.work("root.txt"), "mine\n").unwrap();
    std::fs::create_dir(bench.work("private")).unwrap();
    std::fs::set_permissions(bench.work("private"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut to_file = as_nobody(&mut bench, "#!/bin/sh\necho x\n").await;
    Arc::make_mut(&mut to_file.spec).std_out = Some("root.txt".into());
    let mut in_private = as_nobody(&mut bench, "#!/bin/sh\necho x\n").await;
    Arc::make_mut(&mut in_private.spec).work_dir = bench.work("private").display().to_string();
    for order in [to_file, in_private] {
        let run = bench.give(order);
        let end = bench.end_of(run).await.ended();
        assert_eq!((end.cause, end.exit.signal), (EndCause::LaunchFailed, 53));
        assert!(end.message.clone().unwrap().ends_with("Permission denied"), "{end:?}");
    }
    assert_eq!(std::fs::read_to_string(bench.work("root.txt")).unwrap(), "mine\n");
}

#[tokio::test]
async fn a_node_that_only_holds_something_lets_go_when_told() {
    let mut bench = Bench::new().await;
    let mut order = bench.order("#!/bin/sh\ntouch ran\n", "").await;
    let mut first = order.nodes[0].clone();
    first.node = "n0".into();
    order.nodes.insert(0, first);
    let run = bench.give(order);
    // A job of its own has run since: the one that is held has not been told to let go, and has not.
    let other = bench.run("#!/bin/sh\n").await;
    bench.is_settled(other).await;
    assert!(bench.events(run).await.is_empty());
    bench.wish(run, RunWish::Release);
    bench.release_of(run).await;
    assert_eq!(bench.events(run).await.len(), 1);
    assert!(!bench.work("ran").exists());
}

#[tokio::test]
async fn a_job_that_is_told_to_end_before_it_was_started_never_starts() {
    let mut bench = Bench::new().await;
    let mut order = bench.order("#!/bin/sh\ntouch ran\n", "").await;
    order.wish = RunWish::Cancel;
    let run = bench.give(order);
    assert_eq!(bench.end_of(run).await.text(), "cancelled 0:0");
    assert!(!bench.work("ran").exists());
}

#[tokio::test]
async fn a_script_that_is_not_in_the_log_fails_the_job_and_a_log_that_does_not_answer_does_not() {
    let mut bench = Bench::new().await;
    let mut order = bench.order("#!/bin/sh\n", "").await;
    Arc::make_mut(&mut order.spec).script = daybook_schemas::BlobHash::of(b"elsewhere");
    let run = bench.give(order);
    let end = bench.end_of(run).await;
    assert_eq!(end.text(), "launch_failed 0:53");
    assert!(end.ended().message.unwrap().contains("is not in the log"));
    let order = bench.order("#!/bin/sh\necho ran > ran\n", "").await;
    bench.log.refuse_reads(3);
    bench.give(order);
    until_written(&bench.work("ran")).await;
}
