//! A timeline against a list of seconds.

use daybook_model::fit::{Amounts, Needed};
use daybook_schemas::UtcMicros;

use super::{Need, Timeline};

const SECONDS: usize = 400;

/// Numbers that are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn amounts(cpus: u32, gpus: [u32; 2]) -> Amounts {
    Amounts { cpus, memory: u64::from(cpus) * 10, gpus: gpus.to_vec() }
}

fn second(at: usize) -> UtcMicros {
    UtcMicros(at as i64)
}

#[test]
fn a_timeline_answers_as_a_list_of_all_instants_would() {
    for seed in 0..20 {
        let mut numbers = Numbers(seed);
        let mut timeline = Timeline::new(&amounts(20, [4, 4]));
        let mut list = vec![(amounts(20, [4, 4]), false); SECONDS];
        for _ in 0..300 {
            let from = numbers.below(SECONDS as u64) as usize;
            let until = (numbers.below(4) > 0).then(|| from + numbers.below(40) as usize);
            // Behind the list's end everything stays as it is there.
            let until = until.filter(|until| *until < SECONDS);
            let end = until.unwrap_or(SECONDS).min(SECONDS);
            let least = |of: fn(&Amounts) -> u32| list[from..end].iter().map(|(row, _)| of(row)).min();
            let (cpus, first, second_type) =
                (least(|row| row.cpus), least(|row| row.gpus[0]), least(|row| row.gpus[1]));
            let change = amounts(numbers.below(3) as u32, [numbers.below(2) as u32, numbers.below(2) as u32]);
            let can_take = cpus >= Some(change.cpus)
                && first >= Some(change.gpus[0])
                && second_type >= Some(change.gpus[1]);
            let is_taken = numbers.below(3) > 0 && can_take;
            timeline.change(&change, is_taken, second(from), until.map(second));
            for (row, _) in &mut list[from..end] {
                let apply = |have: &mut u32, by: u32| if is_taken { *have -= by } else { *have += by };
                apply(&mut row.cpus, change.cpus);
                row.memory = u64::from(row.cpus) * 10;
                row.gpus.iter_mut().zip(&change.gpus).for_each(|(have, by)| apply(have, *by));
            }
            let back = numbers.below(SECONDS as u64) as usize;
            timeline.note_return(second(back));
            list[back].1 = true;
            check(&mut numbers, &timeline, &list);
        }
    }
}

fn check(numbers: &mut Numbers, timeline: &Timeline, list: &[(Amounts, bool)]) {
    let from = numbers.below(SECONDS as u64) as usize;
    let length = 1 + numbers.below(60) as usize;
    let window = &list[from..(from + length).min(SECONDS)];
    let mut least = window[0].0.clone();
    window.iter().for_each(|(row, _)| least.at_most(row));
    assert_eq!(timeline.least(second(from), Some(second(from + length))), least);
    let returns = list[..from].iter().filter(|(_, is_return)| *is_return).count();
    assert_eq!(timeline.returns_before(Some(second(from))), returns);
    assert_eq!(timeline.returns_at(second(from)), list[from].1);

    let needed = Needed {
        least: amounts(numbers.below(30) as u32, [numbers.below(5) as u32, numbers.below(5) as u32]),
        gpus: numbers.below(14) as u32,
        takes: None,
    };
    let is_able = |row: &Amounts| {
        row.cpus >= needed.least.cpus
            && row.gpus.iter().zip(&needed.least.gpus).all(|(have, need)| have >= need)
            && row.gpus.iter().sum::<u32>() >= needed.gpus
    };
    let holds = |start: &usize| list[*start..].iter().take(length).all(|(row, _)| is_able(row));
    let first = (from..SECONDS).filter(|at| list[*at].1).find(holds);
    let found = |latest| timeline.earliest(&Need::new(&needed), second(from), latest, Some(length as i64));
    assert_eq!(found(None), first.map(second));
    let latest = numbers.below(SECONDS as u64) as usize;
    assert_eq!(found(Some(second(latest))), first.filter(|first| *first <= latest).map(second));
}
