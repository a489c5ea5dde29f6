//! Trackable resources counted: `cpu=2,mem=1000M,node=1,billing=2,gres/gpu=2,gres/gpu:a100=2`.

use std::collections::BTreeMap;

use crate::grammar::memory::format_mebibytes;
use crate::units::Mebibytes;

/// Counts of trackable resources. What is 0 (or absent) is not shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TresCounts {
    /// CPUs.
    pub cpus: u64,
    /// Memory.
    pub memory: Mebibytes,
    /// Nodes; 0 where a single node or a step is described.
    pub nodes: u64,
    /// The weight that is charged; absent on steps.
    pub billing: Option<u64>,
    /// GPUs by type; the empty type stands for GPUs without one.
    pub gpus: BTreeMap<String, u64>,
}

impl TresCounts {
    /// GPUs of all types.
    pub fn gpu_total(&self) -> u64 {
        self.gpus.values().sum()
    }

    /// In the order in which scontrol and sinfo show them: `cpu=2,mem=1000M,node=1,billing=2,gres/gpu=2`.
    pub fn scontrol_notation(&self) -> String {
        let parts = [self.cpu(), self.mem(), self.node(), self.billing(), self.gres()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(",")
    }

    /// In the order in which sacct shows them, by name: `billing=2,cpu=2,gres/gpu=2,mem=1000M,node=1`.
    pub fn sacct_notation(&self) -> String {
        let parts = [self.billing(), self.cpu(), self.gres(), self.mem(), self.node()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(",")
    }

    fn cpu(&self) -> Option<String> {
        (self.cpus > 0).then(|| format!("cpu={}", self.cpus))
    }

    fn mem(&self) -> Option<String> {
        (self.memory.0 > 0).then(|| format!("mem={}", format_mebibytes(self.memory)))
    }

    fn node(&self) -> Option<String> {
        (self.nodes > 0).then(|| format!("node={}", self.nodes))
    }

    fn billing(&self) -> Option<String> {
        self.billing.filter(|&billing| billing > 0).map(|billing| format!("billing={billing}"))
    }

    /// The total first, then each type.
    fn gres(&self) -> Option<String> {
        let total = self.gpu_total();
        let mut text = format!("gres/gpu={total}");
        for (gpu_type, count) in
            self.gpus.iter().filter(|(gpu_type, count)| !gpu_type.is_empty() && **count > 0)
        {
            text.push_str(&format!(",gres/gpu:{gpu_type}={count}"));
        }
        (total > 0).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(gpus: &[(&str, u64)]) -> TresCounts {
        TresCounts {
            cpus: 4,
            memory: Mebibytes(1024),
            nodes: 1,
            billing: Some(4),
            gpus: gpus.iter().map(|(gpu_type, count)| (gpu_type.to_string(), *count)).collect(),
        }
    }

    #[test]
    fn counts_are_shown_as_recorded() {
        let untyped = counts(&[("", 2)]);
        assert_eq!(untyped.scontrol_notation(), "cpu=4,mem=1G,node=1,billing=4,gres/gpu=2");
        assert_eq!(untyped.sacct_notation(), "billing=4,cpu=4,gres/gpu=2,mem=1G,node=1");
        let step = TresCounts { billing: None, ..untyped };
        assert_eq!(step.sacct_notation(), "cpu=4,gres/gpu=2,mem=1G,node=1");
        let node = TresCounts {
            cpus: 8,
            memory: Mebibytes(16_000),
            nodes: 0,
            billing: Some(8),
            ..counts(&[("", 4)])
        };
        assert_eq!(node.scontrol_notation(), "cpu=8,mem=16000M,billing=8,gres/gpu=4");
        let plain =
            TresCounts { cpus: 1, memory: Mebibytes(500), nodes: 1, billing: Some(1), gpus: BTreeMap::new() };
        assert_eq!(plain.scontrol_notation(), "cpu=1,mem=500M,node=1,billing=1");
    }

    #[test]
    fn typed_gpus_stand_behind_their_total() {
        let typed = counts(&[("v100", 1), ("a100", 2), ("h100", 0)]);
        assert_eq!(
            typed.scontrol_notation(),
            "cpu=4,mem=1G,node=1,billing=4,gres/gpu=3,gres/gpu:a100=2,gres/gpu:v100=1"
        );
    }

    #[test]
    fn nothing_is_shown_of_nothing() {
        assert_eq!(TresCounts::default().scontrol_notation(), "");
        assert_eq!(counts(&[("a100", 0)]).sacct_notation(), "billing=4,cpu=4,mem=1G,node=1");
    }
}
