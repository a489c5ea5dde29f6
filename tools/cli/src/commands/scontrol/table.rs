//! The options of scontrol.

use crate::options::{self, Opt, Takes};

pub const OPTIONS: &[Opt] = &[
    Opt::new(Some('a'), "all", Takes::Nothing, "show hidden partitions too"),
    Opt::refused(Some('M'), "clusters", Takes::Value("NAMES")).or(&["cluster"]),
    Opt::new(Some('d'), "details", Takes::Nothing, "show more of each job and node"),
    Opt::new(Some('F'), "future", Takes::Nothing, "show nodes in state FUTURE too"),
    options::HELP,
    Opt::new(None, "hide", Takes::Nothing, "do not show hidden partitions (so unless --all)"),
    Opt::new(None, "json", Takes::Nothing, "show: the things as JSON"),
    Opt::refused(None, "local", Takes::Nothing),
    Opt::new(Some('o'), "oneliner", Takes::Nothing, "show each thing on one line"),
    Opt::new(Some('Q'), "quiet", Takes::Nothing, "leave out messages that are no errors"),
    Opt::refused(None, "sibling", Takes::Nothing),
    Opt::refused(Some('u'), "uid", Takes::Value("USER")),
    options::USAGE,
    Opt::new(Some('v'), "verbose", Takes::Nothing, "say where the daemon is looked for"),
    options::VERSION,
];
