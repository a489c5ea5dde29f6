//! What a projection is, for whoever keeps it at the end of a stream.

use crate::envelope::Commit;
use crate::units::Seq;

/// A pure fold over the commits of one stream. Cloning must be cheap (persistent maps, shared values): a clone is
/// taken for each batch of commits.
pub trait Fold: Clone + Send + Sync + 'static {
    /// The last commit folded.
    fn position(&self) -> Seq;

    /// Folds the next commit. It never fails on a valid commit; an error stops the projection for good.
    fn apply(&mut self, commit: &Commit) -> Result<(), String>;
}
