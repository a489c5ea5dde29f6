//! The options of sstat.

use crate::options::{self, Opt, Takes};

pub const OPTIONS: &[Opt] = &[
    Opt::new(
        Some('a'),
        "allsteps",
        Takes::Nothing,
        "all steps, the batch script too, of jobs that are named without one",
    ),
    Opt::new(Some('o'), "format", Takes::Value("FIELDS"), "columns, such as jobid,maxrss%12").or(&["fields"]),
    options::HELP,
    Opt::new(Some('e'), "helpformat", Takes::Nothing, "show the names of all fields"),
    Opt::new(Some('j'), "jobs", Takes::Value("IDS"), "of these jobs, array tasks or steps"),
    Opt::new(None, "json", Takes::Nothing, "the steps as JSON"),
    Opt::new(None, "noconvert", Takes::Nothing, "memory in the unit in which it is stored"),
    Opt::new(Some('n'), "noheader", Takes::Nothing, "no lines with the columns' names"),
    Opt::new(Some('p'), "parsable", Takes::Nothing, "values with | behind each"),
    Opt::new(Some('P'), "parsable2", Takes::Nothing, "values with | between them"),
    Opt::refused(Some('i'), "pidformat", Takes::Nothing),
    options::USAGE,
    options::VERSION,
    Opt::refused(Some('v'), "verbose", Takes::Nothing),
];
