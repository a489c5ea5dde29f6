//! `gres.conf`: which device files are GPUs of which nodes.

use daybook_schemas::grammar::hostlist;
use daybook_schemas::grammar::index_set::IndexSet;

use crate::diagnostic::{Findings, Place};
use crate::files::Files;
use crate::gres_text::{GPUS_MAX, legal_type};
use crate::keys::{Key, find, is_supported, known_word, no_effect, no_effect_unless, supported};
use crate::lines::{Line, Pair, read_lines};
use crate::values;

/// The file's name.
pub(crate) const GRES_CONF: &str = "gres.conf";

/// Keys of `gres.conf`, in alphabetical order.
pub(crate) const KEYS: &[Key] = &[
    supported("AutoDetect", "how GPUs of this machine are found; default off").of(DETECTION),
    supported("Cores", "cores that the GPUs are bound to, by index, such as 0-15"),
    supported("Count", "how many, where no File is given; default 1"),
    supported("CPUs", "the same as Cores"),
    supported("File", "device files, such as /dev/nvidia[0-3]"),
    no_effect_unless("Flags", &["nvidia_gpu_env", "countonly"], "other environments of GPU jobs"),
    no_effect("Ignore", "leaving detected GPUs out"),
    supported("Link", "the same as Links"),
    supported("Links", "links to each GPU of the node, by index, -1 for itself: -1,16,16,16"),
    no_effect("MultipleFiles", "several device files of one GPU slice"),
    supported("Name", "the generic resource of the line").of(NAMES),
    supported("NodeName", "nodes that the line is for; default: all that declare GPUs"),
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
    /// `Cores`, with its place.
    pub cores: Option<(IndexSet, Place)>,
    /// `Links`, 0 for the GPU itself, with its place.
    pub links: Option<(Vec<u32>, Place)>,
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

/// Words of `AutoDetect`.
pub(crate) const DETECTION: &[Key] = &[
    supported("nvml", "GPUs of this machine are found through NVIDIA's driver"),
    supported("off", "they are not"),
    no_effect("nvidia", "detection other than by nvml"),
    no_effect("rsmi", "detection other than by nvml"),
    no_effect("oneapi", "detection other than by nvml"),
    no_effect("nrt", "detection other than by nvml"),
    no_effect("full", "detection other than by nvml"),
];

/// Words of `Name`.
pub(crate) const NAMES: &[Key] = &[
    supported("gpu", "whole GPUs"),
    no_effect("mps", "any generic resource but gpu"),
    no_effect("shard", "any generic resource but gpu"),
];

fn auto_detect(pair: &Pair, findings: &mut Findings) -> Option<bool> {
    known_word(pair, &pair.value, DETECTION, findings).map(|key| key.name == "nvml")
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
    let cores = match get("Cores").or(get("CPUs")) {
        None => None,
        Some(pair) => cores(pair, findings).map(|cores| (cores, pair.place.clone())),
    };
    let links = match get("Links").or(get("Link")) {
        None => None,
        Some(pair) if count != 1 => {
            let what = format!("{} stands on a line of {count} GPUs", pair.text());
            findings.error(&pair.place, what, "write a line for each GPU: its links are its own");
            None
        }
        Some(pair) => links(pair, findings).map(|links| (links, pair.place.clone())),
    };
    Some(GpuLine { nodes, kind, files, count, cores, links, place: place.clone() })
}

/// `0-15,32-47`.
fn cores(pair: &Pair, findings: &mut Findings) -> Option<IndexSet> {
    match pair.value.parse::<IndexSet>() {
        Ok(cores) if !cores.is_empty() => Some(cores),
        _ => {
            let what = format!("{} is no list of cores", pair.text());
            findings.error(&pair.place, what, "expected indices from 0, such as 0-15,32-47");
            None
        }
    }
}

/// `-1,16,16`: links to each GPU in order of index. Where -1 stands is checked when the GPU has its index.
fn links(pair: &Pair, findings: &mut Findings) -> Option<Vec<u32>> {
    let words: Vec<&str> = pair.value.split(',').map(str::trim).collect();
    let number = |word: &&str| if *word == "-1" { Some(0) } else { word.parse().ok() };
    let links: Option<Vec<u32>> = words.iter().map(number).collect();
    let one_is_itself = words.iter().filter(|word| **word == "-1").count() == 1;
    match links.filter(|links| one_is_itself && links.len() <= GPUS_MAX as usize) {
        Some(links) => Some(links),
        None => {
            let what = format!("{} is no list of links", pair.text());
            let remedy = "expected a number of links for each GPU of the node, and -1 for this one: -1,16,16";
            findings.error(&pair.place, what, remedy);
            None
        }
    }
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
