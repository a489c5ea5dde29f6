//! `users.conf`: the accounts, their users and what each may do, as every server reads it.

use std::fmt::Write as _;

use crate::book::{Book, Role, User};
use crate::names::{Names, token};
use crate::permissions::{self, Permissions};

/// The file's name.
pub const FILE: &str = "users.conf";

/// The account that has the streams.
pub const ACCOUNT: &str = "DAYBOOK";

/// The text for these users; the same users in another order give the same text.
pub fn render(book: &Book) -> String {
    let names = book.names();
    let mut users = book.users.clone();
    users.sort();
    let mut text = format!(
        "# Who may connect to the log of cluster {}, and what each may do.\n\
         # Made by `daybook keys` from {}; do not edit. A change needs a restart of each server, one after the other: a reload\n\
         # does not make the imports of a new account.\n\
         # docs/keys.md says what each permission is for.\n\n\
         accounts {{\n",
        book.cluster,
        crate::book::FILE
    );
    text.push_str("  # The server's own account; nobody can connect to it.\n  SYS {}\n\n");
    let _ = writeln!(
        text,
        "  # The streams, and everybody who may make consumers.\n  {ACCOUNT} {{\n    jetstream: enabled"
    );
    text.push_str("    users: [\n");
    for user in users.iter().filter(|user| user.role != Role::Node) {
        let _ = writeln!(text, "      # {} {}", user.role, user.name);
        write_user(&mut text, user, &permissions::of(user.role, &user.name, &names));
    }
    text.push_str(
        "    ]\n    # What nodes' accounts import; each only what bears its own name.\n    exports: [\n",
    );
    for subject in permissions::asked_by_nodes("*", &names) {
        let _ = writeln!(text, "      {{ service: {} }}", quoted(&subject));
    }
    for subject in permissions::blobs_read_by_nodes(&names) {
        let _ = writeln!(text, "      {{ service: {} }}", quoted(&subject));
    }
    let _ = writeln!(text, "      {{ stream: {} }}\n    ]\n  }}", quoted(&names.orders("*")));
    for user in users.iter().filter(|user| user.role == Role::Node) {
        write_node(&mut text, user, &names);
    }
    text.push_str("}\nsystem_account: SYS\n");
    text
}

/// A node's account.
fn write_node(text: &mut String, user: &User, names: &Names) {
    let node = token(&user.name);
    let _ = writeln!(text, "\n  # node {}", user.name);
    let _ = writeln!(text, "  {} {{\n    users: [", quoted(&format!("NODE_{node}")));
    write_user(text, user, &permissions::of(Role::Node, &user.name, names));
    text.push_str("    ]\n    imports: [\n");
    let asked = permissions::asked_by_nodes(&node, names);
    for subject in asked.iter().chain(&permissions::blobs_read_by_nodes(names)) {
        let _ = writeln!(text, "      {{ service: {{ account: {ACCOUNT}, subject: {} }} }}", quoted(subject));
    }
    let orders = quoted(&names.orders(&node));
    let _ = writeln!(text, "      {{ stream: {{ account: {ACCOUNT}, subject: {orders} }} }}\n    ]\n  }}");
}

fn write_user(text: &mut String, user: &User, permissions: &Permissions) {
    let _ = writeln!(text, "      {{ nkey: {}, permissions: {{", user.key);
    write_subjects(text, "publish", &permissions.publish);
    write_subjects(text, "subscribe", &permissions.subscribe);
    if permissions.answer {
        // One answer to each request, within the time that its sender waits at most.
        text.push_str("        allow_responses: { max: 1, expires: \"2m\" }\n");
    }
    text.push_str("      } }\n");
}

fn write_subjects(text: &mut String, what: &str, subjects: &[String]) {
    let _ = writeln!(text, "        {what}: {{ allow: [");
    for subject in subjects {
        let _ = writeln!(text, "          {}", quoted(subject));
    }
    text.push_str("        ] }\n");
}

/// A string of nats-server's configuration. Names and tokens have no quotes or backslashes in them.
fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
