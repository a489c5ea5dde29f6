//! The options of sinfo, and the environment variables that stand for them.

use crate::options::{self, Opt, Takes};

pub const OPTIONS: &[Opt] = &[
    Opt::new(Some('a'), "all", Takes::Nothing, "hidden partitions too"),
    Opt::new(Some('d'), "dead", Takes::Nothing, "only nodes that do not answer"),
    Opt::new(Some('e'), "exact", Takes::Nothing, "only nodes of the same size on one line"),
    Opt::refused(None, "federation", Takes::Nothing),
    Opt::new(Some('o'), "format", Takes::Value("FORMAT"), "columns, such as \"%9P %.6D %N\""),
    Opt::new(Some('O'), "Format", Takes::Value("FIELDS"), "columns by name, such as NodeList:12,StateLong"),
    Opt::refused(Some('F'), "future", Takes::Nothing),
    options::LONG_HELP,
    Opt::new(None, "hide", Takes::Nothing, "no hidden partitions (so unless -a)"),
    Opt::new(Some('i'), "iterate", Takes::Value("SECONDS"), "ask again and again, with this pause"),
    Opt::new(None, "json", Takes::Nothing, "nodes and partitions as JSON"),
    Opt::new(Some('R'), "list-reasons", Takes::Nothing, "why nodes are down or drained"),
    Opt::refused(None, "local", Takes::Nothing),
    Opt::new(Some('l'), "long", Takes::Nothing, "more columns"),
    Opt::refused(Some('M'), "clusters", Takes::Value("NAMES")).or(&["cluster"]),
    Opt::refused(None, "noconvert", Takes::Nothing),
    Opt::new(Some('N'), "Node", Takes::Nothing, "one line for each node and partition"),
    Opt::new(Some('h'), "noheader", Takes::Nothing, "no line with the columns' names"),
    Opt::new(Some('n'), "nodes", Takes::Value("NODES"), "only these nodes"),
    Opt::new(Some('p'), "partition", Takes::Value("NAMES"), "only these partitions"),
    Opt::new(Some('T'), "reservation", Takes::Nothing, "the reservations"),
    Opt::new(Some('r'), "responding", Takes::Nothing, "only nodes that answer"),
    Opt::new(Some('S'), "sort", Takes::Value("KEYS"), "order by these letters of --format, such as #P,-t"),
    Opt::new(Some('t'), "states", Takes::Value("STATES"), "only nodes in these states").or(&["state"]),
    Opt::new(Some('s'), "summarize", Takes::Nothing, "one line for each partition"),
    options::USAGE,
    Opt::new(Some('v'), "verbose", Takes::Nothing, "a line with the time above the table"),
    options::VERSION,
    Opt::refused(None, "yaml", Takes::Nothing),
];

/// Options on the command line overrule them.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("SINFO_ALL", "all"),
    ("SINFO_FORMAT", "format"),
    ("SINFO_PARTITION", "partition"),
    ("SINFO_SORT", "sort"),
];
