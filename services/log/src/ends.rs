//! The published ends of the two streams, which readers wait at.

use daybook_schemas::{Seq, Stream};
use tokio::sync::watch;

use crate::ReadError;
use crate::admission::PerStream;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End {
    seq: Seq,
    closed: bool,
}

/// Where each stream ends, for readers; only durable commits count.
pub(crate) struct Ends {
    channels: PerStream<watch::Sender<End>>,
}

impl Ends {
    pub(crate) fn new(state: Seq, detail: Seq) -> Ends {
        let channel = |seq| watch::Sender::new(End { seq, closed: false });
        Ends { channels: PerStream { state: channel(state), detail: channel(detail) } }
    }

    pub(crate) fn get(&self, stream: Stream) -> Seq {
        self.channels.get(stream).borrow().seq
    }

    /// Moves an end forward, and wakes those who wait for it.
    pub(crate) fn publish(&self, stream: Stream, seq: Seq) {
        self.channels.get(stream).send_if_modified(|end| {
            let moved = seq > end.seq;
            end.seq = end.seq.max(seq);
            moved
        });
    }

    /// Wakes everybody: nothing more will come.
    pub(crate) fn close(&self) {
        for channel in [&self.channels.state, &self.channels.detail] {
            channel.send_modify(|end| end.closed = true);
        }
    }

    /// Waits until a stream ends after `seq`; an error once the log is closed.
    pub(crate) async fn wait_past(&self, stream: Stream, seq: Seq) -> Result<Seq, ReadError> {
        let mut end = self.channels.get(stream).subscribe();
        let reached = end.wait_for(|end| end.seq > seq || end.closed).await.map(|end| *end);
        match reached {
            Ok(end) if !end.closed => Ok(end.seq),
            _ => Err(ReadError::Unavailable("the log is closed".to_string())),
        }
    }
}
