//! The accounts as a tree, and what holds for an association by what stands above it.

use std::collections::{BTreeMap, BTreeSet};

use daybook_schemas::Seconds;
use daybook_schemas::accounts::{Association, TresAmounts};
use daybook_schemas::api::AccountsView;
use daybook_schemas::limits::{CountLimitName, TresLimitName, WallLimitName};

/// Where an association stands in a walk through the tree that numbers every way in and out from 1
/// (`LFT`, `RGT`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    pub left: usize,
    pub right: usize,
    /// How many accounts are above.
    pub level: usize,
}

/// Everything that the daemon shows of accounts.
#[derive(Debug, Default)]
pub struct Tree {
    pub view: AccountsView,
    by_id: BTreeMap<u32, usize>,
    /// Of each account its own association.
    own: BTreeMap<String, usize>,
    walked: BTreeMap<u32, Walked>,
}

impl Tree {
    pub fn new(view: AccountsView) -> Tree {
        let mut tree = Tree { view, ..Tree::default() };
        for (place, association) in tree.view.associations.iter().enumerate() {
            tree.by_id.insert(association.id, place);
            if association.user.is_none() {
                tree.own.insert(association.account.clone(), place);
            }
        }
        tree.walked = tree.walk();
        tree
    }

    /// Newest first below each account, as Slurm puts them.
    fn walk(&self) -> BTreeMap<u32, Walked> {
        let mut below: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        let mut waiting: Vec<(u32, usize, bool)> = Vec::new();
        for association in &self.view.associations {
            match above_name(association) {
                Some(above) => below.entry(above).or_default().push(association.id),
                None => waiting.push((association.id, 0, false)),
            }
        }
        let (mut walked, mut next) = (BTreeMap::<u32, Walked>::new(), 1);
        while let Some((id, level, is_left)) = waiting.pop() {
            let entry = walked.entry(id).or_default();
            if is_left {
                entry.right = next;
                next += 1;
                continue;
            }
            if entry.left > 0 {
                continue;
            }
            *entry = Walked { left: next, right: 0, level };
            next += 1;
            waiting.push((id, level, true));
            let account =
                self.association(id).filter(|own| own.user.is_none()).map(|own| own.account.as_str());
            // The last one pushed is the first one walked: numbers rise, so the newest comes first.
            let inner = account.and_then(|account| below.get(account)).into_iter().flatten();
            waiting.extend(inner.map(|id| (*id, level + 1, false)));
        }
        walked
    }

    pub fn association(&self, id: u32) -> Option<&Association> {
        self.view.associations.get(*self.by_id.get(&id)?)
    }

    /// The own association of an account.
    pub fn account(&self, name: &str) -> Option<&Association> {
        self.view.associations.get(*self.own.get(name)?)
    }

    pub fn walked(&self, id: u32) -> Walked {
        self.walked.get(&id).copied().unwrap_or_default()
    }

    pub fn above(&self, association: &Association) -> Option<&Association> {
        self.account(above_name(association)?)
    }

    /// An association and all above it.
    fn line<'a>(&'a self, association: &'a Association) -> impl Iterator<Item = &'a Association> {
        std::iter::successors(Some(association), |below| self.above(below)).take(64)
    }

    /// Associations in the order of the walk.
    pub fn in_walk_order<'a>(
        &'a self,
        all: impl IntoIterator<Item = &'a Association>,
    ) -> Vec<&'a Association> {
        let mut all: Vec<&Association> = all.into_iter().collect();
        all.sort_by_key(|association| self.walked(association.id).left);
        all
    }

    /// Associations as a hierarchy: below each account its users by name, then its subaccounts by name. What has
    /// nothing above it among them stands at the top.
    pub fn as_hierarchy<'a>(
        &'a self,
        all: impl IntoIterator<Item = &'a Association>,
    ) -> Vec<&'a Association> {
        let all = self.in_walk_order(all);
        let shown: BTreeSet<u32> = all.iter().map(|association| association.id).collect();
        let mut below: BTreeMap<u32, Vec<&Association>> = BTreeMap::new();
        for association in all {
            let above = self.above(association).map(|above| above.id).filter(|id| shown.contains(id));
            below.entry(above.unwrap_or(0)).or_default().push(association);
        }
        let key = |association: &&Association| {
            (association.user.is_none(), association.user.clone().unwrap_or(association.account.clone()))
        };
        below.values_mut().for_each(|level| level.sort_by_key(key));
        let mut waiting: Vec<&Association> = below.remove(&0).unwrap_or_default();
        waiting.reverse();
        let mut ordered = Vec::new();
        while let Some(association) = waiting.pop() {
            ordered.push(association);
            waiting.extend(below.remove(&association.id).unwrap_or_default().into_iter().rev());
        }
        ordered
    }

    /// The QOS that jobs of an association may have.
    pub fn qos_of<'a>(&'a self, association: &'a Association) -> &'a [String] {
        let list = self.line(association).find_map(|own| own.qos.as_ref());
        list.map_or(&[], Vec::as_slice)
    }

    pub fn default_qos_of<'a>(&'a self, association: &'a Association) -> Option<&'a str> {
        self.line(association).find_map(|own| own.default_qos.as_deref())
    }

    pub fn priority_of(&self, association: &Association) -> Option<u32> {
        self.line(association).find_map(|own| own.priority)
    }

    pub fn tres_of(&self, association: &Association, name: TresLimitName) -> TresAmounts {
        let mut amounts = association.limits.tres(name).clone();
        if name.is_inherited() {
            for above in self.line(association).skip(1) {
                for (resource, amount) in above.limits.tres(name) {
                    amounts.entry(resource.clone()).or_insert(*amount);
                }
            }
        }
        amounts
    }

    pub fn count_of(&self, association: &Association, name: CountLimitName) -> Option<u32> {
        let depth = if name.is_inherited() { usize::MAX } else { 1 };
        self.line(association).take(depth).find_map(|own| own.limits.count(name))
    }

    pub fn wall_of(&self, association: &Association, name: WallLimitName) -> Option<Seconds> {
        let depth = if name.is_inherited() { usize::MAX } else { 1 };
        self.line(association).take(depth).find_map(|own| own.limits.wall(name))
    }
}

fn above_name(association: &Association) -> Option<&str> {
    match association.user {
        Some(_) => Some(&association.account),
        None => association.parent.as_deref(),
    }
}
