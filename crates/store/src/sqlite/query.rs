//! Searches among the requests.

use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::request::State;
use rusqlite::{Connection, ToSql, params};

use super::request_row::load;
use super::text_search::TextSearch;
use crate::error::StoreResult;
use crate::record::{RequestQuery, SimilarCalls, StoredRequest, StoredRequestPage};

/// The maximum number of requests read for one page where no index helps.
const MAX_SCANNED: usize = 20_000;
/// The maximum number of requests read with their texts.
const MAX_SEARCHED: usize = 5_000;
/// How long after its creation a request may have a valid permit, in milliseconds: it waits at most
/// seven days, and its permit is valid for at most eight.
const MAX_APPROVAL_AGE: i64 = 16 * 24 * 3_600 * 1_000;
/// The maximum number of unused approvals.
const MAX_APPROVALS: u32 = 10_000;
/// The maximum number of bytes of text read.
const MAX_SEARCHED_BYTES: usize = 32 << 20;

/// A page of requests, newest first. A page that reached a limit is marked and can be continued.
pub(super) fn find(conn: &Connection, query: &RequestQuery) -> StoreResult<StoredRequestPage> {
    let max = match query.limit {
        0 => 50,
        limit => usize::try_from(limit.min(500)).unwrap_or(500),
    };
    let search = query.text.as_deref().and_then(TextSearch::new);
    let group = query.group.as_ref().map(Id::as_bytes);
    let before = query.before.as_ref().map(Id::as_bytes);
    let (sql, values) = statement(query, group.as_ref(), before.as_ref(), search.is_some());
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(values.as_slice())?;
    let mut page = StoredRequestPage::default();
    let limit = if search.is_some() { MAX_SEARCHED } else { MAX_SCANNED };
    let (mut scanned, mut bytes, mut last) = (0_usize, 0_usize, None);
    while let Some(row) = rows.next()? {
        if scanned >= limit || bytes >= MAX_SEARCHED_BYTES {
            (page.next, page.truncated) = (last, true);
            break;
        }
        let id = Id::from_bytes(row.get(0)?);
        scanned += 1;
        let state: String = row.get(1)?;
        let mut matches = query.state.is_none_or(|wanted| wanted.label() == state);
        if let Some(search) = search.as_ref().filter(|_| matches) {
            let read;
            (matches, read) = search.matches(id, row)?;
            bytes = bytes.saturating_add(read);
        }
        if matches && page.requests.len() >= max {
            page.next = page.requests.last().map(|last: &StoredRequest| last.request.id);
            break;
        }
        last = Some(id);
        if matches {
            page.requests.extend(load(conn, id)?.map(|found| found.stored));
        }
    }
    Ok(page)
}

/// The newest requests whose rows say that people approved them, and that their permit is unused
/// and valid at this time; oldest first.
pub(super) fn unused_approvals(conn: &Connection, now: Timestamp) -> StoreResult<Vec<Id>> {
    let sql = "SELECT id FROM request WHERE id >= ?1 AND state = 'approved' AND decider = 'people' \
               AND redeemed IS NULL AND permit_until > ?2 ORDER BY id DESC LIMIT ?3";
    let oldest = now.0.saturating_sub(MAX_APPROVAL_AGE).max(0);
    let oldest = Id::new(Timestamp(oldest), [0; 10]);
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![oldest.as_bytes(), now.0, MAX_APPROVALS])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(Id::from_bytes(row.get(0)?));
    }
    found.reverse();
    Ok(found)
}

/// The SQL of a query and its parameters. The texts are long: read only for a text search.
fn statement<'q>(
    query: &'q RequestQuery,
    group: Option<&'q &[u8; 16]>,
    before: Option<&'q &[u8; 16]>,
    with_texts: bool,
) -> (String, Vec<&'q dyn ToSql>) {
    let mut sql = if with_texts {
        "SELECT r.id, r.state, r.digest, r.requester, r.session, t.tool, t.brief, t.card, \
         t.edited_card FROM request r JOIN request_text t ON t.request = r.id WHERE 1"
    } else {
        "SELECT r.id, r.state FROM request r WHERE 1"
    }
    .to_owned();
    let mut values: Vec<&dyn ToSql> = Vec::new();
    // Only pending requests have an index by state; the other states are filtered row by row, so
    // that the limit counts them.
    if query.state == Some(State::Pending) {
        sql.push_str(" AND r.state = 'pending'");
    }
    if let Some(agent) = &query.agent {
        sql.push_str(" AND r.requester_kind = 'agent' AND r.requester = ?");
        values.push(agent);
    }
    if let Some(session) = &query.session {
        sql.push_str(" AND r.session = ?");
        values.push(session);
        // The index contains only sessions that have a name.
        if !session.is_empty() {
            sql.push_str(" AND r.session <> ''");
        }
    }
    if let Some(group) = group {
        sql.push_str(" AND r.batch = ?");
        values.push(group);
    }
    if let Some(before) = before {
        sql.push_str(" AND r.id < ?");
        values.push(before);
    }
    sql.push_str(" ORDER BY r.id DESC");
    (sql, values)
}

/// The number of earlier calls that are returned in full.
const MAX_SIMILAR: usize = 5;

/// Bounded by the newest calls of the tool by all agents, so that many calls of one agent cannot
/// slow down another's card.
const SIMILAR: &str = "\
    SELECT r.id, r.state, r.decider, r.created FROM \
    (SELECT request FROM request_text WHERE tool = ?1 AND request < ?2 \
     ORDER BY request DESC LIMIT 2000) t \
    CROSS JOIN request r ON r.id = t.request \
    WHERE r.requester_kind = 'agent' AND r.requester = ?3 AND r.state <> 'pending' \
    AND r.tier = ?4 \
    ORDER BY t.request DESC";

/// Earlier calls of a tool by an agent, with their decisions.
pub(super) fn similar_calls(
    conn: &Connection,
    agent: &str,
    (tool, tier): &(String, Tier),
    before: Id,
    since: Timestamp,
) -> StoreResult<SimilarCalls> {
    let mut statement = conn.prepare_cached(SIMILAR)?;
    let mut rows = statement.query((tool, before.as_bytes(), agent, tier.label()))?;
    let mut found = SimilarCalls::default();
    while let Some(row) = rows.next()? {
        let id = Id::from_bytes(row.get(0)?);
        if found.newest.len() < MAX_SIMILAR {
            found.newest.extend(load(conn, id)?.map(|found| found.stored));
        }
        if row.get::<_, i64>(3)? < since.0 {
            if found.newest.len() >= MAX_SIMILAR {
                break;
            }
            continue;
        }
        let (state, decider): (String, String) = (row.get(1)?, row.get(2)?);
        match (state.as_str(), decider.as_str()) {
            ("approved", "people") => found.approved = found.approved.saturating_add(1),
            ("denied", "people") => found.denied = found.denied.saturating_add(1),
            ("expired", _) => found.expired = found.expired.saturating_add(1),
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_queries_use_an_index() {
        let mut conn = Connection::open_in_memory().unwrap();
        super::super::schema::migrate(&mut conn).unwrap();
        let plan = |sql: &str| {
            let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let mut steps = plan.raw_query();
            let mut steps_text = String::new();
            while let Some(step) = steps.next().unwrap() {
                steps_text += &step.get::<_, String>(3).unwrap();
                steps_text.push('\n');
            }
            steps_text
        };
        let similar = plan(SIMILAR);
        assert!(similar.contains("request_tool (tool=? AND request<?)"), "{similar}");
        assert!(!similar.contains("SCAN request_text"), "{similar}");
        let start = "SELECT r.id FROM request r WHERE 1";
        for (rest, index) in [
            (" AND r.session = ? AND r.session <> ''", "request_session (session=?)"),
            (" AND r.state = 'pending'", "request_pending"),
            (" AND r.requester_kind = 'agent' AND r.requester = ?", "request_agent (requester=?)"),
        ] {
            let steps_text = plan(&format!("{start}{rest} ORDER BY r.id DESC"));
            assert!(
                steps_text.contains(index) && !steps_text.contains("TEMP B-TREE"),
                "{steps_text}"
            );
        }
    }
}
