//! Reads requests from their rows.

use std::collections::HashSet;

use countersign_types::id::Id;
use countersign_types::time::{Millis, Timestamp};
use countersign_workflow::request::{
    ApprovalScope, Choice, Decider, Decision, JUDGE, Quorum, Request, Requester, Schedule, State,
    Vote,
};
use rusqlite::{Connection, Row};

use super::columns::{Columns, level, texts, tier};
use super::errors::{corrupt, unsigned};
use super::proposed_edit;
use super::session_question::question;
use crate::error::StoreResult;
use crate::record::StoredRequest;

/// The columns of a request in the order in which [`read_request`] reads them.
macro_rules! columns {
    () => {
        concat!(
            "r.id, r.requester_kind, r.requester, r.digest, r.raw, r.both_bind, r.tier, ",
            "r.crisis, r.quorum_approve, r.quorum_deny, r.created, r.deadline, r.escalation_interval, ",
            "r.state, r.level, r.votes, r.decider, r.people, r.given, r.channel, r.reason, ",
            "r.decided, r.decided_digest, r.decided_raw, r.decided_both_bind, r.drill, ",
            "r.own_approval"
        )
    };
}

/// All columns of a request in the order in which [`read_stored`] reads them.
macro_rules! select {
    ($which:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            ", r.session, r.batch, r.policy, r.permit_until, r.redeemed, r.edited, r.outcome, ",
            "r.permit_for, t.tool, t.brief, t.card, t.card_after, t.detail, t.edited_card, ",
            "t.session_question ",
            "FROM request r JOIN request_text t ON t.request = r.id WHERE ",
            $which
        )
    };
}

/// A request, with the columns that only the store needs.
pub(super) struct LoadedRequest {
    pub stored: StoredRequest,
    /// How long its permit is valid.
    pub permit_for: Millis,
    /// The card that replaces its card when it ends.
    pub card_after: Option<String>,
}

/// One request.
pub(super) fn load(conn: &Connection, id: Id) -> StoreResult<Option<LoadedRequest>> {
    let mut statement = conn.prepare_cached(select!("r.id = ?1"))?;
    let mut rows = statement.query([id.as_bytes()])?;
    rows.next()?.map(|row| read_stored(conn, row)).transpose()
}

/// Every pending request, oldest first.
pub(super) fn pending(conn: &Connection) -> StoreResult<Vec<StoredRequest>> {
    let sql = select!("r.state = 'pending' ORDER BY r.id");
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read_stored(conn, row)?.stored);
    }
    Ok(found)
}

/// The next escalation or deadline of each pending request. Reads no card.
pub(super) fn deadlines(conn: &Connection) -> StoreResult<Vec<(Id, Timestamp)>> {
    let sql = concat!("SELECT ", columns!(), " FROM request r WHERE r.state = 'pending'");
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let request = read_request(conn, &mut Columns::of(row))?;
        found.extend(request.next_due().map(|at| (request.id, at)));
    }
    Ok(found)
}

fn read_stored(conn: &Connection, row: &Row<'_>) -> StoreResult<LoadedRequest> {
    let mut columns = Columns::of(row);
    let request = read_request(conn, &mut columns)?;
    let session = columns.next()?;
    let group = columns.maybe_id()?;
    let policy = columns.digest()?;
    let permit_until = columns.maybe_time()?;
    let redeemed = columns.maybe_time()?;
    let edited = columns.next()?;
    let outcome = columns.next()?;
    let permit_for = Millis(unsigned(columns.next()?)?);
    let (tool, brief) = (columns.next()?, columns.next()?);
    let (card, card_after) = (columns.next()?, columns.next()?);
    let (detail, edited_card) = (columns.next()?, columns.next()?);
    let session_question = question(columns.next::<Option<String>>()?.as_deref())?;
    let proposed = request.proposal.is_some();
    let proposed = proposed.then(|| proposed_edit::text(conn, request.id)).transpose()?;
    let stored = StoredRequest {
        request,
        tool,
        session,
        brief,
        card,
        detail,
        group,
        session_question,
        policy,
        permit_until,
        redeemed,
        edited,
        edited_card,
        proposed,
        outcome,
    };
    Ok(LoadedRequest { stored, permit_for, card_after })
}

/// The state machine's part.
fn read_request(conn: &Connection, columns: &mut Columns<'_, '_>) -> StoreResult<Request> {
    let id = Id::from_bytes(columns.next()?);
    let kind = columns.word()?;
    let name = columns.next()?;
    let digest = columns.call()?;
    let tier = tier(columns.word()?)?;
    let crisis = columns.next()?;
    let quorum = Quorum { approve: columns.next()?, deny: columns.next()? };
    let created = columns.time()?;
    let deadline = columns.time()?;
    let schedule = Schedule { created, deadline, interval: Millis(unsigned(columns.next()?)?) };
    let state = columns.state()?;
    let level = level(columns.next()?)?;
    let counted = columns.next::<u32>()?;
    let decision = decision(state, columns)?;
    let requester = requester(kind, name, columns.next()?)?;
    let own_approval = columns.next()?;
    if decision.as_ref().map_or(State::Pending, |decision| decision.state) != state {
        return Err(corrupt(format!("request {id} is {} but its decision differs", state.label())));
    }
    // Most requests have no votes, which saves a query.
    let votes = if counted == 0 { Vec::new() } else { votes(conn, id)? };
    if u32::try_from(votes.len()) != Ok(counted) {
        return Err(corrupt(format!("request {id} has {} of {counted} votes", votes.len())));
    }
    // The person who proposed an edit has voted for it.
    let proposal = if counted == 0 { None } else { proposed_edit::load(conn, id, quorum)? };
    let request = Request {
        id,
        requester,
        digest,
        tier,
        crisis,
        quorum,
        own_approval,
        schedule,
        state,
        level,
        votes,
        proposal,
        decision,
    };
    if has_quorum(&request) {
        Ok(request)
    } else {
        Err(corrupt(format!("request {id} was approved by fewer people than its quorum")))
    }
}

/// Whether enough different people approved, if people decided.
fn has_quorum(request: &Request) -> bool {
    let by_people = matches!(
        &request.decision,
        Some(Decision { state: State::Approved, by: Decider::People(_), .. })
    );
    let people: HashSet<&str> = request
        .votes
        .iter()
        .filter(|vote| vote.choice == Choice::Approve)
        .map(|vote| vote.person.as_str())
        .collect();
    !by_people || people.len() >= usize::from(request.approvals_needed())
}

/// The decision in a request's row, if there is one.
fn decision(state: State, columns: &mut Columns<'_, '_>) -> StoreResult<Option<Decision>> {
    let word: Option<String> = columns.next()?;
    let people: Option<String> = columns.next()?;
    let grant_id = columns.maybe_id()?;
    let Some(word) = word else {
        columns.skip(6);
        return Ok(None);
    };
    let by = match (word.as_str(), people, grant_id) {
        ("people", Some(people), _) => Decider::People(texts(&people)?),
        ("deadline", ..) => Decider::Deadline,
        ("requester", ..) => Decider::Requester,
        ("policy", ..) => Decider::Policy,
        ("grant", _, Some(id)) => Decider::Grant(id),
        _ => return Err(corrupt(format!("unknown decider `{word}`"))),
    };
    let (channel, reason): (String, String) = (columns.next()?, columns.next()?);
    let (by, reason) = match by {
        Decider::Policy if channel == JUDGE => (Decider::Judge(reason), String::new()),
        by => (by, reason),
    };
    let at = columns.time()?;
    Ok(Some(Decision { state, by, channel, reason, at, digest: columns.call()? }))
}

const VOTES: &str =
    "SELECT person, choice, scope, channel, reason, at FROM vote WHERE request = ?1 ORDER BY place";

fn votes(conn: &Connection, id: Id) -> StoreResult<Vec<Vote>> {
    let mut statement = conn.prepare_cached(VOTES)?;
    let mut rows = statement.query([id.as_bytes()])?;
    let mut votes = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let person = columns.next()?;
        let choice = match columns.word()? {
            "approve" => Choice::Approve,
            "deny" => Choice::Deny,
            other => return Err(corrupt(format!("unknown vote `{other}`"))),
        };
        let word = columns.word()?;
        let scope = ApprovalScope::parse(word);
        let scope = scope.ok_or_else(|| corrupt(format!("unknown scope `{word}`")))?;
        let (channel, reason) = (columns.next()?, columns.next()?);
        votes.push(Vote { person, choice, scope, channel, reason, at: columns.time()? });
    }
    Ok(votes)
}

fn requester(kind: &str, name: String, drill: Option<String>) -> StoreResult<Requester> {
    match (kind, drill) {
        ("agent", None) => Ok(Requester::Agent(name)),
        ("person", None) => Ok(Requester::Person(name)),
        ("person", Some(kind)) => Ok(Requester::Drill { kind, shown: name }),
        (other, _) => Err(corrupt(format!("unknown requester kind `{other}`"))),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    /// SQLite would compile again without an error, and most of a decision's time would go into it.
    #[test]
    fn reading_a_request_reuses_its_statements() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store/x.db");
        let options = crate::SqliteOptions::default();
        let (writer, _lock) = super::super::open::writer(&path, &options).unwrap();
        let reader = super::super::open::reader(&path, &options).unwrap();
        for conn in [writer, reader] {
            let id = Id::from_bytes([7; 16]);
            for _ in 0..3 {
                assert!(load(&conn, id).unwrap().is_none());
                assert!(votes(&conn, id).unwrap().is_empty());
            }
            for sql in [select!("r.id = ?1"), VOTES] {
                let statement = conn.prepare_cached(sql).unwrap();
                assert_eq!(statement.get_status(StatementStatus::Run), 3, "{sql}");
                assert_eq!(statement.get_status(StatementStatus::RePrepare), 0, "{sql}");
            }
        }
    }
}
