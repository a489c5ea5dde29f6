//! The columns of sacct as asked for, and its three ways of writing a table.

use super::fields::{self, Field, Shown};
use crate::table;

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    field: &'static Field,
    width: usize,
    left: bool,
}

/// How the table is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Columns of fixed width.
    Aligned,
    /// `-p`: a delimiter behind each value.
    Ended(String),
    /// `-P`: a delimiter between values.
    Separated(String),
}

/// A field that does not exist.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownField(pub String);

/// Reads `jobid,state%20,jobname%-12`.
pub fn parse(list: &str) -> Result<Vec<Column>, UnknownField> {
    parse_with(list, fields::by_name)
}

/// The same with other fields than those of sacct.
pub fn parse_with(
    list: &str,
    by_name: impl Fn(&str) -> Option<&'static Field>,
) -> Result<Vec<Column>, UnknownField> {
    let parts = list.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| parse_one(part, &by_name)).collect()
}

fn parse_one(text: &str, by_name: impl Fn(&str) -> Option<&'static Field>) -> Result<Column, UnknownField> {
    let (name, width) = match text.split_once('%') {
        Some((name, width)) => (name, Some(width)),
        None => (text, None),
    };
    let field = by_name(name).ok_or_else(|| UnknownField(name.to_string()))?;
    // Wider than any terminal; keeps a mistyped width from filling memory.
    let given =
        width.and_then(|width| width.parse::<i32>().ok()).filter(|width| *width != 0 && width.abs() < 10_000);
    Ok(match given {
        Some(width) => Column { field, width: width.unsigned_abs() as usize, left: width < 0 },
        None => Column { field, width: field.width, left: field.left },
    })
}

/// The head of the table.
pub fn head(columns: &[Column], form: &Form, out: &mut String) {
    match form {
        Form::Aligned => {
            for column in columns {
                table::put(out, column.field.name, column.width, !column.left);
                out.push(' ');
            }
            out.push('\n');
            for column in columns {
                out.extend(std::iter::repeat_n('-', column.width));
                out.push(' ');
            }
            out.push('\n');
        }
        form => delimited(columns, form, out, |column, out| out.push_str(column.field.name)),
    }
}

/// One line of the table.
pub fn line(columns: &[Column], form: &Form, shown: &Shown<'_>, out: &mut String) {
    if *form != Form::Aligned {
        delimited(columns, form, out, |column, out| (column.field.write)(shown, out));
        return;
    }
    let mut text = String::new();
    for column in columns {
        text.clear();
        (column.field.write)(shown, &mut text);
        table::put_marked(out, &text, column.width, !column.left);
        out.push(' ');
    }
    out.push('\n');
}

fn delimited(columns: &[Column], form: &Form, out: &mut String, cell: impl Fn(&Column, &mut String)) {
    let (delimiter, at_end) = match form {
        Form::Ended(delimiter) => (delimiter.as_str(), true),
        Form::Separated(delimiter) => (delimiter.as_str(), false),
        Form::Aligned => (" ", true),
    };
    for (place, column) in columns.iter().enumerate() {
        cell(column, out);
        if at_end || place + 1 < columns.len() {
            out.push_str(delimiter);
        }
    }
    out.push('\n');
}
