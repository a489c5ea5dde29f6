//! Tables as CSV with titles in the first line: every fault with its line.

use std::io::BufRead;
use std::path::Path;

use crate::trace::{TraceError, open};

/// A table, open.
pub(crate) struct Rows {
    path: String,
    header: csv::StringRecord,
    reader: csv::Reader<Box<dyn std::io::BufRead>>,
}

impl Rows {
    /// Of a file, gzipped or not.
    pub(crate) fn open(path: &Path) -> Result<Rows, TraceError> {
        let (name, text) = open(path)?;
        Rows::of(name, text)
    }

    /// Of a text that is open already.
    pub(crate) fn of(name: String, text: Box<dyn BufRead>) -> Result<Rows, TraceError> {
        let mut reader = csv::Reader::from_reader(text);
        let header = reader.headers().map_err(|error| fault(&name, &error))?.clone();
        Ok(Rows { path: name, header, reader })
    }

    /// Refuses columns that are not among these, and those that are there twice.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), TraceError> {
        let fault = |what: String| TraceError::Line { path: self.path.clone(), line: 1, what };
        for (place, title) in self.header.iter().map(str::trim).enumerate() {
            if !known.contains(&title) {
                let known = known.join(", ");
                return Err(fault(format!("the column \"{title}\" is not known (known: {known})")));
            }
            if self.header.iter().take(place).any(|before| before.trim() == title) {
                return Err(fault(format!("the column \"{title}\" is there twice")));
            }
        }
        Ok(())
    }

    /// Where a column is.
    pub(crate) fn column(&self, wanted: &str) -> Option<usize> {
        self.header.iter().position(|title| title.trim() == wanted)
    }

    /// Where a column is that has several names.
    pub(crate) fn one_of(&self, names: &[&str]) -> Result<Option<usize>, TraceError> {
        let mut found = names.iter().filter_map(|name| self.column(name));
        let first = found.next();
        if found.next().is_some() {
            let what = format!("the columns {} mean the same: leave one", names.join(" and "));
            return Err(TraceError::Line { path: self.path.clone(), line: 1, what });
        }
        Ok(first)
    }

    /// The same, of one that has to be there.
    pub(crate) fn needed_one_of(&self, names: &[&str]) -> Result<usize, TraceError> {
        let missing = || TraceError::Line {
            path: self.path.clone(),
            line: 1,
            what: format!("there is no column \"{}\"", names.join("\" or \"")),
        };
        self.one_of(names)?.ok_or_else(missing)
    }

    /// Where columns are that have to be there.
    pub(crate) fn columns<const N: usize>(&self, wanted: [&str; N]) -> Result<[usize; N], TraceError> {
        let mut found = [0; N];
        for (place, title) in found.iter_mut().zip(wanted) {
            *place = self.column(title).ok_or_else(|| TraceError::Line {
                path: self.path.clone(),
                line: 1,
                what: format!("there is no column \"{title}\" (needed: {})", wanted.join(", ")),
            })?;
        }
        Ok(found)
    }

    /// Gives each row to `take`; at least one, at most `most`.
    pub(crate) fn each(
        mut self,
        most: usize,
        mut take: impl FnMut(&Row<'_>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let mut count = 0;
        for record in self.reader.records() {
            let record = record.map_err(|error| fault(&self.path, &error))?;
            let row = Row { path: &self.path, header: &self.header, record: &record };
            count += 1;
            if count > most {
                return Err(row.fault(format!("there are more than {most} rows")));
            }
            take(&row)?;
        }
        if count == 0 {
            let what = "there is nothing in it but its first line".to_string();
            return Err(TraceError::Content { path: self.path, what });
        }
        Ok(())
    }
}

/// One row.
pub(crate) struct Row<'r> {
    path: &'r str,
    header: &'r csv::StringRecord,
    pub(crate) record: &'r csv::StringRecord,
}

impl Row<'_> {
    /// What is wrong with it.
    pub(crate) fn fault(&self, what: String) -> TraceError {
        let line = self.record.position().map_or(0, csv::Position::line);
        TraceError::Line { path: self.path.to_string(), line, what }
    }

    /// A column's text; empty where there is no such column.
    pub(crate) fn text(&self, column: Option<usize>) -> &str {
        column.and_then(|column| self.record.get(column)).unwrap_or("").trim()
    }

    /// The title of a column.
    pub(crate) fn title(&self, column: usize) -> &str {
        self.header.get(column).unwrap_or("")
    }

    /// A whole number in these bounds.
    pub(crate) fn number(&self, column: usize, least: u64, most: u64) -> Result<u64, TraceError> {
        let word = self.text(Some(column));
        match word.parse::<u64>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => {
                let title = self.title(column);
                Err(self
                    .fault(format!("{title} is \"{word}\", which is no whole number from {least} to {most}")))
            }
        }
    }
}

/// The csv crate's words, with the line in front where it knows one.
fn fault(path: &str, error: &csv::Error) -> TraceError {
    let path = path.to_string();
    match (error.position(), error.kind()) {
        (Some(at), csv::ErrorKind::UnequalLengths { expected_len, len, .. }) => TraceError::Line {
            path,
            line: at.line(),
            what: format!("it has {len} columns, the first line has {expected_len}"),
        },
        (Some(at), csv::ErrorKind::Utf8 { .. }) => {
            TraceError::Line { path, line: at.line(), what: "it is no UTF-8".to_string() }
        }
        _ => TraceError::Content { path, what: error.to_string() },
    }
}
