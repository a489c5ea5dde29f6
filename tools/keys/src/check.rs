//! `daybook keys check`: what is wrong with a directory of keys, and what to do about it.

use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use time::OffsetDateTime;

use crate::book::{self, Book};
use crate::certificates::{self, AUTHORITY_FILE, AUTHORITY_KEY_FILE, SERVER_FILE, SERVER_KEY_FILE};
use crate::error::{Error, at};
use crate::files::{self, PUBLIC, SECRET};
use crate::init::{AUTHORITY, server_directory};
use crate::{seeds, server_conf, users_conf};

/// A certificate that ends sooner is warned about.
const WARN_DAYS: i64 = 30;
/// How deep directories lie in each other; what is deeper was not made here.
const DEPTH_MAX: usize = 3;

/// All that was found.
#[derive(Debug, Default)]
pub struct Report {
    faults: Vec<Fault>,
}

/// One thing that is wrong.
#[derive(Debug)]
struct Fault {
    is_error: bool,
    what: String,
    remedy: String,
}

impl Report {
    /// How many faults must be dealt with now.
    pub fn errors(&self) -> usize {
        self.faults.iter().filter(|fault| fault.is_error).count()
    }

    fn error(&mut self, path: &Path, problem: impl fmt::Display, remedy: impl fmt::Display) {
        let what = format!("{}: {problem}", path.display());
        self.faults.push(Fault { is_error: true, what, remedy: remedy.to_string() });
    }

    fn warning(&mut self, path: &Path, problem: impl fmt::Display, remedy: impl fmt::Display) {
        let what = format!("{}: {problem}", path.display());
        self.faults.push(Fault { is_error: false, what, remedy: remedy.to_string() });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in &self.faults {
            let kind = if fault.is_error { "error" } else { "warning" };
            writeln!(f, "{kind}: {}\n  {}", fault.what, fault.remedy)?;
        }
        let errors = self.errors();
        writeln!(f, "{}, {}", counted(errors, "error"), counted(self.faults.len() - errors, "warning"))
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// Looks at everything in the directory.
pub fn run(directory: &Path) -> Result<Report, Error> {
    let book = Book::read(directory)?;
    let mut report = Report::default();
    let top = fs::symlink_metadata(directory).map_err(at(directory))?;
    check_modes(directory, &top, 0, &mut report)?;
    let authority = directory.join(AUTHORITY);
    let authority_pem = files::read(&authority.join(AUTHORITY_FILE))?;
    check_certificate(
        &authority,
        AUTHORITY_FILE,
        AUTHORITY_KEY_FILE,
        &authority_pem,
        NEW_AUTHORITY,
        &mut report,
    );
    let renew = format!("run `daybook keys renew {}`", directory.display());
    let users = users_conf::render(&book);
    for host in &book.hosts {
        let server = server_directory(directory, host);
        check_certificate(&server, SERVER_FILE, SERVER_KEY_FILE, &authority_pem, &renew, &mut report);
        check_text(&server.join(AUTHORITY_FILE), &authority_pem, "copy ca/ca.pem over it", &mut report);
        check_text(
            &server.join(users_conf::FILE),
            &users,
            &format!("{renew}, which writes it again"),
            &mut report,
        );
        // An operator may have changed it, so its content is not compared.
        if !server.join(server_conf::FILE).exists() {
            report.error(&server.join(server_conf::FILE), "missing", "take it from a backup");
        }
    }
    check_seeds(directory, &book, &authority_pem, &mut report)?;
    Ok(report)
}

const NEW_AUTHORITY: &str =
    "make new keys in another directory with `daybook keys init`, and bring them to every machine";

/// Every file and directory: whose it is, and who may read and write it.
fn check_modes(path: &Path, top: &Metadata, depth: usize, report: &mut Report) -> Result<(), Error> {
    let metadata = fs::symlink_metadata(path).map_err(at(path))?;
    let shown = path.display();
    if metadata.is_symlink() {
        report.error(path, "is a symbolic link", "put the file itself there, or remove it");
        return Ok(());
    }
    if metadata.uid() != top.uid() {
        let problem = format!("belongs to user {}, the directory to user {}", metadata.uid(), top.uid());
        report.error(path, problem, format!("chown {} {shown}", top.uid()));
    }
    let mode = metadata.permissions().mode() & 0o7777;
    let allowed = if metadata.is_dir() { files::DIRECTORY } else { allowed_mode(path) };
    if mode & !allowed != 0 {
        report.error(path, format!("mode {mode:04o} lets others in"), format!("chmod {allowed:04o} {shown}"));
    }
    if !metadata.is_dir() {
        return Ok(());
    }
    if depth == DEPTH_MAX {
        report.error(path, "a directory that `daybook keys` did not make", "move it elsewhere");
        return Ok(());
    }
    let mut entries: Vec<_> =
        fs::read_dir(path).and_then(Iterator::collect::<Result<_, _>>).map_err(at(path))?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        check_modes(&entry.path(), top, depth + 1, report)?;
    }
    Ok(())
}

/// What is not known to be public is secret.
fn allowed_mode(path: &Path) -> u32 {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let public = [AUTHORITY_FILE, SERVER_FILE, server_conf::FILE, users_conf::FILE, book::FILE];
    if public.contains(&name) { PUBLIC } else { SECRET }
}

fn check_certificate(
    directory: &Path,
    file: &str,
    key_file: &str,
    authority_pem: &str,
    remedy: &str,
    report: &mut Report,
) {
    let (path, key_path) = (directory.join(file), directory.join(key_file));
    let (pem, key) = match (files::read(&path), files::read(&key_path)) {
        (Ok(pem), Ok(key)) => (pem, key),
        (Err(error), _) | (_, Err(error)) => {
            report.error(directory, error, remedy);
            return;
        }
    };
    let seen = match certificates::look_at(&pem, &key, authority_pem) {
        Ok(seen) => seen,
        Err(problem) => return report.error(&path, format!("no certificate: {problem}"), remedy),
    };
    if !seen.signed_by_authority {
        report.error(&path, "not signed by this cluster's authority", remedy);
    }
    if !seen.key_matches {
        report.error(&key_path, format!("not the key of {file}"), remedy);
    }
    let days = (seen.valid_until - OffsetDateTime::now_utc()).whole_days();
    let date = seen.valid_until.date();
    if seen.valid_until <= OffsetDateTime::now_utc() {
        report.error(&path, format!("ended on {date}"), remedy);
    } else if days < WARN_DAYS {
        report.warning(&path, format!("ends on {date}, in {days} days"), remedy);
    }
}

fn check_text(path: &Path, expected: &str, remedy: &str, report: &mut Report) {
    match files::read(path) {
        Ok(text) if text == expected => {}
        Ok(_) => report.error(path, format!("does not match {}", book::FILE), remedy),
        Err(error) => report.error(path, error, remedy),
    }
}

/// The seeds that are here belong to the users that are known. A seed may have been moved to its machine.
fn check_seeds(directory: &Path, book: &Book, authority_pem: &str, report: &mut Report) -> Result<(), Error> {
    for user in &book.users {
        let place = directory.join(user.directory());
        let seed = place.join(seeds::FILE);
        if !seed.exists() {
            continue;
        }
        match seeds::public_key(&seed) {
            Ok(key) if key == user.key => {}
            Ok(_) => report.error(
                &seed,
                format!("not the seed of {} {} in {}", user.role, user.name, book::FILE),
                "take it from a backup",
            ),
            Err(error) => report.error(&seed, error, "take it from a backup"),
        }
        check_text(&place.join(AUTHORITY_FILE), authority_pem, "copy ca/ca.pem over it", report);
    }
    for below in ["nodes", "gateways", "relays"] {
        let parent = directory.join(below);
        // Older directories have no place for relays until one is added.
        if below == "relays" && !parent.exists() {
            continue;
        }
        for entry in fs::read_dir(&parent).map_err(at(&parent))? {
            let path = entry.map_err(at(&parent))?.path();
            if !book.users.iter().any(|user| directory.join(user.directory()) == path) {
                report.error(
                    &path,
                    format!("no user of {}; its key lets nobody in", book::FILE),
                    "remove it, then add it again",
                );
            }
        }
    }
    Ok(())
}
