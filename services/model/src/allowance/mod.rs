//! What limits of associations and QOS allow: whether a job may be submitted, and whether it may start now.
//!
//! A partition's QOS comes before the job's own (or after it, with the flag `OverPartQOS`), that before the user's
//! association, and that before the accounts above. Where a limit is set at several places the first holds, but that limits
//! on groups (`Grp…`) of associations hold at every level of the tree.

mod lifted;
mod need;
mod spent;
mod start;
mod submit;
mod used_up;

use daybook_schemas::UtcMicros;
use daybook_schemas::accounts::{Association, FACTOR_ONE, Qos};
use daybook_schemas::events::LimitFigures;
use daybook_schemas::limit_reason::{LimitHolder, LimitReason};
use daybook_schemas::limits::{CountLimitName, TresLimitName, WallLimitName};

use crate::charges::Scope;

pub use lifted::Lifted;
pub use need::Need;
pub(crate) use spent::{KnownSpent, Spender};
pub use used_up::UsedUp;

/// A limit that would be broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Slurm's word.
    pub reason: LimitReason,
    /// What is asked and what there is.
    pub figures: LimitFigures,
    /// From when on time alone may have made room for it, if nothing else happens.
    pub passes: Option<UtcMicros>,
}

/// A limit, what counts already, and what is asked; see [`LimitFigures`].
type Given = (u64, Option<u64>, Option<u64>);

/// Who sets a limit.
#[derive(Clone, Copy)]
enum Holder<'a> {
    Qos(&'a Qos),
    Association(&'a Association),
}

impl Holder<'_> {
    fn kind(self) -> LimitHolder {
        match self {
            Holder::Qos(_) => LimitHolder::Qos,
            Holder::Association(_) => LimitHolder::Association,
        }
    }

    /// As people are told.
    fn name(self) -> String {
        match self {
            Holder::Qos(qos) => format!("QOS {}", qos.name),
            Holder::Association(association) => match &association.user {
                Some(user) => format!("user {user} in account {}", association.account),
                None => format!("account {}", association.account),
            },
        }
    }

    /// Everything that it counts together.
    fn scope(self) -> Scope {
        match self {
            Holder::Qos(qos) => Scope::Qos(qos.name.as_str().into()),
            Holder::Association(association) => Scope::Association(association.id),
        }
    }

    fn refuse(self, reason: LimitReason, limit: String, (most, used, needs): Given) -> Refusal {
        let figures = LimitFigures { limit, of: self.name(), most, used, needs };
        Refusal { reason, figures, passes: None }
    }

    fn refuse_tres(self, limit: TresLimitName, tres: &str, figures: Given) -> Refusal {
        let reason = LimitReason::of_tres(self.kind(), limit, tres);
        self.refuse(reason, format!("{}={tres}", name_of_tres_limit(limit)), figures)
    }

    fn refuse_count(self, limit: CountLimitName, figures: Given) -> Option<Refusal> {
        let reason = LimitReason::of_count(self.kind(), limit)?;
        Some(self.refuse(reason, name_of_count_limit(self.kind(), limit).to_string(), figures))
    }

    fn refuse_wall(self, limit: WallLimitName, figures: Given) -> Refusal {
        let name = match limit {
            WallLimitName::GrpWall => "GrpWall",
            WallLimitName::MaxWallPerJob => "MaxWallDurationPerJob",
        };
        self.refuse(LimitReason::of_wall(self.kind(), limit), name.to_string(), figures)
    }
}

fn name_of_tres_limit(limit: TresLimitName) -> &'static str {
    use TresLimitName::*;
    match limit {
        GrpTres => "GrpTRES",
        GrpTresMins => "GrpTRESMins",
        GrpTresRunMins => "GrpTRESRunMins",
        MaxTresPerJob => "MaxTRESPerJob",
        MaxTresPerNode => "MaxTRESPerNode",
        MaxTresPerUser => "MaxTRESPerUser",
        MaxTresPerAccount => "MaxTRESPerAccount",
        MaxTresMinsPerJob => "MaxTRESMinsPerJob",
        MaxTresRunMinsPerUser => "MaxTRESRunMinsPerUser",
        MaxTresRunMinsPerAccount => "MaxTRESRunMinsPerAccount",
        MinTresPerJob => "MinTRESPerJob",
    }
}

fn name_of_count_limit(holder: LimitHolder, limit: CountLimitName) -> &'static str {
    use CountLimitName::*;
    match (limit, holder) {
        (GrpJobs, _) => "GrpJobs",
        (GrpJobsAccrue, _) => "GrpJobsAccrue",
        (GrpSubmitJobs, _) => "GrpSubmitJobs",
        (MaxJobs, LimitHolder::Association) => "MaxJobs",
        (MaxJobs, LimitHolder::Qos) => "MaxJobsPerUser",
        (MaxSubmitJobs, LimitHolder::Association) => "MaxSubmitJobs",
        (MaxSubmitJobs, LimitHolder::Qos) => "MaxSubmitJobsPerUser",
        (MaxJobsAccrue, LimitHolder::Association) => "MaxJobsAccrue",
        (MaxJobsAccrue, LimitHolder::Qos) => "MaxJobsAccruePerUser",
        (MaxJobsPerAccount, _) => "MaxJobsPerAccount",
        (MaxSubmitJobsPerAccount, _) => "MaxSubmitJobsPerAccount",
        (MaxJobsAccruePerAccount, _) => "MaxJobsAccruePerAccount",
        (MinPriority, _) => "MinPrioThreshold",
    }
}

/// A limit of an association times the QOS's `LimitFactor`, rounded down.
fn factored(most: u64, factor: Option<u64>) -> u64 {
    let product = u128::from(most) * u128::from(factor.unwrap_or(FACTOR_ONE)) / u128::from(FACTOR_ONE);
    u64::try_from(product).unwrap_or(u64::MAX)
}
