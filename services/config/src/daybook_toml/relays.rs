//! `[relays]`: the login machines whose relays are believed.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{DaybookToml, Key, Reader};
use crate::public_nkey;
use crate::settings::RelaySettings;

/// The longest name of a relay, in bytes.
const NAME_BYTES_MAX: usize = 255;

impl Reader<'_> {
    /// Each entry is `NAME = "KEY"`, or a table `[relays.NAME]` with `key` and `root`.
    pub(super) fn relays(&mut self, content: &DeTable<'_>, keys: &[&str], settings: &mut DaybookToml) {
        for (name, value) in content.iter() {
            let text = name.get_ref();
            if text.is_empty()
                || text.len() > NAME_BYTES_MAX
                || text.contains(|c: char| c.is_control() || c.is_whitespace())
            {
                let what = format!("\"{text}\" is no name of a relay");
                self.error(
                    name.span(),
                    what,
                    "the name of the login machine, as `daybook keys add-relay` was told",
                );
                continue;
            }
            let mut relay = RelaySettings { name: text.to_string(), key: String::new(), root: false };
            match value.get_ref() {
                DeValue::Table(entries) => {
                    self.relay(name, entries, keys, &mut relay);
                }
                _ => relay.key = self.public_key(name, value).unwrap_or_default(),
            }
            if let Some(same) =
                settings.relays.iter().find(|known| !relay.key.is_empty() && known.key == relay.key)
            {
                let what = format!("relay \"{text}\" has the key of relay \"{}\"", same.name);
                self.error(name.span(), what, "make a key for each with `daybook keys add-relay`");
            }
            settings.relays.push(relay);
        }
    }

    fn relay(&mut self, name: &Key<'_>, entries: &DeTable<'_>, keys: &[&str], relay: &mut RelaySettings) {
        let table = format!("[relays.\"{}\"]", name.get_ref());
        let mut has_key = false;
        for (key, value) in entries {
            if !self.is_known(key, keys, &table) {
                continue;
            }
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("root", DeValue::Boolean(root)) => relay.root = *root,
                ("root", _) => {
                    self.error(value.span(), "root is neither true nor false".to_string(), "root = false");
                }
                _ => {
                    has_key = true;
                    relay.key = self.public_key(key, value).unwrap_or_default();
                }
            }
        }
        if !has_key {
            self.error(
                name.span(),
                format!("{table} has no key"),
                "key = \"U...\", as `daybook keys add-relay` said",
            );
        }
    }

    fn public_key(&mut self, key: &Key<'_>, value: &Spanned<DeValue<'_>>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) if public_nkey::is_of_user(text) => Some(text.to_string()),
            _ => {
                let what = format!("{} has no public nkey of a user", key.get_ref());
                let remedy =
                    "U and 55 letters and digits, as `daybook keys add-relay` said; keys.toml has it too";
                self.error(value.span(), what, remedy);
                None
            }
        }
    }
}
