//! The packing experiment.

use std::path::Path;
use std::process::{Command, Output};

use daybook_simulate::packing::experiment::Setting;
use daybook_simulate::packing::figures::PackingFigures;
use daybook_simulate::packing::input::{read_nodes, read_pods};
use daybook_simulate::packing::policy::PackingPolicy;
use serde_json::Value;

/// One GPU beside many CPUs, two beside few.
const NODES: &str = "sn,cpu_milli,memory_mib,gpu,model\nx,8000,9000,1,A\ny,4100,9000,2,A\n";
/// Three that need few CPUs and one that needs many: as many as 133 % of the GPUs, so that none is drawn again.
const PODS: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n\
    a,2000,1,1,1000,\nb,2000,1,1,1000,\nc,2000,1,1,1000,\nd,8000,1,1,1000,\n";

fn packing(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_daybook-simulate"));
    command.current_dir(directory).arg("packing").args(arguments).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).expect("the file is written");
    }
    directory
}

/// (mean, least, most) at both marks, rounded.
fn allocated(line: &Value) -> Vec<(i64, i64, i64)> {
    let round = |value: &Value| value.as_f64().map_or(-1, |value| value.round() as i64);
    let marks = line["allocated"].as_array().expect("marks");
    marks.iter().map(|at| (round(&at["mean"]), round(&at["min"]), round(&at["max"]))).collect()
}

#[test]
fn gpus_beside_few_cpus_go_to_those_who_need_few() {
    let directory = written(&[("nodes.csv", NODES), ("pods.csv", PODS)]);
    let files = ["--pods", "pods.csv", "--nodes", "nodes.csv", "--orders", "40", "--json", "--policy"];
    let run = |policy: &str| lines(&packing(directory.path(), &[&files[..], &[policy]].concat()));
    // Three pods fill the three GPUs in any order: those that need few CPUs go where the other cannot.
    let best = &run("fragmentation")[0];
    assert_eq!(allocated(best), [(100, 100, 100), (100, 100, 100)], "{best}");
    assert_eq!(
        (best["lost"].as_f64(), best["pods"].as_f64()),
        (Some(1.0), Some(4.0)),
        "one of four has no place"
    );
    // Best fit sees less left on x (6 CPUs) than on y (2.1 CPUs and a GPU); then the one for x has no place, unless it
    // comes first, or last.
    let bestfit = &run("bestfit")[0];
    let marks = allocated(bestfit);
    assert_eq!((marks[0].1, marks[0].2, marks[1]), (67, 100, (100, 100, 100)), "{bestfit}");
    // The fewest free GPUs first does the same here, and the planner's rule what the score does.
    assert_eq!(allocated(&run("fullest")[0]), marks);
    assert_eq!(allocated(&run("live")[0]), [(100, 100, 100), (100, 100, 100)]);
    assert_eq!(run("all").len(), 5);
}

#[test]
fn the_same_seed_gives_the_same_orders() {
    let directory = written(&[("nodes.csv", NODES), ("pods.csv", PODS)]);
    let run = |seed: &str| {
        let files = ["--pods", "pods.csv", "--nodes", "nodes.csv", "--policy", "random,bestfit", "--json"];
        let mut lines = lines(&packing(directory.path(), &[&files[..], &["--seed", seed]].concat()));
        lines.iter_mut().for_each(|line| line["milliseconds"] = Value::Null);
        lines
    };
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7")[0]["allocated"], run("70")[0]["allocated"]);
}

#[test]
fn parts_of_gpus_types_and_memory_are_respected() {
    let nodes = "sn,cpu_milli,memory_mib,gpu,model\nx,9000,100,1,A\ny,9000,100,1,B\n";
    let pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n\
        half,0,60,1,500,A|C\nhalf2,0,60,1,500,A\nmost,0,0,1,900,B\nnone,0,101,1,700,\n";
    let directory = written(&[("nodes.csv", nodes), ("pods.csv", pods)]);
    for policy in ["random", "bestfit", "fullest", "fragmentation", "live"] {
        let arguments = ["--pods", "pods.csv", "--nodes", "nodes.csv", "--json", "--policy", policy];
        let line = &lines(&packing(directory.path(), &arguments))[0];
        // One half on A (memory for one), 900 on B or nothing more: no order gives more than 1.4 of 2 GPUs.
        let marks = allocated(line);
        assert_eq!((marks[0].2 <= 70, marks[1].2), (true, 70), "{line}");
        assert!(line["lost"].as_f64() >= Some(2.0), "{line}");
    }
}

#[test]
fn a_table_for_people() {
    let directory = written(&[("nodes.csv", NODES), ("pods.csv", PODS)]);
    let output = packing(directory.path(), &["--pods", "pods.csv", "--nodes", "nodes.csv", "--whole-gpus"]);
    let table = text(&output.stdout);
    let mut shown = table.lines();
    assert_eq!(
        shown.next(),
        Some("4 pods, 2 shapes in the usual mix, 2 nodes with 3 GPUs, 10 orders from seed 1"),
        "{table}{}",
        text(&output.stderr)
    );
    assert_eq!(
        shown.next(),
        Some("policy          arrived  allocated      least       most  deviation pods lost        time")
    );
    let row = shown.next().expect("a row");
    assert!(
        row.starts_with("fragmentation     100 %    100.00%    100.00%    100.00%       0.00       1.0"),
        "{row}"
    );
    assert_eq!(shown.next(), Some("                  130 %    100.00%    100.00%    100.00%       0.00"));
}

#[test]
fn faults_say_where_and_what_and_fail() {
    let pods = |rows: &str| format!("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n{rows}");
    let directory = written(&[
        ("nodes.csv", NODES),
        ("pods.csv", PODS),
        ("column.csv", "name,cpu_milli,num_gpu,gpu_milli\na,1,1,1000\n"),
        ("word.csv", &pods("a,1,1,1,1000\nb,1,x,1,1000\n")),
        ("much.csv", &pods("a,1,1,1,1001\n")),
        ("nothing.csv", &pods("a,1,1,1,0\n")),
        ("negative.csv", &pods("a,-1,1,1,1000\n")),
        ("short.csv", &pods("a,1,1,1,1000\nb,1,1\n")),
        ("empty.csv", &pods("")),
        ("no-bytes.csv", ""),
        ("cpus.csv", &pods("a,1,1,0,0\n")),
        ("tiny.csv", &pods("a,1,1,1,1\n")),
        ("large.csv", "sn,cpu_milli,memory_mib,gpu,model\n".to_string().as_str()),
        ("no-gpus.csv", "sn,cpu_milli,memory_mib,gpu,model\nx,1,1,0,A\n"),
        ("gpus.csv", "sn,cpu_milli,memory_mib,gpu,model\nx,1,1,1025,A\n"),
    ]);
    std::fs::write(
        directory.path().join("bytes.csv"),
        b"name,cpu_milli,memory_mib,num_gpu,gpu_milli\n\xff,1,1,1,1\n",
    )
    .expect("written");
    for (pods, nodes, what) in [
        ("none.csv", "nodes.csv", "none.csv: No such file"),
        ("pods.csv", "none.csv", "none.csv: No such file"),
        (
            "column.csv",
            "nodes.csv",
            "column.csv, line 1: there is no column \"memory_mib\" (needed: cpu_milli,",
        ),
        (
            "word.csv",
            "nodes.csv",
            "word.csv, line 3: memory_mib is \"x\", which is no whole number from 0 to",
        ),
        ("much.csv", "nodes.csv", "line 2: gpu_milli is \"1001\", which is no whole number from 1 to 1000"),
        ("nothing.csv", "nodes.csv", "line 2: gpu_milli is \"0\", which is no whole number from 1 to 1000"),
        ("negative.csv", "nodes.csv", "line 2: cpu_milli is \"-1\""),
        ("short.csv", "nodes.csv", "short.csv, line 3: it has 3 columns, the first line has 5"),
        ("bytes.csv", "nodes.csv", "bytes.csv, line 2: it is no UTF-8"),
        ("empty.csv", "nodes.csv", "empty.csv: there is nothing in it but its first line"),
        ("no-bytes.csv", "nodes.csv", "no-bytes.csv, line 1: there is no column \"cpu_milli\""),
        ("cpus.csv", "nodes.csv", "no pod wants a GPU"),
        (
            "pods.csv",
            "pods.csv",
            "pods.csv, line 1: there is no column \"gpu\" (needed: cpu_milli, memory_mib, gpu, model)",
        ),
        ("pods.csv", "large.csv", "large.csv: there is nothing in it"),
        ("pods.csv", "no-gpus.csv", "no node has a GPU"),
        ("pods.csv", "gpus.csv", "line 2: gpu is \"1025\", which is no whole number from 0 to 1024"),
    ] {
        let output = packing(directory.path(), &["--pods", pods, "--nodes", nodes]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{pods} {nodes}: {said}");
        assert!(said.starts_with("daybook simulate: error: ") && said.contains(what), "{what}:\n{said}");
    }
    for arguments in [
        &["--pods", "pods.csv"][..],
        &["--pods", "pods.csv", "--nodes", "nodes.csv", "--policy", "best"],
        &["--pods", "pods.csv", "--nodes", "nodes.csv", "--orders", "0"],
        &["--pods", "pods.csv", "--nodes", "nodes.csv", "--trace", "x"],
    ] {
        assert_eq!(packing(directory.path(), arguments).status.code(), Some(2), "{arguments:?}");
    }
    // A few thousandths of a GPU at a time would be millions of arrivals; it is said before they are drawn.
    let many = "sn,cpu_milli,memory_mib,gpu,model\n".to_string() + &"x,1,1,1024,A\n".repeat(8);
    std::fs::write(directory.path().join("many.csv"), many).expect("written");
    let output = packing(directory.path(), &["--pods", "tiny.csv", "--nodes", "many.csv"]);
    assert!(text(&output.stderr).contains("10649600 of them are needed"), "{}", text(&output.stderr));
}

/// On the pods and nodes of the published experiment, where they lie beside the checkout: published at 100 % and 130 %
/// are 86.30 and 87.47 (random), 92.86 and 93.08 (best fit), 95.23 and 95.39 (their own policy).
#[test]
fn the_published_experiment_comes_out_as_published_or_better() {
    let traces = Path::new("../../../shared/traces/gpu");
    let (pods, nodes) =
        (traces.join("openb_pod_list_default.csv.gz"), traces.join("openb_node_list_gpu_node.csv"));
    if !pods.exists() || !nodes.exists() {
        eprintln!("left out: {} is not there", pods.display());
        return;
    }
    let setting =
        Setting::new(read_pods(&pods).expect("pods"), read_nodes(&nodes).expect("nodes")).expect("a setting");
    assert_eq!(setting.capacity(), 6_212_000);
    for (policy, least, most) in [
        (PackingPolicy::Random, [85.8, 86.9], [87.8, 88.4]),
        (PackingPolicy::BestFit, [92.4, 92.6], [93.4, 93.6]),
        (PackingPolicy::Fragmentation, [95.1, 95.2], [96.5, 96.5]),
        (PackingPolicy::Live, [95.1, 95.2], [96.5, 96.5]),
    ] {
        let outcomes: Vec<_> = (1..=3).map(|seed| setting.run(policy, seed, &mut |_, _| {})).collect();
        let figures = PackingFigures::of(&outcomes, setting.capacity());
        for (at, (least, most)) in figures.allocated.iter().zip(least.into_iter().zip(most)) {
            assert!((least..=most).contains(&at.mean), "{}: {at:?}", policy.word());
        }
    }
}
