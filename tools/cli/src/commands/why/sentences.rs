//! An explanation in sentences.

use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::api::{
    Block, Explanation, Figures, LicenseAmount, NodeTrouble, OpenCondition, Outlook, Place, Promise,
    Shortage, Shortened, Trouble,
};
use daybook_schemas::events::LimitFigures;
use daybook_schemas::grammar::duration::format_time_limit;
use daybook_schemas::grammar::license;
use daybook_schemas::job::{JobState, Reason};
use daybook_schemas::node::PartitionState;
use daybook_schemas::preemption::GivingWay;

use super::words::{amount, counted, free_in_all, jobs, joined, nodes, span, there};
use crate::table::instants::Instants;

/// The sentences, a line for each subject.
pub fn of(explanation: &Explanation, instants: &Instants) -> String {
    let mut lines = Vec::new();
    if explanation.state == JobState::Pending {
        lines.push(waits(explanation));
        lines.extend(explanation.blocks.iter().map(|block| block_line(block, explanation, instants)));
        lines.extend(
            explanation.outlook.as_ref().and_then(|outlook| prospects(outlook, explanation, instants)),
        );
        if !explanation.giving_way.is_empty() {
            lines.push(format!("Room is being made for it by {}.", jobs(&explanation.giving_way)));
        }
    } else {
        lines.push(does_not_wait(explanation, instants));
    }
    lines.extend(explanation.gave_way.as_ref().map(|giving| gave_way(giving, explanation, instants)));
    lines.extend(explanation.used_up.as_ref().map(|figures| used_up(figures, explanation)));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Which limit ends it, or ended it.
fn used_up(figures: &LimitFigures, explanation: &Explanation) -> String {
    let ends = match explanation.state {
        JobState::Running => "It is being ended",
        _ => "Its last run was ended",
    };
    let LimitFigures { limit, of, most, .. } = figures;
    let unit = if limit == "GrpWall" { " min" } else { "" };
    format!("{ends} because the limit {limit} of {of}, {most}{unit}, is used up.")
}

/// Who takes its place, or took it.
fn gave_way(giving: &GivingWay, explanation: &Explanation, instants: &Instants) -> String {
    let by = match giving.array {
        Some(task) => format!("{}_{}", task.array_job, task.task),
        None => giving.by.to_string(),
    };
    let (since, until) = (instants.text(giving.since), instants.text(giving.grace_end));
    let then = match giving.mode {
        PreemptMode::Requeue => "waits again",
        _ => "is over",
    };
    match explanation.state {
        JobState::Suspended => {
            format!(
                "It was told at {since} to stop for job {by}; it goes on by itself when its CPUs are free."
            )
        }
        _ if giving.mode == PreemptMode::Suspend => format!("It was told at {since} to stop for job {by}."),
        JobState::Running => {
            format!(
                "It gives way to job {by}: it was told at {since}, may go on until {until}, and then {then}."
            )
        }
        _ => format!("Its last run was told at {since} to give way to job {by}."),
    }
}

/// `Job 10_[2-9] (train, alice)`.
fn name(explanation: &Explanation) -> String {
    format!("Job {} ({}, {})", explanation.display_id, explanation.name, explanation.user)
}

fn seconds_since(explanation: &Explanation, at: daybook_schemas::UtcMicros) -> i64 {
    explanation.now.seconds() - at.seconds()
}

fn waits(explanation: &Explanation) -> String {
    let (name, partition) = (name(explanation), &explanation.partition);
    let time = span(seconds_since(explanation, explanation.since));
    match explanation.reason {
        Reason::None => format!("{name} waits in partition {partition}, for {time}; no reason is recorded."),
        reason => format!("{name} waits in partition {partition}: {}, for {time}.", reason.word()),
    }
}

fn does_not_wait(explanation: &Explanation, instants: &Instants) -> String {
    let name = format!("{} does not wait", name(explanation));
    let Some(run) = &explanation.run else {
        let ended = explanation.ended.map_or(String::new(), |at| format!(" at {}", instants.text(at)));
        return format!("{name}: it ended{ended} as {} and never ran.", explanation.state.word());
    };
    let on = if run.node_list.is_empty() { String::new() } else { format!(" on {}", run.node_list) };
    if let (Some(ended), false) = (explanation.ended, explanation.state == JobState::Completing) {
        let time = span(ended.seconds() - run.started.seconds());
        return format!(
            "{name}: it ended at {} as {} (exit code {}), after {time}{on}.",
            instants.text(ended),
            explanation.state.word(),
            run.exit
        );
    }
    let time = span(seconds_since(explanation, run.started));
    match (explanation.state, run.limit_end) {
        (JobState::Suspended, _) => {
            format!("{name}: it is suspended{on}, {time} after its start; its time stands still.")
        }
        (JobState::Completing, _) => format!("{name}: it has ended, and is being cleaned up{on}."),
        (_, Some(end)) => {
            format!(
                "{name}: it has been running{on} for {time}; its time limit ends it at {}.",
                instants.text(end)
            )
        }
        (_, None) => format!("{name}: it has been running{on} for {time}, without a time limit."),
    }
}

fn block_line(block: &Block, explanation: &Explanation, instants: &Instants) -> String {
    let id = explanation.job;
    match block {
        Block::Held { after_failed_launch: true, .. } => format!(
            "It could not be launched, and another try would fail too; when the cause is gone, \"scontrol release {id}\" lets it go."
        ),
        Block::Held { .. } if explanation.reason == Reason::ReservationDeleted => format!(
            "The reservation that it asked for is over; \"scontrol release {id}\" lets it go without one."
        ),
        Block::Held { by_administrator: true, .. } => {
            format!(
                "An administrator holds it, and only an administrator can release it (scontrol release {id})."
            )
        }
        Block::Held { .. } => format!("Its owner holds it; \"scontrol release {id}\" lets it go."),
        Block::Dependencies { any, never, conditions, count } => {
            dependencies(*any, *never, conditions, *count)
        }
        Block::Begin { at } => {
            let time = span(at.seconds() - explanation.now.seconds());
            format!("It may not start before {}, in {time}.", instants.text(*at))
        }
        Block::EarlierRun { run, nodes: held } => {
            format!("Its earlier run {run} is still being cleaned up on {}.", nodes(held))
        }
        Block::Partition { state: None } => {
            format!(
                "There is no partition {} any more; the job can be moved or cancelled.",
                explanation.partition
            )
        }
        Block::Partition { state: Some(state) } => {
            let word = match state {
                PartitionState::Up => "UP",
                PartitionState::Down => "DOWN",
                PartitionState::Drain => "DRAIN",
                PartitionState::Inactive => "INACTIVE",
            };
            format!("The partition is {word}: it starts nothing.")
        }
        Block::TimeLimit { asked, most } => format!(
            "Its time limit is {}; the partition allows {} at most.",
            format_time_limit(*asked),
            format_time_limit(*most)
        ),
        Block::NodeLimit { asked, asked_most, least, most } => node_limit(*asked, *asked_most, *least, *most),
        Block::PartitionSize { cpus_needed, cpus_in_all } => {
            format!("It needs {}; the partition has {cpus_in_all} in all.", counted(*cpus_needed, "CPU"))
        }
        Block::ArrayTasks { running, most } => {
            let run = if *running == 1 { "runs" } else { "run" };
            format!(
                "{} of its array {run}, and no more than {most} may at once (%{most}).",
                counted(*running, "task")
            )
        }
        Block::Limit(figures) => limit(figures),
        Block::ReservationWanted { name, start: None, .. } => {
            format!(
                "The reservation {name} that it asks for is over; it is held as soon as that is recorded."
            )
        }
        Block::ReservationWanted { name, permitted: false, .. } => {
            format!("It asks for the reservation {name}, which is not for its user and account.")
        }
        Block::ReservationWanted { name, start: Some(start), .. } => {
            let ahead = start.seconds() - explanation.now.seconds();
            match ahead > 0 {
                true => format!(
                    "It asks for the reservation {name}, which begins at {}, in {}.",
                    instants.text(*start),
                    span(ahead)
                ),
                false => format!(
                    "It asks for the reservation {name}, whose nodes are too few or too small for it."
                ),
            }
        }
        Block::KeptByReservation { name, start, end, maintenance } => {
            let what = if *maintenance { "for maintenance" } else { "for others" };
            format!(
                "It would start now, but for the reservation {name}: it keeps the nodes {what} from {} to {}.",
                instants.text(*start),
                instants.text(*end)
            )
        }
        Block::NodesNotUp { nodes, count } => nodes_not_up(nodes, *count),
        Block::NoSuchLicenses { licenses } => no_such_licenses(licenses),
        Block::NotPermitted { message } => format!("{message}."),
        Block::Impossible { message } => {
            format!("No choice of the partition's nodes could ever give what it asks for: {message}.")
        }
        Block::Resources { short } => short_of(explanation.figures.as_ref(), short),
        Block::Promises { promises } => kept(promises, instants),
        Block::StrictOrder { first } => format!(
            "It would fit now, but job {first} in front of it does not, and this cluster keeps the order (SchedulerType=sched/builtin)."
        ),
        Block::FewSwitches { most, until } => format!(
            "It would fit now, but on more than {}; it waits for so few (--switches) until {}, and then takes any.",
            if *most == 1 { "one leaf switch".to_string() } else { format!("{most} leaf switches") },
            instants.text(*until)
        ),
        Block::StartsInFront { count } => format!(
            "It would fit now, but {} in front of it {} what is free.",
            counted((*count).into(), "run"),
            if *count == 1 { "takes" } else { "take" }
        ),
    }
}

fn dependencies(any: bool, never: bool, conditions: &[OpenCondition], count: u32) -> String {
    let one = |condition: &OpenCondition| match (condition.job, condition.state) {
        (Some(job), Some(state)) => format!("{} (job {job} is {})", condition.notation, state.word()),
        _ => condition.notation.clone(),
    };
    let mut named: Vec<String> = conditions.iter().map(one).collect();
    let more = (count as usize).saturating_sub(named.len());
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let list = joined(&named, if any { "or" } else { "and" });
    match never {
        true => format!(
            "What it depends on can never be fulfilled: {list}. It stays until it is changed or cancelled."
        ),
        false => format!("It depends on {list}."),
    }
}

fn node_limit(asked: u32, asked_most: Option<u32>, least: u32, most: u32) -> String {
    match asked_most.filter(|asked_most| *asked_most < least) {
        Some(asked_most) => format!(
            "It asks for {} at most; the partition gives at least {least}.",
            counted(asked_most.into(), "node")
        ),
        None => format!("It asks for {}; the partition gives {most} at most.", counted(asked.into(), "node")),
    }
}

fn nodes_not_up(troubles: &[NodeTrouble], count: u32) -> String {
    let one = |trouble: &NodeTrouble| {
        let what = match trouble.trouble {
            Trouble::NotRegistered => "never registered",
            Trouble::NotResponding => "not responding",
            Trouble::Down => "down",
            Trouble::Drained => "drained",
            Trouble::Retired => "no longer configured",
            Trouble::GpusMissing => "GPUs missing",
        };
        match trouble.reason.is_empty() {
            true => format!("{} ({what})", trouble.node),
            false => format!("{} ({what}: {})", trouble.node, trouble.reason),
        }
    };
    let mut named: Vec<String> = troubles.iter().map(one).collect();
    if named.is_empty() {
        return "It would fit if nodes that take no work now took work again.".to_string();
    }
    let more = (count as usize).saturating_sub(named.len());
    if more > 0 {
        named.push(format!("{more} more"));
    }
    format!("It would fit if these nodes took work: {}.", joined(&named, "and"))
}

/// `the 16 nodes that it may use`, with how many of them are up where not all are.
fn usable(figures: &Figures) -> String {
    match (figures.nodes_usable, figures.nodes_allowed) {
        (1, 1) => "the one node that it may use".to_string(),
        (usable, allowed) if usable == allowed => format!("the {usable} nodes that it may use"),
        (usable, allowed) => format!("the {usable} nodes in service of {allowed} that it may use"),
    }
}

/// Licences that the cluster does not have.
fn no_such_licenses(licenses: &[LicenseAmount]) -> String {
    let one = |license: &LicenseAmount| match license.in_all {
        0 => format!("It needs {} of licence {}, which is not configured.", license.needs, license.license),
        most => {
            format!("It needs {} of licence {}; there are {most} in all.", license.needs, license.license)
        }
    };
    licenses.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// What is short on nodes, and of licences.
fn short_of(figures: Option<&Figures>, short: &[Shortage]) -> String {
    let (licenses, others): (Vec<Shortage>, Vec<Shortage>) =
        short.iter().cloned().partition(|short| short.what == Shortened::Licenses);
    let mut sentences = Vec::new();
    if licenses.is_empty() || !others.is_empty() {
        sentences.push(resources(figures, &others));
    }
    sentences.extend(licenses.iter().map(|short| {
        let known = |amount: &&LicenseAmount| Some(&amount.license) == short.license.as_ref();
        let amounts = figures.map_or(&[][..], |figures| &figures.licenses);
        let of = amounts.iter().find(known).map_or(String::new(), |amount| format!(" of {}", amount.in_all));
        let name = short.license.as_deref().unwrap_or_default();
        let are = if short.has == 1 { "is" } else { "are" };
        format!("It needs {} of licence {name}; {}{of} {are} free now.", short.needs, short.has)
    }));
    sentences.join(" ")
}

fn resources(figures: Option<&Figures>, short: &[Shortage]) -> String {
    let Some(figures) = figures else { return "What it needs is not free now.".to_string() };
    let place = match (figures.on_one_node, figures.nodes_needed, figures.exclusive) {
        (true, _, false) => " on 1 node".to_string(),
        (true, _, true) => " on 1 node of its own".to_string(),
        (false, 0 | 1, false) => String::new(),
        (false, count, false) => format!(" on {count} nodes"),
        (false, count, true) => format!(" on {} of its own", counted(count.into(), "node")),
    };
    let needs = format!("It needs {}{place}", amount(&figures.needs, figures.all_memory));
    let usable = usable(figures);
    let Some(first) = short.first() else {
        let how = if figures.on_one_node { "on one of them" } else { "as it needs them" };
        return format!("{needs}; on {usable} each is free now, but not together {how}.");
    };
    if first.on_one_node {
        let of_one: Vec<String> = short.iter().filter(|short| short.on_one_node).map(there).collect();
        let list = joined(&of_one, "or");
        if figures.nodes_usable == 1 {
            return format!("{needs}; {usable} has no more than {list} free now.");
        }
        let in_all =
            free_in_all(first, &figures.free).map_or(String::new(), |all| format!(" ({all} free in all)"));
        return format!("{needs}; of {usable} none has more than {list} free now{in_all}.");
    }
    match first.what {
        Shortened::Nodes if figures.nodes_usable == 1 => {
            format!("{needs}; {usable} has no room for it now.")
        }
        Shortened::Nodes => {
            format!("{needs}; of {usable} {} for it now.", has_room(figures.nodes_with_room))
        }
        Shortened::Tasks => {
            format!("{needs}; {usable} have room for {} of its {} tasks now.", first.has, first.needs)
        }
        _ => format!("{needs}; {usable} have {} free now.", there(first)),
    }
}

fn has_room(count: u32) -> String {
    match count {
        0 => "none has room".to_string(),
        1 => "1 has room".to_string(),
        count => format!("{count} have room"),
    }
}

fn kept(promises: &[Promise], instants: &Instants) -> String {
    let one = |promise: &Promise| {
        let licenses = match promise.licenses.is_empty() {
            true => String::new(),
            false => format!(" with {}", license::format(&promise.licenses)),
        };
        let (on, from) = (nodes(&promise.nodes), instants.text(promise.start));
        format!("job {} (on {on}{licenses}, from {from})", promise.job)
    };
    let named: Vec<String> = promises.iter().map(one).collect();
    match named.is_empty() {
        true => "It would fit now, but would hold what is kept for others beyond their start.".to_string(),
        false => format!(
            "It would fit now, but up to its time limit it would hold what is kept for {}.",
            joined(&named, "and")
        ),
    }
}

/// The place in the line and what may be expected; `None` where the block has said all.
fn prospects(outlook: &Outlook, explanation: &Explanation, instants: &Instants) -> Option<String> {
    let place = explanation.place.as_ref().map(|place| place_words(place, instants));
    let expected = match outlook {
        Outlook::StartsNext => "the next planning cycle starts it".to_string(),
        Outlook::Protected { start, nodes: on, after, .. } => {
            let when = {
                let ending: Vec<_> = after.iter().filter(|end| end.is_ending).map(|end| end.job).collect();
                let limited: Vec<_> = after.iter().filter(|end| !end.is_ending).map(|end| end.job).collect();
                match (limited.len(), ending.len()) {
                    (0, 0) => String::new(),
                    (0, _) => format!(", when {} {} cleaned up", jobs(&ending), is_or_are(ending.len())),
                    (1, _) => format!(", when {} reaches its time limit", jobs(&limited)),
                    _ => format!(", when {} reach their time limits", jobs(&limited)),
                }
            };
            format!("expected to start at {} on {}{when}", instants.text(*start), nodes(on))
        }
        Outlook::NoEndKnown => "when it starts is not known, as no time limit leads to it".to_string(),
        Outlook::NotProtected { protected: 0 } => {
            "no start is promised to it, as this cluster protects none".to_string()
        }
        Outlook::NotProtected { protected: 1 } => {
            "no start is promised to it, as only the first of a partition is protected".to_string()
        }
        Outlook::NotProtected { protected } => {
            format!("no start is promised to it, as only the first {protected} of a partition are protected")
        }
        Outlook::NotLookedAt { jobs_considered } => {
            format!(
                "a planning cycle ends after {} of the queue and does not come to it",
                counted((*jobs_considered).into(), "job")
            )
        }
        Outlook::UntilChanged | Outlook::NotInLine => return None,
    };
    Some(match place {
        Some(place) => format!("{place}; {expected}."),
        None => format!("For it {expected}."),
    })
}

/// `The limit MaxTRESPerUser=cpu of QOS high is 4: 3 are in use, and it needs 2.`
fn limit(figures: &LimitFigures) -> String {
    let LimitFigures { limit, of, most, used, needs } = figures;
    let name = limit.split('=').next().unwrap_or(limit);
    let set = format!("The limit {limit} of {of} is {most}");
    let amount =
        |amount: Option<u64>| amount.map_or("time without end".to_string(), |amount| amount.to_string());
    let (used_words, needs_words) = (amount(*used), amount(*needs));
    match name {
        "MinTRESPerJob" => format!("{set} at least, and it asks for {needs_words}."),
        "UsageThreshold" => format!(
            "The fair-share factor of its user, {}, is below the UsageThreshold of {of}, {}.",
            millionths(used.unwrap_or(0)),
            millionths(*most)
        ),
        "MaxWallDurationPerJob" => format!("{set} min, and it asks for {}.", minutes(*needs)),
        "GrpWall" => format!("{set} min, and {} have been used.", minutes(*used)),
        "GrpTRESMins" if needs.is_none() && used.is_some() => {
            format!("{set}, and {used_words} have been used.")
        }
        "GrpTRESMins" => {
            format!("{set}: {used_words} used or promised to what runs, and it may use {needs_words}.")
        }
        _ if name.contains("RunMins") => {
            format!("{set}: what runs may still use {used_words}, and it may use {needs_words}.")
        }
        _ if used.is_none() => format!("{set}, and it asks for {needs_words}."),
        _ => format!("{set}: {used_words} in use, and it needs {needs_words}."),
    }
}

fn minutes(amount: Option<u64>) -> String {
    amount.map_or("no limit".to_string(), |amount| format!("{amount} min"))
}

/// `0.25`.
fn millionths(amount: u64) -> String {
    let digits = format!("{}.{:06}", amount / 1_000_000, amount % 1_000_000);
    digits.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn is_or_are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// `It is the first of 14 in its partition`.
fn place_words(place: &Place, instants: &Instants) -> String {
    let length = match place.more {
        true => format!("more than {}", place.length),
        false => place.length.to_string(),
    };
    let Some(first) = place.first else {
        return match place.length {
            1 if !place.more => "It is the only one in the line of its partition".to_string(),
            _ => format!("It is the first of {length} in the line of its partition"),
        };
    };
    let expected = place
        .first_expected
        .map_or(String::new(), |at| format!(", expected to start at {}", instants.text(at)));
    format!(
        "It is number {} of {length} in the line of its partition, behind job {first}{expected}",
        place.in_front + 1
    )
}
