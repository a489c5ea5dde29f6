//! The options of sprio.

use crate::options::{self, Opt, Takes};

pub const OPTIONS: &[Opt] = &[
    Opt::refused(None, "federation", Takes::Nothing),
    Opt::new(Some('o'), "format", Takes::Value("FORMAT"), "columns, such as \"%.15i %9r %.10Y\""),
    options::LONG_HELP,
    Opt::new(Some('j'), "jobs", Takes::Value("IDS"), "only these jobs"),
    Opt::new(None, "json", Takes::Nothing, "the priorities as JSON"),
    Opt::refused(None, "local", Takes::Nothing),
    Opt::new(Some('l'), "long", Takes::Nothing, "every column"),
    Opt::refused(Some('M'), "clusters", Takes::Value("NAMES")).or(&["cluster"]),
    Opt::new(Some('h'), "noheader", Takes::Nothing, "no line with the columns' names"),
    Opt::new(Some('n'), "norm", Takes::Nothing, "factors instead of what they add"),
    Opt::new(Some('p'), "partition", Takes::Value("NAMES"), "only jobs in these partitions"),
    Opt::refused(None, "sibling", Takes::Nothing),
    Opt::refused(Some('S'), "sort", Takes::Value("KEYS")),
    options::USAGE,
    Opt::new(Some('u'), "user", Takes::Value("NAMES"), "only jobs of these users").or(&["users"]),
    Opt::refused(Some('v'), "verbose", Takes::Nothing),
    options::VERSION,
    Opt::new(Some('w'), "weights", Takes::Nothing, "the weights instead of jobs"),
];
