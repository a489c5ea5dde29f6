use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use super::*;

fn spec(work_dir: &Path) -> JobSpec {
    serde_json::from_value(json!({
        "name": "my job", "partition": "main", "requeue": true, "script": "00", "script_bytes": 1, "environment": "00",
        "request": { "nodes_min": 1, "tasks": 1, "cpus_per_task": 1 },
        "user": { "uid": 1001, "gid": 1001, "name": "alice", "group": "alice" },
        "work_dir": work_dir, "umask": 0o027, "submit_host": "vm", "submit_line": "sbatch"
    }))
    .unwrap()
}

fn paths() -> Paths {
    Paths { std_in: "/dev/null".into(), std_out: "out".into(), std_err: None, append: false }
}

fn written(spec: &JobSpec, paths: &Paths) -> String {
    let opened = open(spec, paths, None).unwrap();
    std::fs::File::from(opened.std_out).write_all(b"out\n").unwrap();
    std::fs::File::from(opened.std_err).write_all(b"err\n").unwrap();
    std::fs::read_to_string(Path::new(&spec.work_dir).join("out")).unwrap()
}

#[test]
fn output_is_emptied_or_continued_and_shared_with_errors() {
    let directory = tempfile::tempdir().unwrap();
    let spec = spec(directory.path());
    assert_eq!(written(&spec, &paths()), "out\nerr\n");
    assert_eq!(written(&spec, &paths()), "out\nerr\n");
    let appending = Paths { append: true, ..paths() };
    assert_eq!(written(&spec, &appending), "out\nerr\nout\nerr\n");
    let same_file = Paths { std_err: Some("./out".into()), ..paths() };
    assert_eq!(written(&spec, &same_file), "out\nerr\n");
    let apart = Paths { std_err: Some("err".into()), ..paths() };
    assert_eq!(written(&spec, &apart), "out\n");
    let mode = directory.path().join("out").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640, "the job's umask holds");
}

#[test]
fn what_cannot_be_opened_is_named() {
    let directory = tempfile::tempdir().unwrap();
    nix::unistd::mkfifo(&directory.path().join("fifo"), Mode::from_bits_truncate(0o600)).unwrap();
    let here = spec(directory.path());
    let gone = spec(Path::new("/nonexistent"));
    let cases = [
        (&gone, paths(), "working directory /nonexistent: No such file or directory"),
        (&here, Paths { std_out: "no/x".into(), ..paths() }, "output file no/x: No such file or directory"),
        (&here, Paths { std_in: "in".into(), ..paths() }, "standard input in: No such file or directory"),
        (
            &here,
            Paths { std_err: Some("fifo".into()), ..paths() },
            "error file fifo: No such device or address",
        ),
    ];
    for (spec, paths, expected) in cases {
        assert_eq!(open(spec, &paths, None).err().as_deref(), Some(expected));
    }
}

#[test]
fn patterns_decide_the_names() {
    let mut spec = spec(Path::new("/home/alice"));
    spec.std_err = Some("e_%x_%u.txt".into());
    let order = json!({
        "run": "21.0", "allocated": 7, "allocated_at": "2026-12-02T01:00:00.000000Z", "cluster_name": "tx",
        "nodes": [], "partition": "main", "account": "ml", "qos": "normal", "time_limit": "unlimited", "kill_wait": 30,
        "wish": "run", "spec": spec
    });
    let intent = json!({ "order": order, "node": "n1", "boot_id": "", "script": "", "environment_bytes": 0 });
    let mut intent: Intent = serde_json::from_value(intent).unwrap();
    let plain = Paths::of(&intent);
    assert_eq!(
        (plain.std_out.as_str(), plain.std_err.as_deref()),
        ("slurm-21.out", Some("e_my job_alice.txt"))
    );
    assert_eq!((plain.std_in.as_str(), plain.append), ("/dev/null", false));
    let task = json!({
        "id": { "array_job": 20, "task": 3 }, "task_count": 2, "task_min": 3, "task_max": 5, "task_step": 2
    });
    intent.order.array = Some(serde_json::from_value(task).unwrap());
    intent.order.run.start = 1;
    let again = Paths::of(&intent);
    assert_eq!(
        (again.std_out.as_str(), again.append),
        ("slurm-20_3.out", true),
        "a requeued run continues its files"
    );
}
