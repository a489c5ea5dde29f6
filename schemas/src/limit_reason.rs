//! Why a job does not start where a limit of an association or a QOS keeps it from doing so: Slurm's word for each.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::{CountLimitName, TresLimitName, WallLimitName};

/// Who sets a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitHolder {
    /// An association: a user's, or an account's.
    Association,
    /// A QOS: the job's, or its partition's.
    Qos,
}

/// A limit that somebody breaks, in Slurm's word (`QOSMaxCpuPerUserLimit`): one of [`LimitReason::all`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LimitReason(&'static str);

/// Words of a limit on resources, by class of resource: CPUs, memory, nodes, billing, GPUs, licences.
struct TresWords {
    limit: TresLimitName,
    /// `None`: associations do not have it.
    association: Option<[&'static str; 6]>,
    qos: [&'static str; 6],
}

const TRES_WORDS: [TresWords; 11] = [
    TresWords {
        limit: TresLimitName::GrpTres,
        association: Some([
            "AssocGrpCpuLimit",
            "AssocGrpMemLimit",
            "AssocGrpNodeLimit",
            "AssocGrpBilling",
            "AssocGrpGRES",
            "AssocGrpLicense",
        ]),
        qos: [
            "QOSGrpCpuLimit",
            "QOSGrpMemLimit",
            "QOSGrpNodeLimit",
            "QOSGrpBilling",
            "QOSGrpGRES",
            "QOSGrpLicense",
        ],
    },
    TresWords {
        limit: TresLimitName::GrpTresMins,
        association: Some([
            "AssocGrpCPUMinutesLimit",
            "AssocGrpMemMinutes",
            "AssocGrpNodeMinutes",
            "AssocGrpBillingMinutes",
            "AssocGrpGRESMinutes",
            "AssocGrpLicenseMinutes",
        ]),
        qos: [
            "QOSGrpCPUMinutesLimit",
            "QOSGrpMemoryMinutes",
            "QOSGrpNodeMinutes",
            "QOSGrpBillingMinutes",
            "QOSGrpGRESMinutes",
            "QOSGrpLicenseMinutes",
        ],
    },
    TresWords {
        limit: TresLimitName::GrpTresRunMins,
        association: Some([
            "AssocGrpCPURunMinutesLimit",
            "AssocGrpMemRunMinutes",
            "AssocGrpNodeRunMinutes",
            "AssocGrpBillingRunMinutes",
            "AssocGrpGRESRunMinutes",
            "AssocGrpLicenseRunMinutes",
        ]),
        qos: [
            "QOSGrpCPURunMinutesLimit",
            "QOSGrpMemoryRunMinutes",
            "QOSGrpNodeRunMinutes",
            "QOSGrpBillingRunMinutes",
            "QOSGrpGRESRunMinutes",
            "QOSGrpLicenseRunMinutes",
        ],
    },
    TresWords {
        limit: TresLimitName::MaxTresPerJob,
        association: Some([
            "AssocMaxCpuPerJobLimit",
            "AssocMaxMemPerJob",
            "AssocMaxNodePerJobLimit",
            "AssocMaxBillingPerJob",
            "AssocMaxGRESPerJob",
            "AssocMaxLicensePerJob",
        ]),
        qos: [
            "QOSMaxCpuPerJobLimit",
            "QOSMaxMemoryPerJob",
            "QOSMaxNodePerJobLimit",
            "QOSMaxBillingPerJob",
            "QOSMaxGRESPerJob",
            "QOSMaxLicensePerJob",
        ],
    },
    TresWords {
        limit: TresLimitName::MaxTresPerNode,
        association: Some([
            "AssocMaxCpuPerNode",
            "AssocMaxMemPerNode",
            "AssocMaxUnknownPerNode",
            "AssocMaxBillingPerNode",
            "AssocMaxGRESPerNode",
            "AssocMaxUnknownPerNode",
        ]),
        qos: [
            "QOSMaxCpuPerNode",
            "QOSMaxMemoryPerNode",
            "QOSMaxUnknownPerNode",
            "QOSMaxBillingPerNode",
            "QOSMaxGRESPerNode",
            "QOSMaxUnknownPerNode",
        ],
    },
    TresWords {
        limit: TresLimitName::MaxTresPerUser,
        association: None,
        qos: [
            "QOSMaxCpuPerUserLimit",
            "QOSMaxMemoryPerUser",
            "QOSMaxNodePerUserLimit",
            "QOSMaxBillingPerUser",
            "QOSMaxGRESPerUser",
            "QOSMaxLicensePerUser",
        ],
    },
    TresWords {
        limit: TresLimitName::MaxTresPerAccount,
        association: None,
        qos: [
            "MaxCpuPerAccount",
            "MaxMemoryPerAccount",
            "MaxNodePerAccount",
            "MaxBillingPerAccount",
            "MaxGRESPerAccount",
            "MaxLicensePerAccount",
        ],
    },
    TresWords {
        limit: TresLimitName::MaxTresMinsPerJob,
        association: Some([
            "AssocMaxCpuMinutesPerJobLimit",
            "AssocMaxMemMinutesPerJob",
            "AssocMaxNodeMinutesPerJob",
            "AssocMaxBillingMinutesPerJob",
            "AssocMaxGRESMinutesPerJob",
            "AssocMaxLicenseMinutesPerJob",
        ]),
        qos: [
            "QOSMaxCpuMinutesPerJobLimit",
            "QOSMaxMemoryMinutesPerJob",
            "QOSMaxNodeMinutesPerJob",
            "QOSMaxBillingMinutesPerJob",
            "QOSMaxGRESMinutesPerJob",
            "QOSMaxLicenseMinutesPerJob",
        ],
    },
    TresWords {
        limit: TresLimitName::MaxTresRunMinsPerUser,
        association: None,
        qos: [
            "MaxCpuRunMinsPerUser",
            "MaxMemoryRunMinsPerUser",
            "MaxNodeRunMinsPerUser",
            "MaxBillingRunMinsPerUser",
            "MaxGRESRunMinsPerUser",
            "MaxLicenseRunMinsPerUser",
        ],
    },
    TresWords {
        limit: TresLimitName::MaxTresRunMinsPerAccount,
        association: None,
        qos: [
            "MaxCpuRunMinsPerAccount",
            "MaxMemoryRunMinsPerAccount",
            "MaxNodeRunMinsPerAccount",
            "MaxBillingRunMinsPerAccount",
            "MaxGRESRunMinsPerAccount",
            "MaxLicenseRunMinsPerAccount",
        ],
    },
    TresWords {
        limit: TresLimitName::MinTresPerJob,
        association: None,
        qos: [
            "QOSMinCpuNotSatisfied",
            "QOSMinMemory",
            "QOSMinNode",
            "QOSMinBilling",
            "QOSMinGRES",
            "QOSMinLicense",
        ],
    },
];

/// Limit, word of an association (empty: associations do not have it), word of a QOS. Limits that keep no job from starting
/// are not here.
const COUNT_WORDS: [(CountLimitName, &str, &str); 6] = [
    (CountLimitName::GrpJobs, "AssocGrpJobsLimit", "QOSGrpJobsLimit"),
    (CountLimitName::GrpSubmitJobs, "AssocGrpSubmitJobsLimit", "QOSGrpSubmitJobsLimit"),
    (CountLimitName::MaxJobs, "AssocMaxJobsLimit", "QOSMaxJobsPerUserLimit"),
    (CountLimitName::MaxSubmitJobs, "AssocMaxSubmitJobLimit", "QOSMaxSubmitJobPerUserLimit"),
    (CountLimitName::MaxJobsPerAccount, "", "MaxJobsPerAccount"),
    (CountLimitName::MaxSubmitJobsPerAccount, "", "MaxSubmitJobsPerAccount"),
];

const WALL_WORDS: [(WallLimitName, &str, &str); 2] = [
    (WallLimitName::GrpWall, "AssocGrpWallLimit", "QOSGrpWallLimit"),
    (WallLimitName::MaxWallPerJob, "AssocMaxWallDurationPerJobLimit", "QOSMaxWallDurationPerJobLimit"),
];

const USAGE_THRESHOLD: &str = "QOSUsageThreshold";

/// The place of a resource in the tables of words.
fn class_of(tres: &str) -> usize {
    match tres {
        "cpu" => 0,
        "mem" => 1,
        "node" => 2,
        "billing" => 3,
        name if name.starts_with("license/") => 5,
        _ => 4,
    }
}

impl LimitReason {
    /// The fair-share factor is below the QOS's `UsageThreshold`.
    pub const USAGE_THRESHOLD: LimitReason = LimitReason(USAGE_THRESHOLD);

    /// Of a limit on a resource. Limits that associations do not have are a QOS's.
    pub fn of_tres(holder: LimitHolder, limit: TresLimitName, tres: &str) -> LimitReason {
        let words = TRES_WORDS.iter().find(|words| words.limit == limit);
        let of_holder = |words: &TresWords| match holder {
            LimitHolder::Association => words.association.unwrap_or(words.qos),
            LimitHolder::Qos => words.qos,
        };
        LimitReason(words.map_or("AccountingPolicy", |words| of_holder(words)[class_of(tres)]))
    }

    /// Of a limit on numbers of jobs; `None`: it keeps no job from starting.
    pub fn of_count(holder: LimitHolder, limit: CountLimitName) -> Option<LimitReason> {
        let (_, association, qos) = COUNT_WORDS.into_iter().find(|(name, ..)| *name == limit)?;
        let is_associations = holder == LimitHolder::Association && !association.is_empty();
        Some(LimitReason(if is_associations { association } else { qos }))
    }

    /// Of a limit on time.
    pub fn of_wall(holder: LimitHolder, limit: WallLimitName) -> LimitReason {
        let words = WALL_WORDS.into_iter().find(|(name, ..)| *name == limit);
        let of_holder = |(_, association, qos)| match holder {
            LimitHolder::Association => association,
            LimitHolder::Qos => qos,
        };
        LimitReason(words.map_or("AccountingPolicy", of_holder))
    }

    /// Slurm's word.
    pub fn word(self) -> &'static str {
        self.0
    }

    /// Every one, in no particular order; two limits that share a word make two equal ones.
    pub fn all() -> impl Iterator<Item = LimitReason> {
        let of_tres = TRES_WORDS.iter().flat_map(|words| words.association.into_iter().chain([words.qos]));
        let counts = COUNT_WORDS.iter().flat_map(|(_, association, qos)| [*association, *qos]);
        let walls = WALL_WORDS.iter().flat_map(|(_, association, qos)| [*association, *qos]);
        let words = of_tres.flatten().chain(counts).chain(walls).chain([USAGE_THRESHOLD]);
        words.filter(|word| !word.is_empty()).map(LimitReason)
    }

    /// The one with this word.
    pub fn parse(word: &str) -> Option<LimitReason> {
        LimitReason::all().find(|reason| reason.0 == word)
    }
}

impl Serialize for LimitReason {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for LimitReason {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<LimitReason, D::Error> {
        let word: Cow<'de, str> = Deserialize::deserialize(from)?;
        let unknown = || serde::de::Error::custom(format!("\"{word}\" is the word of no limit"));
        LimitReason::parse(&word).ok_or_else(unknown)
    }
}

impl JsonSchema for LimitReason {
    fn schema_name() -> Cow<'static, str> {
        "LimitReason".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: std::collections::BTreeSet<&str> = LimitReason::all().map(LimitReason::word).collect();
        schemars::json_schema!({
            "description": "A limit of an association or a QOS, in Slurm's word.",
            "type": "string",
            "enum": words,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back_as_itself() {
        for reason in LimitReason::all() {
            let text = serde_json::to_string(&reason).unwrap();
            assert_eq!(serde_json::from_str::<LimitReason>(&text).unwrap(), reason, "{text}");
        }
        assert!(serde_json::from_str::<LimitReason>("\"AssocMaxCoffee\"").is_err());
    }

    /// Words of the recordings of a real Slurm.
    #[test]
    fn words_are_slurms() {
        use LimitHolder::{Association, Qos};
        let table = [
            (LimitReason::of_tres(Qos, TresLimitName::MaxTresPerUser, "cpu"), "QOSMaxCpuPerUserLimit"),
            (LimitReason::of_tres(Association, TresLimitName::GrpTresMins, "cpu"), "AssocGrpCPUMinutesLimit"),
            (
                LimitReason::of_tres(Qos, TresLimitName::MaxTresPerAccount, "gres/gpu:a100"),
                "MaxGRESPerAccount",
            ),
            (LimitReason::of_wall(Qos, WallLimitName::MaxWallPerJob), "QOSMaxWallDurationPerJobLimit"),
            (LimitReason::of_count(Association, CountLimitName::MaxJobs).unwrap(), "AssocMaxJobsLimit"),
            (LimitReason::of_count(Qos, CountLimitName::MaxJobs).unwrap(), "QOSMaxJobsPerUserLimit"),
            (
                LimitReason::of_count(Association, CountLimitName::MaxSubmitJobs).unwrap(),
                "AssocMaxSubmitJobLimit",
            ),
            (
                LimitReason::of_count(Qos, CountLimitName::MaxSubmitJobs).unwrap(),
                "QOSMaxSubmitJobPerUserLimit",
            ),
        ];
        for (reason, word) in table {
            assert_eq!(reason.word(), word);
        }
        assert_eq!(LimitReason::of_count(Qos, CountLimitName::MinPriority), None);
    }
}
