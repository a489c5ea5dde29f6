//! The notation that `slurm.conf` and `gres.conf` share: lines of `Key=Value`.
//!
//! - `#` begins a comment, even inside quotes, unless a backslash stands before it.
//! - A backslash at the end of a line (white space may follow) joins the next line to it.
//! - A value with white space stands in double quotes; white space around `=` is allowed.
//! - `Include PATH` stands alone on its line.

use std::sync::Arc;

use crate::diagnostic::{Findings, Place};

/// One `Key=Value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// As written.
    pub key: String,
    /// Without quotes; never empty, unless it was `""`.
    pub value: String,
    pub place: Place,
}

impl Pair {
    pub fn is(&self, key: &str) -> bool {
        self.key.eq_ignore_ascii_case(key)
    }

    /// As messages show it.
    pub fn text(&self) -> String {
        match self.value.contains(char::is_whitespace) || self.value.is_empty() {
            true => format!("{}=\"{}\"", self.key, self.value),
            false => format!("{}={}", self.key, self.value),
        }
    }
}

/// A logical line that is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Pairs(Vec<Pair>),
    Include { path: String, place: Place },
}

/// The lines of a file; what cannot be read is reported and left out.
pub(crate) fn read_lines(file: &Arc<str>, text: &str, findings: &mut Findings) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut physical = (1u32..).zip(text.lines());
    while let Some((number, first)) = physical.next() {
        let mut logical = Logical { file, text: String::new(), starts: Vec::new() };
        let mut joined = logical.add(number, first);
        while joined && let Some((number, next)) = physical.next() {
            joined = logical.add(number, next);
        }
        if let Some(path) = logical.include() {
            lines.push(Line::Include { path, place: logical.place(0) });
            continue;
        }
        let pairs = logical.pairs(findings);
        if !pairs.is_empty() {
            lines.push(Line::Pairs(pairs));
        }
    }
    lines
}

/// Physical lines joined by continuations, without comments and escapes.
struct Logical<'a> {
    file: &'a Arc<str>,
    text: String,
    /// Where in `text` each physical line begins.
    starts: Vec<(usize, u32)>,
}

impl Logical<'_> {
    /// Appends a physical line; true if the next one belongs to it.
    fn add(&mut self, number: u32, physical: &str) -> bool {
        self.starts.push((self.text.len(), number));
        let content = without_comment(physical).trim_end();
        let backslashes = content.len() - content.trim_end_matches('\\').len();
        let joined = backslashes % 2 == 1;
        let content = if joined { &content[..content.len() - 1] } else { content };
        let mut escaped = false;
        for character in content.chars() {
            if character == '\\' && !escaped {
                escaped = true;
            } else {
                self.text.push(character);
                escaped = false;
            }
        }
        joined
    }

    fn place(&self, position: usize) -> Place {
        let line = self.starts.iter().rev().find(|start| start.0 <= position).map(|start| start.1);
        Place { file: self.file.clone(), line }
    }

    fn include(&self) -> Option<String> {
        let mut words = self.text.split_whitespace();
        let keyword = words.next().is_some_and(|word| word.eq_ignore_ascii_case("include"));
        let path = words.next().filter(|word| keyword && !word.starts_with('='))?;
        words.next().is_none().then(|| path.trim_matches('"').to_string())
    }

    /// The pairs up to the first thing that is none.
    fn pairs(&self, findings: &mut Findings) -> Vec<Pair> {
        let mut pairs = Vec::new();
        let mut position = 0;
        loop {
            position += leading_space(&self.text[position..]);
            if position == self.text.len() {
                return pairs;
            }
            match next_pair(&self.text[position..]) {
                Ok((key, value, length)) => {
                    pairs.push(Pair { key, value, place: self.place(position) });
                    position += length;
                }
                Err(fault) => {
                    let (what, remedy) = fault.words(&self.text[position..]);
                    findings.error(&self.place(position), what, remedy);
                    return pairs;
                }
            }
        }
    }
}

enum Fault {
    NoPair,
    NoValue(String),
    Operator(String),
    OpenQuote(String),
}

impl Fault {
    fn words(self, text: &str) -> (String, &'static str) {
        match self {
            Fault::NoPair => {
                let shown: String = text.trim_end().chars().filter(|c| !c.is_control()).take(60).collect();
                (
                    format!("\"{shown}\" is no setting"),
                    "expected Key=Value; a value with spaces stands in double quotes, a comment begins with #",
                )
            }
            Fault::NoValue(key) => (format!("{key}= has no value"), "give it one, or remove it"),
            Fault::Operator(key) => {
                (format!("{key} is changed instead of set"), "write Key=Value with the whole value")
            }
            Fault::OpenQuote(key) => (
                format!("the quotes of {key} are not closed"),
                "close them on the same line; # begins a comment even inside quotes, unless written \\#",
            ),
        }
    }
}

/// Key, value and length of the pair that the text begins with.
fn next_pair(text: &str) -> Result<(String, String, usize), Fault> {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let key = &text[..text.len() - text.trim_start_matches(legal).len()];
    let mut position = key.len();
    position += leading_space(&text[position..]);
    let operator = text[position..].starts_with(['+', '-', '*', '/']);
    if operator && text[position + 1..].starts_with('=') && !key.is_empty() {
        return Err(Fault::Operator(key.to_string()));
    }
    if key.is_empty() || !text[position..].starts_with('=') {
        return Err(Fault::NoPair);
    }
    position += 1;
    position += leading_space(&text[position..]);
    let rest = &text[position..];
    if rest.is_empty() {
        return Err(Fault::NoValue(key.to_string()));
    }
    if let Some(quoted) = rest.strip_prefix('"') {
        let Some(end) = quoted.find('"') else { return Err(Fault::OpenQuote(key.to_string())) };
        let behind = &quoted[end + 1..];
        if behind.is_empty() || behind.starts_with(char::is_whitespace) {
            return Ok((key.to_string(), quoted[..end].to_string(), position + end + 2));
        }
    }
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    Ok((key.to_string(), rest[..end].to_string(), position + end))
}

fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

fn without_comment(line: &str) -> &str {
    let mut escaped = false;
    for (position, byte) in line.bytes().enumerate() {
        match byte {
            b'#' if !escaped => return &line[..position],
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let mut findings = Findings::default();
        let lines = read_lines(&"f".into(), text, &mut findings);
        let lines = lines
            .iter()
            .map(|line| match line {
                Line::Include { path, place } => format!("{place} include {path}"),
                Line::Pairs(pairs) => pairs
                    .iter()
                    .map(|pair| format!("{}@{}", pair.text(), pair.place.line.unwrap_or(0)))
                    .collect::<Vec<_>>()
                    .join(" "),
            })
            .collect();
        (lines, findings.diagnostics().iter().map(|fault| fault.to_string()).collect())
    }

    #[test]
    fn lines_are_read_as_slurm_reads_them() {
        for (text, expected) in [
            ("A=1", "A=1@1"),
            ("  A = 1 # B=2", "A=1@1"),
            ("# A=1\n\n\tB=2\r\n", "B=2@3"),
            ("A=\"x y\" B=z", "A=\"x y\"@1 B=z@1"),
            ("A=\"\" B=1", "A=\"\"@1 B=1@1"),
            ("A=1 \\\n B=2 \\  \n C=3\nD=4", "A=1@1 B=2@2 C=3@3|D=4@4"),
            ("A=1 # no \\\nB=2", "A=1@1|B=2@2"),
            ("A=rack\\#3", "A=rack#3@1"),
            ("A=a\\\\b", "A=a\\b@1"),
            ("A=a\\\\\nB=2", "A=a\\@1|B=2@2"),
            ("A=on\\\ne", "A=one@1"),
            ("A=last\\", "A=last@1"),
            ("include other.conf", "f:1 include other.conf"),
            ("INCLUDE /etc/x # the rest", "f:1 include /etc/x"),
            ("Include=x", "Include=x@1"),
            ("A=x=y,z=1", "A=x=y,z=1@1"),
            ("A=\"x\"y", "A=\"x\"y@1"),
            ("SlurmctldHost=vm(127.0.0.1)", "SlurmctldHost=vm(127.0.0.1)@1"),
        ] {
            assert_eq!(read(text), (expected.split('|').map(String::from).collect(), vec![]), "{text}");
        }
    }

    #[test]
    fn what_is_no_setting_is_reported_and_the_next_line_goes_on() {
        let (lines, faults) = read("A=1 oops B=2\nC=\nD=\"x # y\"\nE+=3\nÄ=1\nF=6");
        assert_eq!(lines, ["A=1@1", "F=6@6"]);
        expect_test::expect![[r#"
            f:1: error: "oops B=2" is no setting
                expected Key=Value; a value with spaces stands in double quotes, a comment begins with #
            f:2: error: C= has no value
                give it one, or remove it
            f:3: error: the quotes of D are not closed
                close them on the same line; # begins a comment even inside quotes, unless written \#
            f:4: error: E is changed instead of set
                write Key=Value with the whole value
            f:5: error: "Ä=1" is no setting
                expected Key=Value; a value with spaces stands in double quotes, a comment begins with #"#]]
        .assert_eq(&faults.join("\n"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic_and_every_place_is_a_line_of_it(text in "[a-zA-Z=\"#\\\\ \n\t\u{e4}+-]{0,80}") {
            let mut findings = Findings::default();
            let count = text.lines().count() as u32;
            for line in read_lines(&"f".into(), &text, &mut findings) {
                if let Line::Pairs(pairs) = line {
                    for pair in pairs {
                        prop_assert!((1..=count).contains(&pair.place.line.unwrap_or(0)));
                    }
                }
            }
        }
    }
}
