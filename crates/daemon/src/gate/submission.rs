//! A call as it is submitted to the gate.

use countersign_risk::call::Call;
use countersign_risk::facts::snapshot_claim::SnapshotClaim;
use countersign_types::id::Id;
use countersign_types::time::Millis;

use super::call_projects::CallProjects;

/// A call submitted to the gate.
pub struct CallSubmission<'a> {
    /// The call, as the agent described it.
    pub call: Call<'a>,
    /// The rules of the projects that it belongs to.
    pub projects: CallProjects,
    /// Its arguments as received.
    pub raw: &'a [u8],
    /// How long the agent waits.
    pub time: Option<Millis>,
    /// Its idempotency key.
    pub key: Option<String>,
    /// The batch it belongs to.
    pub group: Option<Id>,
    /// Whether it needs a permit even without a question.
    pub permit: bool,
    /// How it may join an existing request for the same call.
    pub join: JoinOptions<'a>,
    /// The snapshot that the hook claims to have taken of the files that the call changes.
    pub snapshot: Option<SnapshotClaim>,
    /// Data that the calling API needs to build its response again, as JSON; redacted. Built only
    /// for stored requests, because most calls pass.
    pub detail: &'a (dyn Fn() -> String + Sync),
}

/// How a call may join an existing request.
#[expect(clippy::struct_excessive_bools, reason = "independent members of a question")]
#[derive(Debug, Clone, Copy, Default)]
pub struct JoinOptions<'a> {
    /// Whether it joins a request that was approved meanwhile; the permit is used only once.
    pub approved: bool,
    /// Whether the agent may come back late for the answer, without joining another request.
    pub returns: bool,
    /// The host's id of the call: a hook and a proxy that see the same call share one request.
    pub call_id: Option<&'a str>,
    /// Whether a person must decide again: earlier approvals and grants do not count.
    pub ignore_grants: bool,
    /// Whether a call with a key that passes leaves only its ledger entry, unless the key has a
    /// request already.
    pub entry_only: bool,
}
