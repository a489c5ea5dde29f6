//! A partition changed while the cluster runs, in the notation of `slurm.conf`.

use daybook_schemas::node::{NodeDefinition, PartitionDefinition};

use crate::diagnostic::{Findings, Place};
use crate::keys::{Standing, find};
use crate::lines::Pair;
use crate::slurm_conf::partition::overlay;
use crate::slurm_conf::partitions::{ALIASES, KEYS, KIND, Named};
use crate::slurm_conf::{Fields, Record};

/// Why a setting is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedSetting {
    /// What is wrong, in one line.
    pub what: String,
    /// What to do about it; may be empty.
    pub remedy: String,
}

/// Whether `slurm.conf` may have this key on a `PartitionName` line, in any letter case.
pub fn is_partition_key(key: &str) -> bool {
    find(KEYS, key).is_some()
}

/// The partition with these settings (key and value as on a `PartitionName` line) in place of its own. `nodes` are
/// the cluster's, in the order of the configuration.
///
/// Nothing is passed over: what a file is only warned of, such as a setting without effect, is refused here, because
/// whoever asks is there to hear it.
///
/// # Errors
/// Every setting that is refused.
pub fn change_partition<'a>(
    partition: PartitionDefinition,
    settings: &[(String, String)],
    nodes: impl Iterator<Item = &'a NodeDefinition> + Clone,
) -> Result<PartitionDefinition, Vec<RefusedSetting>> {
    let place = Place::file("");
    let pair = |key: &str, value: &str| Pair {
        key: key.to_string(),
        value: value.to_string(),
        place: place.clone(),
    };
    let name = pair("PartitionName", &partition.name);
    let mut findings = Findings::default();
    let fields = settings.iter().map(|(key, value)| pair(key, value)).collect();
    let record = Record { name: name.clone(), fields };
    let mut own = Fields::default();
    own.overlay(&record, KEYS, KIND, ALIASES, &mut findings);
    let named = Named::new(nodes, &[], &mut findings);
    let changed = overlay(partition, &name, &own, &named, &mut findings);
    let mut refused: Vec<RefusedSetting> = settings
        .iter()
        .filter(|(key, _)| find(KEYS, key).is_some_and(|key| key.standing == Standing::NotNeeded))
        .map(|(key, _)| RefusedSetting {
            what: format!("{key} concerns Slurm's own daemons only"),
            remedy: "leave it out".to_string(),
        })
        .collect();
    let (diagnostics, _) = findings.finish(&[]);
    refused.extend(diagnostics.into_iter().map(|fault| {
        // "All goes on as if it were not there" is for files.
        let is_without_effect = fault.what.contains("has no effect");
        let remedy = if is_without_effect { "leave it out".to_string() } else { fault.remedy };
        RefusedSetting { what: fault.what, remedy }
    }));
    if refused.is_empty() { Ok(changed) } else { Err(refused) }
}
