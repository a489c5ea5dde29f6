//! The options of squeue, and the environment variables that stand for them.

use crate::options::{self, Opt, Takes};

pub const OPTIONS: &[Opt] = &[
    Opt::new(Some('A'), "account", Takes::Value("NAMES"), "only jobs of these accounts").or(&["accounts"]),
    Opt::new(Some('a'), "all", Takes::Nothing, "jobs in hidden partitions too"),
    Opt::new(Some('r'), "array", Takes::Nothing, "one line for each waiting task of an array"),
    Opt::new(None, "array-unique", Takes::Nothing, "an array's waiting tasks on one line (so unless -r)"),
    Opt::refused(None, "federation", Takes::Nothing),
    Opt::new(Some('o'), "format", Takes::Value("FORMAT"), "columns, such as \"%.18i %j %T\""),
    Opt::new(Some('O'), "Format", Takes::Value("FIELDS"), "columns by name, such as JobID:8,Name,State"),
    options::LONG_HELP,
    Opt::new(None, "hide", Takes::Nothing, "no jobs in hidden partitions (so unless -a)"),
    Opt::new(Some('i'), "iterate", Takes::Value("SECONDS"), "ask again and again, with this pause"),
    Opt::new(Some('j'), "jobs", Takes::Optional("IDS"), "only these jobs, arrays or tasks").or(&["job"]),
    Opt::new(None, "json", Takes::Nothing, "the jobs as JSON"),
    Opt::refused(Some('L'), "licenses", Takes::Value("NAMES")),
    Opt::refused(None, "local", Takes::Nothing),
    Opt::new(Some('l'), "long", Takes::Nothing, "more columns: state in full, time limit"),
    Opt::refused(Some('M'), "clusters", Takes::Value("NAMES")).or(&["cluster"]),
    Opt::new(None, "me", Takes::Nothing, "only my own jobs"),
    Opt::new(Some('n'), "name", Takes::Value("NAMES"), "only jobs of these names"),
    Opt::new(Some('h'), "noheader", Takes::Nothing, "no line with the columns' names"),
    Opt::refused(None, "noconvert", Takes::Nothing),
    Opt::new(Some('w'), "nodelist", Takes::Value("NODES"), "only jobs that run on these nodes")
        .or(&["node", "nodes"]),
    Opt::new(Some('p'), "partition", Takes::Value("NAMES"), "only jobs in these partitions"),
    Opt::refused(Some('P'), "priority", Takes::Nothing),
    Opt::new(Some('q'), "qos", Takes::Value("NAMES"), "only jobs of these qualities of service"),
    Opt::new(Some('R'), "reservation", Takes::Value("NAMES"), "only jobs of these reservations"),
    Opt::refused(None, "sibling", Takes::Nothing),
    Opt::new(Some('S'), "sort", Takes::Value("KEYS"), "order by these letters of --format, such as P,-p"),
    Opt::new(None, "start", Takes::Nothing, "waiting jobs with the start that is expected"),
    Opt::new(Some('t'), "states", Takes::Value("STATES"), "only jobs in these states, or all").or(&["state"]),
    Opt::refused(Some('s'), "steps", Takes::Optional("STEPS")),
    options::USAGE,
    Opt::new(Some('u'), "user", Takes::Value("NAMES"), "only jobs of these users").or(&["users"]),
    Opt::new(Some('v'), "verbose", Takes::Nothing, "a line with the time above the table"),
    options::VERSION,
    Opt::refused(None, "yaml", Takes::Nothing),
];

/// Options on the command line overrule them.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("SQUEUE_ACCOUNT", "account"),
    ("SQUEUE_ALL", "all"),
    ("SQUEUE_ARRAY", "array"),
    ("SQUEUE_FORMAT", "format"),
    ("SQUEUE_FORMAT2", "Format"),
    ("SQUEUE_NAMES", "name"),
    ("SQUEUE_PARTITION", "partition"),
    ("SQUEUE_QOS", "qos"),
    ("SQUEUE_SORT", "sort"),
    ("SQUEUE_STATES", "states"),
    ("SQUEUE_USERS", "user"),
    ("SQUEUE_LICENSES", "licenses"),
];
