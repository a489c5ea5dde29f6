//! `daybook keys renew`: new certificates for the servers, by the same authority, before the old ones end; and
//! `users.conf` once more, as it should be.

use std::path::{Path, PathBuf};

use crate::add;
use crate::book::{Book, Lock};
use crate::certificates;
use crate::error::Error;
use crate::init::{AUTHORITY, server_directory};

/// Replaces the certificates, their keys and `users.conf` of all servers.
pub fn run(directory: &Path) -> Result<String, Error> {
    Book::read(directory)?;
    let _lock = Lock::take(directory)?;
    let book = Book::read(directory)?;
    let hosts: Vec<(&str, PathBuf)> =
        book.hosts.iter().map(|host| (host.as_str(), server_directory(directory, host))).collect();
    certificates::make_servers(&directory.join(AUTHORITY), &book.cluster, &hosts)?;
    add::write_users(directory, &book)?;
    let mut text = String::new();
    for (host, path) in &hosts {
        text.push_str(&format!(
            "{host}: copy {}/ to {} on that machine, and restart nats-server there\n",
            path.display(),
            book.server_dir
        ));
    }
    Ok(text)
}
