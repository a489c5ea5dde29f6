//! `slurm.conf`, read as Slurm reads it.
//!
//! [`read`] collects lines into parameters and records (nodes, partitions, node sets); [`parameters`],
//! [`nodes`] and [`partitions`] give them their meaning.

pub(crate) mod care;
pub(crate) mod enforcement;
pub(crate) mod health;
pub(crate) mod node_state;
pub(crate) mod nodes;
pub(crate) mod parameter_keys;
pub(crate) mod parameters;
pub(crate) mod partition;
pub(crate) mod partitions;
pub(crate) mod preemption;
pub(crate) mod priority;
pub(crate) mod topology;
pub(crate) mod usage;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnostic::{Findings, Place};
use crate::files::Files;
use crate::keys::is_supported;
use crate::lines::{Line, Pair, read_lines};

/// The file's name.
pub(crate) const SLURM_CONF: &str = "slurm.conf";

/// How deep files may include each other.
const INCLUDE_DEPTH_MAX: usize = 8;
/// The most files in all.
const FILES_MAX: usize = 1000;

/// A line that describes one thing: `NodeName=… Key=Value …`.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The pair that began it.
    pub name: Pair,
    /// The other pairs of the line.
    pub fields: Vec<Pair>,
}

/// What stands in `slurm.conf` and the files that it includes.
#[derive(Default)]
pub(crate) struct SlurmConf {
    /// Supported parameters, by lower-case key; the last of several.
    pub parameters: BTreeMap<String, Pair>,
    /// Those that may be given several times ([`care::PROGRAMS`]), in their order.
    pub programs: Vec<Pair>,
    /// `NodeName` lines in their order, DEFAULT lines among them.
    pub nodes: Vec<Record>,
    /// `PartitionName` lines in their order, DEFAULT lines among them.
    pub partitions: Vec<Record>,
    /// `NodeSet` lines.
    pub node_sets: Vec<Record>,
    /// `DownNodes` lines.
    pub down_nodes: Vec<Record>,
}

impl SlurmConf {
    /// A parameter.
    pub fn parameter(&self, name: &str) -> Option<&Pair> {
        self.parameters.get(&name.to_ascii_lowercase())
    }

    fn add_parameter(&mut self, pair: Pair, findings: &mut Findings) {
        if !is_supported(&pair, parameter_keys::PARAMETERS, "parameter", findings) {
            return;
        }
        if care::PROGRAMS.iter().any(|name| pair.key.eq_ignore_ascii_case(name)) {
            self.programs.push(pair);
            return;
        }
        if let Some(first) = self.parameters.get(&pair.key.to_ascii_lowercase())
            && first.value != pair.value
        {
            let what = format!("{} is given twice, first as {} at {}", pair.key, first.text(), first.place);
            findings.warning(&pair.place, what, format!("{} is used; remove the other", pair.text()));
        }
        self.parameters.insert(pair.key.to_ascii_lowercase(), pair);
    }

    /// Where records of this kind go; `None` for a parameter.
    fn records(&mut self, key: &str) -> Option<&mut Vec<Record>> {
        match key.to_ascii_lowercase().as_str() {
            "nodename" => Some(&mut self.nodes),
            "partitionname" => Some(&mut self.partitions),
            "nodeset" => Some(&mut self.node_sets),
            "downnodes" => Some(&mut self.down_nodes),
            _ => None,
        }
    }

    fn add_line(&mut self, pairs: Vec<Pair>, findings: &mut Findings) {
        let mut pairs = pairs.into_iter();
        while let Some(pair) = pairs.next() {
            if let Some(records) = self.records(&pair.key) {
                records.push(Record { name: pair, fields: pairs.by_ref().collect() });
            } else if pair.is("FrontendName") {
                findings.without_effect(&pair.place, &pair.text(), "a front end for other nodes");
                return;
            } else if pair.is("SlurmctldHost") {
                // May stand several times: backup controllers.
                findings.not_needed("SlurmctldHost");
            } else {
                self.add_parameter(pair, findings);
            }
        }
    }
}

/// Reads `slurm.conf`; `None`, with the fault reported, where it cannot be read at all.
pub(crate) fn read(files: &mut Files, findings: &mut Findings) -> Option<SlurmConf> {
    let mut conf = SlurmConf::default();
    let place = Place::file(SLURM_CONF);
    read_file(SLURM_CONF, &place, &mut Vec::new(), files, &mut conf, findings)?;
    Some(conf)
}

/// `open` are the files whose lines are being read, from `slurm.conf` to the one that includes this.
fn read_file(
    path: &str,
    mention: &Place,
    open: &mut Vec<Arc<str>>,
    files: &mut Files,
    conf: &mut SlurmConf,
    findings: &mut Findings,
) -> Option<()> {
    let text = files.read(path, mention, findings)?;
    open.push(files.name_of(path));
    for line in read_lines(&files.name_of(path), &text, findings) {
        match line {
            Line::Pairs(pairs) => conf.add_line(pairs, findings),
            Line::Include { path, place } => {
                let path = with_cluster_name(&path, conf);
                if open.contains(&files.name_of(&path)) {
                    findings.error(&place, format!("{path} includes itself"), "remove one Include");
                } else if open.len() > INCLUDE_DEPTH_MAX || files.count() >= FILES_MAX {
                    let what = format!("Include {path} is one too many");
                    let remedy = format!("at most {FILES_MAX} files, {INCLUDE_DEPTH_MAX} deep, are read");
                    findings.error(&place, what, remedy);
                } else {
                    // A file that cannot be read has been reported; the lines below the Include still count.
                    let _ = read_file(&path, &place, open, files, conf, findings);
                }
            }
        }
    }
    open.pop();
    Some(())
}

/// `%c` in the path of an `Include` is the cluster's name, which has to stand above it.
fn with_cluster_name(path: &str, conf: &SlurmConf) -> String {
    match conf.parameter("ClusterName") {
        Some(name) => path.replace("%c", &name.value.to_ascii_lowercase()),
        None => path.to_string(),
    }
}

/// The fields of a record, its own before those of the DEFAULT lines above it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(BTreeMap<String, Pair>);

impl Fields {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Pair> {
        self.0.get(&key.to_ascii_lowercase())
    }

    /// Puts the supported fields of a record over these. `aliases` are (other spelling, key).
    pub fn overlay(
        &mut self,
        record: &Record,
        keys: &'static [crate::keys::Key],
        kind: &str,
        aliases: &[(&str, &str)],
        findings: &mut Findings,
    ) {
        let mut own: BTreeMap<String, &Pair> = BTreeMap::new();
        for pair in &record.fields {
            if !is_supported(pair, keys, kind, findings) {
                continue;
            }
            let alias = aliases.iter().find(|(other, _)| pair.is(other));
            let key = alias.map_or(pair.key.as_str(), |(_, key)| key).to_ascii_lowercase();
            if let Some(first) = own.insert(key, pair) {
                let what = format!("{} and {} stand on one line", first.text(), pair.text());
                findings.warning(&pair.place, what, format!("{} is used; remove the other", pair.text()));
            }
        }
        self.0.extend(own.into_iter().map(|(key, pair)| (key, pair.clone())));
    }
}
