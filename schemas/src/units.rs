//! Small types that carry their meaning and unit.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A position in one stream of the log; the first commit has 1, 0 means "before the first".
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The position before the first commit.
    pub const ZERO: Seq = Seq(0);

    /// The position after this one.
    pub fn next(self) -> Seq {
        Seq(self.0 + 1)
    }
}

/// What people type: unique for ever, allocated in the log, from 1.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct JobId(pub u32);

/// One start of a job: `123.0` is the first, `123.1` the one after a requeue. Unique for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId {
    /// The job that was started.
    pub job: JobId,
    /// How often the job had been started before.
    pub start: u32,
}

/// A length of time in whole seconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Seconds(pub u64);

/// An amount of memory in MiB, Slurm's unit.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Mebibytes(pub u64);

/// A node's name in the cluster (Slurm's `NodeName`, not the host's name).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NodeName(pub std::sync::Arc<str>);

/// A GPU's identity: NVML's UUID where a driver gives one, else `NODE/gpuINDEX`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct GpuUuid(pub std::sync::Arc<str>);

/// The content address of a blob: SHA-256 in 64 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct BlobHash(pub String);

impl BlobHash {
    /// The address of these bytes.
    pub fn of(bytes: &[u8]) -> BlobHash {
        BlobHash(crate::canonical::sha256_hex(bytes))
    }
}

/// An instant in UTC, microseconds since 1970. In JSON RFC 3339 with exactly six decimals and `Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcMicros(pub i64);

impl UtcMicros {
    /// The whole second that this instant lies in (rounded towards the past).
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// The start of a second.
    pub fn from_seconds(seconds: i64) -> UtcMicros {
        UtcMicros(seconds.saturating_mul(1_000_000))
    }

    /// This instant moved by whole seconds (may be negative); saturates.
    pub fn plus_seconds(self, seconds: i64) -> UtcMicros {
        UtcMicros(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }
}

macro_rules! display_number {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}
display_number!(Seq, JobId, Seconds, Mebibytes, BlobHash);

macro_rules! text_name {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                $name(text.into())
            }
        }
        impl From<String> for $name {
            fn from(text: String) -> Self {
                $name(text.into())
            }
        }
        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    )*};
}
text_name!(NodeName, GpuUuid);

impl RunId {
    /// The run of `job` that has `start` starts before it.
    pub fn new(job: JobId, start: u32) -> RunId {
        RunId { job, start }
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.job, self.start)
    }
}

/// Text that is no run id.
#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" is no run id: expected JOB.START, such as 123.0")]
pub struct InvalidRunId(String);

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<RunId, InvalidRunId> {
        let invalid = || InvalidRunId(text.to_string());
        let (job, start) = text.split_once('.').ok_or_else(invalid)?;
        let job = job.parse().map_err(|_| invalid())?;
        let start = start.parse().map_err(|_| invalid())?;
        Ok(RunId { job: JobId(job), start })
    }
}

impl fmt::Display for UtcMicros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Outside the calendar's range (years -9999 to 9999) the nearest end is shown.
        let instant = jiff::Timestamp::from_microsecond(self.0).unwrap_or(if self.0 < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        });
        write!(f, "{instant:.6}")
    }
}

/// Text that is no instant.
#[derive(Debug, thiserror::Error)]
#[error("\"{text}\" is no RFC 3339 instant: {why}")]
pub struct InvalidInstant {
    text: String,
    why: String,
}

impl FromStr for UtcMicros {
    type Err = InvalidInstant;

    fn from_str(text: &str) -> Result<UtcMicros, InvalidInstant> {
        match text.parse::<jiff::Timestamp>() {
            Ok(instant) => Ok(UtcMicros(instant.as_microsecond())),
            Err(error) => Err(InvalidInstant { text: text.to_string(), why: error.to_string() }),
        }
    }
}

macro_rules! serde_as_text {
    ($($name:ident: $pattern:literal, $description:literal;)*) => {$(
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("text of the form ", $pattern))
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $pattern, "description": $description })
            }
        }
    )*};
}
serde_as_text!(
    RunId: r"^[0-9]+\.[0-9]+$", "One start of a job: job id and how often it had been started before.";
    UtcMicros: r"^-?[0-9]{4,6}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$",
        "An instant in UTC, with six decimals.";
);
