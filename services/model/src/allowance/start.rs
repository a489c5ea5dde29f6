//! Whether a job may start now.

use std::collections::BTreeSet;
use std::sync::Arc;

use daybook_schemas::UtcMicros;
use daybook_schemas::accounts::{Association, Limits, Qos, QosFlag};
use daybook_schemas::job::TimeLimit;
use daybook_schemas::limit_reason::LimitReason;
use daybook_schemas::limits::{CountLimitName, TresLimitName, WallLimitName};
use daybook_schemas::node::AccountingEnforcement;

use super::need::Need;
use super::{Holder, Refusal, factored};
use crate::charges::{Charge, Charges, Held, InUse, Scope, Tres};
use crate::cluster::Cluster;

/// Thousandths of resource-seconds in a resource-minute.
pub(super) const MINUTE: i128 = 60_000;

/// Which rules are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    /// All, at this instant.
    At(UtcMicros),
    /// Those that no passing of time changes.
    Timeless,
    /// Those that the job would break if it were alone.
    Alone,
}

/// A job that wants to start, and everybody who may have a say.
struct Asking<'a> {
    cluster: &'a Cluster,
    charges: &'a Charges,
    charge: &'a Charge,
    need: &'a Need,
    rules: Rules,
    /// The first comes first.
    qos: Vec<&'a Arc<Qos>>,
    line: Vec<&'a Association>,
    /// `LimitFactor` of the job's QOS.
    factor: Option<u64>,
}

impl Cluster {
    /// The first limit that a start at `now` would break, beside what `charges` say is in use; `None` where limits are not
    /// enforced.
    pub fn start_refusal(
        &self,
        charges: &Charges,
        charge: &Charge,
        need: &Need,
        now: UtcMicros,
    ) -> Option<Refusal> {
        self.enforces_limits().then(|| self.asking(charges, charge, need, Rules::At(now)).refusal())?
    }

    /// The same without limits on time used and still to be used, which change as time passes: what voids a start that
    /// was decided on before something else happened.
    pub(crate) fn timeless_refusal(&self, charge: &Charge, need: &Need) -> Option<Refusal> {
        let ask = || self.asking(&self.charges, charge, need, Rules::Timeless).refusal();
        self.enforces_limits().then(ask)?
    }

    /// The first limit that a job would break in a cluster of its own: it can never start as things are.
    pub(super) fn refusal_alone(&self, charge: &Charge, need: &Need) -> Option<Refusal> {
        self.asking(&Charges::default(), charge, need, Rules::Alone).refusal()
    }

    fn asking<'a>(
        &'a self,
        charges: &'a Charges,
        charge: &'a Charge,
        need: &'a Need,
        rules: Rules,
    ) -> Asking<'a> {
        Asking {
            cluster: self,
            charges,
            charge,
            need,
            rules,
            qos: self.limiting_qos(charge),
            line: self.limiting_line(charge).collect(),
            factor: self.accounts.qos(&charge.qos).and_then(|qos| qos.limit_factor),
        }
    }

    /// The longest time that a job may ask for by its QOS and associations; `None`: they do not say.
    pub fn max_wall(&self, charge: &Charge) -> Option<TimeLimit> {
        let of_qos = self
            .limiting_qos(charge)
            .into_iter()
            .find_map(|qos| qos.limits.wall(WallLimitName::MaxWallPerJob));
        let of_line =
            || self.limiting_line(charge).find_map(|own| own.limits.wall(WallLimitName::MaxWallPerJob));
        of_qos.or_else(of_line).map(|most| TimeLimit::Seconds(most.0)).filter(|_| self.enforces_limits())
    }

    /// Whether a waiting job may have a protected start: not by a QOS that reserves nothing, and not below the priority from
    /// which on one is planned ahead.
    pub fn may_be_protected(&self, charge: &Charge, priority: u32) -> bool {
        if !self.enforces_limits() {
            return true;
        }
        let qos = self.limiting_qos(charge);
        if self.accounts.qos(&charge.qos).is_some_and(|own| own.has(QosFlag::NoReserve)) {
            return false;
        }
        let of_qos = qos.iter().find_map(|qos| qos.limits.min_priority);
        let of_line = || self.limiting_line(charge).find_map(|own| own.limits.min_priority);
        of_qos.or_else(of_line).is_none_or(|least| priority >= least)
    }
}

impl<'a> Asking<'a> {
    fn refusal(&self) -> Option<Refusal> {
        self.counts()
            .or_else(|| self.wall())
            .or_else(|| self.usage_threshold())
            .or_else(|| self.of_qos())
            .or_else(|| self.of_line())
    }

    fn held(&self, scope: &Scope) -> Option<&'a Held> {
        self.charges.held(scope)
    }

    fn running(&self, scope: &Scope) -> u64 {
        self.held(scope).map_or(0, |held| held.running)
    }

    fn in_use(&self, scope: &Scope, tres: Option<&Tres>) -> InUse {
        self.held(scope).zip(tres).map(|(held, tres)| held.of(tres)).unwrap_or_default()
    }

    /// What counts at a QOS: all its jobs, the user's, or the account's.
    fn qos_scope(&self, qos: &Qos, limit: impl Into<Whose>) -> Scope {
        let name: Arc<str> = Arc::from(qos.name.as_str());
        match limit.into() {
            Whose::All => Scope::Qos(name),
            Whose::User => Scope::QosUser(name, self.charge.user.clone()),
            Whose::Account => Scope::QosAccount(name, self.charge.account.clone()),
        }
    }

    /// Numbers of running jobs.
    fn counts(&self) -> Option<Refusal> {
        use CountLimitName::*;
        let check = |holder: Holder<'_>, limit, most: u32, scope: &Scope| {
            let running = self.running(scope);
            let is_full = running >= most.into();
            is_full.then(|| holder.refuse_count(limit, (most.into(), Some(running), Some(1))))?
        };
        for limit in [GrpJobs, MaxJobsPerAccount, MaxJobs] {
            let of_qos = self.qos.iter().find_map(|qos| Some((*qos, qos.limits.count(limit)?)));
            if let Some((qos, most)) = of_qos {
                let refused = check(Holder::Qos(qos), limit, most, &self.qos_scope(qos, limit));
                if refused.is_some() {
                    return refused;
                }
                continue;
            }
            if limit == MaxJobs {
                // As with all that a user has from above: it is the user's own jobs that are counted.
                let own = self.line.first().map(|own| Scope::Association(own.id));
                let set = self.line.iter().find_map(|above| Some((*above, above.limits.count(limit)?)));
                let refused = own
                    .zip(set)
                    .and_then(|(own, (above, most))| check(Holder::Association(above), limit, most, &own));
                if refused.is_some() {
                    return refused;
                }
            } else if limit.is_of_associations() {
                let levels = self.line.iter().filter_map(|level| Some((*level, level.limits.count(limit)?)));
                let mut refused = levels.filter_map(|(level, most)| {
                    check(Holder::Association(level), limit, most, &Scope::Association(level.id))
                });
                if let Some(refused) = refused.next() {
                    return Some(refused);
                }
            }
        }
        None
    }

    /// `MaxWall` of the job's limit, and wall time used by everybody together.
    fn wall(&self) -> Option<Refusal> {
        let holders = || self.holders();
        let most = holders().find_map(|(holder, limits)| Some((holder, limits.max_wall_per_job?)));
        if let Some((holder, most)) = most
            && self.need.time > TimeLimit::Seconds(most.0)
        {
            let asked = self.need.time.whole_minutes();
            return Some(holder.refuse_wall(WallLimitName::MaxWallPerJob, (most.0 / 60, None, asked)));
        }
        let Rules::At(now) = self.rules else { return None };
        let is_of_qos = self.qos.iter().any(|qos| qos.limits.grp_wall.is_some());
        let set = holders()
            .filter(|(holder, _)| !is_of_qos || matches!(holder, Holder::Qos(_)))
            .filter_map(|(holder, limits)| Some((holder, limits.grp_wall?)));
        for (holder, most) in set.take(if is_of_qos { 1 } else { usize::MAX }) {
            let used = self.used(holder, Some(&Tres::Run), now);
            if used >= i128::from(most.0) * 1_000 {
                let figures = (most.0 / 60, Some(minutes(used)), None);
                return Some(holder.refuse_wall(WallLimitName::GrpWall, figures));
            }
        }
        None
    }

    /// `UsageThreshold` of the job's QOS.
    fn usage_threshold(&self) -> Option<Refusal> {
        let qos = self.cluster.accounts.qos(&self.charge.qos)?;
        let least = qos.usage_threshold.filter(|_| qos.has(QosFlag::EnforceUsageThreshold))?;
        let Rules::At(_) = self.rules else { return None };
        let own = self.line.first()?;
        let fair_share = self.cluster.fair_share_millionths(own.id)?;
        let refuse = || {
            let limit = "UsageThreshold".to_string();
            Holder::Qos(qos).refuse(LimitReason::USAGE_THRESHOLD, limit, (least, Some(fair_share), None))
        };
        (fair_share < least).then(refuse)
    }

    /// All holders in order with their limits.
    fn holders(&self) -> impl Iterator<Item = (Holder<'a>, &'a Limits)> + '_ {
        let qos = self.qos.iter().map(|qos| (Holder::Qos(qos), &qos.limits));
        qos.chain(self.line.iter().map(|own| (Holder::Association(own), &own.limits)))
    }

    /// Limits of the QOS on resources.
    fn of_qos(&self) -> Option<Refusal> {
        use TresLimitName::*;
        let order = [
            GrpTresMins,
            GrpTres,
            GrpTresRunMins,
            MaxTresMinsPerJob,
            MaxTresPerAccount,
            MaxTresPerJob,
            MaxTresPerNode,
            MaxTresPerUser,
            MaxTresRunMinsPerAccount,
            MaxTresRunMinsPerUser,
            MinTresPerJob,
        ];
        order.into_iter().find_map(|limit| {
            let mut seen = BTreeSet::new();
            let set =
                self.qos.iter().flat_map(|qos| qos.limits.tres(limit).iter().map(move |set| (*qos, set)));
            set.filter(|(_, (tres, _))| seen.insert(tres.as_str()))
                .collect::<Vec<_>>()
                .into_iter()
                .find_map(|(qos, (tres, most))| self.check(Holder::Qos(qos), limit, tres, *most))
        })
    }

    /// Limits of the associations on resources, where no QOS sets the same.
    fn of_line(&self) -> Option<Refusal> {
        use TresLimitName::*;
        let order = [GrpTresMins, GrpTres, GrpTresRunMins, MaxTresMinsPerJob, MaxTresPerJob, MaxTresPerNode];
        order.into_iter().find_map(|limit| {
            let mut seen: BTreeSet<&str> =
                self.qos.iter().flat_map(|qos| qos.limits.tres(limit).keys().map(String::as_str)).collect();
            for level in &self.line {
                for (tres, most) in level.limits.tres(limit) {
                    let is_first =
                        if limit.is_inherited() { seen.insert(tres) } else { !seen.contains(tres.as_str()) };
                    let most = factored(*most, self.factor);
                    let holder = Holder::Association(level);
                    if let Some(refused) = is_first.then(|| self.check(holder, limit, tres, most)).flatten() {
                        return Some(refused);
                    }
                }
            }
            None
        })
    }

    fn check(&self, holder: Holder<'_>, limit: TresLimitName, name: &str, most: u64) -> Option<Refusal> {
        use TresLimitName::*;
        let tres = Tres::parse(name);
        let tres = tres.as_ref();
        let scope = match holder {
            Holder::Qos(qos) => self.qos_scope(qos, limit),
            Holder::Association(_) => holder.scope(),
        };
        let refuse = |figures| Some(holder.refuse_tres(limit, name, figures));
        match limit {
            GrpTres | MaxTresPerAccount | MaxTresPerUser => {
                let (used, needs) = (self.in_use(&scope, tres).amount, self.need.of(tres));
                let is_above = needs > 0 && used.saturating_add(needs) > most;
                is_above.then(|| refuse((most, Some(used), Some(needs))))?
            }
            MaxTresPerJob => {
                let needs = self.need.of(tres);
                (needs > most).then(|| refuse((most, None, Some(needs))))?
            }
            MaxTresPerNode => {
                let needs = self.need.on_a_node(tres);
                (needs > most).then(|| refuse((most, None, Some(needs))))?
            }
            MinTresPerJob => {
                let needs = self.need.of(tres);
                (needs < most).then(|| refuse((most, None, Some(needs))))?
            }
            MaxTresMinsPerJob => {
                let needs = self.need.over_time(tres);
                let is_above = needs.is_none_or(|needs| needs > i128::from(most) * MINUTE);
                is_above.then(|| refuse((most, None, needs.map(minutes_up))))?
            }
            GrpTresRunMins | MaxTresRunMinsPerAccount | MaxTresRunMinsPerUser => {
                self.check_run_minutes(holder, (limit, name, tres), &scope, most)
            }
            GrpTresMins => self.check_minutes(holder, (name, tres), most),
        }
    }

    /// What running jobs may still use.
    fn check_run_minutes(
        &self,
        holder: Holder<'_>,
        (limit, name, tres): (TresLimitName, &str, Option<&Tres>),
        scope: &Scope,
        most: u64,
    ) -> Option<Refusal> {
        let now = match self.rules {
            Rules::At(now) => now,
            Rules::Alone => UtcMicros(0),
            Rules::Timeless => return None,
        };
        let needs = self.need.over_time(tres);
        if needs == Some(0) {
            return None;
        }
        let (left, in_use) = (self.left(scope, tres, now, false), self.in_use(scope, tres));
        let room = i128::from(most) * MINUTE;
        let sum = left.zip(needs).map(|(left, needs)| left.saturating_add(needs));
        let excess = sum.map(|sum| sum.saturating_sub(room));
        if excess.is_some_and(|excess| excess <= 0) {
            return None;
        }
        let figures = (most, left.map(minutes), needs.map(minutes_up));
        let mut refused = holder.refuse_tres(limit, name, figures);
        // What is left becomes less by the amount in use each second, as long as all of it runs on.
        refused.passes = excess.zip(needs).filter(|(_, needs)| *needs <= room).and_then(|(excess, _)| {
            let rate = in_use.left.rate();
            let micros = excess.checked_mul(1_000_000_000)?.checked_add(rate - 1)?.checked_div(rate)?;
            Some(UtcMicros(now.0.saturating_add(i64::try_from(micros).unwrap_or(i64::MAX))))
        });
        Some(refused)
    }

    /// What has been used; with `safe` also what running jobs and this one may still use.
    fn check_minutes(
        &self,
        holder: Holder<'_>,
        (name, tres): (&str, Option<&Tres>),
        most: u64,
    ) -> Option<Refusal> {
        let room = i128::from(most) * MINUTE;
        let refuse = |used: Option<i128>, needs: Option<i128>| {
            let figures = (most, used.map(minutes), needs.map(minutes_up));
            Some(holder.refuse_tres(TresLimitName::GrpTresMins, name, figures))
        };
        let parameters = &self.cluster.configured.as_ref()?.parameters;
        let is_safe = parameters.enforces(AccountingEnforcement::Safe);
        let needs = self.need.over_time(tres);
        if needs == Some(0) || parameters.priority.is_none() {
            return None;
        }
        let needs = self.counted(needs);
        match self.rules {
            Rules::Timeless => None,
            Rules::Alone => {
                let is_above = is_safe && needs.is_none_or(|needs| needs > room);
                is_above.then(|| refuse(None, needs))?
            }
            Rules::At(now) => {
                let used = self.used(holder, tres, now);
                if !is_safe {
                    return (used >= room).then(|| refuse(Some(used), None))?;
                }
                let left = self.left(&holder.scope(), tres, now, true);
                let sum = left.zip(needs).map(|(left, needs)| (used + left).saturating_add(needs));
                let promised = left.map(|left| used + left);
                sum.is_none_or(|sum| sum > room).then(|| refuse(promised, needs))?
            }
        }
    }

    /// What a job may use as its QOS counts it: with its `UsageFactor` where the QOS says that `safe` does.
    fn counted(&self, needs: Option<i128>) -> Option<i128> {
        let qos = self.cluster.accounts.qos(&self.charge.qos);
        match qos.filter(|qos| qos.has(QosFlag::UsageFactorSafe)) {
            Some(qos) => {
                let product = needs?.checked_mul(i128::from(qos.usage_factor))?;
                Some(product / i128::from(daybook_schemas::accounts::FACTOR_ONE))
            }
            None => needs,
        }
    }

    /// What running jobs may still use, in thousandths of resource-seconds; `None`: without end.
    fn left(&self, scope: &Scope, tres: Option<&Tres>, now: UtcMicros, counted: bool) -> Option<i128> {
        let Some(tres) = tres else { return Some(0) };
        let in_use = self.in_use(scope, Some(tres));
        if in_use.endless > 0 {
            return None;
        }
        let left = if counted { in_use.left_counted } else { in_use.left }.until(now);
        // What has passed its limit has nothing left, and not less.
        let overdue = self.charges.overdue(now).filter(|(scopes, _)| scopes.contains(scope));
        let factor = |run: &crate::charges::OfRun| {
            if counted { run.factor_left } else { daybook_schemas::accounts::FACTOR_ONE }
        };
        Some(left - overdue.map(|(_, run)| run.left(tres, now, factor(run))).sum::<i128>())
    }

    /// What has been used up to `now`, in thousandths of resource-seconds.
    fn used(&self, holder: Holder<'_>, tres: Option<&Tres>, now: UtcMicros) -> i128 {
        let Some(tres) = tres else { return 0 };
        let spent = match holder {
            Holder::Qos(qos) => self.cluster.spent_by_qos(qos.id, tres),
            Holder::Association(own) => self.cluster.spent_below(own, tres),
        };
        i128::from(spent) + self.in_use(&holder.scope(), Some(tres)).uncounted.since(now).max(0)
    }
}

/// Whose jobs a limit of a QOS counts.
#[derive(Clone, Copy)]
enum Whose {
    All,
    User,
    Account,
}

impl From<CountLimitName> for Whose {
    fn from(limit: CountLimitName) -> Whose {
        use CountLimitName::*;
        match limit {
            MaxJobs | MaxSubmitJobs | MaxJobsAccrue => Whose::User,
            MaxJobsPerAccount | MaxSubmitJobsPerAccount | MaxJobsAccruePerAccount => Whose::Account,
            GrpJobs | GrpJobsAccrue | GrpSubmitJobs | MinPriority => Whose::All,
        }
    }
}

impl From<TresLimitName> for Whose {
    fn from(limit: TresLimitName) -> Whose {
        use TresLimitName::*;
        match limit {
            MaxTresPerUser | MaxTresRunMinsPerUser => Whose::User,
            MaxTresPerAccount | MaxTresRunMinsPerAccount => Whose::Account,
            _ => Whose::All,
        }
    }
}

/// Whole minutes of thousandths of seconds.
pub(super) fn minutes(amount: i128) -> u64 {
    u64::try_from((amount / MINUTE).max(0)).unwrap_or(u64::MAX)
}

/// The same, rounded up.
fn minutes_up(amount: i128) -> u64 {
    u64::try_from((amount.saturating_add(MINUTE - 1) / MINUTE).max(0)).unwrap_or(u64::MAX)
}
