//! What the configuration asks of the machine that it is read on.

mod gpus;
mod local;

use std::path::{Path, PathBuf};

use daybook_schemas::Mebibytes;

pub use gpus::gpu_type;
pub use local::LocalMachine;

/// The machine. [`LocalMachine`] is the real one; tests have others.
pub trait Machine {
    /// Its host name, as the kernel has it: possibly with a domain behind it.
    fn hostname(&self) -> String;
    /// CPUs that may be used here.
    fn cpus(&self) -> CpuTopology;
    /// Memory that may be used here.
    fn memory(&self) -> Mebibytes;
    /// Size of the file system of `/tmp`.
    fn tmp_disk(&self) -> Mebibytes;
    /// GPUs that the driver knows, in its order; none where there is no driver.
    fn gpus(&self) -> Vec<FoundGpu>;
    /// Whether there is something at this path.
    fn file_exists(&self, path: &Path) -> bool;
    /// The id of a user.
    fn user_id(&self, name: &str) -> Option<u32>;
}

/// How CPUs are arranged: `cpus` is the product of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTopology {
    /// Logical CPUs, at least 1.
    pub cpus: u32,
    /// Sockets.
    pub sockets: u32,
    /// Cores of each socket.
    pub cores_per_socket: u32,
    /// Threads of each core.
    pub threads_per_core: u32,
}

impl CpuTopology {
    /// So many CPUs in one socket, where nothing more is known.
    pub fn flat(cpus: u32) -> CpuTopology {
        CpuTopology { cpus, sockets: 1, cores_per_socket: cpus, threads_per_core: 1 }
    }
}

/// A GPU that the driver knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundGpu {
    /// NVML's UUID: `GPU-…`.
    pub uuid: String,
    /// Its type as [`gpu_type`] makes it from the product name: `h200`.
    pub gpu_type: String,
    /// Its device file, `/dev/nvidia0`.
    pub file: Option<PathBuf>,
}

/// A host name up to its first dot.
pub(crate) fn short(hostname: &str) -> &str {
    hostname.split('.').next().unwrap_or(hostname)
}

/// Whether a node with this `NodeHostname` is on the machine.
pub(crate) fn is_here(machine: &dyn Machine, hostname: &str) -> bool {
    let own = machine.hostname();
    hostname.eq_ignore_ascii_case(&own)
        || hostname.eq_ignore_ascii_case(short(&own))
        || hostname.eq_ignore_ascii_case("localhost")
}
