//! The names that Daybook uses in NATS: streams, subjects, inboxes; and which names nodes, hosts and clusters may have.

use std::net::IpAddr;

/// The longest name of a cluster, a node or a host, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// A name as one token of a subject: every byte outside `[A-Za-z0-9_-]` becomes `%` and two upper-case hex digits.
pub fn token(name: &str) -> String {
    let mut token = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => token.push(char::from(byte)),
            _ => token.push_str(&format!("%{byte:02X}")),
        }
    }
    token
}

/// The two streams of the log.
pub const STREAMS: [&str; 2] = ["state", "detail"];

/// Who writes in the name of the whole cluster, as the last part of a subject.
pub const CENTRAL_WRITERS: [&str; 5] = ["jobs", "plan", "admin", "ledger", "audit"];

/// The names of one cluster.
#[derive(Clone, Debug)]
pub struct Names {
    cluster: String,
}

impl Names {
    /// Of a cluster whose name [`check_cluster`] has accepted.
    pub fn of(cluster: &str) -> Names {
        Names { cluster: cluster.to_string() }
    }

    /// The JetStream stream of `state` or `detail`.
    pub fn stream(&self, stream: &str) -> String {
        format!("DAYBOOK_{}_{}", self.cluster, stream.to_uppercase())
    }

    /// The JetStream stream below the object store of the blobs.
    pub fn blob_stream(&self) -> String {
        format!("OBJ_{}", self.bucket())
    }

    /// The object store of the blobs.
    pub fn bucket(&self) -> String {
        format!("daybook_{}_blobs", self.cluster)
    }

    /// Where the planner that plans says so.
    pub fn planner(&self) -> String {
        format!("daybook.{}.planner", self.cluster)
    }

    /// Where a central writer appends.
    pub fn writer(&self, stream: &str, writer: &str) -> String {
        format!("daybook.{}.{stream}.{writer}", self.cluster)
    }

    /// Where a node appends. `node` is a [`token`], or `*` for all of them.
    pub fn node_writer(&self, stream: &str, node: &str) -> String {
        self.writer(stream, &format!("node.{node}"))
    }

    /// Where a node's orders come. `node` is a [`token`], or `*`.
    pub fn orders(&self, node: &str) -> String {
        format!("daybook.{}.orders.{node}", self.cluster)
    }

    /// Where a node says that it lives. `node` is a [`token`], or `*`.
    pub fn beat(&self, node: &str) -> String {
        format!("daybook.{}.beat.{node}", self.cluster)
    }

    /// Where a relay opens its exchanges. `relay` is a [`token`], or `*`.
    pub fn relay(&self, relay: &str) -> String {
        format!("daybook.{}.relay.{relay}", self.cluster)
    }

    /// Where a relay sends the rest of each of its exchanges.
    pub fn relay_requests(&self, relay: &str) -> String {
        format!("{}.*.request", self.relay(relay))
    }

    /// Where a relay is answered in each of its exchanges.
    pub fn relay_answers(&self, relay: &str) -> String {
        format!("{}.*.answer", self.relay(relay))
    }

    /// Where a node asks. `node` is a [`token`], or `*`.
    pub fn lease(&self, node: &str) -> String {
        format!("daybook.{}.lease.{node}", self.cluster)
    }
}

/// Whether a cluster may have this name: it is part of subjects and of streams' names.
pub fn check_cluster(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || token(name) != name {
        return Err(format!(
            "{name:?} is no name for a cluster: letters, digits, _ and - make one, as in ClusterName of slurm.conf"
        ));
    }
    Ok(())
}

/// Whether a node may have this name: it is one token of a subject, and a directory's name.
pub fn check_node(name: &str) -> Result<(), String> {
    let fits =
        token(name).len() <= NAME_BYTES_MAX && !name.chars().any(|c| c.is_control() || c.is_whitespace());
    if name.is_empty() || name.starts_with('-') || !fits {
        return Err(format!(
            "{name:?} is no name for a node: give the NodeName of slurm.conf, one argument each"
        ));
    }
    Ok(())
}

/// Whether this is a host's name or address, as it stands in a certificate and in a route.
pub fn check_host(name: &str) -> Result<(), String> {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let is_name = !name.is_empty() && !name.starts_with(['-', '.']) && name.chars().all(letters);
    if name.len() > NAME_BYTES_MAX || !(is_name || name.parse::<IpAddr>().is_ok()) {
        return Err(format!("{name:?} is neither a host name nor an IP address"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_only_letters_digits_and_escapes() {
        for (name, expected) in [
            ("n1", "n1"),
            ("gpu-01_a", "gpu-01_a"),
            ("gpu.01", "gpu%2E01"),
            ("*", "%2A"),
            ("a>b", "a%3Eb"),
            ("é", "%C3%A9"),
        ] {
            assert_eq!(token(name), expected);
        }
    }

    #[test]
    fn names_that_would_reach_other_subjects_or_directories_are_refused() {
        for name in ["", "a.b", "a*", ">", "a b", "../a", "a%2E"] {
            assert!(check_cluster(name).is_err(), "{name:?}");
        }
        for name in ["", "-n1", "n 1", "n\n1"] {
            assert!(check_node(name).is_err(), "{name:?}");
        }
        for name in ["", "../x", "a/b", ".", "..", "a b", "-a", "a\"b", "a:1"] {
            assert!(check_host(name).is_err(), "{name:?}");
        }
        for name in ["log1.example.org", "127.0.0.1", "::1", "n1"] {
            assert!(check_host(name).is_ok(), "{name:?}");
        }
    }
}
