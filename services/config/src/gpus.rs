//! The GPUs of each node: what `Gres=` declares, with the devices that `gres.conf` or the driver gives.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use daybook_schemas::grammar::hostlist;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::node::GpuDevice;
use daybook_schemas::{GpuUuid, NodeName};

use crate::diagnostic::{Findings, Place, did_you_mean};
use crate::gres_conf::{GpuLine, GresConf};
use crate::gres_text::GresEntry;
use crate::machine::{FoundGpu, Machine, is_here};
use crate::slurm_conf::nodes::Node;

/// A GPU that may be one of a node's.
#[derive(Clone, Debug)]
struct Candidate {
    /// Empty: not said.
    kind: String,
    file: Option<String>,
    /// The driver's, where it knows the device.
    uuid: Option<String>,
    /// `Cores` and `Links` of its line.
    cores: Option<(IndexSet, Place)>,
    links: Option<(Vec<u32>, Place)>,
}

/// Gives every node its GPUs, and reports where `Gres=`, `gres.conf` and the machine disagree.
pub(crate) fn assign(
    nodes: &mut [Node],
    gres_conf: Option<&GresConf>,
    machine: &dyn Machine,
    findings: &mut Findings,
) {
    if let Some(conf) = gres_conf {
        report_unknown_nodes(conf, nodes, findings);
    }
    let mut assignment = Assignment::new(gres_conf, machine);
    for node in nodes {
        node.definition.gpus = assignment.gpus_of(node, findings);
    }
    assignment.report(findings);
}

fn report_unknown_nodes(conf: &GresConf, nodes: &[Node], findings: &mut Findings) {
    let known: BTreeSet<&str> = nodes.iter().map(|node| node.definition.name.as_str()).collect();
    let gpus = conf.gpus.iter().map(|line| (&line.nodes, &line.place));
    let detect = conf.detect.iter().map(|line| (&line.nodes, &line.place));
    for (named, place) in gpus.chain(detect) {
        let unknown: Vec<&str> =
            named.iter().flatten().map(String::as_str).filter(|name| !known.contains(name)).collect();
        if let [first, ..] = unknown.as_slice() {
            let remedy = "add a NodeName line in slurm.conf, or remove them here";
            let remedy = did_you_mean(first, known.iter().copied().filter(|_| unknown.len() == 1), remedy);
            let names = hostlist::compress(unknown.iter().copied());
            findings.error(place, format!("slurm.conf has no such node: {names}"), remedy);
        }
    }
}

/// The work of one run: what is looked up often, and the faults that many nodes may have alike.
struct Assignment<'a> {
    machine: &'a dyn Machine,
    found: OnceCell<Vec<FoundGpu>>,
    has_conf: bool,
    /// Lines for all nodes that declare GPUs.
    general: Vec<&'a GpuLine>,
    by_node: BTreeMap<&'a str, Vec<&'a GpuLine>>,
    detect: bool,
    detect_by_node: BTreeMap<&'a str, bool>,
    /// (where the devices are, where Gres= is, what the first gives, what the second says) and the nodes.
    disagreements: BTreeMap<(Place, Place, String, String), Vec<NodeName>>,
    /// Device files that are not there, by line, and the nodes.
    missing: BTreeMap<Place, (BTreeSet<String>, BTreeSet<NodeName>)>,
    /// Nodes by device of this machine (its file, or its UUID where it has none), and where the first was given.
    users: BTreeMap<String, (Place, Vec<NodeName>)>,
    /// Nodes with `Gres=` at this place that no line of an existing `gres.conf` is for.
    without_line: BTreeMap<(Place, String), Vec<NodeName>>,
    /// Device files that the line at the first place gives again after the one at the second, and the nodes.
    twice: BTreeMap<(Place, Place), (BTreeSet<String>, BTreeSet<NodeName>)>,
}

impl<'a> Assignment<'a> {
    fn new(conf: Option<&'a GresConf>, machine: &'a dyn Machine) -> Assignment<'a> {
        let mut assignment = Assignment {
            machine,
            found: OnceCell::new(),
            has_conf: conf.is_some(),
            general: Vec::new(),
            by_node: BTreeMap::new(),
            detect: false,
            detect_by_node: BTreeMap::new(),
            disagreements: BTreeMap::new(),
            missing: BTreeMap::new(),
            users: BTreeMap::new(),
            without_line: BTreeMap::new(),
            twice: BTreeMap::new(),
        };
        for line in conf.iter().flat_map(|conf| &conf.gpus) {
            match &line.nodes {
                None => assignment.general.push(line),
                Some(names) => {
                    for name in names {
                        assignment.by_node.entry(name).or_default().push(line);
                    }
                }
            }
        }
        for line in conf.iter().flat_map(|conf| &conf.detect) {
            match &line.nodes {
                None => assignment.detect = line.detect,
                Some(names) => {
                    assignment.detect_by_node.extend(names.iter().map(|name| (name.as_str(), line.detect)));
                }
            }
        }
        assignment
    }

    fn found(&self) -> &[FoundGpu] {
        self.found.get_or_init(|| self.machine.gpus())
    }

    fn gpus_of(&mut self, node: &Node, findings: &mut Findings) -> Vec<GpuDevice> {
        let name = &node.definition.name;
        let here = !node.definition.simulated && is_here(self.machine, &node.definition.hostname);
        let mut lines = self.by_node.get(name.as_str()).cloned().unwrap_or_default();
        if !node.gres.is_empty() {
            lines.extend(&self.general);
        }
        if let Some(first) = lines.first() {
            let place = first.place.clone();
            let candidates = self.candidates(node, &lines, here);
            return match fit(&node.gres, &candidates) {
                Some(fitting) => {
                    check_closeness(node, &fitting, findings);
                    devices(name, fitting)
                }
                None => self.disagree(node, &place, &describe(&candidates)),
            };
        }
        if node.gres.is_empty() {
            return Vec::new();
        }
        let detect = self.detect_by_node.get(name.as_str()).copied().unwrap_or(self.detect);
        if detect && here {
            let found: Vec<Candidate> = self.found().iter().map(Candidate::found).collect();
            return match pick(&node.gres, &found) {
                Some(picked) => {
                    for gpu in picked.iter().filter_map(Candidate::identity) {
                        self.note_user(node, &node.gres_place, gpu);
                    }
                    devices(name, picked)
                }
                None => {
                    let found = format!("the driver finds {}", describe(&found));
                    self.disagree(node, &node.gres_place.clone(), &found)
                }
            };
        }
        if self.has_conf && !detect && !node.definition.simulated {
            let key = (node.gres_place.clone(), node.definition.gres.clone());
            self.without_line.entry(key).or_default().push(name.clone());
        }
        devices(name, declared(&node.gres))
    }

    /// The devices that the lines give, in the order of their files.
    fn candidates(&mut self, node: &Node, lines: &[&GpuLine], here: bool) -> Vec<Candidate> {
        let name = &node.definition.name;
        let mut candidates = Vec::new();
        let mut seen: BTreeMap<&str, &Place> = BTreeMap::new();
        for line in lines {
            for file in &line.files {
                if let Some(first) = seen.insert(file, &line.place) {
                    let key = (line.place.clone(), first.clone());
                    let (files, nodes) = self.twice.entry(key).or_default();
                    files.insert(file.clone());
                    nodes.insert(name.clone());
                }
                let uuid = if here { self.check_device(node, line, file) } else { None };
                candidates.push(Candidate { file: Some(file.clone()), uuid, ..Candidate::of(line) });
            }
            if line.files.is_empty() {
                let one = Candidate::of(line);
                candidates.extend((0..line.count).map(|_| one.clone()));
            }
        }
        if candidates.iter().all(|candidate| candidate.file.is_some()) {
            candidates
                .sort_by_cached_key(|candidate| numbered(candidate.file.as_deref().unwrap_or_default()));
        }
        candidates
    }

    /// Notes a device of this machine; its UUID if the driver knows it.
    fn check_device(&mut self, node: &Node, line: &GpuLine, file: &str) -> Option<String> {
        let name = &node.definition.name;
        if !self.machine.file_exists(Path::new(file)) {
            let missing = self.missing.entry(line.place.clone()).or_default();
            missing.0.insert(file.to_string());
            missing.1.insert(name.clone());
        }
        self.note_user(node, &line.place, file);
        if !file.starts_with("/dev/nvidia") {
            return None;
        }
        let known = self.found().iter().find(|gpu| gpu.file.as_deref() == Some(Path::new(file)));
        known.map(|gpu| gpu.uuid.clone())
    }

    /// Notes that a device of this machine is one of the node's.
    fn note_user(&mut self, node: &Node, place: &Place, device: &str) {
        let first = || (place.clone(), Vec::new());
        let users = &mut self.users.entry(device.to_string()).or_insert_with(first).1;
        users.push(node.definition.name.clone());
    }

    /// Notes the disagreement; the node gets what `Gres=` declares, so that nothing else seems wrong.
    fn disagree(&mut self, node: &Node, place: &Place, given: &str) -> Vec<GpuDevice> {
        let gres = match node.gres.is_empty() {
            true => "without a GPU in Gres=".to_string(),
            false => format!("with Gres={}", node.definition.gres),
        };
        let key = (place.clone(), node.gres_place.clone(), given.to_string(), gres);
        self.disagreements.entry(key).or_default().push(node.definition.name.clone());
        devices(&node.definition.name, declared(&node.gres))
    }

    fn report(&self, findings: &mut Findings) {
        for ((place, gres_place, given, gres), nodes) in &self.disagreements {
            let nodes = fold(nodes);
            let what = match place == gres_place {
                true => format!("{nodes} is declared {gres}, but {given}"),
                false => format!("{nodes} has {given} here, but is declared {gres} at {gres_place}"),
            };
            findings.error(place, what, "make the number and the type of the GPUs the same in both");
        }
        for (place, (files, nodes)) in &self.missing {
            let what = format!(
                "GPU file of {} does not exist on this machine ({}): {}",
                fold(nodes),
                self.machine.hostname(),
                hostlist::compress(files.iter().map(String::as_str))
            );
            let remedy = "correct File=; is the driver loaded? A node without a machine is marked simulated in daybook.toml";
            findings.error(place, what, remedy);
        }
        for ((place, gres), nodes) in &self.without_line {
            let what = format!("{} has Gres={gres}, but no line in gres.conf", fold(nodes));
            findings.warning(place, what, "its GPUs have no device files; add NodeName=… Name=gpu File=…");
        }
        for ((place, first), (files, nodes)) in &self.twice {
            let files = hostlist::compress(files.iter().map(String::as_str));
            let what = format!("{files} is given twice to {}: here and at {first}", fold(nodes));
            findings.error(place, what, "keep one of them");
        }
        self.report_shared(findings);
    }

    /// A device of two nodes on one machine: GPUs that are not real may be shared, as in a test cluster.
    fn report_shared(&self, findings: &mut Findings) {
        let mut shared: BTreeMap<(&Place, &Vec<NodeName>, bool), Vec<&str>> = BTreeMap::new();
        for (file, (place, nodes)) in &self.users {
            let distinct: BTreeSet<&NodeName> = nodes.iter().collect();
            if distinct.len() > 1 {
                let is_this = |gpu: &FoundGpu| Candidate::found(gpu).identity() == Some(file);
                let real = self.found().iter().any(is_this);
                shared.entry((place, nodes, real)).or_default().push(file);
            }
        }
        for ((place, nodes, real), files) in shared {
            let files = hostlist::compress(files);
            let what = format!("{files} belongs to several nodes on this machine: {}", fold(nodes));
            match real {
                true => findings.error(place, what, "a GPU is in the books of one node: give each its own"),
                false => findings.warning(place, what, "each node counts them as its own"),
            }
        }
    }
}

impl Candidate {
    /// A GPU of a line, without a device.
    fn of(line: &GpuLine) -> Candidate {
        let (cores, links) = (line.cores.clone(), line.links.clone());
        Candidate { kind: line.kind.clone(), file: None, uuid: None, cores, links }
    }

    fn found(gpu: &FoundGpu) -> Candidate {
        Candidate {
            kind: gpu.gpu_type.clone(),
            file: gpu.file.as_ref().map(|file| file.to_string_lossy().into_owned()),
            uuid: Some(gpu.uuid.clone()),
            cores: None,
            links: None,
        }
    }

    /// What tells it from the other devices of its machine.
    fn identity(&self) -> Option<&str> {
        self.file.as_deref().or(self.uuid.as_deref())
    }
}

/// Cores that the node has, and as many links as it has GPUs.
fn check_closeness(node: &Node, gpus: &[Candidate], findings: &mut Findings) {
    let definition = &node.definition;
    let name = &definition.name;
    let cores = definition.sockets.saturating_mul(definition.cores_per_socket).min(definition.cpus).max(1);
    for (index, gpu) in gpus.iter().enumerate() {
        if let Some((named, place)) = &gpu.cores
            && named.last().is_some_and(|last| last >= cores)
        {
            let what = format!("Cores={named}: {name} has {cores} cores");
            let remedy = format!("cores are counted from 0 to {}, over all sockets, not threads", cores - 1);
            findings.error(place, what, remedy);
        }
        if let Some((links, place)) = &gpu.links
            && (links.len() != gpus.len() || links[index] != 0)
        {
            let what = format!("the links of GPU {index} of {name} do not fit its {} GPUs", gpus.len());
            let remedy = format!("give {} numbers, -1 for GPU {index} itself", gpus.len());
            findings.error(place, what, remedy);
        }
    }
}

/// What `Gres=` declares, without devices.
fn declared(gres: &[GresEntry]) -> Vec<Candidate> {
    let one = |entry: &GresEntry| Candidate {
        kind: entry.kind.clone(),
        file: None,
        uuid: None,
        cores: None,
        links: None,
    };
    gres.iter().flat_map(|entry| (0..entry.count).map(move |_| one(entry))).collect()
}

/// The candidates with their types, if they are exactly what `Gres=` declares; types may stand on one side only.
fn fit(gres: &[GresEntry], candidates: &[Candidate]) -> Option<Vec<Candidate>> {
    let wanted = declared(gres);
    if wanted.len() != candidates.len() {
        return None;
    }
    let mut fitting = candidates.to_vec();
    if candidates.iter().all(|candidate| candidate.kind.is_empty()) {
        for (candidate, wanted) in fitting.iter_mut().zip(wanted) {
            candidate.kind = wanted.kind;
        }
        return Some(fitting);
    }
    let same = wanted.iter().all(|one| one.kind.is_empty()) || counts(&wanted) == counts(candidates);
    same.then_some(fitting)
}

/// Of the GPUs that the driver finds, as many of each type as `Gres=` declares. As in Slurm, a declared
/// type is a part of the driver's: `a100` of `a100-sxm4-80gb`.
fn pick(gres: &[GresEntry], found: &[Candidate]) -> Option<Vec<Candidate>> {
    let mut taken: Vec<Option<String>> = vec![None; found.len()];
    // Typed entries first: what has no type takes what is left.
    let (untyped, typed): (Vec<_>, Vec<_>) = gres.iter().partition(|entry| entry.kind.is_empty());
    for entry in typed.iter().chain(&untyped) {
        for _ in 0..entry.count {
            let fits = |index: &usize| taken[*index].is_none() && found[*index].kind.contains(&entry.kind);
            let index = (0..found.len()).find(fits)?;
            let kind = if entry.kind.is_empty() { &found[index].kind } else { &entry.kind };
            taken[index] = Some(kind.clone());
        }
    }
    let picked = found.iter().zip(taken);
    Some(picked.filter_map(|(gpu, kind)| Some(Candidate { kind: kind?, ..gpu.clone() })).collect())
}

fn counts(candidates: &[Candidate]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for candidate in candidates {
        *counts.entry(candidate.kind.as_str()).or_default() += 1;
    }
    counts
}

/// `gpu:a100:2,gpu:t4:1`.
fn describe(candidates: &[Candidate]) -> String {
    let counts = counts(candidates);
    let words = counts.iter().map(|(kind, count)| match kind.is_empty() {
        true => format!("gpu:{count}"),
        false => format!("gpu:{kind}:{count}"),
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { "no GPU".to_string() } else { words.join(",") }
}

fn devices(node: &NodeName, candidates: Vec<Candidate>) -> Vec<GpuDevice> {
    let device = |(index, candidate): (u32, Candidate)| GpuDevice {
        index,
        uuid: match candidate.uuid {
            Some(uuid) => GpuUuid::from(uuid),
            None => GpuUuid::from(format!("{node}/gpu{index}")),
        },
        gpu_type: candidate.kind,
        file: candidate.file,
        cores: candidate.cores.map(|(cores, _)| cores).unwrap_or_default(),
        links: candidate.links.map(|(links, _)| links).unwrap_or_default(),
    };
    (0u32..).zip(candidates).map(device).collect()
}

/// Sorts `x2` before `x10`.
fn numbered(file: &str) -> (String, u64) {
    let prefix = file.trim_end_matches(|c: char| c.is_ascii_digit());
    (prefix.to_string(), file[prefix.len()..].parse().unwrap_or(0))
}

fn fold<'n>(nodes: impl IntoIterator<Item = &'n NodeName>) -> String {
    hostlist::compress(nodes.into_iter().map(NodeName::as_str))
}
