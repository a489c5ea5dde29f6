//! What arrives at a cluster.

mod gpu_csv;
mod swf;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::machine::Machine;

/// The most jobs that a trace may have: job ids are 32 bits wide, and all of them are kept in memory.
pub const JOBS_MAX: usize = 20_000_000;
/// The longest line of a trace in bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// One job as it was asked for and as it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceJob {
    /// Its name in the trace.
    pub id: String,
    /// Seconds on the trace's clock.
    pub submit: u64,
    /// How long it ran, in seconds.
    pub run: u64,
    /// What its user said that it would run at most, in seconds; at least `run`.
    pub estimate: u64,
    /// Processors: CPUs of an SWF trace, GPUs of a GPU trace.
    pub processors: u32,
    /// CPUs of a GPU trace's job; 0: none said.
    pub cpus: u32,
    /// Memory of a GPU trace's job in MiB, in all; 0: none said.
    pub memory: u64,
    /// Nodes, where the trace says so.
    pub nodes: Option<u32>,
    /// The types that its GPUs may be of, joined by `|`; empty: any.
    pub gpu_type: String,
    /// Who submitted it; empty: not said.
    pub user: String,
    /// What was run; empty: not said.
    pub program: String,
}

/// What a trace's processors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// CPUs (or nodes) of an SWF trace.
    Processor,
    /// GPUs.
    Gpu,
}

/// A trace, sorted by submission; equal instants in the order of the file.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Its jobs.
    pub jobs: Vec<TraceJob>,
    /// What they ask for.
    pub unit: Unit,
    /// How many of those its machine has, where it says so.
    pub processors: Option<u32>,
    /// Jobs left out, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
}

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file.
    #[error("{path}: {error}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// A line.
    #[error("{path}, line {line}: {what}")]
    Line {
        /// Which file.
        path: String,
        /// Its line, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The whole.
    #[error("{path}: {what}")]
    Content {
        /// Which file.
        path: String,
        /// What is wrong.
        what: String,
    },
}

/// A file's name and its text, gzipped or not.
pub(crate) fn open(path: &Path) -> Result<(String, Box<dyn BufRead>), TraceError> {
    let io = |error| TraceError::Io { path: path.display().to_string(), error };
    let mut plain = BufReader::new(File::open(path).map_err(io)?);
    let is_gzip = plain.fill_buf().map_err(io)?.starts_with(&[0x1f, 0x8b]);
    let text: Box<dyn BufRead> =
        if is_gzip { Box::new(BufReader::new(MultiGzDecoder::new(plain))) } else { Box::new(plain) };
    Ok((path.display().to_string(), text))
}

/// Reads a trace: SWF, or the CSV of GPU jobs (its first line has titles between commas); gzipped or not.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    let io = |error| TraceError::Io { path: path.display().to_string(), error };
    let (name, mut text) = open(path)?;
    let mut trace = if is_csv(text.fill_buf().map_err(io)?) {
        gpu_csv::read(&name, text)?
    } else {
        swf::read(&name, text)?
    };
    if trace.jobs.is_empty() {
        return Err(TraceError::Content { path: name, what: "there is no job in it".to_string() });
    }
    trace.jobs.sort_by_key(|job| job.submit);
    Ok(trace)
}

/// Whether the first line is titles between commas: SWF has comments and numbers.
fn is_csv(text: &[u8]) -> bool {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.first().is_some_and(u8::is_ascii_alphabetic) && line.contains(&b',')
}

impl Trace {
    /// Only the first `count` jobs.
    pub fn cut(&mut self, count: usize) {
        self.jobs.truncate(count);
    }

    fn drop_job(&mut self, why: &'static str) {
        *self.dropped.entry(why).or_insert(0) += 1;
    }

    /// Leaves out jobs that want more processors than there are.
    pub fn drop_larger_than(&mut self, processors: u32) {
        self.keep("more processors than there are", |job| job.processors <= processors);
    }

    /// Leaves out jobs that want more GPUs of their types than the nodes have.
    pub fn drop_without_gpus(&mut self, machine: &Machine) {
        if self.unit == Unit::Gpu {
            self.keep("more GPUs of its types than there are", |job| job.processors <= machine.gpus_for(job));
        }
    }

    fn keep(&mut self, otherwise: &'static str, is_kept: impl Fn(&TraceJob) -> bool) {
        let before = self.jobs.len();
        self.jobs.retain(is_kept);
        if before > self.jobs.len() {
            *self.dropped.entry(otherwise).or_insert(0) += (before - self.jobs.len()) as u64;
        }
    }
}

/// The next line without its end; `None` at the end of the text.
fn next_line(
    name: &str,
    text: &mut dyn BufRead,
    number: u64,
    line: &mut Vec<u8>,
) -> Result<bool, TraceError> {
    line.clear();
    let read = text.take(LINE_BYTES_MAX).read_until(b'\n', line);
    let read = read.map_err(|error| TraceError::Io { path: name.to_string(), error })?;
    if read as u64 == LINE_BYTES_MAX {
        let what = format!("it is longer than {LINE_BYTES_MAX} bytes");
        return Err(TraceError::Line { path: name.to_string(), line: number, what });
    }
    Ok(read > 0)
}
