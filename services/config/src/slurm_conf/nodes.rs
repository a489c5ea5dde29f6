//! `NodeName` lines.

use std::collections::BTreeMap;

use daybook_schemas::grammar::hostlist;
use daybook_schemas::node::NodeDefinition;
use daybook_schemas::{Mebibytes, NodeName};

use super::topology::{self, Given, Misfit, Topology};
use super::{Fields, Record, node_state};
use crate::diagnostic::{Findings, Place};
use crate::gres_conf;
use crate::gres_text::{self, GresEntry};
use crate::keys::{Key, no_effect, no_effect_unless, not_needed, supported};
use crate::lines::Pair;
use crate::values;

/// Keys of a `NodeName` line, in alphabetical order.
pub(crate) const KEYS: &[Key] = &[
    not_needed("BcastAddr", "how Slurm's daemons talk"),
    supported("Boards", "boards, to 65533; default 1"),
    no_effect_unless("CoreSpecCount", &["0"], "cores reserved for the system"),
    supported("CoresPerSocket", "cores of each socket, to 65533; default 1"),
    no_effect_unless("CpuBind", &["none", "no"], "binding of tasks"),
    supported("CPUs", "CPUs, to 65533; default: sockets × cores × threads"),
    no_effect("CpuSpecList", "CPUs reserved for the system"),
    supported("Feature", "words for --constraint, commas between"),
    supported("Features", "the same as Feature"),
    supported("Gres", "generic resources: gpu, gpu:4, gpu:a100:4; default none").of(gres_conf::NAMES),
    no_effect_unless("MemSpecLimit", &["0"], "memory reserved for the system"),
    supported("NodeAddr", "addresses, one or as many as names; default: the host names"),
    supported("NodeHostname", "the machines' host names, one or as many as names; default: the node names"),
    supported("Port", "Slurm's ports, one or as many as names; checked, not used"),
    supported("Procs", "the same as CPUs"),
    supported("RealMemory", "memory in MiB; default 1"),
    supported("Reason", "why a node is down or drained"),
    no_effect("RestrictedCoresPerGPU", "cores reserved for GPU jobs"),
    supported("Sockets", "sockets in all; default: what follows from CPUs"),
    supported("SocketsPerBoard", "sockets of each board"),
    supported("State", "the state that it begins in; default UNKNOWN").of(node_state::STATES),
    supported("ThreadsPerCore", "threads of each core, to 65533; default 1"),
    supported("TmpDisk", "temporary disk in MiB; default 0"),
    no_effect("Topology", "several topologies in one cluster"),
    no_effect("TRESWeights", "billing by weights of a node"),
    supported("Weight", "light nodes are used first; default 1"),
];

const KIND: &str = "key of a node";
const ALIASES: &[(&str, &str)] = &[("Features", "Feature"), ("Procs", "CPUs")];
/// The most nodes of a cluster.
const NODES_MAX: usize = 65_536;
/// Slurm counts CPUs in 16 bits.
const COUNT_MAX: u32 = 65533;

/// A node and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Without GPUs yet.
    pub definition: NodeDefinition,
    /// Its `NodeName` line.
    pub place: Place,
    /// Its generic resources.
    pub gres: Vec<GresEntry>,
    /// Where `Gres=` stands.
    pub gres_place: Place,
}

/// The nodes of all lines, in their order.
pub(crate) fn nodes(records: &[Record], findings: &mut Findings) -> Vec<Node> {
    let mut defaults = Fields::default();
    let mut nodes: Vec<Node> = Vec::new();
    let mut known: BTreeMap<String, Place> = BTreeMap::new();
    for record in records {
        if record.name.value.eq_ignore_ascii_case("DEFAULT") {
            refuse_addresses_of_default(record, findings);
            defaults.overlay(record, KEYS, KIND, ALIASES, findings);
            continue;
        }
        let mut fields = defaults.clone();
        fields.overlay(record, KEYS, KIND, ALIASES, findings);
        let mut twice: BTreeMap<Place, Vec<String>> = BTreeMap::new();
        for node in nodes_of(record, &fields, findings) {
            let name = node.definition.name.to_string();
            match known.get(&name) {
                Some(first) => twice.entry(first.clone()).or_default().push(name),
                None if nodes.len() == NODES_MAX => {
                    let what = format!("there are more than {NODES_MAX} nodes");
                    findings.error(&record.name.place, what, "is a range in NodeName too long?");
                    return nodes;
                }
                None => {
                    known.insert(name, node.place.clone());
                    nodes.push(node);
                }
            }
        }
        for (first, names) in twice {
            let names = hostlist::compress(names.iter().map(String::as_str));
            let what = format!("{names} is defined twice: here and at {first}");
            findings.error(&record.name.place, what, "keep one of the two definitions");
        }
    }
    nodes
}

fn refuse_addresses_of_default(record: &Record, findings: &mut Findings) {
    for pair in &record.fields {
        if ["NodeAddr", "NodeHostname", "BcastAddr"].iter().any(|key| pair.is(key)) {
            let what = format!("{} cannot stand in NodeName=DEFAULT", pair.key);
            findings.error(&pair.place, what, "write it on each node's own line");
        }
    }
}

/// The nodes of one line.
fn nodes_of(record: &Record, fields: &Fields, findings: &mut Findings) -> Vec<Node> {
    let names = match hostlist::expand(&record.name.value) {
        Ok(names) if names.iter().any(|name| is_reserved(name)) => {
            let what = format!("{} names no node: ALL and DEFAULT are reserved", record.name.text());
            findings.error(&record.name.place, what, "give the node another name");
            return Vec::new();
        }
        Ok(names) if names.is_empty() => {
            findings.error(&record.name.place, "NodeName= names no node", "give it one, or remove the line");
            return Vec::new();
        }
        Ok(names) => names,
        Err(error) => {
            findings.error(&record.name.place, error.to_string(), "");
            return Vec::new();
        }
    };
    let own = |key: &str| record.fields.iter().rev().find(|pair| pair.is(key));
    let hostnames = paired(own("NodeHostname"), &names, findings).unwrap_or_else(|| names.clone());
    let addresses = paired(own("NodeAddr"), &names, findings).unwrap_or_else(|| hostnames.clone());
    // The number of ports is checked as in Slurm; agents need none.
    let _ = paired(fields.get("Port"), &names, findings);
    let model = node_like(record, fields, findings);
    let named = names.into_iter().zip(hostnames).zip(addresses);
    named
        .map(|((name, hostname), address)| {
            let mut node = model.clone();
            node.definition.name = NodeName::from(name);
            node.definition.hostname = hostname;
            node.definition.address = address;
            node
        })
        .collect()
}

fn is_reserved(name: &str) -> bool {
    name.eq_ignore_ascii_case("ALL") || name.eq_ignore_ascii_case("DEFAULT")
}

/// One value for each name: as many as there are names, or one for all.
fn paired(pair: Option<&Pair>, names: &[String], findings: &mut Findings) -> Option<Vec<String>> {
    let pair = pair?;
    // IPv6 addresses and the like are no host lists; a single one is taken as it is.
    let values = match hostlist::expand(&pair.value) {
        Ok(values) => values,
        Err(_) if !pair.value.contains(['[', ',']) || pair.value.contains(':') => vec![pair.value.clone()],
        Err(error) => {
            findings.error(&pair.place, error.to_string(), "");
            return None;
        }
    };
    match values.as_slice() {
        [one] => Some(vec![one.clone(); names.len()]),
        several if several.len() == names.len() => Some(values),
        several => {
            let what = format!("{} has {} entries for {} nodes", pair.text(), several.len(), names.len());
            findings.error(&pair.place, what, "give one for all nodes of the line, or one for each");
            None
        }
    }
}

/// A node with the line's values, without a name.
fn node_like(record: &Record, fields: &Fields, findings: &mut Findings) -> Node {
    let topology = topology_of(record, fields, findings);
    let gres_pair = fields.get("Gres");
    let gres = gres_pair.map(|pair| gres_text::parse_pair(pair, findings)).unwrap_or_default();
    let mebibytes = |key: &str, min: u64, missing: u64, findings: &mut Findings| {
        let given = fields.get(key).and_then(|pair| values::mebibytes(pair, min, findings));
        given.unwrap_or(Mebibytes(missing))
    };
    let definition = NodeDefinition {
        name: NodeName::default(),
        hostname: String::new(),
        address: String::new(),
        cpus: topology.cpus,
        boards: topology.boards,
        sockets: topology.sockets,
        cores_per_socket: topology.cores_per_socket,
        threads_per_core: topology.threads_per_core,
        memory: mebibytes("RealMemory", 1, 1, findings),
        tmp_disk: mebibytes("TmpDisk", 0, 0, findings),
        weight: fields
            .get("Weight")
            .and_then(|pair| values::number32(pair, 0, u32::MAX - 1, findings))
            .unwrap_or(1),
        features: fields.get("Feature").map(|pair| values::list(&pair.value)).unwrap_or_default(),
        gpus: Vec::new(),
        gres: gres_pair.filter(|_| !gres.is_empty()).map(|pair| pair.value.clone()).unwrap_or_default(),
        simulated: false,
        initial: node_state::initial(fields.get("State"), fields.get("Reason"), findings),
    };
    let place = record.name.place.clone();
    let gres_place = gres_pair.map_or_else(|| place.clone(), |pair| pair.place.clone());
    Node { definition, place, gres, gres_place }
}

fn topology_of(record: &Record, fields: &Fields, findings: &mut Findings) -> Topology {
    let mut count =
        |key: &str| fields.get(key).and_then(|pair| values::number32(pair, 1, COUNT_MAX, findings));
    let given = Given {
        cpus: count("CPUs"),
        boards: count("Boards"),
        sockets: count("Sockets"),
        sockets_per_board: count("SocketsPerBoard"),
        cores_per_socket: count("CoresPerSocket"),
        threads_per_core: count("ThreadsPerCore"),
    };
    let (topology, misfits) = topology::complete(given);
    let place_of = |key: &str| fields.get(key).map_or(&record.name.place, |pair| &pair.place);
    if topology.cpus > COUNT_MAX {
        let what = format!("{} has more than {COUNT_MAX} CPUs", record.name.text());
        findings.error(
            &record.name.place,
            what,
            "correct Boards, Sockets, CoresPerSocket and ThreadsPerCore",
        );
    }
    for misfit in misfits {
        let (place, what, remedy) = match misfit {
            Misfit::SocketsTwice => (
                place_of("Sockets"),
                format!("{} has both Sockets and SocketsPerBoard", record.name.text()),
                "SocketsPerBoard is used; remove Sockets".to_string(),
            ),
            Misfit::SocketsBelowBoards { sockets, boards } => (
                place_of("Boards"),
                format!("{} has {sockets} sockets on {boards} boards", record.name.text()),
                "Boards=1 is used; correct Boards or Sockets".to_string(),
            ),
            Misfit::Cpus { given, sockets, cores, threads } => (
                place_of("CPUs"),
                format!(
                    "CPUs={given} of {} is neither its sockets ({sockets}) nor its cores ({cores}) nor its threads ({threads})",
                    record.name.text()
                ),
                format!(
                    "CPUs={threads} is used; correct CPUs, or Sockets, CoresPerSocket and ThreadsPerCore"
                ),
            ),
        };
        findings.warning(place, what, remedy);
    }
    topology
}
