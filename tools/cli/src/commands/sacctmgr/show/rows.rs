//! Rows of tables of accounts, and what they have in each column.

use daybook_schemas::Seconds;
use daybook_schemas::accounts::{
    Account, AccountUser, Association, Limits, Qos, Shares, TresAmounts, WorkloadKey,
};
use daybook_schemas::grammar::duration;
use daybook_schemas::limits::{CountLimitName, TresLimitName, WallLimitName};

use super::super::conditions::level_word;
use super::super::settings::mode_word;
use super::super::tree::Tree;
use super::super::tres;
use super::fields::Field;

/// A row: what it is about; what it is not about stays empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row<'a> {
    pub account: Option<&'a Account>,
    pub user: Option<&'a AccountUser>,
    pub association: Option<&'a Association>,
    pub qos: Option<&'a Qos>,
    pub wckey: Option<&'a WorkloadKey>,
    pub problem: Option<&'a str>,
    /// The row is about the cluster itself.
    pub cluster: bool,
}

/// How cells are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cells<'a> {
    pub tree: Option<&'a Tree>,
    /// `tree`: accounts are indented by their level.
    pub indented: bool,
    /// `WOPLimits`: only what associations say themselves.
    pub own_only: bool,
    /// `WOPInfo`: nothing of the accounts above.
    pub without_parents: bool,
    /// The machine of the daemon.
    pub host: &'a str,
}

fn or_empty<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn millionths(factor: u64) -> String {
    format!("{}.{:06}", factor / 1_000_000, factor % 1_000_000)
}

impl Cells<'_> {
    /// The cell of a row in a column.
    pub fn write(&self, row: &Row<'_>, field: Field) -> String {
        let of_qos = row.qos.map(|qos| of_qos(qos, field));
        let of_association = || row.association.and_then(|own| self.of_association(own, field));
        let of_user = || row.user.and_then(|user| self.of_user(user, field));
        let of_account = || row.account.and_then(|account| self.of_account(account, field));
        let of_wckey = || row.wckey.and_then(|key| of_wckey(key, field));
        let text =
            of_qos.flatten().or_else(of_association).or_else(of_user).or_else(of_account).or_else(of_wckey);
        text.unwrap_or_else(|| self.of_row(row, field))
    }

    fn of_row(&self, row: &Row<'_>, field: Field) -> String {
        let has_cluster = row.cluster || row.association.is_some() || row.wckey.is_some();
        match field {
            Field::Cluster if has_cluster => {
                self.tree.map(|tree| tree.view.cluster.clone()).unwrap_or_default()
            }
            Field::ControlHost if row.cluster => self.host.to_string(),
            Field::ControlPort | Field::Rpc if row.cluster => "0".to_string(),
            Field::Problem => row.problem.unwrap_or_default().to_string(),
            _ => String::new(),
        }
    }

    fn of_account(&self, account: &Account, field: Field) -> Option<String> {
        Some(match field {
            Field::Account | Field::Name => account.name.clone(),
            Field::Description => account.description.clone(),
            Field::Organization => account.organization.clone(),
            Field::Coordinators => self.coordinators(account).join(","),
            _ => return None,
        })
    }

    /// Its own coordinators, and those of the accounts above.
    fn coordinators(&self, account: &Account) -> Vec<String> {
        let mut names = account.coordinators.clone();
        let Some(tree) = self.tree else { return names };
        let mut place = tree.account(&account.name);
        for _ in 0..64 {
            place = place.and_then(|own| tree.above(own));
            let Some(own) = place else { break };
            let above = tree.view.accounts.iter().find(|other| other.name == own.account);
            for name in above.into_iter().flat_map(|above| &above.coordinators) {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        names
    }

    fn of_user(&self, user: &AccountUser, field: Field) -> Option<String> {
        Some(match field {
            Field::User | Field::Name => user.name.clone(),
            Field::DefaultAccount => user.default_account.clone().unwrap_or_default(),
            Field::DefaultWckey => user.default_wckey.clone().unwrap_or_default(),
            Field::Admin => level_word(user.admin_level).to_string(),
            Field::Coordinators => {
                let accounts = self.tree.into_iter().flat_map(|tree| &tree.view.accounts);
                let own = accounts.filter(|account| account.coordinators.contains(&user.name));
                own.map(|account| account.name.as_str()).collect::<Vec<_>>().join(",")
            }
            _ => return None,
        })
    }

    fn of_association(&self, own: &Association, field: Field) -> Option<String> {
        let tree = self.tree?;
        let walked = tree.walked(own.id);
        Some(match field {
            Field::Account if self.indented => format!("{}{}", " ".repeat(walked.level), own.account),
            Field::Account => own.account.clone(),
            Field::User => own.user.clone().unwrap_or_default(),
            Field::Partition => own.partition.clone().unwrap_or_default(),
            Field::Comment => own.comment.clone().unwrap_or_default(),
            Field::Id => own.id.to_string(),
            Field::Left => walked.left.to_string(),
            Field::Right => walked.right.to_string(),
            Field::ParentId | Field::ParentName if self.without_parents => String::new(),
            Field::ParentId => or_empty(tree.above(own).map(|above| above.id)),
            Field::ParentName => own.parent.clone().unwrap_or_default(),
            Field::Share => match own.shares {
                Shares::Number(number) => number.to_string(),
                Shares::Parent => "parent".to_string(),
            },
            Field::Priority if self.own_only => or_empty(own.priority),
            Field::Priority => or_empty(tree.priority_of(own)),
            Field::DefaultQos if self.own_only => own.default_qos.clone().unwrap_or_default(),
            Field::DefaultQos => tree.default_qos_of(own).unwrap_or_default().to_string(),
            Field::Qos if self.own_only => own.qos.clone().unwrap_or_default().join(","),
            Field::QosRaw => own.qos.clone().unwrap_or_default().join(","),
            Field::Qos => tree.qos_of(own).join(","),
            Field::Tres(name) => tres::format(&self.tres(tree, own, name)),
            Field::OneTres(name, resource) => or_empty(self.tres(tree, own, name).get(resource)),
            Field::Count(name) => or_empty(self.count(tree, own, name)),
            Field::Wall(name) => wall(self.wall(tree, own, name)),
            _ => return None,
        })
    }

    fn tres(&self, tree: &Tree, own: &Association, name: TresLimitName) -> TresAmounts {
        if self.own_only { own.limits.tres(name).clone() } else { tree.tres_of(own, name) }
    }

    fn count(&self, tree: &Tree, own: &Association, name: CountLimitName) -> Option<u32> {
        if self.own_only { own.limits.count(name) } else { tree.count_of(own, name) }
    }

    fn wall(&self, tree: &Tree, own: &Association, name: WallLimitName) -> Option<Seconds> {
        if self.own_only { own.limits.wall(name) } else { tree.wall_of(own, name) }
    }
}

fn wall(time: Option<Seconds>) -> String {
    time.map_or(String::new(), |Seconds(seconds)| duration::format_elapsed(seconds))
}

fn of_qos(qos: &Qos, field: Field) -> Option<String> {
    Some(match field {
        Field::Name | Field::Qos => qos.name.clone(),
        Field::Id => qos.id.to_string(),
        Field::Description => qos.description.clone(),
        Field::Priority => qos.priority.to_string(),
        Field::GraceTime => duration::format_elapsed(qos.grace_time.0),
        Field::Preempt => qos.preempt.join(","),
        Field::PreemptExemptTime => wall(qos.preempt_exempt_time),
        Field::PreemptMode => mode_word(qos.preempt_mode).to_string(),
        Field::Flags => qos.flags.iter().map(|flag| flag.word()).collect::<Vec<_>>().join(","),
        Field::UsageFactor => millionths(qos.usage_factor),
        Field::UsageThreshold => qos.usage_threshold.map(millionths).unwrap_or_default(),
        Field::LimitFactor => qos.limit_factor.map(millionths).unwrap_or_default(),
        _ => return limit_of(&qos.limits, field),
    })
}

fn limit_of(limits: &Limits, field: Field) -> Option<String> {
    Some(match field {
        Field::Tres(name) => tres::format(limits.tres(name)),
        Field::OneTres(name, resource) => or_empty(limits.tres(name).get(resource)),
        Field::Count(name) => or_empty(limits.count(name)),
        Field::Wall(name) => wall(limits.wall(name)),
        _ => return None,
    })
}

fn of_wckey(key: &WorkloadKey, field: Field) -> Option<String> {
    Some(match field {
        Field::WorkloadKey | Field::Name => key.name.clone(),
        Field::User => key.user.clone(),
        _ => return None,
    })
}
