//! The Fair Tree: which user associations come first, from shares and usage.
//!
//! On each level siblings are ordered by shares divided by usage, both as parts of what the siblings have; from the
//! first to the last, a user gets the next rank and an account hands ranks to everybody below it. So nobody in an
//! account that is below its share stands behind anybody in one that is above. Ties: users of the same level get the
//! same rank; accounts of the same level rank their children together; a user beside such an account gets the rank
//! of its first user.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use daybook_schemas::accounts::{Association, ROOT_ACCOUNT, Shares};
use daybook_schemas::priority::PRIORITY_FACTOR_ONE;
use imbl::OrdMap;

use crate::accounts::{Accounts, TREE_DEPTH_MAX};

/// Shares divided by usage, each as a part of the siblings': an exact fraction; a denominator of 0 is infinity.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// Shares times what the siblings have used.
    pub numerator: u128,
    /// Usage times the shares of the siblings.
    pub denominator: u128,
}

impl Level {
    const INFINITE: Level = Level { numerator: 1, denominator: 0 };
    const LOWEST: Level = Level { numerator: 0, denominator: 1 };
}

impl Ord for Level {
    /// Exact, without products that could overflow: by the whole parts, then by the remainders turned over.
    fn cmp(&self, other: &Level) -> Ordering {
        let (mut one, mut two) = (*self, *other);
        loop {
            match (one.denominator, two.denominator) {
                (0, 0) => return Ordering::Equal,
                (0, _) => return Ordering::Greater,
                (_, 0) => return Ordering::Less,
                _ => {}
            }
            let whole = |level: Level| level.numerator / level.denominator;
            let order = whole(one).cmp(&whole(two));
            if order.is_ne() {
                return order;
            }
            let turned = |level: Level| Level {
                numerator: level.denominator,
                denominator: level.numerator % level.denominator,
            };
            (one, two) = (turned(two), turned(one));
        }
    }
}

impl PartialOrd for Level {
    fn partial_cmp(&self, other: &Level) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Level {
    fn eq(&self, other: &Level) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Level {}

/// Where an association stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The shares of all its siblings and itself.
    pub shares_of_siblings: u64,
    /// What it and all below it have used.
    pub usage: u64,
    /// What the account above it and all below that have used.
    pub usage_above: u64,
    /// `None`: the root, or an account whose shares are its parent's.
    pub level: Option<Level>,
    /// A user's rank, as a part of [`PRIORITY_FACTOR_ONE`].
    pub fair_share: Option<u64>,
}

/// The tree with usage; `usage` is each association's own.
pub(crate) struct FairTree<'a> {
    accounts: &'a Accounts,
    /// With all below.
    usage: BTreeMap<u32, u64>,
    standings: BTreeMap<u32, Standing>,
    /// How many user associations there are.
    users: u64,
    rank: u64,
    /// What the rank would be if no tie existed.
    rank_without_ties: u64,
}

/// An association among its siblings.
type Placed<'a> = (Level, &'a Association);

/// Where every association stands.
pub(crate) fn standings(accounts: &Accounts, own: &OrdMap<u32, u64>) -> BTreeMap<u32, Standing> {
    let mut usage: BTreeMap<u32, u64> = BTreeMap::new();
    for (id, amount) in own {
        let Some(association) = accounts.associations().get(id) else { continue };
        for above in accounts.line_of(association) {
            let sum = usage.entry(above.id).or_default();
            *sum = sum.saturating_add(*amount);
        }
    }
    let users = accounts.associations().values().filter(|association| association.user.is_some()).count();
    let users = u64::try_from(users).unwrap_or(u64::MAX);
    let mut tree = FairTree {
        accounts,
        usage,
        standings: BTreeMap::new(),
        users,
        rank: users,
        rank_without_ties: users,
    };
    if let Some(root) = accounts.at(ROOT_ACCOUNT, None, None) {
        let usage = tree.usage_of(root);
        let standing =
            Standing { shares_of_siblings: 0, usage, usage_above: usage, level: None, fair_share: None };
        tree.standings.insert(root.id, standing);
        let children = tree.place_below(root);
        tree.rank_siblings(children, false, 0);
    }
    tree.standings
}

impl<'a> FairTree<'a> {
    fn usage_of(&self, association: &Association) -> u64 {
        self.usage.get(&association.id).copied().unwrap_or(0)
    }

    /// Siblings below an account. Those below one whose shares are its parent's stand among them.
    fn siblings(&self, account: &str, depth: usize, found: &mut Vec<&'a Association>) {
        for below in self.accounts.below(account) {
            found.push(below);
            if is_passed_over(below) && depth < TREE_DEPTH_MAX {
                self.siblings(&below.account, depth + 1, found);
            }
        }
    }

    /// Finds the level of everybody below an account among the siblings there, and notes it.
    fn place_below(&mut self, account: &Association) -> Vec<Placed<'a>> {
        let mut siblings = Vec::new();
        self.siblings(&account.account, 0, &mut siblings);
        let number = |association: &Association| match association.shares {
            Shares::Number(shares) => u64::from(shares),
            Shares::Parent => 0,
        };
        let shares_of_siblings =
            siblings.iter().fold(0u64, |sum, sibling| sum.saturating_add(number(sibling)));
        let usage_above = self.usage_of(account);
        let mut placed = Vec::with_capacity(siblings.len());
        for sibling in siblings {
            let usage = self.usage_of(sibling);
            let level = match (sibling.shares, &sibling.user) {
                (Shares::Parent, None) => None,
                (Shares::Parent, Some(_)) => Some(Level::INFINITE),
                (Shares::Number(0), _) => Some(Level::LOWEST),
                (Shares::Number(_), _) if usage == 0 => Some(Level::INFINITE),
                (Shares::Number(shares), _) => Some(Level {
                    numerator: u128::from(shares) * u128::from(usage_above),
                    denominator: u128::from(usage) * u128::from(shares_of_siblings),
                }),
            };
            let standing = Standing { shares_of_siblings, usage, usage_above, level, fair_share: None };
            self.standings.insert(sibling.id, standing);
            placed.extend(level.map(|level| (level, sibling)));
        }
        placed
    }

    fn rank_siblings(&mut self, mut siblings: Vec<Placed<'a>>, account_tied: bool, depth: usize) {
        if depth > TREE_DEPTH_MAX {
            return;
        }
        // The highest level first; of one level users before accounts; then by number.
        siblings.sort_by(|(level, one), (other_level, two)| {
            let order = other_level.cmp(level);
            order.then(one.user.is_none().cmp(&two.user.is_none())).then(one.id.cmp(&two.id))
        });
        let mut before: Option<Level> = None;
        let mut at = 0;
        while let Some((level, association)) = siblings.get(at).copied() {
            let tied = if at == 0 { account_tied } else { before == Some(level) };
            before = Some(level);
            at += 1;
            if association.user.is_some() {
                self.rank_user(association, tied);
                continue;
            }
            let mut children = self.place_below(association);
            while let Some((_, other)) = siblings.get(at).filter(|(other_level, _)| *other_level == level) {
                children.extend(self.place_below(other));
                at += 1;
            }
            self.rank_siblings(children, tied, depth + 1);
        }
    }

    fn rank_user(&mut self, association: &Association, tied: bool) {
        if !tied {
            self.rank = self.rank_without_ties;
        }
        self.rank_without_ties = self.rank_without_ties.saturating_sub(1);
        let parts = u128::from(self.rank) * u128::from(PRIORITY_FACTOR_ONE);
        let fair_share = parts.div_ceil(u128::from(self.users.max(1)));
        if let Some(standing) = self.standings.get_mut(&association.id) {
            standing.fair_share = Some(u64::try_from(fair_share).unwrap_or(PRIORITY_FACTOR_ONE));
        }
    }
}

/// An account that has no place of its own: those below it stand where it would.
fn is_passed_over(association: &Association) -> bool {
    association.user.is_none() && association.shares == Shares::Parent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(accounts: &mut Accounts, name: &str, parent: &str, shares: Shares) {
        let id = accounts.next_numbers().0;
        let parent = Some(parent.to_string());
        accounts.define_association(Association {
            id,
            account: name.to_string(),
            parent,
            shares,
            ..Association::default()
        });
    }

    fn user(accounts: &mut Accounts, account: &str, name: &str, shares: Shares) {
        let (id, user) = (accounts.next_numbers().0, Some(name.to_string()));
        accounts.define_association(Association {
            id,
            account: account.to_string(),
            user,
            shares,
            ..Association::default()
        });
    }

    /// Lines: `account NAME PARENT SHARES` or `user ACCOUNT NAME SHARES USAGE`. Gives `ACCOUNT/USER=RANK` in the order
    /// written, root's user first, with ranks counted from the last.
    fn ranks(lines: &str) -> String {
        let mut accounts = Accounts::default();
        let mut usage = OrdMap::new();
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let shares = match words[3] {
                "parent" => Shares::Parent,
                number => Shares::Number(number.parse().unwrap()),
            };
            if words[0] == "account" {
                account(&mut accounts, words[1], words[2], shares);
            } else {
                user(&mut accounts, words[1], words[2], shares);
                let amount: u64 = words[4].parse().unwrap();
                usage.insert(accounts.next_numbers().0 - 1, amount);
            }
        }
        let standings = standings(&accounts, &usage);
        assert_eq!(standings.len(), accounts.associations().len(), "everybody stands somewhere");
        let users = accounts.associations().values().filter(|association| association.user.is_some()).count();
        let told = accounts.associations().values().filter_map(|association| {
            let fair_share = standings[&association.id].fair_share?;
            let rank = (u128::from(fair_share) * users as u128 + (1 << 31)) >> 32;
            Some(format!("{}/{}={rank}", association.account, association.user.as_deref()?))
        });
        told.collect::<Vec<_>>().join(" ")
    }

    /// The site of the recording of a real sshare (`sprio-01`).
    #[test]
    fn ranks_are_those_of_a_real_slurm() {
        let site = "
            account research root 1
            account bio research 5
            account ml research 10
            account tiny root 1
            user bio alice 1 0
            user bio bob 1 1
            user ml alice 1 1271
            user ml carol 1 0
            user tiny alice 1 1";
        assert_eq!(ranks(site), "root/root=6 bio/alice=4 bio/bob=3 ml/alice=1 ml/carol=2 tiny/alice=5");
    }

    #[test]
    fn whoever_has_used_nothing_comes_first_and_ties_share_a_rank() {
        // Level: infinity twice, then 1/4 against 10/60 twice, then 1/4 against 40/60 (root's user has used nothing).
        let flat = "
            account a root 1
            user a idle 1 0
            user a idler 5 0
            user a one 1 10
            user a two 1 10
            user a busy 1 40";
        assert_eq!(ranks(flat), "root/root=6 a/idle=5 a/idler=5 a/one=3 a/two=3 a/busy=1");
    }

    #[test]
    fn equal_usage_is_ordered_by_shares_and_no_shares_come_last() {
        let flat = "
            account a root 1
            user a much 10 100
            user a little 1 100
            user a none 0 0
            user a same 10 100";
        assert_eq!(ranks(flat), "root/root=5 a/much=4 a/little=2 a/none=1 a/same=4");
    }

    #[test]
    fn an_account_below_its_share_comes_first_with_all_its_users() {
        // busy/light has used next to nothing, and still stands behind everybody of calm.
        let nested = "
            account busy root 1
            account calm root 1
            account inner calm 1
            user busy heavy 1 900
            user busy light 1 1
            user calm x 1 50
            user inner y 1 10
            user inner z 1 20";
        assert_eq!(ranks(nested), "root/root=6 busy/heavy=1 busy/light=2 calm/x=3 inner/y=5 inner/z=4");
    }

    #[test]
    fn accounts_of_the_same_level_rank_their_users_together() {
        // Both accounts have used 100; inside one 30 and 70, inside two 10 and 90: by level two/a, one/a, one/b, two/b.
        let tied = "
            account one root 1
            account two root 1
            user one a 1 30
            user one b 1 70
            user two a 1 10
            user two b 1 90";
        assert_eq!(ranks(tied), "root/root=5 one/a=3 one/b=2 two/a=4 two/b=1");
    }

    #[test]
    fn a_user_beside_an_account_of_the_same_level_has_the_rank_of_its_first_user() {
        let tied = "
            account a root 1
            account inner a 1
            user a x 1 50
            user inner y 1 10
            user inner z 1 40";
        assert_eq!(ranks(tied), "root/root=4 a/x=3 inner/y=3 inner/z=1");
    }

    #[test]
    fn parents_shares_put_users_first_and_pass_over_accounts() {
        let parents = "
            account a root 1
            user a x parent 90
            user a y 1 5
            user a z parent 5";
        assert_eq!(ranks(parents), "root/root=4 a/x=3 a/y=1 a/z=3");
        // Below the account that is passed over, b/p and b/q stand beside c: 1 share each of 3.
        let passed = "
            account b root parent
            account c root 1
            user b p 1 10
            user b q 1 60
            user c r 1 30";
        assert_eq!(ranks(passed), "root/root=4 b/p=3 b/q=1 c/r=2");
    }

    #[test]
    fn levels_compare_exactly_where_products_would_overflow() {
        let level = |numerator, denominator| Level { numerator, denominator };
        let most = u128::MAX;
        let table = [
            (level(most, most - 1), level(most - 1, most - 2), Ordering::Less),
            (level(most, 3), level(most, 3), Ordering::Equal),
            (level(2, 6), level(1, 3), Ordering::Equal),
            (level(0, 5), level(0, 7), Ordering::Equal),
            (level(7, 0), level(1, 0), Ordering::Equal),
            (level(most, 1), level(1, 0), Ordering::Less),
            (level(10, 3), level(13, 4), Ordering::Greater),
        ];
        for (one, two, order) in table {
            assert_eq!((one.cmp(&two), two.cmp(&one)), (order, order.reverse()), "{one:?} {two:?}");
        }
    }
}
