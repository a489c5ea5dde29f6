//! `sacctmgr show`: tables of accounts.

mod columns;
mod fields;
mod problems;
mod rows;
mod tres;

pub use columns::{Delimited, Form};

use super::conditions::{Conditions, Entity};
use super::tree::Tree;
use super::words;
use super::{Session, call};
use crate::client::Client;
use crate::commands::json;
use crate::say;
use columns::Column;
use daybook_schemas::accounts::Association;
use daybook_schemas::api::Ping;
use rows::{Cells, Row};

const ACCOUNT: &str = "account,descr,org";
const ACCOUNT_ASSOCIATIONS: &str = "cluster,parentname,user,share,priority,grpjobs,grpnodes,grpcpus,grpmem,\
     grpsubmit,grpwall,grpcpumins,maxjobs,maxnodes,maxcpus,maxsubmit,maxwall,maxcpumins,qos,defaultqos";
const USER: &str = "user,defaultaccount,adminlevel";
const USER_ASSOCIATIONS: &str = "cluster,account,partition,share,priority,maxjobs,maxnodes,maxcpus,maxsubmit,\
     maxwall,maxcpumins,qos,defaultqos";
const ASSOCIATION: &str = "cluster,account,user,partition,share,priority,grpjobs,grptres,grpsubmit,grpwall,\
     grptresmins,maxjobs,maxtres,maxtrespernode,maxsubmit,maxwall,maxtresmins,qos,defaultqos,grptresrunmins";
const QOS: &str = "name,priority,gracetime,preempt,preemptexempttime,preemptmode,flags%40,usagethreshold,\
     usagefactor,grptres,grptresmins,grptresrunmins,grpjobs,grpsubmit,grpwall,maxtres,maxtrespernode,maxtresmins,\
     maxwall,maxtrespu,maxjobspu,maxsubmitpu,maxtrespa,maxjobspa,maxsubmitpa,mintres";
const CLUSTER: &str = "cluster,controlhost,controlport,rpc,share,grpjobs,grptres,grpsubmit,maxjobs,maxtres,\
     maxsubmit,maxwall,qos,defaultqos";
const WCKEY: &str = "wckey,cluster,user";

/// How things are shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flags {
    pub form: Form,
    pub json: bool,
    /// `-s`: with associations.
    pub associations: bool,
}

/// What is asked for, as it was typed.
#[derive(Default)]
struct Asked {
    which: Conditions,
    format: Option<String>,
    associations: bool,
    coordinators: bool,
    tree: bool,
    own_only: bool,
    without_parents: bool,
}

/// What can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Of(Entity),
    Problems,
    RunawayJobs,
    Tres,
    /// Slurm's, not Daybook's yet.
    Refused(&'static str),
}

const TABLES: &[(&str, usize, Table)] = &[
    ("Accounts", 2, Table::Of(Entity::Account)),
    ("Associations", 2, Table::Of(Entity::Association)),
    ("Clusters", 2, Table::Of(Entity::Cluster)),
    ("Configuration", 2, Table::Refused("configuration")),
    ("Events", 1, Table::Refused("events")),
    ("Federations", 1, Table::Refused("federations")),
    ("Instances", 1, Table::Refused("instances")),
    ("Problems", 1, Table::Problems),
    ("QOS", 1, Table::Of(Entity::Qos)),
    ("Resources", 4, Table::Refused("resources")),
    ("Reservations", 4, Table::Refused("reservations")),
    ("RunawayJobs", 2, Table::RunawayJobs),
    ("Stats", 1, Table::Refused("statistics of Slurm's database daemon")),
    ("Transactions", 1, Table::Refused("transactions")),
    ("Txn", 1, Table::Refused("transactions")),
    ("TRES", 2, Table::Tres),
    ("Users", 1, Table::Of(Entity::User)),
    ("WCKeys", 1, Table::Of(Entity::WorkloadKey)),
];

/// Runs it.
pub fn run(flags: Flags, arguments: &[String]) -> u8 {
    let found = arguments.first().and_then(|word| words::find(TABLES, word));
    let (Some(table), rest) = (found, arguments.get(1..).unwrap_or_default()) else {
        say::line("No valid entity in list command");
        say::line("Input line must include \"Account\", \"Association\", \"Cluster\", \"Configuration\",");
        say::line("\"Event\", \"Federation\", \"Problem\", \"QOS\", \"Resource\", \"Reservation\",");
        say::line("\"RunAwayJobs\", \"Stats\", \"Transaction\", \"TRES\", \"User\", or \"WCKey\"");
        return 1;
    };
    if let Table::Refused(what) = table {
        say::error("sacctmgr", format!("showing {what} is not supported by daybook yet"));
        return 1;
    }
    let entity = if let Table::Of(entity) = table { entity } else { Entity::Association };
    let mut asked = match read(entity, rest) {
        Ok(asked) => asked,
        Err(exit) => return exit,
    };
    asked.associations |= flags.associations;
    let session = match Session::open(true) {
        Ok(session) => session,
        Err(error) => return call::refused(&error),
    };
    let tree = &session.tree;
    match table {
        Table::Of(entity) if flags.json => as_json(entity, tree, &asked.which),
        _ if flags.json => {
            say::error("sacctmgr", "--json goes with accounts, users, associations, QOS and workload keys");
            1
        }
        Table::Of(entity) => print(flags.form, entity, tree, &asked),
        Table::Problems => problems::print(flags.form, tree),
        Table::Tres => tres::print(flags.form),
        _ => {
            // A job ends by an event, or is not over: there is no third way.
            say::print(&format!("Runaway Jobs: No runaway jobs found on cluster {}\n", session.cluster()));
            0
        }
    }
}

fn read(entity: Entity, arguments: &[String]) -> Result<Asked, u8> {
    let mut asked = Asked::default();
    for text in arguments {
        let word = words::read(text);
        let key = word.key.as_str();
        if let Some(value) =
            word.value.as_deref().filter(|_| words::is(key, "Format", 1) || words::is(key, "Fields", 2))
        {
            asked.format = Some(format!("{}{value},", asked.format.unwrap_or_default()));
            continue;
        }
        if word.value.is_none() {
            match key {
                key if words::is(key, "where", 5) => continue,
                key if words::is(key, "WithAssoc", 5) => asked.associations = true,
                key if words::is(key, "WithCoordinators", 5) => asked.coordinators = true,
                key if words::is(key, "WOPLimits", 4) => asked.own_only = true,
                key if words::is(key, "WOPInfo", 4) => asked.without_parents = true,
                key if words::is(key, "Tree", 4) => asked.tree = true,
                key if words::is(key, "WithDeleted", 5) => {
                    say::error("sacctmgr", "withdeleted is not supported by daybook yet");
                    return Err(1);
                }
                _ => {
                    let _ = asked.which.take(entity, &word);
                }
            }
            continue;
        }
        if asked.which.take(entity, &word).is_err() {
            say::line(format!(" Unknown condition: {text}\n Use keyword 'set' to modify value"));
            return Err(1);
        }
    }
    Ok(asked)
}

fn listed(list: &[String], value: &str) -> bool {
    list.is_empty() || list.iter().any(|item| item == value)
}

fn is_here(tree: &Tree, which: &Conditions) -> bool {
    which.clusters.is_empty()
        || which.clusters.iter().any(|name| name.eq_ignore_ascii_case(&tree.view.cluster))
}

/// Whether an association fits what is said of associations; of names only those of its entity are looked at.
fn fits(tree: &Tree, own: &Association, which: &Conditions) -> bool {
    is_here(tree, which)
        && listed(&which.accounts, &own.account)
        && listed(&which.users, own.user.as_deref().unwrap_or_default())
        && listed(&which.partitions, own.partition.as_deref().unwrap_or_default())
        && listed(&which.parents, own.parent.as_deref().unwrap_or_default())
        && (which.ids.is_empty() || which.ids.contains(&own.id))
        && (which.qos.is_empty() || which.qos.iter().any(|qos| tree.qos_of(own).contains(qos)))
}

/// The rows of a table.
fn rows<'a>(entity: Entity, tree: &'a Tree, asked: &Asked) -> Vec<Row<'a>> {
    let which = &asked.which;
    let names = which.of(entity);
    match entity {
        Entity::Association => {
            let all = tree.view.associations.iter();
            let meant = all.filter(|own| fits(tree, own, which) && listed(&names, &own.account));
            tree.as_hierarchy(meant).into_iter().map(of_association).collect()
        }
        Entity::Account => {
            let is_meant = |account: &&daybook_schemas::accounts::Account| {
                let parent = tree.account(&account.name).and_then(|own| own.parent.as_deref());
                is_here(tree, which)
                    && listed(&names, &account.name)
                    && listed(&which.descriptions, &account.description)
                    && listed(&which.organizations, &account.organization)
                    && listed(&which.parents, parent.unwrap_or_default())
                    && (which.users.is_empty()
                        || tree.view.associations.iter().any(|own| {
                            own.account == account.name
                                && own.user.as_ref().is_some_and(|user| which.users.contains(user))
                        }))
            };
            let accounts = tree.view.accounts.iter().filter(is_meant);
            accounts
                .flat_map(|account| {
                    with_associations(tree, asked, Row { account: Some(account), ..Row::default() }, |own| {
                        own.account == account.name
                            && listed(&which.users, own.user.as_deref().unwrap_or_default())
                    })
                })
                .collect()
        }
        Entity::User => {
            let by_association = !which.accounts.is_empty() || !which.partitions.is_empty();
            let meant = |own: &Association, name: &str| {
                own.user.as_deref() == Some(name)
                    && listed(&which.accounts, &own.account)
                    && listed(&which.partitions, own.partition.as_deref().unwrap_or_default())
            };
            let users = tree.view.users.iter().filter(|user| {
                is_here(tree, which)
                    && listed(&names, &user.name)
                    && listed(&which.default_accounts, user.default_account.as_deref().unwrap_or_default())
                    && which.admin_level.is_none_or(|level| level == user.admin_level)
                    && (!by_association || tree.view.associations.iter().any(|own| meant(own, &user.name)))
            });
            users
                .flat_map(|user| {
                    let row = Row { user: Some(user), ..Row::default() };
                    with_associations(tree, asked, row, |own| meant(own, &user.name))
                })
                .collect()
        }
        Entity::Qos => {
            let meant = tree.view.qos.iter().filter(|qos| listed(&names, &qos.name));
            meant.map(|qos| Row { qos: Some(qos), ..Row::default() }).collect()
        }
        Entity::WorkloadKey => {
            let meant = tree.view.wckeys.iter().filter(|key| {
                is_here(tree, which) && listed(&names, &key.name) && listed(&which.users, &key.user)
            });
            meant.map(|key| Row { wckey: Some(key), ..Row::default() }).collect()
        }
        Entity::Cluster | Entity::Coordinator => {
            let is_named =
                names.is_empty() || names.iter().any(|name| name.eq_ignore_ascii_case(&tree.view.cluster));
            let row = Row { cluster: true, association: tree.account("root"), ..Row::default() };
            if is_named { vec![row] } else { Vec::new() }
        }
    }
}

fn of_association(association: &Association) -> Row<'_> {
    Row { association: Some(association), ..Row::default() }
}

/// A row for each association that is meant; of who has none, and where nobody asks for them, one row without.
fn with_associations<'a>(
    tree: &'a Tree,
    asked: &Asked,
    row: Row<'a>,
    is_meant: impl Fn(&Association) -> bool,
) -> Vec<Row<'a>> {
    if !asked.associations {
        return vec![row];
    }
    let meant = tree.in_walk_order(tree.view.associations.iter().filter(|own| is_meant(own)));
    if meant.is_empty() {
        return vec![row];
    }
    meant.into_iter().map(|own| Row { association: Some(own), ..row }).collect()
}

/// The columns that are shown where nobody names any.
fn default_format(entity: Entity, asked: &Asked) -> String {
    let base = match entity {
        Entity::Account => ACCOUNT,
        Entity::User => USER,
        Entity::Association => ASSOCIATION,
        Entity::Qos => QOS,
        Entity::WorkloadKey => WCKEY,
        Entity::Cluster | Entity::Coordinator => CLUSTER,
    };
    let mut format = base.to_string();
    let more = match entity {
        Entity::Account => ACCOUNT_ASSOCIATIONS,
        _ => USER_ASSOCIATIONS,
    };
    if asked.associations && matches!(entity, Entity::Account | Entity::User) {
        format = format!("{format},{more}");
    }
    if asked.coordinators && matches!(entity, Entity::Account | Entity::User) {
        format.push_str(",coordinators");
    }
    format
}

fn print(form: Form, entity: Entity, tree: &Tree, asked: &Asked) -> u8 {
    let format = asked.format.clone().unwrap_or_else(|| default_format(entity, asked));
    let host = if entity == Entity::Cluster { daemon_host() } else { String::new() };
    match render(form, entity, tree, asked, &format, &host) {
        Ok(text) => {
            say::print(&text);
            0
        }
        Err(field) => {
            say::line(format!(" Unknown field '{field}'"));
            1
        }
    }
}

fn render(
    form: Form,
    entity: Entity,
    tree: &Tree,
    asked: &Asked,
    format: &str,
    host: &str,
) -> Result<String, String> {
    let mut columns: Vec<Column> = columns::parse(format)?;
    if asked.tree && entity == Entity::Association {
        columns::widen_accounts(&mut columns);
    }
    let cells = Cells {
        tree: Some(tree),
        indented: asked.tree,
        own_only: asked.own_only,
        without_parents: asked.without_parents,
        host,
    };
    let rows = rows(entity, tree, asked);
    Ok(columns::render(&columns, form, &rows, |row, field| cells.write(row, field)))
}

fn daemon_host() -> String {
    let ping = Client::connect().map_err(Into::into).and_then(|mut client| client.get::<Ping>("/v1/ping"));
    ping.map(|ping| ping.host).unwrap_or_default()
}

fn as_json(entity: Entity, tree: &Tree, which: &Conditions) -> u8 {
    let asked = Asked { which: which.clone(), ..Asked::default() };
    let rows = rows(entity, tree, &asked);
    match entity {
        Entity::Account => {
            json::print("accounts", &rows.iter().filter_map(|row| row.account).collect::<Vec<_>>())
        }
        Entity::User => json::print("users", &rows.iter().filter_map(|row| row.user).collect::<Vec<_>>()),
        Entity::Qos => json::print("qos", &rows.iter().filter_map(|row| row.qos).collect::<Vec<_>>()),
        Entity::WorkloadKey => {
            json::print("wckeys", &rows.iter().filter_map(|row| row.wckey).collect::<Vec<_>>())
        }
        Entity::Association | Entity::Cluster | Entity::Coordinator => {
            json::print("associations", &rows.iter().filter_map(|row| row.association).collect::<Vec<_>>())
        }
    }
}
