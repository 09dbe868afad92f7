//! What a person looks for among the requests.

use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::Timestamp;
use countersign_workflow::request::State;
use rusqlite::{Connection, ToSql};

use super::row::load;
use super::search::Search;
use crate::StoreResult;
use crate::record::{RequestPage, RequestQuery, SimilarCalls, StoredRequest};

/// So many requests are looked at for one page where no index helps.
const LOOKED_AT: usize = 20_000;
/// So many are read with their texts.
const SEARCHED: usize = 5_000;
/// So many bytes of texts are read.
const SEARCHED_BYTES: usize = 32 << 20;

/// A page of requests, newest first. One that reached a limit says so and where it goes on.
pub(super) fn find(conn: &Connection, query: &RequestQuery) -> StoreResult<RequestPage> {
    let most = match query.limit {
        0 => 50,
        limit => usize::try_from(limit.min(500)).unwrap_or(500),
    };
    let search = query.text.as_deref().and_then(Search::new);
    // Texts are long: read only where one is looked for.
    let mut sql = match &search {
        None => "SELECT r.id, r.state FROM request r WHERE 1",
        Some(_) => {
            "SELECT r.id, r.state, r.digest, r.requester, r.session, t.tool, t.brief, t.card, \
             t.edited_card FROM request r JOIN request_text t ON t.request = r.id WHERE 1"
        }
    }
    .to_owned();
    let mut values: Vec<&dyn ToSql> = Vec::new();
    // Only pending requests have an index by state; the other states are told apart row by row, so
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
        // Sessions that have a name are in an index.
        if !session.is_empty() {
            sql.push_str(" AND r.session <> ''");
        }
    }
    let group = query.group.as_ref().map(Id::as_bytes);
    if let Some(group) = &group {
        sql.push_str(" AND r.batch = ?");
        values.push(group);
    }
    let before = query.before.as_ref().map(Id::as_bytes);
    if let Some(before) = &before {
        sql.push_str(" AND r.id < ?");
        values.push(before);
    }
    sql.push_str(" ORDER BY r.id DESC");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(values.as_slice())?;
    let mut page = RequestPage::default();
    let limit = if search.is_some() { SEARCHED } else { LOOKED_AT };
    let (mut looked_at, mut bytes, mut last) = (0_usize, 0_usize, None);
    while let Some(row) = rows.next()? {
        if looked_at >= limit || bytes >= SEARCHED_BYTES {
            (page.next, page.truncated) = (last, true);
            break;
        }
        let id = Id::from_bytes(row.get(0)?);
        looked_at += 1;
        let state: String = row.get(1)?;
        let mut fits = query.state.is_none_or(|wanted| wanted.label() == state);
        if let Some(search) = search.as_ref().filter(|_| fits) {
            let read;
            (fits, read) = search.fits(id, row)?;
            bytes = bytes.saturating_add(read);
        }
        if fits && page.requests.len() >= most {
            page.next = page.requests.last().map(|last: &StoredRequest| last.request.id);
            break;
        }
        last = Some(id);
        if !fits {
            continue;
        }
        page.requests.extend(load(conn, id)?.map(|found| found.stored));
    }
    Ok(page)
}

/// How many earlier calls are named one by one.
const NAMED: usize = 5;

/// Bounded by the newest calls of the tool, whoever made them: one agent's many cannot make
/// another's card slow.
const SIMILAR: &str = "\
    SELECT r.id, r.state, r.decider, r.created FROM \
    (SELECT request FROM request_text WHERE tool = ?1 AND request < ?2 \
     ORDER BY request DESC LIMIT 2000) t \
    CROSS JOIN request r ON r.id = t.request \
    WHERE r.requester_kind = 'agent' AND r.requester = ?3 AND r.state <> 'pending' \
    AND r.tier = ?4 \
    ORDER BY t.request DESC";

/// What became of earlier calls of an agent with a tool.
pub(super) fn similar(
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
        if found.newest.len() < NAMED {
            found.newest.extend(load(conn, id)?.map(|found| found.stored));
        }
        if row.get::<_, i64>(3)? < since.0 {
            if found.newest.len() >= NAMED {
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
    fn what_people_look_for_often_is_found_by_an_index() {
        let mut conn = Connection::open_in_memory().unwrap();
        super::super::schema::migrate(&mut conn).unwrap();
        let plan = |sql: &str| {
            let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let mut steps = plan.raw_query();
            let mut told = String::new();
            while let Some(step) = steps.next().unwrap() {
                told += &step.get::<_, String>(3).unwrap();
                told.push('\n');
            }
            told
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
            let told = plan(&format!("{start}{rest} ORDER BY r.id DESC"));
            assert!(told.contains(index) && !told.contains("TEMP B-TREE"), "{told}");
        }
    }
}
