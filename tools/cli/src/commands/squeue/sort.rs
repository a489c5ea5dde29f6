//! `--sort`: the keys, and the order that they give.

use std::cmp::Ordering;

use daybook_schemas::api::JobColumn;
use daybook_schemas::job::JobState;

use super::fields::{self, Field};
use super::rows::{Cell, Places, Row, Rows};

/// One key.
#[derive(Debug)]
pub struct Key {
    field: &'static Field,
    descending: bool,
}

impl Key {
    /// What is compared, and must be asked for.
    pub fn columns(&self) -> &'static [JobColumn] {
        match self.field.letter {
            // As numbers, and an array's tasks behind one another.
            Some('i') => &[JobColumn::ArrayJobId, JobColumn::JobId],
            _ => self.field.columns,
        }
    }
}

/// Reads `P,t,-p`: letters of `-o` with `-` for descending and `+` for ascending; the letter that is none is the error.
pub fn parse(text: &str) -> Result<Vec<Key>, char> {
    let (mut keys, mut descending) = (Vec::new(), false);
    for character in text.chars() {
        match character {
            ',' | '%' | ' ' => descending = false,
            '+' => descending = false,
            '-' => descending = true,
            letter => {
                let field = fields::by_letter(letter).ok_or(letter)?;
                keys.push(Key { field, descending });
                descending = false;
            }
        }
    }
    Ok(keys)
}

/// The rows' indices in this order; rows that are equal keep theirs. Without keys the server's order.
pub fn order(rows: &Rows<'_>, places: &Places, keys: &[Key]) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..rows.len()).collect();
    if !keys.is_empty() {
        indices.sort_by(|&a, &b| {
            let (a, b) = (rows.row(a, places), rows.row(b, places));
            keys.iter().map(|key| compare(key, &a, &b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        });
    }
    indices
}

/// Nothing (a start that nobody expects) stands behind everything, in either direction.
fn compare(key: &Key, a: &Row<'_>, b: &Row<'_>) -> Ordering {
    for column in key.columns() {
        let order = match (a.cell(*column), b.cell(*column)) {
            (Cell::Null, Cell::Null) => Ordering::Equal,
            (Cell::Null, _) => return Ordering::Greater,
            (_, Cell::Null) => return Ordering::Less,
            (Cell::Integer(a), Cell::Integer(b)) => a.cmp(b),
            (Cell::Bool(a), Cell::Bool(b)) => a.cmp(b),
            (Cell::Text(a), Cell::Text(b)) if *column == JobColumn::State => rank(a).cmp(&rank(b)),
            (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
            _ => Ordering::Equal,
        };
        if order.is_ne() {
            return if key.descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}

/// The state's number in Slurm's order.
fn rank(word: &str) -> usize {
    JobState::ALL.iter().position(|state| state.word() == word).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(spec: &str) -> Vec<usize> {
        let text = r#"{"seq":1,"now":0,"rows":[["main","RUNNING",5,null],["main","PENDING",9,20],["gpu","PENDING",9,10]]}"#;
        let mut rows = Rows::default();
        super::super::rows::read(text.as_bytes(), |_, cells| rows.push(cells)).expect("an answer");
        let columns = [JobColumn::Partition, JobColumn::State, JobColumn::Priority, JobColumn::StartTime];
        order(&rows, &Places::of(&columns), &parse(spec).expect("keys"))
    }

    #[test]
    fn keys_are_compared_in_the_order_given() {
        assert_eq!(sorted(""), [0, 1, 2]);
        assert_eq!(sorted("P,t,-p"), [2, 1, 0]);
        assert_eq!(sorted("-P,t"), [1, 0, 2]);
        assert_eq!(sorted("-Q,P"), [2, 1, 0]);
    }

    #[test]
    fn what_is_absent_stands_last() {
        assert_eq!(sorted("S"), [2, 1, 0]);
        assert_eq!(sorted("-S"), [1, 2, 0]);
    }

    #[test]
    fn a_letter_that_is_none_is_named() {
        assert_eq!(parse("P,?").err(), Some('?'));
    }
}
