//! One side of an exchange: frames in order, a bounded number under way, and the other side's silence noticed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_nats::{Client, StatusCode, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use crate::bounds::{BEAT, FRAMES_WAITING_MAX, RECEIVED_EVERY, SILENCE_MAX, WINDOW_PIECES};
use crate::frame::Frame;

/// Why an exchange ended before its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LineError {
    /// No daemon subscribes to openings.
    #[error("no daybookd answers on the bus")]
    NobodyListens,
    /// The other side was not heard for [`SILENCE_MAX`].
    #[error("the other side has not been heard for {} s", SILENCE_MAX.as_secs())]
    Silent,
    /// The other side gave up.
    #[error("{0}")]
    Broken(String),
    /// Something did not come, or what came is not understood.
    #[error("a message of the exchange is missing or not understood")]
    Lost,
    /// The connection to the NATS servers is closed for good.
    #[error("the connection to the NATS servers is closed")]
    Closed,
}

/// One side of an exchange. Dropping it stops its beat.
pub(crate) struct Line {
    client: Client,
    /// Where the other side hears us.
    to: String,
    frames: mpsc::Receiver<Frame>,
    /// Pieces taken here.
    taken: Arc<AtomicU64>,
    /// Pieces sent from here.
    sent: u64,
    /// Pieces that the other side has taken; `None` until it is heard.
    received: watch::Receiver<Option<u64>>,
    gone: watch::Receiver<Option<LineError>>,
    listener: JoinHandle<()>,
}

impl Line {
    /// Hears the other side at `from` and speaks to it at `to`. Says every [`BEAT`] that it is there; who should
    /// be heard at once sends a first [`Frame::Received`].
    pub(crate) fn open(client: Client, from: Subscriber, to: String) -> Line {
        let (frames_in, frames) = mpsc::channel(FRAMES_WAITING_MAX);
        let (received_in, received) = watch::channel(None);
        let (gone_in, gone) = watch::channel(None);
        let taken = Arc::new(AtomicU64::new(0));
        let listener = Listener {
            client: client.clone(),
            to: to.clone(),
            taken: taken.clone(),
            frames: frames_in,
            received: received_in,
        };
        let listener = tokio::spawn(async move {
            let why = listener.listen(from).await;
            gone_in.send_replace(Some(why));
        });
        Line { client, to, frames, taken, sent: 0, received, gone, listener }
    }

    /// The next frame that is no [`Frame::Received`].
    pub(crate) async fn next(&mut self) -> Result<Frame, LineError> {
        let Some(frame) = self.frames.recv().await else { return Err(self.gone().await) };
        if let Frame::Piece(number, _) = &frame {
            let taken = self.taken.load(Ordering::Relaxed);
            if *number != taken {
                return Err(LineError::Lost);
            }
            self.taken.store(taken + 1, Ordering::Relaxed);
            if (taken + 1).is_multiple_of(RECEIVED_EVERY) {
                self.send(Frame::Received(taken + 1)).await?;
            }
        }
        Ok(frame)
    }

    /// Waits until the other side is heard: before that, pieces may go to nobody.
    pub(crate) async fn greeted(&mut self) -> Result<(), LineError> {
        if self.received.wait_for(Option::is_some).await.is_ok() {
            return Ok(());
        }
        Err(self.gone().await)
    }

    /// Waits until a piece may be sent; gives the frame that came first, if one did: who has begun to answer wants no more.
    pub(crate) async fn room_or_frame(&mut self) -> Result<Option<Frame>, LineError> {
        let sent = self.sent;
        tokio::select! {
            biased;
            frame = self.frames.recv() => {
                if let Some(frame) = frame {
                    return Ok(Some(frame));
                }
            }
            room = self.received.wait_for(|received| has_room(sent, *received)) => {
                if room.is_ok() {
                    return Ok(None);
                }
            }
        }
        Err(self.gone().await)
    }

    /// How many pieces were taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Sends the next piece as soon as few enough are under way.
    pub(crate) async fn send_piece(&mut self, bytes: Bytes) -> Result<(), LineError> {
        let sent = self.sent;
        if self.received.wait_for(|received| has_room(sent, *received)).await.is_err() {
            return Err(self.gone().await);
        }
        self.sent += 1;
        self.send(Frame::Piece(sent, bytes)).await
    }

    /// Sends the answer's end.
    pub(crate) async fn send_end(&mut self) -> Result<(), LineError> {
        self.send(Frame::End(self.sent)).await
    }

    /// Sends a frame.
    pub(crate) async fn send(&self, frame: Frame) -> Result<(), LineError> {
        self.client.publish(self.to.clone(), frame.encode()).await.map_err(|_| LineError::Closed)
    }

    /// Waits until the other side is gone; gives why. It does not borrow the line.
    pub(crate) fn gone(&self) -> impl Future<Output = LineError> + Send + use<> {
        let mut gone = self.gone.clone();
        async move {
            let why = gone.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
            why.unwrap_or(LineError::Closed)
        }
    }

    /// Tells the other side that we have given up, without waiting for that. Only inside a tokio runtime.
    pub(crate) fn give_up(&self, why: &str) {
        let (client, to) = (self.client.clone(), self.to.clone());
        let frame = Frame::Broken(why.to_string()).encode();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // Who does not hear this hears our silence.
            runtime.spawn(async move { client.publish(to, frame).await });
        }
    }
}

/// Whether one more piece may be under way.
fn has_room(sent: u64, received: Option<u64>) -> bool {
    sent.saturating_sub(received.unwrap_or(0)) < WINDOW_PIECES
}

impl Drop for Line {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// Takes messages as they come, so that a slow reader of pieces does not look like silence.
struct Listener {
    client: Client,
    to: String,
    taken: Arc<AtomicU64>,
    frames: mpsc::Sender<Frame>,
    received: watch::Sender<Option<u64>>,
}

impl Listener {
    /// Ends when the other side is gone; gives why.
    async fn listen(self, mut messages: Subscriber) -> LineError {
        let mut beat = interval_at(Instant::now() + BEAT, BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        loop {
            tokio::select! {
                message = messages.next() => {
                    let Some(message) = message else { return LineError::Closed };
                    if message.status == Some(StatusCode::NO_RESPONDERS) {
                        return LineError::NobodyListens;
                    }
                    heard = Instant::now();
                    if let Some(why) = self.take(Frame::decode(&message.payload)) {
                        return why;
                    }
                }
                _ = beat.tick() => {
                    let taken = self.taken.load(Ordering::Relaxed);
                    if self.client.publish(self.to.clone(), Frame::Received(taken).encode()).await.is_err() {
                        return LineError::Closed;
                    }
                }
                () = sleep_until(heard + SILENCE_MAX) => return LineError::Silent,
            }
        }
    }

    fn take(&self, frame: Option<Frame>) -> Option<LineError> {
        match frame {
            None => Some(LineError::Lost),
            Some(Frame::Broken(why)) => Some(LineError::Broken(why)),
            Some(Frame::Received(pieces)) => {
                self.received.send_if_modified(|known| {
                    let is_more = known.is_none_or(|known| pieces > known);
                    *known = Some(known.unwrap_or(0).max(pieces));
                    is_more
                });
                None
            }
            // More than the window is a fault of the other side; waiting here would be taken for silence.
            Some(frame) => self.frames.try_send(frame).err().map(|_| LineError::Lost),
        }
    }
}
