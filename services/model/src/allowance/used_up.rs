//! Runs that have used up what a limit lets them, or their group, use: they are ended, and their jobs are TIMEOUT.
//!
//! As in Slurm: with `safe` nobody is, as no job starts then that could use up more than there is. Of the limits on groups
//! (`GrpTRESMins`, `GrpWall`) those end runs that count past usage, so with `PriorityType=priority/multifactor` alone; the
//! root account's end nobody. A limit on a resource ends those that hold it. `MaxTRESMins` is measured by what the run itself
//! has had, without `UsageFactor`, as it is when the job asks to start.

use std::collections::{BTreeMap, BTreeSet};

use daybook_schemas::accounts::{Limits, ROOT_ACCOUNT};
use daybook_schemas::events::LimitFigures;
use daybook_schemas::limits::{TresLimitName, WallLimitName};
use daybook_schemas::node::AccountingEnforcement;
use daybook_schemas::orders::RunWish;
use daybook_schemas::{RunId, UtcMicros};

use super::start::{MINUTE, minutes};
use super::{Holder, factored, name_of_tres_limit};
use crate::charges::{Amounts, Charge, InUse, Scope, Tres};
use crate::cluster::Cluster;
use crate::run::Run;

/// Whose limits are used up, and when the next are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsedUp {
    /// Runs that are to be ended, by id, each with the first limit that is used up.
    pub runs: BTreeMap<RunId, LimitFigures>,
    /// When, if nothing else happens, the next limit will be used up.
    pub next: Option<UtcMicros>,
}

/// A limit on what a group has used.
struct Group<'a> {
    holder: Holder<'a>,
    /// As sacctmgr names it.
    name: String,
    tres: Tres,
    /// In thousandths of resource-seconds.
    room: i128,
    /// As it was set, in minutes.
    most: u64,
}

/// What a group has used, looked up once for all its members.
type Known = BTreeMap<(Scope, Tres), (i128, InUse)>;

impl Cluster {
    /// Whether runs are ended when their limits are used up.
    fn ends_what_is_used_up(&self) -> bool {
        let safe = || {
            let configured = self.configured.as_ref();
            configured.is_some_and(|configured| configured.parameters.enforces(AccountingEnforcement::Safe))
        };
        self.enforces_limits() && self.accounts.limit_minutes() && !safe()
    }

    /// Which runs have used up at `now` what a limit lets them use, of those that are not ending yet. Linear in those who run
    /// something, where anybody has such a limit.
    pub fn used_up(&self, now: UtcMicros) -> UsedUp {
        let mut found = UsedUp::default();
        if !self.ends_what_is_used_up() {
            return found;
        }
        let mut known = Known::new();
        for (charge, runs) in self.charges.running_lines() {
            for group in self.groups(charge) {
                self.judge_group(&group, runs.iter(), now, &mut known, &mut found);
            }
        }
        for (_, run) in self.charges.own_ends().iter().take_while(|(end, _)| *end <= now) {
            self.add_used_up(&mut found, *run, || self.own_figures(*run, now));
        }
        let later = (UtcMicros(now.0.saturating_add(1)), RunId::new(daybook_schemas::JobId(0), 0));
        let own = self.charges.own_ends().range(later..).map(|(end, _)| *end);
        found.next = found.next.into_iter().chain(own.take(1)).min();
        found
    }

    fn judge_group<'a>(
        &self,
        group: &Group<'_>,
        runs: impl Iterator<Item = &'a RunId>,
        now: UtcMicros,
        known: &mut Known,
        found: &mut UsedUp,
    ) {
        let scope = group.holder.scope();
        let (spent, in_use) =
            *known.entry((scope, group.tres.clone())).or_insert_with_key(|(scope, tres)| {
                let spent = match group.holder {
                    Holder::Qos(qos) => self.spent_by_qos(qos.id, tres),
                    Holder::Association(own) => self.spent_below(own, tres),
                };
                (spent.into(), self.charges.held(scope).map(|held| held.of(tres)).unwrap_or_default())
            });
        let used = spent + in_use.uncounted.since(now).max(0);
        if used < group.room {
            let reached = in_use.uncounted.reaches(group.room - spent);
            found.next = found.next.into_iter().chain(reached).min();
            return;
        }
        let figures = || {
            let (limit, of) = (group.name.clone(), group.holder.name());
            LimitFigures { limit, of, most: group.most, used: Some(minutes(used)), needs: None }
        };
        for run in runs {
            let holds = |amounts: &Amounts| amounts.get(&group.tres).is_some_and(|amount| *amount > 0);
            if self.charges.run(*run).is_some_and(|(_, of_run)| holds(&of_run.amounts)) {
                self.add_used_up(found, *run, || Some(figures()));
            }
        }
    }

    /// The first limit counts.
    fn add_used_up(&self, found: &mut UsedUp, id: RunId, figures: impl FnOnce() -> Option<LimitFigures>) {
        let goes_on = |run: &Run| run.end.is_none() && matches!(run.wish, RunWish::Run | RunWish::GiveWay);
        if found.runs.contains_key(&id) || !self.runs.get(&id).is_some_and(|run| goes_on(run)) {
            return;
        }
        found.runs.extend(figures().map(|figures| (id, figures)));
    }

    /// Limits on what groups have used that a charge meets, in their order.
    fn groups<'a>(&'a self, charge: &Charge) -> Vec<Group<'a>> {
        if self.priority_parameters().is_none() {
            return Vec::new();
        }
        let factor = self.accounts.qos(&charge.qos).and_then(|qos| qos.limit_factor);
        let (mut groups, mut set_by_qos, mut wall_by_qos) = (Vec::new(), BTreeSet::new(), false);
        for qos in self.limiting_qos(charge) {
            // What the first QOS sets the second does not.
            let own: Vec<_> = qos.limits.tres(TresLimitName::GrpTresMins).iter().collect();
            let first = own.into_iter().filter(|(tres, _)| set_by_qos.insert(tres.as_str()));
            groups.extend(first.filter_map(|(tres, most)| Group::of(Holder::Qos(qos), tres, *most)));
            let wall = Group::wall(Holder::Qos(qos), &qos.limits).filter(|_| !wall_by_qos);
            wall_by_qos |= wall.is_some();
            groups.extend(wall);
        }
        let is_root = |account: &str, user: Option<&str>| account == ROOT_ACCOUNT && user.is_none();
        for own in self.limiting_line(charge).filter(|own| !is_root(&own.account, own.user.as_deref())) {
            let set = own.limits.tres(TresLimitName::GrpTresMins).iter();
            let set = set.filter(|(tres, _)| !set_by_qos.contains(tres.as_str()));
            let holder = Holder::Association(own);
            groups.extend(set.filter_map(|(tres, most)| Group::of(holder, tres, factored(*most, factor))));
            groups.extend(Group::wall(holder, &own.limits).filter(|_| !wall_by_qos));
        }
        groups
    }

    /// The limits on what one job may use that a charge meets, each with who sets it: the first holder that does.
    fn own_limits<'a>(&'a self, charge: &Charge) -> Vec<(Holder<'a>, &'a str, u64)> {
        let factor = self.accounts.qos(&charge.qos).and_then(|qos| qos.limit_factor);
        let qos = self.limiting_qos(charge).into_iter().map(|qos| (Holder::Qos(qos), &qos.limits));
        let line = self.limiting_line(charge).map(|own| (Holder::Association(own), &own.limits));
        let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
        for (holder, limits) in qos.chain(line) {
            for (tres, most) in limits.tres(TresLimitName::MaxTresMinsPerJob) {
                let most = match holder {
                    Holder::Qos(_) => *most,
                    Holder::Association(_) => factored(*most, factor),
                };
                if seen.insert(tres.as_str()) {
                    found.push((holder, tres.as_str(), most));
                }
            }
        }
        found
    }

    /// When a run has used up what one job may use; `None`: never, or not before its limit ends it.
    pub(crate) fn own_end(&self, charge: &Charge, amounts: &Amounts, run: &Run) -> Option<UtcMicros> {
        if !self.ends_what_is_used_up() {
            return None;
        }
        let limits = self.own_limits(charge);
        let ends = limits.iter().filter_map(|(_, tres, most)| own_end_by(amounts, tres, *most, run));
        let end = ends.min()?;
        let over_time = self.configured.as_ref().map_or(0, |configured| {
            i64::from(configured.parameters.over_time_limit_minutes).saturating_mul(60)
        });
        let by_limit = run.limit_end().map(|limit| limit.plus_seconds(over_time));
        by_limit.is_none_or(|limit| end < limit).then_some(end)
    }

    fn own_figures(&self, id: RunId, now: UtcMicros) -> Option<LimitFigures> {
        let (charge, of_run) = self.charges.run(id)?;
        let run = self.runs.get(&id)?;
        let limits = self.own_limits(charge);
        let is_over =
            |tres: &str, most| own_end_by(&of_run.amounts, tres, most, run).is_some_and(|end| end <= now);
        let (holder, tres, most) = limits.into_iter().find(|(_, tres, most)| is_over(tres, *most))?;
        let amount = Tres::parse(tres).and_then(|tres| of_run.amounts.get(&tres).copied()).unwrap_or(0);
        let used = i128::from(now.0 - run.allocated.0) * i128::from(amount) / 1_000;
        let limit = format!("{}={tres}", name_of_tres_limit(TresLimitName::MaxTresMinsPerJob));
        Some(LimitFigures { limit, of: holder.name(), most, used: Some(minutes(used)), needs: None })
    }
}

impl<'a> Group<'a> {
    fn of(holder: Holder<'a>, tres: &str, most: u64) -> Option<Group<'a>> {
        let name = format!("{}={tres}", name_of_tres_limit(TresLimitName::GrpTresMins));
        Some(Group { holder, name, tres: Tres::parse(tres)?, room: i128::from(most) * MINUTE, most })
    }

    fn wall(holder: Holder<'a>, limits: &Limits) -> Option<Group<'a>> {
        let most = limits.wall(WallLimitName::GrpWall)?;
        let room = i128::from(most.0) * 1_000;
        Some(Group { holder, name: "GrpWall".to_string(), tres: Tres::Run, room, most: most.0 / 60 })
    }
}

/// When a run has had so many resource-minutes; `None`: it holds nothing of it, or never in any time that can be told.
fn own_end_by(amounts: &Amounts, tres: &str, most: u64, run: &Run) -> Option<UtcMicros> {
    let amount = i128::from(*amounts.get(&Tres::parse(tres)?)?);
    let micros = (i128::from(most) * MINUTE * 1_000 + amount - 1).checked_div(amount)?;
    Some(UtcMicros(run.allocated.0.checked_add(i64::try_from(micros).ok()?)?))
}
