//! The lines of sinfo: nodes that show the same are one line.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use daybook_schemas::api::{NodeView, PartitionView};
use daybook_schemas::grammar::hostlist;

use super::fields::{Field, Kind};
use super::state;
use crate::table::format::Layout;
use crate::table::instants::Instants;
use crate::table::natural;

/// One line: nodes of one partition, or of several where the format does not tell them apart.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    pub partition: Option<&'a PartitionView>,
    /// The partition's place in the configuration.
    pub place: usize,
    /// Sorted by name; empty: a partition without such a node.
    pub nodes: Vec<&'a NodeView>,
}

impl<'a> Line<'a> {
    /// The node that the others are like.
    pub fn first(&self) -> Option<&'a NodeView> {
        self.nodes.first().copied()
    }

    /// `gpu[01-02],node01`
    pub fn node_list(&self) -> String {
        hostlist::compress(self.nodes.iter().map(|node| node.definition.name.as_str()))
    }
}

/// How nodes become lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grouping {
    /// `-N`: each node for itself.
    pub by_node: bool,
    /// `-e`: only nodes of exactly the same size together.
    pub exact: bool,
    /// Nodes with a reason only, and no empty lines.
    pub reasons: bool,
}

/// The lines of these partitions and nodes (those that are meant), in the order of the configuration and of names.
pub fn lines<'a>(
    partitions: &[&'a PartitionView],
    nodes: &[&'a NodeView],
    layout: &Layout<Field>,
    grouping: Grouping,
    instants: &Instants,
) -> Vec<Line<'a>> {
    let mut by_name: BTreeMap<&str, &'a NodeView> = BTreeMap::new();
    for node in nodes.iter().filter(|node| !grouping.reasons || !node.reason.is_empty()) {
        by_name.insert(node.definition.name.as_str(), node);
    }
    let mut grouped = Grouped { layout, grouping, instants, lines: Vec::new(), places: BTreeMap::new() };
    for (place, partition) in partitions.iter().enumerate() {
        let mut members: Vec<&'a NodeView> = partition
            .definition
            .nodes
            .iter()
            .filter_map(|name| by_name.get(name.as_str()).copied())
            .collect();
        members.sort_by(|a, b| natural::compare(a.definition.name.as_str(), b.definition.name.as_str()));
        for node in &members {
            grouped.add(partition, place, Some(*node));
        }
        if members.is_empty() && !grouping.by_node && !grouping.reasons {
            grouped.add(partition, place, None);
        }
    }
    for line in &mut grouped.lines {
        line.nodes.sort_by(|a, b| natural::compare(a.definition.name.as_str(), b.definition.name.as_str()));
    }
    grouped.lines
}

struct Grouped<'a, 'l> {
    layout: &'l Layout<Field>,
    grouping: Grouping,
    instants: &'l Instants,
    lines: Vec<Line<'a>>,
    /// Lines by what tells them apart.
    places: BTreeMap<String, usize>,
}

impl<'a> Grouped<'a, '_> {
    fn add(&mut self, partition: &'a PartitionView, place: usize, node: Option<&'a NodeView>) {
        let alone = Line { partition: Some(partition), place, nodes: node.into_iter().collect() };
        let key = match node {
            Some(node) if self.grouping.by_node => format!("{place}\0{}", node.definition.name),
            Some(_) => self.key(&alone),
            None => {
                // Only where the partition has no line yet under what the format shows of it.
                let key = self.partition_key(&alone);
                if self.lines.iter().any(|line| self.partition_key(line) == key) {
                    return;
                }
                format!("\0{key}")
            }
        };
        match self.places.get(&key).and_then(|&at| self.lines.get_mut(at)) {
            Some(line) => {
                let known: BTreeSet<&str> =
                    line.nodes.iter().map(|node| node.definition.name.as_str()).collect();
                line.nodes.extend(node.filter(|node| !known.contains(node.definition.name.as_str())));
            }
            None => {
                self.places.insert(key, self.lines.len());
                self.lines.push(alone);
            }
        }
    }

    fn key(&self, line: &Line<'_>) -> String {
        self.texts(line, |kind| match kind {
            Kind::Partition | Kind::Node => true,
            Kind::Size => self.grouping.exact,
            Kind::Total => false,
        })
    }

    fn partition_key(&self, line: &Line<'_>) -> String {
        self.texts(line, |kind| kind == Kind::Partition)
    }

    fn texts(&self, line: &Line<'_>, counts: impl Fn(Kind) -> bool) -> String {
        let mut key = String::new();
        for field in self.layout.fields().filter(|field| counts(field.kind)) {
            (field.write)(line, self.instants, &mut key);
            key.push('\0');
        }
        key
    }
}

/// One key of `--sort`.
#[derive(Debug)]
pub struct Key {
    field: &'static Field,
    descending: bool,
    /// `#`: in the order of the configuration.
    configured: bool,
}

/// Reads `#P,-t`; the letter that is none is the error.
pub fn parse_keys(text: &str) -> Result<Vec<Key>, char> {
    let (mut keys, mut descending, mut configured) = (Vec::new(), false, false);
    for character in text.chars() {
        match character {
            ',' | '%' | ' ' => (descending, configured) = (false, false),
            '+' => descending = false,
            '-' => descending = true,
            '#' => configured = true,
            letter => {
                let field = super::fields::by_letter(letter).ok_or(letter)?;
                keys.push(Key { field, descending, configured });
                (descending, configured) = (false, false);
            }
        }
    }
    Ok(keys)
}

/// Sorts lines; those that are equal keep their order.
pub fn sort(lines: &mut [Line<'_>], keys: &[Key], instants: &Instants) {
    let text = |field: &Field, line: &Line<'_>| {
        let mut out = String::new();
        (field.write)(line, instants, &mut out);
        out
    };
    lines.sort_by(|a, b| {
        for key in keys {
            let order = match key.field.letter {
                Some('P' | 'R') if key.configured => a.place.cmp(&b.place),
                Some('t' | 'T') => rank(a).cmp(&rank(b)),
                _ => natural::compare(&text(key.field, a), &text(key.field, b)),
            };
            if order.is_ne() {
                return if key.descending { order.reverse() } else { order };
            }
        }
        Ordering::Equal
    });
}

fn rank(line: &Line<'_>) -> Option<u32> {
    line.first().map(state::rank)
}
