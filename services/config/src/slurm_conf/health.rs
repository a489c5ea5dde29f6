//! A site's own check of its nodes: `HealthCheckProgram`, `HealthCheckInterval`, `HealthCheckNodeState`.

use daybook_schemas::Seconds;
use daybook_supervisor::health::{CHECK_LIMIT, HealthCheck, NodeLoad};
use daybook_supervisor::programs::Programs;

use super::SlurmConf;
use super::care::path;
use crate::diagnostic::{Findings, did_you_mean};
use crate::keys::{Key, supported};
use crate::lines::Pair;
use crate::values;

/// The words of `HealthCheckNodeState`.
pub(crate) const WORDS: &[Key] = &[
    supported("ANY", "all nodes"),
    supported("IDLE", "nodes without runs"),
    supported("NONDRAINED_IDLE", "nodes without runs, drained ones too"),
    supported("MIXED", "nodes some of whose CPUs are given to runs"),
    supported("ALLOC", "nodes all of whose CPUs are given to runs"),
    supported("CYCLE", "the nodes one after the other, in the course of the interval; else all at once"),
    supported("START_ONLY", "only when a node's agent starts"),
];

/// Reads it.
pub(crate) fn health_check(conf: &SlurmConf, findings: &mut Findings) -> HealthCheck {
    let interval = conf.parameter("HealthCheckInterval");
    let interval = interval.and_then(|pair| values::number(pair, 0, 65_535, findings)).unwrap_or(0);
    let program = conf.parameter("HealthCheckProgram").and_then(|pair| path(pair, findings));
    let mut health = HealthCheck { interval: Some(Seconds(interval)), ..HealthCheck::default() };
    if let Some(pair) = conf.parameter("HealthCheckNodeState") {
        set_states(&mut health, pair, findings);
    }
    // As in Slurm: without an interval it is not run at all.
    match program.filter(|_| interval > 0) {
        Some(program) => {
            health.programs = Programs { paths: vec![program], limit: Some(CHECK_LIMIT) };
            health
        }
        None => HealthCheck::default(),
    }
}

fn set_states(health: &mut HealthCheck, pair: &Pair, findings: &mut Findings) {
    let mut is_any = false;
    for word in values::list(&pair.value.to_ascii_uppercase()) {
        match word.as_str() {
            "ANY" => is_any = true,
            "IDLE" | "NONDRAINED_IDLE" => health.loads.push(NodeLoad::Idle),
            "MIXED" => health.loads.push(NodeLoad::Mixed),
            "ALLOC" => health.loads.push(NodeLoad::Allocated),
            "CYCLE" => health.is_spread = true,
            "START_ONLY" => health.interval = None,
            other => {
                let what = format!("HealthCheckNodeState has an unknown word \"{other}\"");
                let words = WORDS.iter().map(|key| key.name);
                findings.error(&pair.place, what, did_you_mean(other, words, "expected such as IDLE,CYCLE"));
            }
        }
    }
    if is_any {
        health.loads.clear();
    }
}
