//! What can go wrong with one append.

/// A fault of one append, by what the writer sees and what is in the log afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Refused as [`Unavailable`](crate::AppendError::Unavailable); not in the log.
    Unavailable,
    /// Answered [`Unknown`](crate::AppendError::Unknown); it is in the log.
    AcknowledgementLost,
    /// Answered [`Unknown`](crate::AppendError::Unknown); it is not in the log.
    AppendLost,
    /// The append arrives twice, and the second arrival is what is answered:
    /// [`Duplicate`](crate::AppendError::Duplicate); it is in the log, once.
    DeliveredTwice,
}
