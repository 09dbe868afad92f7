//! Parts of a compound command that a person approved while denying the whole. Each is a grant with
//! an entry of its own, in the commit of the denial.

use countersign_json::canonical::Digest;
use countersign_types::id::Id;
use countersign_workflow::grant::{Grant, GrantShape, PartShape};
use countersign_workflow::request::{Event, TransitionError};
use rusqlite::Connection;

use super::batch::Batch;
use super::errors::corrupt;
use super::grants;
use super::session_answers;
use crate::error::StoreResult;
use crate::record::{StoredRequest, WriteContext};

/// What an event approves of a denied request.
#[derive(Debug, Default)]
pub(super) struct ApprovedParts {
    grants: Vec<Grant>,
    /// The keys of the parts.
    keys: Vec<Digest>,
}

impl ApprovedParts {
    /// The parts that an event approves. Each must be a part of the request as it was asked, for
    /// its agent and session.
    pub fn of(event: &Event, stored: &StoredRequest) -> StoreResult<ApprovedParts> {
        let Event::AnswerParts(given) = event else { return Ok(ApprovedParts::default()) };
        let is_ours = |grant: &Grant| {
            let GrantShape::Part(part) = &grant.shape else { return false };
            let at = usize::from(part.number).checked_sub(1);
            let asked = at.and_then(|at| stored.session_question.parts.get(at));
            let same = asked.is_some_and(|asked| {
                asked.key == part.key
                    && asked.tier == part.tier
                    && (part.keys.is_empty() || asked.answers == part.keys)
            });
            same && part.tier() <= given.tier
                && part.request == stored.request.id.to_string()
                && part.keys.is_empty() == (grant.uses_left == Some(1))
                && grant.agent.as_deref() == Some(stored.request.requester.name())
                && !stored.session.is_empty()
                && grant.session.as_deref() == Some(&stored.session)
                && grant.made_by == given.person
        };
        if stored.session_question.parts.is_empty() || !given.grants.iter().all(is_ours) {
            return Err(TransitionError::NoParts.into());
        }
        Ok(ApprovedParts { grants: given.grants.clone(), keys: given.keys() })
    }

    /// Ends the approvals that could cover what was denied of a request. What the person approved
    /// just now is not denied.
    pub fn end_denied(
        &self,
        batch: &mut Batch<'_>,
        stored: &StoredRequest,
        context: &WriteContext,
    ) -> StoreResult<()> {
        let keys = stored.session_question.covered_by.iter();
        let denied: Vec<Digest> = keys.filter(|key| !self.keys.contains(key)).copied().collect();
        if denied.is_empty() || stored.request.requester.is_drill() {
            return Ok(());
        }
        session_answers::end_denied(batch, stored, &denied, context)?;
        let ended = about(batch.conn, stored, &denied)?;
        session_answers::end(batch, stored, ended, context)
    }

    /// Stores the grants.
    pub fn create(&self, batch: &mut Batch<'_>, context: &WriteContext) -> StoreResult<()> {
        let context = WriteContext { facts: None, edited: None, ..context.clone() };
        self.grants.iter().try_for_each(|grant| grants::create(batch, grant, &context))
    }
}

/// The active approvals of parts in a request's session that have one of these keys.
fn about(conn: &Connection, stored: &StoredRequest, keys: &[Digest]) -> StoreResult<Vec<Id>> {
    let sql = "SELECT id, commands FROM given WHERE shape = 'part' AND agent = ?1 \
               AND session = ?2 AND revoked IS NULL";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([stored.request.requester.name(), &stored.session])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let part = serde_json::from_str::<PartShape>(&row.get::<_, String>(1)?);
        let part = part.map_err(|error| corrupt(format!("invalid part: {error}")))?;
        if part.is_denied_by(keys) {
            found.push(Id::from_bytes(row.get(0)?));
        }
    }
    Ok(found)
}
