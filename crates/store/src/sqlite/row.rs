//! Requests as rows, and back. What no version of us wrote is an error, never a guess.

use std::collections::HashSet;

use countersign_json::canonical::{CallDigest, Digest};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::{Span, Timestamp};
use countersign_workflow::request::{
    Choice, Decider, Decision, Plan, Quorum, Request, Requester, Rung, State, Vote,
};
use rusqlite::types::FromSql;
use rusqlite::{Connection, Row};

use super::fault::{corrupt, unsigned};
use crate::StoreResult;
use crate::record::StoredRequest;

/// The columns of a request in the order in which [`bare`] reads them.
macro_rules! columns {
    () => {
        concat!(
            "r.id, r.requester_kind, r.requester, r.digest, r.raw, r.both_bind, r.tier, ",
            "r.crisis, r.quorum_approve, r.quorum_deny, r.created, r.deadline, r.climb, ",
            "r.state, r.rung, r.votes, r.decider, r.people, r.given, r.channel, r.reason, ",
            "r.decided, r.decided_digest, r.decided_raw, r.decided_both_bind, r.drill"
        )
    };
}

/// All of a request in the order in which [`stored`] reads it.
macro_rules! select {
    ($which:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            ", r.session, r.batch, r.policy, r.permit_until, r.redeemed, r.edited, r.outcome, ",
            "r.permit_for, t.tool, t.brief, t.card, t.card_after, t.detail, t.edited_card ",
            "FROM request r JOIN request_text t ON t.request = r.id WHERE ",
            $which
        )
    };
}

/// Cells from left to right.
pub(super) struct Cells<'r, 's> {
    row: &'r Row<'s>,
    at: usize,
}

impl<'r, 's> Cells<'r, 's> {
    pub fn of(row: &'r Row<'s>) -> Cells<'r, 's> {
        Cells { row, at: 0 }
    }

    pub fn next<T: FromSql>(&mut self) -> StoreResult<T> {
        let cell = self.row.get(self.at)?;
        self.at += 1;
        Ok(cell)
    }

    pub fn skip(&mut self, cells: usize) {
        self.at += cells;
    }

    /// A word of ours, read where it lies.
    pub fn word(&mut self) -> StoreResult<&'r str> {
        let cell = self.row.get_ref(self.at)?.as_str().map_err(|e| corrupt(e.to_string()))?;
        self.at += 1;
        Ok(cell)
    }

    pub fn time(&mut self) -> StoreResult<Timestamp> {
        self.next().map(Timestamp)
    }

    pub fn maybe_time(&mut self) -> StoreResult<Option<Timestamp>> {
        Ok(self.next::<Option<i64>>()?.map(Timestamp))
    }

    pub fn digest(&mut self) -> StoreResult<Digest> {
        self.next().map(Digest::from_bytes)
    }

    pub fn call(&mut self) -> StoreResult<CallDigest> {
        Ok(CallDigest { canonical: self.digest()?, raw: self.digest()?, both_bind: self.next()? })
    }

    pub fn maybe_id(&mut self) -> StoreResult<Option<Id>> {
        Ok(self.next::<Option<[u8; 16]>>()?.map(Id::from_bytes))
    }

    pub fn state(&mut self) -> StoreResult<State> {
        let word = self.word()?;
        State::parse(word).ok_or_else(|| corrupt(format!("the state `{word}`")))
    }
}

/// One request, and what only the store needs of it.
pub(super) struct Loaded {
    pub stored: StoredRequest,
    /// How long its permit is good.
    pub permit_for: Span,
    /// The card that is kept instead from its end on.
    pub card_after: Option<String>,
}

/// One request.
pub(super) fn load(conn: &Connection, id: Id) -> StoreResult<Option<Loaded>> {
    let mut statement = conn.prepare_cached(select!("r.id = ?1"))?;
    let mut rows = statement.query([id.as_bytes()])?;
    rows.next()?.map(|row| stored(conn, row)).transpose()
}

/// Every request that waits, oldest first.
pub(super) fn pending(conn: &Connection) -> StoreResult<Vec<StoredRequest>> {
    let sql = select!("r.state = 'pending' ORDER BY r.id");
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(stored(conn, row)?.stored);
    }
    Ok(found)
}

/// When time next changes something for each request that waits. Reads no card.
pub(super) fn due(conn: &Connection) -> StoreResult<Vec<(Id, Timestamp)>> {
    let sql = concat!("SELECT ", columns!(), " FROM request r WHERE r.state = 'pending'");
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let request = bare(conn, &mut Cells::of(row))?;
        found.extend(request.next_due().map(|at| (request.id, at)));
    }
    Ok(found)
}

fn stored(conn: &Connection, row: &Row<'_>) -> StoreResult<Loaded> {
    let mut cells = Cells::of(row);
    let request = bare(conn, &mut cells)?;
    let session = cells.next()?;
    let group = cells.maybe_id()?;
    let policy = cells.digest()?;
    let permit_until = cells.maybe_time()?;
    let redeemed = cells.maybe_time()?;
    let edited = cells.next()?;
    let outcome = cells.next()?;
    let permit_for = Span(unsigned(cells.next()?)?);
    let (tool, brief) = (cells.next()?, cells.next()?);
    let (card, card_after) = (cells.next()?, cells.next()?);
    let (detail, edited_card) = (cells.next()?, cells.next()?);
    let stored = StoredRequest {
        request,
        tool,
        session,
        brief,
        card,
        detail,
        group,
        policy,
        permit_until,
        redeemed,
        edited,
        edited_card,
        outcome,
    };
    Ok(Loaded { stored, permit_for, card_after })
}

/// The state machine's part.
fn bare(conn: &Connection, cells: &mut Cells<'_, '_>) -> StoreResult<Request> {
    let id = Id::from_bytes(cells.next()?);
    let kind = cells.word()?;
    let name = cells.next()?;
    let digest = cells.call()?;
    let tier = tier(cells.word()?)?;
    let crisis = cells.next()?;
    let quorum = Quorum { approve: cells.next()?, deny: cells.next()? };
    let created = cells.time()?;
    let deadline = cells.time()?;
    let plan = Plan { created, deadline, climb: Span(unsigned(cells.next()?)?) };
    let state = cells.state()?;
    let rung = rung(cells.next()?)?;
    let counted = cells.next::<u32>()?;
    let decision = decision(state, cells)?;
    let requester = requester(kind, name, cells.next()?)?;
    if decision.as_ref().map_or(State::Pending, |decision| decision.state) != state {
        return Err(corrupt(format!("request {id} is {} without a decision", state.label())));
    }
    // Most have none, and need not be looked for.
    let votes = if counted == 0 { Vec::new() } else { votes(conn, id)? };
    if u32::try_from(votes.len()) != Ok(counted) {
        return Err(corrupt(format!("request {id} has {} of {counted} votes", votes.len())));
    }
    let request =
        Request { id, requester, digest, tier, crisis, quorum, plan, state, rung, votes, decision };
    if has_quorum(&request) {
        Ok(request)
    } else {
        Err(corrupt(format!("request {id} was approved by fewer people than it takes")))
    }
}

/// Whether enough different people approved what people approved.
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
    !by_people || people.len() >= usize::from(request.quorum.approve.max(1))
}

/// The decision that stands in a request's row, if there is one.
fn decision(state: State, cells: &mut Cells<'_, '_>) -> StoreResult<Option<Decision>> {
    let word: Option<String> = cells.next()?;
    let people: Option<String> = cells.next()?;
    let given = cells.maybe_id()?;
    let Some(word) = word else {
        cells.skip(6);
        return Ok(None);
    };
    let by = match (word.as_str(), people, given) {
        ("people", Some(people), _) => Decider::People(texts(&people)?),
        ("deadline", ..) => Decider::Deadline,
        ("requester", ..) => Decider::Requester,
        ("policy", ..) => Decider::Policy,
        ("grant", _, Some(id)) => Decider::Grant(id),
        _ => return Err(corrupt(format!("a decision by `{word}`"))),
    };
    let (channel, reason) = (cells.next()?, cells.next()?);
    let at = cells.time()?;
    Ok(Some(Decision { state, by, channel, reason, at, digest: cells.call()? }))
}

const VOTES: &str =
    "SELECT person, choice, channel, reason, at FROM vote WHERE request = ?1 ORDER BY place";

fn votes(conn: &Connection, id: Id) -> StoreResult<Vec<Vote>> {
    let mut statement = conn.prepare_cached(VOTES)?;
    let mut rows = statement.query([id.as_bytes()])?;
    let mut votes = Vec::new();
    while let Some(row) = rows.next()? {
        let mut cells = Cells::of(row);
        let person = cells.next()?;
        let choice = match cells.word()? {
            "approve" => Choice::Approve,
            "deny" => Choice::Deny,
            other => return Err(corrupt(format!("the vote `{other}`"))),
        };
        let (channel, reason) = (cells.next()?, cells.next()?);
        votes.push(Vote { person, choice, channel, reason, at: cells.time()? });
    }
    Ok(votes)
}

/// How who asks is kept. A drill is no agent's, so that no agent finds it.
pub(super) fn requester_kind(requester: &Requester) -> &'static str {
    match requester {
        Requester::Agent(_) => "agent",
        Requester::Person(_) | Requester::Drill { .. } => "person",
    }
}

/// Which drill it is, if it is one.
pub(super) fn drill(requester: &Requester) -> Option<&str> {
    match requester {
        Requester::Drill { kind, .. } => Some(kind),
        Requester::Agent(_) | Requester::Person(_) => None,
    }
}

fn requester(kind: &str, name: String, drill: Option<String>) -> StoreResult<Requester> {
    match (kind, drill) {
        ("agent", None) => Ok(Requester::Agent(name)),
        ("person", None) => Ok(Requester::Person(name)),
        ("person", Some(kind)) => Ok(Requester::Drill { kind, shown: name }),
        (other, _) => Err(corrupt(format!("the requester `{other}`"))),
    }
}

fn tier(word: &str) -> StoreResult<Tier> {
    let tier = Tier::ALL.into_iter().find(|tier| tier.label() == word);
    tier.ok_or_else(|| corrupt(format!("the tier `{word}`")))
}

/// A rung as it was kept.
pub(super) fn rung(climbs: u32) -> StoreResult<Rung> {
    Rung::after(climbs).ok_or_else(|| corrupt(format!("rung {climbs}")))
}

/// Texts that were kept as JSON.
pub(super) fn texts(json: &str) -> StoreResult<Vec<String>> {
    serde_json::from_str(json).map_err(|e| corrupt(format!("a list of texts: {e}")))
}

/// Texts to be kept as JSON.
pub(super) fn texts_json(texts: &[String]) -> StoreResult<String> {
    serde_json::to_string(texts).map_err(|e| crate::StoreError::Unfit(e.to_string()))
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    /// SQLite would do so silently, and most of a decision's time would go into it.
    #[test]
    fn reading_a_request_compiles_nothing_again() {
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
