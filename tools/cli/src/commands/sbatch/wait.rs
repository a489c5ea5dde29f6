//! `sbatch --wait`: until the job has ended.

use std::time::{Duration, Instant};

use daybook_schemas::JobId;
use daybook_schemas::api::{ErrorCode, JobWaitAnswer};

use crate::client::{CallError, Client};
use crate::say;

/// The longest wait of one question; the daemon's bound.
const QUESTION: Duration = Duration::from_secs(300);
/// How much later than that the answer may come.
const SLACK: Duration = Duration::from_secs(30);
/// How long a daemon may be away before the waiting is given up; the job goes on without it.
const AWAY_MAX: Duration = Duration::from_secs(3_600);
/// Between questions while it is away.
const PAUSE: Duration = Duration::from_secs(1);

/// Waits for the job's end and gives the exit status.
pub fn until_ended(client: &mut Client, job: JobId) -> u8 {
    let path = format!("/v1/jobs/{job}/wait?timeout_seconds={}", QUESTION.as_secs());
    let mut away_since: Option<Instant> = None;
    loop {
        match client.get_within::<JobWaitAnswer>(&path, QUESTION + SLACK) {
            Ok(answer) if answer.ended => return u8::try_from(answer.exit_code).unwrap_or(1),
            Ok(_) => away_since = None,
            Err(error) if is_passing(&error) => {
                let since = *away_since.get_or_insert_with(|| {
                    if say::is_watched() {
                        say::line(format!("sbatch: job {job}: the daemon is away ({error}), waiting for it"));
                    }
                    Instant::now()
                });
                if since.elapsed() > AWAY_MAX {
                    say::error("sbatch", format!("job {job} is no longer waited for: {error}"));
                    return 1;
                }
                std::thread::sleep(PAUSE);
            }
            Err(error) => {
                say::error("sbatch", format!("job {job} cannot be waited for: {error}"));
                return 1;
            }
        }
    }
}

/// Whether the same question may be answered later.
fn is_passing(error: &CallError) -> bool {
    match error {
        CallError::Unreachable(_) | CallError::OutcomeUnknown(_) => true,
        CallError::Refused(refused) => {
            matches!(refused.code, ErrorCode::NotReady | ErrorCode::LogUnavailable)
        }
        CallError::Unintelligible(_) => false,
    }
}
