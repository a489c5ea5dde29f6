//! Holds the tables of `docs/configuration.md` and the ones of this crate together.

use std::path::Path;

use crate::keys::{Key, Standing};
use crate::slurm_conf::{nodes, parameter_keys, partitions};
use crate::{gres_conf, topology_conf};

/// The keys of a table by their standing, as Markdown.
fn markdown(table: &[Key]) -> String {
    let mut text = String::new();
    let of = |wanted: fn(&Standing) -> bool| table.iter().filter(move |key| wanted(&key.standing));
    text.push_str("\n| supported | meaning |\n|---|---|\n");
    for key in of(|standing| *standing == Standing::Supported) {
        text.push_str(&format!("| `{}` | {} |\n", key.name, key.about));
    }
    text.push_str(
        "\n| no effect yet: a warning | what is not supported | no warning with |\n|---|---|---|\n",
    );
    for key in of(|standing| matches!(standing, Standing::NoEffect(_))) {
        let Standing::NoEffect(fine) = key.standing else { continue };
        let fine: Vec<String> = fine.iter().map(|value| format!("`{value}`")).collect();
        text.push_str(&format!("| `{}` | {} | {} |\n", key.name, key.about, fine.join(" ")));
    }
    if of(|standing| *standing == Standing::NotNeeded).next().is_some() {
        text.push_str("\n| not needed: listed, no warning | what it is about |\n|---|---|\n");
        for key in of(|standing| *standing == Standing::NotNeeded) {
            text.push_str(&format!("| `{}` | {} |\n", key.name, key.about));
        }
    }
    text.push('\n');
    text
}

/// The page with the tables put between their marks.
fn with_tables(page: &str) -> String {
    let mut page = page.to_string();
    for (mark, table) in [
        ("parameters", parameter_keys::PARAMETERS),
        ("scheduler options", parameter_keys::SCHEDULER_OPTIONS),
        ("nodes", nodes::KEYS),
        ("partitions", partitions::KEYS),
        ("gres.conf", gres_conf::KEYS),
        ("topology.conf", topology_conf::KEYS),
    ] {
        let (begin, end) = (format!("<!-- table: {mark} -->\n"), format!("<!-- end: {mark} -->"));
        let start = page.find(&begin).expect("the table's first mark") + begin.len();
        let length = page[start..].find(&end).expect("the table's last mark");
        page.replace_range(start..start + length, &markdown(table));
    }
    page
}

#[test]
fn the_page_for_people_has_every_key() {
    let path = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate"))
        .join("../../docs/configuration.md");
    let page = std::fs::read_to_string(&path).expect("docs/configuration.md");
    expect_test::expect_file![path].assert_eq(&with_tables(&page));
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
