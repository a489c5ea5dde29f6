//! The nodes as one cycle sees them: what each could give now, and which are whose partition's.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use daybook_model::fit::{Demand, Free, Network, Rank, Rating, Share, Site, Terrain, eligible};
use daybook_model::{Cluster, Node};
use daybook_schemas::node::PartitionDefinition;
use daybook_schemas::{NodeName, UtcMicros};

use crate::costs::{Costs, parts_of, room};
use crate::fragmentation::{self, Figure, placement_mix, usual_mix};
use crate::promises::Promises;

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
    /// How they are connected.
    network: Network,
    cluster: &'a Cluster,
    /// What each could give now; `None`: it is not to be used.
    free: Vec<Option<Free>>,
    /// What each could give if nothing ran there; made when it is asked for.
    whole: Vec<OnceCell<Free>>,
    fields: Vec<Field<'a>>,
    field_numbers: BTreeMap<&'a Arc<str>, usize>,
    /// CPUs and GPUs free on all nodes together.
    pub(crate) cpus_free: u64,
    pub(crate) gpus_free: u64,
    /// The work so far, and its bound.
    steps: Cell<u64>,
    steps_max: u64,
    /// The most CPUs free on one node; `None`: to be counted anew.
    cpus_free_most: Cell<Option<u32>>,
    /// What a placement costs those who usually come; made when it is asked for.
    costs: OnceCell<RefCell<Costs<'a>>>,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(cluster: &'a Cluster, steps_max: u64) -> Ground<'a> {
        let mut nodes: Vec<_> = cluster.nodes().values().map(Arc::as_ref).collect();
        nodes.sort_by(|a, b| (a.order, &a.definition.name).cmp(&(b.order, &b.definition.name)));
        let sites: Vec<Site<'a>> = nodes.into_iter().map(Site::new).collect();
        let free: Vec<Option<Free>> =
            sites.iter().map(|site| site.node.is_schedulable().then(|| site.free())).collect();
        let cpus_free = free.iter().flatten().map(|free| u64::from(free.cpu_count)).sum();
        let gpus_free = free.iter().flatten().map(|free| u64::from(free.gpus.count())).sum();
        let steps = Cell::new(sites.len() as u64);
        let whole = vec![OnceCell::new(); sites.len()];
        let (fields, field_numbers) = (Vec::new(), BTreeMap::new());
        let cpus_free_most = Cell::new(None);
        let topology = cluster.configured().and_then(|configured| configured.topology.as_ref());
        let network = Network::new(topology, sites.len(), |name| number_of(cluster, &sites, name));
        Ground {
            sites,
            network,
            cluster,
            free,
            whole,
            fields,
            field_numbers,
            cpus_free,
            gpus_free,
            steps,
            steps_max,
            cpus_free_most,
            costs: OnceCell::new(),
        }
    }

    /// What a placement looks at: as long as nobody has asked for a GPU, nothing is known that could be spared for
    /// others.
    pub(crate) fn terrain(&self) -> Terrain<'_, 'a> {
        let is_known = self.cluster.usual_requests().next().is_some();
        Terrain { rating: is_known.then_some(self as &dyn Rating), ..self.bare_terrain(&self.steps) }
    }

    /// The same, for the question whether something fits: where is no matter.
    pub(crate) fn bare_terrain<'t>(&'t self, steps: &'t Cell<u64>) -> Terrain<'t, 'a> {
        Terrain { sites: &self.sites, network: &self.network, steps, rating: None }
    }

    fn costs(&self) -> &RefCell<Costs<'a>> {
        let make = || Costs::new(placement_mix(usual_mix(self.cluster)), self.sites.len());
        self.costs.get_or_init(|| RefCell::new(make()))
    }

    /// What of the free GPUs those who usually come could not use; `None` where no node has any GPU.
    /// It decides nothing, so it is not among the steps that bound a cycle: at most a look at each node, and at each usual
    /// request for each state of a node.
    pub(crate) fn fragmentation(&self) -> Option<Figure> {
        if self.sites.iter().all(|site| site.gpus.is_empty()) {
            return None;
        }
        let free = self.sites.iter().zip(&self.free).filter_map(|(site, free)| Some((site, free.as_ref()?)));
        let rooms = free.filter(|(_, free)| !free.gpus.is_empty()).map(|(site, free)| room(site, free));
        Some(fragmentation::of_cycle(rooms, &usual_mix(self.cluster)))
    }

    /// Counts work.
    pub(crate) fn count_steps(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_add(steps as u64));
    }

    /// The work so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Whether the work has reached its bound.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.steps.get() >= self.steps_max
    }

    /// Whether so many steps more would reach the bound.
    pub(crate) fn would_exhaust(&self, steps: usize) -> bool {
        self.steps.get().saturating_add(steps as u64) >= self.steps_max
    }

    /// All CPUs of a partition.
    pub(crate) fn cpus_of(&self, field: usize) -> u64 {
        self.fields[field].members.iter().map(|at| u64::from(self.sites[*at].node.definition.cpus)).sum()
    }

    /// The number of a node.
    pub(crate) fn number(&self, name: &NodeName) -> Option<usize> {
        number_of(self.cluster, &self.sites, name)
    }

    /// The number of a partition; `None` where it is not configured.
    pub(crate) fn field_number(&mut self, cluster: &'a Cluster, name: &'a Arc<str>) -> Option<usize> {
        if let Some(number) = self.field_numbers.get(name) {
            return Some(*number);
        }
        let definition: &'a PartitionDefinition = cluster.partition(name)?;
        // Mostly neighbours in the order of the configuration: the next one is tried before it is searched for.
        let mut next = 0;
        let members = definition.nodes.iter().filter_map(|name| {
            let is_next = self.sites.get(next).is_some_and(|site| site.node.definition.name == *name);
            let number = if is_next { next } else { self.number(name)? };
            next = number + 1;
            Some(number)
        });
        let members = members.collect();
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

    /// Whether a node has so many CPUs and GPUs free, promises aside.
    pub(crate) fn has(&self, site: usize, cpus: u32, gpus: u32) -> bool {
        self.count_steps(1);
        self.free[site].as_ref().is_some_and(|free| free.cpu_count >= cpus && free.gpus.count() >= gpus)
    }

    /// What a node could give now.
    pub(crate) fn free(&self, site: usize) -> Option<&Free> {
        self.free[site].as_ref()
    }

    /// What a node could give from now until `until` (`None`: for ever) without touching what is kept in between.
    pub(crate) fn free_until<'s>(
        &'s self,
        site: usize,
        until: Option<UtcMicros>,
        promises: &Promises,
    ) -> Option<Cow<'s, Free>> {
        self.count_steps(1);
        let free = self.free[site].as_ref()?;
        if promises.is_untouched(site) {
            return Some(Cow::Borrowed(free));
        }
        Some(promises.without(&self.sites[site], site, Cow::Borrowed(free), None, until))
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
                let before = (free.cpu_count, free.gpus.count());
                free.take(share);
                self.cpus_free -= u64::from(before.0 - free.cpu_count);
                self.gpus_free -= u64::from(before.1 - free.gpus.count());
            }
            if let Some(costs) = self.costs.get_mut() {
                costs.get_mut().forget(share.site);
            }
        }
    }
}

impl Rating for Ground<'_> {
    fn number(&self, demand: &Demand<'_>) -> usize {
        self.costs().borrow_mut().number(parts_of(demand))
    }

    fn rank(&self, number: usize, at: usize, free: &Free) -> Rank {
        // What a node has free now is mostly asked for, and what its state is is then known without a look.
        let is_now = self.free[at].as_ref().is_some_and(|now| std::ptr::eq(now, free));
        let mut costs = self.costs().borrow_mut();
        let (rank, steps) = costs.rank(number, is_now.then_some(at), || room(&self.sites[at], free));
        self.count_steps(steps);
        rank
    }
}

/// The number of a node among the sites, which are in the order of the configuration.
fn number_of(cluster: &Cluster, sites: &[Site<'_>], name: &NodeName) -> Option<usize> {
    let node = cluster.nodes().get(name)?;
    let found = sites.binary_search_by(|site| key_of(site.node).cmp(&key_of(node)));
    found.ok()
}

/// What the sites are sorted by.
fn key_of(node: &Node) -> (u32, &NodeName) {
    (node.order, &node.definition.name)
}
