//! The columns that tables of accounts may have.

use daybook_schemas::limits::CountLimitName::{self, *};
use daybook_schemas::limits::TresLimitName::{self, *};
use daybook_schemas::limits::WallLimitName::{self, *};

use super::super::words;

/// What a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Account,
    Admin,
    Cluster,
    Comment,
    ControlHost,
    ControlPort,
    Coordinators,
    DefaultAccount,
    DefaultQos,
    DefaultWckey,
    Description,
    Flags,
    GraceTime,
    Id,
    Left,
    LimitFactor,
    Name,
    Organization,
    ParentId,
    ParentName,
    Partition,
    Preempt,
    PreemptExemptTime,
    PreemptMode,
    Priority,
    Problem,
    Qos,
    QosRaw,
    Right,
    Rpc,
    Share,
    Type,
    UsageFactor,
    UsageThreshold,
    User,
    WorkloadKey,
    Tres(TresLimitName),
    /// One resource of a limit, as older releases of Slurm show it.
    OneTres(TresLimitName, &'static str),
    Count(CountLimitName),
    Wall(WallLimitName),
}

/// A column: its name, the fewest letters by which it is known, its head and its width.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    pub name: &'static str,
    pub least: usize,
    pub head: &'static str,
    pub width: usize,
    pub field: Field,
}

const fn spec(name: &'static str, least: usize, head: &'static str, width: usize, field: Field) -> Spec {
    Spec { name, least, head, width, field }
}

use Field::{Count, OneTres, Tres, Wall};

/// The first that fits is meant; a whole name before a beginning.
pub const ALL: &[Spec] = &[
    spec("Account", 3, "Account", 10, Field::Account),
    spec("Acct", 4, "Account", 10, Field::Account),
    spec("AdminLevel", 2, "Admin", 9, Field::Admin),
    spec("Cluster", 2, "Cluster", 10, Field::Cluster),
    spec("Comment", 3, "Comment", 20, Field::Comment),
    spec("ControlHost", 8, "ControlHost", 15, Field::ControlHost),
    spec("ControlPort", 8, "ControlPort", 12, Field::ControlPort),
    spec("Coordinators", 2, "Coord Accounts", 20, Field::Coordinators),
    spec("DefaultAccount", 8, "Def Acct", 10, Field::DefaultAccount),
    spec("DefaultQOS", 8, "Def QOS", 9, Field::DefaultQos),
    spec("DefaultWCKey", 8, "Def WCKey", 10, Field::DefaultWckey),
    spec("Description", 3, "Descr", 20, Field::Description),
    spec("FairShare", 1, "Share", 9, Field::Share),
    spec("Shares", 1, "Share", 9, Field::Share),
    spec("Flags", 2, "Flags", 20, Field::Flags),
    spec("GraceTime", 3, "GraceTime", 10, Field::GraceTime),
    spec("GrpCPUs", 6, "GrpCPUs", 8, OneTres(GrpTres, "cpu")),
    spec("GrpCPUMins", 8, "GrpCPUMins", 11, OneTres(GrpTresMins, "cpu")),
    spec("GrpCPURunMins", 8, "GrpCPURunMins", 13, OneTres(GrpTresRunMins, "cpu")),
    spec("GrpJobs", 4, "GrpJobs", 7, Count(GrpJobs)),
    spec("GrpJobsAccrue", 8, "GrpJobsAccrue", 13, Count(GrpJobsAccrue)),
    spec("GrpMem", 4, "GrpMem", 7, OneTres(GrpTres, "mem")),
    spec("GrpNodes", 4, "GrpNodes", 8, OneTres(GrpTres, "node")),
    spec("GrpSubmitJobs", 4, "GrpSubmit", 9, Count(GrpSubmitJobs)),
    spec("GrpTRES", 7, "GrpTRES", 13, Tres(GrpTres)),
    spec("GrpTRESMins", 8, "GrpTRESMins", 13, Tres(GrpTresMins)),
    spec("GrpTRESRunMins", 8, "GrpTRESRunMins", 13, Tres(GrpTresRunMins)),
    spec("GrpWall", 4, "GrpWall", 11, Wall(GrpWall)),
    spec("ID", 2, "ID", 6, Field::Id),
    spec("LFT", 1, "LFT", 6, Field::Left),
    spec("LimitFactor", 6, "LimitFactor", 11, Field::LimitFactor),
    spec("MaxCPUMinsPerJob", 7, "MaxCPUMins", 11, OneTres(MaxTresMinsPerJob, "cpu")),
    spec("MaxCPUsPerJob", 7, "MaxCPUs", 8, OneTres(MaxTresPerJob, "cpu")),
    spec("MaxCPUsPerUser", 11, "MaxCPUsPU", 9, OneTres(MaxTresPerUser, "cpu")),
    spec("MaxJobs", 4, "MaxJobs", 7, Count(MaxJobs)),
    spec("MaxJobsAccrue", 8, "MaxJobsAccrue", 13, Count(MaxJobsAccrue)),
    spec("MaxJobsAccruePerUser", 16, "MaxJobsAccruePU", 15, Count(MaxJobsAccrue)),
    spec("MaxJobsAccruePU", 15, "MaxJobsAccruePU", 15, Count(MaxJobsAccrue)),
    spec("MaxJobsAccruePerAccount", 17, "MaxJobsAccruePA", 15, Count(MaxJobsAccruePerAccount)),
    spec("MaxJobsAccruePA", 15, "MaxJobsAccruePA", 15, Count(MaxJobsAccruePerAccount)),
    spec("MaxJobsPerUser", 8, "MaxJobsPU", 9, Count(MaxJobs)),
    spec("MaxJobsPU", 9, "MaxJobsPU", 9, Count(MaxJobs)),
    spec("MaxJobsPerAccount", 11, "MaxJobsPA", 9, Count(MaxJobsPerAccount)),
    spec("MaxJobsPA", 9, "MaxJobsPA", 9, Count(MaxJobsPerAccount)),
    spec("MaxNodesPerJob", 4, "MaxNodes", 8, OneTres(MaxTresPerJob, "node")),
    spec("MaxNodesPerUser", 12, "MaxNodesPU", 10, OneTres(MaxTresPerUser, "node")),
    spec("MaxSubmitJobs", 4, "MaxSubmit", 9, Count(MaxSubmitJobs)),
    spec("MaxSubmitJobsPerUser", 14, "MaxSubmitPU", 11, Count(MaxSubmitJobs)),
    spec("MaxSubmitPU", 11, "MaxSubmitPU", 11, Count(MaxSubmitJobs)),
    spec("MaxSubmitJobsPerAccount", 17, "MaxSubmitPA", 11, Count(MaxSubmitJobsPerAccount)),
    spec("MaxSubmitPA", 11, "MaxSubmitPA", 11, Count(MaxSubmitJobsPerAccount)),
    spec("MaxTRESPerJob", 7, "MaxTRES", 13, Tres(MaxTresPerJob)),
    spec("MaxTRESPJ", 9, "MaxTRES", 13, Tres(MaxTresPerJob)),
    spec("MaxTRESPerNode", 11, "MaxTRESPerNode", 14, Tres(MaxTresPerNode)),
    spec("MaxTRESPN", 9, "MaxTRESPerNode", 14, Tres(MaxTresPerNode)),
    spec("MaxTRESMinsPerJob", 8, "MaxTRESMins", 13, Tres(MaxTresMinsPerJob)),
    spec("MaxTRESPerUser", 11, "MaxTRESPU", 13, Tres(MaxTresPerUser)),
    spec("MaxTRESPU", 9, "MaxTRESPU", 13, Tres(MaxTresPerUser)),
    spec("MaxTRESPerAccount", 11, "MaxTRESPA", 13, Tres(MaxTresPerAccount)),
    spec("MaxTRESPA", 9, "MaxTRESPA", 13, Tres(MaxTresPerAccount)),
    spec("MaxTRESRunMinsPerUser", 8, "MaxTRESRunMinsPU", 15, Tres(MaxTresRunMinsPerUser)),
    spec("MaxTRESRunMinsPU", 16, "MaxTRESRunMinsPU", 15, Tres(MaxTresRunMinsPerUser)),
    spec("MaxTRESRunMinsPerAccount", 18, "MaxTRESRunMinsPA", 15, Tres(MaxTresRunMinsPerAccount)),
    spec("MaxTRESRunMinsPA", 16, "MaxTRESRunMinsPA", 15, Tres(MaxTresRunMinsPerAccount)),
    spec("MaxWallDurationPerJob", 4, "MaxWall", 11, Wall(MaxWallPerJob)),
    spec("MinPrioThreshold", 4, "MinPrioThres", 12, Count(MinPriority)),
    spec("MinTRESPerJob", 4, "MinTRES", 13, Tres(MinTresPerJob)),
    spec("Name", 2, "Name", 10, Field::Name),
    spec("Organization", 1, "Org", 20, Field::Organization),
    spec("ParentID", 7, "Par ID", 6, Field::ParentId),
    spec("ParentName", 6, "ParentName", 10, Field::ParentName),
    spec("Partition", 4, "Partition", 10, Field::Partition),
    spec("Preempt", 4, "Preempt", 10, Field::Preempt),
    spec("PreemptExemptTime", 8, "PreemptExemptTime", 19, Field::PreemptExemptTime),
    spec("PreemptMode", 8, "PreemptMode", 11, Field::PreemptMode),
    spec("Priority", 3, "Priority", 10, Field::Priority),
    spec("Problem", 3, "Problem", 40, Field::Problem),
    spec("QOSLevel", 1, "QOS", 20, Field::Qos),
    spec("QOSRAWLevel", 4, "QOS_RAW", 10, Field::QosRaw),
    spec("RGT", 2, "RGT", 6, Field::Right),
    spec("RPC", 2, "RPC", 5, Field::Rpc),
    spec("Type", 1, "Type", 8, Field::Type),
    spec("UsageFactor", 6, "UsageFactor", 11, Field::UsageFactor),
    spec("UsageThreshold", 6, "UsageThres", 10, Field::UsageThreshold),
    spec("User", 1, "User", 10, Field::User),
    spec("WCKey", 1, "WCKey", 10, Field::WorkloadKey),
];

/// The column of a name or its beginning.
pub fn by_name(name: &str) -> Option<&'static Spec> {
    let exact = ALL.iter().find(|spec| spec.name.eq_ignore_ascii_case(name));
    exact.or_else(|| ALL.iter().find(|spec| words::is(name, spec.name, spec.least)))
}
