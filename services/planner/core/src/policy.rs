use daybook_model::Cluster;
use daybook_schemas::canonical;
use daybook_schemas::priority::PriorityParameters;
use serde::Serialize;

/// The most runs that one cycle starts: bounds the commit's size. What is left is started by the next cycle.
pub const STARTS_MAX: usize = 1_000;
/// The most reasons that one cycle changes.
pub const REASONS_MAX: usize = 1_000;
/// The most jobs that one cycle ends because their dependencies can never hold.
pub const FINISHED_MAX: usize = 1_000;
/// The most protected starts in all partitions together.
pub const RESERVATIONS_MAX: usize = 256;
/// Jobs that a cycle looks at even where nothing is free any more, so that they get their reasons.
pub const CONSIDERED_MIN: u32 = 1_000;
/// Steps after which a cycle looks at no further job and protects no further start.
pub const STEPS_MAX: u64 = 200_000_000;

/// The most runs that one cycle tells to give way.
pub const PREEMPTIONS_MAX: usize = 1_000;
/// The most runs that one cycle ends because their limits are used up.
pub const USED_UP_MAX: usize = 1_000;
/// The most jobs for which one cycle looks for runs to give way.
pub const PREEMPTORS_MAX: usize = 256;

/// In which order jobs that are not protected are tried behind those that are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// As they stand in the queue.
    Queue,
    /// The shortest expected run first: what the user's earlier runs took ([`Cluster::expected_seconds`]), at most the
    /// time limit. It orders only: what is promised is kept by limits.
    Expected,
    /// The shortest time limit first.
    Limit,
}

/// What a cycle decides by, apart from the cluster and the instant.
///
/// Everything that changes decisions is in it, so two cycles of the same policy hash differ by their input alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// Goes up whenever the planner decides otherwise on the same input.
    pub version: u32,
    /// Whether jobs behind a blocked one of their partition may start (`sched/backfill`); otherwise it blocks them
    /// (`sched/builtin`).
    pub backfill: bool,
    /// K: how many blocked jobs of each partition get a protected start.
    pub reservations: u32,
    /// The order of those that have none.
    pub order: Order,
    /// What a job's place in the queue is made of at each instant, for simulations; `None`: its priority as recorded.
    pub weights: Option<PriorityParameters>,
    /// The most jobs that one cycle looks at.
    pub jobs_max: u32,
    /// [`STARTS_MAX`]
    pub starts_max: u32,
    /// [`REASONS_MAX`]
    pub reasons_max: u32,
    /// [`FINISHED_MAX`]
    pub finished_max: u32,
    /// [`RESERVATIONS_MAX`]
    pub reservations_max: u32,
    /// [`CONSIDERED_MIN`]
    pub considered_min: u32,
    /// [`STEPS_MAX`]
    pub steps_max: u64,
    /// [`PREEMPTIONS_MAX`]
    #[serde(skip_serializing_if = "are_usual_preemptions")]
    pub preemptions_max: u32,
    /// [`PREEMPTORS_MAX`]
    #[serde(skip_serializing_if = "are_usual_preemptors")]
    pub preemptors_max: u32,
    /// [`USED_UP_MAX`]
    #[serde(skip_serializing_if = "is_usual_used_up")]
    pub used_up_max: u32,
}

/// So that policies of before there was preemption have the same hash: without it they decide the same.
fn are_usual_preemptions(most: &u32) -> bool {
    *most as usize == PREEMPTIONS_MAX
}

/// The same.
fn are_usual_preemptors(most: &u32) -> bool {
    *most as usize == PREEMPTORS_MAX
}

/// The same.
fn is_usual_used_up(most: &u32) -> bool {
    *most as usize == USED_UP_MAX
}

impl Policy {
    /// This planner's version.
    pub const VERSION: u32 = 6;

    /// EASY backfill (`reservations` 1) or more protection, looking at `jobs_max` jobs a cycle (at least one).
    pub fn new(reservations: u32, jobs_max: u32) -> Policy {
        Policy {
            version: Policy::VERSION,
            backfill: true,
            reservations,
            order: Order::Queue,
            weights: None,
            jobs_max: jobs_max.max(1),
            starts_max: STARTS_MAX as u32,
            reasons_max: REASONS_MAX as u32,
            finished_max: FINISHED_MAX as u32,
            reservations_max: RESERVATIONS_MAX as u32,
            considered_min: CONSIDERED_MIN,
            steps_max: STEPS_MAX,
            preemptions_max: PREEMPTIONS_MAX as u32,
            preemptors_max: PREEMPTORS_MAX as u32,
            used_up_max: USED_UP_MAX as u32,
        }
    }

    /// The policy that a cluster's configuration asks for; `None` before there is one.
    pub fn of(cluster: &Cluster) -> Option<Policy> {
        let parameters = &cluster.configured()?.parameters;
        let policy = Policy::new(parameters.backfill_reservations, parameters.planner_jobs_max);
        let order = if parameters.backfill_by_expected_time { Order::Expected } else { Order::Queue };
        Some(Policy { backfill: !parameters.strict_order, order, ..policy })
    }

    /// SHA-256 of the policy's canonical bytes.
    pub fn hash(&self) -> String {
        crate::cycle::hash_of_integers_and_text(self)
    }

    /// The canonical bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, canonical::CanonicalError> {
        canonical::to_bytes(self)
    }
}
