//! The options of `daybook why`.

use crate::options::{self, Opt, Takes};

pub const OPTIONS: &[Opt] = &[
    Opt::new(None, "json", Takes::Nothing, "all figures as JSON"),
    options::HELP,
    options::USAGE,
    options::VERSION,
];
