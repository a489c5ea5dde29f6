//! The limits of associations and QOS by name, as requests name them and tables show them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::{Limits, TresAmounts};
use crate::units::Seconds;

/// A limit on trackable resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TresLimitName {
    /// `GrpTRES`.
    GrpTres,
    /// `GrpTRESMins`.
    GrpTresMins,
    /// `GrpTRESRunMins`.
    GrpTresRunMins,
    /// `MaxTRESPerJob`.
    MaxTresPerJob,
    /// `MaxTRESPerNode`.
    MaxTresPerNode,
    /// `MaxTRESPerUser`, of a QOS.
    MaxTresPerUser,
    /// `MaxTRESPerAccount`, of a QOS.
    MaxTresPerAccount,
    /// `MaxTRESMinsPerJob`.
    MaxTresMinsPerJob,
    /// `MaxTRESRunMinsPerUser`, of a QOS.
    MaxTresRunMinsPerUser,
    /// `MaxTRESRunMinsPerAccount`, of a QOS.
    MaxTresRunMinsPerAccount,
    /// `MinTRESPerJob`, of a QOS.
    MinTresPerJob,
}

impl TresLimitName {
    /// Every one.
    pub const ALL: [TresLimitName; 11] = {
        use TresLimitName::*;
        [
            GrpTres,
            GrpTresMins,
            GrpTresRunMins,
            MaxTresPerJob,
            MaxTresPerNode,
            MaxTresPerUser,
            MaxTresPerAccount,
            MaxTresMinsPerJob,
            MaxTresRunMinsPerUser,
            MaxTresRunMinsPerAccount,
            MinTresPerJob,
        ]
    };

    /// Whether associations have it too, and not only QOS.
    pub fn is_of_associations(self) -> bool {
        use TresLimitName::*;
        matches!(
            self,
            GrpTres | GrpTresMins | GrpTresRunMins | MaxTresPerJob | MaxTresPerNode | MaxTresMinsPerJob
        )
    }

    /// Whether what an association does not say is as in the account above.
    pub fn is_inherited(self) -> bool {
        use TresLimitName::*;
        matches!(self, MaxTresPerJob | MaxTresPerNode | MaxTresMinsPerJob)
    }
}

/// A limit that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountLimitName {
    /// `GrpJobs`.
    GrpJobs,
    /// `GrpJobsAccrue`.
    GrpJobsAccrue,
    /// `GrpSubmitJobs`.
    GrpSubmitJobs,
    /// `MaxJobs`; of a QOS `MaxJobsPerUser`.
    MaxJobs,
    /// `MaxSubmitJobs`; of a QOS `MaxSubmitJobsPerUser`.
    MaxSubmitJobs,
    /// `MaxJobsAccrue`; of a QOS `MaxJobsAccruePerUser`.
    MaxJobsAccrue,
    /// `MaxJobsPerAccount`, of a QOS.
    MaxJobsPerAccount,
    /// `MaxSubmitJobsPerAccount`, of a QOS.
    MaxSubmitJobsPerAccount,
    /// `MaxJobsAccruePerAccount`, of a QOS.
    MaxJobsAccruePerAccount,
    /// `MinPrioThreshold`.
    MinPriority,
}

impl CountLimitName {
    /// Every one.
    pub const ALL: [CountLimitName; 10] = {
        use CountLimitName::*;
        [
            GrpJobs,
            GrpJobsAccrue,
            GrpSubmitJobs,
            MaxJobs,
            MaxSubmitJobs,
            MaxJobsAccrue,
            MaxJobsPerAccount,
            MaxSubmitJobsPerAccount,
            MaxJobsAccruePerAccount,
            MinPriority,
        ]
    };

    /// Whether associations have it too, and not only QOS.
    pub fn is_of_associations(self) -> bool {
        use CountLimitName::*;
        !matches!(self, MaxJobsPerAccount | MaxSubmitJobsPerAccount | MaxJobsAccruePerAccount)
    }

    /// Whether what an association does not say is as in the account above.
    pub fn is_inherited(self) -> bool {
        use CountLimitName::*;
        matches!(self, MaxJobs | MaxSubmitJobs | MaxJobsAccrue | MinPriority)
    }
}

/// A limit that is a length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WallLimitName {
    /// `GrpWall`.
    GrpWall,
    /// `MaxWallDurationPerJob`.
    MaxWallPerJob,
}

impl WallLimitName {
    /// Every one.
    pub const ALL: [WallLimitName; 2] = {
        use WallLimitName::*;
        [GrpWall, MaxWallPerJob]
    };

    /// Whether what an association does not say is as in the account above.
    pub fn is_inherited(self) -> bool {
        self == WallLimitName::MaxWallPerJob
    }
}

impl Limits {
    /// A limit on resources.
    pub fn tres(&self, name: TresLimitName) -> &TresAmounts {
        use TresLimitName::*;
        match name {
            GrpTres => &self.grp_tres,
            GrpTresMins => &self.grp_tres_mins,
            GrpTresRunMins => &self.grp_tres_run_mins,
            MaxTresPerJob => &self.max_tres_per_job,
            MaxTresPerNode => &self.max_tres_per_node,
            MaxTresPerUser => &self.max_tres_per_user,
            MaxTresPerAccount => &self.max_tres_per_account,
            MaxTresMinsPerJob => &self.max_tres_mins_per_job,
            MaxTresRunMinsPerUser => &self.max_tres_run_mins_per_user,
            MaxTresRunMinsPerAccount => &self.max_tres_run_mins_per_account,
            MinTresPerJob => &self.min_tres_per_job,
        }
    }

    /// The same, to be changed.
    pub fn tres_mut(&mut self, name: TresLimitName) -> &mut TresAmounts {
        use TresLimitName::*;
        match name {
            GrpTres => &mut self.grp_tres,
            GrpTresMins => &mut self.grp_tres_mins,
            GrpTresRunMins => &mut self.grp_tres_run_mins,
            MaxTresPerJob => &mut self.max_tres_per_job,
            MaxTresPerNode => &mut self.max_tres_per_node,
            MaxTresPerUser => &mut self.max_tres_per_user,
            MaxTresPerAccount => &mut self.max_tres_per_account,
            MaxTresMinsPerJob => &mut self.max_tres_mins_per_job,
            MaxTresRunMinsPerUser => &mut self.max_tres_run_mins_per_user,
            MaxTresRunMinsPerAccount => &mut self.max_tres_run_mins_per_account,
            MinTresPerJob => &mut self.min_tres_per_job,
        }
    }

    /// A limit that is a number.
    pub fn count(&self, name: CountLimitName) -> Option<u32> {
        use CountLimitName::*;
        match name {
            GrpJobs => self.grp_jobs,
            GrpJobsAccrue => self.grp_jobs_accrue,
            GrpSubmitJobs => self.grp_submit_jobs,
            MaxJobs => self.max_jobs,
            MaxSubmitJobs => self.max_submit_jobs,
            MaxJobsAccrue => self.max_jobs_accrue,
            MaxJobsPerAccount => self.max_jobs_per_account,
            MaxSubmitJobsPerAccount => self.max_submit_jobs_per_account,
            MaxJobsAccruePerAccount => self.max_jobs_accrue_per_account,
            MinPriority => self.min_priority,
        }
    }

    /// The same, to be changed.
    pub fn count_mut(&mut self, name: CountLimitName) -> &mut Option<u32> {
        use CountLimitName::*;
        match name {
            GrpJobs => &mut self.grp_jobs,
            GrpJobsAccrue => &mut self.grp_jobs_accrue,
            GrpSubmitJobs => &mut self.grp_submit_jobs,
            MaxJobs => &mut self.max_jobs,
            MaxSubmitJobs => &mut self.max_submit_jobs,
            MaxJobsAccrue => &mut self.max_jobs_accrue,
            MaxJobsPerAccount => &mut self.max_jobs_per_account,
            MaxSubmitJobsPerAccount => &mut self.max_submit_jobs_per_account,
            MaxJobsAccruePerAccount => &mut self.max_jobs_accrue_per_account,
            MinPriority => &mut self.min_priority,
        }
    }

    /// A limit that is a length of time.
    pub fn wall(&self, name: WallLimitName) -> Option<Seconds> {
        match name {
            WallLimitName::GrpWall => self.grp_wall,
            WallLimitName::MaxWallPerJob => self.max_wall_per_job,
        }
    }

    /// The same, to be changed.
    pub fn wall_mut(&mut self, name: WallLimitName) -> &mut Option<Seconds> {
        match name {
            WallLimitName::GrpWall => &mut self.grp_wall,
            WallLimitName::MaxWallPerJob => &mut self.max_wall_per_job,
        }
    }
}

/// Whether a trackable resource has this name: `cpu`, `mem`, `node`, `billing`, `gres/gpu`, `gres/gpu:TYPE`,
/// `license/NAME`.
pub fn is_tres_name(name: &str) -> bool {
    let is_word = |word: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.@".contains(&byte);
        !word.is_empty() && word.len() <= 128 && word.bytes().all(plain)
    };
    matches!(name, "cpu" | "mem" | "node" | "billing" | "gres/gpu")
        || name.strip_prefix("gres/gpu:").is_some_and(is_word)
        || name.strip_prefix("license/").is_some_and(is_word)
}
