//! What agent and supervisor write down for each other.

use daybook_cgroup::{Confinement, Fault, Group, NodeGroups};
use daybook_schemas::job::TimeLimit;
use daybook_schemas::orders::{RunOrder, RunWish, SignalOrder};
use daybook_schemas::run::{EndCause, ExitStatus, ProcessUsage, RunNode};
use daybook_schemas::{Seconds, Seq, UtcMicros};
use serde::{Deserialize, Serialize};

use crate::programs::Programs;

/// What the agent intends: everything that the supervisor needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// The order.
    pub order: RunOrder,
    /// The node that this agent is.
    pub node: String,
    /// The boot under which the run may start.
    pub boot_id: String,
    /// The spooled script.
    pub script: String,
    /// The length of the environment behind it.
    pub environment_bytes: u64,
    /// Absent: the run has no control group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<Confined>,
    /// What the site does around each run.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub care: Care,
}

fn is_usual(care: &Care) -> bool {
    *care == Care::default()
}

/// What a node does around each run, and when it asks for help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Care {
    /// Before the script; if it fails the node is no good for the run.
    #[serde(default, skip_serializing_if = "Programs::are_none")]
    pub prolog: Programs,
    /// After the last process; also after a prolog that failed.
    #[serde(default, skip_serializing_if = "Programs::are_none")]
    pub epilog: Programs,
    /// What has been killed and is still there after so long is said to be so.
    pub unkillable_after: Seconds,
    /// Run then.
    #[serde(default, skip_serializing_if = "Programs::are_none")]
    pub unkillable: Programs,
    /// The path of the cluster's `slurm.conf`, for these programs; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub slurm_conf: String,
}

impl Default for Care {
    fn default() -> Care {
        Care {
            prolog: Programs::default(),
            epilog: Programs::default(),
            unkillable_after: Seconds(60),
            unkillable: Programs::default(),
            slurm_conf: String::new(),
        }
    }
}

/// A run's control group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    /// Where its node's are.
    pub groups: NodeGroups,
    /// Its name there.
    pub name: String,
    /// What the run may use.
    pub limits: Confinement,
    /// The run's GPUs are the only ones of the node that it can open, so that a driver counts them from 0.
    pub sees_own_gpus_only: bool,
}

impl Confined {
    /// Makes the group, with its limits.
    pub fn make(&self) -> Result<Group, Fault> {
        Group::make(&self.groups.hierarchies(), &self.name, &self.limits)
    }

    /// The group, whether it is there or not.
    pub fn group(&self) -> Group {
        Group::named(&self.groups.hierarchies(), &self.name)
    }
}

/// What the run is to do now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// Run, or end because of something.
    pub wish: RunWish,
    /// Of one that gives way: how long it may go on, warned.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub grace: Seconds,
    /// Which order to stop or to go on it is; 0: there was none.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub ordered: Seq,
    /// Of one that is to stop: from TSTP to STOP.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub suspend_grace: Seconds,
    /// Signals to send, each once.
    pub signals: Vec<SignalOrder>,
    /// How long it may run, from the script's start: what it is now, if somebody has changed it.
    pub time_limit: TimeLimit,
}

impl Wish {
    /// The cause of the end of a run that is told so before its script was started; `None`: it may start.
    pub fn end_before_start(&self) -> Option<EndCause> {
        match self.wish {
            RunWish::Run | RunWish::Suspend => None,
            // A run that the orders do not know any more (Release) is as good as cancelled.
            RunWish::Cancel | RunWish::Release => Some(EndCause::Cancelled),
            RunWish::Requeue => Some(EndCause::Requeued),
            RunWish::NodeDown => Some(EndCause::NodeFailed),
            RunWish::GiveWay => Some(EndCause::Preempted),
            RunWish::UsedUp => Some(EndCause::TimeLimit),
        }
    }

    /// Just to run: where what was ordered cannot be read.
    pub fn run() -> Wish {
        Wish {
            wish: RunWish::Run,
            grace: Seconds(0),
            ordered: Seq::ZERO,
            suspend_grace: Seconds(0),
            signals: Vec::new(),
            time_limit: TimeLimit::Unlimited,
        }
    }

    /// What an order wishes.
    pub fn of(order: &RunOrder) -> Wish {
        Wish {
            wish: order.wish,
            grace: order.grace,
            ordered: order.ordered,
            suspend_grace: order.suspend_grace,
            signals: order.signals.clone(),
            time_limit: order.time_limit,
        }
    }
}

fn is_none_yet(seq: &Seq) -> bool {
    *seq == Seq::ZERO
}

fn is_no_time(time: &Seconds) -> bool {
    time.0 == 0
}

impl Intent {
    /// The run's share of this node.
    pub fn here(&self) -> Option<&RunNode> {
        self.order.nodes.iter().find(|share| share.node.as_str() == self.node)
    }
}

/// A line of a run's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// Always the first.
    Claimed(Claim),
    /// The script's process exists.
    Started(Started),
    /// An order to stop or to go on has been followed.
    Turned(Turn),
    /// The node has something that an administrator must see.
    Troubled(Trouble),
    /// The script has ended, and clearing up goes on.
    Over(Exit),
    /// Always the last: nothing of the run is left. The end is that of `Over`, if there was one.
    Ended(Exit),
}

/// Something about a run for which its node is taken out of service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// When.
    pub at: UtcMicros,
    /// What.
    pub kind: TroubleKind,
    /// For people.
    pub message: String,
}

/// What is wrong with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TroubleKind {
    /// `Prolog` has failed.
    Prolog,
    /// `Epilog` has failed.
    Epilog,
    /// A process of the run cannot be killed, or its control group cannot be removed.
    Unkillable,
    /// The run could not be confined as the site wants it.
    Unconfined,
}

impl TroubleKind {
    /// All.
    pub const ALL: [TroubleKind; 4] =
        [TroubleKind::Prolog, TroubleKind::Epilog, TroubleKind::Unkillable, TroubleKind::Unconfined];

    /// The reason for the drain, in Slurm's words where it has some.
    pub fn reason(self) -> &'static str {
        match self {
            TroubleKind::Prolog => "Prolog error",
            TroubleKind::Epilog => "Epilog error",
            TroubleKind::Unkillable => "Kill task failed",
            TroubleKind::Unconfined => "Confinement error",
        }
    }

    /// One word.
    pub fn word(self) -> &'static str {
        match self {
            TroubleKind::Prolog => "prolog",
            TroubleKind::Epilog => "epilog",
            TroubleKind::Unkillable => "unkillable",
            TroubleKind::Unconfined => "unconfined",
        }
    }
}

/// A run's record as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Who supervises, or did.
    pub claimed: Option<Claim>,
    /// The script's process.
    pub started: Option<Started>,
    /// Orders to stop and to go on that have been followed, in this order.
    pub turns: Vec<Turn>,
    /// What is wrong with the node.
    pub troubles: Vec<Trouble>,
    /// How the script ended, where clearing up took a while.
    pub over: Option<Exit>,
    /// The end.
    pub ended: Option<Exit>,
}

impl Record {
    /// Reads a record's bytes, one JSON document a line. A line that is not whole says nothing.
    pub fn parse(bytes: &[u8]) -> Record {
        let mut record = Record::default();
        for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            match serde_json::from_slice(line) {
                Ok(Entry::Claimed(claim)) => record.claimed = Some(claim),
                Ok(Entry::Started(started)) => record.started = Some(started),
                Ok(Entry::Turned(turn)) => record.turns.push(turn),
                Ok(Entry::Troubled(trouble)) => record.troubles.push(trouble),
                Ok(Entry::Over(exit)) => record.over = Some(exit),
                Ok(Entry::Ended(exit)) => record.ended = Some(exit),
                Err(_) => break,
            }
        }
        record
    }
}

/// Who supervises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The supervisor's process id.
    pub pid: i32,
    /// Its start time in clock ticks since boot: tells it from a later process with the same id.
    pub start_time: u64,
}

/// The script has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The script's process id; it leads the session of the script.
    pub pid: i32,
    /// Its start time in clock ticks since boot.
    pub start_time: u64,
    /// When.
    pub at: UtcMicros,
}

/// All processes of the run are stopped, or go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// True: they are stopped.
    pub is_stop: bool,
    /// Which order this follows.
    pub ordered: Seq,
    /// When.
    pub at: UtcMicros,
}

/// The run is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// When.
    pub at: UtcMicros,
    /// What ended it.
    pub cause: EndCause,
    /// The script's status.
    pub exit: ExitStatus,
    /// For people.
    pub message: Option<String>,
    /// What it used.
    pub usage: Option<ProcessUsage>,
}

impl Exit {
    /// The end of a run whose script was not started because somebody had told so in the meantime.
    pub fn unstarted(cause: EndCause, at: UtcMicros) -> Exit {
        let message = Some("told to end before its script was started".to_string());
        Exit { at, cause, exit: ExitStatus::default(), message, usage: None }
    }
}
