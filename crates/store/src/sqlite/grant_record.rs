//! What the ledger says about a grant. A row alone grants nothing: the content of a grant is in its
//! ledger entry, and so are its revocation and the uses of a grant with limited uses.

use std::collections::{HashMap, HashSet};

use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_ledger::merkle::{leaf_hash, verify_inclusion};
use countersign_types::id::Id;
use countersign_workflow::grant::{Grant, GrantShape};
use rusqlite::{Connection, params};

use super::errors::{signed, unsigned};
use super::grant_budget::{GrantUses, cost_of};
use super::grant_facts::{CONTENT, USES, content, grants_of, number, text};
use super::ledger::{entries, inclusion_proof_of};
use super::revocations::RecordedLedger;
use crate::error::StoreResult;
use crate::record::{RowDifference, TreeHead};

/// What the ledger says about one grant.
#[derive(Debug, Clone, Default)]
struct RecordedGrant {
    /// `None` if the entry that gave it does not have its content.
    content: Option<Digest>,
    uses: Option<u64>,
    used: GrantUses,
    revoked: bool,
}

impl RecordedGrant {
    /// Whether the row of this grant, which is not revoked, says the same.
    fn confirms(&self, grant: &Grant) -> StoreResult<bool> {
        let uses = match (self.uses, grant.uses_left) {
            (None, None) => true,
            (Some(uses), Some(left)) => u64::from(left) <= uses.saturating_sub(self.used.count),
            _ => false,
        };
        // The row may have more uses than the ledger, of this commit, and never fewer.
        let uses = uses && grant.details.used.includes(&self.used.budget);
        Ok(self.content == Some(content(grant)?) && uses && !self.revoked)
    }

    /// Adds what one entry says about the grant.
    fn follow(&mut self, entry: &Entry<'_>, id: Id) {
        match entry.kind {
            EntryKind::Grant => {
                self.content = text(entry, CONTENT).and_then(|text| Digest::parse(text).ok());
                self.uses = number(entry, USES);
            }
            EntryKind::Revoke => self.revoked = true,
            EntryKind::UsedGrant => self.used.add(&cost_of(entry, id)),
            _ => {}
        }
    }

    const fn state(&self) -> &'static str {
        match (self.revoked, self.content) {
            (true, _) => "revoked grant",
            (false, None) => "grant without its content",
            (false, Some(_)) => "grant",
        }
    }
}

/// Whether the ledger confirms the row of an active grant. An approval for a session is not one of
/// them: it rests on the entries of its request.
pub(super) fn is_recorded(
    conn: &Connection,
    grant: &Grant,
    ledger: &RecordedLedger<'_>,
) -> StoreResult<bool> {
    let head = ledger.head;
    let sql = "SELECT seq FROM story WHERE request = ?1 AND seq < ?2 ORDER BY seq";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![grant.id.as_bytes(), signed(head.size)?])?;
    let mut recorded = RecordedGrant::default();
    while let Some(row) = rows.next()? {
        let seq = unsigned(row.get(0)?)?;
        let Some(bytes) = entries(conn, seq, 1)?.entries.pop() else { continue };
        let Ok(entry) = Entry::decode(&bytes) else { continue };
        // The index is used only to find what gives a grant. It may lack what takes away.
        let gives = entry.kind == EntryKind::Grant && grants_of(&entry).contains(&grant.id);
        if gives && is_in_tree(conn, &bytes, seq, head)? {
            recorded.follow(&entry, grant.id);
        }
    }
    recorded.revoked = ledger.revocations.is_revoked(grant.id);
    recorded.used = ledger.uses.get(&grant.id).cloned().unwrap_or_default();
    recorded.confirms(grant)
}

fn is_in_tree(conn: &Connection, bytes: &[u8], seq: u64, head: TreeHead) -> StoreResult<bool> {
    let Some(proof) = inclusion_proof_of(conn, head.size, seq, head.size)? else {
        return Ok(false);
    };
    Ok(verify_inclusion(&leaf_hash(bytes), seq, head.size, &proof, &head.root).is_ok())
}

/// All grants that the ledger knows.
#[derive(Debug, Default)]
pub(super) struct RecordedGrants {
    grants: HashMap<Id, RecordedGrant>,
    /// Revoked approvals for a session or a repository, which no entry of their own gave.
    revoked_answers: HashSet<Id>,
}

impl RecordedGrants {
    /// Adds what one entry says.
    pub fn follow(&mut self, entry: &Entry<'_>) {
        for id in grants_of(entry) {
            match self.grants.get_mut(&id) {
                Some(known) => known.follow(entry, id),
                None if entry.kind == EntryKind::Grant => {
                    self.grants.entry(id).or_default().follow(entry, id);
                }
                None if entry.kind == EntryKind::Revoke => {
                    self.revoked_answers.insert(id);
                }
                None => {}
            }
        }
    }

    /// The rows that the ledger does not confirm, and the grants whose rows are gone.
    pub fn differences(
        mut self,
        rows: Vec<Grant>,
        is_approved: impl Fn(Id) -> bool,
    ) -> StoreResult<Vec<RowDifference>> {
        let mut found = Vec::new();
        for grant in rows {
            let recorded = self.grants.remove(&grant.id);
            let same = match (&grant.shape, &recorded) {
                (GrantShape::SameQuestion { .. } | GrantShape::SameProgram { .. }, None) => {
                    let is_revoked = self.revoked_answers.contains(&grant.id);
                    is_approved(grant.id) && grant.revoked.is_some() == is_revoked
                }
                (GrantShape::SameQuestion { .. } | GrantShape::SameProgram { .. }, Some(_))
                | (_, None) => false,
                (_, Some(recorded)) if grant.revoked.is_some() => recorded.revoked,
                (_, Some(recorded)) => recorded.confirms(&grant)?,
            };
            if !same {
                let state = if grant.revoked.is_some() { "revoked grant" } else { "grant" };
                let row = Some(state.to_owned());
                let ledger = recorded.map(|recorded| recorded.state().to_owned());
                found.push(RowDifference::of_request(grant.id, row, ledger));
            }
        }
        let mut missing: Vec<_> = self.grants.into_iter().collect();
        missing.sort_by_key(|(id, _)| *id.as_bytes());
        found.extend(missing.into_iter().map(|(request, recorded)| {
            let ledger = Some(recorded.state().to_owned());
            RowDifference::of_request(request, None, ledger)
        }));
        Ok(found)
    }
}
