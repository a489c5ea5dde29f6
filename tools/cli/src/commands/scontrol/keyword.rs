//! The commands of scontrol, which may be shortened.

/// What scontrol is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    Show,
    Hold,
    UserHold,
    Release,
    Requeue,
    RequeueHold,
    Top,
    Suspend,
    Resume,
    Update,
    Create,
    Delete,
    Reconfigure,
    Ping,
    Version,
    Help,
    /// Slurm's, not Daybook's yet.
    Refused(&'static str),
}

/// Each word with the fewest letters that stand for it.
const WORDS: &[(&str, usize, Keyword)] = &[
    ("abort", 5, Keyword::Refused("abort")),
    ("all", 3, Keyword::Refused("all")),
    ("cancel_reboot", 3, Keyword::Refused("cancel_reboot")),
    ("cluster", 2, Keyword::Refused("cluster")),
    ("completing", 3, Keyword::Refused("completing")),
    ("create", 2, Keyword::Create),
    ("delete", 2, Keyword::Delete),
    ("details", 3, Keyword::Refused("details")),
    ("errnumstr", 2, Keyword::Refused("errnumstr")),
    ("exit", 2, Keyword::Refused("exit")),
    ("fsdampeningfactor", 2, Keyword::Refused("fsdampeningfactor")),
    ("help", 2, Keyword::Help),
    ("hide", 2, Keyword::Refused("hide")),
    ("hold", 2, Keyword::Hold),
    ("holdu", 5, Keyword::UserHold),
    ("listpids", 2, Keyword::Refused("listpids")),
    ("notify", 1, Keyword::Refused("notify")),
    ("oneliner", 1, Keyword::Refused("oneliner")),
    ("pidinfo", 3, Keyword::Refused("pidinfo")),
    ("ping", 3, Keyword::Ping),
    ("power", 2, Keyword::Refused("power")),
    ("quiet", 4, Keyword::Refused("quiet")),
    ("quit", 4, Keyword::Refused("quit")),
    ("reboot", 3, Keyword::Refused("reboot")),
    ("reconfigure", 3, Keyword::Reconfigure),
    ("release", 3, Keyword::Release),
    ("requeue", 3, Keyword::Requeue),
    ("requeuehold", 8, Keyword::RequeueHold),
    ("resume", 3, Keyword::Resume),
    ("schedloglevel", 3, Keyword::Refused("schedloglevel")),
    ("script", 3, Keyword::Refused("script")),
    ("setdebug", 4, Keyword::Refused("setdebug")),
    ("setdebugflags", 9, Keyword::Refused("setdebugflags")),
    ("show", 2, Keyword::Show),
    ("shutdown", 3, Keyword::Refused("shutdown")),
    ("suspend", 2, Keyword::Suspend),
    ("takeover", 3, Keyword::Refused("takeover")),
    ("token", 3, Keyword::Refused("token")),
    ("top", 3, Keyword::Top),
    ("uhold", 2, Keyword::UserHold),
    ("update", 2, Keyword::Update),
    ("verbose", 4, Keyword::Refused("verbose")),
    ("version", 4, Keyword::Version),
    ("wait_job", 2, Keyword::Refused("wait_job")),
    ("write", 2, Keyword::Refused("write")),
];

/// The keyword of a word or of its beginning, in any letter case.
pub fn find(word: &str) -> Option<Keyword> {
    let word = word.to_ascii_lowercase();
    WORDS
        .iter()
        .find(|(name, least, _)| name.starts_with(&word) && word.len() >= *least)
        .map(|(_, _, keyword)| *keyword)
}

/// The words that are refused by name.
#[cfg(test)]
pub fn refused() -> impl Iterator<Item = &'static str> {
    WORDS.iter().filter_map(|(name, _, keyword)| matches!(keyword, Keyword::Refused(_)).then_some(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_may_be_shortened_in_any_letter_case() {
        for (word, keyword) in [
            ("show", Some(Keyword::Show)),
            ("SHOW", Some(Keyword::Show)),
            ("sh", Some(Keyword::Show)),
            ("upd", Some(Keyword::Update)),
            ("requeue", Some(Keyword::Requeue)),
            ("requeuehold", Some(Keyword::RequeueHold)),
            ("rel", Some(Keyword::Release)),
            ("uhold", Some(Keyword::UserHold)),
            ("suspend", Some(Keyword::Suspend)),
            ("su", Some(Keyword::Suspend)),
            ("res", Some(Keyword::Resume)),
            ("s", None),
            ("nosuch", None),
            ("showx", None),
            ("", None),
        ] {
            assert_eq!(find(word), keyword, "{word}");
        }
    }

    #[test]
    fn every_whole_word_finds_itself() {
        for (name, least, keyword) in WORDS {
            assert_eq!(find(name), Some(*keyword), "{name}");
            assert_eq!(find(&name[..*least]), Some(*keyword), "{name} by its first {least} letters");
        }
    }
}
