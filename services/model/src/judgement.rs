//! What has been found out about requests from configuration and nodes alone, kept for as long as those stay.
//!
//! A judgement is a function of the state that takes a look at every node. It is no part of the state: whether it is kept
//! or made anew changes no answer, so a snapshot does not have it, and clones of one state share what they find out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use daybook_schemas::events::Body;
use daybook_schemas::job::{Reason, ResourceRequest};

use crate::cluster::Cluster;
use crate::fit::could_ever_start;

/// The most answers of each sort that are kept; then they are made anew.
const KEPT_MAX: usize = 1 << 16;

/// Whether a request fits in a partition if nothing runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// On the nodes that are up, and as they are.
    pub fits: bool,
    /// Why it does not.
    pub refused: Option<(Reason, Arc<str>)>,
}

/// A partition, and what is asked for in it.
type Question = (Arc<str>, Arc<ResourceRequest>);

/// Answers that are kept.
#[derive(Debug)]
pub(crate) struct Kept<T>(Mutex<BTreeMap<Question, T>>);

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept(Mutex::default())
    }
}

impl<T: Clone> Kept<T> {
    fn get_or(
        &self,
        partition: &Arc<str>,
        request: &Arc<ResourceRequest>,
        find_out: impl FnOnce() -> T,
    ) -> T {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (partition.clone(), request.clone());
        if let Some(answer) = kept().get(&key) {
            return answer.clone();
        }
        let answer = find_out();
        let mut kept = kept();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(key, answer.clone());
        answer
    }
}

impl Cluster {
    /// The judgement of a request in a partition; `judge` makes it where none is kept. It must look at nothing but this
    /// state's configuration and nodes, and at what runs on those not at all.
    pub fn judgement(
        &self,
        partition: &Arc<str>,
        request: &Arc<ResourceRequest>,
        judge: impl FnOnce() -> Judgement,
    ) -> Judgement {
        self.judgements.get_or(partition, request, judge)
    }

    /// Whether [`could_ever_start`] has no objection. It is kept longer than a judgement: nodes may come and go.
    pub fn is_possible(&self, partition: &Arc<str>, request: &Arc<ResourceRequest>) -> bool {
        self.possible.get_or(partition, request, || could_ever_start(self, partition, request).is_ok())
    }

    /// What is known of nodes that are up no longer holds.
    pub(crate) fn forget_judgements(&mut self) {
        self.judgements = Arc::default();
    }

    /// What is known no longer holds: there are other nodes, or they are others.
    pub(crate) fn forget_what_is_possible(&mut self) {
        self.forget_judgements();
        self.possible = Arc::default();
    }
}

/// Whether an event may change what a judgement looks at: any but those of jobs, runs, plans and accounts. A retired node
/// that goes with its last run is the other case.
pub(crate) fn changes_judgements(body: &Body) -> bool {
    !matches!(
        body,
        Body::JobSubmitted(_)
            | Body::JobUpdated(_)
            | Body::JobParted(_)
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
            | Body::RunPreempted(_)
            | Body::RunSuspended(_)
            | Body::RunResumed(_)
            | Body::RunResumeOrdered(_)
            | Body::JobSuspendRequested(_)
            | Body::JobResumeRequested(_)
            | Body::RunUsedUp(_)
            | Body::PlannerCycle(_)
            | Body::AccountDefined(_)
            | Body::AssociationDefined(_)
            | Body::QosDefined(_)
            | Body::UserDefined(_)
            | Body::WckeyDefined(_)
    )
}
