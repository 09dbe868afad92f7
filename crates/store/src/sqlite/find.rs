//! What a person looks for among the requests.

use std::fmt::Write as _;

use countersign_core::id::Id;
use countersign_core::request::State;
use rusqlite::{Connection, ToSql};

use super::row::load;
use crate::Kept;
use crate::record::{Page, Query, Stored};

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
