//! What is done on a node around each run: `Prolog`, `Epilog`, and when what cannot be killed is said to be so.

use daybook_schemas::Seconds;
use daybook_supervisor::programs::Programs;
use daybook_supervisor::records::Care;

use super::SlurmConf;
use crate::diagnostic::Findings;
use crate::lines::Pair;
use crate::values;

/// Parameters that name programs, and may be given several times.
pub(super) const PROGRAMS: [&str; 3] = ["Prolog", "Epilog", "UnkillableStepProgram"];
/// The longest limit, in seconds.
const SECONDS_MAX: u64 = 65_533;

/// Reads it.
pub(crate) fn care(conf: &SlurmConf, findings: &mut Findings) -> Care {
    let usual = Care::default();
    let both = limit(conf, "PrologEpilogTimeout", findings);
    let prolog = limit(conf, "PrologTimeout", findings).or(both);
    let epilog = limit(conf, "EpilogTimeout", findings).or(both);
    let patience = conf.parameter("UnkillableStepTimeout");
    let patience = patience.and_then(|pair| values::number(pair, 1, SECONDS_MAX, findings)).map(Seconds);
    let mut programs =
        |name: &str, limit: Option<Seconds>| Programs { paths: paths(conf, name, findings), limit };
    Care {
        prolog: programs("Prolog", prolog),
        epilog: programs("Epilog", epilog),
        unkillable_after: patience.unwrap_or(usual.unkillable_after),
        unkillable: programs("UnkillableStepProgram", patience.or(Some(usual.unkillable_after))),
        ..usual
    }
}

/// Absent: none.
fn limit(conf: &SlurmConf, name: &str, findings: &mut Findings) -> Option<Seconds> {
    let pair = conf.parameter(name).filter(|pair| !values::is_unlimited(pair))?;
    values::number(pair, 1, SECONDS_MAX, findings).map(Seconds)
}

fn paths(conf: &SlurmConf, name: &str, findings: &mut Findings) -> Vec<String> {
    let given = conf.programs.iter().filter(|pair| pair.key.eq_ignore_ascii_case(name));
    // An empty or null value takes back what stands before it, as it takes back a default.
    given.fold(Vec::new(), |mut paths, pair| {
        match path(pair, findings) {
            Some(path) => paths.push(path),
            None => paths.clear(),
        }
        paths
    })
}

/// The program that a pair names; absent: none.
pub(super) fn path(pair: &Pair, findings: &mut Findings) -> Option<String> {
    let is_none =
        pair.value.is_empty() || ["none", "(null)"].iter().any(|word| pair.value.eq_ignore_ascii_case(word));
    if is_none {
        return None;
    }
    if !pair.value.starts_with('/') {
        let what = format!("{} is no absolute path", pair.text());
        findings.error(
            &pair.place,
            what,
            format!("such as {}=/etc/slurm/{}.sh", pair.key, pair.key.to_lowercase()),
        );
    }
    Some(pair.value.clone())
}
