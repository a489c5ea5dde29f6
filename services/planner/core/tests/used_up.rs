//! Over random histories: runs are told to end at the very instant at which a limit on what their group has used is
//! reached, and not before; and the planner knows that instant. What is used is added up here from single runs.

mod support;

use std::collections::BTreeMap;

use daybook_schemas::accounts::{Association, Limits, Qos};
use daybook_schemas::events::{AssociationDefined, QosDefined};
use daybook_schemas::job::JobUser;
use daybook_schemas::limits::TresLimitName;
use daybook_schemas::node::{AccountingEnforcement, ClusterParameters};
use daybook_schemas::orders::RunWish;
use daybook_schemas::priority::PriorityParameters;
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::{RunId, Seconds, Subject, UtcMicros};
use proptest::prelude::*;
use support::{Simulation, configuration, job, node, parameters, partition};

const USERS: [(&str, u32, &str); 3] = [("alice", 1001, "ml"), ("bob", 1002, "ml"), ("carol", 1003, "bio")];
/// With what their usage counts, in millionths.
const QOS: [(&str, u64); 2] = [("normal", 1_000_000), ("double", 2_500_000)];

#[derive(Clone, Debug)]
enum Act {
    Submit {
        who: usize,
        qos: usize,
        cpus: u32,
    },
    End(usize),
    /// On to the instant that the planner named, or so many seconds.
    Wake,
    Tick(i64),
    Calculate,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let submit = (0..USERS.len(), 0..QOS.len(), 1u32..5);
    let act = prop_oneof![
        4 => submit.prop_map(|(who, qos, cpus)| Act::Submit { who, qos, cpus }),
        1 => any::<usize>().prop_map(Act::End),
        3 => Just(Act::Wake),
        2 => (1i64..400).prop_map(Act::Tick),
        1 => Just(Act::Calculate),
    ];
    prop::collection::vec(act, 1..40)
}

/// What a run counts for: account, user, QOS; CPUs; from when to when.
struct Known {
    who: usize,
    qos: usize,
    cpus: u64,
    from: UtcMicros,
    to: Option<UtcMicros>,
}

/// Of each holder its minutes of CPUs and of wall time; `None`: no limit.
#[derive(Clone, Debug)]
struct Set {
    cpu: Option<u64>,
    wall: Option<u64>,
}

impl Set {
    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        if let Some(most) = self.cpu {
            limits.tres_mut(TresLimitName::GrpTresMins).insert("cpu".to_string(), most);
        }
        limits.grp_wall = self.wall.map(|minutes| Seconds(minutes * 60));
        limits
    }
}

fn sets() -> impl Strategy<Value = Vec<Set>> {
    let set = (prop::option::weighted(0.6, 1u64..30), prop::option::weighted(0.4, 1u64..15));
    prop::collection::vec(set.prop_map(|(cpu, wall)| Set { cpu, wall }), 7)
}

/// The accounts ml and bio, the three users, the two QOS.
fn site(all: &[Set]) -> Simulation {
    let accounting_enforced = vec![AccountingEnforcement::Limits];
    let priority = PriorityParameters { decay_half_life: Seconds(0), ..PriorityParameters::default() };
    let parameters = ClusterParameters { accounting_enforced, priority: Some(priority), ..parameters() };
    let configured =
        configuration(vec![node("a", 16, 4000, &[])], vec![partition("main", &["a"])], parameters);
    let mut simulation = Simulation::new();
    simulation.configure(configured.clone());
    configured.nodes.iter().for_each(|node| simulation.register(node));
    for (account, set) in ["ml", "bio"].into_iter().zip(all) {
        let (account, parent) = (account.to_string(), Some("root".to_string()));
        define(
            &mut simulation,
            Association { account, parent, limits: set.limits(), ..Association::default() },
        );
    }
    for ((user, _, account), set) in USERS.into_iter().zip(&all[2..]) {
        let (account, user) = (account.to_string(), Some(user.to_string()));
        define(
            &mut simulation,
            Association { account, user, limits: set.limits(), ..Association::default() },
        );
    }
    for ((name, factor), set) in QOS.into_iter().zip(&all[5..]) {
        let known = simulation.cluster.accounts().qos(name).map(|qos| qos.id);
        let id = known.unwrap_or(simulation.cluster.accounts().next_numbers().1);
        let qos = Qos { usage_factor: factor, limits: set.limits(), ..Qos::new(id, name) };
        simulation.say(Subject::Jobs, QosDefined { qos });
    }
    simulation
}

fn define(simulation: &mut Simulation, association: Association) {
    let id = simulation.cluster.accounts().next_numbers().0;
    simulation.say(Subject::Jobs, AssociationDefined { association: Association { id, ..association } });
}

/// Two resource-seconds, in millionths of resource-microseconds. What is counted of a run is rounded down to thousandths of a
/// second each time; this is more than all of that together.
const ROUNDED: i128 = 2_000_000 * 1_000_000;

/// Whether a limit that a run meets is used up at an instant, if so much more had been used.
fn is_used_up(
    known: &BTreeMap<RunId, Known>,
    all: &[Set],
    run: RunId,
    (at, more): (UtcMicros, i128),
) -> bool {
    let own = &known[&run];
    let used = |member: &dyn Fn(&Known) -> bool, is_wall: bool| -> i128 {
        let members = known.values().filter(|known| member(known));
        let amount = |known: &Known| {
            let micros = known.to.unwrap_or(at).min(at).0.saturating_sub(known.from.0).max(0);
            let each = if is_wall { 1 } else { known.cpus };
            i128::from(micros) * i128::from(each) * i128::from(QOS[known.qos].1)
        };
        members.map(amount).sum()
    };
    let reached = |most: u64, used: i128| used + more >= i128::from(most) * 60_000_000 * 1_000_000;
    for is_wall in [false, true] {
        let of = |set: &Set| if is_wall { set.wall } else { set.cpu };
        if let Some(most) = of(&all[5 + own.qos]) {
            if reached(most, used(&|known| known.qos == own.qos, is_wall)) {
                return true;
            }
            continue;
        }
        let account = USERS[own.who].2;
        let number = usize::from(account == "bio");
        let of_user = of(&all[2 + own.who]);
        if of_user.is_some_and(|most| reached(most, used(&|known| known.who == own.who, is_wall))) {
            return true;
        }
        let is_below = |known: &Known| USERS[known.who].2 == account;
        if of(&all[number]).is_some_and(|most| reached(most, used(&is_below, is_wall))) {
            return true;
        }
    }
    false
}

fn end(simulation: &mut Simulation, known: &mut BTreeMap<RunId, Known>, run: RunId, cause: EndCause) {
    simulation.end_by(run, cause, ExitStatus::default());
    known.get_mut(&run).expect("it is known").to = Some(simulation.now);
    simulation.release(run);
}

/// Plans, and compares who is told to end.
fn plan(
    simulation: &mut Simulation,
    known: &mut BTreeMap<RunId, Known>,
    all: &[Set],
) -> Result<Option<UtcMicros>, TestCaseError> {
    let now = simulation.now;
    let going = simulation.cluster.runs().values().filter(|run| run.end.is_none());
    let going: Vec<RunId> = going.filter(|run| run.wish == RunWish::Run).map(|run| run.id).collect();
    let cycle = simulation.plan();
    for run in &going {
        let is_told = cycle.used_up.iter().any(|used_up| used_up.run == *run);
        if is_told {
            prop_assert!(is_used_up(known, all, *run, (now, ROUNDED)), "{run} is told to end too early");
        } else {
            prop_assert!(!is_used_up(known, all, *run, (now, -ROUNDED)), "{run} goes on");
        }
    }
    for start in &cycle.starts {
        let job = &simulation.cluster.jobs()[&start.run.job];
        let who = USERS.iter().position(|(name, ..)| *name == job.spec.user.name).expect("known");
        let qos = QOS.iter().position(|(name, _)| *name == &*job.qos).expect("known");
        let cpus = start.nodes.iter().map(|share| share.cpus.len()).sum();
        let from = simulation.cluster.runs()[&start.run].allocated;
        known.insert(start.run, Known { who, qos, cpus, from, to: None });
    }
    // What is told ends: what it uses meanwhile counts.
    let told = simulation.cluster.runs().values().filter(|run| run.wish == RunWish::UsedUp);
    let told: Vec<RunId> = told.map(|run| run.id).collect();
    told.into_iter().for_each(|run| end(simulation, known, run, EndCause::TimeLimit));
    prop_assert!(simulation.cluster.sanity_check().is_ok(), "{:?}", simulation.cluster.sanity_check());
    Ok(cycle.wake)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn runs_are_ended_when_what_their_group_may_use_is_used_up(all in sets(), acts in acts()) {
        let (mut simulation, mut known) = (site(&all), BTreeMap::new());
        let mut wake = None;
        for act in acts {
            match act {
                Act::Submit { who, qos, cpus } => {
                    let (name, uid, account) = USERS[who];
                    let mut spec = job("work", "main", 2_000);
                    spec.user = JobUser { uid, name: name.to_string(), ..(*spec.user).clone() }.into();
                    spec.account = Some(account.to_string());
                    spec.qos = Some(QOS[qos].0.to_string());
                    let mut request = (*spec.request).clone();
                    request.cpus_per_task = cpus;
                    spec.request = request.into();
                    simulation.submit(spec);
                }
                Act::End(number) => {
                    let runs: Vec<RunId> = simulation.cluster.runs().keys().copied().collect();
                    if let Some(run) = runs.get(number % runs.len().max(1)) {
                        end(&mut simulation, &mut known, *run, EndCause::Exited);
                    }
                }
                Act::Wake => simulation.now = wake.unwrap_or(simulation.now),
                Act::Tick(seconds) => {
                    // Nobody looks later than the planner asked for.
                    let then = simulation.now.plus_seconds(seconds);
                    simulation.now = wake.map_or(then, |wake| then.min(wake));
                }
                Act::Calculate => {
                    if let Some(events) = daybook_plan::calculation(&simulation.cluster, simulation.now) {
                        simulation.commit(Subject::Plan, events);
                    }
                }
            }
            plan(&mut simulation, &mut known, &all)?;
            wake = plan(&mut simulation, &mut known, &all)?;
            prop_assert!(wake.is_none_or(|wake| wake > simulation.now), "it is asked to look again at once");
        }
    }
}
