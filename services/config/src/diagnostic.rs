//! What is wrong with a configuration, where, and what would be right.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// How bad a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The configuration cannot be used.
    Error,
    /// The configuration can be used; something in it is not as its author may believe.
    Warning,
}

/// One fault.
///
/// Shown as `slurm.conf:12: error: unknown parameter "KilWait"`, the remedy indented on the lines behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The file, relative to the configuration directory where it is inside.
    pub file: String,
    /// The line, from 1; absent: the file as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What is wrong, in one line.
    pub what: String,
    /// What to do about it; may have several lines, or be empty where `what` says it all.
    pub remedy: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {severity}: {}", self.what)?;
        for line in self.remedy.lines() {
            write!(f, "\n    {line}")?;
        }
        Ok(())
    }
}

/// Where something stands in the configuration. Shown as `slurm.conf:12`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub file: Arc<str>,
    /// From 1; absent: the file as a whole.
    pub line: Option<u32>,
}

impl Place {
    pub fn file(name: &str) -> Place {
        Place { file: name.into(), line: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// The most faults that are listed; a binary file has one in every line.
const DIAGNOSTICS_MAX: usize = 1000;

/// The faults found so far, and what was read but is not needed.
#[derive(Default)]
pub(crate) struct Findings {
    diagnostics: Vec<Diagnostic>,
    left_off: usize,
    /// Warnings about settings without effect: the same setting on many lines is one warning.
    without_effect: BTreeMap<(String, String), (Place, usize)>,
    not_needed: Vec<String>,
}

/// The remedy of every setting that has no effect.
const WITHOUT_EFFECT: &str = "all goes on as if it were not there";

impl Findings {
    pub fn error(&mut self, place: &Place, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(Severity::Error, place, what.into(), remedy.into());
    }

    pub fn warning(&mut self, place: &Place, what: impl Into<String>, remedy: impl Into<String>) {
        self.add(Severity::Warning, place, what.into(), remedy.into());
    }

    /// A setting that Slurm knows, that would change something, and that is not supported yet.
    pub fn without_effect(&mut self, place: &Place, setting: &str, about: &str) {
        let what = format!("{setting} has no effect: Daybook does not support {about} yet");
        let entry = self.without_effect.entry((place.file.to_string(), what));
        entry.or_insert_with(|| (place.clone(), 0)).1 += 1;
    }

    /// A setting that concerns only Slurm's own daemons.
    pub fn not_needed(&mut self, setting: &str) {
        if !self.not_needed.iter().any(|known| known == setting) {
            self.not_needed.push(setting.to_string());
        }
    }

    fn add(&mut self, severity: Severity, place: &Place, what: String, remedy: String) {
        let diagnostic =
            Diagnostic { severity, file: place.file.to_string(), line: place.line, what, remedy };
        // A fault in a DEFAULT line is met again on every line that takes the value from it.
        if self.diagnostics.contains(&diagnostic) {
            return;
        }
        match self.diagnostics.len() < DIAGNOSTICS_MAX {
            true => self.diagnostics.push(diagnostic),
            false => self.left_off += 1,
        }
    }

    /// All faults, in the order of `files` and their lines, and what is not needed, sorted.
    pub fn finish(mut self, files: &[String]) -> (Vec<Diagnostic>, Vec<String>) {
        for ((_, what), (place, lines)) in std::mem::take(&mut self.without_effect) {
            let remedy = match lines {
                1 => WITHOUT_EFFECT.to_string(),
                2 => format!("{WITHOUT_EFFECT} (the same on 1 more line)"),
                _ => format!("{WITHOUT_EFFECT} (the same on {} more lines)", lines - 1),
            };
            self.warning(&place, what, remedy);
        }
        let rank = |file: &str| files.iter().position(|known| known == file).unwrap_or(files.len());
        self.diagnostics.sort_by_key(|fault| (rank(&fault.file), fault.line));
        if self.left_off > 0
            && let Some(last) = self.diagnostics.last()
        {
            let what = format!("{} more faults are not listed", self.left_off);
            let (severity, file) = (Severity::Error, last.file.clone());
            let remedy = "repair the ones above first".to_string();
            self.diagnostics.push(Diagnostic { severity, file, line: None, what, remedy });
        }
        self.not_needed.sort_by_key(|name| name.to_ascii_lowercase());
        (self.diagnostics, self.not_needed)
    }

    #[cfg(test)]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

/// `did you mean "X"?` with the nearest of the candidates, or `otherwise` where none is near.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    otherwise: impl Into<String>,
) -> String {
    match nearest(word, candidates) {
        Some(candidate) => format!("did you mean \"{candidate}\"?"),
        None => otherwise.into(),
    }
}

/// The candidate that is most like the word: at most a third of its letters differ. The first of equals. Names that
/// differ by a number, such as two nodes, are both meant.
fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let far = word.chars().count().div_ceil(3).min(4);
    candidates
        .into_iter()
        .filter(|candidate| !differ_by_number(&word, &candidate.to_ascii_lowercase()))
        .map(|candidate| (strsim::damerau_levenshtein(&word, &candidate.to_ascii_lowercase()), candidate))
        .filter(|&(distance, _)| distance <= far)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Whether two names are the same but for numbers in them: `n3` and `n4`, not `n3` and `n03`.
fn differ_by_number(one: &str, other: &str) -> bool {
    let is_digit = |character: char| character.is_ascii_digit();
    let letters = |name: &str| name.replace(is_digit, "");
    let numbers = |name: &str| -> Vec<String> {
        let digits = name.split(|character| !is_digit(character)).filter(|digits| !digits.is_empty());
        digits.map(|digits| digits.trim_start_matches('0').to_string()).collect()
    };
    letters(one) == letters(other) && numbers(one) != numbers(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_offered_and_a_far_one_is_not() {
        let known = ["KillWait", "WaitTime", "MinJobAge", "MaxJobCount", "node03"];
        for (word, found) in [
            ("KilWait", Some("KillWait")),
            ("killwiat", Some("KillWait")),
            ("MaxJobCnt", Some("MaxJobCount")),
            ("Flavour", None),
            ("x", None),
            ("node4", None),
            ("node3", Some("node03")),
            ("noed03", Some("node03")),
        ] {
            assert_eq!(nearest(word, known), found, "{word}");
        }
    }
}
