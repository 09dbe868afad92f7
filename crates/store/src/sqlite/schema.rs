//! Schema migrations: each once, in order, in a transaction of its own.

use rusqlite::{Connection, TransactionBehavior};

use crate::error::OpenError;

/// The SQLite application id of a store: `CSGN`.
const APPLICATION: i64 = 0x4353_474E;

/// The migration at index `n` upgrades schema `n` to `n + 1`. Released migrations never change.
const MIGRATIONS: [&str; 18] = [
    include_str!("../../migrations/sqlite/0001_first.sql"),
    include_str!("../../migrations/sqlite/0002_fewer_trees.sql"),
    include_str!("../../migrations/sqlite/0003_ways_in.sql"),
    include_str!("../../migrations/sqlite/0004_looked_for.sql"),
    include_str!("../../migrations/sqlite/0005_drills.sql"),
    include_str!("../../migrations/sqlite/0006_waiting_periods.sql"),
    include_str!("../../migrations/sqlite/0007_edited_cards.sql"),
    include_str!("../../migrations/sqlite/0008_escalation_names.sql"),
    include_str!("../../migrations/sqlite/0009_session_answers.sql"),
    include_str!("../../migrations/sqlite/0010_repository_answers.sql"),
    include_str!("../../migrations/sqlite/0011_tool_labels.sql"),
    include_str!("../../migrations/sqlite/0013_crisis_takeover.sql"),
    include_str!("../../migrations/sqlite/0015_reviews.sql"),
    include_str!("../../migrations/sqlite/0016_command_grants.sql"),
    include_str!("../../migrations/sqlite/0017_approved_parts.sql"),
    include_str!("../../migrations/sqlite/0018_own_approval.sql"),
    include_str!("../../migrations/sqlite/0019_tool_call_grants.sql"),
    include_str!("../../migrations/sqlite/0020_proposed_edits.sql"),
];

/// Upgrades the store to the newest schema, and rejects a newer one. Foreign keys must be off,
/// because tables are replaced; they are checked before each migration commits.
pub(super) fn migrate(conn: &mut Connection) -> Result<(), OpenError> {
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    let found = number(conn, "user_version")?;
    let application = number(conn, "application_id")?;
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))?;
    let fresh = (application, found, tables) == (0, 0, 0);
    if !fresh && application != APPLICATION {
        return Err(OpenError::NotOurs(format!("its application id is {application:#x}")));
    }
    if found > known {
        return Err(OpenError::Newer { found, known });
    }
    for (version, sql) in (0..known).zip(MIGRATIONS).filter(|(version, _)| *version >= found) {
        let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql)?;
        if transaction.prepare("PRAGMA foreign_key_check")?.exists([])? {
            return Err(OpenError::Damaged("a row refers to a row that does not exist".to_owned()));
        }
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", version + 1)?;
        transaction.commit()?;
    }
    Ok(())
}

fn number(conn: &Connection, pragma: &str) -> Result<i64, OpenError> {
    Ok(conn.pragma_query_value(None, pragma, |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SQLite builds a temporary table for `IN` with more than two values, in every CHECK of a
    /// write.
    #[test]
    fn frequent_writes_build_no_temporary_table() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn).unwrap();
        for (table, columns) in
            [("request", 36), ("request_text", 8), ("vote", 8), ("outbox", 6), ("delivery", 8)]
        {
            let values = vec!["1"; columns].join(", ");
            let update = "UPDATE request SET state = 1, decider = 1, decided = 1 WHERE id = 1";
            for sql in [&*format!("INSERT INTO {table} VALUES ({values})"), update] {
                let mut plan = conn.prepare(&format!("EXPLAIN {sql}")).unwrap();
                let steps = plan.query_map([], |row| row.get::<_, String>(1)).unwrap();
                for step in steps {
                    assert_ne!(step.unwrap(), "OpenEphemeral", "{sql}");
                }
            }
        }
    }
}
