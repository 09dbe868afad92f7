//! What an agent reports and receives: outcomes of calls, redeemed permits, batches.

use serde::{Deserialize, Serialize};

use crate::error::ProblemDetails;
use crate::request::RequestRecord;

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportStatus {
    /// It ran.
    Ok,
    /// It failed.
    Error,
    /// It did not run.
    Skipped,
}

/// The result of a call, for `AgentClient::report_outcome`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Whether it failed.
    pub failed: bool,
    /// The exit code of a program.
    pub exit_code: Option<i64>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// SHA-256 of the result, in hexadecimal.
    pub result_digest: Option<String>,
    /// The start of the result, or why it failed.
    pub summary: Option<String>,
}

/// A permit that was redeemed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RedeemedPermit {
    /// Always true; any other response is an error.
    pub redeemed: bool,
    /// The request that it was issued for.
    pub request: String,
}

/// Calls that were submitted together.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Batch {
    /// Its id; `None` if no call is pending.
    pub group: Option<String>,
    /// Whether all calls may run in parallel.
    pub parallel: Option<bool>,
    /// Which calls may run in parallel, stage by stage.
    pub stages: Option<Vec<Vec<usize>>>,
    /// The calls in order.
    pub requests: Vec<BatchItem>,
}

/// One call of a batch.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum BatchItem {
    /// It was rejected.
    Problem {
        /// Why.
        problem: ProblemDetails,
    },
    /// The request.
    Request(Box<RequestRecord>),
    /// It was decided immediately; a later wait does not repeat it.
    Answered,
}
