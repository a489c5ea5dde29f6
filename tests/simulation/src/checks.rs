//! What must hold in the end, beside what the witness has seen on the way.

use std::collections::BTreeMap;

use daybook_log::EventLog;
use daybook_log::clock::Clock;
use daybook_model::{Cluster, state_hash};
use daybook_schemas::api::{AccountingQuery, CapacityClass, CapacityQuery, CapacityRow, RecordKind};
use daybook_schemas::job::JobState;
use daybook_schemas::run::EndCause;
use daybook_schemas::{JobId, Seq, Stream, UtcMicros};

use crate::Summary;
use crate::clients::Told;
use crate::clock::DAWN;
use crate::simulation::Simulation;

impl Simulation {
    /// Everything; gives what the run was.
    pub(crate) async fn check_everything(&mut self) -> Result<Summary, String> {
        self.check_answers()?;
        self.check_ends()?;
        self.check_executions()?;
        self.check_arrays()?;
        self.check_projections().await?;
        let cycles = self.check_cycles().await?;
        if self.has_ledger {
            self.check_ledger().await?;
        }
        let cluster = &self.witness.cluster;
        Ok(Summary {
            commits: cluster.position().0,
            jobs: self.witness.states.len() as u64,
            runs: self.witness.allocated.len() as u64,
            cycles,
            void_allocations: cluster.void_allocations(),
            ledgers: u64::from(self.has_ledger),
            log_hash: self.log_hash().await?,
        })
    }

    /// What was acknowledged is there; what was said not to be written is not.
    fn check_answers(&self) -> Result<(), String> {
        for (id, request) in &self.clients.requests {
            let submitted = self.witness.submitted.get(id);
            match &request.told {
                Some(Told::Accepted(Some(job))) if submitted != Some(job) => {
                    return Err(format!("request {id} was accepted as job {job}; the log has {submitted:?}"));
                }
                Some(Told::NotWritten | Told::Refused(_))
                    if !request.uncertain && self.witness.requests.contains(id) =>
                {
                    let words = request.words();
                    return Err(format!(
                        "request {id} ({words}) was refused as {:?}; it is in the log",
                        request.told
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Every job has come to its end, and every run.
    fn check_ends(&self) -> Result<(), String> {
        let alive = |(id, state): (&JobId, &Option<JobState>)| {
            state.filter(|state| !state.is_ended()).map(|state| (*id, state))
        };
        if let Some((job, state)) = self.witness.states.iter().find_map(alive) {
            return Err(format!("job {job} is {} in the end", state.word()));
        }
        for run in self.witness.allocated.keys() {
            if !self.witness.ended.contains_key(run) && !self.witness.given_up.contains(run) {
                return Err(format!("run {run} has no end in the log"));
            }
        }
        match self
            .witness
            .cluster
            .nodes()
            .values()
            .find(|node| !node.runs.is_empty() || !node.cpus_allocated.is_empty())
        {
            Some(node) => Err(format!("node {} has still given something away", node.definition.name)),
            None => Ok(()),
        }
    }

    /// A script ran once if its run ended by itself, and at most once in any case, where it was allocated.
    fn check_executions(&self) -> Result<(), String> {
        let mut executed = BTreeMap::new();
        for node in &self.nodes {
            for (run, times) in node.machine.executions() {
                let first = self.witness.allocated.get(run).and_then(|shares| shares.first());
                if first.is_none_or(|share| share.node != *node.name()) {
                    return Err(format!(
                        "run {run} was executed on {}, where it does not belong",
                        node.name()
                    ));
                }
                *executed.entry(*run).or_insert(0u32) += times;
            }
        }
        for (run, told) in &self.witness.ended {
            let times = executed.get(run).copied().unwrap_or(0);
            let shares = self.witness.allocated.get(run);
            let node = shares.and_then(|shares| shares.first()).map(|share| &share.node);
            let is_machine =
                self.nodes.iter().any(|one| Some(one.name()) == node && !one.definition.simulated);
            let must_have_run = matches!(told.cause, EndCause::Exited | EndCause::TimeLimit);
            if times > 1 || (is_machine && must_have_run && times != 1) {
                return Err(format!("run {run} ended as {:?} and was executed {times} times", told.cause));
            }
        }
        Ok(())
    }

    /// Every task of every array has succeeded or failed.
    fn check_arrays(&self) -> Result<(), String> {
        for (id, array) in self.witness.cluster.arrays() {
            let over = array.tasks().intersection(&array.succeeded).len() + array.failed.len();
            if over != array.tasks().len() {
                return Err(format!("array {id}: of the tasks {} only {over} are over", array.tasks()));
            }
        }
        Ok(())
    }

    /// Every projection that followed the log through crashes, lags and snapshots is what a fresh fold is.
    async fn check_projections(&mut self) -> Result<(), String> {
        let end = self.log_end();
        let mut fresh = Cluster::new();
        while fresh.position() < end {
            let commits = self.network.log().read(Stream::State, fresh.position().next(), 512).await;
            for commit in commits.map_err(|error| error.to_string())? {
                fresh.apply(&commit)?;
            }
        }
        let hash = |cluster: &Cluster| state_hash(cluster).map_err(|error| error.to_string());
        let expected = hash(&fresh)?;
        let gateways = self.gateways.iter().map(|process| (&process.port, &process.live));
        let planners = self.planners.iter().map(|process| (&process.port, &process.live));
        let dispatch = self.dispatch.iter().map(|process| (&process.port, &process.live));
        for (port, live) in gateways.chain(planners).chain(dispatch) {
            let cluster = live.now();
            if cluster.position() != end {
                return Err(format!("the projection of {} stays at {}", port.name(), cluster.position()));
            }
            if hash(&cluster)? != expected {
                return Err(format!("the projection of {} is not what a fresh fold gives", port.name()));
            }
        }
        Ok(())
    }

    /// Every recorded cycle comes out the same again.
    async fn check_cycles(&self) -> Result<u64, String> {
        let report = daybook_planner::replay::verify(self.network.log().as_ref()).await;
        let report = report.map_err(|error| error.to_string())?;
        match report.difference {
            Some(difference) => Err(format!("a cycle comes out otherwise: {difference}")),
            None => Ok(report.cycles),
        }
    }

    /// The ledger's books are right, are the same when posted afresh, and say of every job what the model says.
    async fn check_ledger(&mut self) -> Result<(), String> {
        let Some(process) = &self.ledger else { return Err("there is no ledger".to_string()) };
        let ledger = process.ledger.clone();
        if let Some(why) = ledger.stopped() {
            return Err(format!("the ledger has stopped: {why}"));
        }
        let report = ledger.verify().await.map_err(|error| error.to_string())?;
        if !report.is_clean() {
            let faults = report.faults.join("; ");
            return Err(format!(
                "the ledger is not right ({} and {}): {faults}",
                report.hash, report.fresh_hash
            ));
        }
        let query = AccountingQuery { start: Some(UtcMicros(0)), ..AccountingQuery::default() };
        let answer =
            ledger.query(query).await.map_err(|error| format!("the ledger does not answer: {error:?}"))?;
        let jobs = answer.records.iter().filter(|record| record.kind == RecordKind::Job);
        let states: BTreeMap<JobId, JobState> = jobs.map(|record| (record.job, record.state)).collect();
        for (job, state) in &self.witness.states {
            let has = states.get(job);
            let agrees = match state {
                Some(state) => has == Some(state),
                None => has.is_some_and(|has| has.is_ended()),
            };
            if !agrees {
                return Err(format!("job {job} is {state:?} in the model, {has:?} in the ledger"));
            }
        }
        self.check_conservation().await
    }

    /// Per GPU and window the classes add up to the installed time, and windows add up to their whole.
    async fn check_conservation(&mut self) -> Result<(), String> {
        let end = self.time.now();
        let seconds = end.seconds() - DAWN.seconds();
        let middle = DAWN.plus_seconds(self.choice.below(seconds.unsigned_abs()) as i64);
        let whole = self.capacity(DAWN, end).await?;
        let (first, second) = (self.capacity(DAWN, middle).await?, self.capacity(middle, end).await?);
        for (key, row) in &whole {
            let sum: u64 = row.seconds.values().sum();
            if sum != row.installed {
                return Err(format!("{key:?}: {} seconds installed, {sum} in its classes", row.installed));
            }
            let of = |rows: &Rows, class| {
                rows.get(key).and_then(|row| row.seconds.get(&class)).copied().unwrap_or(0)
            };
            for class in CLASSES {
                let parts = of(&first, class) + of(&second, class);
                if parts != of(&whole, class) {
                    return Err(format!(
                        "{key:?}: {class:?} is {} in the whole, {parts} in two windows",
                        of(&whole, class)
                    ));
                }
            }
        }
        Ok(())
    }

    async fn capacity(&self, start: UtcMicros, end: UtcMicros) -> Result<Rows, String> {
        let Some(process) = &self.ledger else { return Err("there is no ledger".to_string()) };
        let query = CapacityQuery { start: Some(start), end: Some(end), nodes: Vec::new() };
        let answer = process.ledger.capacity(query).await;
        let answer = answer.map_err(|error| format!("the ledger does not answer: {error:?}"))?;
        let key = |row: &CapacityRow| {
            format!("{}/{}", row.node, row.gpu.as_ref().map_or("CPUs", |gpu| gpu.as_str()))
        };
        Ok(answer.rows.into_iter().map(|row| (key(&row), row)).collect())
    }

    /// A hash of everything in the log: equal for equal seeds.
    async fn log_hash(&self) -> Result<String, String> {
        let mut text = String::new();
        let mut at = Seq::ZERO;
        while at < self.log_end() {
            let commits = self.network.log().read(Stream::State, at.next(), 512).await;
            for commit in commits.map_err(|error| error.to_string())? {
                at = commit.seq;
                text.push_str(&format!("{commit:?}\n"));
            }
        }
        Ok(daybook_schemas::BlobHash::of(text.as_bytes()).0)
    }
}

type Rows = BTreeMap<String, CapacityRow>;

const CLASSES: [CapacityClass; 5] = [
    CapacityClass::Allocated,
    CapacityClass::Idle,
    CapacityClass::Drained,
    CapacityClass::Down,
    CapacityClass::Unknown,
];
