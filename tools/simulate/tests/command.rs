//! The command, as its user runs it.

use std::path::Path;
use std::process::{Command, Output};

const TINY: &str = "; MaxProcs: 4\n\
    1 0 -1 100 4 -1 -1 4 100 -1 1 1 1 -1 -1 -1 -1 -1\n\
    2 10 -1 50 2 -1 -1 2 60 -1 1 1 1 -1 -1 -1 -1 -1\n\
    3 10 -1 -1 2 -1 -1 2 60 -1 0 1 1 -1 -1 -1 -1 -1\n\
    4 20 -1 9 9 -1 -1 9 60 -1 1 2 1 -1 -1 -1 -1 -1\n";

fn simulate(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_daybook-simulate"));
    command.current_dir(directory).args(arguments).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_trace_gives_a_table_figures_and_starts() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("tiny.swf"), TINY).expect("the trace is written");
    let output =
        simulate(directory.path(), &["--trace", "tiny.swf", "--policy", "fcfs,easy", "--starts", "out.csv"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(
        text(&output.stdout),
        "tiny.swf: 2 jobs on 4 processors (one pool)\n  \
         left out: 1 (more processors than there are)\n  \
         left out: 1 (no run time)\n\
         policy          mean wait      median         p99     longest     slowdown    util\n\
         fcfs               45.0 s         0 s        90 s        90 s       1.9000  83.33%\n\
         easy               45.0 s         0 s        90 s        90 s       1.9000  83.33%\n"
    );
    let starts = std::fs::read_to_string(directory.path().join("out.csv")).expect("the starts are there");
    assert_eq!(starts, "pos,id,submit,start,end,procs\n0,1,0,0,100,4\n1,2,10,100,150,2\n");
    let output = simulate(directory.path(), &["--trace", "tiny.swf", "--json"]);
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one line of JSON");
    assert_eq!(
        (line["policy"].as_str(), line["mean_wait"].as_f64(), line["sum_of_starts"].as_u64()),
        (Some("easy"), Some(45.0), Some(100))
    );
}

#[test]
fn starts_are_whole_or_not_there_and_lead_where_they_led() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("tiny.swf"), TINY).expect("the trace is written");
    // What is there stays where nothing can be simulated, and nothing lies beside it.
    std::fs::write(path("old.csv"), "old").expect("written");
    let output =
        simulate(directory.path(), &["--trace", "tiny.swf", "--processors", "1", "--starts", "old.csv"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(path("old.csv")).expect("there"), "old");
    // A link goes on leading to the file, a device is written as it is.
    std::os::unix::fs::symlink("old.csv", path("link.csv")).expect("a link");
    for file in ["link.csv", "/dev/null"] {
        let output = simulate(directory.path(), &["--trace", "tiny.swf", "--starts", file]);
        assert!(output.status.success(), "{file}: {}", text(&output.stderr));
    }
    assert!(path("link.csv").is_symlink());
    assert!(std::fs::read_to_string(path("old.csv")).expect("there").ends_with("\n1,2,10,100,150,2\n"));
    // Known before anything is simulated: nothing has been printed.
    for file in ["no/where.csv", "."] {
        let output = simulate(directory.path(), &["--trace", "tiny.swf", "--starts", file]);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""), "{file}");
        assert!(text(&output.stderr).contains("cannot be written"), "{file}: {}", text(&output.stderr));
    }
    let names = std::fs::read_dir(directory.path()).expect("listed").flatten().map(|entry| entry.file_name());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, ["link.csv", "old.csv", "tiny.swf"]);
}

#[test]
fn a_reader_that_has_gone_is_no_panic() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("tiny.swf"), TINY).expect("the trace is written");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_daybook-simulate"));
    command.current_dir(directory.path()).args(["--trace", "tiny.swf"]).stdout(writer);
    let output = command.output().expect("it runs");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(141), ""));
}

#[test]
fn a_csv_of_gpu_jobs_needs_nodes_and_leaves_out_parts_of_gpus() {
    let directory = tempfile::tempdir().expect("a directory");
    let rows = "job_id,user,account,submit,start,end,run,gpus,gpu_type,nodes,cpus,mem_mib,time_limit,state\n\
        a,u,x,0,,,100,8,,,,,,COMPLETED\nb,u,x,1,,,10,0.5,,,,,,COMPLETED\nc,u,x,2,,,10,16,,2,,,,COMPLETED\n";
    std::fs::write(directory.path().join("gpu.csv"), rows).expect("the trace is written");
    let output = simulate(directory.path(), &["--trace", "gpu.csv"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("such as --nodes 96x8"), "{}", text(&output.stderr));
    let output = simulate(directory.path(), &["--trace", "gpu.csv", "--nodes", "2x8", "--json"]);
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one line of JSON");
    assert_eq!((line["jobs"].as_u64(), line["longest_wait"].as_u64()), (Some(2), Some(98)), "{line}");
    assert_eq!(line["dropped"]["a part of a GPU"].as_u64(), Some(1));
}

const TITLES: &str =
    "job_id,user,account,submit,start,end,run,gpus,gpu_type,nodes,cpus,mem_mib,time_limit,state\n";
const NODES: &str = "sn,cpu_milli,memory_mib,gpu,model\na,32000,64000,2,T4\nb,32000,64000,4,V100M32\nc,32000,64000,4,V100M16\n";

#[test]
fn jobs_get_gpus_of_the_types_that_they_ask_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).expect("written");
    write("nodes.csv", NODES);
    // Both V100 nodes are taken by the first two; the third waits for one of them although the T4s are free, and so
    // does the fourth for just one. The fifth may have T4s, and no node has an A100 for the last.
    let rows = "a,u,x,0,,,100,4,V100M32,1,8,1000,,COMPLETED\n\
        b,u,x,0,,,50,4,V100M16|V100M32,1,8,1000,,COMPLETED\n\
        c,u,x,0,,,10,2,V100M16|V100M32,1,1,,,COMPLETED\n\
        d,u,x,0,,,10,2,V100M32,1,1,,,COMPLETED\n\
        e,u,x,0,,,10,1,,1,1,,,COMPLETED\n\
        f,u,x,0,,,10,1,A100,1,1,,,COMPLETED\n";
    write("gpu.csv", &format!("{TITLES}{rows}"));
    let output = simulate(
        directory.path(),
        &["--trace", "gpu.csv", "--nodes", "nodes.csv", "--policy", "easy", "--starts", "out.csv"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).starts_with(
            "gpu.csv: 5 jobs on 10 GPUs (3 nodes)\n  left out: 1 (more GPUs of its types than there are)\n"
        ),
        "{}",
        text(&output.stdout)
    );
    let starts = std::fs::read_to_string(directory.path().join("out.csv")).expect("the starts are there");
    let starts: Vec<&str> = starts.lines().skip(1).filter_map(|line| line.split(',').nth(3)).collect();
    assert_eq!(starts, ["0", "0", "50", "100", "0"]);
}

#[test]
fn faults_say_where_and_what_and_fail() {
    let directory = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).expect("written");
    write("tiny.swf", TINY);
    write("short.swf", "; MaxProcs: 4\n1 2 3\n");
    write("word.swf", "; MaxProcs: 4\n1 0 -1 x 4 -1 -1 4 100\n");
    write("empty.swf", "; MaxProcs: 4\n");
    write("nodes.csv", NODES);
    write("gpu.csv", &format!("{TITLES}a,u,x,0,,,9,1,,1,1,1,,COMPLETED\n"));
    write("cut.csv", &format!("{TITLES}a,u,x,0,,,9,1,,1,1,1,,COMPLETED\nb,u\n"));
    write("types.csv", &format!("{TITLES}a,u,x,0,,,9,1,A||B,1,1,1,,COMPLETED\n"));
    write("more.csv", "job_id,submit,run,gpus,time_limit,state,colour\na,0,9,1,,COMPLETED,red\n");
    write("no-nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\n");
    write("rack.csv", "sn,cpu_milli,memory_mib,gpu,model,rack\na,1000,1,1,T4,1\n");
    write("parts.csv", "sn,cpu_milli,memory_mib,gpu,model\na,1500,1,1,T4\n");
    write("twice.csv", "sn,cpu_milli,memory_mib,gpu,model\na,1000,1,1,T4\na,1000,1,1,T4\n");
    write("header.swf", "1 0 -1 100 4 -1 -1 4 100\n");
    for (arguments, code, what) in [
        (&["--trace", "none.swf"][..], 1, "none.swf: No such file"),
        (&["--trace", "short.swf"], 1, "short.swf, line 2: 3 columns, at least 9 are needed"),
        (&["--trace", "word.swf"], 1, "word.swf, line 2: column 4 is \"x\", which is no number"),
        (&["--trace", "empty.swf"], 1, "there is no job in it"),
        (&["--trace", "header.swf"], 1, "its header has no MaxProcs"),
        (&["--trace", "tiny.swf", "--nodes", "0x4"], 1, "nothing to run on"),
        (&["--trace", "tiny.swf", "--processors", "1"], 1, "no job of tiny.swf fits on 1 processors"),
        (&["--trace", "tiny.swf", "--policy", "best"], 2, "there is no policy \"best\""),
        (
            &["--trace", "cut.csv", "--nodes", "3x8"],
            1,
            "cut.csv, line 3: it has 2 columns, the first line has 14",
        ),
        (
            &["--trace", "more.csv", "--nodes", "3x8"],
            1,
            "more.csv, line 1: the column \"colour\" is not known",
        ),
        (&["--trace", "types.csv", "--nodes", "3x8"], 1, "types.csv, line 2: gpu_type is \"A||B\""),
        (&["--trace", "gpu.csv", "--nodes", "none.csv"], 1, "--nodes none.csv: No such file"),
        (
            &["--trace", "gpu.csv", "--nodes", "no-nodes.csv"],
            1,
            "no-nodes.csv: there is nothing in it but its first",
        ),
        (
            &["--trace", "gpu.csv", "--nodes", "rack.csv"],
            1,
            "rack.csv, line 1: the column \"rack\" is not known",
        ),
        (&["--trace", "gpu.csv", "--nodes", "parts.csv"], 1, "parts.csv, line 2: cpu_milli is 1500"),
        (
            &["--trace", "gpu.csv", "--nodes", "twice.csv"],
            1,
            "twice.csv, line 3: the node \"a\" is there twice",
        ),
        (&["--trace", "tiny.swf", "--starts", "no/where.csv"], 1, "no/where.csv"),
    ] {
        let output = simulate(directory.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(what), "{arguments:?}: {}", text(&output.stderr));
    }
}
