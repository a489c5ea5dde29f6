//! This test program again, as a second process.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use daybook_log::conformance::sample;
use daybook_log::embedded::{EmbeddedLog, OpenOptions};
use daybook_log::{AppendError, EventLog};
use daybook_schemas::{EventId, Seq};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};

use super::{STATE, open};

const ROLE: &str = "DAYBOOK_LOG_TEST_ROLE";
const DIRECTORY: &str = "DAYBOOK_LOG_TEST_DIRECTORY";

/// The command that runs this program in a role on a log's directory; what it says are its lines with `said: `.
pub fn command(role: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    as_role(&mut command, role, dir);
    command
}

/// Gives a command the role's arguments and environment.
pub fn as_role(command: &mut Command, role: &str, dir: &Path) {
    command.args(["child::plays_its_role", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(DIRECTORY, dir);
    command.stdout(Stdio::piped()).stderr(Stdio::inherit()).stdin(Stdio::null());
}

/// What a child says, line by line.
pub fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let output: ChildStdout = child.stdout.take().unwrap();
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    lines.filter_map(|line| line.split_once("said: ").map(|(_, said)| said.to_string()))
}

fn say(line: std::fmt::Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "said: {line}").and_then(|()| out.flush()).unwrap();
}

/// The second process's entry; without a role it is no test.
#[test]
fn plays_its_role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let dir = PathBuf::from(std::env::var_os(DIRECTORY).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match role.as_str() {
        "open" => match EmbeddedLog::open(&dir, OpenOptions::default()) {
            Ok(_) => say(format_args!("opened")),
            Err(error) => say(format_args!("{error}")),
        },
        "append for ever" => runtime.block_on(append_for_ever(&dir)),
        "append past a file size limit" => runtime.block_on(append_past_a_limit(&dir)),
        "append and settle" => runtime.block_on(append_and_settle(&dir)),
        other => panic!("no role {other}"),
    }
}

/// Eight writers; each acknowledged append is said as `SEQ ID`.
async fn append_for_ever(dir: &Path) {
    let log = open(dir);
    let start = log.end(STATE);
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let log = log.clone();
            tokio::spawn(async move {
                for number in 0..1_000_000 {
                    let name = format!("{start}.{writer}.{number}");
                    let mut append = sample::one(STATE, &name);
                    append.blobs = vec![name.as_bytes().into()];
                    let appended = log.append(append).await.unwrap();
                    say(format_args!("{} {name}-0", appended.seq));
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
}

fn limit_files_to(bytes: u64) {
    let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, bytes.min(hard), hard).unwrap();
}

/// Appends until files may not grow, then until they may again; says each outcome as `OUTCOME ID`.
async fn append_past_a_limit(dir: &Path) {
    // SAFETY: ignoring a signal installs no handler that could run.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.unwrap();
    let log = open(dir);
    limit_files_to(300 << 10);
    let mut limited = true;
    let mut after = 0;
    for number in 0..100_000 {
        if after == 20 {
            break;
        }
        let name = format!("{number}");
        match outcome(&log, &name).await {
            "appended" => after += usize::from(!limited),
            _ if limited => {
                // A few more that are refused, then the limit goes.
                for extra in 0..3 {
                    let refused = outcome(&log, &format!("{number}.{extra}")).await;
                    assert_eq!(refused, "unavailable");
                }
                let before = log.read(STATE, Seq(1), 10).await.unwrap();
                assert_eq!(before.len(), 10, "reads go on");
                limit_files_to(u64::MAX);
                limited = false;
            }
            _ => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    }
    say(format_args!("end {}", log.end(STATE)));
}

/// Appends 200; says each outcome as `OUTCOME ID`, and looks up what is unknown until it is known.
async fn append_and_settle(dir: &Path) {
    let log = open(dir);
    for number in 0..200 {
        outcome(&log, &format!("{number}")).await;
    }
    say(format_args!("end {}", log.end(STATE)));
}

async fn outcome(log: &Arc<EmbeddedLog>, name: &str) -> &'static str {
    let event = sample::event_id(name, 0);
    let outcome = match log.append(sample::one(STATE, name)).await {
        Ok(_) => "appended",
        Err(AppendError::Unavailable(_)) => "unavailable",
        Err(AppendError::Unknown(_)) => {
            // Somebody tries again without looking first: that is not "certainly not appended" either.
            match log.append(sample::one(STATE, name)).await {
                Err(AppendError::Unknown(_) | AppendError::Duplicate { .. }) => {}
                other => panic!("{name}: {other:?}"),
            }
            settled(log, &event).await
        }
        Err(error) => panic!("{error}"),
    };
    say(format_args!("{outcome} {event}"));
    outcome
}

async fn settled(log: &Arc<EmbeddedLog>, event: &EventId) -> &'static str {
    for _ in 0..1000 {
        match log.find(STATE, event).await {
            Ok(Some(_)) => return "found",
            Ok(None) => return "absent",
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    }
    panic!("the outcome of {event} was not known in 20 seconds");
}
