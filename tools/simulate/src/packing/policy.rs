//! What decides where a pod goes.

/// The node for a pod, among those that it fits on. Ties go to the first node of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackingPolicy {
    /// Any, with equal chances; a part of a GPU comes from any that is large enough.
    Random,
    /// The one with the least left, CPUs and GPUs each measured by the largest node; a part of a GPU comes from the one
    /// with the least left. The other policies do so too, where nothing else decides.
    BestFit,
    /// The one with the least free on GPUs: what the planner does with whole GPUs.
    Planner,
    /// The one where what the usual mix could not use grows least ([`daybook_plan::fragmentation`]); ties as `bestfit`.
    Fragmentation,
}

impl PackingPolicy {
    /// All, as the tables list them.
    pub const ALL: [PackingPolicy; 4] =
        [PackingPolicy::Random, PackingPolicy::BestFit, PackingPolicy::Planner, PackingPolicy::Fragmentation];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            PackingPolicy::Random => "random",
            PackingPolicy::BestFit => "bestfit",
            PackingPolicy::Planner => "planner",
            PackingPolicy::Fragmentation => "fragmentation",
        }
    }
}
