//! The columns of sprio: small letters for factors, capital ones for what they add.

use std::fmt::Write as _;

use daybook_schemas::api::JobPriority;
use daybook_schemas::priority::{PRIORITY_FACTOR_ONE, PriorityParameters};

/// A line of the table.
pub enum Line<'a> {
    Job(&'a JobPriority),
    Weights(&'a PriorityParameters),
}

/// A column.
pub struct Field {
    pub letter: char,
    pub header: &'static str,
    write: fn(&Line<'_>, &mut String),
}

impl Field {
    pub fn write(&self, line: &Line<'_>, out: &mut String) {
        (self.write)(line, out);
    }
}

pub fn by_letter(letter: char) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.letter == letter)
}

/// A part of a whole, as Slurm shows it.
fn part(factor: u64, out: &mut String) {
    let digits = u128::from(factor) * 10_000_000;
    let one = u128::from(PRIORITY_FACTOR_ONE);
    let rounded = (digits + one / 2) / one;
    let _ = write!(out, "{}.{:07}", rounded / 10_000_000, rounded % 10_000_000);
}

/// `priority` as a part of the largest number that there is.
fn normalized(priority: u32, out: &mut String) {
    let most = u64::from(u32::MAX);
    let rounded = (u64::from(priority) * 100_000_000 + most / 2) / most;
    let _ = write!(out, "{}.{:08}", rounded / 100_000_000, rounded % 100_000_000);
}

macro_rules! factors {
    ($($small:literal $capital:literal $header:literal $factor:ident $weight:ident;)*) => {
        /// Every column.
        pub static FIELDS: &[Field] = &[
            $(
                Field { letter: $small, header: $header, write: |line, out| match line {
                    Line::Job(job) => part(job.factors.$factor, out),
                    Line::Weights(parameters) => { let _ = write!(out, "{}", parameters.$weight); }
                } },
                Field { letter: $capital, header: $header, write: |line, out| match line {
                    Line::Job(job) => { let _ = write!(out, "{}", job.addends.$factor); }
                    Line::Weights(parameters) => { let _ = write!(out, "{}", parameters.$weight); }
                } },
            )*
            Field { letter: 'i', header: "JOBID", write: |line, out| match line {
                Line::Job(job) => { let _ = write!(out, "{}", job.job); }
                Line::Weights(..) => out.push_str("Weights"),
            } },
            Field { letter: 'n', header: "QOS", write: |line, out| of_job(line, |job| out.push_str(&job.qos)) },
            Field { letter: 'N', header: "NICE", write: |line, out| of_job(line, |job| {
                let _ = write!(out, "{}", job.addends.nice);
            }) },
            Field { letter: 'o', header: "ACCOUNT", write: |line, out| {
                of_job(line, |job| out.push_str(&job.account))
            } },
            Field { letter: 'r', header: "PARTITION", write: |line, out| {
                of_job(line, |job| out.push_str(&job.partition))
            } },
            Field { letter: 'S', header: "SITE", write: |line, out| match line {
                Line::Job(job) => { let _ = write!(out, "{}", job.addends.site); }
                // As in Slurm: it is added as it is.
                Line::Weights(..) => out.push('1'),
            } },
            Field { letter: 't', header: "TRES", write: |line, out| match line {
                Line::Job(job) => named(&job.factors.tres, out, |factor, out| part(*factor, out)),
                Line::Weights(parameters) => named(&parameters.weight_tres, out, whole),
            } },
            Field { letter: 'T', header: "TRES", write: |line, out| match line {
                Line::Job(job) => named(&job.addends.tres, out, whole),
                Line::Weights(parameters) => named(&parameters.weight_tres, out, whole),
            } },
            Field { letter: 'u', header: "USER", write: |line, out| of_job(line, |job| out.push_str(&job.user)) },
            Field { letter: 'y', header: "PRIORITY", write: |line, out| {
                of_job(line, |job| normalized(job.priority, out))
            } },
            Field { letter: 'Y', header: "PRIORITY", write: |line, out| of_job(line, |job| {
                let _ = write!(out, "{}", job.priority);
            }) },
        ];
    };
}

factors! {
    'a' 'A' "AGE" age weight_age;
    'b' 'B' "ASSOC" association weight_association;
    'f' 'F' "FAIRSHARE" fair_share weight_fair_share;
    'h' 'H' "SHORT" short weight_short;
    'j' 'J' "JOBSIZE" job_size weight_job_size;
    'p' 'P' "PARTITION" partition weight_partition;
    'q' 'Q' "QOS" qos weight_qos;
}

fn of_job(line: &Line<'_>, write: impl FnOnce(&JobPriority)) {
    if let Line::Job(job) = line {
        write(job);
    }
}

fn whole<T: std::fmt::Display>(number: &T, out: &mut String) {
    let _ = write!(out, "{number}");
}

/// `cpu=5,gres/gpu=100`; what is nothing is left out.
fn named<T: Default + PartialEq>(
    all: &std::collections::BTreeMap<String, T>,
    out: &mut String,
    write: impl Fn(&T, &mut String),
) {
    let mut first = true;
    for (name, amount) in all.iter().filter(|(_, amount)| **amount != T::default()) {
        if !first {
            out.push(',');
        }
        first = false;
        out.push_str(name);
        out.push('=');
        write(amount, out);
    }
}
