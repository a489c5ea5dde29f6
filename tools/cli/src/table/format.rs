//! Format strings: `-o '%.18i %P'` and `-O 'JobID:8,Name: |'`.

/// A column of a format as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The letter behind `%`, or the name in a `-O` list.
    pub field: String,
    /// Characters; 0: as wide as the text.
    pub width: usize,
    /// `#`: as wide as the widest value.
    pub fitted: bool,
    /// `.`: justified to the right.
    pub right: bool,
    /// What stands behind the cell.
    pub suffix: String,
    /// The text as written, for what names no field.
    pub source: String,
}

/// A format with its fields found in a command's table.
#[derive(Debug)]
pub struct Layout<F: 'static> {
    /// What stands before the first cell of every line.
    pub prefix: String,
    pub columns: Vec<Column<F>>,
}

/// A column.
#[derive(Debug)]
pub struct Column<F: 'static> {
    /// Absent where the format names no field: only the suffix is written.
    pub field: Option<&'static F>,
    pub width: usize,
    pub fitted: bool,
    pub right: bool,
    pub suffix: String,
}

/// The width of a `-O` column without one.
const LONG_WIDTH: usize = 20;
/// Wider than any terminal; keeps a mistyped width from filling memory.
const WIDTH_MAX: usize = 10_000;

impl<F> Layout<F> {
    /// Reads a `-o` format. Fields that `find` does not know keep their text; their letters are the second result.
    pub fn of_letters(format: &str, find: impl Fn(char) -> Option<&'static F>) -> (Layout<F>, Vec<char>) {
        let (prefix, specs) = letters(format);
        let mut unknown = Vec::new();
        let columns = specs
            .into_iter()
            .map(|spec| {
                let letter = spec.field.chars().next();
                let field = letter.and_then(&find);
                let mut column = Column::of(spec, field);
                if field.is_none() {
                    unknown.extend(letter);
                    column.width = 0;
                }
                column
            })
            .collect();
        (Layout { prefix, columns }, unknown)
    }

    /// Reads a `-O` list. Names that `find` does not know write nothing; they are the second result.
    pub fn of_names(format: &str, find: impl Fn(&str) -> Option<&'static F>) -> (Layout<F>, Vec<String>) {
        let mut unknown = Vec::new();
        let mut columns = Vec::new();
        for spec in names(format) {
            match find(&spec.field) {
                Some(field) => columns.push(Column::of(spec, Some(field))),
                None => unknown.push(spec.field),
            }
        }
        (Layout { prefix: String::new(), columns }, unknown)
    }

    /// Appends a line: `cell` writes the text of a field.
    pub fn line(&self, out: &mut String, mut cell: impl FnMut(&'static F, &mut String)) {
        out.push_str(&self.prefix);
        for column in &self.columns {
            if let Some(field) = column.field {
                let start = out.len();
                cell(field, out);
                super::put_written(out, start, column.width, column.right);
            }
            out.push_str(&column.suffix);
        }
        out.push('\n');
    }

    /// The fields that occur.
    pub fn fields(&self) -> impl Iterator<Item = &'static F> {
        self.columns.iter().filter_map(|column| column.field)
    }
}

impl<F> Column<F> {
    fn of(spec: Spec, field: Option<&'static F>) -> Column<F> {
        let suffix = if field.is_some() { spec.suffix } else { spec.source };
        Column { field, width: spec.width, fitted: spec.fitted, right: spec.right, suffix }
    }
}

/// The text before the first `%`, and the columns.
fn letters(format: &str) -> (String, Vec<Spec>) {
    let mut tokens = format.split('%');
    let prefix = tokens.next().unwrap_or_default().to_string();
    let specs = tokens.filter(|token| !token.is_empty()).map(|token| {
        let (right, rest) = strip(token, '.');
        let (fitted, rest) = strip(rest, '#');
        let (width, rest) = number(rest);
        let mut characters = rest.chars();
        let field = characters.next().map(String::from).unwrap_or_default();
        let suffix = characters.as_str().to_string();
        Spec { field, width, fitted, right, suffix, source: format!("%{token}") }
    });
    (prefix, specs.collect())
}

fn names(format: &str) -> Vec<Spec> {
    let specs = format.split(',').filter(|token| !token.is_empty()).map(|token| {
        let Some((name, form)) = token.split_once(':') else {
            return Spec {
                field: token.to_string(),
                width: LONG_WIDTH,
                fitted: false,
                right: false,
                suffix: String::new(),
                source: String::new(),
            };
        };
        let (right, rest) = strip(form, '.');
        let (width, suffix) = number(rest);
        Spec {
            field: name.to_string(),
            width,
            fitted: false,
            right,
            suffix: suffix.to_string(),
            source: String::new(),
        }
    });
    specs.collect()
}

fn strip(text: &str, mark: char) -> (bool, &str) {
    match text.strip_prefix(mark) {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}

/// The number at the start (0 without one), and the rest.
fn number(text: &str) -> (usize, &str) {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &text[..text.len() - rest.len()];
    let width = if digits.is_empty() { 0 } else { digits.parse().unwrap_or(WIDTH_MAX).min(WIDTH_MAX) };
    (width, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_width_justification_and_a_suffix() {
        let (prefix, specs) = letters("a %.18i|%5P %jz%");
        let read: Vec<_> = specs
            .iter()
            .map(|spec| (spec.field.as_str(), spec.width, spec.right, spec.suffix.as_str()))
            .collect();
        assert_eq!(prefix, "a ");
        assert_eq!(read, [("i", 18, true, "|"), ("P", 5, false, " "), ("j", 0, false, "z")]);
    }

    #[test]
    fn names_have_twenty_characters_unless_they_say_otherwise() {
        let read: Vec<_> = names("JobID,Name:5,State:.12,UserName: |,QOS:")
            .into_iter()
            .map(|spec| (spec.field, spec.width, spec.right, spec.suffix))
            .collect();
        let column =
            |name: &str, width, right, suffix: &str| (name.to_string(), width, right, suffix.to_string());
        assert_eq!(
            read,
            [
                column("JobID", 20, false, ""),
                column("Name", 5, false, ""),
                column("State", 12, true, ""),
                column("UserName", 0, false, " |"),
                column("QOS", 0, false, ""),
            ]
        );
    }

    #[test]
    fn widths_are_bounded() {
        let (_, specs) = letters("%99999999999999999999i");
        assert_eq!(specs[0].width, WIDTH_MAX);
    }

    #[test]
    fn unknown_letters_keep_their_text() {
        static FIELD: &str = "known";
        let (layout, unknown) = Layout::of_letters("%5k|%.3?|", |letter| (letter == 'k').then_some(&FIELD));
        assert_eq!(unknown, ['?']);
        let mut out = String::new();
        layout.line(&mut out, |field, out| out.push_str(field));
        assert_eq!(out, "known|%.3?|\n");
    }
}
