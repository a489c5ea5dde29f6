//! `sstat`: what running steps have used so far, from the ledger.

mod table;

use daybook_schemas::api::{AccountingAnswer, AccountingQuery, AccountingRecord, JobSelector, RecordKind};
use daybook_schemas::grammar::job_id::{JobStepSelector, StepName, parse_step_selector, split_list};

use super::sacct::columns::{self, Column, Form};
use super::sacct::fields::{self, Field, Shown};
use super::{Command, json};
use crate::client::{CallError, Client};
use crate::options::Order;
use crate::say;
use crate::table::amounts::MemoryUnits;
use crate::table::instants::Instants;

pub const COMMAND: Command = Command {
    name: "sstat",
    summary: "Show what running steps have used so far.",
    usage: "sstat [OPTION]... [JOB[.STEP]]...",
    options: table::OPTIONS,
    order: Order::Permute,
    exit_bad_option: 1,
    run,
};

/// What stands before the reason of a failed call.
const CALL: &str = "sstat: error";
/// What is shown where nobody says.
const DEFAULT: &str = "JobID,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,MaxRSSTask,AveRSS,\
    MaxPages,MaxPagesNode,MaxPagesTask,AvePages,MinCPU,MinCPUNode,MinCPUTask,AveCPU,NTasks,AveCPUFreq,ReqCPUFreqMin,\
    ReqCPUFreqMax,ReqCPUFreqGov,ConsumedEnergy,MaxDiskRead,MaxDiskReadNode,MaxDiskReadTask,AveDiskRead,MaxDiskWrite,\
    MaxDiskWriteNode,MaxDiskWriteTask,AveDiskWrite,TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,\
    TRESUsageInMaxTask,TRESUsageInMin,TRESUsageInMinNode,TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutAve,\
    TRESUsageOutMax,TRESUsageOutMaxNode,TRESUsageOutMaxTask,TRESUsageOutMin,TRESUsageOutMinNode,TRESUsageOutMinTask,\
    TRESUsageOutTot";
/// All that can be shown, in the order of `--helpformat`.
const NAMES: &[&str] = &[
    "AveCPU",
    "AveCPUFreq",
    "AveDiskRead",
    "AveDiskWrite",
    "AvePages",
    "AveRSS",
    "AveVMSize",
    "ConsumedEnergy",
    "ConsumedEnergyRaw",
    "JobID",
    "MaxDiskRead",
    "MaxDiskReadNode",
    "MaxDiskReadTask",
    "MaxDiskWrite",
    "MaxDiskWriteNode",
    "MaxDiskWriteTask",
    "MaxPages",
    "MaxPagesNode",
    "MaxPagesTask",
    "MaxRSS",
    "MaxRSSNode",
    "MaxRSSTask",
    "MaxVMSize",
    "MaxVMSizeNode",
    "MaxVMSizeTask",
    "MinCPU",
    "MinCPUNode",
    "MinCPUTask",
    "Nodelist",
    "NTasks",
    "Pids",
    "ReqCPUFreq",
    "ReqCPUFreqMin",
    "ReqCPUFreqMax",
    "ReqCPUFreqGov",
    "TRESUsageInAve",
    "TRESUsageInMax",
    "TRESUsageInMaxNode",
    "TRESUsageInMaxTask",
    "TRESUsageInMin",
    "TRESUsageInMinNode",
    "TRESUsageInMinTask",
    "TRESUsageInTot",
    "TRESUsageOutAve",
    "TRESUsageOutMax",
    "TRESUsageOutMaxNode",
    "TRESUsageOutMaxTask",
    "TRESUsageOutMin",
    "TRESUsageOutMinNode",
    "TRESUsageOutMinTask",
    "TRESUsageOutTot",
];
/// Fields that sacct has not, or calls otherwise. No record has process ids.
const OWN: &[Field] = &[
    Field {
        name: "Nodelist",
        width: 15,
        left: false,
        write: |shown, out| out.push_str(&shown.record.node_list),
    },
    Field { name: "Pids", width: 20, left: false, write: |_, _| () },
];

struct Wish {
    named: Vec<JobStepSelector>,
    all_steps: bool,
    columns: Vec<Column>,
    form: Form,
    header: bool,
    units: MemoryUnits,
    json: bool,
}

fn run(arguments: &[String]) -> u8 {
    let wish = match read(arguments) {
        Ok(Some(wish)) => wish,
        Ok(None) => {
            say::print(&fields::listing_of(NAMES));
            return 0;
        }
        Err(exit) => return exit,
    };
    let answer = match ask(&wish) {
        Ok(answer) => answer,
        Err(error) => return json::report(CALL, &error),
    };
    let chosen = choose(&wish, answer);
    if wish.json {
        for complaint in &chosen.complaints {
            say::error("sstat", complaint);
        }
        return json::print("steps", &chosen.answer.records);
    }
    let instants = Instants::from_environment().at(chosen.answer.now.seconds());
    let mut out = String::new();
    if wish.header {
        columns::head(&wish.columns, &wish.form, &mut out);
    }
    for record in &chosen.answer.records {
        let shown = Shown { record, answer: &chosen.answer, instants: &instants, units: wish.units };
        columns::line(&wish.columns, &wish.form, &shown, &mut out);
    }
    say::print(&out);
    for complaint in &chosen.complaints {
        say::error("sstat", complaint);
    }
    0
}

/// `None`: the fields' names are wanted.
fn read(arguments: &[String]) -> Result<Option<Wish>, u8> {
    let line = COMMAND.read(arguments)?;
    let fault = |text: String| {
        say::error("sstat", text);
        1
    };
    let (mut named, mut format) = (Vec::new(), Vec::new());
    let (mut all_steps, mut header, mut json) = (false, true, false);
    let (mut form, mut units) = (Form::Aligned, MemoryUnits::default());
    let jobs = |text: &str| {
        split_list(text)
            .into_iter()
            .map(|id| parse_step_selector(id).map_err(|_| fault(format!("Invalid job id specified: {id}"))))
            .collect::<Result<Vec<_>, u8>>()
    };
    for given in &line.options {
        match given.option.long {
            "allsteps" => all_steps = true,
            "format" => format.push(given.text().to_string()),
            "helpformat" => return Ok(None),
            "jobs" => named.extend(jobs(given.text())?),
            "json" => json = true,
            "noconvert" => units = MemoryUnits::Stored,
            "noheader" => header = false,
            "parsable" => form = Form::Ended("|".to_string()),
            "parsable2" => form = Form::Separated("|".to_string()),
            _ => {}
        }
    }
    for operand in &line.operands {
        named.extend(jobs(operand)?);
    }
    if named.is_empty() {
        return Err(fault("You didn't give me any jobs to stat.".to_string()));
    }
    let format = if format.is_empty() { DEFAULT.to_string() } else { format.join(",") };
    let columns = columns::parse_with(&format, field)
        .map_err(|unknown| fault(format!("Invalid field requested: \"{}\"", unknown.0)))?;
    Ok(Some(Wish { named, all_steps, columns, form, header, units, json }))
}

/// A field of sstat: the first whose name starts so, in any letter case.
fn field(name: &str) -> Option<&'static Field> {
    let starts =
        |known: &&&str| known.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let name = NAMES.iter().filter(|_| !name.is_empty()).find(starts)?;
    OWN.iter().find(|own| own.name == *name).or_else(|| fields::by_name(name))
}

fn ask(wish: &Wish) -> Result<AccountingAnswer, CallError> {
    let jobs = wish.named.iter().map(|named| named.job.clone()).collect();
    let query = AccountingQuery { jobs, ..AccountingQuery::default() };
    Client::connect()?.post("/v1/accounting/query", &query)
}

fn is_of(record: &AccountingRecord, job: &JobSelector) -> bool {
    let of_array = record.array.filter(|task| task.array_job == job.job);
    match &job.tasks {
        None => record.job == job.job || of_array.is_some(),
        Some(tasks) => of_array.is_some_and(|task| tasks.contains(task.task)),
    }
}

/// The steps that are shown, and what is to be said of jobs that have none.
struct Chosen {
    answer: AccountingAnswer,
    complaints: Vec<String>,
}

/// A job that is named without a step means its numbered steps, and with `--allsteps` the batch script too.
fn choose(wish: &Wish, mut answer: AccountingAnswer) -> Chosen {
    let (mut complaints, mut records) = (Vec::new(), Vec::new());
    for named in &wish.named {
        let of_job = || answer.records.iter().filter(|record| is_of(record, &named.job));
        if of_job().next().is_none() {
            complaints.push(format!("couldn't get steps for job {}", named.job));
            continue;
        }
        let mut running = of_job()
            .filter(|record| record.kind == RecordKind::BatchStep && record.ended.is_none())
            .peekable();
        if running.peek().is_none() {
            complaints.push(format!("No steps running for job {}", named.job));
        }
        let is_meant = match &named.step {
            Some(step) => *step == StepName::Batch,
            None => wish.all_steps,
        };
        records.extend(running.filter(|_| is_meant).cloned());
    }
    answer.records = records;
    Chosen { answer, complaints }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::sample::{accounting, batch_step, record};
    use serde_json::json;

    fn wish(named: &[&str], all_steps: bool) -> Wish {
        Wish {
            named: named.iter().map(|text| parse_step_selector(text).unwrap()).collect(),
            all_steps,
            columns: Vec::new(),
            form: Form::Aligned,
            header: true,
            units: MemoryUnits::default(),
            json: false,
        }
    }

    fn answer() -> AccountingAnswer {
        let running = json!({ "state": "RUNNING", "ended": null });
        accounting(vec![
            record(211, running.clone()),
            batch_step(211, running),
            record(212, json!({})),
            batch_step(212, json!({})),
        ])
    }

    #[test]
    fn only_running_steps_are_shown_and_the_batch_script_where_it_is_asked_for() {
        let shown = |named: &[&str], all_steps| {
            let chosen = choose(&wish(named, all_steps), answer());
            (chosen.answer.records.len(), chosen.complaints)
        };
        assert_eq!(shown(&["211"], false), (0, Vec::new()));
        assert_eq!(shown(&["211"], true), (1, Vec::new()));
        assert_eq!(shown(&["211.batch"], false), (1, Vec::new()));
        assert_eq!(shown(&["211.0"], true), (0, Vec::new()));
        assert_eq!(shown(&["212"], true), (0, vec!["No steps running for job 212".to_string()]));
        assert_eq!(shown(&["9", "211.batch"], true), (1, vec!["couldn't get steps for job 9".to_string()]));
    }

    #[test]
    fn every_name_has_a_field() {
        for name in NAMES {
            assert_eq!(
                field(name).map(|field| field.name.to_ascii_lowercase()),
                Some(name.to_ascii_lowercase())
            );
        }
        assert_eq!(field("maxr").map(|field| field.name), Some("MaxRSS"));
        assert_eq!(field("State").map(|field| field.name), None, "sacct has it");
    }
}
