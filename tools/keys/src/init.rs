//! `daybook keys init`: a new directory with everything for a new cluster's log.

use std::fs;
use std::path::{Path, PathBuf};

use crate::book::{Book, Role, User};
use crate::certificates::{self, AUTHORITY_FILE};
use crate::error::{Error, at};
use crate::files::{self, PUBLIC};
use crate::{names, seeds, server_conf, users_conf};

/// The directory of the authority.
pub const AUTHORITY: &str = "ca";
/// The directory with one directory for each server.
pub const SERVERS: &str = "servers";
/// The most servers; more make every append slower and nothing safer.
const SERVERS_MAX: usize = 7;

/// Makes the directory. `book` has no users yet.
pub fn run(directory: &Path, mut book: Book) -> Result<String, Error> {
    check(&book)?;
    let occupied = match fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(at(directory)(error)),
    };
    if occupied {
        return Err(Error::Refused(format!(
            "{} is there already and not empty; nothing in it was changed. Give a directory that does not exist",
            directory.display()
        )));
    }
    files::make_filled(directory, |directory| fill(directory, &mut book))?;
    Ok(next_steps(directory, &book))
}

fn check(book: &Book) -> Result<(), Error> {
    names::check_cluster(&book.cluster).map_err(Error::Refused)?;
    for host in &book.hosts {
        names::check_host(host).map_err(Error::Refused)?;
    }
    let mut hosts = book.hosts.clone();
    hosts.sort();
    hosts.dedup();
    if hosts.len() != book.hosts.len() {
        return Err(Error::Refused("a host is named twice; name each server's machine once".to_string()));
    }
    if book.hosts.len().is_multiple_of(2) || book.hosts.len() > SERVERS_MAX {
        return Err(Error::Refused(format!(
            "{} hosts: servers decide by majority, so give 1, 3, 5 or 7 of them",
            book.hosts.len()
        )));
    }
    for (option, path) in [("--server-dir", &book.server_dir), ("--store-dir", &book.store_dir)] {
        if !path.starts_with('/') || path.contains(['"', '\\', '\n']) {
            return Err(Error::Refused(format!(
                "{option} {path:?}: give an absolute path without quotes or backslashes"
            )));
        }
    }
    let mut ports = [book.client_port, book.route_port, book.monitor_port];
    ports.sort();
    if ports[0] == 0 || ports[0] == ports[1] || ports[1] == ports[2] {
        return Err(Error::Refused("the three ports must differ, and none may be 0".to_string()));
    }
    Ok(())
}

fn fill(directory: &Path, book: &mut Book) -> Result<(), Error> {
    let authority = directory.join(AUTHORITY);
    for name in [AUTHORITY, SERVERS, "nodes", "gateways", "relays"] {
        files::make_directory(&directory.join(name))?;
    }
    certificates::make_authority(&authority, &book.cluster)?;
    let authority_pem = files::read(&authority.join(AUTHORITY_FILE))?;
    for role in [Role::Admin, Role::Service] {
        let name = role.to_string();
        let user: User = seeds::make_user(role, &name, &directory.join(&name), &authority_pem)?;
        book.users.push(user);
    }
    let hosts: Vec<(&str, PathBuf)> =
        book.hosts.iter().map(|host| (host.as_str(), server_directory(directory, host))).collect();
    for (host, path) in &hosts {
        files::make_directory(path)?;
        files::write(&path.join(AUTHORITY_FILE), PUBLIC, authority_pem.as_bytes())?;
        files::write(&path.join(server_conf::FILE), PUBLIC, server_conf::render(book, host).as_bytes())?;
        files::write(&path.join(users_conf::FILE), PUBLIC, users_conf::render(book).as_bytes())?;
    }
    certificates::make_servers(&authority, &book.cluster, &hosts)?;
    book.write(directory)
}

/// Where a server's files are, below the directory of keys.
pub fn server_directory(directory: &Path, host: &str) -> PathBuf {
    directory.join(SERVERS).join(host)
}

fn next_steps(directory: &Path, book: &Book) -> String {
    let shown = directory.display();
    let mut text = format!("{shown}: keys for cluster {}. Next:\n", book.cluster);
    for host in &book.hosts {
        text.push_str(&format!(
            "  copy {shown}/{SERVERS}/{host}/ to {} on {host}, owned by nats-server's user, and start the server\n",
            book.server_dir
        ));
    }
    text.push_str(&format!(
        "  copy {shown}/service/ to each machine that runs daybookd\n\
         \x20 daybook keys add-node {shown} NODE...     for the machines with agents\n\
         \x20 daybook keys add-gateway {shown} HOST     for login machines with a gateway of their own\n\
         \x20 daybook keys add-relay {shown} HOST       for login machines with a relay\n\
         Keep {shown} where nobody else can read it, and make a backup: who has it can do everything.\n"
    ));
    text
}
