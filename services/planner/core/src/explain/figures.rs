//! What a job needs, what there is, and what of it is short.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;

use daybook_model::fit::{Demand, Free, GpuCounts, MemoryNeed, Network, Site, Terrain, eligible, place};
use daybook_model::{Cluster, Job};
use daybook_schemas::Mebibytes;
use daybook_schemas::api::{Amount, Figures, GpuAmount, LicenseAmount, Shortage, Shortened};

/// What was seen of the nodes as they are now.
pub(super) struct Sight {
    pub(super) figures: Figures,
    /// Empty where it fits, and where each is there but not together.
    pub(super) short: Vec<Shortage>,
}

/// Looks at all nodes that a job may use. `None` where its partition is not configured.
pub(super) fn look(cluster: &Cluster, job: &Job) -> Option<Sight> {
    let partition = cluster.partition(&job.partition)?;
    let demand = Demand::new(&job.request, partition, &cluster.configured()?.parameters);
    let sites: Vec<Site<'_>> = partition
        .nodes
        .iter()
        .filter_map(|name| cluster.nodes().get(name))
        .map(|node| Site::new(node))
        .collect();
    let members: Vec<usize> = (0..sites.len()).collect();
    let order = eligible(&sites, &members, &demand);
    let free: Vec<Option<Free>> =
        sites.iter().map(|site| site.node.is_schedulable().then(|| site.free())).collect();
    let numbers: BTreeMap<_, _> =
        sites.iter().enumerate().map(|(at, site)| (&site.node.definition.name, at)).collect();
    let topology = cluster.configured()?.topology.as_ref();
    let network = Network::new(topology, sites.len(), |name| numbers.get(name).copied());
    let terrain = Terrain { sites: &sites, network: &network, steps: &Cell::new(0), rating: None };
    let licenses = licenses(cluster, job);
    let view = View { demand, terrain, sites: &sites, order, free, licenses };
    let figures = view.figures();
    let short = if figures.fits_now { Vec::new() } else { view.shortages(&figures) };
    Some(Sight { figures, short })
}

/// What a job needs of licences, and what there is.
pub(super) fn licenses(cluster: &Cluster, job: &Job) -> Vec<LicenseAmount> {
    let amount = |license: &daybook_schemas::license::License| LicenseAmount {
        license: license.name.clone(),
        needs: license.count,
        free: cluster.licenses_free(&license.name),
        in_all: cluster.licenses_in_all(&license.name),
    };
    job.request.licenses.iter().map(amount).collect()
}

struct View<'a> {
    demand: Demand<'a>,
    terrain: Terrain<'a, 'a>,
    sites: &'a [Site<'a>],
    /// The nodes that the job may use.
    order: Vec<usize>,
    free: Vec<Option<Free>>,
    licenses: Vec<LicenseAmount>,
}

impl View<'_> {
    /// Whether all of it has to be on one node.
    fn is_on_one(&self) -> bool {
        let demand = &self.demand;
        demand.nodes_max == Some(1)
            || demand.nodes_min == 1
                && demand.tasks == 1
                && demand.gpus_per_job.is_empty()
                && demand.request.nodes_max.is_none()
    }

    /// The nodes that are up, with what each has free; those that must be used alone, where one node must do.
    fn usable(&self) -> impl Iterator<Item = (usize, &Free)> {
        let required = &self.demand.request.nodes_required;
        let only_required = self.is_on_one() && !required.is_empty();
        self.order.iter().filter_map(move |at| {
            let name = &self.sites[*at].node.definition.name;
            let is_asked = !only_required || required.binary_search(name).is_ok();
            Some((*at, self.free[*at].as_ref().filter(|_| is_asked)?))
        })
    }

    /// Whether a node has room: for all of it, or where it may spread for one task.
    fn has_room(&self, at: usize, free: &Free) -> bool {
        if !self.is_on_one() {
            return self.sites[at].tasks_max(free, &self.demand).is_some();
        }
        let only = |site: usize| (site == at).then_some(Cow::Borrowed(free));
        place(&self.demand, self.terrain, &[at], &only).is_some()
    }

    fn figures(&self) -> Figures {
        let types = self.types_asked();
        let mut free_on_one = self.nothing(&types);
        let (mut free, mut in_all) = (free_on_one.clone(), free_on_one.clone());
        let (mut nodes_usable, mut nodes_with_room) = (0, 0);
        for (at, there) in self.usable() {
            let amount = self.amount(at, there, &types);
            add(&mut free, &amount);
            most(&mut free_on_one, &amount);
            add(&mut in_all, &self.amount(at, &self.sites[at].whole(), &types));
            nodes_usable += 1;
            nodes_with_room += u32::from(self.has_room(at, there));
        }
        let given = |site: usize| self.free[site].as_ref().map(Cow::Borrowed);
        let is_licensed = self.licenses.iter().all(|license| license.needs <= license.free);
        let fits_now = is_licensed && place(&self.demand, self.terrain, &self.order, &given).is_some();
        Figures {
            nodes_needed: self.demand.nodes_min,
            on_one_node: self.is_on_one(),
            exclusive: self.demand.exclusive,
            all_memory: self.demand.memory_is_consumed && self.demand.memory == MemoryNeed::Whole,
            needs: self.needs(&types),
            nodes_allowed: u32::try_from(self.order.len()).unwrap_or(u32::MAX),
            nodes_usable,
            nodes_with_room,
            free,
            free_on_one,
            in_all,
            licenses: self.licenses.clone(),
            fits_now,
        }
    }

    /// The GPU types that the job asks for, `None` for any, each once.
    fn types_asked(&self) -> Vec<Option<String>> {
        let mut types: Vec<Option<String>> =
            self.demand.request.gpus.iter().map(|wish| wish.gpu_type.clone()).collect();
        types.sort();
        types.dedup();
        types
    }

    fn nothing(&self, types: &[Option<String>]) -> Amount {
        let none = |gpu_type: &Option<String>| GpuAmount { gpu_type: gpu_type.clone(), count: 0 };
        Amount {
            cpus: 0,
            gpus: types.iter().map(none).collect(),
            memory: self.demand.memory_is_consumed.then_some(Mebibytes(0)),
        }
    }

    fn amount(&self, at: usize, free: &Free, types: &[Option<String>]) -> Amount {
        let count = |gpu_type: &Option<String>| match gpu_type {
            Some(name) => self.sites[at].count_of(&free.gpus, name),
            None => free.gpus.count(),
        };
        let gpus = types
            .iter()
            .map(|gpu_type| GpuAmount { gpu_type: gpu_type.clone(), count: count(gpu_type).into() })
            .collect();
        let memory = self.demand.memory_is_consumed.then_some(Mebibytes(free.memory));
        Amount { cpus: free.cpu_count.into(), gpus, memory }
    }

    /// The least that it takes in all.
    fn needs(&self, types: &[Option<String>]) -> Amount {
        let demand = &self.demand;
        let of = |counts: &GpuCounts<'_>, gpu_type: &Option<String>| -> u64 {
            let typed = |name: &String| counts.typed.iter().find(|(known, _)| known == name);
            match gpu_type {
                Some(name) => typed(name).map_or(0, |(_, count)| u64::from(*count)),
                None => counts.any.into(),
            }
        };
        let gpus: Vec<GpuAmount> = types
            .iter()
            .map(|gpu_type| {
                let by_node = of(&demand.gpus_per_node, gpu_type) * u64::from(demand.nodes_min);
                let by_task = of(&demand.gpus_per_task, gpu_type) * u64::from(demand.tasks);
                let count = by_node.saturating_add(by_task) + of(&demand.gpus_per_job, gpu_type);
                GpuAmount { gpu_type: gpu_type.clone(), count }
            })
            .collect();
        let all_gpus = gpus.iter().map(|gpus| gpus.count).fold(0, u64::saturating_add);
        let cpus = demand.cpus_min();
        let memory = match demand.memory {
            MemoryNeed::Nothing | MemoryNeed::Whole => None,
            MemoryNeed::PerNode(amount) => Some(amount.saturating_mul(demand.nodes_min.into())),
            MemoryNeed::PerCpu(amount) => Some(amount.saturating_mul(cpus)),
            MemoryNeed::PerGpu(amount) => Some(amount.saturating_mul(all_gpus)),
        };
        let memory = memory.filter(|_| demand.memory_is_consumed).map(Mebibytes);
        Amount { cpus, gpus, memory }
    }

    /// What is short where it does not fit: on one node where one must do, else on all together.
    fn shortages(&self, figures: &Figures) -> Vec<Shortage> {
        let on_one = figures.on_one_node;
        let there = if on_one { &figures.free_on_one } else { &figures.free };
        let mut short = Vec::new();
        let mut compare = |what: Shortened, gpu_type: &Option<String>, needs: u64, has: u64| {
            if needs > has {
                let on_one_node = on_one && what != Shortened::Nodes;
                let gpu_type = gpu_type.clone();
                short.push(Shortage { what, gpu_type, license: None, on_one_node, needs, has });
            }
        };
        for (needs, has) in figures.needs.gpus.iter().zip(&there.gpus) {
            compare(Shortened::Gpus, &needs.gpu_type, needs.count, has.count);
        }
        compare(Shortened::Cpus, &None, figures.needs.cpus, there.cpus);
        if let (Some(needs), Some(has)) = (figures.needs.memory, there.memory) {
            compare(Shortened::Memory, &None, needs.0, has.0);
        }
        if !on_one || figures.exclusive || figures.all_memory {
            let (needs, has) = (figures.nodes_needed.into(), figures.nodes_with_room.into());
            compare(Shortened::Nodes, &None, needs, has);
        }
        if !on_one {
            compare(Shortened::Tasks, &None, self.demand.tasks.into(), self.room_for_tasks());
        }
        let scarce = figures.licenses.iter().filter(|license| license.needs > license.free);
        short.extend(scarce.map(|license| Shortage {
            what: Shortened::Licenses,
            gpu_type: None,
            license: Some(license.license.clone()),
            on_one_node: false,
            needs: license.needs.into(),
            has: license.free.into(),
        }));
        short
    }

    /// How many tasks as many nodes as it may have could take together, the roomiest first.
    fn room_for_tasks(&self) -> u64 {
        let room = |(at, free): (usize, &Free)| self.sites[at].tasks_max(free, &self.demand);
        let mut rooms: Vec<u32> = self.usable().filter_map(room).collect();
        rooms.sort_unstable_by_key(|tasks| std::cmp::Reverse(*tasks));
        let most = self.demand.nodes_max.map_or(rooms.len(), |most| most as usize);
        rooms.iter().take(most).map(|tasks| u64::from(*tasks)).sum()
    }
}

fn add(sum: &mut Amount, amount: &Amount) {
    combine(sum, amount, u64::saturating_add);
}

fn most(greatest: &mut Amount, amount: &Amount) {
    combine(greatest, amount, u64::max);
}

fn combine(into: &mut Amount, amount: &Amount, how: fn(u64, u64) -> u64) {
    into.cpus = how(into.cpus, amount.cpus);
    for (into, amount) in into.gpus.iter_mut().zip(&amount.gpus) {
        into.count = how(into.count, amount.count);
    }
    if let (Some(into), Some(amount)) = (&mut into.memory, amount.memory) {
        into.0 = how(into.0, amount.0);
    }
}
