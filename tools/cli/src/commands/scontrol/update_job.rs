//! `scontrol update JobId=…`: changes of a job.

use std::ops::ControlFlow;

use daybook_schemas::api::{Changed, JobSelector, JobUpdateRequest, JobView};
use daybook_schemas::events::JobUpdated;
use daybook_schemas::grammar::license::{self, InvalidLicenses};
use daybook_schemas::grammar::{dependency, duration, gres, hostlist, job_id, memory};
use daybook_schemas::job::{GpuScope, MemoryRequest, ResourceRequest, SwitchRequest, TimeLimit};
use daybook_schemas::{NodeName, Seconds};

use super::jobs;
use super::update::{Setting, unknown};
use crate::client::{CallError, Client};
use crate::notation::{dependency_refusal, features, node_count, switches};
use crate::{say, times};

/// Settings of a job that Slurm has and Daybook has not yet.
const REFUSED: &[&str] = &[
    "admincomment",
    "burstbuffer",
    "clusterfeatures",
    "clusters",
    "corespec",
    "delayboot",
    "endtime",
    "extra",
    "mailtype",
    "mailuser",
    "mincpusnode",
    "mintmpdisknode",
    "oversubscribe",
    "prefer",
    "reboot",
    "reqcores",
    "reqsockets",
    "reqthreads",
    "resetaccruetime",
    "shared",
    "stderr",
    "stdin",
    "stdout",
    "systemcomment",
    "taskspernode",
    "threadspec",
    "userid",
    "workdir",
];

/// Runs it: all settings of a job change together, or none.
pub fn run(settings: &[Setting]) -> u8 {
    let mut ids: Vec<JobSelector> = Vec::new();
    let mut changes: Vec<&Setting> = Vec::new();
    let by_id = settings.iter().any(|(key, _)| key == "jobid" || key == "job");
    let mut names: Vec<String> = Vec::new();
    for setting in settings {
        let (key, value) = setting;
        match key.as_str() {
            "jobid" | "job" => {
                for id in job_id::split_list(value) {
                    match job_id::parse_selector(id) {
                        Ok(selector) => ids.push(selector),
                        Err(_) => return jobs::no_such_job(id),
                    }
                }
            }
            // Beside no JobId it says which jobs are meant.
            "jobname" | "name" if !by_id => names.push(value.clone()),
            refused if REFUSED.contains(&refused) => {
                say::error("scontrol", format!("updating a job's {refused} is not supported by daybook yet"));
                return 1;
            }
            known if SIMPLE_KEYS.contains(&known) || REQUEST_KEYS.contains(&known) => changes.push(setting),
            other => return unknown(other, value),
        }
    }
    if changes.is_empty() {
        say::line("No changes specified");
        return 1;
    }
    let mut client = match Client::connect() {
        Ok(client) => client,
        Err(unreachable) => return super::report_call("slurm_update error", &unreachable.into()),
    };
    if !by_id {
        match jobs::jobs_of_names(&mut client, &names) {
            Ok(found) if found.is_empty() => return jobs::no_such_job(&names.join(",")),
            Ok(found) => ids = found,
            Err(error) => return super::report_call("slurm_update error", &error),
        }
    }
    ids.iter().map(|id| update_one(&mut client, id, &changes)).max().unwrap_or(1)
}

fn update_one(client: &mut Client, id: &JobSelector, changes: &[&Setting]) -> u8 {
    let mut job = Subject { client, id, view: None };
    let change = match job.change(changes) {
        Ok(change) => change,
        Err(exit) => return exit,
    };
    let tasks = id.tasks.clone();
    let request = JobUpdateRequest { request_id: uuid::Uuid::new_v4().to_string(), change, tasks };
    match job.client.post::<_, Changed>("/v1/jobs/update", &request) {
        Ok(changed) => {
            let failed = changed.outcomes.into_iter().filter_map(|one| Some((one.target, one.error?)));
            failed.fold(0, |_, (target, error)| {
                // As Slurm says it of some of an array's tasks.
                match target == *id {
                    true => say::line(format!("{} for job {id}", error.message)),
                    false => say::line(format!("{target}: {}", error.message)),
                }
                1
            })
        }
        Err(error) => job.report(&error),
    }
}

/// The job that is changed; it is only asked for where the change depends on what it is.
struct Subject<'a> {
    client: &'a mut Client,
    id: &'a JobSelector,
    view: Option<JobView>,
}

impl Subject<'_> {
    fn report(&self, error: &CallError) -> u8 {
        match error {
            CallError::Refused(refused) => {
                say::line(format!("{} for job {}", refused.message, self.id));
                1
            }
            other => super::report_call("slurm_update error", other),
        }
    }

    fn invalid(&self, what: &str) -> u8 {
        say::line(format!("{what} for job {}", self.id));
        1
    }

    /// The job as it is.
    fn view(&mut self) -> Result<&JobView, u8> {
        if self.view.is_none() {
            let views: Vec<JobView> = match self.client.get(&format!("/v1/jobs/{}", self.id.job)) {
                Ok(views) => views,
                Err(error) => return Err(self.report(&error)),
            };
            let is_meant = |view: &JobView| match (&self.id.tasks, &view.array, &view.tasks_waiting) {
                (None, None, _) => view.job == self.id.job,
                (Some(tasks), Some(array), _) => tasks.contains(array.task),
                (Some(tasks), None, Some(waiting)) => !waiting.intersection(tasks).is_empty(),
                _ => false,
            };
            let at = views
                .iter()
                .position(is_meant)
                .or((!views.is_empty() && self.id.tasks.is_none()).then_some(0));
            match at.and_then(|at| views.into_iter().nth(at)) {
                Some(view) => self.view = Some(view),
                None => return Err(self.invalid("Invalid job id specified")),
            }
        }
        self.view.as_ref().ok_or(1)
    }

    fn change(&mut self, settings: &[&Setting]) -> Result<JobUpdated, u8> {
        let mut change = JobUpdated { job: self.id.job, ..JobUpdated::default() };
        for (key, value) in settings {
            if self.simple(&mut change, key, value)?.is_continue() {
                self.request(&mut change, key, value)?;
            }
        }
        Ok(change)
    }

    /// Settings that do not touch the resources; goes on where it is none of them.
    fn simple(&mut self, change: &mut JobUpdated, key: &str, value: &str) -> Result<ControlFlow<()>, u8> {
        let text = || Some(value.to_string());
        match key {
            "name" | "jobname" => change.name = text(),
            "comment" => change.comment = text(),
            "partition" => change.partition = text(),
            "account" => change.account = text(),
            "qos" => change.qos = text(),
            "wckey" => change.wckey = text(),
            "priority" => change.priority = Some(self.priority(value)?),
            "sitefactor" => {
                change.site_factor = Some(value.parse().map_err(|_| self.invalid("Invalid site factor"))?);
            }
            "timemin" => {
                let least = duration::parse_time_limit(value).map_err(|_| {
                    say::line("Invalid TimeMin value");
                    1
                })?;
                // Here 0 is no limit without end: it takes the shorter one away.
                let is_none = duration::parse(value).is_ok_and(|length| length == Some(Seconds(0)));
                change.time_min = Some(if is_none { TimeLimit::Seconds(0) } else { least });
            }
            "deadline" => {
                let deadline = times::parse_future(value).map_err(|error| {
                    say::line(error.to_string());
                    1
                })?;
                change.deadline = Some(deadline);
            }
            "timelimit" => change.time_limit = Some(self.time_limit(value)?),
            "starttime" | "eligibletime" => {
                let begin = times::parse_future(value).map_err(|error| {
                    say::line(error.to_string());
                    1
                })?;
                change.begin = Some(begin);
            }
            "nice" => change.nice = Some(value.parse().map_err(|_| self.invalid("Invalid nice value"))?),
            "reservationname" | "reservation" => change.reservation = text(),
            "requeue" => change.requeue = Some(self.yes_or_no("Requeue", value)?),
            "dependency" => {
                change.dependencies =
                    Some(dependency::parse(value).map_err(|fault| self.invalid(dependency_refusal(&fault)))?)
            }
            "arraytaskthrottle" => change.array_running_max = Some(self.number("ArrayTaskThrottle", value)?),
            _ => return Ok(ControlFlow::Continue(())),
        }
        Ok(ControlFlow::Break(()))
    }

    /// Settings of the resources: the request as it is, with one thing changed.
    fn request(&mut self, change: &mut JobUpdated, key: &str, value: &str) -> Result<(), u8> {
        let mut request: ResourceRequest = match change.request.take() {
            Some(request) => request,
            None if REQUEST_KEYS.contains(&key) => ResourceRequest::clone(&self.view()?.spec.request),
            None => return Err(unknown(key, value)),
        };
        match key {
            "numnodes" | "reqnodes" => {
                let counts = node_count::parse(value).map_err(|error| self.invalid(&error.to_string()))?;
                (request.nodes_min, request.nodes_max) = (counts.0, Some(counts.1));
            }
            "numtasks" | "reqprocs" => {
                (request.tasks, request.tasks_given) = (self.number("NumTasks", value)?, true)
            }
            "cpuspertask" => {
                (request.cpus_per_task, request.cpus_per_task_given) =
                    (self.number("CPUs/Task", value)?, true);
            }
            "numcpus" | "reqcpus" => {
                let cpus = self.number("NumCPUs", value)?;
                (request.tasks, request.tasks_given) = (cpus.div_ceil(request.cpus_per_task.max(1)), true);
            }
            "features" => {
                request.features = features::parse(value).map_err(|refusal| match refusal {
                    features::Refusal::Invalid => self.invalid("Invalid feature specification"),
                    features::Refusal::NotSupported => {
                        say::error(
                            "scontrol",
                            format!("Features={value} is not supported by daybook yet: only & is"),
                        );
                        1
                    }
                })?;
            }
            // As in Slurm, empty text takes them all back.
            "licenses" => {
                request.licenses = license::parse(value).map_err(|error| match error {
                    InvalidLicenses::Alternatives(_) => {
                        say::error("scontrol", format!("Licenses={error}"));
                        1
                    }
                    _ => self.invalid("Invalid license specification"),
                })?;
            }
            "contiguous" => request.contiguous = self.yes_or_no("Contiguous", value)?,
            // As in Slurm, 0 takes the wish back.
            "switches" if value == "0" => request.switches = None,
            "switches" => {
                let few = switches::parse(value).map_err(|error| self.invalid(&error.to_string()))?;
                request.switches = Some(few);
            }
            "wait-for-switch" => {
                let wait = Some(Seconds(self.number("wait-for-switch", value)?.into()));
                request.switches = match request.switches {
                    Some(few) => Some(SwitchRequest { wait, ..few }),
                    None => return Err(self.invalid("wait-for-switch needs Switches=COUNT before it")),
                };
            }
            "minmemorynode" => request.memory = Some(MemoryRequest::PerNode(self.memory(value)?)),
            "minmemorycpu" => request.memory = Some(MemoryRequest::PerCpu(self.memory(value)?)),
            "reqnodelist" => request.nodes_required = self.nodes(value)?,
            "excnodelist" => request.nodes_excluded = self.nodes(value)?,
            "gres" | "trespernode" => {
                let invalid = "Invalid generic resource (gres) specification";
                let counts = gres::parse_gres(value).map_err(|_| self.invalid(invalid))?;
                request.gpus =
                    counts.into_iter().filter_map(|one| one.into_request(GpuScope::Node)).collect();
            }
            _ => return Err(unknown(key, value)),
        }
        change.request = Some(request);
        Ok(())
    }

    /// `10`, or `+10` and `-10` from what it is.
    fn time_limit(&mut self, value: &str) -> Result<TimeLimit, u8> {
        let invalid = || {
            say::line("Invalid TimeLimit value");
            1
        };
        let (sign, text) = match value.strip_prefix('+') {
            Some(text) => (1, text),
            None => match value.strip_prefix('-').filter(|_| value != "-1") {
                Some(text) => (-1, text),
                None => (0, value),
            },
        };
        let given = duration::parse_time_limit(text).map_err(|_| invalid())?;
        if sign == 0 {
            return Ok(given);
        }
        match (self.view()?.time_limit, given) {
            (TimeLimit::Seconds(now), TimeLimit::Seconds(more)) => {
                let changed = if sign < 0 { now.checked_sub(more) } else { now.checked_add(more) };
                changed.filter(|seconds| *seconds > 0).map(TimeLimit::Seconds).ok_or_else(invalid)
            }
            (TimeLimit::Unlimited, _) => {
                Err(self.invalid("TimeLimit is UNLIMITED, it cannot be raised or lowered"))
            }
            _ => Err(invalid()),
        }
    }

    fn number(&self, name: &str, value: &str) -> Result<u32, u8> {
        value.parse().map_err(|_| {
            say::line(format!("Invalid {name} value: {value}"));
            1
        })
    }

    /// A number, or the job's own again.
    fn priority(&self, value: &str) -> Result<u32, u8> {
        match value.to_ascii_lowercase().as_str() {
            "infinite" | "unlimited" => Ok(u32::MAX),
            _ => self.number("Priority", value),
        }
    }

    fn yes_or_no(&self, name: &str, value: &str) -> Result<bool, u8> {
        match value.to_ascii_lowercase().as_str() {
            "1" | "yes" | "true" => Ok(true),
            "0" | "no" | "false" => Ok(false),
            _ => {
                say::line(format!("Invalid {name} value: {value}"));
                Err(1)
            }
        }
    }

    fn memory(&self, value: &str) -> Result<daybook_schemas::Mebibytes, u8> {
        memory::parse_mebibytes(value).map_err(|error| self.invalid(&error.to_string()))
    }

    fn nodes(&self, value: &str) -> Result<Vec<NodeName>, u8> {
        let names = hostlist::expand(value).map_err(|_| self.invalid("Invalid node name specified"))?;
        let mut names: Vec<NodeName> = names.into_iter().map(NodeName::from).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }
}

/// What does not touch the resources.
const SIMPLE_KEYS: &[&str] = &[
    "name",
    "jobname",
    "comment",
    "partition",
    "account",
    "qos",
    "timelimit",
    "starttime",
    "eligibletime",
    "deadline",
    "nice",
    "priority",
    "sitefactor",
    "wckey",
    "requeue",
    "timemin",
    "dependency",
    "arraytaskthrottle",
];
/// What changes the resources of a waiting job.
const REQUEST_KEYS: &[&str] = &[
    "numnodes",
    "reqnodes",
    "numtasks",
    "reqprocs",
    "numcpus",
    "reqcpus",
    "cpuspertask",
    "features",
    "licenses",
    "contiguous",
    "switches",
    "wait-for-switch",
    "minmemorynode",
    "minmemorycpu",
    "reqnodelist",
    "excnodelist",
    "gres",
    "trespernode",
];
