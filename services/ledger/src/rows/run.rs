use std::collections::BTreeSet;

use daybook_schemas::{NodeName, RunId, Seq, UtcMicros};
use serde::{Deserialize, Serialize};

use super::{RUNS, Row, Table};
use crate::keys;

/// A run that still holds something somewhere. Goes when its last node is released.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunRow {
    /// The record of the job that it is.
    pub(crate) attempt: u32,
    pub(crate) allocated: UtcMicros,
    /// When the batch script's process existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started: Option<UtcMicros>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<UtcMicros>,
    pub(crate) held_on: BTreeSet<NodeName>,
    /// Of those, nodes that have been silent for too long.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) given_up_on: BTreeSet<NodeName>,
    /// Whether its job waits again if it gives way, as it was told last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) gives_way_for_now: bool,
    /// Since when it is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stopped: Option<UtcMicros>,
    /// When it was last stopped or went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) turned: Option<UtcMicros>,
    /// Its CPUs are given back while it is stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) are_cpus_given_back: bool,
    /// Somebody has asked for it to be stopped: only somebody lets it go on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_kept_stopped: bool,
    /// The last order to go on: what a node says of older ones is overtaken.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub(crate) went_on: Seq,
}

fn is_none_yet(seq: &Seq) -> bool {
    *seq == Seq::ZERO
}

impl RunRow {
    /// Whether all that still holds something has been given up.
    pub(crate) fn is_given_up(&self) -> bool {
        self.held_on.is_subset(&self.given_up_on)
    }
}

impl Row for RunRow {
    type Key = RunId;
    const TABLE: Table = RUNS;
    fn key(key: &RunId) -> Vec<u8> {
        keys::run(*key).to_vec()
    }
}
