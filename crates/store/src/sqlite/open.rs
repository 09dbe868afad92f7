//! Opens the files: permissions, the lock, and the settings that make SQLite durable.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::options::SqliteOptions;
use super::schema;
use crate::error::OpenError;

/// The size of each connection's statement cache; larger than the number of statements.
const STATEMENTS: usize = 128;

/// From this many pages of log on (64 MiB), SQLite checkpoints within a commit.
pub(super) const LOG_PAGES: i64 = 16_384;

/// The writing connection, and the lock that excludes other daemons as long as it is held.
pub(super) fn writer(
    path: &Path,
    options: &SqliteOptions,
) -> Result<(Connection, File), OpenError> {
    prepare_folder(path)?;
    let lock = lock(path)?;
    private(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(options.busy_timeout)?;
    cache_statements(&conn)?;
    set(&conn, "journal_mode", "WAL", "wal")?;
    durable(&conn)?;
    set(&conn, "trusted_schema", "OFF", "0")?;
    set(&conn, "temp_store", "MEMORY", "2")?;
    let pages = LOG_PAGES.to_string();
    set(&conn, "wal_autocheckpoint", &pages, &pages)?;
    set(&conn, "cache_size", "-16384", "-16384")?;
    // Replaced or deleted content is overwritten in its page.
    set(&conn, "secure_delete", "ON", "1")?;
    set(&conn, "foreign_keys", "OFF", "0")?;
    schema::migrate(&mut conn)?;
    set(&conn, "foreign_keys", "ON", "1")?;
    // A crash may have left removed texts in the log. If this fails, a later checkpoint moves the
    // log.
    let _ = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    if let Some(pages) = options.max_pages {
        let _: i64 = conn.pragma_update_and_check(None, "max_page_count", pages, |r| r.get(0))?;
    }
    Ok((conn, lock))
}

/// The connection of the checkpoint thread.
pub(super) fn checkpointer(path: &Path, options: &SqliteOptions) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(options.busy_timeout)?;
    durable(&conn)?;
    set(&conn, "trusted_schema", "OFF", "0")?;
    Ok(conn)
}

/// Every commit and every checkpoint reaches the disk before it returns. On macOS `fsync` leaves
/// data in the drive's cache; `fullfsync` uses `F_FULLFSYNC` there and has no effect elsewhere.
fn durable(conn: &Connection) -> Result<(), OpenError> {
    set(conn, "synchronous", "FULL", "2")?;
    set(conn, "fullfsync", "ON", "1")?;
    set(conn, "checkpoint_fullfsync", "ON", "1")
}

/// Statements are compiled once. Without the query planner stability guarantee, SQLite compiles
/// statements that compare with a parameter again for each value.
fn cache_statements(conn: &Connection) -> Result<(), OpenError> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// A connection that cannot write.
pub(super) fn reader(path: &Path, options: &SqliteOptions) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(options.busy_timeout)?;
    cache_statements(&conn)?;
    set(&conn, "query_only", "ON", "1")?;
    set(&conn, "trusted_schema", "OFF", "0")?;
    Ok(conn)
}

/// Sets a pragma and reads it back, because SQLite ignores invalid values without an error.
fn set(conn: &Connection, pragma: &str, value: &str, wanted: &str) -> Result<(), OpenError> {
    // `journal_mode` returns a row when it is set, others do not.
    conn.pragma_update(None, pragma, value)?;
    let found = conn.pragma_query_value(None, pragma, |row| {
        Ok(match row.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            other => other.as_str().unwrap_or_default().to_owned(),
        })
    })?;
    if found == wanted {
        return Ok(());
    }
    Err(OpenError::NotDurable(format!("`PRAGMA {pragma}` is {found}, not {wanted}")))
}

/// Creates the folder with access for this user only. Never changes an existing folder, because it
/// may belong to another program.
fn prepare_folder(path: &Path) -> Result<(), OpenError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| failed(folder, &e))?;
    let mode = fs::metadata(folder).map_err(|e| failed(folder, &e))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(OpenError::Exposed(folder.display().to_string()));
    }
    Ok(())
}

fn lock(path: &Path) -> Result<File, OpenError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let file = private(&name)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse(path.display().to_string())),
        Err(TryLockError::Error(error)) => Err(failed(&name, &error)),
    }
}

/// A file that only this user can access. SQLite gives `-wal` and `-shm` the same mode.
fn private(path: &Path) -> Result<File, OpenError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path).map_err(|e| failed(path, &e))?;
    file.set_permissions(fs::Permissions::from_mode(0o600)).map_err(|e| failed(path, &e))?;
    Ok(file)
}

fn failed(path: &Path, error: &std::io::Error) -> OpenError {
    OpenError::Failed(format!("{}: {error}", path.display()))
}
