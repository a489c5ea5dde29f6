//! Command-line options as a table, and a parser with getopt_long's rules: unique prefixes of long options,
//! `--option=value` and `--option value`, bundled short options, optional values only when attached.
//!
//! What Slurm has and Daybook has not yet is in the table as [`Support::Refused`], so that it is refused by
//! its name and never swallowed.

use std::fmt;

/// Whether an option has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None.
    Nothing,
    /// One, attached or as the next argument; the text names it in `--help`.
    Value(&'static str),
    /// Perhaps one, attached only.
    Optional(&'static str),
}

/// Whether Daybook does what the option says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It does; the text is the line of `--help`.
    Yes(&'static str),
    /// Slurm has it, Daybook not yet.
    Refused,
}

/// One option of a command.
#[derive(Debug, PartialEq, Eq)]
pub struct Opt {
    /// Its letter.
    pub short: Option<char>,
    /// Its long name, also its identity; no option is without one.
    pub long: &'static str,
    /// Other long names of the same option.
    pub aliases: &'static [&'static str],
    pub takes: Takes,
    pub support: Support,
}

impl Opt {
    /// An option that Daybook supports.
    pub const fn new(short: Option<char>, long: &'static str, takes: Takes, help: &'static str) -> Opt {
        Opt { short, long, aliases: &[], takes, support: Support::Yes(help) }
    }

    /// One that Slurm has and Daybook has not.
    pub const fn refused(short: Option<char>, long: &'static str, takes: Takes) -> Opt {
        Opt { short, long, aliases: &[], takes, support: Support::Refused }
    }

    /// The same with other names.
    pub const fn or(mut self, aliases: &'static [&'static str]) -> Opt {
        self.aliases = aliases;
        self
    }

    /// As a manual shows it: `-N, --nodes=MIN[-MAX]`.
    pub fn spelling(&self) -> String {
        let letter = self.short.map_or("    ".to_string(), |letter| format!("-{letter}, "));
        match self.takes {
            Takes::Nothing => format!("{letter}--{}", self.long),
            Takes::Value(name) => format!("{letter}--{}={name}", self.long),
            Takes::Optional(name) => format!("{letter}--{}[={name}]", self.long),
        }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.long).chain(self.aliases.iter().copied())
    }
}

/// Where options end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Options may stand behind other arguments.
    Permute,
    /// The first other argument ends them (what follows belongs to a script).
    StopAtFirst,
}

/// An option as it was given.
#[derive(Debug, PartialEq, Eq)]
pub struct Given {
    pub option: &'static Opt,
    pub value: Option<String>,
}

impl Given {
    /// The value; empty where none was given.
    pub fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }
}

/// What a command line says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The options in the order given.
    pub options: Vec<Given>,
    /// All other arguments.
    pub operands: Vec<String>,
}

/// A command line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    #[error("unrecognized option '{0}'")]
    Unrecognized(String),
    #[error("option '--{given}' is ambiguous; possibilities:{}", Quoted(possibilities))]
    Ambiguous { given: String, possibilities: Vec<&'static str> },
    #[error("option '--{0}' doesn't allow an argument")]
    UnwantedValue(&'static str),
    #[error("option '--{0}' requires an argument")]
    MissingValue(&'static str),
    #[error("invalid option -- '{0}'")]
    InvalidLetter(char),
    #[error("option requires an argument -- '{0}'")]
    MissingLetterValue(char),
    /// Slurm's, not Daybook's yet.
    #[error("{0} is not supported by daybook yet")]
    NotSupported(String),
}

struct Quoted<'a>(&'a [&'static str]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|name| write!(f, " '--{name}'"))
    }
}

impl OptionError {
    /// Prints it as Slurm's `program` does and gives the exit status: 1 for what is not supported, else `exit_bad`.
    pub fn report(&self, program: &str, exit_bad: u8) -> u8 {
        if let OptionError::NotSupported(_) = self {
            crate::say::error(program, self.to_string());
            return 1;
        }
        crate::say::line(format!("{program}: {self}"));
        crate::say::line(format!("Try \"{program} --help\" for more information"));
        exit_bad
    }
}

/// `--help`, in every table.
pub const HELP: Opt = Opt::new(Some('h'), "help", Takes::Nothing, "show this text");
/// `--help` of a command whose `-h` means something else.
pub const LONG_HELP: Opt = Opt::new(None, "help", Takes::Nothing, "show this text");
/// `--usage`, in every table.
pub const USAGE: Opt = Opt::new(None, "usage", Takes::Nothing, "show the usage line");
/// `--version`, in every table.
pub const VERSION: Opt = Opt::new(Some('V'), "version", Takes::Nothing, "show the version");

/// The text of `--help`: every supported option with its help, and the names of those that are refused.
pub fn help(usage: &str, summary: &str, table: &[Opt]) -> String {
    let mut text = format!("Usage: {usage}\n\n{summary}\n\nOptions:\n");
    for option in table {
        let Support::Yes(help) = option.support else { continue };
        let spelling = option.spelling();
        if spelling.len() > HELP_COLUMN - 4 {
            text.push_str(&format!("  {spelling}\n{:HELP_COLUMN$}{help}\n", ""));
        } else {
            text.push_str(&format!("  {spelling:width$}{help}\n", width = HELP_COLUMN - 2));
        }
    }
    let refused: Vec<String> = table
        .iter()
        .filter(|option| option.support == Support::Refused)
        .map(|option| format!("--{}", option.long))
        .collect();
    if !refused.is_empty() {
        text.push_str("\nSlurm's, and refused by name because daybook does not support them yet:\n");
        let mut line = String::from(" ");
        for name in &refused {
            if line.len() + name.len() > HELP_WIDTH {
                text.push_str(&format!("{line}\n"));
                line = String::from(" ");
            }
            line.push_str(&format!(" {name}"));
        }
        text.push_str(&format!("{line}\n"));
    }
    text
}

/// Where the explanations of `--help` start, and where its lines end.
const HELP_COLUMN: usize = 34;
const HELP_WIDTH: usize = 98;

/// Reads a command line against a table.
pub fn parse(table: &'static [Opt], order: Order, arguments: &[String]) -> Result<CommandLine, OptionError> {
    let mut line = CommandLine::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            line.operands.extend(rest.cloned());
            break;
        }
        if let Some(long) = argument.strip_prefix("--") {
            line.options.push(parse_long(table, long, argument, &mut rest)?);
        } else if argument.len() > 1 && argument.starts_with('-') {
            parse_letters(table, &argument[1..], &mut rest, &mut line.options)?;
        } else if order == Order::StopAtFirst {
            line.operands.push(argument.clone());
            line.operands.extend(rest.cloned());
            break;
        } else {
            line.operands.push(argument.clone());
        }
    }
    Ok(line)
}

/// The options that environment variables stand for, in the order of `variables` (variable, long name). For an option
/// without a value any content counts, but `no`, `false` and `0`; a refused one is refused by the variable's name.
pub fn from_environment(
    table: &'static [Opt],
    variables: &[(&'static str, &'static str)],
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Given>, OptionError> {
    let mut given = Vec::new();
    for (variable, long) in variables {
        let Some(value) = lookup(variable) else { continue };
        let Some(option) = table.iter().find(|option| option.long == *long) else { continue };
        supported(option, format!("{variable} (--{long})"))?;
        match option.takes {
            Takes::Nothing if ["no", "false", "0"].contains(&value.to_ascii_lowercase().as_str()) => {}
            Takes::Nothing => given.push(Given { option, value: None }),
            Takes::Optional(_) if value.is_empty() => given.push(Given { option, value: None }),
            _ => given.push(Given { option, value: Some(value) }),
        }
    }
    Ok(given)
}

fn parse_long(
    table: &'static [Opt],
    long: &str,
    whole: &str,
    rest: &mut std::slice::Iter<'_, String>,
) -> Result<Given, OptionError> {
    let (name, attached) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value.to_string())),
        None => (long, None),
    };
    let option = find_long(table, name, whole)?;
    supported(option, format!("--{}", option.long))?;
    let value = match (option.takes, attached) {
        (Takes::Nothing, Some(_)) => return Err(OptionError::UnwantedValue(option.long)),
        (Takes::Value(_), None) => Some(rest.next().cloned().ok_or(OptionError::MissingValue(option.long))?),
        (_, attached) => attached,
    };
    Ok(Given { option, value })
}

/// The option of a long name or of a prefix that only one option has.
fn find_long(table: &'static [Opt], name: &str, whole: &str) -> Result<&'static Opt, OptionError> {
    let mut candidates: Vec<(&'static Opt, &'static str)> = Vec::new();
    for option in table {
        for full in option.names() {
            if full == name {
                return Ok(option);
            }
            if full.starts_with(name) {
                candidates.push((option, full));
            }
        }
    }
    let Some(&(first, _)) = candidates.first() else {
        return Err(OptionError::Unrecognized(whole.to_string()));
    };
    if candidates.iter().all(|(option, _)| option.long == first.long) {
        return Ok(first);
    }
    let possibilities = candidates.into_iter().map(|(_, full)| full).collect();
    Err(OptionError::Ambiguous { given: name.to_string(), possibilities })
}

fn parse_letters(
    table: &'static [Opt],
    letters: &str,
    rest: &mut std::slice::Iter<'_, String>,
    into: &mut Vec<Given>,
) -> Result<(), OptionError> {
    let mut letters = letters.char_indices();
    while let Some((_, letter)) = letters.next() {
        let option = table
            .iter()
            .find(|option| option.short == Some(letter))
            .ok_or(OptionError::InvalidLetter(letter))?;
        supported(option, format!("-{letter} (--{})", option.long))?;
        if option.takes == Takes::Nothing {
            into.push(Given { option, value: None });
            continue;
        }
        let attached = Some(letters.as_str()).filter(|text| !text.is_empty()).map(str::to_string);
        let value = match (option.takes, attached) {
            (Takes::Value(_), None) => {
                Some(rest.next().cloned().ok_or(OptionError::MissingLetterValue(letter))?)
            }
            (_, attached) => attached,
        };
        into.push(Given { option, value });
        break;
    }
    Ok(())
}

fn supported(option: &Opt, as_given: String) -> Result<(), OptionError> {
    match option.support {
        Support::Yes(_) => Ok(()),
        Support::Refused => Err(OptionError::NotSupported(as_given)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Opt] = &[
        Opt::new(Some('n'), "ntasks", Takes::Value("N"), "tasks"),
        Opt::new(None, "ntasks-per-node", Takes::Value("N"), "tasks per node").or(&["tasks-per-node"]),
        Opt::new(Some('H'), "hold", Takes::Nothing, "hold"),
        Opt::new(Some('Q'), "quiet", Takes::Nothing, "quiet"),
        Opt::new(Some('s'), "exclusive", Takes::Optional("WHO"), "whole nodes"),
        Opt::new(None, "export", Takes::Value("VARIABLES"), "environment"),
        Opt::refused(Some('L'), "licenses", Takes::Value("NAMES")),
        Opt::refused(None, "reservation", Takes::Value("NAME")),
    ];

    /// What a command line says, as `name=value name / operand operand`, or its mistake.
    fn read(order: Order, line: &str) -> String {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_string).collect();
        match parse(TABLE, order, &arguments) {
            Err(error) => error.to_string(),
            Ok(read) => {
                let options: Vec<String> = read
                    .options
                    .iter()
                    .map(|given| match &given.value {
                        Some(value) => format!("{}={value}", given.option.long),
                        None => given.option.long.to_string(),
                    })
                    .collect();
                format!("{} / {}", options.join(" "), read.operands.join(" "))
            }
        }
    }

    #[test]
    fn options_are_read_by_getopt_long_rules() {
        for (line, expected) in [
            ("-n 4 x", "ntasks=4 / x"),
            ("-n4 x", "ntasks=4 / x"),
            ("-n=4", "ntasks==4 / "),
            ("-HQn4", "hold quiet ntasks=4 / "),
            ("-HQn 4", "hold quiet ntasks=4 / "),
            ("--ntasks=4", "ntasks=4 / "),
            ("--ntasks 4", "ntasks=4 / "),
            ("--ntasks -4", "ntasks=-4 / "),
            ("--ntasks=", "ntasks= / "),
            ("--hol", "hold / "),
            ("--tasks=2", "ntasks-per-node=2 / "),
            ("--exclusive x", "exclusive / x"),
            ("--exclusive=user x", "exclusive=user / x"),
            ("-s x", "exclusive / x"),
            ("-suser x", "exclusive=user / x"),
            ("-- -n", " / -n"),
            ("-", " / -"),
            ("x -n 4", "ntasks=4 / x"),
        ] {
            assert_eq!(read(Order::Permute, line), expected, "{line}");
        }
        assert_eq!(read(Order::StopAtFirst, "-H x -n 4"), "hold / x -n 4");
    }

    #[test]
    fn mistakes_have_getopt_longs_words() {
        for (line, expected) in [
            ("--nosuch", "unrecognized option '--nosuch'"),
            ("--nosuch=1", "unrecognized option '--nosuch=1'"),
            ("-z", "invalid option -- 'z'"),
            ("-Hz", "invalid option -- 'z'"),
            ("--hold=1", "option '--hold' doesn't allow an argument"),
            ("--ntasks", "option '--ntasks' requires an argument"),
            ("-n", "option requires an argument -- 'n'"),
            ("--ex", "option '--ex' is ambiguous; possibilities: '--exclusive' '--export'"),
        ] {
            assert_eq!(read(Order::Permute, line), expected, "{line}");
        }
    }

    #[test]
    fn what_is_not_supported_is_refused_by_its_name() {
        for (line, expected) in [
            ("--reservation=x", "--reservation is not supported by daybook yet"),
            ("--reserv x", "--reservation is not supported by daybook yet"),
            ("-L x", "-L (--licenses) is not supported by daybook yet"),
        ] {
            assert_eq!(read(Order::Permute, line), expected, "{line}");
        }
    }

    #[test]
    fn variables_stand_for_options() {
        let variables = [("T_HOLD", "hold"), ("T_N", "ntasks"), ("T_QUIET", "quiet"), ("T_X", "exclusive")];
        let lookup = |name: &str| match name {
            "T_HOLD" | "T_X" => Some(String::new()),
            "T_N" => Some("3".to_string()),
            "T_QUIET" => Some("no".to_string()),
            _ => None,
        };
        let given = from_environment(TABLE, &variables, lookup).expect("no refused one is set");
        let shown: Vec<(&str, Option<&str>)> =
            given.iter().map(|given| (given.option.long, given.value.as_deref())).collect();
        assert_eq!(shown, [("hold", None), ("ntasks", Some("3")), ("exclusive", None)]);
        let refused = from_environment(TABLE, &[("T_R", "reservation")], |_| Some("x".to_string()));
        let message = refused.map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(message, Err("T_R (--reservation) is not supported by daybook yet".to_string()));
    }
}
