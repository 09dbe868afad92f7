//! Migrations: each once, in order, in a transaction of its own.

use rusqlite::{Connection, TransactionBehavior};

use crate::error::OpenError;

/// Marks the file as ours: `CSGN`.
const APPLICATION: i64 = 0x4353_474E;

/// Each takes the store from the form of its number to the next. None is ever changed.
const MIGRATIONS: [&str; 7] = [
    include_str!("../../migrations/sqlite/0001_first.sql"),
    include_str!("../../migrations/sqlite/0002_fewer_trees.sql"),
    include_str!("../../migrations/sqlite/0003_ways_in.sql"),
    include_str!("../../migrations/sqlite/0004_looked_for.sql"),
    include_str!("../../migrations/sqlite/0005_drills.sql"),
    include_str!("../../migrations/sqlite/0006_waiting_periods.sql"),
    include_str!("../../migrations/sqlite/0007_edited_cards.sql"),
];

/// Brings the store to the newest form. A form newer than ours is left alone. Foreign keys must be
/// off, as tables are made anew; whether they hold is looked at before each form is kept.
pub(super) fn migrate(conn: &mut Connection) -> Result<(), OpenError> {
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    let found = number(conn, "user_version")?;
    let application = number(conn, "application_id")?;
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))?;
    let fresh = (application, found, tables) == (0, 0, 0);
    if !fresh && application != APPLICATION {
        return Err(OpenError::NotOurs(format!("its mark is {application:#x}")));
    }
    if found > known {
        return Err(OpenError::Newer { found, known });
    }
    for (form, sql) in (0..known).zip(MIGRATIONS).filter(|(form, _)| *form >= found) {
        let step = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        step.execute_batch(sql)?;
        if step.prepare("PRAGMA foreign_key_check")?.exists([])? {
            return Err(OpenError::Damaged("a row belongs to none that is there".to_owned()));
        }
        step.pragma_update(None, "application_id", APPLICATION)?;
        step.pragma_update(None, "user_version", form + 1)?;
        step.commit()?;
    }
    Ok(())
}

fn number(conn: &Connection, pragma: &str) -> Result<i64, OpenError> {
    Ok(conn.pragma_query_value(None, pragma, |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SQLite does so for `IN` with more than two words, in every CHECK, at every write.
    #[test]
    fn what_is_written_often_builds_no_table_on_the_way() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn).unwrap();
        for (table, columns) in
            [("request", 35), ("request_text", 7), ("vote", 7), ("outbox", 6), ("delivery", 8)]
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
