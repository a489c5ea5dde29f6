//! The nodes in the order in which one shape prefers them, kept up to date with what changes.

use std::collections::BTreeSet;

/// How good a node is for a shape; less is better.
pub(super) type Score = (i64, u64);

/// The nodes that a shape fits on, the best first; equally good ones in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranking {
    order: BTreeSet<(Score, usize)>,
    scores: Vec<Option<Score>>,
    /// How much of the log of changes is in it.
    seen: usize,
}

impl Ranking {
    /// Takes in what has changed since it was asked last: `changes` are all changed nodes so far, in order.
    pub(super) fn update(
        &mut self,
        nodes: usize,
        changes: &[usize],
        mut score: impl FnMut(usize) -> Option<Score>,
    ) {
        if self.scores.len() < nodes {
            self.scores = vec![None; nodes];
            (0..nodes).for_each(|node| self.set(node, score(node)));
        } else {
            let mut changed = changes[self.seen..].to_vec();
            changed.sort_unstable();
            changed.dedup();
            changed.into_iter().for_each(|node| self.set(node, score(node)));
        }
        self.seen = changes.len();
    }

    fn set(&mut self, node: usize, score: Option<Score>) {
        if self.scores[node] == score {
            return;
        }
        if let Some(old) = self.scores[node] {
            self.order.remove(&(old, node));
        }
        if let Some(new) = score {
            self.order.insert((new, node));
        }
        self.scores[node] = score;
    }

    /// Whether it fits on a node, as far as the last update knows.
    pub(super) fn has(&self, node: usize) -> bool {
        self.scores.get(node).is_some_and(Option::is_some)
    }

    /// The nodes that it fits on, the best first.
    pub(super) fn nodes(&self) -> impl Iterator<Item = usize> {
        self.order.iter().map(|(_, node)| *node)
    }
}
