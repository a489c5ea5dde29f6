//! The newest commits of a stream, decoded and shared with everybody who follows it in this process.

use std::collections::VecDeque;
use std::sync::Arc;

use daybook_schemas::{Commit, Seq};

use crate::bounds::{READ_BYTES_MAX, RECENT_BYTES_MAX, RECENT_COMMITS_MAX};

/// A contiguous run of commits up to the stream's end, bounded by count and bytes; the oldest go first.
#[derive(Default)]
pub(super) struct Recent {
    commits: VecDeque<(Arc<Commit>, usize)>,
    bytes: usize,
}

impl Recent {
    /// Adds the commit at the new end; `size` is that of its canonical bytes.
    pub(super) fn push(&mut self, commit: Arc<Commit>, size: usize) {
        // After an append of unknown outcome the end may have moved past what is here: start again from there.
        if self.commits.back().is_some_and(|(last, _)| last.seq.next() != commit.seq) {
            self.commits.clear();
            self.bytes = 0;
        }
        self.commits.push_back((commit, size));
        self.bytes += size;
        while self.commits.len() > RECENT_COMMITS_MAX || self.bytes > RECENT_BYTES_MAX {
            let Some((_, size)) = self.commits.pop_front() else { break };
            self.bytes -= size;
        }
    }

    /// Commits from `from` to `end`, at most `limit`; `None` where `from` is no longer here.
    pub(super) fn from(&self, from: Seq, end: Seq, limit: usize) -> Option<Vec<Arc<Commit>>> {
        let first = self.commits.front()?.0.seq;
        let skip = usize::try_from(from.0.checked_sub(first.0)?).ok()?;
        if skip >= self.commits.len() {
            return None;
        }
        let mut bytes = 0;
        let mut found = Vec::with_capacity(limit.min(self.commits.len() - skip));
        for (commit, size) in self.commits.iter().skip(skip).take(limit) {
            if commit.seq > end || (bytes > 0 && bytes + size > READ_BYTES_MAX) {
                break;
            }
            bytes += size;
            found.push(commit.clone());
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use daybook_schemas::{Commit, Seq, Subject, UtcMicros};

    use super::Recent;
    use crate::bounds::{RECENT_BYTES_MAX, RECENT_COMMITS_MAX};

    fn push(recent: &mut Recent, seq: u64, size: usize) {
        let commit = Commit { seq: Seq(seq), time: UtcMicros(0), subject: Subject::Jobs, events: Vec::new() };
        recent.push(Arc::new(commit), size);
    }

    fn seqs(found: Option<Vec<Arc<Commit>>>) -> Option<Vec<u64>> {
        found.map(|commits| commits.iter().map(|commit| commit.seq.0).collect())
    }

    #[test]
    fn what_is_kept_is_bounded_and_without_a_gap() {
        let mut recent = Recent::default();
        assert_eq!(recent.from(Seq(1), Seq(9), 9), None);
        for seq in 5..=9 {
            push(&mut recent, seq, 10);
        }
        assert_eq!(seqs(recent.from(Seq(4), Seq(9), 9)), None);
        assert_eq!(seqs(recent.from(Seq(5), Seq(9), 2)), Some(vec![5, 6]));
        assert_eq!(seqs(recent.from(Seq(8), Seq(8), 9)), Some(vec![8]), "not beyond the published end");
        push(&mut recent, 11, 10);
        assert_eq!(
            seqs(recent.from(Seq(9), Seq(11), 9)),
            None,
            "10 is missing, so everything before 11 is gone"
        );
        assert_eq!(seqs(recent.from(Seq(11), Seq(11), 9)), Some(vec![11]));
        for seq in 12..12 + RECENT_COMMITS_MAX as u64 {
            push(&mut recent, seq, 1);
        }
        assert_eq!(recent.commits.len(), RECENT_COMMITS_MAX);
        push(&mut recent, 12 + RECENT_COMMITS_MAX as u64, RECENT_BYTES_MAX);
        assert!(recent.bytes <= RECENT_BYTES_MAX);
    }
}
