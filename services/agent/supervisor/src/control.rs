//! What an agent tells a running supervisor, through its FIFO: one line for each message, written in one piece.
//!
//! Every message may be sent again (an agent that was restarted does): an end that is under way goes on, a signal is
//! known by the position of its request, a limit is set to the same value.

use std::fmt;
use std::str::FromStr;

use daybook_schemas::Seq;
use daybook_schemas::run::EndCause;

/// The longest message, in bytes; below `PIPE_BUF`, so that it is never split.
pub const MESSAGE_BYTES_MAX: usize = 128;

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// End the run: TERM, the kill wait, KILL. The first cause counts.
    End(EndCause),
    /// Send a signal to the script and everything that it started, unless one with this or a later number was sent.
    Signal {
        /// The position of the request in the log.
        requested: Seq,
        /// The signal's number.
        signal: i32,
    },
    /// The time limit has changed; in seconds from the script's start, `None` is unlimited.
    TimeLimit(Option<u64>),
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::End(cause) => {
                let word = match cause {
                    EndCause::Requeued => "requeued",
                    EndCause::NodeFailed => "node_failed",
                    _ => "cancelled",
                };
                write!(f, "end {word}")
            }
            Message::Signal { requested, signal } => write!(f, "signal {requested} {signal}"),
            Message::TimeLimit(Some(seconds)) => write!(f, "limit {seconds}"),
            Message::TimeLimit(None) => f.write_str("limit none"),
        }
    }
}

impl FromStr for Message {
    type Err = ();

    fn from_str(line: &str) -> Result<Message, ()> {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["end", "cancelled"] => Ok(Message::End(EndCause::Cancelled)),
            ["end", "requeued"] => Ok(Message::End(EndCause::Requeued)),
            ["end", "node_failed"] => Ok(Message::End(EndCause::NodeFailed)),
            ["signal", requested, signal] => Ok(Message::Signal {
                requested: Seq(requested.parse().map_err(|_| ())?),
                signal: signal.parse().map_err(|_| ())?,
            }),
            ["limit", "none"] => Ok(Message::TimeLimit(None)),
            ["limit", seconds] => Ok(Message::TimeLimit(Some(seconds.parse().map_err(|_| ())?))),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        for message in [
            Message::End(EndCause::Cancelled),
            Message::End(EndCause::Requeued),
            Message::End(EndCause::NodeFailed),
            Message::Signal { requested: Seq(u64::MAX), signal: 12 },
            Message::TimeLimit(Some(u64::MAX)),
            Message::TimeLimit(None),
        ] {
            let line = message.to_string();
            assert!(line.len() < MESSAGE_BYTES_MAX, "{line}");
            assert_eq!(line.parse(), Ok(message), "{line}");
        }
        for line in ["", "end", "end lost", "signal 1", "signal x 9", "limit", "limit -1", "kill"] {
            assert_eq!(line.parse::<Message>(), Err(()), "{line}");
        }
    }
}
