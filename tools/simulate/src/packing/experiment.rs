//! One order of arrivals under one policy.

use std::collections::BTreeMap;

use daybook_plan::fragmentation::{
    Memo, Mix, Room, SHAPES_MAX, Shape, WHOLE_GPU, least_growth, placement_mix, placement_rank,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

use super::input::{NodeRow, Pod};
use super::policy::PackingPolicy;
use super::ranking::{Ranking, Score};

/// When it is looked how much is given away: arrived requests for GPUs in per cent of the GPUs there are.
pub const MARKS: [u64; 2] = [100, 130];
/// The usual mix is made of the most frequent shapes that cover so much of the pods, in thousandths.
const COVERED_PER_MILLE: u32 = 950;
/// The most pods of one order.
pub const ARRIVALS_MAX: usize = 10_000_000;

/// Pods and nodes, with what follows from them.
#[derive(Clone, Debug)]
pub struct Setting {
    pods: Vec<Pod>,
    nodes: Vec<NodeRow>,
    /// The shape of each pod, by number.
    shape_of: Vec<usize>,
    shapes: Vec<Shape>,
    mix: Mix,
    /// Shapes in it that pods have.
    mix_len: usize,
    /// What the planner would take for the mix.
    live_mix: Mix,
    /// The most CPUs and GPUs (both in thousandths) of one node: what `bestfit` measures by.
    cpus_most: u64,
    gpus_most: u64,
    /// All GPUs, in thousandths.
    capacity: u64,
}

impl Setting {
    /// The mix that `fragmentation` and `live` score by is that of all pods, whatever order they come in.
    pub fn new(pods: Vec<Pod>, nodes: Vec<NodeRow>) -> Result<Setting, String> {
        let gpus = |node: &NodeRow| u64::from(node.gpus) * u64::from(WHOLE_GPU);
        let capacity = nodes.iter().map(gpus).sum();
        if capacity == 0 {
            return Err("no node has a GPU".to_string());
        }
        let demand: u64 = pods.iter().map(|pod| pod.shape.gpu_thousandths()).sum();
        if demand == 0 {
            return Err("no pod wants a GPU".to_string());
        }
        let arrivals =
            u128::from(capacity) * u128::from(MARKS[1]) * pods.len() as u128 / 100 / u128::from(demand);
        if arrivals > ARRIVALS_MAX as u128 {
            return Err(format!(
                "the pods want so little that about {arrivals} of them are needed to fill the nodes; at most {ARRIVALS_MAX} are drawn"
            ));
        }
        let mut numbers: BTreeMap<&Shape, usize> = BTreeMap::new();
        let mut counts: Vec<u64> = Vec::new();
        let mut shape_of = Vec::with_capacity(pods.len());
        for pod in &pods {
            let number = *numbers.entry(&pod.shape).or_insert(counts.len());
            if number == counts.len() {
                counts.push(0);
            }
            counts[number] += 1;
            shape_of.push(number);
        }
        let mut shapes: Vec<(usize, Shape)> =
            numbers.into_iter().map(|(shape, number)| (number, shape.clone())).collect();
        shapes.sort_by_key(|(number, _)| *number);
        let shapes: Vec<Shape> = shapes.into_iter().map(|(_, shape)| shape).collect();
        let counts = || shapes.iter().cloned().zip(counts.iter().copied());
        let live_mix = placement_mix(Mix::usual(counts()));
        let mix = Mix::of(counts(), COVERED_PER_MILLE, SHAPES_MAX);
        let mix_len = mix.len();
        let mix = placement_mix(mix);
        let cpus_most = nodes.iter().map(|node| node.cpus).max().unwrap_or(0);
        let gpus_most = nodes.iter().map(gpus).max().unwrap_or(0);
        Ok(Setting { pods, nodes, shape_of, shapes, mix, mix_len, live_mix, cpus_most, gpus_most, capacity })
    }

    /// All GPUs, in thousandths.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How many shapes the usual mix has.
    pub fn mix_len(&self) -> usize {
        self.mix_len
    }

    /// The pods by number, in an order drawn from a seed: all of them, and so many drawn again that their requests reach
    /// the last mark.
    fn arrivals(&self, random: &mut Xoshiro256PlusPlus) -> Vec<usize> {
        let mut arrivals: Vec<usize> = (0..self.pods.len()).collect();
        let wants = |pod: usize| self.pods[pod].shape.gpu_thousandths();
        let mut wanted: u64 = arrivals.iter().map(|pod| wants(*pod)).sum();
        while wanted * 100 < self.capacity * MARKS[1] && arrivals.len() < 2 * ARRIVALS_MAX {
            let pod = below(random, self.pods.len());
            wanted += wants(pod);
            arrivals.push(pod);
        }
        for last in (1..arrivals.len()).rev() {
            arrivals.swap(last, below(random, last + 1));
        }
        arrivals
    }

    /// Lets the pods of one order arrive. `progress` is told how many of how many have.
    pub fn run(&self, policy: PackingPolicy, seed: u64, progress: &mut dyn FnMut(usize, usize)) -> Outcome {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let arrivals = self.arrivals(&mut random);
        let mut yard = Yard::new(self, policy);
        let mut outcome = Outcome { arrived: arrivals.len(), ..Outcome::default() };
        let mut wanted = 0;
        for (number, pod) in arrivals.iter().enumerate() {
            outcome.look(wanted, self.capacity);
            let wants = self.pods[*pod].shape.gpu_thousandths();
            wanted += wants;
            if yard.place(*pod, &mut random) {
                outcome.allocated += wants;
            } else {
                outcome.lost += 1;
                outcome.lost_gpus += wants;
            }
            if number % 1_000 == 0 {
                progress(number, arrivals.len());
            }
        }
        outcome.look(wanted, self.capacity);
        outcome
    }
}

/// What came of one order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Pods that arrived.
    pub arrived: usize,
    /// Those that fitted nowhere.
    pub lost: usize,
    /// What they wanted of GPUs, in thousandths.
    pub lost_gpus: u64,
    /// What was given away of GPUs in the end, in thousandths.
    pub allocated: u64,
    /// The same at each of [`MARKS`] that was reached.
    pub at: Vec<u64>,
}

impl Outcome {
    fn look(&mut self, wanted: u64, capacity: u64) {
        while MARKS.get(self.at.len()).is_some_and(|mark| wanted * 100 >= capacity * mark) {
            self.at.push(self.allocated);
        }
    }
}

/// The nodes while pods arrive.
struct Yard<'s> {
    setting: &'s Setting,
    policy: PackingPolicy,
    rooms: Vec<Room<'s>>,
    memory: Vec<u64>,
    /// Nodes that have changed, in order.
    changes: Vec<usize>,
    /// By shape.
    rankings: Vec<Ranking>,
    /// Scores of equal rooms, by room and shape.
    scores: BTreeMap<(usize, Room<'s>), Option<Score>>,
    memo: Memo<'s, 's>,
}

/// The most scores that are remembered; then they are made anew.
const SCORES_MAX: usize = 500_000;

impl<'s> Yard<'s> {
    fn new(setting: &'s Setting, policy: PackingPolicy) -> Yard<'s> {
        // Memory is counted apart: the mix does not look at it, so rooms that differ by it alone are equal.
        let room = |node: &'s NodeRow| {
            Room::new(node.cpus, 0, true, (0..node.gpus).map(|_| (node.gpu_type.as_str(), WHOLE_GPU)))
        };
        Yard {
            setting,
            policy,
            rooms: setting.nodes.iter().map(room).collect(),
            memory: setting.nodes.iter().map(|node| node.memory).collect(),
            changes: Vec::new(),
            rankings: vec![Ranking::default(); setting.shapes.len()],
            scores: BTreeMap::new(),
            memo: Memo::new(match policy {
                PackingPolicy::Live => &setting.live_mix,
                _ => &setting.mix,
            }),
        }
    }

    /// Puts a pod on the best node; `false`: it fits on none.
    fn place(&mut self, pod: usize, random: &mut Xoshiro256PlusPlus) -> bool {
        let setting = self.setting;
        let number = setting.shape_of[pod];
        let (shape, memory) = (&setting.shapes[number], setting.pods[pod].memory);
        let Yard { policy, rooms, changes, rankings, scores, memo, .. } = self;
        let ranking = &mut rankings[number];
        ranking.update(rooms.len(), changes, |node| {
            let room = &rooms[node];
            if shape.cpus > room.cpus || shape.gpu_thousandths() > room.gpu_thousandths() {
                return None;
            }
            if scores.len() >= SCORES_MAX {
                scores.clear();
            }
            let score = || score(setting, *policy, room, shape, memo);
            let score = *scores.entry((number, room.clone())).or_insert_with(score);
            let comes_first =
                *policy == PackingPolicy::Live && shape.gpus == 0 && setting.nodes[node].gpus == 0;
            if comes_first { score.map(|(_, tie)| (i64::MIN, tie)) } else { score }
        });
        let has_memory = |node: &usize| self.memory[*node] >= memory;
        let chosen = match policy {
            PackingPolicy::Random => {
                let all: Vec<usize> =
                    (0..rooms.len()).filter(|node| ranking.has(*node) && has_memory(node)).collect();
                (!all.is_empty()).then(|| all[below(random, all.len())])
            }
            _ => ranking.nodes().find(has_memory),
        };
        let Some(node) = chosen else { return false };
        let room = &rooms[node];
        let left = match policy {
            PackingPolicy::Fragmentation | PackingPolicy::Live => {
                least_growth(room, shape, memo).map(|(_, left)| left)
            }
            PackingPolicy::Random => {
                let mut choices = room.without(shape);
                (!choices.is_empty()).then(|| choices.swap_remove(below(random, choices.len())))
            }
            PackingPolicy::BestFit | PackingPolicy::Fullest => room.without(shape).into_iter().next(),
        };
        let Some(left) = left else { return false };
        self.rooms[node] = left;
        self.memory[node] -= memory;
        self.changes.push(node);
        true
    }
}

fn score<'s>(
    setting: &'s Setting,
    policy: PackingPolicy,
    room: &Room<'s>,
    shape: &Shape,
    memo: &mut Memo<'s, 's>,
) -> Option<Score> {
    if policy == PackingPolicy::Fragmentation {
        let (growth, left) = least_growth(room, shape, memo)?;
        return Some((growth, setting.left(&left)));
    }
    if policy == PackingPolicy::Live {
        return placement_rank(room, std::slice::from_ref(shape), memo);
    }
    let left = room.without(shape).into_iter().next()?;
    Some(match policy {
        PackingPolicy::Fullest if shape.gpus > 0 => (0, room.gpu_thousandths()),
        PackingPolicy::BestFit => (0, setting.left(&left)),
        _ => (0, 0),
    })
}

impl Setting {
    /// How much is left, CPUs and GPUs each measured by the largest node.
    fn left(&self, room: &Room<'_>) -> u64 {
        room.cpus * self.gpus_most + room.gpu_thousandths() * self.cpus_most
    }
}

/// A number below `bound`, each with the same chance (to within 2^-40 for bounds below 2^24).
fn below(random: &mut Xoshiro256PlusPlus, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}
