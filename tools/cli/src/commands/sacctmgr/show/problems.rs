//! `sacctmgr show problem`: what somebody should look at.

use super::super::tree::Tree;
use super::columns::{self, Form};
use super::rows::{Cells, Row};
use crate::{people, say};
use daybook_schemas::accounts::{AccountUser, Association};

const FORMAT: &str = "cluster,account,user,problem";

/// Accounts without users in them or below, and users whom this machine does not know.
pub fn print(form: Form, tree: &Tree) -> u8 {
    let text = render(form, tree, |user| people::uid_of(&user.name).is_some());
    say::print(&text);
    0
}

fn render(form: Form, tree: &Tree, is_known: impl Fn(&AccountUser) -> bool) -> String {
    let users: Vec<&Association> = tree.view.associations.iter().filter(|own| own.user.is_some()).collect();
    let has_users = |account: &Association| {
        let outside = tree.walked(account.id);
        users.iter().any(|own| {
            let inside = tree.walked(own.id);
            inside.left > outside.left && inside.right < outside.right
        })
    };
    let accounts = tree.view.associations.iter().filter(|own| own.user.is_none());
    let empty = tree.in_walk_order(accounts.filter(|own| !has_users(own)));
    let mut rows: Vec<Row<'_>> = empty
        .into_iter()
        .map(|own| Row { association: Some(own), problem: Some("Account has no users"), ..Row::default() })
        .collect();
    let unknown = tree.view.users.iter().filter(|user| !is_known(user));
    rows.extend(unknown.map(|user| Row {
        user: Some(user),
        problem: Some("User does not have a uid"),
        ..Row::default()
    }));
    let cells = Cells { tree: Some(tree), ..Cells::default() };
    let columns = columns::parse(FORMAT).unwrap_or_default();
    columns::render(&columns, form, &rows, |row, field| cells.write(row, field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_accounts_and_unknown_users_are_problems() {
        let accounts = include_str!("../../../../tests/cli/sacctmgr/accounts.json");
        let tree = Tree::new(serde_json::from_str(accounts).unwrap());
        let shown = render(Form::default(), &tree, |user| user.name != "nosuchunix");
        let lines: Vec<&str> = shown.lines().skip(2).collect();
        let expected = [
            "        tx      astro                                Account has no users ",
            "                      nosuchunix                 User does not have a uid ",
        ];
        assert_eq!(lines, expected);
    }
}
