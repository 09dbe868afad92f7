//! Compares rows with the ledger: an approval is believed only with its ledger entry.
//!
//! Rows can be edited with any SQLite client. The ledger cannot be edited unnoticed, because the
//! writer keeps the root of its tree in memory and signs it.

use std::collections::HashMap;

use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_types::id::Id;
use countersign_workflow::request::{Decider, Requester, State};
use rusqlite::Connection;

use super::credential_rows::RecordedRows;
use super::grant_record::RecordedGrants;
use super::ledger::entries;
use super::newest_entry::{FoundEntry, newest_entry};
use super::proposed_edit;
use super::store::SqliteStore;
use super::{grants, query, request_row, requests};
use crate::error::{StoreError, StoreResult};
use crate::record::{
    RequestQuery, RowComparison, RowDifference, StoredRequest, StoredRequestPage, TreeHead,
};

/// The most differences that a comparison lists; the others are only counted.
const MAX_LISTED: usize = 100;
/// Entries read at once.
const PAGE: u32 = 4_096;

/// One request.
pub(super) async fn read_request(
    store: &SqliteStore,
    id: Id,
) -> StoreResult<Option<StoredRequest>> {
    let mut found = store.read_recorded(move |conn, head| request(conn, id, head)).await?;
    // A used permit stays used if its row was edited.
    if let Some(stored) = found.as_mut().filter(|stored| stored.redeemed.is_none()) {
        stored.redeemed = store.shared.revocations.redeemed(id);
    }
    Ok(found)
}

/// One request as its row says, if the ledger approved it too.
pub(super) fn request(
    conn: &Connection,
    id: Id,
    head: TreeHead,
) -> StoreResult<Option<StoredRequest>> {
    let stored = request_row::load(conn, id)?.map(|found| found.stored);
    stored.iter().try_for_each(|stored| check(conn, stored, head))?;
    Ok(stored)
}

/// The request with this idempotency key.
pub(super) fn by_key(
    conn: &Connection,
    requester: &Requester,
    key: &str,
    head: TreeHead,
) -> StoreResult<Option<StoredRequest>> {
    let stored = requests::by_key(conn, requester, key)?;
    stored.iter().try_for_each(|stored| check(conn, stored, head))?;
    Ok(stored)
}

/// A page of requests. An agent gets the permits of its approved requests, so its pages are
/// checked; people must see what is wrong.
pub(super) fn find(
    conn: &Connection,
    query: &RequestQuery,
    head: TreeHead,
) -> StoreResult<StoredRequestPage> {
    let page = query::find(conn, query)?;
    if query.agent.is_some() {
        page.requests.iter().try_for_each(|stored| check(conn, stored, head))?;
    }
    Ok(page)
}

/// Fails with [`StoreError::Unrecorded`] if the row says approved and the ledger does not. The
/// head must be at most as new as the snapshot that the connection reads.
pub(super) fn check(conn: &Connection, stored: &StoredRequest, head: TreeHead) -> StoreResult<()> {
    if stored.request.state != State::Approved {
        return Ok(());
    }
    approval(conn, stored, head).map(|_| ())
}

/// The entry that says that this call was approved, by this decider. Fails with
/// [`StoreError::Unrecorded`] if it has no such entry.
pub(super) fn approval(
    conn: &Connection,
    stored: &StoredRequest,
    head: TreeHead,
) -> StoreResult<FoundEntry> {
    let request = &stored.request;
    let unrecorded = StoreError::Unrecorded(request.id);
    let Some(decision) = &request.decision else { return Err(unrecorded) };
    let (kind, person) = match &decision.by {
        Decider::People(people) => (EntryKind::Approve, people.last()),
        Decider::Grant(_) => (EntryKind::UsedGrant, None),
        Decider::Policy => (EntryKind::Pass, None),
        Decider::Judge(_) => (EntryKind::JudgeRelease, None),
        Decider::Deadline | Decider::Requester => return Err(unrecorded),
    };
    let found = newest_entry(conn, request.id, head, |entry| {
        let by = person.is_none() || entry.person.as_deref() == person.map(String::as_str);
        let agent =
            entry.agent.is_none() || entry.agent.as_deref() == Some(request.requester.name());
        entry.kind == kind && entry.digest == Some(decision.digest.canonical) && by && agent
    })?;
    found.ok_or(unrecorded)
}

/// What the ledger says about one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RecordedState {
    state: State,
    /// The approved call.
    digest: Option<Digest>,
    /// The digest of its proposed edit.
    proposal: Option<Digest>,
    redeemed: bool,
}

/// Compares every request, grant, person, agent and credential with the entries about it.
pub(super) fn compare(conn: &Connection) -> StoreResult<RowComparison> {
    let LedgerStates { requests: mut recorded, grants: recorded_grants, rows } =
        recorded_states(conn)?;
    let is_approved = |id| recorded.get(&id).is_some_and(|entry| entry.state == State::Approved);
    let grants = recorded_grants.differences(grants::rows(conn)?, is_approved)?;
    let mut found = RowComparison::default();
    for credential in rows.differences(conn)? {
        add(&mut found, credential);
    }
    let proposals = proposals(conn)?;
    let sql = "SELECT id, state, decided_digest, redeemed IS NOT NULL FROM request ORDER BY id";
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = Id::from_bytes(row.get(0)?);
        let (state, digest): (String, Option<[u8; 32]>) = (row.get(1)?, row.get(2)?);
        let redeemed: bool = row.get(3)?;
        found.requests += 1;
        let entry = recorded.remove(&id);
        let same = entry.is_some_and(|entry| {
            let call = entry.state != State::Approved
                || entry.digest.map(|digest| *digest.as_bytes()) == digest;
            let edit = entry.proposal == proposals.get(&id).copied().flatten()
                && entry.proposal.is_some() == proposals.contains_key(&id);
            entry.state.label() == state && call && edit && entry.redeemed == redeemed
        });
        if !same {
            let row = describe(&state, redeemed);
            let entry = entry.map(|entry| describe(entry.state.label(), entry.redeemed));
            add(&mut found, RowDifference::of_request(id, Some(row), entry));
        }
    }
    // Requests whose rows are gone.
    let mut missing: Vec<_> = recorded.into_iter().collect();
    missing.sort_by_key(|(id, _)| *id.as_bytes());
    for (request, entry) in missing {
        let ledger = Some(describe(entry.state.label(), entry.redeemed));
        add(&mut found, RowDifference::of_request(request, None, ledger));
    }
    for grant in grants {
        add(&mut found, grant);
    }
    Ok(found)
}

/// The digests of all proposed edits.
fn proposals(conn: &Connection) -> StoreResult<HashMap<Id, Option<Digest>>> {
    let mut statement = conn.prepare("SELECT request FROM proposed_edit")?;
    let ids = statement.query_map([], |row| row.get(0))?;
    let mut found = HashMap::new();
    for id in ids {
        let id = Id::from_bytes(id?);
        let stored = match request_row::load(conn, id) {
            Err(StoreError::Corrupt(_)) => None,
            loaded => loaded?,
        };
        found.insert(id, stored.and_then(|found| proposed_edit::content(&found.stored)));
    }
    Ok(found)
}

fn add(found: &mut RowComparison, difference: RowDifference) {
    found.differences += 1;
    if found.listed.len() < MAX_LISTED {
        found.listed.push(difference);
    }
}

fn describe(state: &str, redeemed: bool) -> String {
    if redeemed { format!("{state}, permit used") } else { state.to_owned() }
}

/// What the entries alone say.
#[derive(Debug, Default)]
struct LedgerStates {
    requests: HashMap<Id, RecordedState>,
    grants: RecordedGrants,
    rows: RecordedRows,
}

/// The state of every request, grant and credential, from the entries alone.
fn recorded_states(conn: &Connection) -> StoreResult<LedgerStates> {
    let mut states = LedgerStates::default();
    let mut next = 0;
    loop {
        let page = entries(conn, next, PAGE)?.entries;
        if page.is_empty() {
            return Ok(states);
        }
        for bytes in &page {
            next += 1;
            let Ok(entry) = Entry::decode(bytes) else { continue };
            states.grants.follow(&entry);
            states.rows.follow(&entry);
            let Some(id) = entry.request.as_deref().and_then(Id::parse) else { continue };
            follow(&mut states.requests, id, &entry);
        }
    }
}

fn follow(states: &mut HashMap<Id, RecordedState>, id: Id, entry: &Entry<'_>) {
    let state = match entry.kind {
        EntryKind::Ask => State::Pending,
        EntryKind::Approve | EntryKind::UsedGrant | EntryKind::Pass | EntryKind::JudgeRelease => {
            State::Approved
        }
        EntryKind::Deny => State::Denied,
        EntryKind::Expire => State::Expired,
        EntryKind::Cancel => State::Cancelled,
        EntryKind::Redeem => {
            if let Some(known) = states.get_mut(&id) {
                known.redeemed = true;
            }
            return;
        }
        EntryKind::Edit => {
            if let Some(known) = states.get_mut(&id) {
                known.proposal = proposed_edit::content_of(entry);
            }
            return;
        }
        _ => return,
    };
    let proposal = states.get(&id).and_then(|known| known.proposal);
    states.insert(id, RecordedState { state, digest: entry.digest, proposal, redeemed: false });
}
