//! What decides where a pod goes.

/// The node for a pod, among those that it fits on. Ties go to the first node of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackingPolicy {
    /// Any, with equal chances; a part of a GPU comes from any that is large enough.
    Random,
    /// The one with the least left, CPUs and GPUs each measured by the largest node; a part of a GPU comes from the one
    /// with the least left. The other policies do so too, where nothing else decides.
    BestFit,
    /// The one with the least free on GPUs: what the planner does as long as it does not know who usually comes.
    Fullest,
    /// The one where what the usual mix could not use grows least ([`daybook_plan::fragmentation`]); ties as `bestfit`.
    Fragmentation,
    /// What the planner does with jobs of one node: a pod without GPUs goes where none are if it can; then as
    /// `fragmentation` by the planner's own mix, which has fewer shapes; ties as `fullest`.
    Live,
}

impl PackingPolicy {
    /// All, as the tables list them.
    pub const ALL: [PackingPolicy; 5] = [
        PackingPolicy::Random,
        PackingPolicy::BestFit,
        PackingPolicy::Fullest,
        PackingPolicy::Fragmentation,
        PackingPolicy::Live,
    ];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            PackingPolicy::Random => "random",
            PackingPolicy::BestFit => "bestfit",
            PackingPolicy::Fullest => "fullest",
            PackingPolicy::Fragmentation => "fragmentation",
            PackingPolicy::Live => "live",
        }
    }
}
