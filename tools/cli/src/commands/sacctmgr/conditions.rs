//! Conditions: which accounts, users and QOS are meant.

use daybook_schemas::accounts::AdminLevel;

use super::words::{self, Word};

/// Everything that conditions say; what is empty does not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    pub names: Vec<String>,
    pub users: Vec<String>,
    pub accounts: Vec<String>,
    pub clusters: Vec<String>,
    pub partitions: Vec<String>,
    pub parents: Vec<String>,
    pub descriptions: Vec<String>,
    pub organizations: Vec<String>,
    pub default_accounts: Vec<String>,
    pub admin_level: Option<AdminLevel>,
    pub wckeys: Vec<String>,
    pub qos: Vec<String>,
    pub ids: Vec<u32>,
}

/// What a word that stands alone, or `names=`, is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entity {
    Account,
    Association,
    Cluster,
    Coordinator,
    Qos,
    User,
    WorkloadKey,
}

/// A condition that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub struct Unknown;

impl Conditions {
    /// Takes one.
    pub fn take(&mut self, entity: Entity, word: &Word) -> Result<(), Unknown> {
        let Some(value) = &word.value else {
            self.names.extend(words::list(&word.text));
            return Ok(());
        };
        let list = words::list(value);
        let key = word.key.as_str();
        if words::is(key, "Names", 1) {
            self.names.extend(list);
        } else if words::is(key, "Users", 1) {
            self.users.extend(list);
        } else if words::is(key, "Accounts", 2) || words::is(key, "Acct", 4) {
            self.accounts.extend(list);
        } else if words::is(key, "AdminLevel", 2) {
            self.admin_level = Some(admin_level(value).ok_or(Unknown)?);
        } else if words::is(key, "AssociationIds", 2) || words::is(key, "Ids", 2) {
            for id in list {
                self.ids.push(id.parse().map_err(|_| Unknown)?);
            }
        } else if words::is(key, "Clusters", 1) {
            self.clusters.extend(list);
        } else if words::is(key, "DefaultAccount", 8) {
            self.default_accounts.extend(list);
        } else if words::is(key, "Description", 1) && entity == Entity::Account {
            self.descriptions.push(value.clone());
        } else if words::is(key, "Organization", 1) && entity == Entity::Account {
            self.organizations.push(value.clone());
        } else if words::is(key, "Parent", 4) {
            self.parents.extend(list);
        } else if words::is(key, "Partitions", 3) {
            self.partitions.extend(value.split(',').filter(|name| !name.is_empty()).map(str::to_string));
        } else if words::is(key, "QosLevel", 1) {
            self.qos.extend(list);
        } else if words::is(key, "WCKeys", 1) {
            self.wckeys.extend(list);
        } else {
            return Err(Unknown);
        }
        Ok(())
    }

    /// The names, by whichever key they were given.
    pub fn of(&self, entity: Entity) -> Vec<String> {
        let more: &[String] = match entity {
            Entity::Account => &self.accounts,
            Entity::User | Entity::Coordinator => &self.users,
            Entity::Qos => &self.qos,
            Entity::WorkloadKey => &self.wckeys,
            Entity::Cluster => &self.clusters,
            Entity::Association => &[],
        };
        self.names.iter().chain(more).cloned().collect()
    }
}

/// `None`, `Operator`, `Administrator`, or their beginnings.
pub fn admin_level(text: &str) -> Option<AdminLevel> {
    let table = [
        ("none", 1, AdminLevel::None),
        ("operator", 1, AdminLevel::Operator),
        ("administrator", 2, AdminLevel::Administrator),
    ];
    words::find(&table, text)
}

/// How Slurm writes a level.
pub fn level_word(level: AdminLevel) -> &'static str {
    match level {
        AdminLevel::None => "None",
        AdminLevel::Operator => "Operator",
        AdminLevel::Administrator => "Administrator",
    }
}
