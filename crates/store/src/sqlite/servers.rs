//! MCP servers and the labels of their tools. A row of labels alone says nothing: it is believed
//! only if the newest ledger entry about its server has the same content.

use std::borrow::Cow;

use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_ledger::merkle::{leaf_hash, verify_inclusion};
use countersign_types::id::Id;
use countersign_types::time::Timestamp;
use rusqlite::{Connection, Row, params};

use super::batch::Batch;
use super::columns::Columns;
use super::entry::{entry, number_fact, text_fact};
use super::errors::{corrupt, signed, unsigned};
use super::grant_facts::{CONTENT, labelled_server, text};
use super::ledger::{entries, inclusion_proof_of};
use super::revocations::Revocations;
use crate::error::StoreResult;
use crate::event::StoreEvent;
use crate::record::{TreeHead, WriteContext};
use crate::servers::{ServerLabels, StoredServer};

/// How many servers without labels are remembered; the one that was not listed for the longest time
/// is forgotten first. Agents choose the names, so their number must be bounded.
const MAX_UNLABELLED: u32 = 200;

/// Stores what a server listed. The times of the first listing and the first call stay.
pub(super) fn save_server(batch: &mut Batch<'_>, server: &StoredServer) -> StoreResult<()> {
    let sql = "INSERT INTO mcp_server VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) \
               DO UPDATE SET tools = excluded.tools, tool_count = excluded.tool_count, \
               last_seen = excluded.last_seen, called = coalesce(called, excluded.called)";
    let tools = serde_json::to_string(&server.tools).map_err(|error| corrupt(error.to_string()))?;
    batch.conn.prepare_cached(sql)?.execute(params![
        server.id.as_bytes(),
        server.name,
        server.address,
        tools,
        server.tool_count,
        server.first_seen.0,
        server.last_seen.0,
        server.called.map(|at| at.0),
    ])?;
    let sql = "DELETE FROM mcp_server WHERE id IN (SELECT id FROM mcp_server \
               WHERE id NOT IN (SELECT server FROM tool_label) \
               ORDER BY last_seen DESC LIMIT -1 OFFSET ?1)";
    batch.conn.prepare_cached(sql)?.execute([MAX_UNLABELLED])?;
    Ok(())
}

/// All servers, the most recent first.
pub(super) fn servers(conn: &Connection) -> StoreResult<Vec<StoredServer>> {
    let sql = "SELECT id, name, address, tools, tool_count, first_seen, last_seen, called \
               FROM mcp_server ORDER BY last_seen DESC, id";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read_server(row)?);
    }
    Ok(found)
}

fn read_server(row: &Row<'_>) -> StoreResult<StoredServer> {
    let mut columns = Columns::of(row);
    let id = Id::from_bytes(columns.next()?);
    let (name, address) = (columns.next()?, columns.next()?);
    let tools = serde_json::from_str(&columns.next::<String>()?);
    let tools = tools.map_err(|error| corrupt(error.to_string()))?;
    let tool_count = columns.next()?;
    let (first_seen, last_seen) = (columns.time()?, columns.time()?);
    let called = columns.maybe_time()?;
    Ok(StoredServer { id, name, address, tools, tool_count, first_seen, last_seen, called })
}

/// Replaces all labels of a server, with their ledger entry.
pub(super) fn save_labels(
    batch: &mut Batch<'_>,
    labels: &ServerLabels,
    context: &WriteContext,
) -> StoreResult<()> {
    let written =
        serde_json::to_string(&labels.labels).map_err(|error| corrupt(error.to_string()))?;
    let sql = "INSERT INTO tool_label VALUES (?1, ?2, ?3, ?4) ON CONFLICT (server) DO UPDATE SET \
               labels = excluded.labels, person = excluded.person, at = excluded.at";
    batch.conn.prepare_cached(sql)?.execute(params![
        labels.server.as_bytes(),
        written,
        labels.person,
        labels.at.0
    ])?;
    let (id, content) = (labels.server.to_string(), content(labels.server, &written).to_string());
    let count = u64::try_from(labels.labels.len()).unwrap_or(u64::MAX);
    let facts =
        vec![text_fact("server", &id), text_fact(CONTENT, &content), number_fact("tools", count)];
    let mut entry = entry(EntryKind::Label, context, facts)?;
    entry.person = Some(Cow::Borrowed(&labels.person));
    batch.append(entry)?;
    batch.publish(StoreEvent::Settings);
    Ok(())
}

/// The labels of all servers that the ledger confirms.
pub(super) fn labels(
    conn: &Connection,
    head: TreeHead,
    revocations: &Revocations,
) -> StoreResult<Vec<ServerLabels>> {
    let sql = "SELECT server, labels, person, at FROM tool_label ORDER BY server";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let server = Id::from_bytes(columns.next()?);
        let (written, person): (String, String) = (columns.next()?, columns.next()?);
        let at = Timestamp(columns.next()?);
        let content = content(server, &written);
        // The index can hide an entry; what the whole ledger says is in memory.
        if recorded_content(conn, server, head)? != Some(content)
            || !revocations.has_labels(server, &content)
        {
            continue;
        }
        let labels = serde_json::from_str(&written);
        let labels = labels.map_err(|error| corrupt(error.to_string()))?;
        found.push(ServerLabels { server, labels, person, at });
    }
    Ok(found)
}

/// What the newest entry about the labels of a server says, if it is in the tree. An older entry
/// does not count: its labels were replaced.
fn recorded_content(conn: &Connection, server: Id, head: TreeHead) -> StoreResult<Option<Digest>> {
    let sql = "SELECT seq FROM story WHERE request = ?1 AND seq < ?2 ORDER BY seq DESC";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![server.as_bytes(), signed(head.size)?])?;
    while let Some(row) = rows.next()? {
        let seq = unsigned(row.get(0)?)?;
        let Some(bytes) = entries(conn, seq, 1)?.entries.pop() else { continue };
        let Ok(entry) = Entry::decode(&bytes) else { continue };
        if labelled_server(&entry) != Some(server) {
            continue;
        }
        let Some(proof) = inclusion_proof_of(conn, head.size, seq, head.size)? else {
            return Ok(None);
        };
        let proven = verify_inclusion(&leaf_hash(&bytes), seq, head.size, &proof, &head.root);
        let content = text(&entry, CONTENT).and_then(|text| Digest::parse(text).ok());
        return Ok(content.filter(|_| proven.is_ok()));
    }
    Ok(None)
}

/// The digest of all labels of a server.
fn content(server: Id, written: &str) -> Digest {
    Digest::of(format!("countersign/labels/1\0{server}\0{written}").as_bytes())
}
