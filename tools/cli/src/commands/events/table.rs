//! The options of `daybook events`.

use crate::options::{self, Opt, Takes};

pub const OPTIONS: &[Opt] = &[
    Opt::new(Some('f'), "follow", Takes::Nothing, "stay, and show what comes"),
    Opt::new(None, "from", Takes::Value("SEQ"), "from this position on (default: 1)"),
    options::HELP,
    Opt::new(Some('j'), "job", Takes::Value("ID"), "only events about this job (of an array: its tasks too)"),
    Opt::new(None, "json", Takes::Nothing, "one JSON object a line, as it stands in the log"),
    Opt::new(Some('n'), "limit", Takes::Value("N"), "at most so many events"),
    Opt::new(None, "stream", Takes::Value("STREAM"), "state (the default) or detail"),
    options::USAGE,
    options::VERSION,
];
