//! How runs are confined on their nodes: `cgroup.conf`, `TaskPlugin` and `ProctrackType` of `slurm.conf`, `[agent]` of
//! `daybook.toml`.

use daybook_cgroup::{Confining, Rules, Versions};
use daybook_schemas::Mebibytes;

use crate::daybook_toml::DaybookToml;
use crate::diagnostic::{Findings, Place, did_you_mean};
use crate::files::Files;
use crate::keys::{Key, is_supported, known_word, no_effect, not_needed, supported};
use crate::lines::{Line, Pair, read_lines};
use crate::slurm_conf::SlurmConf;
use crate::values;

/// The file's name.
pub(crate) const CGROUP_CONF: &str = "cgroup.conf";

/// Keys of `cgroup.conf`, in alphabetical order.
pub(crate) const KEYS: &[Key] = &[
    no_effect("AllowedDevicesFile", "a list of devices that every job may open; all but GPUs are open"),
    supported("AllowedRAMSpace", "per cent of its memory that a run may use; default 100"),
    supported("AllowedSwapSpace", "per cent of its memory that a run may swap beside; default 0"),
    not_needed("CgroupAutomount", "nothing is mounted: what the machine mounts is used"),
    not_needed("CgroupMountpoint", "where cgroups are mounted is seen in /proc/self/mountinfo"),
    supported("CgroupPlugin", "which version is used; default autodetect: all that is mounted").of(PLUGINS),
    not_needed("CgroupReleaseAgentDir", "groups are removed by the run's supervisor"),
    supported("ConstrainCores", "a run has the CPUs that it was given; default no"),
    supported("ConstrainDevices", "a run opens the GPUs that it was given; default no"),
    supported("ConstrainRAMSpace", "a run has the memory that it was given; default no"),
    supported("ConstrainSwapSpace", "a run swaps no more than AllowedSwapSpace; default no"),
    not_needed("EnableControllers", "controllers are enabled where they can be"),
    not_needed("IgnoreSystemd", "groups are made beside those of systemd"),
    not_needed("IgnoreSystemdOnFailure", "groups are made beside those of systemd"),
    supported("MaxRAMPercent", "per cent of the node's memory that is the most for a run; default 100"),
    no_effect("MaxSwapPercent", "a bound for swap by the node's memory"),
    no_effect("MemorySwappiness", "how eagerly a run's memory is swapped"),
    supported("MinRAMSpace", "MiB that every run may use at least; default 30"),
    no_effect("SignalChildrenProcesses", "signals to the children of a step's processes"),
    not_needed("SystemdTimeout", "systemd is not asked"),
];

/// Values of `CgroupPlugin`.
const PLUGINS: &[Key] = &[
    supported("autodetect", "all that is mounted, of either version"),
    supported("cgroup/v1", "only hierarchies of version 1"),
    supported("cgroup/v2", "only the hierarchy of version 2"),
    supported("disabled", "no run is confined"),
];

/// Values of `TaskPlugin`.
pub(crate) const TASK_PLUGINS: &[Key] = &[
    supported("none", "no run is confined"),
    supported("task/affinity", "runs have their CPUs only; beside task/cgroup it changes nothing"),
    supported("task/cgroup", "runs are confined as cgroup.conf says; a node that cannot is not started"),
    supported("task/none", "no run is confined"),
];

/// Values of `ProctrackType`.
pub(crate) const PROCESS_TRACKERS: &[Key] = &[
    supported("proctrack/cgroup", "a run's processes are those in its control group"),
    supported("proctrack/linuxproc", "the same, where there are control groups; else what descends from it"),
    supported("proctrack/pgid", "the same, where there are control groups; else what descends from it"),
];

/// What `cgroup.conf` says.
struct CgroupConf {
    pairs: Vec<Pair>,
}

impl CgroupConf {
    fn get(&self, key: &str) -> Option<&Pair> {
        self.pairs.iter().rev().find(|pair| pair.is(key))
    }

    fn flag(&self, key: &str, findings: &mut Findings) -> bool {
        self.get(key).and_then(|pair| values::boolean(pair, findings)).unwrap_or(false)
    }

    fn percent(&self, key: &str, default: u32, findings: &mut Findings) -> u32 {
        self.get(key).and_then(|pair| values::number32(pair, 0, 1000, findings)).unwrap_or(default)
    }
}

/// Reads `cgroup.conf`, if there is one and it is text.
fn read_file(files: &mut Files, findings: &mut Findings) -> Option<CgroupConf> {
    if !files.has(CGROUP_CONF) {
        return None;
    }
    let text = files.read(CGROUP_CONF, &Place::file(CGROUP_CONF), findings)?;
    let mut conf = CgroupConf { pairs: Vec::new() };
    for line in read_lines(&files.name_of(CGROUP_CONF), &text, findings) {
        match line {
            Line::Pairs(pairs) => {
                let known =
                    pairs.into_iter().filter(|pair| is_supported(pair, KEYS, "key of cgroup.conf", findings));
                conf.pairs.extend(known);
            }
            Line::Include { path, place } => {
                let what = format!("Include {path} is not supported in {CGROUP_CONF}");
                findings.error(&place, what, "write its lines here");
            }
        }
    }
    Some(conf)
}

/// How runs are confined: by the files where they say so, else as far as this machine can.
pub(crate) fn read(
    files: &mut Files,
    conf: Option<&SlurmConf>,
    toml: &DaybookToml,
    findings: &mut Findings,
) -> Rules {
    let file = read_file(files, findings);
    let mut settings = Rules::default();
    if let Some(file) = &file {
        settings.cpus = file.flag("ConstrainCores", findings);
        settings.devices = file.flag("ConstrainDevices", findings);
        settings.memory = file.flag("ConstrainRAMSpace", findings);
        settings.swap = file.flag("ConstrainSwapSpace", findings);
        settings.memory_percent = file.percent("AllowedRAMSpace", 100, findings);
        settings.swap_percent = file.percent("AllowedSwapSpace", 0, findings);
        settings.node_memory_percent = file.percent("MaxRAMPercent", 100, findings);
        if let Some(pair) = file.get("MinRAMSpace") {
            let least = values::number(pair, 0, 1 << 30, findings);
            settings.memory_min = least.map_or(settings.memory_min, Mebibytes);
        }
    }
    if let Some(conf) = conf {
        plugins(conf, &mut settings, findings);
    }
    if let Some(pair) = file.as_ref().and_then(|file| file.get("CgroupPlugin")) {
        match known_word(pair, &pair.value, PLUGINS, findings).map(|key| key.name) {
            Some("cgroup/v1") => settings.versions = Versions::One,
            Some("cgroup/v2") => settings.versions = Versions::Two,
            Some("disabled") => settings.confining = Confining::Off,
            _ => {}
        }
    }
    if let Some(confining) = toml.confining {
        settings.confining = confining;
    }
    settings.processes_max = toml.processes_max.map(u64::from);
    settings
}

/// Who names `task/cgroup` relies on it; who names another way has asked for less.
fn plugins(conf: &SlurmConf, settings: &mut Rules, findings: &mut Findings) {
    let words = |key: &str, table: &'static [Key], findings: &mut Findings| -> Option<Vec<&'static str>> {
        let pair = conf.parameter(key)?;
        let words = pair.value.split(',').filter_map(|word| known_word(pair, word.trim(), table, findings));
        Some(words.map(|key| key.name).collect())
    };
    if let Some(trackers) = words("ProctrackType", PROCESS_TRACKERS, findings)
        && trackers.contains(&"proctrack/cgroup")
    {
        settings.confining = Confining::Required;
    }
    let Some(plugins) = words("TaskPlugin", TASK_PLUGINS, findings) else { return };
    if plugins.contains(&"task/cgroup") {
        settings.confining = Confining::Required;
    } else {
        settings.memory = false;
        settings.swap = false;
        settings.devices = false;
        settings.cpus = plugins.contains(&"task/affinity");
    }
}

/// A value of `confine` in `[agent]`, with the words to choose from where it is none.
pub(crate) fn confining(word: &str) -> Result<Confining, String> {
    const WORDS: [(&str, Confining); 3] =
        [("required", Confining::Required), ("if_possible", Confining::IfPossible), ("off", Confining::Off)];
    let found = WORDS.iter().find(|(name, _)| *name == word).map(|(_, confining)| *confining);
    found.ok_or_else(|| {
        did_you_mean(
            word,
            WORDS.iter().map(|(name, _)| *name),
            "confine = \"required\", \"if_possible\" or \"off\"",
        )
    })
}
