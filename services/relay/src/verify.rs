//! Which statements are believed.

use std::collections::{BTreeMap, HashSet, VecDeque};

use daybook_schemas::UtcMicros;
use daybook_schemas::api::{ApiError, BODY_BYTES_MAX, ErrorCode};
use nkeys::{KeyPair, KeyPairType};

use crate::bounds::{AGE_SECONDS_MAX, NAME_BYTES_MAX, REMEMBERED_MAX};
use crate::statement::{Opening, OpeningError, is_exchange};

/// A relay that the configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownRelay {
    /// Its name, which is its part of the subjects.
    pub name: String,
    /// Its public nkey: `U` and 55 letters and digits.
    pub key: String,
    /// Whether it may speak for its machine's root, who is the administrator of the whole cluster.
    pub root: bool,
}

/// A relay whose key is none.
#[derive(Debug, thiserror::Error)]
#[error("relay {name}: {key} is no public nkey of a user; `daybook keys add-relay` says which it is")]
pub struct KnownRelayError {
    name: String,
    key: String,
}

/// Why a statement is not believed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The configuration has no such relay.
    #[error(
        "no relay {0} is known here: name it with its key under [relays] in the gateway's daybook.toml, and restart daybookd"
    )]
    Unknown(String),
    /// Another key, or another text.
    #[error(
        "the signature is not by the key of relay {0}: its nkey_file and [relays] in the gateway's daybook.toml do not belong together"
    )]
    Signature(String),
    /// It speaks of another relay than the one whose subject it came on, or of another cluster.
    #[error(
        "it came from relay {relay} of cluster {cluster}, and says to be from {claimed}: --name and ClusterName must be as the key was made for"
    )]
    OfAnother {
        /// Whose subject it came on.
        relay: String,
        /// The cluster that is served here.
        cluster: String,
        /// What it says.
        claimed: String,
    },
    /// Signed too long ago, or in the future.
    #[error(
        "relay {relay} signed it {seconds} s from the gateway's time, {AGE_SECONDS_MAX} s are the most: put the clocks of both machines right"
    )]
    Time {
        /// Which relay.
        relay: String,
        /// How far away, to either side.
        seconds: i64,
    },
    /// It was taken before.
    #[error("relay {0} has sent this request before")]
    Repeated(String),
    /// Root of a login machine.
    #[error(
        "root is not served through relay {0}: administer from a machine with a daybookd, or set root = true under [relays.{0}] in the gateway's daybook.toml"
    )]
    Root(String),
    /// Too many to remember.
    #[error("relay {0} sends more requests than can be remembered; try again later")]
    TooMany(String),
    /// It is none that is understood.
    #[error("{0}")]
    Opening(#[from] OpeningError),
}

impl Refusal {
    /// As the client shows it: all in the message, since most commands show no more of a refusal.
    pub fn to_api(&self) -> ApiError {
        let code = match self {
            Refusal::Opening(OpeningError::Version(_)) => ErrorCode::NotSupported,
            Refusal::Opening(_) => ErrorCode::InvalidRequest,
            Refusal::TooMany(_) => ErrorCode::NotReady,
            _ => ErrorCode::PermissionDenied,
        };
        let message = match code {
            ErrorCode::PermissionDenied => "Access/permission denied",
            _ => "The login machine's relay is not served",
        };
        ApiError::new(code, format!("{message}: {self}"))
    }
}

/// Believes what known relays signed just now, once.
pub struct Verifier {
    cluster: String,
    relays: BTreeMap<String, Trusted>,
}

struct Trusted {
    key: KeyPair,
    root: bool,
    remembered: Remembered,
}

impl Verifier {
    /// For the relays of a cluster.
    pub fn new(cluster: &str, relays: &[KnownRelay]) -> Result<Verifier, KnownRelayError> {
        let trusted = |relay: &KnownRelay| {
            let key = KeyPair::from_public_key(&relay.key).ok();
            let key = key.filter(|key| key.key_pair_type() == KeyPairType::User);
            let key =
                key.ok_or_else(|| KnownRelayError { name: relay.name.clone(), key: relay.key.clone() })?;
            Ok((relay.name.clone(), Trusted { key, root: relay.root, remembered: Remembered::default() }))
        };
        let relays = relays.iter().map(trusted).collect::<Result<_, KnownRelayError>>()?;
        Ok(Verifier { cluster: cluster.to_string(), relays })
    }

    /// Believes an opening that came on the subject of `relay` at `now`, and remembers it; or says why not.
    pub fn admit(&mut self, relay: &str, opening: &Opening, now: UtcMicros) -> Result<(), Refusal> {
        let statement = &opening.statement;
        let trusted = self.relays.get_mut(relay).ok_or_else(|| Refusal::Unknown(relay.to_string()))?;
        if !opening.is_signed_by(&trusted.key) {
            return Err(Refusal::Signature(relay.to_string()));
        }
        if statement.relay != relay || statement.cluster != self.cluster {
            return Err(Refusal::OfAnother {
                relay: relay.to_string(),
                cluster: self.cluster.clone(),
                claimed: format!("relay {} of cluster {}", statement.relay, statement.cluster),
            });
        }
        let seconds = statement.issued_micros.abs_diff(now.0).div_ceil(1_000_000);
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        if seconds > AGE_SECONDS_MAX {
            return Err(Refusal::Time { relay: relay.to_string(), seconds });
        }
        check_content(opening)?;
        if statement.uid == 0 && !trusted.root {
            return Err(Refusal::Root(relay.to_string()));
        }
        let malformed = || OpeningError::Malformed("its exchange is no 32 hexadecimal digits".to_string());
        let exchange = Some(&statement.exchange).filter(|text| is_exchange(text));
        let exchange = exchange.and_then(|text| u128::from_str_radix(text, 16).ok()).ok_or_else(malformed)?;
        match trusted.remembered.add(exchange, statement.issued(), now) {
            Memory::New => Ok(()),
            Memory::Known => Err(Refusal::Repeated(relay.to_string())),
            Memory::Full => Err(Refusal::TooMany(relay.to_string())),
        }
    }
}

/// A trusted relay has faults, too: what goes into events and routes is looked at.
fn check_content(opening: &Opening) -> Result<(), OpeningError> {
    let statement = &opening.statement;
    let malformed = |what: String| Err(OpeningError::Malformed(what));
    for name in [&statement.user, &statement.group] {
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
            return malformed(format!("{name:?} is no name of a user or group"));
        }
    }
    if statement.body_bytes > BODY_BYTES_MAX || opening.body.len() > statement.body_bytes {
        return malformed(format!("a body has at most {BODY_BYTES_MAX} bytes, and as many as are said"));
    }
    Ok(())
}

/// Exchanges that have been taken, as long as their statements are young enough to be taken again.
#[derive(Default)]
struct Remembered {
    /// In the order in which they came, with the instant from which on the statement is too old.
    order: VecDeque<(UtcMicros, u128)>,
    exchanges: HashSet<u128>,
}

enum Memory {
    New,
    Known,
    Full,
}

impl Remembered {
    fn add(&mut self, exchange: u128, issued: UtcMicros, now: UtcMicros) -> Memory {
        // One that came early may hold back the forgetting of those behind it, for two minutes at most.
        while let Some(&(until, oldest)) = self.order.front() {
            if until >= now {
                break;
            }
            self.order.pop_front();
            self.exchanges.remove(&oldest);
        }
        if self.exchanges.contains(&exchange) {
            return Memory::Known;
        }
        if self.order.len() >= REMEMBERED_MAX {
            return Memory::Full;
        }
        self.exchanges.insert(exchange);
        self.order.push_back((issued.plus_seconds(AGE_SECONDS_MAX), exchange));
        Memory::New
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use daybook_schemas::BlobHash;

    use super::*;
    use crate::statement::{Statement, VERSION};

    const NOW: UtcMicros = UtcMicros(1_790_000_000_000_000);

    fn statement() -> Statement {
        Statement {
            version: VERSION,
            cluster: "main".to_string(),
            relay: "login1".to_string(),
            exchange: "0123456789abcdef0123456789abcdef".to_string(),
            issued_micros: NOW.0,
            uid: 1000,
            gid: 100,
            pid: Some(7),
            user: "alice".to_string(),
            group: "users".to_string(),
            method: "POST".to_string(),
            path: "/v1/jobs?x=1".to_string(),
            body_bytes: 2,
            body: BlobHash::of(b"{}"),
        }
    }

    fn signed(statement: Statement, key: &KeyPair) -> Opening {
        let opening = Opening::sign(statement, Bytes::from_static(b"{}"), key).unwrap();
        Opening::decode(&opening.encode()).unwrap()
    }

    fn verifier(key: &KeyPair, root: bool) -> Verifier {
        let relay = KnownRelay { name: "login1".to_string(), key: key.public_key(), root };
        Verifier::new("main", &[relay]).unwrap()
    }

    fn refusal(result: Result<(), Refusal>) -> String {
        result.expect_err("it must be refused").to_string()
    }

    #[test]
    fn what_a_known_relay_signed_just_now_is_believed_once() {
        let key = KeyPair::new_user();
        let mut verifier = verifier(&key, false);
        let opening = signed(statement(), &key);
        verifier.admit("login1", &opening, NOW).unwrap();
        assert!(refusal(verifier.admit("login1", &opening, NOW)).contains("has sent this request before"));
        // As long as it is young enough it is remembered, and then it is too old.
        let last = NOW.plus_seconds(AGE_SECONDS_MAX);
        assert!(refusal(verifier.admit("login1", &opening, last)).contains("before"));
        assert!(refusal(verifier.admit("login1", &opening, UtcMicros(last.0 + 1))).contains("61 s"));
    }

    #[test]
    fn every_field_is_under_the_signature() {
        let key = KeyPair::new_user();
        let original = signed(statement(), &key).encode();
        let text = String::from_utf8(original.to_vec()).unwrap();
        for (from, to) in [
            ("\"cluster\":\"main\"", "\"cluster\":\"mean\""),
            ("\"relay\":\"login1\"", "\"relay\":\"login2\""),
            ("\"exchange\":\"0", "\"exchange\":\"1"),
            ("\"issued_micros\":179", "\"issued_micros\":178"),
            ("\"uid\":1000", "\"uid\":1001"),
            ("\"gid\":100", "\"gid\":101"),
            ("\"pid\":7", "\"pid\":8"),
            ("\"user\":\"alice\"", "\"user\":\"bob\""),
            ("\"group\":\"users\"", "\"group\":\"wheel\""),
            ("\"method\":\"POST\"", "\"method\":\"GET\""),
            ("/v1/jobs?x=1", "/v1/jobs?x=2"),
            ("\"body_bytes\":2", "\"body_bytes\":3"),
            ("\"body\":\"4", "\"body\":\"5"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            let opening = Opening::decode(&changed.into_bytes().into()).unwrap();
            let why = refusal(verifier(&key, true).admit("login1", &opening, NOW));
            assert!(why.contains("signature"), "{from}: {why}");
        }
    }

    #[test]
    fn the_message_itself_must_be_of_this_version_and_whole() {
        let key = KeyPair::new_user();
        let text = String::from_utf8(signed(statement(), &key).encode().to_vec()).unwrap();
        for (changed, expected) in [
            (text.replace("\"version\":1", "\"version\":2"), "version 2"),
            (text.replace("\"version\":1", "\"version\":1,\"more\":1"), "more"),
            (text.replace('\n', " "), "no signature"),
            ("!\n{}\n".to_string(), "signature"),
            (String::new(), "no signature"),
        ] {
            let error = Opening::decode(&changed.clone().into_bytes().into()).expect_err(&changed);
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_a_reason() {
        let (key, other) = (KeyPair::new_user(), KeyPair::new_user());
        let with = |change: fn(&mut Statement)| {
            let mut statement = statement();
            change(&mut statement);
            statement
        };
        for (relay, statement, signer, expected) in [
            ("login2", statement(), &key, "no relay login2"),
            ("login1", statement(), &other, "signature"),
            ("login1", with(|s| s.relay = "login2".into()), &key, "relay login2 of cluster main"),
            ("login1", with(|s| s.cluster = "test".into()), &key, "relay login1 of cluster test"),
            ("login1", with(|s| s.issued_micros -= 60_000_001), &key, "61 s"),
            ("login1", with(|s| s.issued_micros += 60_000_001), &key, "61 s"),
            ("login1", with(|s| s.issued_micros = i64::MIN), &key, "clocks"),
            ("login1", with(|s| s.uid = 0), &key, "root"),
            ("login1", with(|s| s.user = "a\nb".into()), &key, "no name"),
            ("login1", with(|s| s.group = String::new()), &key, "no name"),
            ("login1", with(|s| s.exchange = "a.b".into()), &key, "exchange"),
            ("login1", with(|s| s.body_bytes = usize::MAX), &key, "a body has at most"),
            ("login1", with(|s| s.body_bytes = 1), &key, "a body has at most"),
        ] {
            let why = refusal(verifier(&key, false).admit(relay, &signed(statement, signer), NOW));
            assert!(why.contains(expected), "{expected}: {why}");
        }
    }

    #[test]
    fn root_is_served_where_the_configuration_says_so() {
        let key = KeyPair::new_user();
        let opening = signed(Statement { uid: 0, ..statement() }, &key);
        verifier(&key, true).admit("login1", &opening, NOW).unwrap();
    }

    #[test]
    fn memory_is_bounded_and_becomes_free_with_time() {
        let mut remembered = Remembered::default();
        for exchange in 0..REMEMBERED_MAX as u128 {
            assert!(matches!(remembered.add(exchange, NOW, NOW), Memory::New));
        }
        assert!(matches!(remembered.add(u128::MAX, NOW, NOW), Memory::Full));
        assert!(matches!(remembered.add(1, NOW, NOW), Memory::Known));
        let later = NOW.plus_seconds(AGE_SECONDS_MAX + 1);
        assert!(matches!(remembered.add(u128::MAX, later, later), Memory::New));
        assert_eq!(remembered.order.len(), 1);
        assert_eq!(remembered.exchanges.len(), 1);
    }

    #[test]
    fn a_key_must_be_a_users_public_one() {
        for key in ["", "UABC", &KeyPair::new_account().public_key(), &KeyPair::new_user().seed().unwrap()] {
            let relay = KnownRelay { name: "login1".to_string(), key: key.to_string(), root: false };
            assert!(Verifier::new("main", &[relay]).is_err(), "{key}");
        }
    }
}
