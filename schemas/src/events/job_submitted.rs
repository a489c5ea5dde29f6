use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::JobSpec;
use crate::units::JobId;

/// A job was accepted. An array reserves `job` and the ids after it, one for each task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobSubmitted {
    /// Its id (of an array: the array's).
    pub job: JobId,
    /// How many ids are taken, at least 1: the next job has `job + ids`.
    pub ids: u32,
    /// What was asked.
    pub spec: JobSpec,
}
