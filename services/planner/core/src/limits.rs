//! Limits of associations and QOS: a job that one of them keeps back stands in no line, and nobody waits behind it.

use std::sync::Arc;

use daybook_model::fit::Share;
use daybook_model::{Charge, Counts, Need, Refusal};
use daybook_schemas::UtcMicros;
use daybook_schemas::events::LimitFigures;
use daybook_schemas::job::{Reason, TimeLimit};
use daybook_schemas::run::RunNode;

use crate::plan::Planning;
use crate::queue::Turn;
use crate::reservations::Access;

impl<'a> Planning<'a, '_> {
    /// The limit that keeps a job from starting now, by what it needs at least.
    pub(crate) fn limit_refusal(&self, turn: Turn<'a>, limit: TimeLimit) -> Option<Refusal> {
        if !self.enforces_limits {
            return None;
        }
        let need = Need::of_request(self.cluster, &turn.job.request, turn.partition, limit);
        let charge = Charge::of(turn.job, turn.partition);
        self.cluster.start_refusal(&self.charges, &charge, &need, self.now)
    }

    /// The same by what it would be given.
    pub(crate) fn limit_refusal_of(
        &self,
        turn: Turn<'a>,
        shares: &[Share],
        limit: TimeLimit,
    ) -> Option<Refusal> {
        if !self.enforces_limits {
            return None;
        }
        let nodes = self.run_nodes(shares);
        let billing = self.billing_of(turn, &nodes);
        let licenses = &turn.job.request.licenses;
        let need = Need::of_run(self.cluster, turn.partition, (&nodes, billing), licenses, limit);
        let charge = Charge::of(turn.job, turn.partition);
        self.cluster.start_refusal(&self.charges, &charge, &need, self.now)
    }

    /// What a run is billed that has these nodes; `None`: its CPUs.
    pub(crate) fn billing_of(&self, turn: Turn<'a>, nodes: &[RunNode]) -> Option<u64> {
        let partition = self.cluster.partition(turn.partition)?;
        partition.billing_weights.as_ref()?;
        self.cluster.bill(partition, &Counts::of_nodes(nodes), &turn.job.request.licenses)
    }

    /// What counts of a run that has these nodes.
    pub(crate) fn counts_of(&self, turn: Turn<'a>, nodes: &[RunNode]) -> Counts {
        Counts { billing: self.billing_of(turn, nodes), ..Counts::of_nodes(nodes) }
    }

    pub(crate) fn run_nodes(&self, shares: &[Share]) -> Vec<RunNode> {
        shares.iter().map(|share| self.ground.sites[share.site].run_node(share)).collect()
    }

    /// When a run that starts now is over by its limit or by its reservation's end, without Slurm's grace.
    pub(crate) fn limit_end(&self, access: Access, limit: TimeLimit) -> Option<UtcMicros> {
        let seconds = limit.seconds().map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
        self.reservations.until(access, seconds.map(|seconds| self.now.plus_seconds(seconds)))
    }

    /// Such a job waits until the limit has room for it: by the end of another, or where time alone makes room, by then.
    pub(crate) fn wait_for_limit(&mut self, turn: Turn<'a>, refusal: Refusal) {
        self.cycle.wake = self.cycle.wake.into_iter().chain(refusal.passes).min();
        self.limit_met = Some(Arc::new(refusal.figures));
        self.give_reason(turn, Reason::Limit(refusal.reason), "");
    }

    /// The figures of the limit that a job has just met; of one that may start in several partitions they are found again.
    pub(crate) fn figures_of_limit(&self, turn: Turn<'a>) -> Option<LimitFigures> {
        if !turn.has_others() {
            return self.limit_met.as_deref().cloned();
        }
        let windows = self.windows(turn);
        self.limit_refusal(turn, windows.limit(windows.shortest)).map(|refusal| refusal.figures)
    }

    /// Whether a protected start may be kept for a job.
    pub(crate) fn may_be_protected(&self, turn: Turn<'a>) -> bool {
        !self.enforces_limits
            || self.cluster.may_be_protected(&Charge::of(turn.job, turn.partition), turn.job.priority)
    }
}
