//! `gres.conf`: which device files are GPUs of which nodes.

use daybook_schemas::grammar::hostlist;

use crate::diagnostic::{Findings, Place, did_you_mean};
use crate::files::Files;
use crate::gres_text::{GPUS_MAX, legal_type};
use crate::keys::{Key, find, is_supported, no_effect, no_effect_unless, supported};
use crate::lines::{Line, Pair, read_lines};
use crate::values;

/// The file's name.
pub(crate) const GRES_CONF: &str = "gres.conf";

/// Keys of `gres.conf`, in alphabetical order.
pub(crate) const KEYS: &[Key] = &[
    supported("AutoDetect", "nvml: GPUs of this machine are found through the driver; off"),
    no_effect("Cores", "placement of GPUs by core"),
    supported("Count", "how many, where no File is given; 1"),
    no_effect("CPUs", "placement of GPUs by core"),
    supported("File", "device files, such as /dev/nvidia[0-3]"),
    no_effect_unless("Flags", &["nvidia_gpu_env", "countonly"], "other environments of GPU jobs"),
    no_effect("Ignore", "leaving detected GPUs out"),
    no_effect("Link", "placement of GPUs by their links"),
    no_effect("Links", "placement of GPUs by their links"),
    no_effect("MultipleFiles", "several device files of one GPU slice"),
    supported("Name", "gpu; others have no effect"),
    supported("NodeName", "nodes that the line is for; all that declare GPUs"),
    supported("Type", "the GPUs' type, such as a100"),
];

/// A line that describes GPUs.
#[derive(Clone, Debug)]
pub(crate) struct GpuLine {
    /// Absent: all nodes that declare GPUs.
    pub nodes: Option<Vec<String>>,
    /// Lower case; empty: none given.
    pub kind: String,
    /// Device files; empty: none given.
    pub files: Vec<String>,
    /// How many GPUs.
    pub count: u64,
    pub place: Place,
}

/// Where detection is switched on or off.
#[derive(Clone, Debug)]
pub(crate) struct DetectLine {
    /// Absent: everywhere.
    pub nodes: Option<Vec<String>>,
    pub detect: bool,
    pub place: Place,
}

/// What `gres.conf` says of GPUs.
#[derive(Clone, Debug, Default)]
pub(crate) struct GresConf {
    pub gpus: Vec<GpuLine>,
    pub detect: Vec<DetectLine>,
}

/// Reads `gres.conf`, if there is one and it is text.
pub(crate) fn read(files: &mut Files, findings: &mut Findings) -> Option<GresConf> {
    if !files.has(GRES_CONF) {
        return None;
    }
    let text = files.read(GRES_CONF, &Place::file(GRES_CONF), findings)?;
    let mut conf = GresConf::default();
    for line in read_lines(&files.name_of(GRES_CONF), &text, findings) {
        match line {
            Line::Pairs(pairs) => conf.add_line(&pairs, findings),
            Line::Include { path, place } => {
                let what = format!("Include {path} is not supported in {GRES_CONF}");
                findings.error(&place, what, "write its lines here");
            }
        }
    }
    Some(conf)
}

impl GresConf {
    fn add_line(&mut self, pairs: &[Pair], findings: &mut Findings) {
        let known: Vec<&Pair> =
            pairs.iter().filter(|pair| is_supported(pair, KEYS, "key of gres.conf", findings)).collect();
        let get = |key: &str| known.iter().rev().find(|pair| pair.is(key)).copied();
        let Some(first) = pairs.first() else { return };
        let nodes = match get("NodeName").map(|pair| (pair, hostlist::expand(&pair.value))) {
            Some((pair, Err(error))) => return findings.error(&pair.place, error.to_string(), ""),
            Some((_, Ok(nodes))) => Some(nodes),
            None => None,
        };
        if let Some(pair) = get("AutoDetect")
            && let Some(detect) = auto_detect(pair, findings)
        {
            self.detect.push(DetectLine { nodes: nodes.clone(), detect, place: pair.place.clone() });
        }
        match get("Name") {
            Some(name) if name.value.eq_ignore_ascii_case("gpu") => {
                self.gpus.extend(gpu_line(nodes, &first.place, get, findings));
            }
            Some(name) => {
                findings.without_effect(&name.place, &name.text(), "any generic resource but gpu");
            }
            // A line with an unknown key has been reported.
            None if get("AutoDetect").is_some()
                || pairs.iter().any(|pair| find(KEYS, &pair.key).is_none()) => {}
            None => findings.error(&first.place, "the line has no Name=", "write Name=gpu, or remove it"),
        }
    }
}

fn auto_detect(pair: &Pair, findings: &mut Findings) -> Option<bool> {
    match pair.value.to_ascii_lowercase().as_str() {
        "nvml" => Some(true),
        "off" => Some(false),
        "nvidia" | "rsmi" | "oneapi" | "nrt" | "full" => {
            findings.without_effect(&pair.place, &pair.text(), "detection other than by nvml");
            None
        }
        other => {
            let remedy = did_you_mean(other, ["nvml", "off"], "expected nvml or off");
            findings.error(&pair.place, format!("{} is not known", pair.text()), remedy);
            None
        }
    }
}

fn gpu_line<'a>(
    nodes: Option<Vec<String>>,
    place: &Place,
    get: impl Fn(&str) -> Option<&'a Pair>,
    findings: &mut Findings,
) -> Option<GpuLine> {
    let kind = match get("Type") {
        None => String::new(),
        Some(pair) => match legal_type(&pair.value) {
            Some(kind) => kind,
            None => {
                let what = format!("{} is no name of a type", pair.text());
                findings.error(&pair.place, what, "use letters, digits, _, -, . and +");
                return None;
            }
        },
    };
    let files = match get("File") {
        None => Vec::new(),
        Some(pair) => match expand_paths(&pair.value) {
            Some(files) => files,
            None => {
                let what = format!("{} is no list of device files", pair.text());
                findings.error(&pair.place, what, "expected such as /dev/nvidia0 or /dev/nvidia[0-3]");
                return None;
            }
        },
    };
    let count = match get("Count") {
        Some(pair) => values::number(pair, 1, GPUS_MAX, findings)?,
        None => (files.len() as u64).max(1),
    };
    if let (Some(pair), false) = (get("Count"), files.is_empty())
        && count != files.len() as u64
    {
        let what = format!("{} disagrees with the {} files of the line", pair.text(), files.len());
        findings.error(&pair.place, what, "remove Count, or correct File");
        return None;
    }
    Some(GpuLine { nodes, kind, files, count, place: place.clone() })
}

/// `/dev/nvidia[0-3],/dev/x` as paths; brackets only behind the last `/`. `None` where it is no such list.
fn expand_paths(text: &str) -> Option<Vec<String>> {
    let mut depth = 0i32;
    let parts = text.split(|character| {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    });
    let mut paths = Vec::new();
    for part in parts {
        let slash = part[..part.find('[').unwrap_or(part.len())].rfind('/')?;
        let (directory, name) = part.split_at(slash + 1);
        let names = if name.contains('/') { return None } else { hostlist::expand(name).ok()? };
        if !part.starts_with('/') || names.is_empty() || paths.len() + names.len() > GPUS_MAX as usize {
            return None;
        }
        paths.extend(names.iter().map(|name| format!("{directory}{name}")));
    }
    Some(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_files_are_lists_of_paths() {
        for (text, expected) in [
            ("/dev/nvidia0", Some("/dev/nvidia0")),
            ("/dev/nvidia[0-1,3]", Some("/dev/nvidia0 /dev/nvidia1 /dev/nvidia3")),
            ("/dev/a0,/dev/b[1-2]", Some("/dev/a0 /dev/b1 /dev/b2")),
            ("/dev/dri/renderD[128-129]", Some("/dev/dri/renderD128 /dev/dri/renderD129")),
            ("nvidia0", None),
            ("dev/nvidia0", None),
            ("/dev/nvidia[0-", None),
            ("/dev/d[0-1]/card", None),
            ("/dev/", None),
            ("/dev/nvidia[0-9999]", None),
            ("", None),
        ] {
            assert_eq!(expand_paths(text).map(|paths| paths.join(" ")).as_deref(), expected, "{text}");
        }
    }
}
