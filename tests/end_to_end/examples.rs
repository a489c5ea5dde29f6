//! The sample sites in `deploy/examples/`, started as they are: their accounts, a job in each partition, and who is
//! refused.

use std::path::{Path, PathBuf};
use std::process::Command;

use daybook_tests::{Answer, Cluster, wait_until};

/// Users whom every Debian has.
const MEMBER: (u32, &str) = (1, "daemon");
const OTHER: (u32, &str) = (2, "bin");
const STRANGER: u32 = 65_534;

const NO_ACCOUNT: &str = "Invalid account or account/partition combination specified";
const NO_QOS: &str = "Invalid qos specification";

fn site(name: &str) -> PathBuf {
    let manifest = std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate");
    Path::new(&manifest).join("../deploy/examples").join(name)
}

/// A cluster that runs with a site's files and accounts.
fn started(name: &str) -> Cluster {
    let file = |file: &str| std::fs::read_to_string(site(name).join(file)).expect(file);
    let mut cluster = Cluster::new(&file("slurm.conf"));
    for other in ["gres.conf", "topology.conf", "daybook.toml"] {
        std::fs::write(cluster.root.join("config").join(other), file(other)).expect(other);
    }
    cluster.start();
    let commands = cluster.root.join("bin");
    std::fs::create_dir_all(&commands).expect("a directory for the commands");
    cluster.run("links", &[&commands.to_string_lossy()]).ok();
    let path = format!("{}:{}", commands.display(), std::env::var("PATH").unwrap_or_default());
    let script = Command::new(site(name).join("accounts.sh"))
        .env("PATH", path)
        .env("DAYBOOK_SOCKET", cluster.socket())
        .output()
        .expect("accounts.sh runs");
    Answer::from(script).ok();
    cluster
}

fn sacctmgr(cluster: &Cluster, line: &str) -> String {
    let arguments: Vec<&str> = line.split(' ').collect();
    cluster.run("sacctmgr", &arguments).ok()
}

/// Submits as a user; the job has to run. Gives its partition, first node, CPUs, account and QOS.
#[track_caller]
fn runs(cluster: &Cluster, user: u32, options: &str) -> String {
    let options: Vec<&str> = options.split_whitespace().collect();
    let arguments = [&["--parsable", "-o", "/dev/null", "-D", "/"], &options[..], &["--wrap=true"]].concat();
    let job = cluster.run_as(user, "sbatch", &arguments).ok().trim().to_string();
    // With -a: the partition may be hidden.
    let show =
        |format: &str| cluster.run("squeue", &["-a", "-h", "-j", &job, "-o", format]).ok().trim().to_string();
    wait_until(&format!("job {job} runs ({options:?})"), || show("%T") == "RUNNING");
    show("%P %N %C %a %q")
}

#[track_caller]
fn is_refused(cluster: &Cluster, user: u32, options: &str, why: &str) {
    let options: Vec<&str> = options.split_whitespace().collect();
    let answer = cluster.run_as(user, "sbatch", &[&options[..], &["--wrap=true"]].concat());
    let words = format!("sbatch: error: Batch job submission failed: {why}\n");
    assert_eq!((answer.code, answer.err), (1, words), "{options:?}");
}

#[test]
fn the_university_does_what_its_page_says() {
    let cluster = started("university");
    sacctmgr(&cluster, &format!("-i add user {} account=astro fairshare=parent", MEMBER.1));
    sacctmgr(&cluster, &format!("-i add user {} account=ml101 defaultqos=teaching", OTHER.1));

    for (user, options, expected) in [
        (MEMBER.0, "-n 64 -t 2:00:00", "cpu cpu001 64 astro normal"),
        (MEMBER.0, "-p bigmem -n 8", "bigmem big01 8 astro normal"),
        (MEMBER.0, "-p gpu-l40s --gpus=1", "gpu-l40s l40s-01 16 astro normal"),
        (MEMBER.0, "-p gpu-a100 --gpus=2", "gpu-a100 a100-01 32 astro normal"),
        (MEMBER.0, "-p gpu-h100 --gpus=8 -q paid", "gpu-h100 h100-01 64 astro paid"),
        (MEMBER.0, "-p short,cpu -N 4 -n 4", "short cpu[002-005] 4 astro normal"),
        (MEMBER.0, "-p debug -q debug", "debug cpu047 1 astro debug"),
        (MEMBER.0, "-L comsol:2", "cpu cpu002 1 astro normal"),
        (OTHER.0, "-p gpu-l40s --gpus=1 -t 1:00:00", "gpu-l40s l40s-01 16 ml101 teaching"),
    ] {
        assert_eq!(runs(&cluster, user, options), expected, "{options}");
    }
    for (user, options, why) in [
        (MEMBER.0, "-p short -t 8:00:00", "Requested time limit is invalid (missing or exceeds some limit)"),
        (MEMBER.0, "-A chemistry", NO_ACCOUNT),
        (MEMBER.0, "-q teaching", NO_QOS),
        (MEMBER.0, "-p debug", NO_QOS),
        (OTHER.0, "-p gpu-h100 --gpus=1", NO_ACCOUNT),
        (OTHER.0, "-q paid", NO_QOS),
        (STRANGER, "", NO_ACCOUNT),
    ] {
        is_refused(&cluster, user, options, why);
    }

    // A second job that needs more licences than are left waits for them.
    let waits = ["--parsable", "-o", "/dev/null", "-D", "/", "-L", "comsol:3", "--wrap=true"];
    let waits = cluster.run_as(MEMBER.0, "sbatch", &waits).ok().trim().to_string();
    wait_until("it waits for licences", || {
        cluster.run("squeue", &["-h", "-j", &waits, "-o", "%r"]).out.trim() == "Licenses"
    });

    // The maintenance of the page: a job that would run into it waits, a shorter one starts.
    let page = std::fs::read_to_string(site("university").join("README.md")).expect("README.md");
    let command = page.replace("\\\n", " ");
    let command =
        command.lines().find(|line| line.contains("scontrol create reservation")).expect("the command");
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    assert_eq!(cluster.run("scontrol", &words).ok(), "Reservation created: maintenance\n");
    let long = ["--parsable", "-o", "/dev/null", "-D", "/", "-t", "7-0", "--wrap=true"];
    let long = cluster.run_as(MEMBER.0, "sbatch", &long).ok().trim().to_string();
    wait_until("it waits for the maintenance's end", || {
        let reason = cluster.run("squeue", &["-h", "-j", &long, "-o", "%r"]).out;
        reason.starts_with("ReqNodeNotAvail")
    });
    assert_eq!(runs(&cluster, MEMBER.0, "-t 1:00:00"), "cpu cpu002 1 astro normal");

    // Shares: a researcher is counted with the group, a student alone.
    let shares = sacctmgr(&cluster, "-nP show assoc format=account,user,share");
    for line in ["science||50", "astro|alice|parent", "ml101|erin|1"] {
        assert!(shares.lines().any(|found| found == line), "{line}: {shares}");
    }
}

#[test]
fn the_lab_does_what_its_page_says() {
    let cluster = started("ai-lab");
    sacctmgr(&cluster, &format!("-i add user {} account=research,eval defaultaccount=research", MEMBER.1));
    sacctmgr(&cluster, &format!("-i add user {} account=product", OTHER.1));

    for (user, options, expected) in [
        (MEMBER.0, "--gpus-per-node=8 -N 2 -t 1-0", "train h100-[09-10] 224 research research"),
        (OTHER.0, "--gpus=4", "train h100-01 56 product product"),
        (
            OTHER.0,
            "-p preemptible -q scavenge --gpus=8 -t 4:00:00",
            "preemptible h100-02 112 product scavenge",
        ),
        (MEMBER.0, "-p dev -q dev --gpus=1 -t 2:00:00", "dev l40s-01 16 research dev"),
        (MEMBER.0, "-A eval -p eval --gpus=2", "eval h100-15 28 eval eval"),
    ] {
        assert_eq!(runs(&cluster, user, options), expected, "{options}");
    }
    for (user, options, why) in [
        (MEMBER.0, "-p train -q scavenge --gpus=1", NO_QOS),
        (MEMBER.0, "-p preemptible --gpus=1", NO_QOS),
        (MEMBER.0, "-A product", NO_ACCOUNT),
        (OTHER.0, "-p eval --gpus=1", NO_ACCOUNT),
        (OTHER.0, "-q research", NO_QOS),
        (STRANGER, "-p dev", NO_ACCOUNT),
    ] {
        is_refused(&cluster, user, options, why);
    }

    // The guarantees of all teams together are the GPUs of train.
    let qos = sacctmgr(&cluster, "-nP show qos format=name,grptres,preempt");
    let guarantee =
        |line: &str| line.split("gres/gpu=").nth(1)?.split(['|', ',']).next()?.parse::<u64>().ok();
    let promised: u64 = qos.lines().filter_map(guarantee).sum();
    let train = cluster.run("sinfo", &["-h", "-p", "train", "-o", "%D %G"]).ok();
    assert_eq!((promised, train.trim()), (14 * 8, "14 gpu:h100:8"), "{qos}");
    for team in ["pretrain", "research", "product"] {
        let line = qos.lines().find(|line| line.starts_with(&format!("{team}|"))).expect(team);
        assert!(line.ends_with("|scavenge"), "{line}");
    }
}
