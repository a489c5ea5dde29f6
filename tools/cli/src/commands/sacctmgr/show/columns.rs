//! Columns as asked for, and the three ways of writing a table.

use super::fields::{self, Field, Spec};
use crate::table;

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    spec: &'static Spec,
    width: usize,
    left: bool,
}

/// How tables are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// `-n`: no head.
    pub no_header: bool,
    /// `-p`: a delimiter behind each value; `-P`: between values.
    pub delimited: Option<Delimited>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimited {
    Ended,
    Separated,
}

/// Wider than any terminal; keeps a mistyped width from filling memory.
const WIDTH_MAX: i32 = 10_000;

/// Reads `account,user%-12,qos%30`; the error is the field that does not exist.
pub fn parse(list: &str) -> Result<Vec<Column>, String> {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    names
        .map(|text| {
            let (name, width) =
                text.split_once('%').map_or((text, None), |(name, width)| (name, Some(width)));
            let spec = fields::by_name(name).ok_or_else(|| name.to_string())?;
            let width = width.and_then(|width| width.parse::<i32>().ok());
            let width = width.filter(|width| *width != 0 && width.abs() < WIDTH_MAX);
            Ok(Column {
                spec,
                width: width.map_or(spec.width, |width| width.unsigned_abs() as usize),
                left: width.is_some_and(|width| width < 0),
            })
        })
        .collect()
}

impl Column {
    pub fn field(&self) -> Field {
        self.spec.field
    }
}

/// Gives the account column room for a tree.
pub fn widen_accounts(columns: &mut [Column]) {
    for column in columns.iter_mut().filter(|column| column.field() == Field::Account) {
        (column.width, column.left) = (20, true);
    }
}

/// The table as text; `cell` writes what a row has in a column.
pub fn render<R>(columns: &[Column], form: Form, rows: &[R], cell: impl Fn(&R, Field) -> String) -> String {
    let mut out = String::new();
    if !form.no_header {
        let heads: Vec<&str> = columns.iter().map(|column| column.spec.head).collect();
        match form.delimited {
            Some(delimited) => delimited_line(&mut out, delimited, &heads),
            None => {
                for (column, head) in columns.iter().zip(heads) {
                    table::put(&mut out, head, column.width, !column.left);
                    out.push(' ');
                }
                out.push('\n');
                for column in columns {
                    out.extend(std::iter::repeat_n('-', column.width));
                    out.push(' ');
                }
                out.push('\n');
            }
        }
    }
    for row in rows {
        let cells: Vec<String> = columns.iter().map(|column| cell(row, column.field())).collect();
        match form.delimited {
            Some(delimited) => delimited_line(&mut out, delimited, &cells),
            None => {
                for (column, text) in columns.iter().zip(&cells) {
                    table::put_marked(&mut out, text, column.width, !column.left);
                    out.push(' ');
                }
                out.push('\n');
            }
        }
    }
    out
}

fn delimited_line(out: &mut String, delimited: Delimited, cells: &[impl AsRef<str>]) {
    for (place, cell) in cells.iter().enumerate() {
        out.push_str(cell.as_ref());
        if delimited == Delimited::Ended || place + 1 < cells.len() {
            out.push('|');
        }
    }
    out.push('\n');
}
