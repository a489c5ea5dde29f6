//! `#SBATCH` lines of a batch script.

use super::fault::Fault;

/// What the lines of a script ask for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// Arguments as on a command line, one list for each line.
    pub lines: Vec<Vec<String>>,
    /// Whether there are `#PBS` lines.
    pub has_pbs: bool,
}

/// Reads the directives up to the first command.
pub fn read(script: &[u8], name: &str) -> Result<Directives, Fault> {
    let mut directives = Directives::default();
    for (number, line) in script.split(|&byte| byte == b'\n').enumerate() {
        if let Some(rest) = line.strip_prefix(b"#SBATCH") {
            let text = std::str::from_utf8(rest).map_err(|_| {
                Fault::refused(format!("{name}: line {}: #SBATCH line is not UTF-8", number + 1))
            })?;
            let words = split(text).map_err(|quote| {
                Fault::refused(format!(
                    "{name}: line {}: Unmatched `{quote}` in [{}]",
                    number + 1,
                    text.trim()
                ))
            })?;
            if !words.is_empty() {
                directives.lines.push(words);
            }
        } else if line.starts_with(b"#PBS") {
            directives.has_pbs = true;
        } else if line.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|&byte| byte != b'#') {
            break;
        }
    }
    Ok(directives)
}

/// Splits at white space; quotes join, a backslash takes the next character as it is, a word that begins with `#`
/// begins a remark. The error is the quote that does not end.
fn split(text: &str) -> Result<Vec<String>, char> {
    let mut words = Vec::new();
    let mut characters = text.chars().peekable();
    loop {
        while characters.next_if(|character| character.is_whitespace()).is_some() {}
        match characters.peek() {
            None | Some('#') => return Ok(words),
            Some(_) => {}
        }
        let mut word = String::new();
        let mut quote = None;
        while let Some(character) =
            characters.next_if(|character| quote.is_some() || !character.is_whitespace())
        {
            match (character, quote) {
                ('\\', _) => word.extend(characters.next()),
                (_, Some(open)) if character == open => quote = None,
                ('"' | '\'', None) => quote = Some(character),
                _ => word.push(character),
            }
        }
        if let Some(open) = quote {
            return Err(open);
        }
        words.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(script: &str) -> String {
        match read(script.as_bytes(), "job.sh") {
            Ok(directives) => {
                directives.lines.iter().map(|line| line.join("|")).collect::<Vec<_>>().join(" ; ")
            }
            Err(fault) => fault.lines.join("\n"),
        }
    }

    #[test]
    fn lines_are_read_up_to_the_first_command() {
        let script = "#!/bin/bash\n#SBATCH --job-name=a\n# remark\n\n  # another\n#SBATCH -n 2   # why\n## #SBATCH --no\n\
                      echo x\n#SBATCH --late\n";
        assert_eq!(words(script), "--job-name=a ; -n|2");
    }

    #[test]
    fn quotes_and_backslashes_join_words() {
        assert_eq!(words("#SBATCH --comment='a b' -J \"c d\""), "--comment=a b|-J|c d");
        assert_eq!(words("#SBATCH --comment=a\\ b"), "--comment=a b");
        assert_eq!(words("#SBATCH   --name         value"), "--name|value");
        assert_eq!(words("#SBATCH --comment='it''s'"), "--comment=its");
        assert_eq!(words("#SBATCH -J a#b"), "-J|a#b");
        assert_eq!(words("#SBATCH"), "");
    }

    #[test]
    fn a_quote_that_does_not_end_is_named_with_its_line() {
        let expected = "sbatch: error: job.sh: line 2: Unmatched `'` in [-J 'abc]";
        assert_eq!(words("#!/bin/sh\n#SBATCH -J 'abc\n"), expected);
    }

    #[test]
    fn lines_of_pbs_are_noticed() {
        let read = read(b"#!/bin/sh\n#PBS -N x\ntrue\n", "x");
        assert_eq!(read, Ok(Directives { lines: Vec::new(), has_pbs: true }));
    }
}
