//! `daybook.toml`: what Slurm has no word for.
//!
//! The document is walked instead of deserialised, so that every fault in it is reported at once.

mod relays;

use std::path::PathBuf;
use std::sync::Arc;

use daybook_cgroup::Confining;
use daybook_schemas::grammar::hostlist;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::cgroup_conf;
use crate::diagnostic::{Findings, Place, did_you_mean};
use crate::files::Files;
use crate::settings::{LogBackend, NatsSettings, RelaySettings, SpoolDir};
use crate::slurm_conf::parameters::PLANNER_JOBS_MAX_MAX;

/// The file's name.
pub(crate) const DAYBOOK_TOML: &str = "daybook.toml";

/// The tables and their keys.
pub(crate) const KEYS: &[(&str, &[&str])] = &[
    ("agent", &["confine", "processes_max", "spool_dir"]),
    ("gateway", &["socket"]),
    ("log", &["backend", "nats"]),
    ("nodes", &["simulated"]),
    ("planner", &["backfill_order", "backfill_reservations", "jobs_max", "node_lease"]),
    ("relays", &["key", "root"]),
];

/// The keys of `[log.nats]`.
pub(crate) const NATS_KEYS: &[&str] =
    &["accept_unsynced", "ca_file", "inbox_prefix", "monitor_url", "nkey_file", "replicas", "url"];

/// The most protected starts in a cycle.
pub(crate) const BACKFILL_RESERVATIONS_MAX: u32 = 10_000;

/// The most processes that a run may be allowed: what Linux can have.
const PROCESSES_MAX_MAX: u32 = 1 << 22;

/// How many seconds a node may be silent, at least and at most.
const NODE_LEASE_SECONDS: [u32; 2] = [5, 3600];

/// Nodes that are or are not simulated.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedNodes {
    pub nodes: Vec<String>,
    pub simulated: bool,
    pub place: Place,
}

/// What `daybook.toml` says.
#[derive(Clone, Debug, Default)]
pub(crate) struct DaybookToml {
    pub simulated: Vec<SimulatedNodes>,
    pub backfill_reservations: Option<u32>,
    pub backfill_by_expected_time: Option<bool>,
    pub jobs_max: Option<u32>,
    pub node_lease: Option<u32>,
    pub spool_dir: Option<SpoolDir>,
    pub confining: Option<Confining>,
    pub processes_max: Option<u32>,
    pub socket: Option<PathBuf>,
    pub log: LogBackend,
    pub nats: NatsSettings,
    pub relays: Vec<RelaySettings>,
}

/// Reads `daybook.toml`, if there is one.
pub(crate) fn read(files: &mut Files, findings: &mut Findings) -> DaybookToml {
    let mut settings = DaybookToml::default();
    if !files.has(DAYBOOK_TOML) {
        return settings;
    }
    let Some(text) = files.read(DAYBOOK_TOML, &Place::file(DAYBOOK_TOML), findings) else { return settings };
    let (document, errors) = DeTable::parse_recoverable(&text);
    let mut reader = Reader { file: files.name_of(DAYBOOK_TOML), text: &text, findings };
    if !errors.is_empty() {
        for error in errors {
            let place = reader.place(error.span().map_or(0, |span| span.start));
            let what = error.message().lines().collect::<Vec<_>>().join("; ");
            reader.findings.error(&place, what, "docs/configuration.md has an example");
        }
        return settings;
    }
    reader.document(document.get_ref(), &mut settings);
    settings
}

struct Reader<'a> {
    file: Arc<str>,
    text: &'a str,
    findings: &'a mut Findings,
}

type Key<'k> = Spanned<std::borrow::Cow<'k, str>>;

impl Reader<'_> {
    fn place(&self, position: usize) -> Place {
        let before = self.text.as_bytes().iter().take(position);
        let lines = before.filter(|&&byte| byte == b'\n').count();
        Place { file: self.file.clone(), line: u32::try_from(lines + 1).ok() }
    }

    fn error(&mut self, at: std::ops::Range<usize>, what: String, remedy: impl Into<String>) {
        let place = self.place(at.start);
        self.findings.error(&place, what, remedy);
    }

    fn document(&mut self, document: &DeTable<'_>, settings: &mut DaybookToml) {
        for (name, value) in document.iter() {
            let Some(&(table, keys)) = KEYS.iter().find(|(table, _)| *table == name.get_ref()) else {
                let tables = KEYS.iter().map(|(table, _)| *table);
                let remedy =
                    did_you_mean(name.get_ref(), tables, "remove it; docs/configuration.md lists all");
                self.error(name.span(), format!("unknown entry \"{}\"", name.get_ref()), remedy);
                continue;
            };
            let Some(content) = self.table(name, value, table) else { continue };
            match table {
                "nodes" => {
                    self.nodes(content, keys, settings);
                    continue;
                }
                "relays" => {
                    self.relays(content, keys, settings);
                    continue;
                }
                _ => {}
            }
            for (key, value) in content {
                if self.is_known(key, keys, &format!("[{table}]")) {
                    self.setting(table, key, value, settings);
                }
            }
        }
    }

    /// The table at `path`, as it is written in a heading.
    fn table<'v>(
        &mut self,
        name: &Key<'_>,
        value: &'v Spanned<DeValue<'_>>,
        path: &str,
    ) -> Option<&'v DeTable<'v>> {
        match value.get_ref() {
            DeValue::Table(content) => Some(content),
            _ => {
                let what = format!("\"{}\" is no table", name.get_ref());
                self.error(name.span(), what, format!("write [{path}] on a line of its own"));
                None
            }
        }
    }

    fn is_known(&mut self, key: &Key<'_>, keys: &[&str], table: &str) -> bool {
        let known = keys.contains(&key.get_ref().as_ref());
        if !known {
            let otherwise = format!("remove it; {table} has {}", keys.join(", "));
            let remedy = did_you_mean(key.get_ref(), keys.iter().copied(), otherwise);
            self.error(key.span(), format!("unknown key \"{}\" in {table}", key.get_ref()), remedy);
        }
        known
    }

    fn nodes(&mut self, content: &DeTable<'_>, keys: &[&str], settings: &mut DaybookToml) {
        // The table is ordered by name; of entries for one node the last of the file counts.
        let mut entries: Vec<_> = content.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        for (name, value) in entries {
            let nodes = match hostlist::expand(name.get_ref()) {
                Ok(nodes) => nodes,
                Err(error) => {
                    self.error(name.span(), error.to_string(), "");
                    continue;
                }
            };
            let path = format!("nodes.\"{}\"", name.get_ref());
            let Some(content) = self.table(name, value, &path) else { continue };
            for (key, value) in content {
                if !self.is_known(key, keys, &format!("[nodes.\"{}\"]", name.get_ref())) {
                    continue;
                }
                if let DeValue::Boolean(simulated) = *value.get_ref() {
                    let (nodes, place) = (nodes.clone(), self.place(name.span().start));
                    settings.simulated.push(SimulatedNodes { nodes, simulated, place });
                } else {
                    let what = format!("{} is neither true nor false", key.get_ref());
                    self.error(value.span(), what, format!("{0} = true or {0} = false", key.get_ref()));
                }
            }
        }
    }

    fn setting(
        &mut self,
        table: &str,
        key: &Key<'_>,
        value: &Spanned<DeValue<'_>>,
        settings: &mut DaybookToml,
    ) {
        match (table, key.get_ref().as_ref()) {
            ("planner", "backfill_reservations") => {
                settings.backfill_reservations = self.number(key, value, 0, BACKFILL_RESERVATIONS_MAX);
            }
            ("planner", "backfill_order") => match value.get_ref() {
                DeValue::String(order) if order == "queue" => {
                    settings.backfill_by_expected_time = Some(false)
                }
                DeValue::String(order) if order == "expected" => {
                    settings.backfill_by_expected_time = Some(true)
                }
                _ => {
                    let key = key.get_ref();
                    let what = format!("{key} is no order that there is");
                    self.error(value.span(), what, format!("{key} = \"queue\" or {key} = \"expected\""));
                }
            },
            ("planner", "jobs_max") => {
                settings.jobs_max = self.number(key, value, 1, PLANNER_JOBS_MAX_MAX);
            }
            ("planner", "node_lease") => {
                let [shortest, longest] = NODE_LEASE_SECONDS;
                settings.node_lease = self.number(key, value, shortest, longest);
            }
            ("agent", "spool_dir") => {
                settings.spool_dir = self.absolute_path(key, value).map(SpoolDir::new);
            }
            ("agent", "confine") => match value.get_ref() {
                DeValue::String(word) => match cgroup_conf::confining(word) {
                    Ok(confining) => settings.confining = Some(confining),
                    Err(remedy) => {
                        self.error(value.span(), format!("\"{word}\" is no way to confine runs"), remedy)
                    }
                },
                _ => self.error(value.span(), "confine is no text".to_string(), "confine = \"required\""),
            },
            ("agent", "processes_max") => {
                settings.processes_max = self.number(key, value, 0, PROCESSES_MAX_MAX);
            }
            ("gateway", "socket") => {
                settings.socket = self.absolute_path(key, value).map(PathBuf::from);
            }
            ("log", "backend") => self.log_backend(key, value, settings),
            ("log", "nats") => {
                let Some(content) = self.table(key, value, "log.nats") else { return };
                for (key, value) in content {
                    if self.is_known(key, NATS_KEYS, "[log.nats]") {
                        self.nats_setting(key, value, &mut settings.nats);
                    }
                }
            }
            // Only a key that was added to `KEYS` and not here comes to this.
            (table, key) => self.error(value.span(), format!("{key} of [{table}] is not supported yet"), ""),
        }
    }

    fn number(&mut self, key: &Key<'_>, value: &Spanned<DeValue<'_>>, min: u32, max: u32) -> Option<u32> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let number = number.and_then(|number| u32::try_from(number).ok());
        let within = number.filter(|number| (min..=max).contains(number));
        if within.is_none() {
            let what = format!("{} is no number from {min} to {max}", key.get_ref());
            self.error(value.span(), what, format!("such as {} = {}", key.get_ref(), min.max(1)));
        }
        within
    }

    fn absolute_path<'v>(&mut self, key: &Key<'_>, value: &'v Spanned<DeValue<'_>>) -> Option<&'v str> {
        match value.get_ref() {
            DeValue::String(path) if path.starts_with('/') => Some(path),
            _ => {
                let what = format!("{} is no absolute path", key.get_ref());
                self.error(value.span(), what, "write a path that begins with / between quotes");
                None
            }
        }
    }

    fn log_backend(&mut self, key: &Key<'_>, value: &Spanned<DeValue<'_>>, settings: &mut DaybookToml) {
        let key = key.get_ref();
        match value.get_ref() {
            DeValue::String(backend) if backend == "embedded" => settings.log = LogBackend::Embedded,
            DeValue::String(backend) if backend == "nats" => settings.log = LogBackend::Nats,
            _ => {
                let what = format!("{key} is no log that there is");
                self.error(value.span(), what, format!("{key} = \"embedded\" or {key} = \"nats\""));
            }
        }
    }

    fn nats_setting(&mut self, key: &Key<'_>, value: &Spanned<DeValue<'_>>, nats: &mut NatsSettings) {
        match key.get_ref().as_ref() {
            "url" => nats.url = self.urls(key, value, &["nats://", "tls://"]).map(|urls| urls.join(",")),
            "monitor_url" => nats.monitor_urls = self.urls(key, value, &["http://"]).unwrap_or_default(),
            "nkey_file" => nats.nkey_file = self.absolute_path(key, value).map(PathBuf::from),
            "ca_file" => nats.ca_file = self.absolute_path(key, value).map(PathBuf::from),
            "inbox_prefix" => match value.get_ref() {
                DeValue::String(prefix) if is_subject_token(prefix) => {
                    nats.inbox_prefix = Some(prefix.to_string())
                }
                _ => {
                    let what = format!("{} is no word of letters, digits, _, - and %", key.get_ref());
                    self.error(value.span(), what, "inbox_prefix = \"_INBOX_login1\"");
                }
            },
            "accept_unsynced" => match *value.get_ref() {
                DeValue::Boolean(accepted) => nats.accept_unsynced = accepted,
                _ => {
                    let what = format!("{} is neither true nor false", key.get_ref());
                    self.error(value.span(), what, "accept_unsynced = false");
                }
            },
            "replicas" => {
                if let Some(replicas) = self.number(key, value, 1, 5) {
                    nats.replicas = replicas;
                    if replicas % 2 == 0 {
                        let what =
                            format!("replicas = {replicas} outlives no more failures than {}", replicas - 1);
                        self.error(value.span(), what, "replicas = 1, 3 or 5");
                    }
                }
            }
            // Only a key that was added to `NATS_KEYS` and not here comes to this.
            key => self.error(value.span(), format!("{key} of [log.nats] is not supported yet"), ""),
        }
    }

    /// Addresses: a text, with commas between several, or a list of texts.
    fn urls(&mut self, key: &Key<'_>, value: &Spanned<DeValue<'_>>, schemes: &[&str]) -> Option<Vec<String>> {
        let mut found: Vec<String> = Vec::new();
        let is_text = match value.get_ref() {
            DeValue::String(text) => {
                found.extend(text.split(',').map(|url| url.trim().to_string()));
                true
            }
            DeValue::Array(items) => items.iter().all(|item| match item.get_ref() {
                DeValue::String(url) => {
                    found.push(url.to_string());
                    true
                }
                _ => false,
            }),
            _ => false,
        };
        let is_address = |url: &String| {
            schemes.iter().any(|scheme| url.strip_prefix(scheme).is_some_and(|host| !host.is_empty()))
        };
        if is_text && !found.is_empty() && found.iter().all(is_address) {
            return Some(found);
        }
        let what = format!("{} has something that is no address", key.get_ref());
        let example = if schemes.contains(&"http://") { "http://host:8222" } else { "nats://host:4222" };
        self.error(value.span(), what, format!("such as {} = \"{example}\"", key.get_ref()));
        None
    }
}

/// Whether a text can be one part of a NATS subject, as `daybook keys` makes them.
fn is_subject_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-%".contains(&byte))
}
