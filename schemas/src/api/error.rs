use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a request was refused: nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApiError {
    /// What kind of refusal.
    pub code: ErrorCode,
    /// Slurm's sentence for it (`Invalid partition name specified`).
    pub message: String,
    /// Lines that Slurm's client prints before it, or the particulars; may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
}

/// What kind of refusal; decides the HTTP status and the client's exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The request is malformed, or a value is out of its range. 400
    InvalidRequest,
    /// 400
    InvalidPartition,
    /// 400
    InvalidAccount,
    /// 400
    InvalidQos,
    /// A workload key that is none, or not one of the user's. 400
    InvalidWckey,
    /// 400
    InvalidDependency,
    /// 400
    InvalidArray,
    /// 400
    InvalidTimeLimit,
    /// 400
    InvalidNodeName,
    /// The cluster has no such licence, or fewer than asked. 400
    InvalidLicense,
    /// 400
    InvalidNodeState,
    /// No such reservation, or one that cannot be. 400
    InvalidReservation,
    /// No node could ever give what is asked. 400
    UnavailableConfiguration,
    /// 400
    NodeCountInvalid,
    /// 413
    TooLarge,
    /// 404
    InvalidJobId,
    /// The job has ended. 409
    AlreadyDone,
    /// The state forbids it. 409
    WrongState,
    /// What is to be removed or changed is still needed (jobs, a default): the details say by whom. 409
    InUse,
    /// 403
    PermissionDenied,
    /// What was asked for is not there yet. 501
    NotSupported,
    /// A limit of an association or a QOS forbids it. 409
    AccountingPolicy,
    /// `MaxJobCount` is reached. 429
    TooManyJobs,
    /// The log cannot append (disk full, read-only, …): nothing is accepted. 503
    LogUnavailable,
    /// The projection that answers has not caught up in time, or has stopped. 503
    NotReady,
    /// 500
    Internal,
}

impl ErrorCode {
    /// The HTTP status of an answer with this code.
    pub fn http_status(self) -> u16 {
        use ErrorCode::*;
        match self {
            InvalidRequest
            | InvalidPartition
            | InvalidAccount
            | InvalidQos
            | InvalidWckey
            | InvalidDependency
            | InvalidArray
            | InvalidTimeLimit
            | InvalidNodeName
            | InvalidLicense
            | InvalidNodeState
            | InvalidReservation
            | UnavailableConfiguration
            | NodeCountInvalid => 400,
            PermissionDenied => 403,
            InvalidJobId => 404,
            AccountingPolicy | AlreadyDone | InUse | WrongState => 409,
            TooLarge => 413,
            TooManyJobs => 429,
            Internal => 500,
            NotSupported => 501,
            LogUnavailable | NotReady => 503,
        }
    }
}

impl ApiError {
    /// A refusal with Slurm's sentence.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> ApiError {
        ApiError { code, message: message.into(), details: Vec::new() }
    }

    /// The same with one more line of detail.
    #[must_use]
    pub fn detail(mut self, line: impl Into<String>) -> ApiError {
        self.details.push(line.into());
        self
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        self.details.iter().try_for_each(|line| write!(f, "; {line}"))
    }
}

impl std::error::Error for ApiError {}
