//! What may be changed by whom, what is refused with which words, and what a job gets.

mod jobs;
mod limits;
mod refusals;
mod rights;
mod site;

use daybook_schemas::api::{ApiError, ErrorCode};

/// The code, the sentence and its details, one a line.
fn told(refusal: ApiError) -> (ErrorCode, String) {
    let lines: Vec<String> = std::iter::once(refusal.message).chain(refusal.details).collect();
    (refusal.code, lines.join("\n"))
}
