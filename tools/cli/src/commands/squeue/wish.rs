//! What squeue is asked for: the options, read.

use std::time::Duration;

use daybook_schemas::api::JobFilter;
use daybook_schemas::grammar::{hostlist, job_id};
use daybook_schemas::job::JobState;

use super::fields::{self, Field};
use super::sort::{self, Key};
use crate::options::Given;
use crate::table::format::Layout;
use crate::{people, say};

const DEFAULT: &str = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
const LONG: &str = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
const START: &str = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";

/// States that Slurm has and Daybook's jobs are never in.
const FOREIGN_STATES: &[&str] = &[
    "CONFIGURING",
    "CF",
    "RESIZING",
    "RS",
    "RESV_DEL_HOLD",
    "RD",
    "REQUEUE_FED",
    "RF",
    "REQUEUE_HOLD",
    "RH",
    "REVOKED",
    "RV",
    "SIGNALING",
    "SI",
    "SPECIAL_EXIT",
    "SE",
    "STAGE_OUT",
    "SO",
    "STOPPED",
    "ST",
];
/// The list in the message of a state that does not exist.
const VALID_STATES: &str = "PENDING,RUNNING,SUSPENDED,COMPLETED,CANCELLED,FAILED,TIMEOUT,NODE_FAIL,PREEMPTED,BOOT_FAIL,\
                            DEADLINE,OUT_OF_MEMORY,COMPLETING,CONFIGURING,RESIZING,RESV_DEL_HOLD,REQUEUED,REQUEUE_FED,\
                            REQUEUE_HOLD,REVOKED,SIGNALING,SPECIAL_EXIT,STAGE_OUT,STOPPED";

/// What is asked for.
#[derive(Debug)]
pub struct Wish {
    pub filter: JobFilter,
    /// Nothing can be meant (only unknown users, or states that no job is in): the table is empty.
    pub nothing: bool,
    pub layout: Layout<Field>,
    pub keys: Vec<Key>,
    pub expand_arrays: bool,
    pub header: bool,
    /// A line with the time above the table.
    pub headline: bool,
    pub hidden_too: bool,
    pub json: bool,
    /// Ask again after this pause.
    pub iterate: Option<Duration>,
}

/// Formats as they are given.
enum Format {
    Letters(String),
    Names(String),
}

/// Reads the options; what is wrong with them is said here, and the exit status is the error.
pub fn read(options: &[Given]) -> Result<Wish, u8> {
    let mut filter = JobFilter::default();
    let (mut format, mut sort): (Option<Format>, Option<String>) = (None, None);
    let (mut long, mut start, mut verbose, mut nothing) = (false, false, false, false);
    let mut wish = Wish {
        filter: JobFilter::default(),
        nothing: false,
        layout: Layout { prefix: String::new(), columns: Vec::new() },
        keys: Vec::new(),
        expand_arrays: false,
        header: true,
        headline: false,
        hidden_too: false,
        json: false,
        iterate: None,
    };
    for given in options {
        let text = given.text();
        match given.option.long {
            "account" => filter.accounts = list(text),
            "all" => wish.hidden_too = true,
            "hide" => wish.hidden_too = false,
            "array" => wish.expand_arrays = true,
            "array-unique" => wish.expand_arrays = false,
            "format" => format = Some(Format::Letters(text.to_string())),
            "Format" => format = Some(Format::Names(text.to_string())),
            "iterate" => wish.iterate = Some(seconds(text)?),
            "jobs" => filter.jobs = jobs(text)?,
            "json" => wish.json = true,
            "long" => long = true,
            "me" => filter.uids = vec![people::own_uid()],
            "name" => filter.names = list(text),
            "noheader" => wish.header = false,
            "nodelist" => filter.nodes = nodes(text)?,
            "partition" => filter.partitions = list(text),
            "qos" => filter.qos = list(text),
            "reservation" => filter.reservations = list(text),
            "sort" => sort = Some(text.to_string()),
            "start" => start = true,
            "states" => (filter.states, nothing) = states(text)?,
            "user" => {
                filter.uids = users(text);
                wish.nothing |= filter.uids.is_empty();
            }
            "verbose" => verbose = true,
            _ => {}
        }
    }
    wish.nothing |= nothing;
    if start {
        filter.states = vec![JobState::Pending];
        (format, sort) =
            (Some(Format::Letters(START.to_string())), Some(sort.unwrap_or_else(|| "S".to_string())));
    }
    let format = format.unwrap_or_else(|| Format::Letters(if long { LONG } else { DEFAULT }.to_string()));
    wish.layout = layout(&format);
    wish.keys = sort::parse(sort.as_deref().unwrap_or_default()).map_err(|letter| {
        say::error("squeue", format!("Invalid sort specification: {letter}"));
        1
    })?;
    wish.headline = wish.header && (long || verbose || wish.iterate.is_some());
    wish.filter = filter;
    Ok(wish)
}

fn layout(format: &Format) -> Layout<Field> {
    let complain = |what: String| say::error("squeue", format!("Invalid job format specification: {what}"));
    match format {
        Format::Letters(text) => {
            let text = if text.eq_ignore_ascii_case("%all") { fields::all_letters() } else { text.clone() };
            let (layout, unknown) = Layout::of_letters(&text, fields::by_letter);
            unknown.into_iter().for_each(|letter| complain(letter.to_string()));
            layout
        }
        Format::Names(text) => {
            let (layout, unknown) = Layout::of_names(text, fields::by_name);
            unknown.into_iter().for_each(complain);
            layout
        }
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').filter(|part| !part.is_empty()).map(str::to_string).collect()
}

fn seconds(text: &str) -> Result<Duration, u8> {
    match text.parse::<u64>() {
        Ok(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => {
            say::error("squeue", format!("--iterate={text}: expected a whole number of seconds from 1"));
            Err(1)
        }
    }
}

fn jobs(text: &str) -> Result<Vec<daybook_schemas::api::JobSelector>, u8> {
    let ids = job_id::split_list(text).into_iter().filter(|id| !id.is_empty());
    ids.map(|id| {
        job_id::parse_selector(id).map_err(|_| {
            say::error("squeue", format!("Invalid job id: {id}"));
            1
        })
    })
    .collect()
}

fn nodes(text: &str) -> Result<Vec<String>, u8> {
    hostlist::expand(text).map_err(|_| {
        say::error("squeue", format!("Invalid node name {text}"));
        1
    })
}

/// The uids of known users; the others are complained about and left out.
fn users(text: &str) -> Vec<u32> {
    let mut uids = Vec::new();
    for name in list(text) {
        match people::uid_of(&name) {
            Some(uid) => uids.push(uid),
            None => say::error("squeue", format!("Invalid user: {name}\n")),
        }
    }
    uids
}

/// The states, and whether none of them is one that Daybook's jobs can be in.
fn states(text: &str) -> Result<(Vec<JobState>, bool), u8> {
    let mut states = Vec::new();
    for word in list(text) {
        if word.eq_ignore_ascii_case("all") {
            return Ok((JobState::ALL.to_vec(), false));
        }
        match JobState::parse(&word) {
            Some(state) => states.push(state),
            None if FOREIGN_STATES.iter().any(|known| known.eq_ignore_ascii_case(&word)) => {}
            None => {
                say::error("squeue", format!("Invalid job state specified: {word}"));
                say::error("squeue", format!("Valid job states include: {VALID_STATES}\n"));
                return Err(1);
            }
        }
    }
    let nothing = states.is_empty();
    Ok((states, nothing))
}
