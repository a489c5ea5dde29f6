//! What a placement on one node costs those who usually come. Many nodes are in the same state, so each state is scored
//! once for each kind of demand in a cycle.

use std::collections::BTreeMap;

use daybook_model::fit::{Demand, Free, Rank, Site};

use crate::fragmentation::{Memo, Mix, Room, Shape, WHOLE_GPU, WHOLE_MEMORY, placement_rank};

/// The most ranks that are remembered, and the most states of nodes; then they are made anew.
const RANKS_MAX: usize = 1 << 22;
const STATES_MAX: usize = 1 << 16;

/// Ranks by demand and state. They are a function of both alone: what is remembered changes no answer.
pub(crate) struct Costs<'a> {
    memo: Memo<'static, 'a>,
    /// Demands by what they take, each with its number.
    numbers: BTreeMap<Vec<Shape>, usize>,
    demands: Vec<Vec<Shape>>,
    /// States of nodes by number.
    rooms: Vec<Room<'a>>,
    states: BTreeMap<Room<'a>, usize>,
    /// The state of each node with what it has free now; `None`: not looked at since that changed.
    state_now: Vec<Option<usize>>,
    /// By demand and state.
    known: Vec<Vec<Option<Rank>>>,
    /// How many places `known` has.
    places: usize,
}

impl<'a> Costs<'a> {
    pub(crate) fn new(mix: Mix, sites: usize) -> Costs<'a> {
        Costs {
            memo: Memo::owning(mix),
            numbers: BTreeMap::new(),
            demands: Vec::new(),
            rooms: Vec::new(),
            states: BTreeMap::new(),
            state_now: vec![None; sites],
            known: Vec::new(),
            places: 0,
        }
    }

    /// The number of a demand that takes these parts of a node.
    pub(crate) fn number(&mut self, parts: Vec<Shape>) -> usize {
        if let Some(number) = self.numbers.get(&parts) {
            return *number;
        }
        self.demands.push(parts.clone());
        self.known.push(Vec::new());
        self.numbers.insert(parts, self.demands.len() - 1);
        self.demands.len() - 1
    }

    /// A node has something else free now.
    pub(crate) fn forget(&mut self, site: usize) {
        self.state_now[site] = None;
    }

    /// How good a room is for a demand, and the steps that it took to find out. The room is what the node `now` has free now
    /// (`None`: something else). One in which it has no place by count is the worst.
    pub(crate) fn rank(
        &mut self,
        number: usize,
        now: Option<usize>,
        room: impl FnOnce() -> Room<'a>,
    ) -> (Rank, usize) {
        let known = now.and_then(|site| self.state_now[site]);
        let state = known.unwrap_or_else(|| self.state_of(room()));
        if let Some(site) = now {
            self.state_now[site] = Some(state);
        }
        if let Some(Some(rank)) = self.known[number].get(state) {
            return (*rank, 0);
        }
        let rank = placement_rank(&self.rooms[state], &self.demands[number], &mut self.memo);
        let rank = rank.unwrap_or((i64::MAX, u64::MAX));
        self.remember(number, state, rank);
        (rank, self.memo.mix().len())
    }

    fn state_of(&mut self, room: Room<'a>) -> usize {
        if let Some(state) = self.states.get(&room) {
            return *state;
        }
        if self.rooms.len() >= STATES_MAX {
            self.states.clear();
            self.rooms.clear();
            self.state_now.fill(None);
            self.forget_ranks();
        }
        self.states.insert(room.clone(), self.rooms.len());
        self.rooms.push(room);
        self.rooms.len() - 1
    }

    fn remember(&mut self, number: usize, state: usize, rank: Rank) {
        if self.places >= RANKS_MAX {
            self.forget_ranks();
        }
        let known = &mut self.known[number];
        if known.len() <= state {
            self.places += state + 1 - known.len();
            known.resize(state + 1, None);
        }
        known[state] = Some(rank);
    }

    fn forget_ranks(&mut self) {
        self.known.iter_mut().for_each(Vec::clear);
        self.places = 0;
    }
}

/// What a demand takes of one node that has all of it: each type of GPU that it names, then those of any type.
pub(crate) fn parts_of(demand: &Demand<'_>) -> Vec<Shape> {
    let tasks = demand.tasks;
    let wanted = demand.gpus_per_node.plus(&demand.gpus_per_task, tasks).plus(&demand.gpus_per_job, 1);
    let cpus = u64::from(tasks) * u64::from(demand.cpus_per_task);
    let memory = demand.memory_on_one(cpus, wanted.total());
    let nothing =
        Shape { cpus: 0, memory: 0, gpus: 0, share: WHOLE_GPU, gpu_types: Vec::new(), exclusive: false };
    // Who has the node alone has all of its GPUs, of whatever type.
    let typed = wanted.typed.iter().filter(|(_, count)| *count > 0 && !demand.exclusive);
    let mut parts: Vec<Shape> = typed
        .map(|(name, count)| Shape { gpus: *count, gpu_types: vec![(*name).to_string()], ..nothing.clone() })
        .collect();
    if wanted.any > 0 || parts.is_empty() {
        let gpus = if demand.exclusive { wanted.total() } else { wanted.any };
        parts.push(Shape { gpus, ..nothing });
    }
    if let Some(first) = parts.first_mut() {
        first.cpus = cpus.saturating_mul(1_000);
        first.memory = memory.unwrap_or(WHOLE_MEMORY);
        first.exclusive = demand.exclusive;
    }
    parts
}

/// What a node has free.
pub(crate) fn room<'a>(site: &Site<'a>, free: &Free) -> Room<'a> {
    let cpus = u64::from(free.cpu_count) * 1_000;
    let definition = &site.node.definition;
    let untouched = free.cpu_count == definition.cpus
        && free.memory == definition.memory.0
        && free.gpus.count() as usize == site.gpus.len();
    Room::of_whole_gpus(cpus, free.memory, untouched, site.counts(&free.gpus))
}
