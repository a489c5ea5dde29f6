//! The options of scancel and the environment variables that stand for them.

use crate::options::{self, Opt, Takes};

pub const OPTIONS: &[Opt] = &[
    Opt::new(Some('A'), "account", Takes::Value("ACCOUNT"), "only jobs of this account"),
    Opt::new(Some('b'), "batch", Takes::Nothing, "with --signal: to the batch script"),
    Opt::new(None, "ctld", Takes::Nothing, "through the daemon, which is always so"),
    Opt::new(Some('f'), "full", Takes::Nothing, "with --signal: to the batch script and all it started"),
    options::LONG_HELP,
    Opt::refused(Some('H'), "hurry", Takes::Nothing),
    Opt::new(Some('i'), "interactive", Takes::Nothing, "ask before each job"),
    Opt::refused(Some('M'), "clusters", Takes::Value("NAMES")).or(&["cluster"]),
    Opt::new(None, "me", Takes::Nothing, "only your own jobs"),
    Opt::new(Some('n'), "name", Takes::Value("NAME"), "only jobs of this name").or(&["jobname"]),
    Opt::new(Some('w'), "nodelist", Takes::Value("NODES"), "only jobs that run on any of these nodes"),
    Opt::new(Some('p'), "partition", Takes::Value("NAME"), "only jobs of this partition"),
    Opt::new(Some('q'), "qos", Takes::Value("NAME"), "only jobs of this QOS"),
    Opt::new(Some('Q'), "quiet", Takes::Nothing, "say nothing of jobs that are unknown or have ended"),
    Opt::new(Some('R'), "reservation", Takes::Value("NAME"), "only jobs of this reservation"),
    Opt::refused(None, "sibling", Takes::Value("NAME")),
    Opt::new(
        Some('s'),
        "signal",
        Takes::Value("SIGNAL"),
        "send this signal (name or number) and do not cancel",
    ),
    Opt::new(Some('t'), "state", Takes::Value("STATE"), "only jobs that are PENDING, RUNNING or SUSPENDED")
        .or(&["states"]),
    options::USAGE,
    Opt::new(Some('u'), "user", Takes::Value("USER"), "only jobs of this user (name or number)"),
    Opt::new(Some('v'), "verbose", Takes::Nothing, "say what is done, and what became of each job"),
    options::VERSION,
    Opt::refused(None, "wckey", Takes::Value("KEY")),
];

/// Environment variables and the options that they stand for; the command line goes before them.
pub const VARIABLES: &[(&str, &str)] = &[
    ("SCANCEL_ACCOUNT", "account"),
    ("SCANCEL_BATCH", "batch"),
    ("SCANCEL_CTLD", "ctld"),
    ("SCANCEL_FULL", "full"),
    ("SCANCEL_HURRY", "hurry"),
    ("SCANCEL_INTERACTIVE", "interactive"),
    ("SCANCEL_NAME", "name"),
    ("SCANCEL_PARTITION", "partition"),
    ("SCANCEL_QOS", "qos"),
    ("SCANCEL_STATE", "state"),
    ("SCANCEL_USER", "user"),
    ("SCANCEL_VERBOSE", "verbose"),
    ("SCANCEL_WCKEY", "wckey"),
    ("SLURM_CLUSTERS", "clusters"),
];
