//! The nodes as one cycle sees them: what each could give now, and which are whose partition's.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use daybook_model::Cluster;
use daybook_model::fit::{Demand, Free, Share, Site, eligible};
use daybook_schemas::node::PartitionDefinition;
use daybook_schemas::{NodeName, UtcMicros};

use crate::reserve::Reservation;

/// A partition with its nodes' numbers.
pub(crate) struct Field<'a> {
    pub(crate) definition: &'a PartitionDefinition,
    members: Vec<usize>,
    /// Preference of demands that name no node and no feature: with and without GPUs.
    plain_orders: [Option<Rc<[usize]>>; 2],
}

/// All nodes, in the order of the configuration; a site's number is its place here.
pub(crate) struct Ground<'a> {
    pub(crate) sites: Vec<Site<'a>>,
    numbers: BTreeMap<&'a NodeName, usize>,
    /// What each could give now; `None`: it is not to be used.
    free: Vec<Option<Free>>,
    /// What each could give if nothing ran there; made when it is asked for.
    whole: Vec<OnceCell<Free>>,
    fields: Vec<Field<'a>>,
    field_numbers: BTreeMap<&'a Arc<str>, usize>,
    /// CPUs free on all nodes together.
    pub(crate) cpus_free: u64,
    /// The most CPUs free on one node; `None`: to be counted anew.
    cpus_free_most: Cell<Option<u32>>,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(cluster: &'a Cluster) -> Ground<'a> {
        let mut nodes: Vec<_> = cluster.nodes().values().map(Arc::as_ref).collect();
        nodes.sort_by(|a, b| (a.order, &a.definition.name).cmp(&(b.order, &b.definition.name)));
        let sites: Vec<Site<'a>> = nodes.into_iter().map(Site::new).collect();
        let free: Vec<Option<Free>> =
            sites.iter().map(|site| site.node.is_schedulable().then(|| site.free())).collect();
        let numbers = sites.iter().enumerate().map(|(at, site)| (&site.node.definition.name, at)).collect();
        let cpus_free = free.iter().flatten().map(|free| u64::from(free.cpu_count)).sum();
        let whole = vec![OnceCell::new(); sites.len()];
        let (fields, field_numbers) = (Vec::new(), BTreeMap::new());
        let cpus_free_most = Cell::new(None);
        Ground { sites, numbers, free, whole, fields, field_numbers, cpus_free, cpus_free_most }
    }

    /// The number of a node.
    pub(crate) fn number(&self, name: &NodeName) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The number of a partition; `None` where it is not configured.
    pub(crate) fn field_number(&mut self, cluster: &'a Cluster, name: &'a Arc<str>) -> Option<usize> {
        if let Some(number) = self.field_numbers.get(name) {
            return Some(*number);
        }
        let definition: &'a PartitionDefinition = cluster.partition(name)?;
        let members = definition.nodes.iter().filter_map(|name| self.number(name)).collect();
        self.fields.push(Field { definition, members, plain_orders: [None, None] });
        self.field_numbers.insert(name, self.fields.len() - 1);
        Some(self.fields.len() - 1)
    }

    pub(crate) fn field(&self, number: usize) -> &Field<'a> {
        &self.fields[number]
    }

    /// The nodes that a demand may use, the preferred first, up or not.
    pub(crate) fn order(&mut self, field: usize, demand: &Demand<'_>) -> Rc<[usize]> {
        let field = &mut self.fields[field];
        let request = demand.request;
        if !request.nodes_excluded.is_empty() || !request.features.is_empty() {
            return eligible(&self.sites, &field.members, demand).into();
        }
        let plain = &mut field.plain_orders[usize::from(demand.wants_gpus())];
        plain.get_or_insert_with(|| eligible(&self.sites, &field.members, demand).into()).clone()
    }

    /// What a node could give now.
    pub(crate) fn free(&self, site: usize) -> Option<&Free> {
        self.free[site].as_ref()
    }

    /// What a node could give from now until `until` (`None`: for ever) without touching what is reserved in between.
    pub(crate) fn free_until<'s>(
        &'s self,
        site: usize,
        until: Option<UtcMicros>,
        reservations: &[Reservation],
    ) -> Option<Cow<'s, Free>> {
        self.free[site]
            .as_ref()
            .map(|free| without_reserved(Cow::Borrowed(free), site, None, until, reservations))
    }

    /// What a node could give if nothing ran there; `None`: it is not to be used.
    pub(crate) fn whole(&self, site: usize) -> Option<&Free> {
        self.free[site].as_ref()?;
        Some(self.whole[site].get_or_init(|| self.sites[site].whole()))
    }

    /// The most CPUs free on one node: no task of more can start now.
    pub(crate) fn cpus_free_most(&self) -> u32 {
        let most = self.cpus_free_most.get();
        let most =
            most.unwrap_or_else(|| self.free.iter().flatten().map(|free| free.cpu_count).max().unwrap_or(0));
        self.cpus_free_most.set(Some(most));
        most
    }

    /// Gives shares away.
    pub(crate) fn take(&mut self, shares: &[Share]) {
        self.cpus_free_most.set(None);
        for share in shares {
            if let Some(free) = &mut self.free[share.site] {
                let before = free.cpu_count;
                free.take(share);
                self.cpus_free -= u64::from(before - free.cpu_count);
            }
        }
    }
}

/// `free` of a node without what reservations hold there at some time from `from` (`None`: now) to `until`.
///
/// CPUs and GPUs are those that a reservation names. Memory has no names: of a reservation that begins later, only
/// what it does not leave then is taken.
pub(crate) fn without_reserved<'f>(
    free: Cow<'f, Free>,
    site: usize,
    from: Option<UtcMicros>,
    until: Option<UtcMicros>,
    reservations: &[Reservation],
) -> Cow<'f, Free> {
    let mut free = free;
    for reservation in reservations.iter().filter(|reservation| reservation.overlaps(from, until)) {
        let has_begun = from.is_some_and(|from| reservation.start <= from);
        let held =
            reservation.shares.iter().zip(&reservation.memory_left).filter(|(share, _)| share.site == site);
        for (share, memory_left) in held {
            let free = free.to_mut();
            let memory = free.memory;
            free.take(share);
            if !has_begun {
                free.memory = memory.min(*memory_left);
            }
        }
    }
    free
}
