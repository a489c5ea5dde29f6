//! The job's environment, as `--export` wants it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use daybook_schemas::api::{ENVIRONMENT_BYTES_MAX, Text};

use super::fault::Fault;
use super::script::TOO_LONG;

/// A variable: name and value.
pub type Variable = (OsString, OsString);

/// What `sbatch` inside a job does not hand on to the next: what described the job that it is in.
const OF_THE_JOB: &[&str] = &[
    "SLURM_JOB",
    "SLURM_ARRAY_",
    "SLURM_STEP",
    "SLURM_TASK",
    "SLURM_CPU",
    "SLURM_GPU",
    "SLURM_MEM_",
    "SLURM_NODE",
    "SLURM_NNODES",
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_GTIDS",
    "SLURM_RESTART_COUNT",
    "SLURM_SUBMIT_",
    "SLURM_TOPOLOGY_",
    "SLURM_EXPORT_ENV",
    "SLURM_GET_USER_ENV",
    "SLURMD_NODENAME",
];

/// What a job gets beside what its user exports.
pub struct Origin<'a> {
    pub job_name: &'a str,
    pub submit_dir: &'a str,
    pub submit_host: &'a str,
}

/// Builds the environment from that of the caller. `export` is the text of `--export`; absent is `ALL`.
pub fn build(export: Option<&str>, caller: Vec<Variable>, origin: &Origin<'_>) -> Result<Vec<Text>, Fault> {
    let inside_job = caller.iter().any(|(name, _)| name == "SLURM_JOB_ID");
    let caller: Vec<Variable> =
        caller.into_iter().filter(|(name, _)| !(inside_job && describes_job(name))).collect();
    let words = match export {
        None => vec!["ALL".to_string()],
        Some(text) => split(text),
    };
    let all = words.iter().any(|word| word.eq_ignore_ascii_case("ALL"));
    let mut variables = Variables::default();
    for (name, value) in &caller {
        if all || name.as_bytes().starts_with(b"SLURM_") {
            variables.set(name.clone(), value.clone());
        }
    }
    for word in words.iter().filter(|word| !["ALL", "NONE"].contains(&word.to_ascii_uppercase().as_str())) {
        match word.split_once('=') {
            Some((name, value)) if !name.is_empty() => variables.set(name.into(), value.into()),
            Some(_) => return Err(Fault::invalid("export")),
            None => {
                if let Some((name, value)) = caller.iter().find(|(name, _)| name == word.as_str()) {
                    variables.set(name.clone(), value.clone());
                }
            }
        }
    }
    if let Some(text) = export.filter(|text| !text.eq_ignore_ascii_case("ALL")) {
        variables.set("SLURM_EXPORT_ENV".into(), text.into());
    }
    if !all {
        // Tells the node to start from the user's own environment.
        variables.set("SLURM_GET_USER_ENV".into(), "1".into());
    }
    variables.set("SLURM_JOB_NAME".into(), origin.job_name.into());
    variables.set("SLURM_PRIO_PROCESS".into(), own_nice().to_string().into());
    variables.set("SLURM_SUBMIT_DIR".into(), origin.submit_dir.into());
    variables.set("SLURM_SUBMIT_HOST".into(), origin.submit_host.into());
    variables.into_texts()
}

fn describes_job(name: &OsString) -> bool {
    OF_THE_JOB.iter().any(|prefix| name.as_bytes().starts_with(prefix.as_bytes()))
}

/// The niceness that jobs are submitted with.
fn own_nice() -> i32 {
    rustix::process::getpriority_process(None).unwrap_or(0)
}

#[derive(Default)]
struct Variables(BTreeMap<OsString, OsString>);

impl Variables {
    fn set(&mut self, name: OsString, value: OsString) {
        self.0.insert(name, value);
    }

    fn into_texts(self) -> Result<Vec<Text>, Fault> {
        let mut bytes = 0;
        let mut texts = Vec::with_capacity(self.0.len());
        for (name, value) in self.0 {
            let mut text = name.into_vec();
            text.push(b'=');
            text.extend_from_slice(value.as_bytes());
            bytes += text.len() + 1;
            texts.push(Text(text));
        }
        if bytes > ENVIRONMENT_BYTES_MAX {
            let most = ENVIRONMENT_BYTES_MAX;
            let detail =
                format!("sbatch: error: the environment has {bytes} bytes, at most {most} are accepted");
            return Err(Fault::submission(TOO_LONG).after(detail));
        }
        Ok(texts)
    }
}

/// Splits at commas outside quotes, and takes the quotes away.
fn split(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for character in text.chars() {
        match (character, quote) {
            (_, Some(open)) if character == open => quote = None,
            ('"' | '\'', None) => quote = Some(character),
            (',', None) => words.push(String::new()),
            _ => {
                if let Some(word) = words.last_mut() {
                    word.push(character);
                }
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(export: Option<&str>, caller: &[(&str, &str)]) -> String {
        let caller =
            caller.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        let origin = Origin { job_name: "wrap", submit_dir: "/home/alice", submit_host: "vm" };
        match build(export, caller, &origin) {
            Err(fault) => fault.lines.join("\n"),
            Ok(texts) => {
                let mut lines: Vec<String> =
                    texts.into_iter().map(|text| String::from_utf8_lossy(&text.0).into_owned()).collect();
                lines.retain(|line| {
                    !["SLURM_JOB_NAME=", "SLURM_PRIO_", "SLURM_SUBMIT_"]
                        .iter()
                        .any(|own| line.starts_with(own))
                });
                lines.sort();
                lines.join(" ")
            }
        }
    }

    #[test]
    fn export_chooses_what_goes_along() {
        let caller = [("FOO", "1"), ("BAR", "2"), ("SLURM_CONF", "/x")];
        for (export, environment) in [
            (None, "BAR=2 FOO=1 SLURM_CONF=/x"),
            (Some("ALL"), "BAR=2 FOO=1 SLURM_CONF=/x"),
            (Some("NONE"), "SLURM_CONF=/x SLURM_EXPORT_ENV=NONE SLURM_GET_USER_ENV=1"),
            (Some("FOO"), "FOO=1 SLURM_CONF=/x SLURM_EXPORT_ENV=FOO SLURM_GET_USER_ENV=1"),
            (Some("ALL,BAZ=3"), "BAR=2 BAZ=3 FOO=1 SLURM_CONF=/x SLURM_EXPORT_ENV=ALL,BAZ=3"),
            (Some("BAZ=a b"), "BAZ=a b SLURM_CONF=/x SLURM_EXPORT_ENV=BAZ=a b SLURM_GET_USER_ENV=1"),
            (
                Some("A='x,y',FOO"),
                "A=x,y FOO=1 SLURM_CONF=/x SLURM_EXPORT_ENV=A='x,y',FOO SLURM_GET_USER_ENV=1",
            ),
            (Some("UNSET"), "SLURM_CONF=/x SLURM_EXPORT_ENV=UNSET SLURM_GET_USER_ENV=1"),
            (Some("=x"), "sbatch: error: Invalid --export specification"),
        ] {
            assert_eq!(built(export, &caller), environment, "{export:?}");
        }
    }

    #[test]
    fn a_job_does_not_hand_its_own_description_on() {
        let caller = [("SLURM_JOB_ID", "7"), ("SLURM_ARRAY_TASK_ID", "3"), ("SLURM_CONF", "/x"), ("A", "1")];
        assert_eq!(built(None, &caller), "A=1 SLURM_CONF=/x");
    }

    #[test]
    fn an_environment_beyond_the_limit_is_refused() {
        let large = "x".repeat(ENVIRONMENT_BYTES_MAX);
        assert!(built(None, &[("A", &large)]).ends_with(TOO_LONG));
    }
}
