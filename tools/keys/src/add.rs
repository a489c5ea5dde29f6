//! `daybook keys add-node`, `add-gateway` and `add-relay`: keys for further machines.

use std::path::Path;

use crate::book::{Book, Lock, Role, User};
use crate::certificates::AUTHORITY_FILE;
use crate::error::Error;
use crate::init::{AUTHORITY, server_directory};
use crate::{files, names, seeds, users_conf};

/// The directory with one directory for each relay.
const RELAYS: &str = "relays";

/// Makes a key for each name and lets it in. Nothing is made when one of the names cannot be.
pub fn run(directory: &Path, role: Role, added: &[String]) -> Result<String, Error> {
    // Before the lock: the complaint about a directory that is none is clearer here.
    Book::read(directory)?;
    let _lock = Lock::take(directory)?;
    let mut book = Book::read(directory)?;
    check(directory, &book, role, added)?;
    let authority_pem = files::read(&directory.join(AUTHORITY).join(AUTHORITY_FILE))?;
    let mut text = String::new();
    for name in added {
        let place = place(role, name);
        let path = directory.join(&place);
        if role == Role::Relay && !directory.join(RELAYS).exists() {
            // Directories that were made before there were relays.
            files::make_directory(&directory.join(RELAYS))?;
        }
        book.users.push(seeds::make_user(role, name, &path, &authority_pem)?);
        // User by user: whatever interrupts this, a key that exists is known, or is the only thing to remove.
        book.write(directory)?;
        text.push_str(&format!("{role} {name}: copy {}/ to that machine\n", path.display()));
        text.push_str(&told_to_gateways(&book));
    }
    write_users(directory, &book)?;
    text.push_str(&restart(directory, &book, "let it in"));
    Ok(text)
}

/// Writes `users.conf` for each server.
pub fn write_users(directory: &Path, book: &Book) -> Result<(), Error> {
    let users = users_conf::render(book);
    for host in &book.hosts {
        let path = server_directory(directory, host).join(users_conf::FILE);
        files::write(&path, files::PUBLIC, users.as_bytes())?;
    }
    Ok(())
}

fn check(directory: &Path, book: &Book, role: Role, added: &[String]) -> Result<(), Error> {
    for (position, name) in added.iter().enumerate() {
        if role == Role::Node { names::check_node(name) } else { names::check_host(name) }
            .map_err(Error::Refused)?;
        if added[..position].contains(name) {
            return Err(Error::Refused(format!("{role} {name} is named twice; nothing was changed")));
        }
        if book.users.iter().any(|user| user.role == role && user.name == *name) {
            return Err(Error::Refused(format!("{role} {name} has a key already; nothing was changed")));
        }
        let path = directory.join(place(role, name));
        if path.symlink_metadata().is_ok() {
            return Err(Error::Refused(format!(
                "{} is there although no key of it is known; nothing was changed. Remove it, then try again",
                path.display()
            )));
        }
    }
    Ok(())
}

/// A relay's key is also for those who believe what it signs.
fn told_to_gateways(book: &Book) -> String {
    match book.users.last() {
        Some(User { role: Role::Relay, name, key }) => format!(
            "  and put this into daybook.toml of each machine that serves it, and restart daybookd there:\n  [relays]\n  \"{name}\" = \"{key}\"\n"
        ),
        _ => String::new(),
    }
}

fn place(role: Role, name: &str) -> String {
    User { role, name: name.to_string(), key: String::new() }.directory()
}

/// How the servers come to know. A reload does not do: nats-server 2.15 makes the imports of a new account only at
/// its start.
pub fn restart(directory: &Path, book: &Book, effect: &str) -> String {
    let mut text = format!("then, so that the servers {effect}, one server after the other:\n");
    for host in &book.hosts {
        let file = server_directory(directory, host).join(users_conf::FILE);
        text.push_str(&format!(
            "  copy {} to {} on {host}, and restart nats-server there\n",
            file.display(),
            book.server_dir
        ));
    }
    text
}
