//! A machine that is the same wherever the tests run.

use std::path::{Path, PathBuf};

use daybook_config::{CpuTopology, FoundGpu, Machine, gpu_type};
use daybook_schemas::Mebibytes;

/// `vm.hall`: 16 CPUs, two GPUs that the driver knows, four device files that are not real GPUs.
pub struct Vm {
    pub gpus: Vec<FoundGpu>,
}

impl Vm {
    pub fn with_two_gpus() -> Vm {
        let gpu = |index: u32| FoundGpu {
            uuid: format!("GPU-0000000{index}"),
            gpu_type: gpu_type("NVIDIA H200"),
            file: Some(PathBuf::from(format!("/dev/nvidia{index}"))),
        };
        Vm { gpus: vec![gpu(0), gpu(1)] }
    }

    pub fn without_gpus() -> Vm {
        Vm { gpus: Vec::new() }
    }
}

impl Machine for Vm {
    fn hostname(&self) -> String {
        "vm.hall".to_string()
    }

    fn cpus(&self) -> CpuTopology {
        CpuTopology { cpus: 16, sockets: 1, cores_per_socket: 8, threads_per_core: 2 }
    }

    fn memory(&self) -> Mebibytes {
        Mebibytes(64_000)
    }

    fn tmp_disk(&self) -> Mebibytes {
        Mebibytes(100_000)
    }

    fn gpus(&self) -> Vec<FoundGpu> {
        self.gpus.clone()
    }

    fn file_exists(&self, path: &Path) -> bool {
        let fake = (0..4).any(|index| path == Path::new(&format!("/dev/fakegpu{index}")));
        fake || self.gpus.iter().any(|gpu| gpu.file.as_deref() == Some(path))
    }

    fn user_id(&self, name: &str) -> Option<u32> {
        match name {
            "root" => Some(0),
            "slurm" => Some(64_030),
            _ => None,
        }
    }
}
