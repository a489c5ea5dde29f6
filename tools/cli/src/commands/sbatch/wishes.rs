//! What the options of a submission say, read and checked one by one.

use std::path::{Path, PathBuf};

use daybook_schemas::grammar::gres::{self, GresCount};
use daybook_schemas::grammar::license::InvalidLicenses;
use daybook_schemas::grammar::{array, dependency, duration, hostlist, license, memory};
use daybook_schemas::job::{
    ArrayRequest, Dependencies, GpuRequest, GpuScope, JobUser, MemoryRequest, OpenMode, SwitchRequest,
    TimeLimit,
};
use daybook_schemas::license::License;
use daybook_schemas::{NodeName, UtcMicros};

use super::fault::Fault;
use crate::notation::{dependency_refusal, features, node_count, switches};
use crate::options::Given;
use crate::{people, times};

/// Slurm's bound of `--nice`.
const NICE_MAX: i64 = 2_147_483_645;
/// `--nice` without a number.
const NICE_DEFAULT: i32 = 100;
/// The largest file of node names for `--nodelist`, in bytes.
const NODE_FILE_BYTES_MAX: u64 = 1 << 20;

/// The options together; of one that is given twice the last counts.
#[derive(Debug, Default)]
pub struct Wishes {
    pub account: Option<String>,
    pub array: Option<ArrayRequest>,
    pub begin: Option<UtcMicros>,
    pub chdir: Option<PathBuf>,
    pub comment: Option<String>,
    pub contiguous: bool,
    pub features: Vec<String>,
    pub cpus_per_task: Option<u32>,
    pub dependencies: Option<Dependencies>,
    pub std_err: Option<String>,
    pub std_in: Option<String>,
    pub std_out: Option<String>,
    pub exclude: Vec<NodeName>,
    pub exclusive: bool,
    pub export: Option<String>,
    pub gpus: Vec<GpuRequest>,
    pub gpus_per_node: Vec<GpuRequest>,
    pub gpus_per_task: Vec<GpuRequest>,
    pub gres: Vec<GpuRequest>,
    pub hold: bool,
    pub ignore_pbs: bool,
    pub job_name: Option<String>,
    /// `--kill-on-invalid-dep`, where it is given.
    pub kill_on_invalid_dependency: Option<bool>,
    pub licenses: Vec<License>,
    pub memory: Option<MemoryRequest>,
    pub nice: i32,
    pub node_list: Vec<NodeName>,
    pub nodes: Option<(u32, u32)>,
    pub tasks: Option<u32>,
    pub tasks_per_node: Option<u32>,
    pub open_mode: OpenMode,
    pub parsable: bool,
    pub partition: Option<String>,
    pub qos: Option<String>,
    pub quiet: bool,
    pub requeue: Option<bool>,
    pub reservation: Option<String>,
    pub switches: Option<SwitchRequest>,
    pub time_limit: Option<TimeLimit>,
    pub time_min: Option<TimeLimit>,
    pub deadline: Option<UtcMicros>,
    pub user: Option<JobUser>,
    pub verbose: u32,
    pub wait: bool,
    pub wckey: Option<String>,
    pub wrap: Option<String>,
}

/// What values are read against.
pub struct Surroundings {
    /// Where sbatch was called.
    pub work_dir: PathBuf,
    pub is_root: bool,
}

impl Wishes {
    /// Takes the options of one source (directives, environment, command line) over what others said before.
    pub fn take(&mut self, source: &[Given], around: &Surroundings) -> Result<(), Fault> {
        let memories = ["mem", "mem-per-cpu", "mem-per-gpu"];
        let given = |name: &&&str| source.iter().any(|given| given.option.long == **name);
        if memories.iter().filter(given).count() > 1 {
            let line = "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.";
            return Err(Fault { lines: vec![line.to_string()], exit: super::fault::EXIT_REFUSED });
        }
        source.iter().try_for_each(|given| self.take_one(given, around))
    }

    fn take_one(&mut self, given: &Given, around: &Surroundings) -> Result<(), Fault> {
        let name = given.option.long;
        let value = given.text();
        let text = || Some(value.to_string());
        match name {
            "account" => self.account = text(),
            "array" => {
                self.array =
                    array::parse(value).map_err(|_| Fault::submission("Invalid job array specification"))?
            }
            "begin" => {
                let begin = times::parse_future(value);
                self.begin = Some(begin.map_err(|error| Fault::invalid(name).after(error.to_string()))?);
            }
            "chdir" => self.chdir = Some(around.work_dir.join(value)),
            "comment" => self.comment = text(),
            "constraint" => self.features = read_features(value)?,
            "contiguous" => self.contiguous = true,
            "dependency" => {
                let read = dependency::parse(value)
                    .map_err(|fault| Fault::submission(dependency_refusal(&fault)))?;
                self.dependencies = Some(read).filter(|read| !read.conditions.is_empty());
            }
            "error" => self.std_err = text(),
            "input" => self.std_in = text(),
            "output" => self.std_out = text(),
            "exclude" => self.exclude = read_nodes(value, &around.work_dir)?,
            "nodelist" => self.node_list = read_nodes(value, &around.work_dir)?,
            "exclusive" => self.exclusive = read_exclusive(given.value.as_deref())?,
            "export" => self.export = text(),
            "hold" => self.hold = true,
            "ignore-pbs" => self.ignore_pbs = true,
            "job-name" => self.job_name = text(),
            "kill-on-invalid-dep" => self.kill_on_invalid_dependency = Some(read_yes_or_no(name, value)?),
            "nice" => self.nice = read_nice(given.value.as_deref())?,
            "reservation" => self.reservation = text(),
            "requeue" => self.requeue = Some(true),
            "no-requeue" => self.requeue = Some(false),
            "open-mode" => self.open_mode = read_open_mode(value)?,
            "parsable" => self.parsable = true,
            "partition" => self.partition = Some(read_partition(value)?),
            "qos" => self.qos = text(),
            "wckey" => self.wckey = text(),
            "quiet" => self.quiet = true,
            "time" => {
                self.time_limit = Some(duration::parse_time_limit(value).map_err(|_| Fault::invalid(name))?)
            }
            "time-min" => {
                let least = duration::parse_time_limit(value).map_err(|_| Fault::invalid(name))?;
                self.time_min = Some(least);
            }
            "deadline" => {
                let deadline = times::parse_future(value);
                self.deadline =
                    Some(deadline.map_err(|error| Fault::invalid(name).after(error.to_string()))?);
            }
            "uid" => self.user = Some(read_user(value, around.is_root)?),
            "verbose" => self.verbose = self.verbose.saturating_add(1),
            "wait" => self.wait = true,
            "wrap" => self.wrap = text(),
            _ => self.take_size(name, value)?,
        }
        Ok(())
    }

    /// Options that say how much.
    fn take_size(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        match name {
            "cpus-per-task" => self.cpus_per_task = Some(read_number(name, value)?),
            "ntasks" => self.tasks = Some(read_number(name, value)?),
            "ntasks-per-node" => self.tasks_per_node = Some(read_number(name, value)?),
            "nodes" => {
                let counts =
                    node_count::parse(value).map_err(|error| Fault::bad_option(error.to_string()))?;
                if counts.0 == 0 {
                    return Err(Fault::submission("Node count specification invalid"));
                }
                self.nodes = Some(counts);
            }
            "mem" => self.memory = Some(MemoryRequest::PerNode(read_memory(name, value)?)),
            "mem-per-cpu" => self.memory = Some(MemoryRequest::PerCpu(read_memory(name, value)?)),
            "mem-per-gpu" => self.memory = Some(MemoryRequest::PerGpu(read_memory(name, value)?)),
            "licenses" => self.licenses = read_licenses(value)?,
            "switches" => {
                let few = switches::parse(value).map_err(|error| Fault::refused(error.to_string()))?;
                self.switches = Some(few);
            }
            "gres" => {
                let invalid = |_| Fault::refused("Invalid generic resource (gres) specification");
                self.gres = requests(gres::parse_gres(value).map_err(invalid)?, GpuScope::Node);
            }
            "gpus" => self.gpus = read_gpus(name, value, GpuScope::Job)?,
            "gpus-per-node" => self.gpus_per_node = read_gpus(name, value, GpuScope::Node)?,
            "gpus-per-task" => self.gpus_per_task = read_gpus(name, value, GpuScope::Task)?,
            other => return Err(Fault::refused(format!("--{other} is not supported by daybook yet"))),
        }
        Ok(())
    }
}

/// A whole number of at least 1.
fn read_number(name: &str, value: &str) -> Result<u32, Fault> {
    let number = value.parse::<u32>().ok().filter(|&number| number > 0 && number <= i32::MAX as u32);
    number.ok_or_else(|| Fault::refused(format!("Invalid numeric value \"{value}\" for --{name}.")))
}

fn read_licenses(value: &str) -> Result<Vec<License>, Fault> {
    license::parse(value).map_err(|error| match error {
        InvalidLicenses::Alternatives(_) => Fault::refused(format!("--licenses={error}")),
        _ => Fault::submission("Invalid license specification"),
    })
}

fn read_memory(name: &str, value: &str) -> Result<daybook_schemas::Mebibytes, Fault> {
    memory::parse_mebibytes(value).map_err(|_| Fault::invalid(name))
}

fn read_gpus(name: &str, value: &str, scope: GpuScope) -> Result<Vec<GpuRequest>, Fault> {
    Ok(requests(gres::parse_gpus(value).map_err(|_| Fault::invalid(name))?, scope))
}

/// The wishes of counts; 0 GPUs are no wish.
fn requests(counts: Vec<GresCount>, scope: GpuScope) -> Vec<GpuRequest> {
    counts.into_iter().filter_map(|count| count.into_request(scope)).collect()
}

fn read_features(value: &str) -> Result<Vec<String>, Fault> {
    features::parse(value).map_err(|refusal| match refusal {
        features::Refusal::Invalid => Fault::submission("Invalid feature specification"),
        features::Refusal::NotSupported => Fault::refused(format!(
            "--constraint={value} is not supported by daybook yet: only features joined by & are"
        )),
    })
}

/// Sorted, each once. A value with a slash is a file of names.
fn read_nodes(value: &str, work_dir: &Path) -> Result<Vec<NodeName>, Fault> {
    let text = if value.contains('/') {
        let path = work_dir.join(value);
        let large = path.metadata().is_ok_and(|metadata| metadata.len() > NODE_FILE_BYTES_MAX);
        let read =
            if large { Err(std::io::ErrorKind::FileTooLarge.into()) } else { std::fs::read_to_string(&path) };
        let read = read.map_err(|error| Fault::refused(format!("Unable to open file {value}: {error}")))?;
        read.split_whitespace().collect::<Vec<_>>().join(",")
    } else {
        value.to_string()
    };
    let names = hostlist::expand(&text).map_err(|_| Fault::submission("Invalid node name specified"))?;
    let mut names: Vec<NodeName> = names.into_iter().map(NodeName::from).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

fn read_exclusive(value: Option<&str>) -> Result<bool, Fault> {
    match value {
        None | Some("exclusive") => Ok(true),
        Some(who @ ("user" | "mcs")) => {
            Err(Fault::refused(format!("--exclusive={who} is not supported by daybook yet")))
        }
        Some(_) => Err(Fault::invalid("exclusive")),
    }
}

fn read_yes_or_no(name: &str, value: &str) -> Result<bool, Fault> {
    match value.to_ascii_lowercase().as_str() {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(Fault::invalid(name)),
    }
}

/// As Slurm reads it: the number at the beginning, or 0 where there is none.
fn read_nice(value: Option<&str>) -> Result<i32, Fault> {
    let Some(value) = value else { return Ok(NICE_DEFAULT) };
    let digits = value.trim_start_matches(['-', '+']);
    let length = digits.len() - digits.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let negative = value.starts_with('-');
    let number = match &digits[..length] {
        "" => 0,
        digits => digits.parse::<i64>().unwrap_or(i64::MAX),
    };
    let number = if negative { -number } else { number };
    let bound = -NICE_MAX..=NICE_MAX;
    match i32::try_from(number) {
        Ok(nice) if bound.contains(&number) => Ok(nice),
        _ => {
            Err(Fault::bad_option(format!("Invalid nice value, must be between -{NICE_MAX} and {NICE_MAX}")))
        }
    }
}

fn read_open_mode(value: &str) -> Result<OpenMode, Fault> {
    match value {
        "a" | "append" => Ok(OpenMode::Append),
        "t" | "truncate" => Ok(OpenMode::Truncate),
        _ => Err(Fault::invalid("open-mode")),
    }
}

fn read_partition(value: &str) -> Result<String, Fault> {
    if value.is_empty() {
        let detail = "sbatch: error: invalid partition specified: (null)";
        return Err(Fault::submission("Invalid partition name specified").after(detail));
    }
    Ok(value.to_string())
}

fn read_user(value: &str, is_root: bool) -> Result<JobUser, Fault> {
    if !is_root {
        return Err(Fault::bad_option("--uid only permitted by root user"));
    }
    people::job_user_of(value).ok_or_else(|| Fault::bad_option(format!("--uid=\"{value}\" invalid")))
}
