//! A small cluster on which requests are decided, each with its events folded in.

use daybook_model::Cluster;
use daybook_schemas::api::{
    AccountsChange, AccountsChangeRequest, AccountsTarget, ApiError, JobSubmission, JobUpdateRequest, Peer,
};
use daybook_schemas::events::{ClusterConfigured, JobUpdated};
use daybook_schemas::job::{JobUser, ResourceRequest};
use daybook_schemas::node::{AccountingEnforcement, PartitionDefinition};
use daybook_schemas::{Actor, BlobHash, Body, Commit, Event, EventId, JobId, Seq, Subject, UtcMicros};
use serde_json::{Value, json};

use crate::authority::Authority;
use crate::requests::{AccountsRequest, Request, Submission, Update};

/// A cluster `tx` with the partition `main` that follows what is decided.
pub(super) struct Site {
    pub(super) cluster: Cluster,
}

/// Everybody here has a number of their own; only root is somebody to the machine.
fn peer_of(user: &str) -> Peer {
    let uid = if user == "root" { 0 } else { 1000 + u32::from(user.as_bytes()[0]) };
    Peer { uid, gid: 100, pid: None }
}

impl Site {
    /// `research` with `ml` and `bio` in it, and `tiny` beside it; alice in ml and bio, bob in bio, carol in tiny. Of
    /// the QOS gold preempts high, and high low.
    pub(super) fn new(enforced: &[AccountingEnforcement]) -> Site {
        let mut site = Site::without_accounts(enforced);
        for change in [
            json!({ "add_qos": { "names": ["low"] } }),
            json!({ "add_qos": { "names": ["high"], "settings": { "preempt": { "set": ["low"] } } } }),
            json!({ "add_qos": { "names": ["gold"], "settings": { "preempt": { "set": ["high"] } } } }),
            json!({ "add_accounts": { "names": ["research", "tiny"] } }),
            json!({ "add_accounts": { "names": ["ml", "bio"], "parent": "research" } }),
            json!({ "add_users": { "names": ["alice"], "accounts": ["ml", "bio"] } }),
            json!({ "add_users": { "names": ["bob"], "accounts": ["bio"] } }),
            json!({ "add_users": { "names": ["carol"], "accounts": ["tiny"] } }),
        ] {
            site.change("root", &change).expect("a good change");
        }
        site
    }

    pub(super) fn without_accounts(enforced: &[AccountingEnforcement]) -> Site {
        let mut site = Site { cluster: Cluster::new() };
        let main = PartitionDefinition { default: true, ..PartitionDefinition::new("main", Vec::new()) };
        let mut configured = ClusterConfigured {
            cluster_name: "tx".to_string(),
            partitions: vec![main],
            ..ClusterConfigured::default()
        };
        configured.parameters.accounting_enforced = enforced.to_vec();
        site.apply(vec![configured.into()]);
        site
    }

    /// The configuration says this of workload keys.
    pub(super) fn track_wckeys(&mut self, tracks: bool, enforces: bool) {
        let mut configured = self.cluster.configured().expect("it is configured").as_ref().clone();
        configured.parameters.track_wckeys = tracks;
        configured.parameters.accounting_enforced =
            if enforces { vec![AccountingEnforcement::Wckeys] } else { Vec::new() };
        self.apply(vec![configured.into()]);
    }

    fn apply(&mut self, bodies: Vec<Body>) {
        let event = |body| Event {
            id: EventId("test".into()),
            source: "gateway".to_string(),
            time: UtcMicros::default(),
            actor: Actor::service("gateway"),
            cause: None,
            body,
        };
        let subject = if self.cluster.position() == Seq(0) { Subject::Admin } else { Subject::Jobs };
        let commit = Commit {
            seq: Seq(self.cluster.position().0 + 1),
            time: UtcMicros::default(),
            subject,
            events: bodies.into_iter().map(event).collect(),
        };
        self.cluster.apply(&commit).expect("a commit that follows");
        self.cluster.sanity_check().expect("a sound model");
    }

    /// Decides a change, folds its events, and gives what it reached. A preview must have said the same.
    pub(super) fn change(&mut self, user: &str, change: &Value) -> Result<Vec<AccountsTarget>, ApiError> {
        let read: AccountsChange = serde_json::from_value(change.clone()).expect("a change");
        let authority = Authority::of_daemon(0).asked_by(user);
        let decide = |preview| {
            let request =
                AccountsChangeRequest { request_id: "r".to_string(), preview, change: read.clone() };
            AccountsRequest(request).decide(&self.cluster, &authority, peer_of(user))
        };
        match (decide(true), decide(false)) {
            (Ok((preview, nothing)), Ok((decided, bodies))) => {
                assert!(nothing.is_empty(), "a preview changes nothing: {change}");
                assert_eq!(preview.accounts, decided.accounts, "{change}");
                if !bodies.is_empty() {
                    self.apply(bodies);
                }
                Ok(decided.accounts)
            }
            (Err(preview), Err(refused)) => {
                assert_eq!(preview, refused, "{change}");
                Err(refused)
            }
            _ => panic!("a preview says otherwise: {change}"),
        }
    }

    /// Submits a job on hold, and gives its account and QOS.
    pub(super) fn submit(
        &mut self,
        user: &str,
        account: Option<&str>,
        qos: Option<&str>,
    ) -> Result<(String, String), ApiError> {
        let id = self.submit_job(user, |asked| {
            asked.account = account.map(str::to_string);
            asked.qos = qos.map(str::to_string);
        })?;
        let job = &self.cluster.jobs()[&id];
        Ok((job.account.to_string(), job.qos.to_string()))
    }

    /// Submits a job on hold, made of a plain one.
    pub(super) fn submit_job(
        &mut self,
        user: &str,
        change: impl FnOnce(&mut JobSubmission),
    ) -> Result<JobId, ApiError> {
        let id = self.cluster.next_job_id();
        let bodies = self.judge_job(user, change)?;
        self.apply(bodies);
        Ok(id)
    }

    /// Decides on a job, and folds nothing.
    pub(super) fn judge_job(
        &self,
        user: &str,
        change: impl FnOnce(&mut JobSubmission),
    ) -> Result<Vec<Body>, ApiError> {
        let peer = peer_of(user);
        let asked = json!({
            "request_id": "r", "name": "job", "request": ResourceRequest::default(), "hold": true,
            "script": "", "environment": [], "work_dir": "/", "umask": 18, "submit_host": "vm", "submit_line": "sbatch",
        });
        let mut asked: JobSubmission = serde_json::from_value(asked).expect("a submission");
        change(&mut asked);
        let submission = Submission {
            asked,
            user: JobUser {
                uid: peer.uid,
                gid: peer.gid,
                name: user.to_string(),
                group: "users".to_string(),
            },
            script: BlobHash::of(b""),
            script_bytes: 0,
            environment: BlobHash::of(b""),
        };
        let id = self.cluster.next_job_id();
        let authority = Authority::of_daemon(0).asked_by(user);
        let request = Request::Submission(Box::new(submission));
        request.decide(&self.cluster, &authority, peer, id, UtcMicros::default()).map(|(_, bodies)| bodies)
    }

    /// Changes a waiting job.
    pub(super) fn update_job(&mut self, user: &str, change: JobUpdated) -> Result<(), ApiError> {
        let asked = JobUpdateRequest { request_id: "r".to_string(), change, tasks: None };
        let authority = Authority::of_daemon(0).asked_by(user);
        let request = Request::Update(Box::new(Update(asked)));
        let id = self.cluster.next_job_id();
        let (_, bodies) =
            request.decide(&self.cluster, &authority, peer_of(user), id, UtcMicros::default())?;
        self.apply(bodies);
        Ok(())
    }

    /// Cancels all jobs.
    pub(super) fn cancel_all(&mut self) {
        let jobs: Vec<JobId> = self.cluster.jobs().keys().copied().collect();
        for job in jobs {
            let body = serde_json::from_value(json!({ "job": job, "uid": 0 })).expect("a cancellation");
            self.apply(vec![Body::JobCancelRequested(body)]);
        }
    }
}
