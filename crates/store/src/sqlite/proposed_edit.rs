//! Proposed edits: their rows, and what the ledger says about them and about the votes for them.

use std::collections::HashSet;

use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_types::id::Id;
use countersign_workflow::assurance::Assurance;
use countersign_workflow::request::{Choice, EditedCall, ProposedEdit, Quorum};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::batch::Batch;
use super::columns::{Columns, tier};
use super::entry_story::{EntryVisit, visit_entries};
use super::errors::corrupt;
use crate::error::{StoreError, StoreResult};
use crate::record::{EditRecord, StoredRequest};

/// The fact of an edit that further people must approve: the digest of its row.
pub(super) const PROPOSAL: &str = "proposal";
/// The fact of a vote for an edit: who proposed it.
pub(super) const PROPOSED_BY: &str = "proposed_by";

/// The proposed edit of a request, if it has one.
pub(super) fn load(conn: &Connection, id: Id, quorum: Quorum) -> StoreResult<Option<ProposedEdit>> {
    let sql = "SELECT person, at, digest, raw, both_bind, tier, quorum_approve, assurance \
               FROM proposed_edit WHERE request = ?1";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([id.as_bytes()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut columns = Columns::of(row);
    let (person, at, digest) = (columns.next()?, columns.time()?, columns.call()?);
    let tier = tier(columns.word()?)?;
    let quorum = Quorum { approve: columns.next()?, ..quorum };
    let word: Option<String> = columns.next()?;
    let assurance = word.map(|word| {
        Assurance::parse(&word).ok_or_else(|| corrupt(format!("unknown assurance `{word}`")))
    });
    let assurance = assurance.transpose()?;
    // No edit is proposed in a crisis.
    let call = EditedCall { digest, tier, crisis: false, quorum, assurance };
    Ok(Some(ProposedEdit { person, at, call }))
}

/// The arguments and the card of a proposed edit.
pub(super) fn text(conn: &Connection, id: Id) -> StoreResult<EditRecord> {
    let sql = "SELECT arguments, card FROM proposed_edit WHERE request = ?1";
    let mut statement = conn.prepare_cached(sql)?;
    let found = statement.query_row([id.as_bytes()], |row| {
        Ok(EditRecord { arguments: row.get(0)?, card: row.get(1)? })
    });
    found.optional()?.ok_or_else(|| corrupt(format!("the edit of request {id} has no text")))
}

/// Writes the proposed edit of a request in place of an earlier one.
pub(super) fn save(batch: &Batch<'_>, stored: &StoredRequest) -> StoreResult<()> {
    let id = stored.request.id;
    let sql = "DELETE FROM proposed_edit WHERE request = ?1";
    batch.conn.prepare_cached(sql)?.execute([id.as_bytes()])?;
    let Some((proposal, text)) = stored.request.proposal.as_ref().zip(stored.proposed.as_ref())
    else {
        return Ok(());
    };
    let ProposedEdit { person, at, call } = proposal;
    let sql = "INSERT INTO proposed_edit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    batch.conn.prepare_cached(sql)?.execute(params![
        id.as_bytes(),
        person,
        at.0,
        call.digest.canonical.as_bytes(),
        call.digest.raw.as_bytes(),
        call.digest.both_bind,
        call.tier.label(),
        call.quorum.approve,
        call.assurance.map(Assurance::label),
        text.arguments,
        text.card,
    ])?;
    Ok(())
}

/// The digest of every column of a proposed edit, as its ledger entry has it.
pub(super) fn content(stored: &StoredRequest) -> Option<Digest> {
    let ProposedEdit { person, at, call } = stored.request.proposal.as_ref()?;
    let text = stored.proposed.as_ref()?;
    let row = serde_json::json!([
        "countersign/proposed-edit/1",
        stored.request.id.to_string(),
        person,
        at.0,
        call.digest.canonical.to_string(),
        call.digest.raw.to_string(),
        call.digest.both_bind,
        call.tier.label(),
        call.quorum.approve,
        call.assurance.map(Assurance::label),
        text.arguments,
        text.card,
    ]);
    Some(Digest::of(row.to_string().as_bytes()))
}

/// Fails with [`StoreError::Unrecorded`] if the rows of a request's edit or of the approvals so far
/// differ from the ledger: no further approval may complete them.
pub(super) fn check(batch: &Batch<'_>, stored: &StoredRequest) -> StoreResult<()> {
    let request = &stored.request;
    let mut approvals = request.votes.iter().filter(|vote| vote.choice == Choice::Approve);
    let is_first = request.proposal.is_none() && approvals.clone().next().is_none();
    if is_first || request.state.has_ended() {
        return Ok(());
    }
    let current = request.current_digest().canonical;
    let (mut people, mut recorded) = (HashSet::new(), None);
    visit_entries(batch, request.id, |entry| match entry.kind {
        EntryKind::Edit => {
            recorded = content_of(entry);
            EntryVisit::Stop
        }
        EntryKind::Vote if entry.digest == Some(current) && is_approval(entry) => {
            people.extend(entry.person.as_deref().map(str::to_owned));
            EntryVisit::Continue
        }
        _ => EntryVisit::Continue,
    })?;
    if recorded == content(stored) && approvals.all(|vote| people.contains(&vote.person)) {
        Ok(())
    } else {
        Err(StoreError::Unrecorded(request.id))
    }
}

fn is_approval(entry: &Entry<'_>) -> bool {
    entry.facts.iter().any(|(name, value)| name == "choice" && value.as_str() == Some("approve"))
}

/// The digest of the proposed edit that an entry recorded; none if one person decided it.
pub(super) fn content_of(entry: &Entry<'_>) -> Option<Digest> {
    let (_, value) = entry.facts.iter().find(|(name, _)| name == PROPOSAL)?;
    value.as_str().and_then(|text| Digest::parse(text).ok())
}
