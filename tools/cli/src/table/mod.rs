//! How Slurm's commands lay out text: columns, format strings, amounts, times.
//!
//! - [`put`]: one cell of a column.
//! - [`format`]: the notations of `-o` (`%.18i %P`) and `-O` (`JobID:8,Name`).
//! - [`amounts`]: amounts of memory.
//! - [`instants`]: points in time, local, in the form that `SLURM_TIME_FORMAT` asks for.
//! - [`natural`]: names in the order of their numbers.

pub mod amounts;
pub mod format;
pub mod instants;
pub mod natural;

/// Appends `text` as a cell: cut to `width` characters, padded to it on the left (`right`) or on the right. Width 0 is
/// as wide as the text.
pub fn put(out: &mut String, text: &str, width: usize, right: bool) {
    let length = if text.is_ascii() { text.len() } else { text.chars().count() };
    if width == 0 || length == width {
        out.push_str(text);
        return;
    }
    if length > width {
        out.push_str(prefix(text, width));
        return;
    }
    if right {
        pad(out, width - length);
        out.push_str(text);
    } else {
        out.push_str(text);
        pad(out, width - length);
    }
}

/// The same where `text` has just been written to the end of `out`, from the byte `start` on.
pub fn put_written(out: &mut String, start: usize, width: usize, right: bool) {
    if width == 0 {
        return;
    }
    let text = &out[start..];
    let length = if text.is_ascii() { text.len() } else { text.chars().count() };
    if length > width {
        let keep = prefix(text, width).len();
        out.truncate(start + keep);
    } else if right && length < width {
        justify_right(out, start, width - length);
    } else {
        pad(out, width - length);
    }
}

/// A cell as sacct writes it: what does not fit ends in `+`.
pub fn put_marked(out: &mut String, text: &str, width: usize, right: bool) {
    if width > 0 && text.chars().count() > width {
        out.push_str(prefix(text, width - 1));
        out.push('+');
    } else {
        put(out, text, width, right);
    }
}

/// The first `characters` of a text.
fn prefix(text: &str, characters: usize) -> &str {
    match text.char_indices().nth(characters) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

const BLANKS: &str = "                                                                ";

/// Moves what stands from the byte `start` on.
fn justify_right(out: &mut String, start: usize, blanks: usize) {
    let mut left = blanks;
    while left > 0 {
        let now = left.min(BLANKS.len());
        out.insert_str(start, &BLANKS[..now]);
        left -= now;
    }
}

fn pad(out: &mut String, blanks: usize) {
    let mut left = blanks;
    while left > 0 {
        let now = left.min(BLANKS.len());
        out.push_str(&BLANKS[..now]);
        left -= now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_cut_and_padded_by_characters() {
        for (text, width, right, cell) in [
            ("abc", 0, false, "abc"),
            ("abc", 5, false, "abc  "),
            ("abc", 5, true, "  abc"),
            ("abcdef", 3, true, "abc"),
            ("äöü", 5, true, "  äöü"),
            ("äöü", 2, false, "äö"),
            ("", 2, true, "  "),
        ] {
            let mut out = String::from("|");
            put(&mut out, text, width, right);
            assert_eq!(out, format!("|{cell}"), "{text} in {width}");
            let mut out = format!("|{text}");
            put_written(&mut out, 1, width, right);
            assert_eq!(out, format!("|{cell}"), "{text} written in {width}");
        }
    }

    #[test]
    fn what_sacct_cuts_ends_in_a_plus() {
        for (text, width, right, cell) in [
            ("CANCELLED by 1001", 10, true, "CANCELLED+"),
            ("COMPLETED", 10, true, " COMPLETED"),
            ("339.batch", 5, true, "339.+"),
            ("339", 12, false, "339         "),
            ("äöüß", 3, true, "äö+"),
        ] {
            let mut out = String::new();
            put_marked(&mut out, text, width, right);
            assert_eq!(out, cell);
        }
    }

    #[test]
    fn wide_columns_are_padded_in_full() {
        let mut out = String::new();
        put(&mut out, "x", 200, true);
        assert_eq!(out.len(), 200);
    }
}
