//! The options of sshare.

use crate::options::{self, Opt, Takes};

pub const OPTIONS: &[Opt] = &[
    Opt::new(Some('A'), "accounts", Takes::Value("NAMES"), "only these accounts").or(&["account"]),
    Opt::new(Some('a'), "all", Takes::Nothing, "all users, not only yourself"),
    Opt::refused(Some('M'), "clusters", Takes::Value("NAMES")).or(&["cluster"]),
    Opt::new(Some('o'), "format", Takes::Value("FIELDS"), "columns, such as account,user,fairshare"),
    options::LONG_HELP,
    Opt::new(Some('e'), "helpformat", Takes::Nothing, "show the names of all fields"),
    Opt::new(None, "json", Takes::Nothing, "the shares as JSON"),
    Opt::new(Some('l'), "long", Takes::Nothing, "more columns"),
    Opt::new(Some('n'), "noheader", Takes::Nothing, "no lines with the columns' names").or(&["noheaders"]),
    Opt::new(Some('p'), "parsable", Takes::Nothing, "values with | behind each"),
    Opt::new(Some('P'), "parsable2", Takes::Nothing, "values with | between them"),
    Opt::new(Some('m'), "partition", Takes::Nothing, "the partitions of associations, too"),
    options::USAGE,
    Opt::new(Some('u'), "users", Takes::Value("NAMES"), "only these users").or(&["user", "uid"]),
    Opt::new(Some('U'), "Users", Takes::Nothing, "users only, no accounts"),
    Opt::refused(Some('v'), "verbose", Takes::Nothing),
    options::VERSION,
];
