//! `daybook keys remove-node`, `remove-gateway` and `remove-relay`: a key that lets nobody in any more.

use std::fs;
use std::path::Path;

use crate::add;
use crate::book::{Book, Lock, Role};
use crate::error::{Error, at};

/// Takes a user out, and removes what is here of its key.
pub fn run(directory: &Path, role: Role, name: &str) -> Result<String, Error> {
    Book::read(directory)?;
    let _lock = Lock::take(directory)?;
    let mut book = Book::read(directory)?;
    let Some(position) = book.users.iter().position(|user| user.role == role && user.name == name) else {
        return Err(Error::Refused(format!("{role} {name} has no key here; nothing was changed")));
    };
    let user = book.users.remove(position);
    book.write(directory)?;
    add::write_users(directory, &book)?;
    let place = directory.join(user.directory());
    match fs::remove_dir_all(&place) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(at(&place)(error)),
    }
    Ok(format!("{role} {name}: removed; {}", add::restart(directory, &book, "no longer let it in")))
}
