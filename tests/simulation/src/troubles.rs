//! The time of troubles: one small step after the other, chosen by the seed.

use std::time::Duration;

use daybook_log::clock::Clock;
use daybook_log::memory::Fault;
use daybook_schemas::Seq;

use crate::Broken;
use crate::network::Fate;
use crate::processes::AgentProcess;
use crate::scenario;
use crate::simulation::Simulation;

/// The most processes of one role at once: the second has taken the first for dead.
const PROCESSES_MAX: usize = 2;
/// Orders that may come again.
const EARLIER_MAX: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Ask,
    AskAgain,
    Deliver,
    BringAnswer,
    BringStray,
    See,
    HandOrders,
    MoveAgent,
    EndScripts,
    Listen,
    Wait,
    TakeSnapshot,
    StartGateway,
    StartPlanner,
    StartOthers,
    CrashGateway,
    CrashPlanner,
    CrashDispatch,
    CrashLedger,
    CrashAgent,
    CrashDaemon,
    Reboot,
    Cut,
    Mend,
    FillDisk,
    FreeDisk,
    SetClocks,
}

/// Kinds of trouble that a run has. Each seed has some of them, so that none hides behind another.
struct Weather {
    crashes: bool,
    reboots: bool,
    cuts: bool,
    full_disks: bool,
    wrong_clocks: bool,
    lost_answers: bool,
    late_appends: bool,
    doubled_processes: bool,
    lagging_views: bool,
}

impl Simulation {
    /// Steps of work and trouble, until the requests are asked and some time after.
    pub(crate) async fn troubles(&mut self) -> Result<(), String> {
        let mut sunny = |percent| self.choice.chance(percent);
        let weather = Weather {
            crashes: sunny(75),
            reboots: sunny(40),
            cuts: sunny(60),
            full_disks: sunny(40),
            wrong_clocks: sunny(50),
            lost_answers: sunny(70),
            late_appends: sunny(50),
            doubled_processes: sunny(50),
            lagging_views: sunny(70),
        };
        let requests = self.choice.between(20, 90);
        let steps = requests * self.choice.between(6, 16);
        for _ in 0..steps {
            self.trace.next_step();
            let possible = self.possible_steps(&weather, requests);
            if let Some(step) = self.choice.weighted(possible) {
                self.take(step, &weather).await?;
            }
            self.settle().await?;
        }
        Ok(())
    }

    fn possible_steps(&self, weather: &Weather, requests: u32) -> Vec<(u32, Step)> {
        let when = |condition: bool, weight: u32| if condition { weight } else { 0 };
        let has_gateway = !self.gateways.is_empty();
        let is_missing = self.dispatch.is_none()
            || self.ledger_is_missing()
            || self.nodes.iter().any(|node| node.agent.is_none());
        let second = when(weather.doubled_processes, 1);
        vec![
            (when(has_gateway && self.asked < requests, 14), Step::Ask),
            (when(has_gateway, 3), Step::AskAgain),
            (when(!self.network.on_their_way().is_empty(), 30), Step::Deliver),
            (when(!self.network.late_answers().is_empty(), 8), Step::BringAnswer),
            (when(self.network.strays() > 0, 4), Step::BringStray),
            (20, Step::See),
            (12, Step::HandOrders),
            (20, Step::MoveAgent),
            (8, Step::EndScripts),
            (8, Step::Listen),
            (10, Step::Wait),
            (1, Step::TakeSnapshot),
            (if has_gateway { second } else { 10 }, Step::StartGateway),
            (if self.planners.is_empty() { 10 } else { second }, Step::StartPlanner),
            (when(is_missing, 8), Step::StartOthers),
            (when(weather.crashes, 1), Step::CrashGateway),
            (when(weather.crashes, 1), Step::CrashPlanner),
            (when(weather.crashes, 1), Step::CrashDispatch),
            (when(weather.crashes && self.choice_is_rare(), 1), Step::CrashLedger),
            (when(weather.crashes, 3), Step::CrashAgent),
            (when(weather.crashes && self.choice_is_rare(), 1), Step::CrashDaemon),
            (when(weather.reboots, 1), Step::Reboot),
            (when(weather.cuts, 2), Step::Cut),
            (when(weather.cuts, 4), Step::Mend),
            (when(weather.full_disks && !self.network.is_disk_full(), 1), Step::FillDisk),
            (when(self.network.is_disk_full(), 6), Step::FreeDisk),
            (when(weather.wrong_clocks, 1), Step::SetClocks),
        ]
    }

    /// Every fourth step: for what takes long to simulate.
    fn choice_is_rare(&self) -> bool {
        self.trace.step().is_multiple_of(4)
    }

    async fn take(&mut self, step: Step, weather: &Weather) -> Result<(), String> {
        match step {
            Step::Ask => self.ask_something(),
            Step::AskAgain => self.ask_something_again(),
            Step::Deliver => self.deliver_something(weather).await,
            Step::BringAnswer => {
                if let Some(label) = self.choice.pick(&self.network.late_answers()) {
                    self.say(|| format!("{} gets its answer about {}", label.port, label.what));
                    self.network.answer(&label);
                }
            }
            Step::BringStray => {
                let at = self.choice.below(self.network.strays() as u64) as usize;
                let words = self.network.deliver_stray(at).await;
                self.say(|| format!("late arrival: {words}"));
            }
            Step::See => self.see_something(weather),
            Step::HandOrders => self.hand_some_orders(),
            Step::MoveAgent => {
                let at = self.choice.below(self.nodes.len() as u64) as usize;
                self.step_agent(at).await?;
            }
            Step::EndScripts => {
                self.end_scripts();
            }
            Step::Listen => {
                self.listen().await;
            }
            Step::Wait => {
                let seconds =
                    self.choice.weighted(vec![(4, 1), (4, 5), (3, 20), (2, 65), (1, 200)]).unwrap_or(1);
                self.say(|| format!("{seconds} seconds pass"));
                tokio::time::sleep(Duration::from_secs(seconds)).await;
            }
            Step::TakeSnapshot => self.snapshot = self.witness.cluster.clone(),
            Step::StartGateway if self.gateways.len() < PROCESSES_MAX => self.start_gateway()?,
            Step::StartPlanner if self.planners.len() < PROCESSES_MAX => self.start_planner()?,
            Step::StartGateway | Step::StartPlanner => {}
            Step::StartOthers => self.start_something()?,
            Step::CrashGateway => self.crash_gateway(),
            Step::CrashPlanner => self.crash_planner(),
            Step::CrashDispatch => self.crash_dispatch(),
            Step::CrashLedger => self.crash_ledger(),
            Step::CrashAgent => {
                let at = self.choice.below(self.nodes.len() as u64) as usize;
                self.crash_agent(at);
            }
            Step::CrashDaemon => self.crash_daemon(),
            Step::Reboot => {
                let at = self.choice.below(self.nodes.len() as u64) as usize;
                self.crash_agent(at);
                self.say(|| format!("{} is switched off and on", self.nodes[at].name()));
                self.nodes[at].machine.reboot();
            }
            Step::Cut => self.set_some_connection(false),
            Step::Mend => self.set_some_connection(true),
            Step::FillDisk | Step::FreeDisk => {
                self.say(|| format!("{step:?}"));
                self.network.set_disk_full(step == Step::FillDisk);
            }
            Step::SetClocks => self.set_some_clock(),
        }
        Ok(())
    }

    fn ask_something(&mut self) {
        self.asked += 1;
        let id = format!("r{}", self.asked);
        let now = self.time.now();
        let asked = scenario::next_request(id.clone(), &self.witness.cluster, now, &mut self.choice);
        let at = self.choice.below(self.gateways.len() as u64) as usize;
        self.say(|| format!("request {id} to {}: {}", self.gateways[at].port.name(), asked.words));
        self.clients.ask(id, asked, &self.gateways[at]);
    }

    /// A client that has no answer asks again; now and then one that only waits long.
    fn ask_something_again(&mut self) {
        let candidates = match self.choice.chance(70) {
            true => self.clients.to_ask_again(),
            false => self.clients.waiting(),
        };
        if let Some(id) = self.choice.pick(&candidates) {
            let at = self.choice.below(self.gateways.len() as u64) as usize;
            self.say(|| format!("request {id} again, to {}", self.gateways[at].port.name()));
            self.clients.ask_again(&id, &self.gateways[at]);
        }
    }

    async fn deliver_something(&mut self, weather: &Weather) {
        let Some(label) = self.choice.pick(&self.network.on_their_way()) else { return };
        let when = |condition: bool, weight: u32| if condition { weight } else { 0 };
        let falsely = self.options.broken == Some(Broken::LogAcknowledgesFalsely);
        let fate = self.choice.weighted(vec![
            (80, Fate::Delivered),
            (when(weather.lost_answers, 6), Fate::Log(Fault::AcknowledgementLost)),
            (when(weather.lost_answers, 4), Fate::Log(Fault::AppendLost)),
            (when(weather.lost_answers, 4), Fate::Log(Fault::DeliveredTwice)),
            (when(weather.lost_answers, 4), Fate::Log(Fault::Unavailable)),
            (when(weather.lost_answers && weather.cuts, 4), Fate::ArrivedAndCut),
            (when(weather.late_appends, 5), Fate::Late),
            (when(weather.late_appends, 8), Fate::AnswerDelayed),
            (when(falsely, 5), Fate::FalselyAcknowledged),
        ]);
        let fate = fate.unwrap_or(Fate::Delivered);
        if fate == Fate::Late {
            self.clients.gateway_is_uncertain(&label.port);
        }
        let words = self.network.deliver(&label, fate).await;
        self.say(|| format!("{} appends {} ({fate:?}): {words}", label.port, label.what));
    }

    fn see_something(&mut self, weather: &Weather) {
        let ports = self.ports().into_iter().filter(|port| port.is_connected()).collect::<Vec<_>>();
        let end = self.log_end();
        if let Some(port) = self.choice.pick(&ports) {
            let missing = end.0.saturating_sub(port.horizon().0);
            let more = if weather.lagging_views { self.choice.below(missing + 1) } else { missing };
            port.see(Seq(port.horizon().0 + more));
        }
        if !weather.lagging_views {
            ports.iter().for_each(|port| port.see(end));
        }
    }

    fn hand_some_orders(&mut self) {
        let Some(dispatch) = &self.dispatch else { return };
        let at = self.choice.below(self.nodes.len() as u64) as usize;
        let Some(orders) = dispatch.dispatch.orders(self.nodes[at].name()) else { return };
        let node = &mut self.nodes[at];
        if !node.connected {
            return;
        }
        let newest = orders.borrow().clone();
        // Sometimes an earlier set comes once more, after newer ones.
        let earlier = if self.choice.chance(15) { self.choice.pick(&node.earlier) } else { None };
        let set = earlier.unwrap_or_else(|| newest.clone());
        if node.earlier.last().is_none_or(|last| last.generation != newest.generation) {
            node.earlier.push(newest);
            if node.earlier.len() > EARLIER_MAX {
                node.earlier.remove(0);
            }
        }
        let (generation, runs) = (set.generation, set.runs.len());
        node.hand(set);
        self.say(|| format!("orders of {generation} with {runs} runs to {}", self.nodes[at].name()));
    }

    /// Whether the agent did something.
    pub(crate) async fn step_agent(&mut self, at: usize) -> Result<bool, String> {
        let node = &mut self.nodes[at];
        let now = node.clock.now();
        let Some((_, AgentProcess::Stepped(agent))) = &mut node.agent else { return Ok(false) };
        let done = agent.step(&mut node.machine, now, &mut self.choice).await?;
        if let Some(words) = &done {
            self.say(|| format!("agent of {}: {words}", self.nodes[at].name()));
        }
        Ok(done.is_some())
    }

    /// Whether some script ended.
    pub(crate) fn end_scripts(&mut self) -> bool {
        let mut ended = false;
        for at in 0..self.nodes.len() {
            let node = &mut self.nodes[at];
            let over = node.machine.tick(node.clock.now());
            for run in over {
                ended = true;
                self.say(|| format!("the script of {run} ends on {}", self.nodes[at].name()));
            }
        }
        ended
    }

    fn start_something(&mut self) -> Result<(), String> {
        let missing: Vec<usize> =
            (0..self.nodes.len()).filter(|at| self.nodes[*at].agent.is_none()).collect();
        match self.choice.pick(&missing) {
            Some(at) if self.choice.chance(70) => self.start_agent(at),
            _ if self.dispatch.is_none() => self.start_dispatch(),
            _ if self.ledger_is_missing() => self.start_ledger(),
            _ => Ok(()),
        }
    }

    fn crash_gateway(&mut self) {
        if self.gateways.is_empty() {
            return;
        }
        let at = self.choice.below(self.gateways.len() as u64) as usize;
        let gateway = self.gateways.remove(at);
        self.network.crash(&gateway.port, self.choice.chance(50));
        self.clients.gateway_died(&gateway.port);
        self.say(|| format!("{} crashes", gateway.port.name()));
    }

    fn crash_planner(&mut self) {
        if self.planners.is_empty() {
            return;
        }
        let at = self.choice.below(self.planners.len() as u64) as usize;
        let planner = self.planners.remove(at);
        self.network.crash(&planner.port, self.choice.chance(50));
        self.say(|| format!("{} crashes", planner.port.name()));
    }

    fn crash_dispatch(&mut self) {
        if let Some(dispatch) = self.dispatch.take() {
            self.network.crash(&dispatch.port, false);
            self.say(|| format!("{} crashes", dispatch.port.name()));
        }
    }

    pub(crate) fn crash_ledger(&mut self) {
        if let Some(ledger) = self.ledger.take() {
            self.network.crash(&ledger.port, false);
            self.say(|| format!("{} crashes at {}", ledger.port.name(), ledger.ledger.position()));
        }
    }

    fn crash_agent(&mut self, at: usize) {
        let arrive = self.choice.chance(50);
        let node = &mut self.nodes[at];
        let Some((port, _)) = node.agent.take() else { return };
        self.network.crash(&port, arrive);
        if self.options.broken == Some(Broken::AgentForgetsIntents) {
            node.machine.disk.clear();
        }
        self.say(|| format!("{} crashes", port.name()));
    }

    /// The daemon of a one-machine cluster: everything but the scripts.
    fn crash_daemon(&mut self) {
        while !self.gateways.is_empty() {
            self.crash_gateway();
        }
        while !self.planners.is_empty() {
            self.crash_planner();
        }
        self.crash_dispatch();
        self.crash_ledger();
        (0..self.nodes.len()).for_each(|at| self.crash_agent(at));
    }

    fn set_some_connection(&mut self, connected: bool) {
        let at = self.choice.below(self.nodes.len() as u64 + 2) as usize;
        let word = if connected { "is connected again" } else { "is cut off" };
        if let Some(node) = self.nodes.get_mut(at) {
            node.connected = connected;
            if let Some((port, _)) = &node.agent {
                port.set_connected(connected);
            }
            self.say(|| format!("{} {word}", self.nodes[at].name()));
            return;
        }
        if let Some(port) = self.choice.pick(&self.ports()) {
            port.set_connected(connected);
            self.say(|| format!("{} {word}", port.name()));
        }
    }

    fn set_some_clock(&mut self) {
        let micros = i64::from(self.choice.between(0, 240_000_000)) - 120_000_000;
        let micros = if self.choice.chance(30) { 0 } else { micros };
        let at = self.choice.below(self.nodes.len() as u64 + 2) as usize;
        let (clock, whose) = match self.nodes.get(at) {
            Some(node) => (&node.clock, node.name().to_string()),
            None if at == self.nodes.len() => (&self.log_clock, "the log".to_string()),
            None => (&self.clock, "the daemon".to_string()),
        };
        clock.set_skew(micros);
        self.say(|| format!("the clock of {whose} is {} ms off", micros / 1000));
    }
}
