//! How busy a node is: `LLN` takes the least loaded of those of the lowest weight.

use std::cmp::Ordering;

use super::site::{Free, Site};

/// The share of a node's CPUs that is in use; less is better. Where load is no matter all nodes have the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    used: u64,
    /// At least 1.
    all: u64,
}

impl Load {
    /// Of a node that could give `free`. CPUs that are kept for later are idle now.
    pub(super) fn of(site: &Site<'_>, free: &Free, counts: bool) -> Load {
        let used = if counts { site.cpus.saturating_sub(free.cpus.count()) } else { 0 };
        Load { used: used.into(), all: site.cpus.max(1).into() }
    }
}

impl Ord for Load {
    fn cmp(&self, other: &Load) -> Ordering {
        (self.used * other.all).cmp(&(other.used * self.all))
    }
}

impl PartialOrd for Load {
    fn partial_cmp(&self, other: &Load) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Load {
    fn eq(&self, other: &Load) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Load {}

#[cfg(test)]
mod tests {
    use super::Load;

    #[test]
    fn loads_are_shares_and_compare_exactly() {
        let load = |used, all| Load { used, all };
        // used of all, beside used of all: which is less
        for (one, other, expected) in [
            ((1, 3), (2, 6), std::cmp::Ordering::Equal),
            ((1, 3), (333, 1_000), std::cmp::Ordering::Greater),
            ((0, 4), (0, 128), std::cmp::Ordering::Equal),
            ((4, 128), (1, 4), std::cmp::Ordering::Less),
            ((u64::from(u32::MAX), 1 << 32), (1, 1), std::cmp::Ordering::Less),
        ] {
            assert_eq!(load(one.0, one.1).cmp(&load(other.0, other.1)), expected, "{one:?} {other:?}");
        }
    }
}
