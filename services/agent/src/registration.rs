//! What an agent says of its node.

use std::path::Path;

use daybook_schemas::events::NodeRegistered;
use daybook_schemas::node::GpuDevice;
use daybook_supervisor::processes::boot_id;

use crate::agent::AgentConfig;

/// The registration: the declared hardware, less the GPUs whose device file is not there. `unconfined`: in what way its
/// runs are not confined, although they should be.
pub(crate) fn registration(config: &AgentConfig, unconfined: Option<String>) -> NodeRegistered {
    let node = &config.node;
    let is_there =
        |gpu: &&GpuDevice| node.simulated || gpu.file.as_ref().is_none_or(|file| Path::new(file).exists());
    let gpus: Vec<GpuDevice> = node.gpus.iter().filter(is_there).cloned().collect();
    if gpus.len() < node.gpus.len() {
        tracing::warn!(
            node = %node.name,
            "{} of {} declared GPUs have no device file here and are not used",
            node.gpus.len() - gpus.len(),
            node.gpus.len()
        );
    }
    let system = nix::sys::utsname::uname().ok();
    let text = |part: &std::ffi::OsStr| part.to_string_lossy().into_owned();
    NodeRegistered {
        node: node.name.clone(),
        boot_id: boot_id(),
        cpus: node.cpus,
        memory: node.memory,
        gpus,
        agent_version: env!("CARGO_PKG_VERSION").to_string(),
        operating_system: system
            .as_ref()
            .map(|system| format!("{} {}", text(system.sysname()), text(system.release())))
            .unwrap_or_default(),
        architecture: system.as_ref().map(|system| text(system.machine())).unwrap_or_default(),
        unconfined,
    }
}
