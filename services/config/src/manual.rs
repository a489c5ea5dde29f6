//! Makes `docs/slurm-conf.md` from the tables by which files are read, and holds `docs/configuration.md` to those of
//! `daybook.toml`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::catalogue::{Setting, SettingGroup, SettingStanding, settings};

fn page_path(name: &str) -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate"))
        .join("../../docs")
        .join(name)
}

const INTRODUCTION: &str = "\
# Slurm's settings, one by one

Every key that Slurm 22.05 to 24.11 reads in `slurm.conf`, `gres.conf`, `topology.conf` and `cgroup.conf`, and what Daybook does with it. This
page is made from the tables by which Daybook reads the files (`UPDATE_EXPECT=1 cargo test -p daybook-config`);
`daybook check --settings WORD` finds a setting in them, and `daybook check DIR` says what your files have of each kind.
How things work together is in `docs/configuration.md`.

- **read**: it does what it does in Slurm. Behind \"default\" stands what holds without it.
- **read in part**: the same, but not with every word that its value may have in Slurm; the words have a table of their own.
- **no effect**: Daybook does not support yet what it asks for. A warning, unless its value asks for what happens anyway.
- **refused**: an error, and the configuration is not used: it would change so much that a warning is not enough.
- **not needed**: it concerns programs of Slurm that are not there, or asks for what happens anyway. Listed, no warning.

What is in no table is an error: Slurm does not know it either. (Only of unknown options of `SchedulerParameters` Slurm says
nothing; here they are a warning.)
";

/// What the last column of a table is, by what becomes of its settings.
fn heading(standing: SettingStanding) -> [&'static str; 2] {
    match standing {
        SettingStanding::Read => ["Read", "what it means"],
        SettingStanding::ReadInPart => ["Read in part", "what it means"],
        SettingStanding::NoEffect => ["No effect: a warning", "what is not supported yet"],
        SettingStanding::Refused => ["Refused: an error", "why, or what to do"],
        SettingStanding::NotNeeded => ["Not needed", "why"],
    }
}

fn counts_of(group: &SettingGroup) -> [usize; 5] {
    let of = |standing| group.settings.iter().filter(|setting| setting.standing == standing).count();
    SettingStanding::ALL.map(of)
}

/// A last column wider than this is as long as its text.
const LAST_COLUMN_MAX: usize = 12;

/// Rows with columns of one width.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let last = head.len() - 1;
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        let widest = cells.chain([head[column].chars().count()]).max().unwrap_or(3);
        if column == last && widest > LAST_COLUMN_MAX { 3 } else { widest }
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let head: Vec<String> = head.iter().map(|cell| cell.to_string()).collect();
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    let body: String = rows.iter().map(|row| line(row)).collect();
    format!("{}{}{body}", line(&head), line(&rule))
}

fn rows(settings: &[&Setting]) -> Vec<Vec<String>> {
    let name = |setting: &Setting| format!("`{}`", setting.name);
    if settings.iter().all(|setting| setting.no_warning_with.is_empty()) {
        return settings.iter().map(|setting| vec![name(setting), setting.about.to_string()]).collect();
    }
    let fine = |setting: &Setting| {
        setting.no_warning_with.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" ")
    };
    settings.iter().map(|setting| vec![name(setting), fine(setting), setting.about.to_string()]).collect()
}

fn page() -> String {
    let groups = settings();
    let mut page = INTRODUCTION.to_string();
    page.push_str("\n## How many of each\n\n");
    let mut head = vec!["where", "in all"];
    head.extend(SettingStanding::ALL.iter().map(|standing| standing.words()));
    let counted = |words: bool, total: &str| {
        let mut totals = [0; 6];
        let mut lines = Vec::new();
        for group in groups.iter().filter(|group| group.words == words) {
            let counts = [&[group.settings.len()][..], &counts_of(group)[..]].concat();
            totals.iter_mut().zip(&counts).for_each(|(total, count)| *total += count);
            lines.push([vec![group.place.clone()], counts.iter().map(usize::to_string).collect()].concat());
        }
        lines.push([vec![total.to_string()], totals.iter().map(usize::to_string).collect()].concat());
        lines
    };
    let lines = [counted(false, "**all keys**"), counted(true, "**all words**")].concat();
    page.push_str(&table(&head, &lines));
    for group in &groups {
        let _ = write!(page, "\n## {}\n", group.place);
        let first = if group.words { "word" } else { "key" };
        for standing in SettingStanding::ALL {
            let settings: Vec<&Setting> =
                group.settings.iter().filter(|setting| setting.standing == standing).collect();
            if settings.is_empty() {
                continue;
            }
            let rows = rows(&settings);
            let [title, about] = heading(standing);
            let head =
                if rows[0].len() == 2 { vec![first, about] } else { vec![first, "no warning with", about] };
            let _ = write!(page, "\n**{title}** ({})\n\n{}", settings.len(), table(&head, &rows));
        }
    }
    page
}

#[test]
fn the_page_of_settings_is_up_to_date() {
    expect_test::expect_file![page_path("slurm-conf.md")].assert_eq(&page());
}

#[test]
fn the_page_for_people_has_every_key_of_daybook_toml() {
    let page = std::fs::read_to_string(page_path("configuration.md")).expect("docs/configuration.md");
    for (table, keys) in crate::daybook_toml::KEYS {
        assert!(page.contains(&format!("[{table}")), "{table}");
        for key in *keys {
            assert!(page.contains(&format!("| `{key}`")), "{key} of [{table}]");
        }
    }
    for key in crate::daybook_toml::NATS_KEYS {
        assert!(page.contains(&format!("| `{key}` | `[log.nats]`")), "{key} of [log.nats]");
    }
}
