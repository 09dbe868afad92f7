//! Ledger entries about calls that are not stored as requests, without any text of the call.

use countersign_json::canonical::CallDigest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_risk::call::Call;

use crate::config::DaemonRules;

/// The entry of a call.
pub fn call_entry(
    kind: EntryKind,
    rules: &DaemonRules,
    call: &Call<'_>,
    digest: &CallDigest,
) -> Entry<'static> {
    let mut entry = Entry::new(0, kind, rules.hash);
    entry.agent = call.agent.clone().map(|agent| agent.into_owned().into());
    entry.session = call.session.clone().map(|session| session.into_owned().into());
    entry.digest = Some(digest.canonical);
    entry
}
