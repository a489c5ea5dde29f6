//! What sacct is asked for: the options, read.

use daybook_schemas::UtcMicros;
use daybook_schemas::api::AccountingQuery;
use daybook_schemas::grammar::instant::{Bare, parse_instant};
use daybook_schemas::grammar::job_id::JobStepSelector;
use daybook_schemas::grammar::{hostlist, job_id};
use daybook_schemas::job::JobState;
use jiff::ZonedDateTime;

use super::columns::{self, Column, Form};
use super::fields;
use super::selection::{Selection, Window};
use crate::options::Given;
use crate::table::amounts::MemoryUnits;
use crate::table::instants::Instants;
use crate::{people, say};

const DEFAULT: &str = "jobid,jobname,partition,account,alloccpus,state,exitcode";
const BRIEF: &str = "jobid,state,exitcode";

/// What is asked for.
#[derive(Debug)]
pub struct Wish {
    pub query: AccountingQuery,
    pub selection: Selection,
    pub columns: Vec<Column>,
    pub form: Form,
    pub header: bool,
    pub units: MemoryUnits,
    pub json: bool,
}

/// The options as given, before they are put together.
#[derive(Default)]
struct Read {
    query: AccountingQuery,
    selection: Selection,
    /// Each `-o`, `-l` and `-b` adds columns.
    formats: Vec<String>,
    start: Option<UtcMicros>,
    end: Option<UtcMicros>,
    delimiter: Option<String>,
    /// Whether a delimiter ends the line; absent: aligned.
    parsable: Option<bool>,
    all_users: bool,
    no_header: bool,
    units: MemoryUnits,
    json: bool,
}

/// Reads the options; what is wrong with them is said here, and the exit status is the error.
pub fn read(options: &[Given], now: &ZonedDateTime, own_uid: u32) -> Result<Wish, u8> {
    let mut read = Read::default();
    for given in options {
        read.take(given, now)?;
    }
    if read.formats.is_empty() {
        read.formats.extend(std::env::var("SACCT_FORMAT").ok().filter(|format| !format.is_empty()));
    }
    read.finish(now, own_uid)
}

impl Read {
    fn take(&mut self, given: &Given, now: &ZonedDateTime) -> Result<(), u8> {
        let text = given.text();
        match given.option.long {
            "accounts" => self.query.accounts = list(text),
            "wckeys" => self.query.wckeys = list(&text.to_ascii_lowercase()),
            "allocations" => self.query.allocations_only = true,
            "allusers" => self.all_users = true,
            "brief" => self.formats.push(BRIEF.to_string()),
            "delimiter" => self.delimiter = Some(text.to_string()),
            "duplicates" => self.selection.duplicates = true,
            "endtime" => self.end = Some(time(text, now)?),
            "format" => self.formats.push(text.to_string()),
            "gid" => self.selection.groups = groups(text)?,
            "jobs" => self.selection.named = jobs(text)?,
            "json" => self.json = true,
            "long" => self.formats.push(fields::LONG.join(",")),
            "name" => self.query.names = list(text),
            "ncpus" => self.selection.cpus = Some(range("ncpus", text)?),
            "nnodes" => self.selection.nodes = Some(range("nnodes", text)?),
            "noconvert" => self.units = MemoryUnits::Stored,
            "nodelist" => self.query.nodes = nodes(text)?,
            "noheader" => self.no_header = true,
            "parsable" => self.parsable = Some(true),
            "parsable2" => self.parsable = Some(false),
            "partition" => self.query.partitions = list(text),
            "qos" => self.selection.qos = list(text),
            "starttime" => self.start = Some(time(text, now)?),
            "state" => self.selection.states = states(text)?,
            "truncate" => self.selection.truncate = true,
            "units" => {
                self.units =
                    MemoryUnits::parse(text).ok_or_else(|| fault(format!("Invalid units type: {text}")))?
            }
            "user" => {
                self.query.uids = users(text)?;
                self.all_users |= self.query.uids.is_empty();
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self, now: &ZonedDateTime, own_uid: u32) -> Result<Wish, u8> {
        let format = if self.formats.is_empty() { DEFAULT.to_string() } else { self.formats.join(",") };
        let columns = columns::parse(&format)
            .map_err(|unknown| fault(format!("Invalid field requested: \"{}\"", unknown.0)))?;
        self.set_window(now)?;
        if self.query.uids.is_empty() && !self.all_users && own_uid != 0 {
            self.query.uids = vec![own_uid];
        }
        self.query.jobs = self.selection.named.iter().map(|named| named.job.clone()).collect();
        // A state may have been that of an earlier run.
        self.query.duplicates = self.selection.duplicates || !self.selection.states.is_empty();
        let delimiter = self.delimiter.unwrap_or_else(|| "|".to_string());
        let form = match self.parsable {
            None => Form::Aligned,
            Some(true) => Form::Ended(delimiter),
            Some(false) => Form::Separated(delimiter),
        };
        Ok(Wish {
            query: self.query,
            selection: self.selection,
            columns,
            form,
            header: !self.no_header,
            units: self.units,
            json: self.json,
        })
    }

    /// Without jobs by id: from today's start (with states: from now) to now, unless said otherwise.
    fn set_window(&mut self, now: &ZonedDateTime) -> Result<(), u8> {
        let present = UtcMicros::from_seconds(now.timestamp().as_second());
        self.selection.past = self.end.is_some();
        let by_id = !self.selection.named.is_empty();
        let start = match self.start {
            None if by_id => None,
            None if !self.selection.states.is_empty() && self.end.is_none() => Some(present),
            None => Some(today(now)),
            given => given,
        };
        let end = match self.end {
            None if by_id => None,
            None => Some(present),
            given => given,
        };
        if let (Some(start), Some(end)) = (start, end)
            && start > end
        {
            let instants = Instants::new(now.time_zone().clone(), now.timestamp().as_second());
            return Err(fault(format!(
                "Start time ({}) requested is after end time ({}).",
                instants.text(start),
                instants.text(end)
            )));
        }
        self.selection.window = Window { start, end };
        (self.query.start, self.query.end) = (start, end);
        Ok(())
    }
}

fn today(now: &ZonedDateTime) -> UtcMicros {
    let start = now.start_of_day().map_or_else(|_| now.timestamp(), |start| start.timestamp());
    UtcMicros::from_seconds(start.as_second())
}

fn fault(text: String) -> u8 {
    say::error("sacct", text);
    1
}

fn fatal(text: String) -> u8 {
    say::line(format!("sacct: fatal: {text}"));
    1
}

fn list(text: &str) -> Vec<String> {
    text.split(',').filter(|part| !part.is_empty()).map(str::to_string).collect()
}

fn time(text: &str, now: &ZonedDateTime) -> Result<UtcMicros, u8> {
    let present = UtcMicros::from_seconds(now.timestamp().as_second());
    parse_instant(text, present, now.time_zone(), Bare::Past).map_err(|error| {
        say::line(error.to_string());
        1
    })
}

fn jobs(text: &str) -> Result<Vec<JobStepSelector>, u8> {
    let one = |id: &str| {
        job_id::parse_step_selector(id).map_err(|_| fatal(format!("Bad job/step specified: {id}")))
    };
    job_id::split_list(text).into_iter().filter(|id| !id.is_empty()).map(one).collect()
}

fn users(text: &str) -> Result<Vec<u32>, u8> {
    let uid = |name: String| people::uid_of(&name).ok_or_else(|| fault(format!("Invalid user id: {name}")));
    list(text).into_iter().map(uid).collect()
}

fn groups(text: &str) -> Result<Vec<u32>, u8> {
    let gid = |name: String| match nix::unistd::Group::from_name(&name) {
        Ok(Some(group)) => Ok(group.gid.as_raw()),
        _ => name.parse().map_err(|_| fault(format!("Invalid group id: {name}"))),
    };
    list(text).into_iter().map(gid).collect()
}

fn states(text: &str) -> Result<Vec<JobState>, u8> {
    let state = |word: String| {
        JobState::parse(&word).ok_or_else(|| fatal(format!("unrecognized job state value '{word}'")))
    };
    list(text).into_iter().map(state).collect()
}

fn nodes(text: &str) -> Result<Vec<daybook_schemas::NodeName>, u8> {
    let names = hostlist::expand(text).map_err(|error| fault(error.to_string()))?;
    Ok(names.into_iter().map(Into::into).collect())
}

/// `2` or `2-4`.
fn range(option: &str, text: &str) -> Result<(u32, u32), u8> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    match (least.parse(), most.parse()) {
        (Ok(least), Ok(most)) if least <= most => Ok((least, most)),
        _ => Err(fault(format!("--{option}={text}: expected a number or two, such as 2-4"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{self, Order};

    fn wish(words: &[&str], own_uid: u32) -> Result<Wish, u8> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let line = options::parse(super::super::table::OPTIONS, Order::Permute, &words).map_err(|_| 1)?;
        let now: ZonedDateTime = "2026-12-02T01:29:05[UTC]".parse().map_err(|_| 2)?;
        read(&line.options, &now, own_uid)
    }

    fn window(words: &[&str]) -> (String, String) {
        let window = wish(words, 0).expect("a window").selection.window;
        let text =
            |at: Option<UtcMicros>| at.map_or("open".to_string(), |at| at.to_string()[..19].to_string());
        (text(window.start), text(window.end))
    }

    #[test]
    fn the_window_is_today_unless_something_says_otherwise() {
        for (words, start, end) in [
            (&[][..], "2026-12-02T00:00:00", "2026-12-02T01:29:05"),
            (&["-j", "5"], "open", "open"),
            (&["-j", "5", "-S", "now-1hour"], "2026-12-02T00:29:05", "open"),
            (&["-s", "R"], "2026-12-02T01:29:05", "2026-12-02T01:29:05"),
            (&["-s", "R", "-E", "now"], "2026-12-02T00:00:00", "2026-12-02T01:29:05"),
            (&["-S", "2026-12-01", "-E", "2026-12-02"], "2026-12-01T00:00:00", "2026-12-02T00:00:00"),
        ] {
            assert_eq!(window(words), (start.to_string(), end.to_string()), "{words:?}");
        }
        assert_eq!(wish(&["-S", "now", "-E", "now-1hour"], 0).err(), Some(1));
    }

    #[test]
    fn only_root_sees_everybody_unasked() {
        for (words, uid, uids) in [
            (&[][..], 0, &[][..]),
            (&[], 1001, &[1001]),
            (&["-a"], 1001, &[]),
            (&["-u", "0,1002"], 1001, &[0, 1002]),
        ] {
            assert_eq!(wish(words, uid).expect("a wish").query.uids, uids, "{words:?}");
        }
    }

    #[test]
    fn mistakes_are_refused() {
        for words in [
            &["-o", "jobid,nosuchfield"][..],
            &["-j", "abc"],
            &["-s", "foo"],
            &["-S", "garbage"],
            &["--units=X"],
            &["-i", "4-2"],
            &["-N", "n[1"],
        ] {
            assert_eq!(wish(words, 0).err(), Some(1), "{words:?}");
        }
    }
}
