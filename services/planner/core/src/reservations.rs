//! Reservations as one cycle sees them: which nodes are kept from whom, and when.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use daybook_model::fit::{Bits, Free};
use daybook_model::{Cluster, Job, Reservation, Window};
use daybook_schemas::job::Reason;
use daybook_schemas::reservation::named;
use daybook_schemas::{NodeName, UtcMicros};

use crate::ground::Ground;

/// In which reservation a job is tried: 0 is outside of all, others are one more than the reservation's number. It is
/// compared for each job that a cycle looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Access(u32);

impl Access {
    pub(crate) const OUTSIDE: Access = Access(0);

    fn inside(number: usize) -> Access {
        Access(u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1))
    }

    /// The reservation's number; `None`: outside of all.
    pub(crate) fn number(self) -> Option<usize> {
        self.0.checked_sub(1).map(|number| number as usize)
    }

    /// The line that jobs stand in: those of a partition that are tried in the same reservation stand in one.
    pub(crate) fn line(self, field: usize) -> usize {
        self.0 as usize * LINE_STEP + field
    }
}

/// More partitions than there can be.
const LINE_STEP: usize = 1 << 32;

/// Whether a line is that of a partition's jobs outside of all reservations.
pub(crate) fn is_outside(line: usize) -> bool {
    line < LINE_STEP
}

/// One that is not over.
struct Held<'a> {
    name: &'a Arc<str>,
    reservation: &'a Reservation,
    /// The time that it is in, or that comes next.
    window: Window,
    /// Its nodes' numbers, ascending.
    sites: Vec<usize>,
    /// Of one that keeps CPUs: which, of each of these nodes; empty: whole nodes.
    cpus: Vec<Bits>,
}

/// Where a job is tried: first there, then here; for the last it waits.
pub(crate) type Accesses = (Vec<Access>, Access);

/// All of them, in the order of their names.
pub(crate) struct Reservations<'a> {
    now: UtcMicros,
    all: Vec<Held<'a>>,
    /// Of each node the numbers of those that keep it; empty where there is no reservation at all.
    by_site: Vec<Vec<usize>>,
    /// When nodes are given back, ascending.
    opens: Vec<(UtcMicros, usize)>,
}

impl<'a> Reservations<'a> {
    pub(crate) fn new(cluster: &'a Cluster, now: UtcMicros, ground: &Ground<'_>) -> Reservations<'a> {
        let mut found = Reservations { now, all: Vec::new(), by_site: Vec::new(), opens: Vec::new() };
        for (name, reservation) in cluster.reservations() {
            let Some(window) = reservation.window(now) else { continue };
            let definition = &reservation.definition;
            let mut kept: Vec<(usize, &NodeName)> =
                definition.nodes.iter().filter_map(|node| Some((ground.number(node)?, node))).collect();
            kept.sort_unstable();
            let bits = |(site, node): &(usize, &NodeName)| {
                let end = ground.sites[*site].node.definition.cpus;
                definition.cpus_of(node).map(|cpus| Bits::of(cpus, end))
            };
            let cpus: Vec<Bits> = kept.iter().filter_map(bits).collect();
            let sites: Vec<usize> = kept.into_iter().map(|(site, _)| site).collect();
            ground.count_steps(sites.len());
            found.by_site.resize(ground.sites.len(), Vec::new());
            sites.iter().for_each(|site| found.by_site[*site].push(found.all.len()));
            found.opens.extend(sites.iter().map(|site| (window.end, *site)));
            found.all.push(Held { name, reservation, window, sites, cpus });
        }
        found.opens.sort_unstable();
        found
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// When the first of them begins, ends or is given up: another cycle may decide otherwise then.
    pub(crate) fn wake(&self) -> Option<UtcMicros> {
        self.all.iter().filter_map(|held| held.reservation.next_change(self.now)).min()
    }

    /// When nodes are given back, and which.
    pub(crate) fn opens(&self) -> &[(UtcMicros, usize)] {
        &self.opens
    }

    /// Whether jobs that name no reservation may be drawn into one: then equal requests of two users are not equal.
    pub(crate) fn has_magnet(&self) -> bool {
        self.all.iter().any(|held| held.reservation.definition.flags.magnetic)
    }

    pub(crate) fn name(&self, number: usize) -> &'a Arc<str> {
        self.all[number].name
    }

    pub(crate) fn window(&self, number: usize) -> Window {
        self.all[number].window
    }

    pub(crate) fn is_maintenance(&self, number: usize) -> bool {
        self.all[number].reservation.definition.flags.maintenance
    }

    /// Where a job is to be tried; an error is why it waits without being tried.
    pub(crate) fn accesses(&self, job: &Job) -> Result<Accesses, Reason> {
        let Some(names) = &job.reservation else {
            if self.all.is_empty() {
                return Ok((Vec::new(), Access::OUTSIDE));
            }
            let magnets = (0..self.all.len()).filter(|number| {
                self.all[*number].reservation.definition.flags.magnetic && self.is_usable(*number, job)
            });
            return Ok((magnets.map(Access::inside).collect(), Access::OUTSIDE));
        };
        let known: Vec<usize> = named(names).filter_map(|name| self.number(name)).collect();
        if known.is_empty() {
            return Err(Reason::ReservationDeleted);
        }
        let usable = known.into_iter().filter(|number| self.is_usable(*number, job));
        let mut usable: Vec<Access> = usable.map(Access::inside).collect();
        let last = usable.pop().ok_or(Reason::Reservation)?;
        Ok((usable, last))
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.all.binary_search_by(|held| (**held.name).cmp(name)).ok()
    }

    /// Whether a job may be started in it now.
    fn is_usable(&self, number: usize, job: &Job) -> bool {
        let held = &self.all[number];
        let flags = &held.reservation.definition.flags;
        let has_begun = held.window.start <= self.now || flags.flex || flags.begins_in.is_some();
        has_begun && held.reservation.admits(job)
    }

    /// Of the nodes in this order those that a job tried so may use.
    pub(crate) fn restrict(&self, access: Access, order: Rc<[usize]>) -> Rc<[usize]> {
        match access.number() {
            Some(number) if !self.all[number].reservation.definition.flags.flex => {
                let sites = &self.all[number].sites;
                order.iter().copied().filter(|site| sites.binary_search(site).is_ok()).collect()
            }
            _ => order,
        }
    }

    /// When something that would end at `until` (`None`: never) ends: with its reservation at the latest.
    pub(crate) fn until(&self, access: Access, until: Option<UtcMicros>) -> Option<UtcMicros> {
        until.into_iter().chain(self.bounds(access).map(|window| window.end)).min()
    }

    /// Whether a job tried so may begin at this instant, its nodes aside.
    pub(crate) fn may_begin(&self, access: Access, at: UtcMicros) -> bool {
        self.bounds(access).is_none_or(|window| window.start <= at && at < window.end)
    }

    /// The time that a job tried so cannot leave.
    fn bounds(&self, access: Access) -> Option<Window> {
        let number = access.number()?;
        let held = &self.all[number];
        let flags = &held.reservation.definition.flags;
        (!flags.flex && flags.begins_in.is_none()).then_some(held.window)
    }

    /// The reservation that keeps a node, or CPUs of it, at some instant from `from` to `until` (`None`: for ever) from a job tried so;
    /// one for maintenance before others.
    pub(crate) fn closing(
        &self,
        access: Access,
        site: usize,
        from: UtcMicros,
        until: Option<UtcMicros>,
    ) -> Option<usize> {
        let there = self.by_site.get(site)?.iter().copied();
        let meets = |number: &usize| self.all[*number].reservation.meets(self.now, from, until);
        let closing = there.filter(|number| self.counts_against(access, *number)).filter(meets);
        closing.max_by_key(|number| self.is_maintenance(*number))
    }

    /// The CPUs that a reservation keeps of a node; `None`: all of it.
    fn cpus_on(&self, number: usize, site: usize) -> Option<&Bits> {
        let held = &self.all[number];
        held.cpus.get(held.sites.binary_search(&site).ok()?)
    }

    /// Whether some reservation keeps CPUs of a node: which CPUs something gets there is no matter of numbers alone.
    pub(crate) fn is_parted(&self, site: usize) -> bool {
        let there = self.by_site.get(site).into_iter().flatten();
        there.into_iter().any(|number| self.cpus_on(*number, site).is_some())
    }

    /// What of a node's free parts is for a job tried so, others' reservations aside: in one that keeps CPUs only those.
    pub(crate) fn within<'f>(&self, access: Access, site: usize, free: Cow<'f, Free>) -> Cow<'f, Free> {
        let own = access.number().filter(|number| !self.all[*number].reservation.definition.flags.flex);
        let Some(cpus) = own.and_then(|number| self.cpus_on(number, site)) else { return free };
        let mut free = free;
        free.to_mut().leave_only(cpus);
        free
    }

    /// What of a node's free parts a job tried so may have at every instant from `from` to `until` (`None`: for ever); `None`
    /// where a reservation keeps all of the node from it. `free` is asked for only where none does.
    pub(crate) fn open<'f>(
        &self,
        access: Access,
        site: usize,
        (from, until): (UtcMicros, Option<UtcMicros>),
        free: impl FnOnce() -> Option<Cow<'f, Free>>,
    ) -> Option<Cow<'f, Free>> {
        let Some(there) = self.by_site.get(site).filter(|there| !there.is_empty()) else { return free() };
        let is_kept = |number: &usize| {
            self.counts_against(access, *number) && self.all[*number].reservation.meets(self.now, from, until)
        };
        let mut kept = Vec::new();
        for number in there.iter().copied().filter(is_kept) {
            kept.push(self.cpus_on(number, site)?);
        }
        let mut free = self.within(access, site, free()?);
        kept.into_iter().for_each(|cpus| free.to_mut().leave_out(cpus));
        Some(free)
    }

    /// Slurm's rule for reservations that overlap: one for maintenance gives way to none, one that may overlap only to
    /// those for maintenance.
    fn counts_against(&self, access: Access, other: usize) -> bool {
        let Some(own) = access.number() else { return true };
        let flags = &self.all[own].reservation.definition.flags;
        own != other && !flags.maintenance && (!flags.overlap || self.is_maintenance(other))
    }
}
