//! The options of sacctmgr.

use crate::options::{self, Opt, Takes};

pub const OPTIONS: &[Opt] = &[
    Opt::new(Some('s'), "associations", Takes::Nothing, "with show user or account: their associations too"),
    options::HELP,
    Opt::new(Some('i'), "immediate", Takes::Nothing, "change without asking"),
    Opt::new(None, "json", Takes::Nothing, "what is shown as JSON"),
    Opt::new(Some('n'), "noheader", Takes::Nothing, "no lines with the columns' names"),
    Opt::new(Some('p'), "parsable", Takes::Nothing, "values with | behind each"),
    Opt::new(Some('P'), "parsable2", Takes::Nothing, "values with | between them"),
    Opt::new(
        Some('Q'),
        "quiet",
        Takes::Nothing,
        "no messages but about changes and errors (there are no others)",
    ),
    Opt::new(Some('r'), "readonly", Takes::Nothing, "refuse to change anything"),
    options::USAGE,
    Opt::new(Some('v'), "verbose", Takes::Nothing, "say where the daemon is looked for"),
    options::VERSION,
    Opt::refused(None, "yaml", Takes::Nothing),
];
