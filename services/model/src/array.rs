use std::sync::Arc;

use daybook_schemas::JobId;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::JobSpec;
use serde::{Deserialize, Serialize};

/// What has become of an array's tasks, kept as long as any record of it is in memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayState {
    /// The array's job id.
    pub id: JobId,
    /// As submitted.
    pub spec: Arc<JobSpec>,
    /// `%N` now; `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_max: Option<u32>,
    /// Tasks that have started at least once.
    pub started: IndexSet,
    /// Tasks that run now.
    pub running: IndexSet,
    /// Tasks over with success.
    pub succeeded: IndexSet,
    /// Tasks over without.
    pub failed: IndexSet,
    /// Records (the array's own and its tasks') in memory.
    pub records: u32,
}

impl ArrayState {
    /// All indices of the array.
    pub fn tasks(&self) -> &IndexSet {
        static NONE: std::sync::OnceLock<IndexSet> = std::sync::OnceLock::new();
        match &self.spec.array {
            Some(array) => &array.tasks,
            None => NONE.get_or_init(IndexSet::new),
        }
    }

    /// The job id of a task by its index.
    pub fn task_job_id(&self, task: u32) -> Option<JobId> {
        let array = self.spec.array.as_ref()?;
        let position = array.tasks.contains(task).then(|| array.tasks.rank(task))?;
        Some(array.task_job_id(self.id, u32::try_from(position).ok()?))
    }

    /// How many more tasks `%N` lets run at once.
    pub fn room(&self) -> u64 {
        match self.running_max {
            Some(most) => u64::from(most).saturating_sub(self.running.len()),
            None => u64::MAX,
        }
    }

    /// Whether every task is over.
    pub fn is_over(&self) -> bool {
        self.succeeded.len() + self.failed.len() == self.tasks().len()
    }
}
