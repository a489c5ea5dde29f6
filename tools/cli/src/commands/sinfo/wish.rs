//! What sinfo is asked for: the options, read.

use std::time::Duration;

use daybook_schemas::api::{NodeView, PartitionView};
use daybook_schemas::grammar::hostlist;

use super::fields::{self, Field};
use super::lines::{self, Grouping, Key};
use super::state::Wanted;
use crate::options::Given;
use crate::say;
use crate::table::format::Layout;

const DEFAULT: &str = "%#P %.5a %.10l %.6D %.6t %N";
const LONG: &str = "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N";
const SUMMARY: &str = "%#P %.5a %.10l %.16F %N";
const BY_NODE: &str = "%#N %.6D %.#P %6t";
const BY_NODE_LONG: &str = "%#N %.6D %.#P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E";
const REASONS: &str = "%20E %9u %19H %N";
const REASONS_LONG: &str = "%20E %12U %19H %6t %N";

/// The list in the message of a state that does not exist.
const VALID_STATES: &str = "unknown,down,idle,allocated,?,mixed,future,drain,drained,draining,no_respond,reserved,\
                            perfctrs,cloud,completing,powering_down,powered_down,power_down,powering_up,fail,maint,\
                            reboot,reboot^,unknown";

/// What is asked for.
#[derive(Debug)]
pub struct Wish {
    pub layout: Layout<Field>,
    pub keys: Vec<Key>,
    pub grouping: Grouping,
    pub header: bool,
    /// A line with the time above the table.
    pub headline: bool,
    pub json: bool,
    /// The reservations, and nothing of nodes.
    pub reservations: bool,
    pub iterate: Option<Duration>,
    /// Empty: all that are not hidden.
    pub partitions: Vec<String>,
    pub hidden_too: bool,
    /// Absent: all.
    pub nodes: Option<Vec<String>>,
    /// Empty: all.
    pub states: Vec<Wanted>,
    /// Only nodes that do (or do not) answer.
    pub responding: Option<bool>,
}

impl Wish {
    /// Whether a partition is meant.
    pub fn means_partition(&self, partition: &PartitionView) -> bool {
        match self.partitions.is_empty() {
            true => self.hidden_too || !partition.definition.hidden,
            false => self.partitions.contains(&partition.definition.name),
        }
    }

    /// Whether a node is meant.
    pub fn means_node(&self, node: &NodeView) -> bool {
        let name = node.definition.name.as_str();
        self.nodes.as_ref().is_none_or(|names| names.iter().any(|other| other == name))
            && (self.states.is_empty() || self.states.iter().any(|wanted| wanted.fits(node)))
            && self.responding.is_none_or(|responding| responding != node.not_responding)
    }
}

/// Reads the options; what is wrong with them is said here, and the exit status is the error.
pub fn read(options: &[Given]) -> Result<Wish, u8> {
    let mut wish = Wish {
        layout: Layout { prefix: String::new(), columns: Vec::new() },
        keys: Vec::new(),
        grouping: Grouping::default(),
        header: true,
        headline: false,
        json: false,
        reservations: false,
        iterate: None,
        partitions: Vec::new(),
        hidden_too: false,
        nodes: None,
        states: Vec::new(),
        responding: None,
    };
    let (mut format, mut sort): (Option<(bool, String)>, Option<String>) = (None, None);
    let (mut long, mut summary, mut verbose) = (false, false, false);
    for given in options {
        let text = given.text();
        match given.option.long {
            "all" => wish.hidden_too = true,
            "hide" => wish.hidden_too = false,
            "dead" => wish.responding = Some(false),
            "reservation" => wish.reservations = true,
            "responding" => wish.responding = Some(true),
            "exact" => wish.grouping.exact = true,
            "format" => format = Some((false, text.to_string())),
            "Format" => format = Some((true, text.to_string())),
            "iterate" => wish.iterate = Some(seconds(text)?),
            "json" => wish.json = true,
            "list-reasons" => wish.grouping.reasons = true,
            "long" => long = true,
            "Node" => wish.grouping.by_node = true,
            "noheader" => wish.header = false,
            "nodes" => wish.nodes = Some(nodes(text)?),
            "partition" => wish.partitions = list(text),
            "sort" => sort = Some(text.to_string()),
            "states" => wish.states = states(text)?,
            "summarize" => summary = true,
            "verbose" => verbose = true,
            _ => {}
        }
    }
    let standard = standard_format(wish.grouping, long, summary).to_string();
    wish.layout = layout(&format.unwrap_or((false, standard)));
    let standard = match (wish.grouping.by_node, wish.grouping.reasons, summary) {
        (true, _, _) => "N,#P",
        (_, true, _) => "",
        (_, _, true) => "#P",
        _ => "#P,-t",
    };
    wish.keys = lines::parse_keys(sort.as_deref().unwrap_or(standard)).map_err(|letter| {
        say::error("sinfo", format!("Invalid sort specification: {letter}"));
        1
    })?;
    wish.headline = wish.header && (long || verbose || wish.iterate.is_some());
    Ok(wish)
}

fn standard_format(grouping: Grouping, long: bool, summary: bool) -> &'static str {
    match (summary, grouping.reasons, grouping.by_node, long) {
        (true, ..) => SUMMARY,
        (_, true, _, true) => REASONS_LONG,
        (_, true, _, false) => REASONS,
        (_, _, true, true) => BY_NODE_LONG,
        (_, _, true, false) => BY_NODE,
        (_, _, _, true) => LONG,
        _ => DEFAULT,
    }
}

fn layout((by_name, text): &(bool, String)) -> Layout<Field> {
    let complain = |what: String| say::line(format!("Invalid node format specification: {what}"));
    if *by_name {
        let (layout, unknown) = Layout::of_names(text, fields::by_name);
        unknown.into_iter().for_each(complain);
        return layout;
    }
    let text = if text.eq_ignore_ascii_case("%all") { fields::all_letters() } else { text.clone() };
    let (layout, unknown) = Layout::of_letters(&text, fields::by_letter);
    unknown.into_iter().for_each(|letter| complain(letter.to_string()));
    layout
}

fn list(text: &str) -> Vec<String> {
    text.split(',').filter(|part| !part.is_empty()).map(str::to_string).collect()
}

fn seconds(text: &str) -> Result<Duration, u8> {
    match text.parse::<u64>() {
        Ok(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => {
            say::error("sinfo", format!("--iterate={text}: expected a whole number of seconds from 1"));
            Err(1)
        }
    }
}

fn nodes(text: &str) -> Result<Vec<String>, u8> {
    hostlist::expand(text).map_err(|error| {
        say::error("sinfo", error.to_string());
        1
    })
}

fn states(text: &str) -> Result<Vec<Wanted>, u8> {
    let read = |word: String| {
        Wanted::parse(&word).ok_or_else(|| {
            say::error("sinfo", format!("Bad state string: \"{word}\""));
            say::error("sinfo", format!("valid states: {VALID_STATES}"));
            1
        })
    };
    list(text).into_iter().map(read).collect()
}
