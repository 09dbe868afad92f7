//! One right that a ledger entry took away.

use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use countersign_workflow::grant::GrantCost;

use crate::newest_entries::NewestEntries;

use super::grant_budget::cost_of;
use super::grant_facts::{CONTENT, grants_of, labelled_server, text};
use super::row_record::{OwnerKey, RowRecord, owner_key};

/// One right that an entry took away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Revocation {
    /// A grant, or an approval for a session or a repository, was revoked.
    Revoked(Id),
    /// A grant with limited uses, rate or budget was used once more, at this time and cost.
    Used(Id, Timestamp, GrantCost),
    /// The permit of a request was redeemed.
    Redeemed(Id, Timestamp),
    /// The labels of an MCP server were replaced by those with this content.
    Relabelled(Id, Digest),
    /// The clock was rebased after so many entries: no earlier approval has a permit any more, and
    /// every earlier session has ended.
    Rebased(u64),
    /// The row of a person, agent or credential of this owner was replaced, or has ended.
    RowRecorded(RowRecord, OwnerKey),
}

impl Revocation {
    /// What an entry takes away.
    pub fn of(entry: &Entry<'_>) -> Vec<Revocation> {
        match entry.kind {
            EntryKind::Revoke => grants_of(entry).into_iter().map(Revocation::Revoked).collect(),
            EntryKind::UsedGrant => {
                let used = |id| Revocation::Used(id, Timestamp(entry.at), cost_of(entry, id));
                grants_of(entry).into_iter().map(used).collect()
            }
            EntryKind::Redeem => {
                let request = entry.request.as_deref().and_then(Id::parse);
                let redeemed = |id| Revocation::Redeemed(id, Timestamp(entry.at));
                request.map(redeemed).into_iter().collect()
            }
            EntryKind::Label => {
                let content = text(entry, CONTENT).and_then(|text| Digest::parse(text).ok());
                let replaced = labelled_server(entry).zip(content);
                replaced
                    .map(|(server, content)| Revocation::Relabelled(server, content))
                    .into_iter()
                    .collect()
            }
            EntryKind::ClockRebased => {
                // Without a number, nothing before any entry counts.
                let size = number(entry, REBASED_SIZE).unwrap_or(u64::MAX);
                vec![Revocation::Rebased(size)]
            }
            EntryKind::Person | EntryKind::Agent | EntryKind::RowsRecorded => {
                let rows = RowRecord::all_of(entry);
                rows.map(|(row, owner)| Revocation::RowRecorded(row, owner_key(owner))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether an encoded entry can take anything away or say what is in force; the other entries
    /// are not parsed. The member `kind` may follow facts with a member of the same name.
    pub fn may_be_in(text: &str) -> bool {
        let is_read = |rest: &str| {
            let mut kinds = KINDS.iter().chain(&NewestEntries::KINDS);
            kinds.any(|kind| rest.starts_with(kind.as_str()))
        };
        text.split("\"kind\":\"").skip(1).any(is_read)
    }
}

/// The kinds of entries that take something away.
const KINDS: [EntryKind; 8] = [
    EntryKind::Revoke,
    EntryKind::UsedGrant,
    EntryKind::Redeem,
    EntryKind::Label,
    EntryKind::ClockRebased,
    EntryKind::Person,
    EntryKind::Agent,
    EntryKind::RowsRecorded,
];

/// The fact of a rebase that says how many entries were before it.
pub(super) const REBASED_SIZE: &str = "entries";

fn number(entry: &Entry<'_>, name: &str) -> Option<u64> {
    let (_, value) = entry.facts.iter().find(|(known, _)| known == name)?;
    value.to_json().parse().ok()
}
