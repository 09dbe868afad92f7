//! What a person looks for among the requests.

use std::fmt::Write as _;

use countersign_core::id::Id;
use countersign_core::request::State;
use countersign_core::tier::Tier;
use countersign_core::time::Timestamp;
use rusqlite::{Connection, ToSql};

use super::row::load;
use crate::Kept;
use crate::record::{Page, Query, Similar, Stored};

/// A page of requests, newest first.
pub(super) fn find(conn: &Connection, query: &Query) -> Kept<Page> {
    let most = match query.limit {
        0 => 50,
        limit => usize::try_from(limit.min(500)).unwrap_or(500),
    };
    let wanted = query.text.as_ref().map(|text| text.to_lowercase());
    // Texts are long: read only where one is looked for.
    let mut sql = match &wanted {
        None => "SELECT r.id FROM request r WHERE 1",
        Some(_) => {
            "SELECT r.id, t.tool, t.brief FROM request r JOIN request_text t \
             ON t.request = r.id WHERE 1"
        }
    }
    .to_owned();
    let mut values: Vec<&dyn ToSql> = Vec::new();
    // A word of ours, spelled out: the index of what waits is for that word alone.
    if let Some(state) = query.state.map(State::label) {
        let _ = write!(sql, " AND r.state = '{state}'");
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
    let mut page = Page::default();
    while let Some(row) = rows.next()? {
        let id = Id::from_bytes(row.get(0)?);
        if let Some(wanted) = &wanted {
            let (tool, brief): (String, String) = (row.get(1)?, row.get(2)?);
            let texts = [tool.to_lowercase(), brief.to_lowercase(), id.to_string()];
            if !texts.iter().any(|text| text.contains(wanted)) {
                continue;
            }
        }
        if page.requests.len() >= most {
            page.next = page.requests.last().map(|last: &Stored| last.request.id);
            break;
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
) -> Kept<Similar> {
    let mut statement = conn.prepare_cached(SIMILAR)?;
    let mut rows = statement.query((tool, before.as_bytes(), agent, tier.label()))?;
    let mut found = Similar::default();
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
        ] {
            let told = plan(&format!("{start}{rest} ORDER BY r.id DESC"));
            assert!(told.contains(index) && !told.contains("TEMP B-TREE"), "{told}");
        }
    }
}
