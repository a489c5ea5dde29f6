//! Settings of associations and of QOS as they are typed.

use daybook_schemas::Seconds;
use daybook_schemas::accounts::{FACTOR_ONE, PreemptMode, QosFlag, Shares};
use daybook_schemas::api::{AssociationSettings, Change, LimitChanges, ListChange, QosSettings, TresChange};
use daybook_schemas::grammar::duration;
use daybook_schemas::limits::CountLimitName::*;
use daybook_schemas::limits::TresLimitName::*;
use daybook_schemas::limits::WallLimitName::*;
use daybook_schemas::limits::{CountLimitName, TresLimitName, WallLimitName};

use super::tres;
use super::words::{self, Sign, Word};

/// A setting that cannot be taken, as a line of standard error.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    /// `sacctmgr: error: …`
    Error(String),
    /// The line as it is.
    Line(String),
}

/// Whether a word was a setting that is known.
pub type Known = Result<bool, Fault>;

/// A limit by its name.
#[derive(Clone, Copy)]
enum Limit {
    Tres(TresLimitName),
    /// Slurm's older names: of one resource only.
    OneTres(TresLimitName, &'static str),
    Count(CountLimitName),
    Wall(WallLimitName),
}

use Limit::{Count, OneTres, Tres, Wall};

/// Names with the fewest letters by which they are known; the first that fits is meant.
const COMMON: &[(&str, usize, Limit)] = &[
    ("GrpCPUs", 6, OneTres(GrpTres, "cpu")),
    ("GrpCPUMins", 7, OneTres(GrpTresMins, "cpu")),
    ("GrpCPURunMins", 7, OneTres(GrpTresRunMins, "cpu")),
    ("GrpJobs", 4, Count(GrpJobs)),
    ("GrpJobsAccrue", 8, Count(GrpJobsAccrue)),
    ("GrpMemory", 4, OneTres(GrpTres, "mem")),
    ("GrpNodes", 4, OneTres(GrpTres, "node")),
    ("GrpSubmitJobs", 4, Count(GrpSubmitJobs)),
    ("GrpTRES", 7, Tres(GrpTres)),
    ("GrpTRESMins", 8, Tres(GrpTresMins)),
    ("GrpTRESRunMins", 8, Tres(GrpTresRunMins)),
    ("GrpWall", 4, Wall(GrpWall)),
    ("MaxCPUMinsPerJob", 7, OneTres(MaxTresMinsPerJob, "cpu")),
    ("MaxCPUsPerJob", 7, OneTres(MaxTresPerJob, "cpu")),
    ("MaxNodesPerJob", 4, OneTres(MaxTresPerJob, "node")),
    ("MaxTRESPerJob", 7, Tres(MaxTresPerJob)),
    ("MaxTRESPJ", 9, Tres(MaxTresPerJob)),
    ("MaxTRESPerNode", 11, Tres(MaxTresPerNode)),
    ("MaxTRESPN", 9, Tres(MaxTresPerNode)),
    ("MaxTRESMinsPerJob", 8, Tres(MaxTresMinsPerJob)),
    ("MaxTRESMinsPJ", 13, Tres(MaxTresMinsPerJob)),
    ("MaxWallDurationPerJob", 4, Wall(MaxWallPerJob)),
    ("MinPrioThreshold", 4, Count(MinPriority)),
];

const OF_ASSOCIATIONS: &[(&str, usize, Limit)] = &[
    ("MaxJobs", 4, Count(MaxJobs)),
    ("MaxJobsAccrue", 8, Count(MaxJobsAccrue)),
    ("MaxSubmitJobs", 4, Count(MaxSubmitJobs)),
];

const OF_QOS: &[(&str, usize, Limit)] = &[
    ("MaxCPUsPerUser", 11, OneTres(MaxTresPerUser, "cpu")),
    ("MaxNodesPerUser", 12, OneTres(MaxTresPerUser, "node")),
    ("MaxJobsPerUser", 4, Count(MaxJobs)),
    ("MaxJobsPU", 9, Count(MaxJobs)),
    ("MaxJobsPerAccount", 11, Count(MaxJobsPerAccount)),
    ("MaxJobsPA", 9, Count(MaxJobsPerAccount)),
    ("MaxJobsAccruePerUser", 8, Count(MaxJobsAccrue)),
    ("MaxJobsAccruePU", 15, Count(MaxJobsAccrue)),
    ("MaxJobsAccruePerAccount", 17, Count(MaxJobsAccruePerAccount)),
    ("MaxJobsAccruePA", 15, Count(MaxJobsAccruePerAccount)),
    ("MaxSubmitJobsPerUser", 4, Count(MaxSubmitJobs)),
    ("MaxSubmitPU", 11, Count(MaxSubmitJobs)),
    ("MaxSubmitJobsPerAccount", 17, Count(MaxSubmitJobsPerAccount)),
    ("MaxSubmitPA", 11, Count(MaxSubmitJobsPerAccount)),
    ("MaxTRESPerUser", 11, Tres(MaxTresPerUser)),
    ("MaxTRESPU", 9, Tres(MaxTresPerUser)),
    ("MaxTRESPerAccount", 11, Tres(MaxTresPerAccount)),
    ("MaxTRESPA", 9, Tres(MaxTresPerAccount)),
    ("MaxTRESRunMinsPerUser", 8, Tres(MaxTresRunMinsPerUser)),
    ("MaxTRESRunMinsPU", 16, Tres(MaxTresRunMinsPerUser)),
    ("MaxTRESRunMinsPerAccount", 18, Tres(MaxTresRunMinsPerAccount)),
    ("MaxTRESRunMinsPA", 16, Tres(MaxTresRunMinsPerAccount)),
    ("MinTRESPerJob", 7, Tres(MinTresPerJob)),
];

type Limits = [(&'static str, usize, Limit)];

/// The limit of a name or its beginning, with its name.
fn limit_by_name(own: &Limits, key: &str) -> Option<(&'static str, Limit)> {
    let exact = |table: &Limits| table.iter().find(|(name, _, _)| name.eq_ignore_ascii_case(key)).copied();
    let begun = |table: &Limits| table.iter().find(|(name, least, _)| words::is(key, name, *least)).copied();
    let found = exact(own).or_else(|| exact(COMMON)).or_else(|| begun(COMMON)).or_else(|| begun(own));
    found.map(|(name, _, limit)| (name, limit))
}

fn limit(own: &Limits, word: &Word, value: &str, changes: &mut LimitChanges) -> Known {
    let Some((name, limit)) = limit_by_name(own, &word.key) else { return Ok(false) };
    match limit {
        Tres(limit) => {
            let change = tres::parse(value).map_err(Fault::Error)?;
            changes.tres.insert(limit, change);
        }
        OneTres(limit, resource) => {
            let change = tres::amount_of(resource, value).map_err(|_| invalid(name, value))?;
            let mut amounts = match changes.tres.remove(&limit) {
                Some(TresChange::Amounts(amounts)) => amounts,
                _ => Default::default(),
            };
            amounts.insert(resource.to_string(), change);
            changes.tres.insert(limit, TresChange::Amounts(amounts));
        }
        Count(limit) => {
            changes.counts.insert(limit, number(name, value)?);
        }
        Wall(limit) => {
            let name = if limit == MaxWallPerJob { "MaxWall" } else { name };
            changes.walls.insert(limit, wall(name, word, value)?);
        }
    }
    Ok(true)
}

fn invalid(name: &str, value: &str) -> Fault {
    Fault::Error(format!("Invalid value for {name} ({value})"))
}

/// `-1` takes it back.
fn number(name: &str, value: &str) -> Result<Change<u32>, Fault> {
    if value == "-1" {
        return Ok(Change::Clear);
    }
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    let read = value.parse().ok().filter(|&number: &u32| digits && number < u32::MAX - 1);
    read.map(Change::Set).ok_or_else(|| invalid(name, value))
}

/// A length of time in whole minutes, rounded up as Slurm keeps them.
fn wall(name: &str, word: &Word, value: &str) -> Result<Change<Seconds>, Fault> {
    match duration::parse(value) {
        Ok(None) => Ok(Change::Clear),
        Ok(Some(Seconds(seconds))) => Ok(Change::Set(Seconds(seconds.div_ceil(60) * 60))),
        Err(_) => Err(Fault::Line(format!(" Bad {name} time format: {}", word.text))),
    }
}

/// `0.5`, in millionths; `-1` takes it back.
fn factor(name: &str, value: &str) -> Result<Change<u64>, Fault> {
    if value == "-1" {
        return Ok(Change::Clear);
    }
    let (whole, part) = value.split_once('.').unwrap_or((value, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && part.is_empty()) || !is_number(whole) || !is_number(part) || part.len() > 6 {
        return Err(invalid(name, value));
    }
    let whole: Option<u64> = if whole.is_empty() { Some(0) } else { whole.parse().ok() };
    let part: u64 = format!("{part:0<6}").parse().unwrap_or_default();
    let millionths = whole.and_then(|whole| whole.checked_mul(FACTOR_ONE)?.checked_add(part));
    millionths.map(Change::Set).ok_or_else(|| invalid(name, value))
}

/// `-1` alone takes everything back.
fn list_change(word: &Word, value: &str) -> ListChange<String> {
    let items = if value == "-1" { Vec::new() } else { words::list(value) };
    match word.sign {
        Sign::Set => ListChange::Set(items),
        Sign::Add => ListChange::Add(items),
        Sign::Remove => ListChange::Remove(items),
    }
}

fn text(value: &str) -> Change<String> {
    match value {
        "" | "-1" => Change::Clear,
        value => Change::Set(value.to_string()),
    }
}

/// A setting of an association.
pub fn of_association(word: &Word, into: &mut AssociationSettings) -> Known {
    let Some(value) = word.value.as_deref() else { return Ok(false) };
    let key = word.key.as_str();
    if words::is(key, "DefaultQOS", 8) {
        into.default_qos = Some(text(&value.to_ascii_lowercase()));
    } else if words::is(key, "FairShare", 1) || words::is(key, "Shares", 1) {
        into.shares = Some(match value.to_ascii_lowercase().as_str() {
            "parent" => Change::Set(Shares::Parent),
            value => match number("FairShare", value)? {
                Change::Set(number) => Change::Set(Shares::Number(number)),
                Change::Clear => Change::Clear,
            },
        });
    } else if words::is(key, "Priority", 3) {
        into.priority = Some(number("Priority", value)?);
    } else if words::is(key, "QosLevel", 1) {
        into.qos = Some(list_change(word, value));
    } else if words::is(key, "Comment", 3) {
        into.comment = Some(text(value));
    } else {
        return limit(OF_ASSOCIATIONS, word, value, &mut into.limits);
    }
    Ok(true)
}

const MODES: &[(&str, Option<PreemptMode>)] = &[
    ("cluster", None),
    ("off", Some(PreemptMode::Off)),
    ("cancel", Some(PreemptMode::Cancel)),
    ("requeue", Some(PreemptMode::Requeue)),
    ("suspend", Some(PreemptMode::Suspend)),
];

/// How Slurm writes a mode.
pub fn mode_word(mode: Option<PreemptMode>) -> &'static str {
    MODES.iter().find(|(_, entry)| *entry == mode).map_or("", |(word, _)| word)
}

/// A setting of a QOS.
pub fn of_qos(word: &Word, into: &mut QosSettings) -> Known {
    let Some(value) = word.value.as_deref() else { return Ok(false) };
    let key = word.key.as_str();
    if words::is(key, "Description", 1) {
        into.description = Some(value.to_string());
    } else if words::is(key, "Flags", 2) {
        into.flags = Some(flags(word, value)?);
    } else if words::is(key, "GraceTime", 3) {
        into.grace_time = Some(seconds("GraceTime", value)?);
    } else if words::is(key, "PreemptMode", 8) {
        let lower = value.to_ascii_lowercase();
        let lower = if lower == "-1" { "cluster".to_string() } else { lower };
        let mode = MODES.iter().find(|(name, _)| *name == lower).map(|(_, mode)| *mode);
        let mode = mode.ok_or_else(|| Fault::Line(format!(" Bad preempt mode: {}", word.text)))?;
        into.preempt_mode = Some(mode.map_or(Change::Clear, Change::Set));
    } else if words::is(key, "PreemptExemptTime", 8) {
        into.preempt_exempt_time = Some(seconds("PreemptExemptTime", value)?);
    } else if words::is(key, "Preempt", 4) {
        into.preempt = Some(list_change(word, value));
    } else if words::is(key, "Priority", 3) {
        into.priority = Some(number("Priority", value)?);
    } else if words::is(key, "UsageFactor", 6) {
        into.usage_factor = Some(factor("UsageFactor", value)?);
    } else if words::is(key, "UsageThreshold", 6) {
        into.usage_threshold = Some(factor("UsageThreshold", value)?);
    } else if words::is(key, "LimitFactor", 6) {
        into.limit_factor = Some(factor("LimitFactor", value)?);
    } else {
        return limit(OF_QOS, word, value, &mut into.limits);
    }
    Ok(true)
}

/// A number of seconds, or a length of time with colons.
fn seconds(name: &str, value: &str) -> Result<Change<Seconds>, Fault> {
    if value == "-1" {
        return Ok(Change::Clear);
    }
    let read = match value.contains([':', '-']) {
        true => duration::parse(value).ok().flatten(),
        false => duration::parse_seconds(value).ok(),
    };
    read.map(Change::Set).ok_or_else(|| invalid(name, value))
}

fn flags(word: &Word, value: &str) -> Result<ListChange<QosFlag>, Fault> {
    let names = if value == "-1" { Vec::new() } else { words::list(value) };
    let flag = |name: &String| QosFlag::parse(name).ok_or_else(|| invalid("Flags", name));
    let flags = names.iter().map(flag).collect::<Result<Vec<_>, _>>()?;
    Ok(match word.sign {
        Sign::Set => ListChange::Set(flags),
        Sign::Add => ListChange::Add(flags),
        Sign::Remove => ListChange::Remove(flags),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn association(line: &str) -> Result<AssociationSettings, Fault> {
        let mut settings = AssociationSettings::default();
        for word in line.split(' ') {
            assert!(of_association(&words::read(word), &mut settings)?, "{word} is not known");
        }
        Ok(settings)
    }

    #[test]
    fn limits_are_known_by_slurms_names_old_and_new() {
        let settings = association("grpcpus=5 GrpNodes=2 maxwall=1:00:30 maxjobs=-1 maxsubmit=20").unwrap();
        let limits = settings.limits;
        assert_eq!(tres::told(&limits.tres[&GrpTres]), "cpu=5,node=2");
        assert_eq!(limits.walls[&MaxWallPerJob], Change::Set(Seconds(3_660)));
        assert_eq!(limits.counts[&MaxJobs], Change::Clear);
        assert_eq!(limits.counts[&MaxSubmitJobs], Change::Set(20));
    }

    #[test]
    fn what_is_no_value_is_refused_and_named() {
        for (word, fault) in [
            ("fairshare=x", Fault::Error("Invalid value for FairShare (x)".into())),
            ("maxjobs=-5", Fault::Error("Invalid value for MaxJobs (-5)".into())),
            ("maxjobs=99999999999", Fault::Error("Invalid value for MaxJobs (99999999999)".into())),
            ("maxwalldur=abc", Fault::Line(" Bad MaxWall time format: maxwalldur=abc".into())),
        ] {
            assert_eq!(association(word), Err(fault), "{word}");
        }
    }

    #[test]
    fn factors_are_kept_in_millionths() {
        for (text, expected) in [("0.5", Some(500_000)), ("2", Some(2_000_000)), ("1.25", Some(1_250_000))] {
            assert_eq!(factor("UsageFactor", text).ok(), expected.map(Change::Set), "{text}");
        }
        for text in ["", ".", "-0.5", "1e3", "0.1234567", "99999999999999999999"] {
            assert!(factor("UsageFactor", text).is_err(), "{text}");
        }
    }
}
