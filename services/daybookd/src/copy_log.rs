//! `daybookd copy-log`, which `daybook log copy` is: moves a log to a bus or from one.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use daybook_log::copy::{self, BusLog, CopyReport, Step};
use daybook_schemas::{Seq, Stream};

use crate::CopyLogArguments;
use crate::cluster::configure;
use crate::log::bus;

/// One end of a copy.
enum Side {
    Directory(PathBuf),
    Bus(String),
}

fn side(option: &str, text: &str) -> Result<Side, String> {
    match text.split_once(':') {
        Some(("embedded", directory)) if !directory.is_empty() => Ok(Side::Directory(directory.into())),
        Some(("nats" | "tls", rest)) if rest.starts_with("//") => Ok(Side::Bus(text.to_string())),
        _ => Err(format!(
            "{option} {text}: unknown; use embedded:STATE_DIRECTORY, nats://HOST:PORT or tls://HOST:PORT"
        )),
    }
}

/// Copies, compares, and says what it did.
pub async fn run(arguments: CopyLogArguments) -> Result<(), String> {
    let (from, to) = (side("--from", &arguments.from)?, side("--to", &arguments.to)?);
    let configuration = configure(&arguments.config)?;
    let nats = &configuration.daemon.nats;
    let on_bus = |servers: &str| {
        let nkey_file = arguments.nkey_file.clone().or_else(|| nats.nkey_file.clone());
        BusLog {
            bus: daybook_log::jetstream::Bus { nkey_file, ..bus(servers, nats) },
            cluster: configuration.cluster.cluster_name.clone(),
            replicas: usize::try_from(nats.replicas).unwrap_or(1),
            monitor_urls: nats.monitor_urls.clone(),
            accept_unsynced: nats.accept_unsynced,
        }
    };
    let is_watched = std::io::stderr().is_terminal();
    let show = |step: Step, stream: Stream, at: Seq, end: Seq| {
        if is_watched && end > Seq::ZERO {
            let what = if step == Step::Copying { "copied" } else { "compared" };
            let percent = at.0.saturating_mul(100) / end.0;
            // A closed standard error is no reason to stop.
            let _ =
                write!(std::io::stderr(), "\r{stream:?}: {at} of {end} commits {what}, {percent} %\x1b[K");
        }
    };
    let copied = match (&from, &to) {
        (Side::Directory(dir), Side::Bus(servers)) => copy::to_bus(dir, &on_bus(servers), &show).await,
        (Side::Bus(servers), Side::Directory(dir)) => copy::to_directory(&on_bus(servers), dir, &show).await,
        _ => {
            return Err("one of --from and --to is a directory (embedded:DIR), the other a bus (nats://...); a directory \
                        is copied to another with cp, while no daemon runs"
                .to_string());
        }
    };
    if is_watched {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    let report = copied.map_err(|error| error.to_string())?;
    let told = match arguments.json {
        true => serde_json::json!({
            "commits": report.commits,
            "found": report.found,
            "blobs": report.blobs,
            "missing_blobs": report.missing_blobs,
        })
        .to_string(),
        false => in_words(&report, &arguments),
    };
    crate::say::answer(&told)
}

fn in_words(report: &CopyReport, arguments: &CopyLogArguments) -> String {
    let CopyReport { commits, found, blobs, missing_blobs } = report;
    let missing = match missing_blobs {
        0 => String::new(),
        missing => format!(" {missing} blobs that commits name are in neither log."),
    };
    format!(
        "{} has the {commits} commits and {blobs} blobs of {} ({found} commits were there); each commit was compared byte for byte.{missing}",
        arguments.to, arguments.from
    )
}
