//! What sessions did before. The memory only makes later calls riskier, so a lost row allows
//! nothing.

use countersign_types::time::Timestamp;
use rusqlite::{Connection, params};

use super::batch::Batch;
use super::columns::Columns;
use crate::error::StoreResult;
use crate::record::{SESSION_IDLE, StoredSessionMemory};

/// How many sessions are remembered; the one that was idle longest is forgotten first.
const MAX_SESSIONS: u32 = 512;

/// Stores the memory of a session, and forgets sessions that were idle for long.
pub(super) fn save(batch: &Batch<'_>, saved: &StoredSessionMemory) -> StoreResult<()> {
    let sql = "INSERT INTO session_memory VALUES (?1, ?2, ?3, ?4) ON CONFLICT (agent, session) \
               DO UPDATE SET memory = excluded.memory, used = excluded.used";
    batch.conn.prepare_cached(sql)?.execute(params![
        saved.agent,
        saved.session,
        saved.memory,
        saved.used.0
    ])?;
    let sql = "DELETE FROM session_memory WHERE used <= ?1";
    batch.conn.prepare_cached(sql)?.execute([oldest(batch.now.at).0])?;
    let sql = "DELETE FROM session_memory WHERE (agent, session) IN (SELECT agent, session \
               FROM session_memory ORDER BY used DESC LIMIT -1 OFFSET ?1)";
    batch.conn.prepare_cached(sql)?.execute([MAX_SESSIONS])?;
    Ok(())
}

/// All sessions that were not idle for long, the most recent first.
pub(super) fn all(conn: &Connection, now: Timestamp) -> StoreResult<Vec<StoredSessionMemory>> {
    let sql = "SELECT agent, session, memory, used FROM session_memory WHERE used > ?1 \
               ORDER BY used DESC LIMIT ?2";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![oldest(now).0, MAX_SESSIONS])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let (agent, session) = (columns.next()?, columns.next()?);
        let memory = columns.next()?;
        found.push(StoredSessionMemory { agent, session, memory, used: columns.time()? });
    }
    Ok(found)
}

fn oldest(now: Timestamp) -> Timestamp {
    Timestamp(now.0.saturating_sub(i64::try_from(SESSION_IDLE.0).unwrap_or(i64::MAX)))
}
