//! `topology.conf`: how the nodes are connected. Read where `TopologyPlugin` asks for it.

use std::collections::{BTreeMap, BTreeSet};

use daybook_schemas::NodeName;
use daybook_schemas::grammar::hostlist;
use daybook_schemas::topology::{BlockDefinition, BlockTopology, SwitchDefinition, Topology};

use crate::diagnostic::{Findings, Place, did_you_mean};
use crate::files::Files;
use crate::keys::{Key, known_word, no_effect, not_needed, supported};
use crate::lines::{Line, Pair, read_lines};
use crate::slurm_conf::partitions::Named;
use crate::slurm_conf::{Fields, Record, SlurmConf};
use crate::values;

/// The file's name.
pub(crate) const TOPOLOGY_CONF: &str = "topology.conf";

/// Keys of `topology.conf`, in alphabetical order.
pub(crate) const KEYS: &[Key] = &[
    supported("BlockName", "with topology/block: a block, with its Nodes"),
    supported("BlockSizes", "nodes of a block, then of larger ones made of neighbours: 30,120"),
    supported("LinkSpeed", "a number that is shown and does nothing, as in Slurm"),
    supported("Nodes", "nodes of a leaf switch or a block; each node is below one"),
    supported("SwitchName", "with topology/tree: a switch, with its Nodes or its Switches"),
    supported("Switches", "the switches below a switch"),
    no_effect("RingName", "rings of nodes"),
];

/// The most switches or blocks.
const PARTS_MAX: usize = 20_000;
/// The most switches one above the other.
const LEVELS_MAX: usize = 64;

/// Which kind of lines counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plugin {
    Tree,
    Block,
}

impl Plugin {
    /// `SwitchName` or `BlockName`.
    fn key(self) -> &'static str {
        match self {
            Plugin::Tree => "SwitchName",
            Plugin::Block => "BlockName",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Plugin::Tree => "topology/tree",
            Plugin::Block => "topology/block",
        }
    }
}

/// A line of the file with what it names.
struct Part {
    name: Pair,
    /// By place in the cluster's order.
    nodes: BTreeSet<usize>,
    nodes_place: Option<Place>,
    switches: Vec<String>,
    switches_place: Option<Place>,
    link_speed: Option<u32>,
}

/// The topology that `TopologyPlugin` asks for; `None` where it asks for none, or where the file is wrong.
pub(crate) fn read(
    files: &mut Files,
    conf: &SlurmConf,
    named: &Named<'_>,
    findings: &mut Findings,
) -> Option<Topology> {
    let pair = conf.parameter("TopologyPlugin");
    let Some((pair, plugin)) = pair.and_then(|pair| Some((pair, plugin(pair, findings)?))) else {
        if files.has(TOPOLOGY_CONF) {
            let remedy =
                "set TopologyPlugin=topology/tree or topology/block in slurm.conf, or remove the file";
            findings.warning(&Place::file(TOPOLOGY_CONF), "topology.conf is not read", remedy);
        }
        return None;
    };
    if !files.has(TOPOLOGY_CONF) {
        let what = format!("{} needs a {TOPOLOGY_CONF}, and there is none", pair.text());
        findings.error(&pair.place, what, "write it beside slurm.conf, or remove TopologyPlugin");
        return None;
    }
    let text = files.read(TOPOLOGY_CONF, &Place::file(TOPOLOGY_CONF), findings)?;
    let (mut records, mut sizes) = (Vec::new(), None);
    for line in read_lines(&files.name_of(TOPOLOGY_CONF), &text, findings) {
        match line {
            Line::Pairs(pairs) => sort_line(pairs, plugin, &mut records, &mut sizes, findings),
            Line::Include { path, place } => {
                let what = format!("Include {path} is not supported in {TOPOLOGY_CONF}");
                findings.error(&place, what, "write its lines here");
            }
        }
    }
    if records.len() > PARTS_MAX {
        let what = format!("there are {} {} lines", records.len(), plugin.key());
        findings.error(&Place::file(TOPOLOGY_CONF), what, format!("at most {PARTS_MAX} are read"));
        return None;
    }
    let parts = parts(&records, named, findings);
    if parts.is_empty() {
        let what = format!("{} needs {} lines, and there is none", pair.text(), plugin.key());
        let remedy = match plugin {
            Plugin::Tree => "such as SwitchName=leaf1 Nodes=node[01-32]",
            Plugin::Block => "such as BlockName=block1 Nodes=node[01-32]",
        };
        findings.error(&Place::file(TOPOLOGY_CONF), what, remedy);
        return None;
    }
    report_shared_nodes(&parts, named, findings);
    let names = |part: &Part| part.nodes.iter().map(|at| NodeName::from(named.name(*at))).collect();
    match plugin {
        Plugin::Tree => {
            check_tree(&parts, named, findings);
            let switch = |part: &Part| SwitchDefinition {
                name: part.name.value.clone(),
                nodes: names(part),
                switches: part.switches.clone(),
                link_speed: part.link_speed,
            };
            Some(Topology::Tree(parts.iter().map(switch).collect()))
        }
        Plugin::Block => {
            let sizes = sizes.map(|pair| block_sizes(&pair, findings)).unwrap_or_default();
            report_without_switch(&parts, "block", named, findings);
            let block = |part: &Part| BlockDefinition { name: part.name.value.clone(), nodes: names(part) };
            let blocks = parts.iter().filter(|part| !part.nodes.is_empty()).map(block).collect();
            Some(Topology::Block(BlockTopology { blocks, sizes }))
        }
    }
}

/// What other plugins would do.
const OTHER_NETWORKS: &str = "placement in a torus, a hypercube or a ring";

/// Words of `TopologyPlugin`.
pub(crate) const PLUGINS: &[Key] = &[
    supported("topology/tree", "switches, from topology.conf"),
    supported("topology/block", "blocks of nodes, from topology.conf"),
    not_needed("topology/flat", "all nodes are equally close"),
    not_needed("topology/default", "all nodes are equally close"),
    not_needed("topology/none", "all nodes are equally close"),
    no_effect("topology/3d_torus", OTHER_NETWORKS),
    no_effect("topology/hypercube", OTHER_NETWORKS),
    no_effect("topology/ring", OTHER_NETWORKS),
];

/// `None`: all nodes are equally close.
fn plugin(pair: &Pair, findings: &mut Findings) -> Option<Plugin> {
    known_word(pair, &pair.value, PLUGINS, findings).map(|key| match key.name {
        "topology/block" => Plugin::Block,
        _ => Plugin::Tree,
    })
}

/// Puts a line to the records that count, or to the sizes of blocks.
fn sort_line(
    pairs: Vec<Pair>,
    plugin: Plugin,
    records: &mut Vec<Record>,
    sizes: &mut Option<Pair>,
    findings: &mut Findings,
) {
    let mut fields = Vec::new();
    let mut name = None;
    for pair in pairs {
        if pair.is("BlockSizes") && plugin == Plugin::Block {
            *sizes = Some(pair);
        } else if pair.is("SwitchName") || pair.is("BlockName") || pair.is("BlockSizes") {
            if pair.is(plugin.key()) && name.is_none() {
                name = Some(pair);
                continue;
            }
            let what = format!("{} does not belong on a line of {}", pair.text(), plugin.word());
            let remedy =
                format!("write one {}= on a line, and nothing of another TopologyPlugin", plugin.key());
            return findings.error(&pair.place, what, remedy);
        } else {
            fields.push(pair);
        }
    }
    match (name, fields.first()) {
        (Some(name), _) => records.push(Record { name, fields }),
        (None, Some(first)) => {
            let what = format!("the line has no {}=", plugin.key());
            findings.error(&first.place, what, format!("begin it with {}=NAME", plugin.key()));
        }
        (None, None) => {}
    }
}

fn parts(records: &[Record], named: &Named<'_>, findings: &mut Findings) -> Vec<Part> {
    let mut known: BTreeMap<&str, &Place> = BTreeMap::new();
    let mut parts = Vec::new();
    for record in records {
        let name = &record.name;
        if let Some(first) = known.insert(&name.value, &name.place) {
            let what = format!("{} is defined twice: here and at {first}", name.text());
            findings.error(&name.place, what, "give one of them another name");
            continue;
        }
        let mut fields = Fields::default();
        fields.overlay(record, KEYS, "key of topology.conf", &[], findings);
        let (nodes, switches) = (fields.get("Nodes"), fields.get("Switches"));
        let is_block = name.is("BlockName");
        match (nodes, switches) {
            (Some(_), Some(switches)) if !is_block => {
                let what = format!("{} has both Nodes and Switches", name.text());
                let remedy = "a leaf switch has Nodes; put a switch with Switches above it";
                findings.error(&switches.place, what, remedy);
            }
            (_, Some(switches)) if is_block => {
                findings.error(&switches.place, format!("{} is a block", name.text()), "give it Nodes alone");
            }
            (None, None) => {
                let wanted = if is_block { "Nodes" } else { "Nodes or Switches" };
                let what = format!("{} has nothing below it", name.text());
                findings.error(&name.place, what, format!("give it {wanted}, or remove it"));
            }
            _ => {}
        }
        parts.push(Part {
            name: name.clone(),
            nodes: nodes.map(|pair| named.resolve(pair, name, findings)).unwrap_or_default(),
            nodes_place: nodes.map(|pair| pair.place.clone()),
            switches: switches.and_then(|pair| expand(pair, findings)).unwrap_or_default(),
            switches_place: switches.map(|pair| pair.place.clone()),
            link_speed: fields
                .get("LinkSpeed")
                .and_then(|pair| values::number32(pair, 0, u32::MAX - 2, findings)),
        });
    }
    parts
}

fn expand(pair: &Pair, findings: &mut Findings) -> Option<Vec<String>> {
    match hostlist::expand(&pair.value) {
        Ok(names) => {
            let mut seen = BTreeSet::new();
            Some(names.into_iter().filter(|name| seen.insert(name.clone())).collect())
        }
        Err(error) => {
            findings.error(&pair.place, error.to_string(), "");
            None
        }
    }
}

/// A node is below one leaf switch, and in one block.
fn report_shared_nodes(parts: &[Part], named: &Named<'_>, findings: &mut Findings) {
    let mut first_of: BTreeMap<usize, &Part> = BTreeMap::new();
    for part in parts {
        let mut shared: BTreeMap<&str, (&Part, Vec<&str>)> = BTreeMap::new();
        for node in &part.nodes {
            let first = *first_of.entry(*node).or_insert(part);
            if !std::ptr::eq(first, part) {
                shared.entry(&first.name.value).or_insert((first, Vec::new())).1.push(named.name(*node));
            }
        }
        for (first, nodes) in shared.into_values() {
            let nodes = hostlist::compress(nodes);
            let (here, there) = (part.name.text(), first.name.text());
            let what = format!("{nodes} is below {here} and, at {}, below {there}", first.name.place);
            let place = part.nodes_place.as_ref().unwrap_or(&part.name.place);
            findings.error(place, what, "leave each node below one of them");
        }
    }
}

/// Every switch that is named exists, none is below itself, and what is not connected is said.
fn check_tree(parts: &[Part], named: &Named<'_>, findings: &mut Findings) {
    let by_name: BTreeMap<&str, &Part> = parts.iter().map(|part| (part.name.value.as_str(), part)).collect();
    let mut below_another: BTreeSet<&str> = BTreeSet::new();
    for part in parts {
        for name in &part.switches {
            below_another.insert(name);
            if by_name.contains_key(name.as_str()) {
                continue;
            }
            let what = format!("{} has an unknown switch below it: {name}", part.name.text());
            let remedy = "add a SwitchName line for it, or remove it here";
            let remedy = did_you_mean(name, by_name.keys().copied(), remedy);
            findings.error(part.switches_place.as_ref().unwrap_or(&part.name.place), what, remedy);
        }
    }
    if report_loop(parts, findings) {
        return;
    }
    report_without_switch(parts, "switch", named, findings);
    let roots: Vec<&Part> =
        parts.iter().filter(|part| !below_another.contains(part.name.value.as_str())).collect();
    if let [_, second, ..] = roots.as_slice() {
        let names = hostlist::compress(roots.iter().map(|part| part.name.value.as_str()));
        let what = format!("no switch connects {names}");
        let remedy = "no job can have nodes of several of them; a switch above them all would connect them";
        findings.warning(&second.name.place, what, remedy);
    }
}

/// Whether switches are below themselves, or too many are above each other. Takes away, level by level, the switches
/// with nothing below that is left, and then those with nothing above.
fn report_loop(parts: &[Part], findings: &mut Findings) -> bool {
    let mut open: Vec<&Part> = parts.iter().collect();
    for _ in 0..LEVELS_MAX {
        let left: BTreeSet<&str> = open.iter().map(|part| part.name.value.as_str()).collect();
        open.retain(|part| part.switches.iter().any(|name| left.contains(name.as_str())));
    }
    for _ in 0..LEVELS_MAX {
        let below: BTreeSet<&str> = open.iter().flat_map(|part| &part.switches).map(String::as_str).collect();
        let kept: Vec<&Part> =
            open.iter().copied().filter(|part| below.contains(part.name.value.as_str())).collect();
        // Without a loop the highest has nothing above it: it is what is too high.
        if kept.is_empty() {
            break;
        }
        open = kept;
    }
    let Some(first) = open.first() else { return false };
    let names = hostlist::compress(open.iter().map(|part| part.name.value.as_str()));
    let what = format!("switches are below themselves, or over more than {LEVELS_MAX} levels: {names}");
    let place = first.switches_place.as_ref().unwrap_or(&first.name.place);
    findings.error(place, what, "remove one of them from the Switches of another");
    true
}

fn report_without_switch(parts: &[Part], kind: &str, named: &Named<'_>, findings: &mut Findings) {
    let connected: BTreeSet<usize> = parts.iter().flat_map(|part| &part.nodes).copied().collect();
    let left_out: Vec<&str> =
        (0..named.count()).filter(|at| !connected.contains(at)).map(|at| named.name(at)).collect();
    if !left_out.is_empty() {
        let what = format!("below no {kind}: {}", hostlist::compress(left_out));
        let remedy = format!("no job of several nodes can have them; add them to a {kind}");
        findings.warning(&Place::file(TOPOLOGY_CONF), what, remedy);
    }
}

/// `30,120`: each a power of two times the first.
fn block_sizes(pair: &Pair, findings: &mut Findings) -> Vec<u32> {
    let mut sizes: Vec<u32> = Vec::new();
    for word in values::list(&pair.value) {
        let size = word.parse::<u32>().ok().filter(|size| *size > 0);
        let is_multiple = |size: u32| match sizes.first() {
            None => true,
            Some(first) => size.is_multiple_of(*first) && (size / first).is_power_of_two(),
        };
        let grows = |size: u32| sizes.last().is_none_or(|last| *last < size);
        match size.filter(|size| is_multiple(*size) && grows(*size)) {
            Some(size) => sizes.push(size),
            None => {
                let what = format!("{}: {word} is no size of a larger block", pair.text());
                let remedy = "give numbers of nodes, ascending, each a power of two times the first: 30,120";
                findings.error(&pair.place, what, remedy);
                return Vec::new();
            }
        }
    }
    sizes
}
