//! What a run cannot do, and that nothing of it stays. Needs root and control groups; elsewhere these tests say that they
//! have nothing to do.

use std::path::Path;

use daybook_agent::ConfinementConfig;
use daybook_cgroup::{Confining, Group, Hierarchies, NodeGroups, Rules, Versions};
use daybook_schemas::node::GpuDevice;
use daybook_schemas::orders::RunWish;
use daybook_schemas::run::AllocatedGpu;
use daybook_schemas::{Mebibytes, RunId};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::bench::{Bench, is_alive, until, until_written};

fn groups(bench: &Bench) -> Hierarchies {
    NodeGroups::new("n1", &bench.directory.path().join("state"), bench.confinement.rules.versions)
        .hierarchies()
}

fn group(bench: &Bench, run: RunId) -> Group {
    Group::named(&groups(bench), &run.to_string())
}

/// A bench for each version of control groups that this machine has, with what it can hold.
fn benches(can: impl Fn(daybook_cgroup::Abilities) -> bool) -> Vec<Bench> {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("no root: nothing is tested");
        return Vec::new();
    }
    let mut benches = Vec::new();
    for versions in [Versions::One, Versions::Two] {
        let mounted = Hierarchies::mounted().of(versions);
        if mounted.is_empty() || !can(mounted.abilities()) {
            eprintln!("{versions:?}: {}: nothing is tested", mounted.describe());
            continue;
        }
        let mut bench = Bench::unstarted(false);
        bench.confinement.rules.versions = versions;
        benches.push(bench);
    }
    benches
}

/// Another user than root, who has no account here.
fn as_stranger(order: &mut daybook_schemas::orders::RunOrder) {
    let mut spec = serde_json::to_value(&*order.spec).unwrap();
    spec["user"] = json!({ "uid": 54_321, "gid": 54_321, "name": "stranger", "group": "stranger" });
    order.spec = std::sync::Arc::new(serde_json::from_value(spec).unwrap());
}

#[tokio::test]
async fn a_run_that_takes_more_memory_than_it_was_given_is_out_of_memory() {
    for mut bench in benches(|abilities| abilities.memory) {
        bench.start();
        // The script goes on, and would end well.
        let mut order =
            bench.order("#!/bin/sh\nhead -c 300000000 /dev/zero | tail -n 1 | wc -c\nexit 0\n", "").await;
        order.nodes[0].memory = Mebibytes(50);
        let run = bench.give(order);
        let end = bench.end_of(run).await;
        assert!(end.text().starts_with("out_of_memory "), "{}", end.text());
        bench.is_settled(run).await;
        let output = std::fs::read_to_string(bench.work("slurm-1.out")).unwrap();
        let line = "slurmstepd-n1: error: Detected 1 oom-kill event(s) in StepId=1.batch. Some of your processes may \
                    have been killed by the cgroup out-of-memory handler.\n";
        assert!(output.ends_with(line), "{output}");
        // Who stays within it does not feel it.
        let run = bench.run("#!/bin/sh\nhead -c 300000000 /dev/zero | tail -n 1 | wc -c\n").await;
        assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
        bench.stop().await;
    }
}

#[tokio::test]
async fn a_run_has_the_cpus_that_it_was_given() {
    for mut bench in benches(|abilities| abilities.cpus) {
        bench.node.cpus = 1;
        bench.confinement.first_cpu = Some(0);
        bench.start();
        let run = bench.run("#!/bin/sh\ngrep Cpus_allowed_list /proc/self/status > cpus\n").await;
        assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
        let text = std::fs::read_to_string(bench.work("cpus")).unwrap();
        assert_eq!(text.split_whitespace().nth(1).unwrap().parse::<u32>().unwrap(), 0);
        bench.stop().await;
    }
}

#[tokio::test]
async fn another_s_gpu_cannot_be_opened_and_one_s_own_can() {
    for mut bench in benches(|abilities| abilities.devices) {
        // Devices that everybody may open, so that nothing else refuses them.
        for (index, file) in ["/dev/zero", "/dev/full"].into_iter().enumerate() {
            let gpu = GpuDevice::new("n1", u32::try_from(index).unwrap(), "a100");
            bench.node.gpus.push(GpuDevice { file: Some(file.to_string()), ..gpu });
        }
        bench.start();
        let script = "#!/bin/sh\nexport CUDA_VISIBLE_DEVICES_GIVEN=$CUDA_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES=0,1\n\
            (exec 3< /dev/zero) 2>/dev/null && echo zero > opened\n(exec 3< /dev/full) 2>/dev/null && echo full >> opened\n\
            echo $CUDA_VISIBLE_DEVICES_GIVEN $SLURM_JOB_GPUS >> opened\n";
        for (index, opened) in [(Some(1), "full\n0 1\n"), (Some(0), "zero\n0 0\n"), (None, "\n")] {
            let mut order = bench.order(script, "").await;
            as_stranger(&mut order);
            let gpus = index.map(|index: u32| AllocatedGpu {
                index,
                uuid: bench.node.gpus[index as usize].uuid.clone(),
                gpu_type: "a100".to_string(),
            });
            order.nodes[0].gpus = gpus.into_iter().collect();
            let _ = std::fs::remove_file(bench.work("opened"));
            let run = bench.give(order);
            assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
            assert_eq!(std::fs::read_to_string(bench.work("opened")).unwrap(), opened);
            bench.is_settled(run).await;
        }
        bench.stop().await;
    }
}

#[tokio::test]
async fn gpus_without_files_keep_their_numbers_for_nothing_hides_the_others() {
    for mut bench in benches(|abilities| abilities.devices) {
        bench.node.gpus = (0..2).map(|index| GpuDevice::new("n1", index, "a100")).collect();
        bench.start();
        let mut order = bench.order("#!/bin/sh\necho $CUDA_VISIBLE_DEVICES > seen\n", "").await;
        let (index, uuid) = (1, bench.node.gpus[1].uuid.clone());
        order.nodes[0].gpus = vec![AllocatedGpu { index, uuid, gpu_type: "a100".to_string() }];
        let run = bench.give(order);
        assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
        assert_eq!(std::fs::read_to_string(bench.work("seen")).unwrap(), "1\n");
        bench.stop().await;
    }
}

#[tokio::test]
async fn a_fork_bomb_is_held_and_ended() {
    for mut bench in benches(|abilities| abilities.processes) {
        bench.confinement.rules.processes_max = Some(100);
        bench.start();
        let run = bench.run("#!/bin/sh\ntrap '' TERM\nperl -e 'fork while 1'\n").await;
        until(|| group(&bench, run).processes().len() >= 90).await;
        assert!(group(&bench, run).processes().len() <= 100);
        bench.wish(run, RunWish::Cancel);
        assert!(bench.end_of(run).await.text().starts_with("cancelled "));
        bench.is_settled(run).await;
        assert!(!group(&bench, run).exists());
        bench.stop().await;
    }
}

#[tokio::test]
async fn whoever_hides_is_found() {
    for mut bench in benches(|_| true) {
        bench.start();
        // Twice forked, in a session of its own, deaf to TERM.
        let script = "#!/bin/sh\n(setsid sh -c \"trap '' TERM; echo \\$\\$ > hidden; while :; do sleep 60; done\" &) &\n\
                      while [ ! -s hidden ]; do sleep 0.01; done\n";
        let run = bench.run(script).await;
        assert_eq!(bench.end_of(run).await.text(), "exited 0:0");
        bench.is_settled(run).await;
        let hidden = until_written(&bench.work("hidden")).await;
        assert!(!is_alive(hidden.trim()));
        assert!(!group(&bench, run).exists());
        bench.stop().await;
        assert!(groups(&bench).is_empty(), "an agent without runs leaves no groups");
    }
}

#[tokio::test]
async fn what_a_killed_supervisor_leaves_is_ended_by_its_group() {
    for mut bench in benches(|_| true) {
        bench.start();
        let script = "#!/bin/sh\n(setsid sh -c 'echo $$ > hidden; while :; do sleep 60; done' &)\necho > ready; sleep 100\n";
        let run = bench.run(script).await;
        until_written(&bench.work("ready")).await;
        let hidden = until_written(&bench.work("hidden")).await;
        let supervisor = bench.record(run).claimed.unwrap().pid;
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(supervisor), Signal::SIGKILL).unwrap();
        assert_eq!(bench.end_of(run).await.text(), "lost");
        bench.is_settled(run).await;
        assert!(!is_alive(hidden.trim()));
        assert!(!group(&bench, run).exists());
        bench.stop().await;
    }
}

#[tokio::test]
async fn groups_that_nobody_knows_are_gone_after_a_start() {
    for mut bench in benches(|_| true) {
        bench.start();
        let kept = bench.run("#!/bin/sh\necho > ready; sleep 100\n").await;
        until_written(&bench.work("ready")).await;
        bench.stop().await;
        let stale = Group::make(&groups(&bench), "77.0", &daybook_cgroup::Confinement::default()).unwrap();
        bench.start();
        bench.seen_registrations(2).await;
        assert!(!stale.exists());
        assert!(group(&bench, kept).exists(), "a run that goes on keeps its group");
        bench.wish(kept, RunWish::Cancel);
        bench.is_settled(kept).await;
        bench.stop().await;
    }
}

#[tokio::test]
async fn a_node_that_cannot_confine_is_not_started_where_the_site_relies_on_it() {
    let bench = Bench::unstarted(false);
    let rules = Rules { confining: Confining::Required, ..Rules::default() };
    // The machine has fewer CPUs than its nodes: those cannot be held.
    let config = bench.config(ConfinementConfig { rules: rules.clone(), first_cpu: None });
    let error =
        daybook_agent::Agent::start(config, bench.log.clone(), bench.orders_to_follow()).err().unwrap();
    let text = error.to_string();
    assert!(text.starts_with("node n1: runs cannot be confined as the configuration asks: "), "{text}");
    assert!(text.contains("CPUs cannot be held: the machine has fewer than its nodes"), "{text}");
    assert!(
        text.ends_with("confine = \"if_possible\" in [agent] of daybook.toml runs them anyway"),
        "{text}"
    );
}

#[tokio::test]
async fn what_cannot_be_held_is_said_when_the_node_registers() {
    let mut bench = Bench::unstarted(false);
    bench.start();
    bench.seen_registrations(1).await;
    let commits = bench.commits().await;
    let mut events = commits.iter().flat_map(|commit| &commit.events);
    let unconfined = events.find_map(|event| match &event.body {
        daybook_schemas::Body::NodeRegistered(registered) => Some(registered.unconfined.clone()),
        _ => None,
    });
    let unconfined = unconfined.unwrap().expect("the machine has fewer CPUs than the bench's node");
    assert!(unconfined.contains("CPUs cannot be held"), "{unconfined}");
    bench.stop().await;
    assert!(!Path::new("/sys/fs/cgroup/daybook/probe").exists());
}
