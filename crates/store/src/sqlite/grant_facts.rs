//! The facts of ledger entries about grants and labels: what one covers, what an entry is about.

use countersign_json::Value;
use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_types::id::Id;
use countersign_workflow::grant::{BudgetUsed, Grant, GrantDetails};

use super::errors::corrupt;
use crate::error::StoreResult;

/// The fact of a `grant` entry that has the digest of everything that the grant covers.
pub(super) const CONTENT: &str = "content";
/// The fact of a `grant` entry that says how many calls the grant may cover, if limited.
pub(super) const USES: &str = "uses";
/// The fact of a `used-grant` entry that lists the grants of which it took one use.
pub(super) const COUNTED_GRANTS: &str = "counted_grants";

/// The digest of everything that a grant covers: all but its revocation and its uses.
pub(super) fn content(grant: &Grant) -> StoreResult<Digest> {
    let used = BudgetUsed::default();
    let details = GrantDetails { last_used: None, used, ..grant.details.clone() };
    let made = Grant { uses_left: None, revoked: None, details, ..grant.clone() };
    let text = serde_json::to_vec(&made).map_err(|error| corrupt(error.to_string()))?;
    Ok(Digest::of(&text))
}

/// The grants that an entry is about: given, revoked, or used once more.
pub(super) fn grants_of(entry: &Entry<'_>) -> Vec<Id> {
    let names = match entry.kind {
        EntryKind::Grant | EntryKind::Revoke => text(entry, "grant"),
        EntryKind::UsedGrant => text(entry, COUNTED_GRANTS),
        _ => None,
    };
    names.unwrap_or_default().split(' ').filter_map(Id::parse).collect()
}

/// The MCP server whose labels an entry replaces.
pub(super) fn labelled_server(entry: &Entry<'_>) -> Option<Id> {
    (entry.kind == EntryKind::Label).then(|| text(entry, "server")).flatten().and_then(Id::parse)
}

/// A text among the facts.
pub(super) fn text<'e>(entry: &'e Entry<'_>, name: &str) -> Option<&'e str> {
    entry.facts.iter().find(|(key, _)| key == name).and_then(|(_, value)| match value {
        Value::String(text) => Some(&**text),
        _ => None,
    })
}

/// A number among the facts.
pub(super) fn number(entry: &Entry<'_>, name: &str) -> Option<u64> {
    entry.facts.iter().find(|(key, _)| key == name).and_then(|(_, value)| match value {
        Value::Number(text) => text.parse().ok(),
        _ => None,
    })
}
