//! What streams, subjects and buckets are called on the bus.

use daybook_schemas::{NodeName, Stream, Subject};

/// The names of one cluster's things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    cluster: String,
}

impl Names {
    /// Those of a cluster. Slurm's cluster names have no character that NATS has a use for; any that comes all the same
    /// is escaped.
    pub fn of(cluster: &str) -> Names {
        Names { cluster: escaped(cluster) }
    }

    /// `DAYBOOK_CLUSTER_STATE` or `DAYBOOK_CLUSTER_DETAIL`.
    pub fn stream(&self, stream: Stream) -> String {
        let kind = match stream {
            Stream::State => "STATE",
            Stream::Detail => "DETAIL",
        };
        format!("DAYBOOK_{}_{kind}", self.cluster)
    }

    fn prefix(&self, stream: Stream) -> String {
        let kind = match stream {
            Stream::State => "state",
            Stream::Detail => "detail",
        };
        format!("daybook.{}.{kind}.", self.cluster)
    }

    /// All subjects of a stream.
    pub fn all_writers(&self, stream: Stream) -> String {
        format!("{}>", self.prefix(stream))
    }

    /// A writer's subject: `daybook.CLUSTER.state.jobs`, `daybook.CLUSTER.state.node.NODE`.
    pub fn writer(&self, stream: Stream, subject: &Subject) -> String {
        let writer = match subject {
            Subject::Node(node) => format!("node.{}", escaped(node.as_str())),
            other => other.to_string(),
        };
        format!("{}{writer}", self.prefix(stream))
    }

    /// The writer that a subject stands for.
    pub fn subject(&self, stream: Stream, name: &str) -> Option<Subject> {
        let writer = name.strip_prefix(&self.prefix(stream))?;
        match writer.strip_prefix("node.") {
            Some(node) => Some(Subject::Node(NodeName::from(unescaped(node)?.as_str()))),
            None => writer.parse().ok(),
        }
    }

    /// The object store's bucket.
    pub fn bucket(&self) -> String {
        format!("daybook_{}_blobs", self.cluster)
    }

    /// Where a node's orders come.
    pub fn orders(&self, node: &NodeName) -> String {
        format!("daybook.{}.orders.{}", self.cluster, escaped(node.as_str()))
    }

    /// Where a node says that it lives.
    pub fn beat(&self, node: &NodeName) -> String {
        format!("daybook.{}.beat.{}", self.cluster, escaped(node.as_str()))
    }

    /// Where all nodes do.
    pub fn beats(&self) -> String {
        format!("daybook.{}.beat.*", self.cluster)
    }

    /// The node that a subject of [`Names::beat`] is about.
    pub fn node_of_beat(&self, subject: &str) -> Option<NodeName> {
        let node = subject.strip_prefix(&format!("daybook.{}.beat.", self.cluster))?;
        Some(NodeName::from(unescaped(node)?.as_str()))
    }

    /// Where a node asks for its orders, and what has become of its reports.
    pub fn lease(&self, node: &NodeName) -> String {
        format!("daybook.{}.lease.{}", self.cluster, escaped(node.as_str()))
    }

    /// Where all nodes do.
    pub fn leases(&self) -> String {
        format!("daybook.{}.lease.*", self.cluster)
    }

    /// Where the planner that plans says so.
    pub fn planner(&self) -> String {
        format!("daybook.{}.planner", self.cluster)
    }

    /// Where a login machine's relay opens its exchanges.
    pub fn relay(&self, name: &str) -> String {
        format!("daybook.{}.relay.{}", self.cluster, escaped(name))
    }

    /// Where all relays do.
    pub fn relays(&self) -> String {
        format!("daybook.{}.relay.*", self.cluster)
    }

    /// Where a relay sends the rest of an exchange. `exchange` is one part of a subject as it stands.
    pub fn relay_requests(&self, name: &str, exchange: &str) -> String {
        format!("{}.{exchange}.request", self.relay(name))
    }

    /// Where a relay is answered.
    pub fn relay_answers(&self, name: &str, exchange: &str) -> String {
        format!("{}.{exchange}.answer", self.relay(name))
    }

    /// The relay that opens its exchanges on this subject.
    pub fn relay_of(&self, subject: &str) -> Option<String> {
        unescaped(subject.strip_prefix(&format!("daybook.{}.relay.", self.cluster))?)
    }

    /// The node whose lease's subject this is.
    pub fn node_of_lease(&self, subject: &str) -> Option<NodeName> {
        let node = subject.strip_prefix(&format!("daybook.{}.lease.", self.cluster))?;
        Some(NodeName::from(unescaped(node)?.as_str()))
    }

    /// The prefix of the inboxes of a node's agent.
    pub fn inbox(&self, node: &NodeName) -> String {
        format!("_INBOX_{}", escaped(node.as_str()))
    }
}

/// A name as one token of a subject: what is neither letter, digit, `_` nor `-` becomes `%` and two hexadecimal digits.
fn escaped(name: &str) -> String {
    let mut token = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => token.push(char::from(byte)),
            _ => token.push_str(&format!("%{byte:02X}")),
        }
    }
    token
}

fn unescaped(token: &str) -> Option<String> {
    let mut name = Vec::with_capacity(token.len());
    let mut bytes = token.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                name.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            _ => name.push(byte),
        }
    }
    String::from_utf8(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_writer_has_a_subject_and_comes_back_from_it() {
        let names = Names::of("prod");
        for (subject, expected) in [
            (Subject::Jobs, "daybook.prod.state.jobs"),
            (Subject::Plan, "daybook.prod.state.plan"),
            (Subject::Node("gpu-01".into()), "daybook.prod.state.node.gpu-01"),
            (Subject::Node("a.b".into()), "daybook.prod.state.node.a%2Eb"),
            (Subject::Node("n\"é *>".into()), "daybook.prod.state.node.n%22%C3%A9%20%2A%3E"),
        ] {
            assert_eq!(names.writer(Stream::State, &subject), expected);
            assert_eq!(names.subject(Stream::State, expected), Some(subject));
        }
        for foreign in ["daybook.prod.detail.jobs", "daybook.other.state.jobs", "daybook.prod.state.node.%4"]
        {
            assert_eq!(names.subject(Stream::State, foreign), None, "{foreign}");
        }
        assert_eq!(names.node_of_lease("daybook.prod.lease.a%2Eb"), Some("a.b".into()));
    }

    #[test]
    fn an_exchange_lies_below_its_relays_subject() {
        let names = Names::of("prod");
        assert_eq!(names.relay("login1.hall"), "daybook.prod.relay.login1%2Ehall");
        assert_eq!(names.relay_requests("login1", "0af"), "daybook.prod.relay.login1.0af.request");
        assert_eq!(names.relay_answers("login1", "0af"), "daybook.prod.relay.login1.0af.answer");
        assert_eq!(names.relay_of("daybook.prod.relay.login1%2Ehall"), Some("login1.hall".to_string()));
        assert_eq!(names.relay_of("daybook.other.relay.login1"), None);
    }
}
