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
    /// `None`: associations do not have it.
    association: Option<[&'static str; 6]>,
    qos: [&'static str; 6],
}

fn tres_words(limit: TresLimitName) -> TresWords {
    use TresLimitName::*;
    match limit {
        GrpTres => TresWords {
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
        GrpTresMins => TresWords {
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
        GrpTresRunMins => TresWords {
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
        MaxTresPerJob => TresWords {
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
        MaxTresPerNode => TresWords {
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
        MaxTresPerUser => TresWords {
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
        MaxTresPerAccount => TresWords {
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
        MaxTresMinsPerJob => TresWords {
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
        MaxTresRunMinsPerUser => TresWords {
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
        MaxTresRunMinsPerAccount => TresWords {
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
        MinTresPerJob => TresWords {
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
    }
}

/// The word of an association (`None`: associations do not have it) and of a QOS; `None`: it keeps no job from starting.
fn count_words(limit: CountLimitName) -> Option<(Option<&'static str>, &'static str)> {
    use CountLimitName::*;
    match limit {
        GrpJobs => Some((Some("AssocGrpJobsLimit"), "QOSGrpJobsLimit")),
        GrpSubmitJobs => Some((Some("AssocGrpSubmitJobsLimit"), "QOSGrpSubmitJobsLimit")),
        MaxJobs => Some((Some("AssocMaxJobsLimit"), "QOSMaxJobsPerUserLimit")),
        MaxSubmitJobs => Some((Some("AssocMaxSubmitJobLimit"), "QOSMaxSubmitJobPerUserLimit")),
        MaxJobsPerAccount => Some((None, "MaxJobsPerAccount")),
        MaxSubmitJobsPerAccount => Some((None, "MaxSubmitJobsPerAccount")),
        GrpJobsAccrue | MaxJobsAccrue | MaxJobsAccruePerAccount | MinPriority => None,
    }
}

/// The word of an association and of a QOS.
fn wall_words(limit: WallLimitName) -> (&'static str, &'static str) {
    match limit {
        WallLimitName::GrpWall => ("AssocGrpWallLimit", "QOSGrpWallLimit"),
        WallLimitName::MaxWallPerJob => ("AssocMaxWallDurationPerJobLimit", "QOSMaxWallDurationPerJobLimit"),
    }
}

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
        let words = tres_words(limit);
        let of_holder = match holder {
            LimitHolder::Association => words.association.unwrap_or(words.qos),
            LimitHolder::Qos => words.qos,
        };
        LimitReason(of_holder[class_of(tres)])
    }

    /// Of a limit on numbers of jobs; `None`: it keeps no job from starting.
    pub fn of_count(holder: LimitHolder, limit: CountLimitName) -> Option<LimitReason> {
        let (association, qos) = count_words(limit)?;
        Some(LimitReason(match holder {
            LimitHolder::Association => association.unwrap_or(qos),
            LimitHolder::Qos => qos,
        }))
    }

    /// Of a limit on time.
    pub fn of_wall(holder: LimitHolder, limit: WallLimitName) -> LimitReason {
        let (association, qos) = wall_words(limit);
        LimitReason(match holder {
            LimitHolder::Association => association,
            LimitHolder::Qos => qos,
        })
    }

    /// Slurm's word.
    pub fn word(self) -> &'static str {
        self.0
    }

    /// Every one, in no particular order; two limits that share a word make two equal ones.
    pub fn all() -> impl Iterator<Item = LimitReason> {
        let of_tres = TresLimitName::ALL.into_iter().map(tres_words);
        let of_tres = of_tres.flat_map(|words| words.association.into_iter().chain([words.qos])).flatten();
        let counts = CountLimitName::ALL.into_iter().filter_map(count_words);
        let counts = counts.flat_map(|(association, qos)| association.into_iter().chain([qos]));
        let walls = WallLimitName::ALL.into_iter().map(wall_words).flat_map(|(one, other)| [one, other]);
        of_tres.chain(counts).chain(walls).chain([USAGE_THRESHOLD]).map(LimitReason)
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

    /// What a limit says can be read back, whoever sets it and on whatever: an event with it is not lost.
    #[test]
    fn every_limit_has_a_word() {
        let known: std::collections::BTreeSet<LimitReason> = LimitReason::all().collect();
        for holder in [LimitHolder::Association, LimitHolder::Qos] {
            for tres in ["cpu", "mem", "node", "billing", "gres/gpu", "gres/gpu:a100", "license/ansys"] {
                for limit in TresLimitName::ALL {
                    assert!(known.contains(&LimitReason::of_tres(holder, limit, tres)), "{limit:?} {tres}");
                }
            }
            let counts =
                CountLimitName::ALL.into_iter().filter_map(|limit| LimitReason::of_count(holder, limit));
            let walls = WallLimitName::ALL.into_iter().map(|limit| LimitReason::of_wall(holder, limit));
            assert!(counts.chain(walls).all(|reason| known.contains(&reason)));
        }
    }
}
