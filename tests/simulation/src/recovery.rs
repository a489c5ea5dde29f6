//! After the troubles: everything works again, and every job comes to its end.

use std::time::Duration;

use daybook_log::clock::Clock;
use daybook_model::fit::{could_ever_start, partition_limit};
use daybook_schemas::job::JobState;
use daybook_schemas::{JobId, NodeName};

use crate::policies::is_above_alone;
use crate::processes::AgentProcess;
use crate::scenario::{Asked, cancel_for_good, release, resume};
use crate::simulation::Simulation;

/// Rounds until everything must have come to rest.
const ROUNDS_MAX: u32 = 20_000;
/// Steps of one agent in a round.
const AGENT_STEPS_MAX: u32 = 1_000;
/// What passes between rounds in which nothing moves.
const PAUSE: Duration = Duration::from_secs(20);

impl Simulation {
    /// Ends every trouble, and goes on until there is nothing left to do.
    pub(crate) async fn recover(&mut self) -> Result<(), String> {
        self.trace.next_step();
        self.say(|| "the troubles end".to_string());
        self.mend();
        self.start_what_is_missing().await?;
        for _ in 0..ROUNDS_MAX {
            if self.round().await? {
                continue;
            }
            let is_asked = self.clean_up();
            if !is_asked && self.is_at_rest() {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
            self.settle().await?;
        }
        Err(format!("it does not come to rest: {}", self.what_is_left().join("; ")))
    }

    fn mend(&mut self) {
        self.network.set_disk_full(false);
        self.ports().iter().for_each(|port| port.set_connected(true));
        for clock in [&self.clock, &self.log_clock] {
            clock.set_skew(0);
        }
        for node in &mut self.nodes {
            node.clock.set_skew(0);
            node.connected = true;
            if let Some((port, _)) = &node.agent {
                port.set_connected(true);
            }
        }
    }

    /// Everything that can happen now happens once; whether something did.
    async fn round(&mut self) -> Result<bool, String> {
        self.trace.next_step();
        let mut moved = self.end_scripts();
        while self.network.strays() > 0 {
            let words = self.network.deliver_stray(0).await;
            self.say(|| format!("late arrival: {words}"));
        }
        for label in self.network.late_answers() {
            self.network.answer(&label);
            moved = true;
        }
        for label in self.network.on_their_way() {
            let words = self.network.deliver(&label, crate::network::Fate::Delivered).await;
            self.say(|| format!("{} appends {}: {words}", label.port, label.what));
            moved = true;
        }
        let end = self.log_end();
        for port in self.ports() {
            moved |= port.horizon() < end;
            port.see(end);
        }
        self.settle().await?;
        for at in 0..self.nodes.len() {
            moved |= self.hand_new_orders(at);
            let mut steps = 0;
            while steps < AGENT_STEPS_MAX && self.step_agent(at).await? {
                moved = true;
                steps += 1;
            }
        }
        moved |= self.listen().await;
        self.settle().await?;
        Ok(moved || !self.network.on_their_way().is_empty())
    }

    fn hand_new_orders(&mut self, at: usize) -> bool {
        let Some(dispatch) = &self.dispatch else { return false };
        let Some(orders) = dispatch.dispatch.orders(self.nodes[at].name()) else { return false };
        let newest = orders.borrow().clone();
        let node = &mut self.nodes[at];
        let agent = node.agent.as_ref().map(|(port, _)| port.name().to_string()).unwrap_or_default();
        let is_new = node
            .handed
            .as_ref()
            .is_none_or(|(to, generation)| (to, generation) != (&agent, &newest.generation));
        if is_new {
            node.handed = Some((agent, newest.generation));
            node.hand(newest);
        }
        is_new
    }

    /// What people do in the end: ask again, bring nodes back, release what is held, give up what can never start.
    /// Whether something was asked.
    fn clean_up(&mut self) -> bool {
        let mut asked = false;
        for id in self.clients.to_ask_again() {
            self.clients.ask_again(&id, &self.gateways[0]);
            asked = true;
        }
        let cluster = &self.witness.cluster;
        let off = cluster.nodes().values().filter(|node| node.drain || node.down);
        let off: Vec<NodeName> = off.map(|node| node.definition.name.clone()).collect();
        let waiting = || cluster.jobs().values().filter(|job| job.state == JobState::Pending);
        let held: Vec<JobId> = waiting().filter(|job| job.hold.is_some()).map(|job| job.id).collect();
        let never = |job: &&std::sync::Arc<daybook_model::Job>| {
            let partition = cluster.partition(&job.partition);
            let is_above_limits = partition.is_some_and(|partition| {
                partition_limit(cluster, partition, &job.request, job.time_limit).is_some()
            });
            job.dependencies_hopeless()
                || is_above_limits
                || is_above_alone(cluster, job)
                || could_ever_start(cluster, &job.partition, &job.request).is_err()
        };
        let hopeless: Vec<JobId> = waiting().filter(never).map(|job| job.id).collect();
        for node in off {
            asked |= self.ask_finally(|id| resume(id, &node));
        }
        for job in held {
            asked |= self.ask_finally(|id| release(id, job));
        }
        for job in hopeless {
            asked |= self.ask_finally(|id| cancel_for_good(id, job));
        }
        asked
    }

    fn ask_finally(&mut self, asked: impl FnOnce(String) -> Asked) -> bool {
        self.asked += 1;
        let id = format!("r{}", self.asked);
        let asked = asked(id.clone());
        self.say(|| format!("request {id}: {}", asked.words));
        self.clients.ask(id, asked, &self.gateways[0]);
        true
    }

    fn is_at_rest(&self) -> bool {
        self.what_is_left().is_empty()
    }

    /// What has not come to its end, in words.
    fn what_is_left(&self) -> Vec<String> {
        let cluster = &self.witness.cluster;
        let now = self.time.now();
        let jobs = cluster.jobs().values().filter(|job| !job.state.is_ended());
        let jobs = jobs.map(|job| {
            let reason = job.shown_reason(now);
            format!("job {} is {} ({reason:?}; run {:?})", job.id, job.state.word(), job.run)
        });
        let runs = cluster.runs().values().map(|run| {
            let held_on: Vec<&str> = run.held_on.iter().map(NodeName::as_str).collect();
            format!("run {} holds {} and is told {:?}", run.id, held_on.join("+"), run.wish)
        });
        let requests = self.clients.waiting().into_iter().map(|id| format!("request {id} waits"));
        let scripts = self.nodes.iter().filter(|node| !node.machine.is_quiet());
        let scripts = scripts.map(|node| format!("a script runs on {}", node.name()));
        let records = self.nodes.iter().filter(|node| !node.machine.disk.is_empty());
        let records = records
            .filter(|node| matches!(node.agent, Some((_, AgentProcess::Stepped(_)))))
            .map(|node| format!("{} has records of {:?}", node.name(), node.machine.disk.keys()));
        jobs.chain(runs).chain(requests).chain(scripts).chain(records).collect()
    }
}
