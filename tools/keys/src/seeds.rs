//! Users' nkeys: the secret half in a file, the public half in the book.

use std::path::Path;

use nkeys::KeyPair;

use crate::book::{Role, User};
use crate::certificates::AUTHORITY_FILE;
use crate::error::Error;
use crate::files::{self, PUBLIC, SECRET};

/// The seed's file, the same for every user, so that every program looks for one name.
pub const FILE: &str = "nats.seed";

/// Makes a new key, and in `directory`, which must not exist, all that goes to the user's machine.
pub fn make_user(role: Role, name: &str, directory: &Path, authority_pem: &str) -> Result<User, Error> {
    let pair = KeyPair::new_user();
    let seed = pair.seed()?;
    files::make_filled(directory, |directory| {
        files::write(&directory.join(FILE), SECRET, format!("{seed}\n").as_bytes())?;
        files::write(&directory.join(AUTHORITY_FILE), PUBLIC, authority_pem.as_bytes())
    })?;
    Ok(User { role, name: name.to_string(), key: pair.public_key() })
}

/// The public half of a seed in a file.
pub fn public_key(path: &Path) -> Result<String, Error> {
    let seed = files::read(path)?;
    let pair = KeyPair::from_seed(seed.trim()).map_err(|error| Error::Content {
        path: path.to_path_buf(),
        problem: format!(
            "no seed of an nkey ({error}); take it from a backup, or remove the user and add it again"
        ),
    })?;
    Ok(pair.public_key())
}
