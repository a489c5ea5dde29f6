//! Notations that only the client reads; those that others read too are in `daybook_schemas::grammar`.

pub mod features;
pub mod node_count;
pub mod switches;

use daybook_schemas::grammar::dependency::InvalidDependency;

/// Slurm's sentence for dependencies that cannot be read.
pub fn dependency_refusal(fault: &InvalidDependency) -> &'static str {
    match fault {
        InvalidDependency::NotSupported(_) => "Requested operation not supported on this system",
        InvalidDependency::Unreadable(_) | InvalidDependency::TooMany => "Job dependency problem",
    }
}
