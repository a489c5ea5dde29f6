//! What has been found out about requests from configuration and nodes alone, kept for as long as those stay.
//!
//! A judgement is a function of the state that takes a look at every node. It is no part of the state: whether it is kept
//! or made anew changes no answer, so a snapshot does not have it, and clones of one state share what they find out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use daybook_schemas::events::Body;
use daybook_schemas::job::{Reason, ResourceRequest};

use crate::cluster::Cluster;

/// The most judgements that are kept; then they are made anew.
const JUDGEMENTS_MAX: usize = 1 << 16;

/// Whether a request fits in a partition if nothing runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// On the nodes that are up, and as they are.
    pub fits: bool,
    /// Why it does not.
    pub refused: Option<(Reason, Arc<str>)>,
}

/// Judgements by partition and request.
type Known = BTreeMap<(Arc<str>, Arc<ResourceRequest>), Judgement>;

#[derive(Debug, Default)]
pub(crate) struct Judgements(Mutex<Known>);

impl Cluster {
    /// The judgement of a request in a partition; `judge` makes it where none is kept. It must look at nothing but this
    /// state's configuration and nodes, and at what runs on those not at all.
    pub fn judgement(
        &self,
        partition: &Arc<str>,
        request: &Arc<ResourceRequest>,
        judge: impl FnOnce() -> Judgement,
    ) -> Judgement {
        let known = || self.judgements.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (partition.clone(), request.clone());
        if let Some(judgement) = known().get(&key) {
            return judgement.clone();
        }
        let judgement = judge();
        let mut known = known();
        if known.len() >= JUDGEMENTS_MAX {
            known.clear();
        }
        known.insert(key, judgement.clone());
        judgement
    }

    /// What is known no longer holds.
    pub(crate) fn forget_judgements(&mut self) {
        self.judgements = Arc::default();
    }
}

/// Whether an event may change what a judgement looks at: any but those of jobs, runs, plans and accounts. A retired node
/// that goes with its last run is the other case.
pub(crate) fn changes_judgements(body: &Body) -> bool {
    !matches!(
        body,
        Body::JobSubmitted(_)
            | Body::JobUpdated(_)
            | Body::JobHeld(_)
            | Body::JobReleased(_)
            | Body::JobCancelRequested(_)
            | Body::JobRequeued(_)
            | Body::JobFinished(_)
            | Body::RunAllocated(_)
            | Body::RunStarted(_)
            | Body::RunEnded(_)
            | Body::RunLost(_)
            | Body::RunNodeReleased(_)
            | Body::PlannerCycle(_)
            | Body::AccountDefined(_)
            | Body::AssociationDefined(_)
            | Body::QosDefined(_)
            | Body::UserDefined(_)
            | Body::WckeyDefined(_)
    )
}
