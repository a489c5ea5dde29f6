//! Pods and nodes, as the files of the openb trace have them.

use std::path::Path;

use daybook_plan::fragmentation::{Shape, WHOLE_GPU};

use crate::trace::{TraceError, open};

/// The most pods, and the most nodes.
const PODS_MAX: usize = 1_000_000;
const NODES_MAX: usize = 100_000;
/// The most of a column, so that no sum goes beyond 64 bits.
const CPU_MILLI_MAX: u64 = 100_000_000;
const MEMORY_MIB_MAX: u64 = 1 << 40;
const GPUS_MAX: u64 = 1_024;

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// What it takes, apart from memory.
    pub shape: Shape,
    /// Memory in MiB.
    pub memory: u64,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// CPUs, in thousandths.
    pub cpus: u64,
    /// Memory in MiB.
    pub memory: u64,
    /// GPUs.
    pub gpus: u32,
    /// Their type.
    pub gpu_type: String,
}

/// Reads pods: CSV, gzipped or not, with the columns `cpu_milli`, `memory_mib`, `num_gpu`, `gpu_milli` (thousandths of each
/// GPU), and perhaps `gpu_spec` (types joined by `|`; empty: any).
pub fn read_pods(path: &Path) -> Result<Vec<Pod>, TraceError> {
    let mut pods = Vec::new();
    let rows = Rows::open(path)?;
    let [cpus, memory, gpus, share] = rows.columns(["cpu_milli", "memory_mib", "num_gpu", "gpu_milli"])?;
    let types = rows.column("gpu_spec");
    rows.each(PODS_MAX, |row| {
        let gpu_count = row.number(gpus, 0, GPUS_MAX)?;
        let share_min = u64::from(gpu_count > 0);
        let spec = types.and_then(|column| row.record.get(column)).unwrap_or("");
        let mut gpu_types: Vec<String> =
            spec.split('|').map(str::trim).filter(|name| !name.is_empty()).map(str::to_string).collect();
        gpu_types.sort_unstable();
        gpu_types.dedup();
        let shape = Shape {
            cpus: row.number(cpus, 0, CPU_MILLI_MAX)?,
            memory: 0,
            gpus: gpu_count as u32,
            share: row.number(share, share_min, WHOLE_GPU.into())? as u32,
            gpu_types,
            exclusive: false,
        };
        pods.push(Pod { shape, memory: row.number(memory, 0, MEMORY_MIB_MAX)? });
        Ok(())
    })?;
    Ok(pods)
}

/// Reads nodes: CSV, gzipped or not, with the columns `cpu_milli`, `memory_mib`, `gpu` (how many) and `model` (their type).
pub fn read_nodes(path: &Path) -> Result<Vec<NodeRow>, TraceError> {
    let mut nodes = Vec::new();
    let rows = Rows::open(path)?;
    let [cpus, memory, gpus, model] = rows.columns(["cpu_milli", "memory_mib", "gpu", "model"])?;
    rows.each(NODES_MAX, |row| {
        nodes.push(NodeRow {
            cpus: row.number(cpus, 0, CPU_MILLI_MAX)?,
            memory: row.number(memory, 0, MEMORY_MIB_MAX)?,
            gpus: row.number(gpus, 0, GPUS_MAX)? as u32,
            gpu_type: row.record.get(model).unwrap_or("").to_string(),
        });
        Ok(())
    })?;
    Ok(nodes)
}

struct Rows {
    path: String,
    header: csv::StringRecord,
    reader: csv::Reader<Box<dyn std::io::BufRead>>,
}

impl Rows {
    fn open(path: &Path) -> Result<Rows, TraceError> {
        let (name, text) = open(path)?;
        let mut reader = csv::Reader::from_reader(text);
        let header = reader.headers().map_err(|error| fault(&name, &error))?.clone();
        Ok(Rows { path: name, header, reader })
    }

    fn column(&self, wanted: &str) -> Option<usize> {
        self.header.iter().position(|title| title.trim() == wanted)
    }

    fn columns<const N: usize>(&self, wanted: [&str; N]) -> Result<[usize; N], TraceError> {
        let mut found = [0; N];
        for (place, title) in found.iter_mut().zip(wanted) {
            *place = self.column(title).ok_or_else(|| TraceError::Line {
                path: self.path.clone(),
                line: 1,
                what: format!("there is no column \"{title}\" (needed: {})", wanted.join(", ")),
            })?;
        }
        Ok(found)
    }

    /// Gives each row to `take`; at least one, at most `most`.
    fn each(
        mut self,
        most: usize,
        mut take: impl FnMut(&Row<'_>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let mut count = 0;
        for record in self.reader.records() {
            let record = record.map_err(|error| fault(&self.path, &error))?;
            let row = Row { path: &self.path, header: &self.header, record: &record };
            count += 1;
            if count > most {
                return Err(row.fault(format!("there are more than {most} rows")));
            }
            take(&row)?;
        }
        if count == 0 {
            let what = "there is nothing in it but its first line".to_string();
            return Err(TraceError::Content { path: self.path, what });
        }
        Ok(())
    }
}

struct Row<'r> {
    path: &'r str,
    header: &'r csv::StringRecord,
    record: &'r csv::StringRecord,
}

impl Row<'_> {
    fn fault(&self, what: String) -> TraceError {
        let line = self.record.position().map_or(0, csv::Position::line);
        TraceError::Line { path: self.path.to_string(), line, what }
    }

    fn number(&self, column: usize, least: u64, most: u64) -> Result<u64, TraceError> {
        let word = self.record.get(column).unwrap_or("").trim();
        match word.parse::<u64>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => {
                let title = self.header.get(column).unwrap_or("");
                Err(self
                    .fault(format!("{title} is \"{word}\", which is no whole number from {least} to {most}")))
            }
        }
    }
}

/// The csv crate's words, with the line in front where it knows one.
fn fault(path: &str, error: &csv::Error) -> TraceError {
    let path = path.to_string();
    match (error.position(), error.kind()) {
        (Some(at), csv::ErrorKind::UnequalLengths { expected_len, len, .. }) => TraceError::Line {
            path,
            line: at.line(),
            what: format!("it has {len} columns, the first line has {expected_len}"),
        },
        (Some(at), csv::ErrorKind::Utf8 { .. }) => {
            TraceError::Line { path, line: at.line(), what: "it is no UTF-8".to_string() }
        }
        _ => TraceError::Content { path, what: error.to_string() },
    }
}
