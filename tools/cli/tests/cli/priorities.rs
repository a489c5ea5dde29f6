//! `sprio` and `sshare` on the site of a recording of a real Slurm (`sprio-01`): the same figures give the same text, but
//! that addends are rounded down, so that they add up to the priority.

use daybook_schemas::JobId;
use daybook_schemas::accounts::Shares;
use daybook_schemas::api::{AssociationShare, JobPriority, LevelFairShare, PrioritiesAnswer, SharesAnswer};
use daybook_schemas::priority::{PriorityAddends, PriorityFactors, PriorityParameters};
use expect_test::expect_file;
use serde_json::json;

use crate::harness::{Daemon, Reply, Request};

fn parameters() -> PriorityParameters {
    PriorityParameters {
        weight_age: 1_000,
        weight_fair_share: 10_000,
        weight_job_size: 1_000,
        weight_partition: 1_000,
        weight_qos: 10_000,
        ..PriorityParameters::default()
    }
}

/// Fair share in sixths, size in 64ths, partition and QOS in tenths.
fn job(
    id: u32,
    user: (&str, u32),
    partition: (&str, u64),
    fair_share: u64,
    size: u64,
    qos: u64,
) -> JobPriority {
    let one = 1u64 << 32;
    let factors = PriorityFactors {
        fair_share: (fair_share * one).div_ceil(6),
        job_size: size * one / 64,
        partition: (partition.1 * one).div_ceil(10),
        qos: (qos * one).div_ceil(10),
        ..PriorityFactors::default()
    };
    let weighted =
        |weight: u64, factor: u64| u64::try_from((u128::from(weight) * u128::from(factor)) >> 32).unwrap();
    let addends = PriorityAddends {
        fair_share: weighted(10_000, factors.fair_share),
        job_size: weighted(1_000, factors.job_size),
        partition: weighted(1_000, factors.partition),
        qos: weighted(10_000, factors.qos),
        ..PriorityAddends::default()
    };
    let sum = addends.fair_share + addends.job_size + addends.partition + addends.qos;
    JobPriority {
        job: JobId(id),
        display_id: id.to_string(),
        partition: partition.0.to_string(),
        user: user.0.to_string(),
        uid: user.1,
        account: "ml".to_string(),
        qos: "high".to_string(),
        priority: u32::try_from(sum).unwrap(),
        fixed: false,
        factors,
        addends,
    }
}

fn priorities() -> PrioritiesAnswer {
    let (alice, bob) = (("alice", 1001), ("bob", 1002));
    let held = JobPriority { priority: 0, ..job(289, alice, ("main", 1), 1, 9, 0) };
    let jobs = vec![
        held,
        job(290, alice, ("main", 1), 1, 36, 0),
        job(291, alice, ("main", 1), 1, 18, 10),
        job(296, alice, ("short", 10), 1, 9, 10),
        job(304, bob, ("main", 1), 3, 9, 10),
    ];
    PrioritiesAnswer { parameters: Some(parameters()), calculated: None, jobs }
}

/// Account and user, depth, shares, their part in millionths, what has been used, of all, of the account above, rank.
type Row = (&'static str, &'static str, u32, u32, u64, u64, u64, u64, Option<u64>, Option<LevelFairShare>);

fn share(id: u32, row: Row) -> AssociationShare {
    let (account, user, depth, shares, norm_shares, usage, norm_usage, effective_usage, fair_share, level) =
        row;
    let mut run_mins: std::collections::BTreeMap<String, u64> =
        ["cpu", "mem", "node", "billing", "gres/gpu"].iter().map(|name| (name.to_string(), 0)).collect();
    if user.is_empty() && account == "root" {
        run_mins.extend([("cpu".to_string(), 960), ("mem".to_string(), 480_000), ("node".to_string(), 120)]);
    }
    AssociationShare {
        id,
        account: account.to_string(),
        user: (!user.is_empty()).then(|| user.to_string()),
        partition: None,
        depth,
        parent: None,
        shares: Shares::Number(shares),
        norm_shares,
        usage,
        norm_usage,
        effective_usage,
        fair_share,
        level_fair_share: level,
        grp_tres_mins: (account == "tiny" && user.is_empty())
            .then(|| ("cpu".to_string(), 1))
            .into_iter()
            .collect(),
        tres_run_mins: run_mins,
    }
}

fn shares() -> SharesAnswer {
    let level = |millionths| Some(LevelFairShare::Millionths(millionths));
    let infinite = Some(LevelFairShare::Infinite);
    let rows: [Row; 11] = [
        ("root", "", 0, 1, 0, 1_273_000, 1_000_000, 1_000_000, None, None),
        ("root", "root", 1, 1, 333_333, 0, 0, 0, Some(1_000_000), infinite),
        ("research", "", 1, 1, 333_333, 1_272_000, 999_215, 999_215, None, level(333_595)),
        ("bio", "", 2, 5, 333_333, 999, 785, 786, None, level(424_290_662)),
        ("bio", "alice", 3, 1, 500_000, 0, 0, 0, Some(666_667), infinite),
        ("bio", "bob", 3, 1, 500_000, 999, 785, 1_000_000, Some(500_000), level(500_000)),
        ("ml", "", 2, 10, 666_667, 1_271_001, 998_430, 999_214, None, level(667_191)),
        ("ml", "alice", 3, 1, 500_000, 1_271_001, 998_430, 1_000_000, Some(166_667), level(500_000)),
        ("ml", "carol", 3, 1, 500_000, 0, 0, 0, Some(333_333), infinite),
        ("tiny", "", 1, 1, 333_333, 999, 785, 785, None, level(424_623_996)),
        ("tiny", "alice", 2, 1, 1_000_000, 999, 785, 1_000_000, Some(833_333), level(1_000_000)),
    ];
    SharesAnswer {
        cluster: "tx".to_string(),
        multifactor: true,
        calculated: None,
        associations: (1u32..).zip(rows).map(|(id, row)| share(id, row)).collect(),
    }
}

fn site(request: &Request) -> Reply {
    Reply::Answer(match request.path.as_str() {
        "/v1/priorities" => serde_json::to_value(priorities()).unwrap(),
        _ => serde_json::to_value(shares()).unwrap(),
    })
}

fn transcript(daemon: &Daemon, lines: &[&str]) -> String {
    lines.iter().map(|line| format!("$ {line}\n{}\n\n", daemon.run(line))).collect()
}

fn golden(name: &str) -> std::path::PathBuf {
    let directory = std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate");
    std::path::Path::new(&directory).join("tests/cli/priorities").join(name)
}

#[test]
fn sprio_shows_what_priorities_are_made_of() {
    let daemon = Daemon::start(site);
    let lines = [
        "sprio",
        "sprio -l",
        "sprio -n",
        "sprio -w",
        "sprio -u 1002",
        "sprio -j 304,296 -h",
        "sprio -p short",
        "sprio -o %i_%u_%Y_%A_%F_%J_%P_%Q_%N_%H",
        "sprio -j 999999",
        "sprio -o %?",
        "sprio -j x",
        "sprio -S i",
        "sprio now",
    ];
    expect_file![golden("sprio.txt")].assert_eq(&transcript(&daemon, &lines));
    for job in &priorities().jobs {
        let made = &job.addends;
        let sum = made.fair_share + made.job_size + made.partition + made.qos;
        assert!(job.priority == 0 || u64::from(job.priority) == sum);
    }
    let document = daemon.run("sprio --json -j 304");
    assert!(
        document.contains("\"priorities\": {") && document.contains("\"fair_share\": 5000"),
        "{document}"
    );
}

#[test]
fn without_factors_there_is_nothing_to_show() {
    let basic = PrioritiesAnswer { parameters: None, calculated: None, jobs: Vec::new() };
    let daemon = Daemon::start(move |_| Reply::Answer(json!(basic)));
    let expected = "stderr:\nYou are not running a supported priority plugin\n(priority/basic).\n\
                    Only 'priority/multifactor' is supported.\nexit: 1";
    assert_eq!(daemon.run("sprio"), expected);
}

#[test]
fn sshare_shows_usage_and_fair_shares() {
    let daemon = Daemon::start(site);
    let lines = [
        "sshare -a",
        "sshare -a -l",
        "sshare -a -l -P",
        "sshare -A ml -a",
        "sshare -u bob -n -P -o account,user,rawshares,fairshare",
        "sshare -u alice -U",
        "sshare -u alice -U --format Account%12 --noheader",
        "sshare -a -m -p -A tiny",
        "sshare -e",
        "sshare -o nosuch",
        "sshare -o grptresraw",
        "sshare -M x",
    ];
    expect_file![golden("sshare.txt")].assert_eq(&transcript(&daemon, &lines));
    let document = daemon.run("sshare --json -a");
    assert!(document.contains("\"shares\": {") && document.contains("\"infinite\""), "{document}");
}

#[test]
fn without_a_daemon_both_say_so() {
    let daemon = Daemon::absent();
    let reason = "Unable to contact slurm controller (connect failure)\nexit: 255";
    assert_eq!(
        daemon.run("sprio"),
        format!("stderr:\nCouldn't get priority factors from controller: {reason}")
    );
    assert_eq!(daemon.run("sshare"), format!("stderr:\nCouldn't get shares from controller: {reason}"));
}
