//! Snapshots: the state at a position, with version and hash.
//!
//! A snapshot is lines of canonical JSON: a head with the reducer's version and the position, one line for each
//! record, and a last line with the hash of everything before it. It is written and read record by record, so that
//! it takes no memory beside the state itself.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use daybook_schemas::accounts::{Account, AccountUser, Association, Qos, WorkloadKey};
use daybook_schemas::canonical::{self, CanonicalError, Hasher};
use daybook_schemas::events::{ClusterConfigured, LogDurabilityDeclared};
use daybook_schemas::{JobId, Seq, UtcMicros};
use serde::{Deserialize, Serialize};

use crate::accounts::Accounts;
use crate::allowance::KnownSpent;
use crate::cluster::{Cluster, PlannedNodes};
use crate::priority::KnownUsage;
use crate::run_times::RunTimes;
use crate::totals::Totals;
use crate::usual::{Frequency, UsualRequest};
use crate::{ArrayState, Job, Node, Reservation, Room, Run};

/// Goes up whenever the reducer makes another state of the same commits, or the snapshot's form changes.
pub const REDUCER_VERSION: u32 = 14;

/// The longest line of a snapshot that is read, in bytes.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    reducer_version: u32,
    position: Seq,
}

/// The other lines.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Cluster(Box<Scalars>),
    Node(Arc<Node>),
    Job(Arc<Job>),
    Run(Arc<Run>),
    Array(Arc<ArrayState>),
    Reservation(Arc<Reservation>),
    RunTimes(KnownRunTimes),
    Usual(KnownRequest),
    Usage(KnownUsage),
    Spent(KnownSpent),
    Account(Arc<Account>),
    User(Arc<AccountUser>),
    Qos(Arc<Qos>),
    Wckey(WorkloadKey),
    Association(Arc<Association>),
    /// The last one: hash of all bytes before it.
    Hash(String),
}

/// Run times of a user and name.
#[derive(Serialize, Deserialize)]
struct KnownRunTimes {
    uid: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<Arc<str>>,
    times: RunTimes,
}

/// A request for GPUs that has come before.
#[derive(Serialize, Deserialize)]
struct KnownRequest {
    request: Arc<UsualRequest>,
    frequency: Frequency,
}

/// What there is one of.
#[derive(Serialize, Deserialize)]
struct Scalars {
    time: UtcMicros,
    configured: Option<Arc<ClusterConfigured>>,
    next_job_id: u32,
    jobs_seq: Seq,
    plan_seq: Seq,
    expected_starts: Vec<(JobId, UtcMicros)>,
    planned_nodes: Vec<(JobId, PlannedNodes)>,
    last_cycle: Option<UtcMicros>,
    rooms: Vec<(JobId, Room)>,
    void_allocations: u64,
    durability: Option<Arc<LogDurabilityDeclared>>,
    totals: Totals,
    /// The numbers that the next association and the next QOS get.
    next_numbers: (u32, u32),
    priorities_calculated: Option<UtcMicros>,
    priorities_asked: Option<UtcMicros>,
    /// The highest priorities among QOS and associations at the last calculation.
    priorities_max: (u32, u32),
}

/// Why a snapshot is of no use: it is thrown away, and the log is read instead.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// It cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A line is no record.
    #[error("the snapshot is damaged: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A record is not expressible (a defect of the model).
    #[error("the snapshot has no canonical form: {0}")]
    Canonical(#[from] CanonicalError),
    /// Its hash is not that of its content, or it has none.
    #[error("the snapshot at position {0} does not have the hash that it states")]
    Hash(Seq),
    /// Another reducer made it.
    #[error("the snapshot was made by reducer {found}, this is {REDUCER_VERSION}")]
    Version {
        /// The one that made it.
        found: u32,
    },
}

/// Writes and hashes at once.
struct Hashing<W> {
    to: W,
    hasher: Hasher,
}

impl<W: Write> Hashing<W> {
    fn line<T: Serialize>(&mut self, record: &T) -> Result<(), SnapshotError> {
        let mut bytes = canonical::to_bytes(record)?;
        bytes.push(b'\n');
        self.hasher.update(&bytes);
        Ok(self.to.write_all(&bytes)?)
    }
}

/// Writes a snapshot; gives its hash.
pub fn write_snapshot(cluster: &Cluster, to: impl Write) -> Result<String, SnapshotError> {
    let mut out = Hashing { to, hasher: Hasher::default() };
    out.line(&Head { reducer_version: REDUCER_VERSION, position: cluster.position })?;
    out.line(&Line::Cluster(Box::new(Scalars {
        time: cluster.time,
        configured: cluster.configured.clone(),
        next_job_id: cluster.next_job_id,
        jobs_seq: cluster.jobs_seq,
        plan_seq: cluster.plan_seq,
        expected_starts: cluster.expected_starts.iter().map(|(job, start)| (*job, *start)).collect(),
        planned_nodes: cluster.planned_nodes.iter().map(|(job, nodes)| (*job, nodes.clone())).collect(),
        last_cycle: cluster.last_cycle,
        rooms: cluster.rooms.iter().map(|(job, room)| (*job, room.clone())).collect(),
        void_allocations: cluster.void_allocations,
        durability: cluster.durability.clone(),
        totals: cluster.totals.clone(),
        next_numbers: cluster.accounts.next_numbers(),
        priorities_calculated: cluster.priorities.calculated,
        priorities_asked: cluster.priorities.asked,
        priorities_max: (cluster.priorities.qos_priority_max, cluster.priorities.association_priority_max),
    })))?;
    cluster.nodes.values().try_for_each(|node| out.line(&Line::Node(node.clone())))?;
    cluster.jobs.values().try_for_each(|job| out.line(&Line::Job(job.clone())))?;
    cluster.runs.values().try_for_each(|run| out.line(&Line::Run(run.clone())))?;
    cluster.arrays.values().try_for_each(|array| out.line(&Line::Array(array.clone())))?;
    let mut reservations = cluster.reservations.values();
    reservations.try_for_each(|reservation| out.line(&Line::Reservation(reservation.clone())))?;
    write_accounts(&cluster.accounts, &mut out)?;
    cluster.run_times.iter().try_for_each(|((uid, name), times)| {
        out.line(&Line::RunTimes(KnownRunTimes { uid: *uid, name: name.clone(), times: *times }))
    })?;
    cluster.usual_requests.iter().try_for_each(|(request, frequency)| {
        out.line(&Line::Usual(KnownRequest { request: request.clone(), frequency: *frequency }))
    })?;
    cluster.priorities.known().try_for_each(|known| out.line(&Line::Usage(known)))?;
    cluster.known_spent().try_for_each(|known| out.line(&Line::Spent(known)))?;
    let hash = out.hasher.clone().finish();
    out.line(&Line::Hash(hash.clone()))?;
    out.to.flush()?;
    Ok(hash)
}

fn write_accounts<W: Write>(accounts: &Accounts, out: &mut Hashing<W>) -> Result<(), SnapshotError> {
    accounts.accounts().values().try_for_each(|account| out.line(&Line::Account(account.clone())))?;
    accounts.users().values().try_for_each(|user| out.line(&Line::User(user.clone())))?;
    accounts.all_qos().values().try_for_each(|qos| out.line(&Line::Qos(qos.clone())))?;
    accounts.wckeys().iter().try_for_each(|key| out.line(&Line::Wckey(key.clone())))?;
    let mut associations = accounts.associations().values();
    associations.try_for_each(|association| out.line(&Line::Association(association.clone())))
}

/// The hash that a snapshot of this state has: equal states have equal hashes.
pub fn state_hash(cluster: &Cluster) -> Result<String, SnapshotError> {
    write_snapshot(cluster, io::sink())
}

/// Reads a snapshot, and checks version and hash.
pub fn read_snapshot(mut from: impl BufRead) -> Result<Cluster, SnapshotError> {
    let mut hasher = Hasher::default();
    let mut bytes = Vec::new();
    let mut next = |bytes: &mut Vec<u8>| -> io::Result<bool> {
        bytes.clear();
        io::Read::take(&mut from, LINE_BYTES_MAX).read_until(b'\n', bytes)?;
        Ok(bytes.last() == Some(&b'\n'))
    };
    if !next(&mut bytes)? {
        return Err(SnapshotError::Hash(Seq::ZERO));
    }
    let head: Head = serde_json::from_slice(&bytes)?;
    if head.reducer_version != REDUCER_VERSION {
        return Err(SnapshotError::Version { found: head.reducer_version });
    }
    let mut cluster = Cluster { position: head.position, accounts: Accounts::empty(), ..Cluster::new() };
    hasher.update(&bytes);
    while next(&mut bytes)? {
        let line: Line = serde_json::from_slice(&bytes)?;
        if let Line::Hash(stated) = line {
            if stated != hasher.finish() {
                return Err(SnapshotError::Hash(head.position));
            }
            cluster.derive_indexes();
            cluster.share_all_parts();
            return Ok(cluster);
        }
        hasher.update(&bytes);
        restore(&mut cluster, line);
    }
    // It ends before its hash: cut off while it was written.
    Err(SnapshotError::Hash(head.position))
}

fn restore(cluster: &mut Cluster, line: Line) {
    match line {
        Line::Cluster(scalars) => {
            if let Some(configured) = &scalars.configured {
                cluster.name_partitions(&configured.partitions);
            }
            cluster.time = scalars.time;
            cluster.configured = scalars.configured;
            cluster.next_job_id = scalars.next_job_id;
            cluster.jobs_seq = scalars.jobs_seq;
            cluster.plan_seq = scalars.plan_seq;
            cluster.expected_starts = scalars.expected_starts.into_iter().collect();
            cluster.planned_nodes = scalars.planned_nodes.into_iter().collect();
            cluster.last_cycle = scalars.last_cycle;
            cluster.rooms = scalars.rooms.into_iter().collect();
            cluster.void_allocations = scalars.void_allocations;
            cluster.durability = scalars.durability;
            cluster.totals = scalars.totals;
            let (association, qos) = scalars.next_numbers;
            cluster.accounts.restore_numbers(association, qos);
            cluster.priorities.calculated = scalars.priorities_calculated;
            cluster.priorities.asked = scalars.priorities_asked;
            (cluster.priorities.qos_priority_max, cluster.priorities.association_priority_max) =
                scalars.priorities_max;
        }
        Line::Node(node) => drop(cluster.nodes.insert(node.definition.name.clone(), node)),
        Line::Job(job) => restore_job(cluster, job),
        Line::RunTimes(known) => cluster.run_times.insert((known.uid, known.name), known.times),
        Line::Usual(known) => cluster.usual_requests.restore(known.request, known.frequency),
        Line::Usage(known) => cluster.priorities.restore(known),
        Line::Spent(known) => cluster.restore_spent(known),
        Line::Account(account) => cluster.accounts.define_account(Arc::unwrap_or_clone(account)),
        Line::User(user) => cluster.accounts.define_user(Arc::unwrap_or_clone(user)),
        Line::Qos(qos) => cluster.accounts.define_qos(Arc::unwrap_or_clone(qos)),
        Line::Wckey(key) => cluster.accounts.define_wckey(key),
        Line::Association(association) => {
            cluster.accounts.define_association(Arc::unwrap_or_clone(association));
        }
        Line::Run(run) => drop(cluster.runs.insert(run.id, run)),
        Line::Array(array) => drop(cluster.arrays.insert(array.id, array)),
        Line::Reservation(reservation) => {
            let name = Arc::from(reservation.definition.name.as_str());
            cluster.reservations.insert(name, reservation);
        }
        Line::Hash(_) => {}
    }
}

/// A record shares its request and the partition's name with others, as when it was made by events.
fn restore_job(cluster: &mut Cluster, job: Arc<Job>) {
    let mut job = Arc::unwrap_or_clone(job);
    job.request = cluster.shared_request(&job.request);
    job.partition = cluster.shared_partition(&job.partition);
    if let Some(partitions) = &mut job.partitions {
        *partitions = partitions.iter().map(|name| cluster.shared_partition(name)).collect();
    }
    if !cluster.requests.contains_key(&job.request) {
        cluster.count_request(&job);
    }
    // As submitted; mostly what it needs now.
    if let Some(spec) = Arc::get_mut(&mut job.spec) {
        spec.request = cluster.shared_request(&spec.request);
    }
    cluster.jobs.insert(job.id, Arc::new(job));
}

impl Cluster {
    /// Makes the indexes anew from the records.
    pub(crate) fn derive_indexes(&mut self) {
        self.ready.clear();
        self.ready_kinds.clear();
        self.delayed.clear();
        self.ended.clear();
        self.dependents.clear();
        self.active_names.clear();
        self.singletons.clear();
        self.hopeless.clear();
        self.reservation_jobs.clear();
        self.deadlines.clear();
        self.blocked.clear();
        self.waiting_for_age.clear();
        self.requests.clear();
        self.derive_licenses();
        self.derive_stopped();
        self.measure();
        let jobs: Vec<Arc<Job>> = self.jobs.values().cloned().collect();
        for job in &jobs {
            self.index(job);
            self.count_request(job);
        }
        self.derive_charges();
    }
}
