//! `daybook events`: the log as it stands, event by event.

mod facts;
mod line;
mod table;

use std::ops::ControlFlow;
use std::time::Duration;

use daybook_schemas::api::EventRecord;
use daybook_schemas::{Seq, Stream};

use super::{Command, json};
use crate::client::{CallError, Client};
use crate::options::{Given, Order};
use crate::say;
use crate::table::instants::Instants;

pub const COMMAND: Command = Command {
    name: "events",
    summary: "Show the events of the log, in order.",
    usage: "daybook events [OPTION]...",
    options: table::OPTIONS,
    order: Order::Permute,
    exit_bad_option: 2,
    run,
};

/// What stands before the reason of a failed call.
const CALL: &str = "daybook: error";
/// How often in a row a broken stream is taken up again without a new event.
const RETRIES_MAX: u32 = 10;
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wish {
    stream: Stream,
    from: Option<u64>,
    job: Option<u32>,
    limit: Option<u64>,
    follow: bool,
    json: bool,
}

fn run(arguments: &[String]) -> u8 {
    let line = match COMMAND.read(arguments) {
        Ok(line) => line,
        Err(exit) => return exit,
    };
    if let Some(operand) = line.operands.first() {
        say::error("daybook", format!("events takes options only, not \"{operand}\""));
        return 2;
    }
    let wish = match read(&line.options) {
        Ok(wish) => wish,
        Err(text) => {
            say::error("daybook", text);
            return 2;
        }
    };
    match show(&wish) {
        Ok(()) => 0,
        Err(error) => json::report(CALL, &error),
    }
}

fn read(options: &[Given]) -> Result<Wish, String> {
    let mut wish =
        Wish { stream: Stream::State, from: None, job: None, limit: None, follow: false, json: false };
    for given in options {
        let text = given.text();
        let number =
            |what: &str| text.parse::<u64>().map_err(|_| format!("--{what}={text}: expected a whole number"));
        match given.option.long {
            "follow" => wish.follow = true,
            "from" => wish.from = Some(number("from")?),
            "job" => {
                let id = number("job")?;
                wish.job =
                    Some(u32::try_from(id).map_err(|_| format!("--job={id}: there is no such job id"))?);
            }
            "json" => wish.json = true,
            "limit" => wish.limit = Some(number("limit")?),
            "stream" => {
                wish.stream = match text {
                    "state" => Stream::State,
                    "detail" => Stream::Detail,
                    _ => return Err(format!("--stream={text}: expected state or detail")),
                }
            }
            _ => {}
        }
    }
    Ok(wish)
}

/// How far the answer has come.
#[derive(Debug, Default)]
struct Progress {
    /// The last commit of which events were shown, and how many of them.
    seq: Seq,
    of_seq: u64,
    shown: u64,
}

impl Progress {
    /// Whether an event is new, and counts it; `skip`: events of the last commit that were shown before.
    fn advance(&mut self, seq: Seq, skip: &mut u64) -> bool {
        if seq == self.seq && *skip > 0 {
            *skip -= 1;
            return false;
        }
        self.of_seq = if seq == self.seq { self.of_seq + 1 } else { 1 };
        self.seq = seq;
        self.shown += 1;
        true
    }
}

/// Shows what there is; with `--follow` takes a broken stream up again where it broke.
fn show(wish: &Wish) -> Result<(), CallError> {
    let instants = Instants::from_environment();
    let mut client = Client::connect()?;
    let mut progress = Progress::default();
    let mut retries = 0;
    loop {
        let before = progress.shown;
        match stream(&mut client, wish, &mut progress, &instants) {
            Err(CallError::OutcomeUnknown(cause)) if wish.follow => {
                retries = if progress.shown > before { 0 } else { retries + 1 };
                if retries > RETRIES_MAX {
                    return Err(CallError::OutcomeUnknown(cause));
                }
                std::thread::sleep(RETRY_PAUSE);
            }
            // The server closes a followed stream only when it stops.
            Ok(()) if wish.follow && wish.limit.is_none_or(|limit| progress.shown < limit) => {
                retries = if progress.shown > before { 0 } else { retries + 1 };
                if retries > RETRIES_MAX {
                    return Ok(());
                }
                std::thread::sleep(RETRY_PAUSE);
            }
            other => return other,
        }
    }
}

fn stream(
    client: &mut Client,
    wish: &Wish,
    progress: &mut Progress,
    instants: &Instants,
) -> Result<(), CallError> {
    let mut skip = progress.of_seq;
    let mut broken = None;
    let path = path(wish, progress);
    client.stream_lines(&path, |text| {
        let record: EventRecord = match serde_json::from_str(text) {
            Ok(record) => record,
            Err(error) => {
                broken = Some(error.to_string());
                return ControlFlow::Break(());
            }
        };
        if progress.advance(record.seq, &mut skip) {
            match wish.json {
                true => say::print(&format!("{text}\n")),
                false => say::print(&line::of(&record, instants)),
            }
        }
        if wish.limit.is_some_and(|limit| progress.shown >= limit) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    broken.map_or(Ok(()), |error| Err(CallError::Unintelligible(error)))
}

/// The question; after a break from the last commit on, whose events are then skipped as far as they were shown.
fn path(wish: &Wish, progress: &Progress) -> String {
    let stream = match wish.stream {
        Stream::State => "state",
        Stream::Detail => "detail",
    };
    let mut path = format!("/v1/events?stream={stream}&follow={}", wish.follow);
    let from = if progress.shown > 0 { Some(progress.seq.0) } else { wish.from };
    let limit = wish.limit.map(|limit| limit - progress.shown.min(limit) + progress.of_seq);
    let parameters = [("from", from), ("job", wish.job.map(u64::from)), ("limit", limit)];
    for (name, value) in parameters {
        if let Some(value) = value {
            path.push_str(&format!("&{name}={value}"));
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(words: &[&str]) -> Result<Wish, String> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let line = crate::options::parse(table::OPTIONS, Order::Permute, &words)
            .map_err(|error| error.to_string())?;
        read(&line.options)
    }

    #[test]
    fn the_question_says_what_was_asked() {
        for (words, path_text) in [
            (&[][..], "/v1/events?stream=state&follow=false"),
            (&["--follow", "--job", "7"], "/v1/events?stream=state&follow=true&job=7"),
            (
                &["--stream=detail", "--from=5", "--limit=3"],
                "/v1/events?stream=detail&follow=false&from=5&limit=3",
            ),
        ] {
            assert_eq!(path(&wish(words).expect("a wish"), &Progress::default()), path_text, "{words:?}");
        }
        for words in [&["--from", "x"][..], &["--stream", "other"], &["--job", "99999999999"]] {
            assert!(wish(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn a_stream_that_broke_goes_on_behind_what_was_shown() {
        let mut progress = Progress::default();
        let mut none = 0;
        for seq in [4, 5, 5] {
            assert!(progress.advance(Seq(seq), &mut none));
        }
        let wish = wish(&["--follow", "--limit=10"]).expect("a wish");
        assert_eq!(path(&wish, &progress), "/v1/events?stream=state&follow=true&from=5&limit=9");
        let mut skip = progress.of_seq;
        let shown: Vec<bool> =
            [5, 5, 5, 6].into_iter().map(|seq| progress.advance(Seq(seq), &mut skip)).collect();
        assert_eq!(shown, [false, false, true, true]);
    }
}
