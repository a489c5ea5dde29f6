//! Accounts, users, associations and qualities of service as they are now.

use std::sync::Arc;

use daybook_schemas::Body;
use daybook_schemas::accounts::{
    Account, AccountUser, AdminLevel, Association, Limits, NORMAL_QOS, Qos, ROOT_ACCOUNT, WorkloadKey,
};
use imbl::{OrdMap, OrdSet};

/// The tree's depth at most: what is deeper is refused when it is made, and not walked.
pub const TREE_DEPTH_MAX: usize = 64;

/// Where an association stands: account, user (empty: the account itself), partition (empty: all).
type Place = (Arc<str>, Arc<str>, Arc<str>);

/// All that is known of who may use the cluster.
///
/// The root account with the user root in it, and the QOS `normal`, are there from the beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct Accounts {
    accounts: OrdMap<Arc<str>, Arc<Account>>,
    users: OrdMap<Arc<str>, Arc<AccountUser>>,
    qos: OrdMap<Arc<str>, Arc<Qos>>,
    wckeys: OrdSet<WorkloadKey>,
    associations: OrdMap<u32, Arc<Association>>,
    next_association: u32,
    next_qos: u32,
    /// Indexes.
    places: OrdMap<Place, u32>,
    /// Of each account the associations right below: its subaccounts' own, and its users'.
    below: OrdMap<Arc<str>, OrdSet<u32>>,
    limited: Limited,
}

/// How many associations and QOS set limits of a kind that is looked at only where somebody sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Limited {
    /// Limits that end runs when they are used up.
    minutes: u32,
    /// Limits on waiting jobs that gain priority by age.
    accrual: u32,
}

impl Limited {
    fn add(&mut self, limits: &Limits) {
        self.minutes += u32::from(limits_minutes(limits));
        self.accrual += u32::from(limits_accrual(limits));
    }

    fn remove(&mut self, limits: &Limits) {
        self.minutes -= u32::from(limits_minutes(limits));
        self.accrual -= u32::from(limits_accrual(limits));
    }
}

fn limits_minutes(limits: &Limits) -> bool {
    limits.grp_wall.is_some() || !limits.grp_tres_mins.is_empty() || !limits.max_tres_mins_per_job.is_empty()
}

fn limits_accrual(limits: &Limits) -> bool {
    let set = [limits.grp_jobs_accrue, limits.max_jobs_accrue, limits.max_jobs_accrue_per_account];
    set.iter().any(Option::is_some)
}

impl Default for Accounts {
    fn default() -> Accounts {
        let mut accounts = Accounts::empty();
        accounts.define_account(Account {
            name: ROOT_ACCOUNT.to_string(),
            description: "default root account".to_string(),
            organization: ROOT_ACCOUNT.to_string(),
            coordinators: Vec::new(),
        });
        accounts.define_user(AccountUser {
            name: "root".to_string(),
            default_account: Some(ROOT_ACCOUNT.to_string()),
            default_wckey: None,
            admin_level: AdminLevel::Administrator,
        });
        accounts.define_qos(Qos { description: "Normal QOS default".to_string(), ..Qos::new(1, NORMAL_QOS) });
        let root = Association {
            id: 1,
            account: ROOT_ACCOUNT.to_string(),
            qos: Some(vec![NORMAL_QOS.to_string()]),
            ..Association::default()
        };
        accounts.define_association(root);
        let user = Some("root".to_string());
        let of_user =
            Association { id: 2, account: ROOT_ACCOUNT.to_string(), user, ..Association::default() };
        accounts.define_association(of_user);
        accounts
    }
}

impl Accounts {
    /// Nothing at all: what a snapshot is read into.
    pub(crate) fn empty() -> Accounts {
        Accounts {
            accounts: OrdMap::new(),
            users: OrdMap::new(),
            qos: OrdMap::new(),
            wckeys: OrdSet::new(),
            associations: OrdMap::new(),
            next_association: 1,
            next_qos: 1,
            places: OrdMap::new(),
            below: OrdMap::new(),
            limited: Limited::default(),
        }
    }

    /// Whether any association or QOS has a limit that ends runs when it is used up.
    pub(crate) fn limit_minutes(&self) -> bool {
        self.limited.minutes > 0
    }

    /// Whether any has a limit on waiting jobs that gain priority by age.
    pub(crate) fn limit_accrual(&self) -> bool {
        self.limited.accrual > 0
    }

    /// Accounts by name.
    pub fn accounts(&self) -> &OrdMap<Arc<str>, Arc<Account>> {
        &self.accounts
    }

    /// Users by name.
    pub fn users(&self) -> &OrdMap<Arc<str>, Arc<AccountUser>> {
        &self.users
    }

    /// Qualities of service by name.
    pub fn all_qos(&self) -> &OrdMap<Arc<str>, Arc<Qos>> {
        &self.qos
    }

    /// Workload keys, by user and then by name.
    pub fn wckeys(&self) -> &OrdSet<WorkloadKey> {
        &self.wckeys
    }

    /// Associations by number.
    pub fn associations(&self) -> &OrdMap<u32, Arc<Association>> {
        &self.associations
    }

    /// The numbers that the next association and the next QOS get.
    pub fn next_numbers(&self) -> (u32, u32) {
        (self.next_association, self.next_qos)
    }

    /// A QOS.
    pub fn qos(&self, name: &str) -> Option<&Arc<Qos>> {
        self.qos.get(name)
    }

    /// The association at exactly this place; `user` absent: the account's own, `partition` absent: for all.
    pub fn at(
        &self,
        account: &str,
        user: Option<&str>,
        partition: Option<&str>,
    ) -> Option<&Arc<Association>> {
        let place = (Arc::from(account), Arc::from(user.unwrap_or("")), Arc::from(partition.unwrap_or("")));
        self.associations.get(self.places.get(&place)?)
    }

    /// By which association a user's job on an account runs in a partition: the one for that partition, else the one
    /// for all. `None`: by none.
    pub fn of_job(&self, user: &str, account: &str, partition: &str) -> Option<&Arc<Association>> {
        self.at(account, Some(user), Some(partition)).or_else(|| self.at(account, Some(user), None))
    }

    /// The account of a user's jobs that name none.
    pub fn default_account(&self, user: &str) -> Option<&str> {
        self.users.get(user)?.default_account.as_deref()
    }

    /// What is right below an account, by number: its subaccounts' own associations, and its users'.
    pub fn below(&self, account: &str) -> impl Iterator<Item = &Arc<Association>> {
        let numbers = self.below.get(account).into_iter().flatten();
        numbers.filter_map(|id| self.associations.get(id))
    }

    /// What is right above an association: a user's account, an account's parent; `None` at the root.
    pub fn above(&self, association: &Association) -> Option<&Arc<Association>> {
        match association.user {
            Some(_) => self.at(&association.account, None, None),
            None => self.at(association.parent.as_deref()?, None, None),
        }
    }

    /// An association and all above it, up to the root.
    pub fn line_of<'a>(&'a self, association: &'a Association) -> impl Iterator<Item = &'a Association> {
        let above = |association: &&'a Association| self.above(association).map(|above| above.as_ref());
        std::iter::successors(Some(association), above).take(TREE_DEPTH_MAX)
    }

    /// Whether an account is another one or somewhere below it.
    pub fn is_within(&self, account: &str, other: &str) -> bool {
        let own = self.at(account, None, None);
        own.is_some_and(|own| self.line_of(own).any(|association| association.account == other))
    }

    /// Which QOS jobs of an association may have: its own list, or that of the nearest above that has one.
    pub fn qos_of<'a>(&'a self, association: &'a Association) -> &'a [String] {
        let own = self.line_of(association).find_map(|association| association.qos.as_ref());
        own.map_or(&[], Vec::as_slice)
    }

    /// The QOS of jobs of an association that name none: its own default, or that of the nearest above that has one,
    /// else the only one that it may have, else `normal`.
    pub fn default_qos_of<'a>(&'a self, association: &'a Association) -> &'a str {
        let own = self.line_of(association).find_map(|association| association.default_qos.as_deref());
        own.unwrap_or_else(|| match self.qos_of(association) {
            [only] => only,
            _ => NORMAL_QOS,
        })
    }

    /// What a user may change beside what is the user's own.
    pub fn level_of(&self, user: &str) -> AdminLevel {
        self.users.get(user).map_or(AdminLevel::None, |user| user.admin_level)
    }

    /// Whether a user is a coordinator of an account, or of one above it.
    pub fn is_coordinator(&self, user: &str, account: &str) -> bool {
        let Some(own) = self.at(account, None, None) else { return false };
        self.line_of(own).any(|association| {
            let account = self.accounts.get(association.account.as_str());
            account.is_some_and(|account| account.coordinators.iter().any(|name| name == user))
        })
    }

    /// Whether anybody has set accounts up: beside root's account and the QOS `normal` there is something.
    pub fn are_used(&self) -> bool {
        self.associations.len() > 2 || self.qos.len() > 1
    }

    /// What an event of accounts says holds from now on. Other events change nothing.
    pub fn apply(&mut self, body: &Body) {
        match body {
            Body::AccountDefined(data) => self.define_account(data.account.clone()),
            Body::AccountRemoved(data) => self.remove_account(&data.account),
            Body::AssociationDefined(data) => self.define_association(data.association.clone()),
            Body::AssociationRemoved(data) => self.remove_association(data.id),
            Body::QosDefined(data) => self.define_qos(data.qos.clone()),
            Body::QosRemoved(data) => self.remove_qos(&data.qos),
            Body::UserDefined(data) => self.define_user(data.user.clone()),
            Body::UserRemoved(data) => self.remove_user(&data.user),
            Body::WckeyDefined(data) => self.define_wckey(data.key.clone()),
            Body::WckeyRemoved(data) => self.remove_wckey(&data.key),
            _ => {}
        }
    }

    pub(crate) fn define_account(&mut self, account: Account) {
        self.accounts.insert(Arc::from(account.name.as_str()), Arc::new(account));
    }

    pub(crate) fn remove_account(&mut self, name: &str) {
        self.accounts.remove(name);
    }

    pub(crate) fn define_user(&mut self, user: AccountUser) {
        self.users.insert(Arc::from(user.name.as_str()), Arc::new(user));
    }

    pub(crate) fn remove_user(&mut self, name: &str) {
        self.users.remove(name);
    }

    pub(crate) fn define_qos(&mut self, qos: Qos) {
        self.remove_qos(&qos.name);
        self.next_qos = self.next_qos.max(qos.id.saturating_add(1));
        self.limited.add(&qos.limits);
        self.qos.insert(Arc::from(qos.name.as_str()), Arc::new(qos));
    }

    pub(crate) fn remove_qos(&mut self, name: &str) {
        if let Some(qos) = self.qos.remove(name) {
            self.limited.remove(&qos.limits);
        }
    }

    pub(crate) fn define_wckey(&mut self, key: WorkloadKey) {
        self.wckeys.insert(key);
    }

    pub(crate) fn remove_wckey(&mut self, key: &WorkloadKey) {
        self.wckeys.remove(key);
    }

    pub(crate) fn define_association(&mut self, association: Association) {
        self.remove_association(association.id);
        self.next_association = self.next_association.max(association.id.saturating_add(1));
        self.places.insert(place_of(&association), association.id);
        if let Some(above) = account_above(&association) {
            self.below.entry(Arc::from(above)).or_default().insert(association.id);
        }
        self.limited.add(&association.limits);
        self.associations.insert(association.id, Arc::new(association));
    }

    pub(crate) fn remove_association(&mut self, id: u32) {
        let Some(association) = self.associations.remove(&id) else { return };
        self.limited.remove(&association.limits);
        let place = place_of(&association);
        if self.places.get(&place) == Some(&id) {
            self.places.remove(&place);
        }
        let Some(above) = account_above(&association) else { return };
        if let Some(numbers) = self.below.get_mut(above) {
            numbers.remove(&id);
            if numbers.is_empty() {
                self.below.remove(above);
            }
        }
    }

    /// No number that was given is given again, whatever is left.
    pub(crate) fn restore_numbers(&mut self, association: u32, qos: u32) {
        self.next_association = association;
        self.next_qos = qos;
    }

    /// The same, with indexes made anew.
    pub(crate) fn derived(&self) -> Accounts {
        let mut fresh = Accounts {
            places: OrdMap::new(),
            below: OrdMap::new(),
            associations: OrdMap::new(),
            limited: Limited::default(),
            ..self.clone()
        };
        self.qos.values().for_each(|qos| fresh.limited.add(&qos.limits));
        for association in self.associations.values() {
            fresh.define_association(Association::clone(association));
        }
        fresh
    }
}

fn place_of(association: &Association) -> Place {
    let text = |text: &Option<String>| Arc::from(text.as_deref().unwrap_or(""));
    (Arc::from(association.account.as_str()), text(&association.user), text(&association.partition))
}

/// The account that an association is right below.
fn account_above(association: &Association) -> Option<&str> {
    match association.user {
        Some(_) => Some(&association.account),
        None => association.parent.as_deref(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(id: u32, name: &str, parent: &str, qos: &[&str]) -> Association {
        let qos = (!qos.is_empty()).then(|| qos.iter().map(|name| name.to_string()).collect());
        let parent = Some(parent.to_string());
        Association { id, account: name.to_string(), parent, qos, ..Association::default() }
    }

    fn user(id: u32, account: &str, user: &str, partition: Option<&str>) -> Association {
        let (user, partition) = (Some(user.to_string()), partition.map(str::to_string));
        Association { id, account: account.to_string(), user, partition, ..Association::default() }
    }

    fn tree() -> Accounts {
        let mut accounts = Accounts::default();
        let all = [
            account(3, "research", "root", &["high", "normal"]),
            account(4, "ml", "research", &[]),
            user(5, "ml", "alice", None),
            user(6, "ml", "alice", Some("gpu")),
        ];
        all.into_iter().for_each(|association| accounts.define_association(association));
        accounts
    }

    #[test]
    fn a_job_runs_by_the_association_of_its_partition_before_that_of_all() {
        let accounts = tree();
        // user, account, partition, association
        let table = [
            ("alice", "ml", "main", Some(5)),
            ("alice", "ml", "gpu", Some(6)),
            ("alice", "research", "gpu", None),
            ("bob", "ml", "gpu", None),
            ("root", "root", "main", Some(2)),
        ];
        for (user, account, partition, expected) in table {
            let found = accounts.of_job(user, account, partition).map(|association| association.id);
            assert_eq!(found, expected, "{user} {account} {partition}");
        }
    }

    #[test]
    fn what_is_not_said_is_as_above() {
        let accounts = tree();
        let alice = accounts.of_job("alice", "ml", "main").unwrap();
        let line: Vec<u32> = accounts.line_of(alice).map(|association| association.id).collect();
        assert_eq!(line, [5, 4, 3, 1]);
        assert_eq!(accounts.qos_of(alice), ["high", "normal"]);
        assert_eq!(accounts.default_qos_of(alice), "normal");
        assert!(accounts.is_within("ml", "research"));
        assert!(!accounts.is_within("research", "ml"));
    }

    #[test]
    fn a_number_is_never_given_again_and_a_place_moves_with_its_record() {
        let mut accounts = tree();
        accounts.remove_association(6);
        assert_eq!(accounts.next_numbers().0, 7);
        accounts.define_association(account(4, "ml", "root", &[]));
        let below: Vec<u32> = accounts.below("root").map(|association| association.id).collect();
        assert_eq!(below, [2, 3, 4]);
        assert_eq!(accounts.below("research").count(), 0);
        assert_eq!(accounts.derived(), accounts);
    }
}
