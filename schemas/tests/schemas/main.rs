//! What stands in the log and what the interface says, held against the files that are committed.
//!
//! `UPDATE_EXPECT=1` rewrites those files. Rewriting a golden sample of a released version breaks the reading of old
//! logs: give the type a new version and an upcaster instead.

mod canonical;
mod codec;
mod coverage;
mod events_page;
mod golden;
mod grammar;
mod openapi;
mod samples;
mod schema_check;
mod schema_files;
mod upcasters;
mod writers;
