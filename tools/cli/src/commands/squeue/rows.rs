//! The answer of `POST /v1/jobs/query`, read without copying its texts: a queue may have 50,000 rows.

use std::borrow::Cow;
use std::fmt;

use daybook_schemas::api::JobColumn;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    Null,
    Bool(bool),
    Integer(i64),
    Text(Cow<'a, str>),
}

/// Reads an answer row by row, as the cells of the row and the server's clock (seconds since 1970; absent where the
/// answer has it behind its rows). `each` may take the cells out; what it leaves is thrown away.
pub fn read<'de>(
    answer: &'de [u8],
    each: impl FnMut(Option<i64>, &mut Vec<Cell<'de>>),
) -> Result<(), serde_json::Error> {
    // Checked once as a whole, and not text by text.
    let answer = std::str::from_utf8(answer).map_err(serde::de::Error::custom)?;
    let mut deserializer = serde_json::Deserializer::from_str(answer);
    Answer { each }.deserialize(&mut deserializer)?;
    deserializer.end()
}

/// Rows kept, for who has to see all of them before the first is shown.
#[derive(Debug, Default)]
pub struct Rows<'a> {
    cells: Vec<Cell<'a>>,
    /// Where each row ends in `cells`.
    ends: Vec<usize>,
}

impl<'a> Rows<'a> {
    /// Takes a row's cells.
    pub fn push(&mut self, cells: &mut Vec<Cell<'a>>) {
        self.cells.append(cells);
        self.ends.push(self.cells.len());
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn row<'r>(&'r self, index: usize, places: &'r Places) -> Row<'r> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        Row { cells: &self.cells[start..self.ends[index]], places }
    }
}

/// Where each column stands in a row.
#[derive(Clone, Debug)]
pub struct Places([u8; Places::COLUMNS_MAX]);

impl Places {
    /// More columns than there are.
    const COLUMNS_MAX: usize = 64;
    const ABSENT: u8 = u8::MAX;

    /// The places of these columns, in the order of the query.
    pub fn of(columns: &[JobColumn]) -> Places {
        let mut places = [Places::ABSENT; Places::COLUMNS_MAX];
        for (place, column) in columns.iter().enumerate() {
            if let (Some(entry), Ok(place)) = (places.get_mut(*column as usize), u8::try_from(place)) {
                *entry = place;
            }
        }
        Places(places)
    }
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    cells: &'r [Cell<'r>],
    places: &'r Places,
}

impl<'r> Row<'r> {
    /// The row of these cells.
    pub fn of(cells: &'r [Cell<'r>], places: &'r Places) -> Row<'r> {
        Row { cells, places }
    }

    /// The cell of a column; null where the column was not asked for.
    pub fn cell(&self, column: JobColumn) -> &'r Cell<'r> {
        let place = self.places.0.get(column as usize).copied().unwrap_or(Places::ABSENT);
        self.cells.get(usize::from(place)).unwrap_or(&Cell::Null)
    }

    pub fn text(&self, column: JobColumn) -> Option<&'r str> {
        match self.cell(column) {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn integer(&self, column: JobColumn) -> Option<i64> {
        match self.cell(column) {
            Cell::Integer(number) => Some(*number),
            _ => None,
        }
    }

    pub fn is_true(&self, column: JobColumn) -> bool {
        *self.cell(column) == Cell::Bool(true)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Cell<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cell<'a>, D::Error> {
        deserializer.deserialize_any(CellVisitor)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a whole number, true, false or null")
    }

    fn visit_unit<E>(self) -> Result<Cell<'de>, E> {
        Ok(Cell::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Cell<'de>, E> {
        Ok(Cell::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Cell<'de>, E> {
        Ok(Cell::Integer(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Cell<'de>, E> {
        i64::try_from(value).map(Cell::Integer).map_err(|_| E::custom("a number beyond 63 bits"))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cell<'de>, E> {
        Ok(Cell::Text(Cow::Owned(text.to_string())))
    }
}

struct Answer<F> {
    each: F,
}

impl<'de, F: FnMut(Option<i64>, &mut Vec<Cell<'de>>)> DeserializeSeed<'de> for Answer<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, F: FnMut(Option<i64>, &mut Vec<Cell<'de>>)> Visitor<'de> for Answer<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of jobs")
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut map: M) -> Result<(), M::Error> {
        let mut now = None;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match key.as_ref() {
                "now" => now = Some(map.next_value()?),
                "rows" => map.next_value_seed(AllRows { now, each: &mut self.each })?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

struct AllRows<'e, F> {
    now: Option<i64>,
    each: &'e mut F,
}

impl<'de, F: FnMut(Option<i64>, &mut Vec<Cell<'de>>)> DeserializeSeed<'de> for AllRows<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(Option<i64>, &mut Vec<Cell<'de>>)> Visitor<'de> for AllRows<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows of cells")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut rows: S) -> Result<(), S::Error> {
        let mut cells = Vec::new();
        while rows.next_element_seed(OneRow(&mut cells))?.is_some() {
            (self.each)(self.now, &mut cells);
            cells.clear();
        }
        Ok(())
    }
}

/// Appends the cells of one row.
struct OneRow<'c, 'de>(&'c mut Vec<Cell<'de>>);

impl<'de> DeserializeSeed<'de> for OneRow<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for OneRow<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row of cells")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut cells: S) -> Result<(), S::Error> {
        while let Some(cell) = cells.next_element::<Cell<'de>>()? {
            self.0.push(cell);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_their_column() {
        let text = r#"{"seq":7,"now":100,"rows":[[1,"a\nb",null,true],[2,"plain",-3,false]]}"#;
        let (mut rows, mut clock) = (Rows::default(), None);
        read(text.as_bytes(), |now, cells| {
            clock = now;
            rows.push(cells);
        })
        .expect("an answer");
        let places = Places::of(&[JobColumn::JobId, JobColumn::Name, JobColumn::Nice, JobColumn::Requeue]);
        assert_eq!((clock, rows.len()), (Some(100), 2));
        let first = rows.row(0, &places);
        assert_eq!(first.integer(JobColumn::JobId), Some(1));
        assert_eq!(first.text(JobColumn::Name), Some("a\nb"));
        assert_eq!(first.cell(JobColumn::Nice), &Cell::Null);
        assert!(first.is_true(JobColumn::Requeue));
        let second = rows.row(1, &places);
        assert_eq!(
            (second.text(JobColumn::Name), second.integer(JobColumn::Nice)),
            (Some("plain"), Some(-3))
        );
        assert_eq!(second.cell(JobColumn::User), &Cell::Null);
    }

    #[test]
    fn an_answer_of_another_form_is_an_error() {
        for text in
            ["", "[]", r#"{"rows":[[1,"#, r#"{"rows":[1]}"#, r#"{"rows":[[1.5]]}"#, r#"{"rows":[]} x"#]
        {
            assert!(read(text.as_bytes(), |_, _| ()).is_err(), "{text}");
        }
    }
}
