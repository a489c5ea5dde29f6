//! The options of sdiag.

use crate::options::{self, Opt, Takes};

pub const OPTIONS: &[Opt] = &[
    Opt::new(Some('a'), "all", Takes::Nothing, "everything (so without it, too)"),
    options::HELP,
    Opt::new(None, "json", Takes::Nothing, "the figures as JSON"),
    Opt::refused(Some('M'), "cluster", Takes::Value("NAME")).or(&["clusters"]),
    Opt::refused(Some('r'), "reset", Takes::Nothing),
    Opt::refused(Some('i'), "sort-by-id", Takes::Nothing),
    Opt::refused(Some('t'), "sort-by-time", Takes::Nothing),
    Opt::refused(Some('T'), "sort-by-time2", Takes::Nothing),
    options::USAGE,
    options::VERSION,
    Opt::refused(None, "yaml", Takes::Nothing),
];
