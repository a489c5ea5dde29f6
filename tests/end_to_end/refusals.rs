//! Bad input: Slurm's words, Slurm's exit codes, and nothing half done.

use std::io::Write;
use std::process::Stdio;

use daybook_tests::{Answer, Cluster};

fn refused(cluster: &Cluster, arguments: &[&str]) -> Answer {
    let answer = cluster.run("sbatch", arguments);
    assert_ne!(answer.code, 0, "accepted: {arguments:?}");
    assert_eq!(answer.out, "", "{arguments:?}");
    answer
}

#[test]
fn what_no_node_could_ever_give_is_refused() {
    let cluster = Cluster::started();
    for arguments in [
        ["--gres=gpu:5", "--wrap=true"],
        ["-c99", "--wrap=true"],
        ["--mem=999G", "--wrap=true"],
        ["--gres=gpu:h100:1", "--wrap=true"],
    ] {
        let answer = refused(&cluster, &arguments);
        assert_eq!(answer.code, 1);
        assert!(
            answer
                .err
                .ends_with("Batch job submission failed: Requested node configuration is not available\n"),
            "{answer:?}"
        );
    }
    assert_eq!(cluster.run("squeue", &["-h"]).ok(), "");
}

#[test]
fn a_held_job_may_ask_for_what_is_not_there_but_not_by_unknown_names() {
    let cluster = Cluster::started();
    for (option, why) in [
        ("-wnosuch", "Invalid node name specified"),
        ("-xn1,nosuch", "Invalid node name specified"),
        ("-Cnosuch", "Invalid feature specification"),
    ] {
        let answer = refused(&cluster, &["--hold", option, "--wrap=true"]);
        let expected = format!("sbatch: error: Batch job submission failed: {why}\n");
        assert_eq!((answer.code, answer.err), (1, expected), "{option}");
    }
    assert_eq!(cluster.submit(&["--hold", "--mem=2T"], "true"), 1);
}

#[test]
fn an_unknown_partition_is_named() {
    let cluster = Cluster::started();
    let answer = refused(&cluster, &["-p", "nosuch", "--wrap=true"]);
    assert_eq!(answer.code, 1);
    assert_eq!(
        answer.err,
        "sbatch: error: invalid partition specified: nosuch\n\
         sbatch: error: Batch job submission failed: Invalid partition name specified\n"
    );
}

#[test]
fn scripts_that_are_none_are_refused_before_anything_is_sent() {
    let cluster = Cluster::started();
    let write = |name: &str, bytes: &[u8]| std::fs::write(cluster.work().join(name), bytes).expect("written");
    write("plain.txt", b"echo no interpreter\n");
    write("empty.sh", b"");
    write("dos.sh", b"#!/bin/sh\r\necho\r\n");
    write("binary.sh", b"#!/bin/sh\n\0\0\n");
    let mut large = b"#!/bin/sh\n".to_vec();
    large.resize(10 * 1024 * 1024, b'#');
    write("large.sh", &large);
    for script in ["plain.txt", "empty.sh", "dos.sh", "binary.sh", "large.sh", "nosuch.sh"] {
        assert_eq!(refused(&cluster, &[script]).code, 1, "{script}");
    }
    let end = cluster.api("GET", "/v1/ping", &serde_json::Value::Null).1["end"].clone();
    assert_eq!(refused(&cluster, &["plain.txt"]).code, 1);
    assert_eq!(
        cluster.api("GET", "/v1/ping", &serde_json::Value::Null).1["end"],
        end,
        "nothing was appended"
    );
}

#[test]
fn options_that_are_unknown_malformed_or_not_there_yet_are_refused_by_name() {
    let cluster = Cluster::started();
    let answer = refused(&cluster, &["--nosuch=1", "--wrap=true"]);
    assert_eq!(
        (answer.code, answer.err.as_str()),
        (255, "sbatch: unrecognized option '--nosuch=1'\nTry \"sbatch --help\" for more information\n")
    );
    assert_eq!(refused(&cluster, &["-t", "abc", "--wrap=true"]).code, 255);
    assert_eq!(refused(&cluster, &["-n", "0", "--wrap=true"]).code, 1);
    let answer = refused(&cluster, &["--container=x", "--wrap=true"]);
    assert!(answer.err.contains("--container") && answer.err.contains("not supported"), "{answer:?}");
}

#[test]
fn an_array_beyond_the_limit_is_refused_and_takes_no_id() {
    let cluster = Cluster::started();
    refused(&cluster, &["--array=0-100000", "--wrap=true"]);
    refused(&cluster, &["--array=0-1001", "--wrap=true"]);
    assert_eq!(cluster.submit(&["--hold"], "true"), 1);
}

#[test]
fn a_script_from_standard_input_runs() {
    let cluster = Cluster::started();
    let mut child = cluster
        .command("sbatch", &["--parsable"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("sbatch");
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(b"#!/bin/sh\n#SBATCH -J fromstdin\necho in\n")
        .expect("written");
    let answer = Answer::from(child.wait_with_output().expect("ends"));
    let job: u32 = answer.ok().trim().parse().expect("an id");
    assert_eq!(cluster.wait_ended(job), "COMPLETED");
    assert_eq!(cluster.output(job), "in\n");
    assert_eq!(cluster.sacct(job, "JobName"), "fromstdin");
}

#[test]
fn the_api_answers_nonsense_with_an_error() {
    let cluster = Cluster::started();
    let (status, _) = cluster.api("POST", "/v1/jobs", &serde_json::json!({"nonsense": true}));
    assert!((400..500).contains(&status), "{status}");
    let (status, answer) = cluster.api("GET", "/v1/jobs/99", &serde_json::Value::Null);
    assert_eq!((status, answer["code"].as_str()), (404, Some("invalid_job_id")));
    let (status, document) = cluster.api("GET", "/openapi.json", &serde_json::Value::Null);
    assert_eq!(status, 200);
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            let path = path.replace("{id}", "1");
            let (status, _) = cluster.api(&method.to_uppercase(), &path, &serde_json::Value::Null);
            assert!(
                status != 405 && (status != 404 || path.contains("/jobs/1")),
                "{method} {path}: {status}"
            );
        }
    }
}
