//! GPUs through NVML. The library comes with NVIDIA's driver; where it is missing there are no GPUs.

use std::path::PathBuf;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::FoundGpu;

/// The GPUs of this machine in NVML's order (by bus address).
pub(super) fn find() -> Vec<FoundGpu> {
    let Ok(nvml) = Nvml::init() else { return Vec::new() };
    let count = nvml.device_count().unwrap_or(0);
    // A GPU that has fallen off the bus gives errors; the others are still there.
    (0..count).filter_map(|index| describe(&nvml, index).ok()).collect()
}

fn describe(nvml: &Nvml, index: u32) -> Result<FoundGpu, NvmlError> {
    let device = nvml.device_by_index(index)?;
    Ok(FoundGpu {
        uuid: device.uuid()?,
        gpu_type: gpu_type(&device.name()?),
        file: device.minor_number().ok().map(|minor| PathBuf::from(format!("/dev/nvidia{minor}"))),
    })
}

/// The type of a GPU from its product name: lower case, `_` for what is neither letter, digit, `-` nor `.`,
/// and without the maker's words `nvidia` and `tesla` in front: "NVIDIA A100-SXM4-80GB" is `a100-sxm4-80gb`.
pub fn gpu_type(product: &str) -> String {
    let words = product.to_ascii_lowercase();
    let mut words: Vec<&str> = words.split_whitespace().collect();
    while words.len() > 1 && matches!(words.first(), Some(&("nvidia" | "tesla"))) {
        words.remove(0);
    }
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
    words.join("_").chars().map(legal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_short_words_made_of_product_names() {
        for (product, gpu_type_expected) in [
            ("NVIDIA H200", "h200"),
            ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
            ("Tesla V100-SXM2-16GB", "v100-sxm2-16gb"),
            ("NVIDIA GeForce RTX 4090", "geforce_rtx_4090"),
            ("NVIDIA RTX 6000 Ada Generation", "rtx_6000_ada_generation"),
            ("NVIDIA H100 80GB HBM3 (MIG)", "h100_80gb_hbm3__mig_"),
            ("NVIDIA", "nvidia"),
            ("", ""),
        ] {
            assert_eq!(gpu_type(product), gpu_type_expected, "{product}");
        }
    }
}
