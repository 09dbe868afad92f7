//! The migrations that a folder holds. Which of them are pending only the database knows, so all
//! are bound and the newest are described.

use std::fs;
use std::path::{Path, PathBuf};

use countersign_risk::facts::{PlanFact, UnknownReason};

use super::parts::{PlanParts, counted};
use super::statements::statements;
use crate::files;
use crate::local_look::LocalLook;

/// Bounds of the files.
const MAX_FILES: usize = 2_000;
const MAX_FILE: u64 = 1 << 20;
/// How many migrations are described, and how many statements of each.
const MAX_DESCRIBED: usize = 2;
const MAX_STATEMENTS: usize = 4;

/// Where a tool keeps its migrations.
struct MigrationFiles {
    /// Below the folder in which the tool starts.
    folder: String,
    /// The file of one migration in a folder of its own; none if each is a file.
    inner: Option<&'static str>,
    ending: &'static str,
}

/// What a migration would run.
pub fn plan(
    look: &LocalLook<'_>,
    folder: &Path,
    words: &[String],
) -> Result<PlanFact, UnknownReason> {
    let kept = kept_in(look, folder, words)?;
    let root = folder.join(&kept.folder);
    let mut parts = PlanParts::default();
    let files = list(&root, &kept)?;
    let mut newest: Vec<(String, String)> = Vec::new();
    for (at, path) in files.iter().enumerate() {
        if look.budget.is_plan_over() {
            return Err(UnknownReason::Deadline);
        }
        let text = files::read_text(path, MAX_FILE)?;
        let name = path.strip_prefix(&root).unwrap_or(path).display().to_string();
        parts.bind(&name, text.as_bytes());
        if at + MAX_DESCRIBED >= files.len() {
            newest.insert(0, (name, text));
        }
    }
    let count = counted(files.len(), "migration");
    let place = &kept.folder;
    parts.line(&format!("{count} in {place}; which are pending only the database knows"));
    for (name, text) in &newest {
        describe(&mut parts, name, &statements(text, kept.ending == "sql"));
    }
    Ok(parts.finish())
}

fn describe(parts: &mut PlanParts, name: &str, found: &[String]) {
    let name = name.strip_suffix("/migration.sql").or(name.strip_suffix("/up.sql")).unwrap_or(name);
    parts.line(&format!("{name}: {}", counted(found.len(), "statement")));
    for statement in found.iter().take(MAX_STATEMENTS) {
        parts.line(statement);
    }
    if found.len() > MAX_STATEMENTS {
        let more = counted(found.len() - MAX_STATEMENTS, "more statement");
        parts.line(&format!("and {more} of {name}"));
    }
}

/// Where the tool of these words keeps its migrations.
fn kept_in(
    look: &LocalLook<'_>,
    folder: &Path,
    words: &[String],
) -> Result<MigrationFiles, UnknownReason> {
    // An option may name another folder or database.
    if words.iter().any(|word| word.starts_with('-')) {
        return Err(UnknownReason::Unsupported);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let kept =
        |folder: &str, inner, ending| MigrationFiles { folder: folder.to_owned(), inner, ending };
    Ok(match words.as_slice() {
        ["migrate", "deploy"] => kept("prisma/migrations", Some("migration.sql"), "sql"),
        ["migration", "run"] => kept("migrations", Some("up.sql"), "sql"),
        ["migrate", "run"] => kept("migrations", None, "sql"),
        ["db:migrate"] => kept("db/migrate", None, "rb"),
        ["upgrade", ..] => {
            let limit = look.budget.limits.config_bytes;
            let settings = files::read_text(&folder.join("alembic.ini"), limit)?;
            let place = script_location(&settings).ok_or(UnknownReason::Unsupported)?;
            kept(&format!("{place}/versions"), None, "py")
        }
        _ => return Err(UnknownReason::Unsupported),
    })
}

/// The folder that `alembic.ini` names, if it is below its own folder.
fn script_location(settings: &str) -> Option<String> {
    let mut values = settings.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "script_location").then_some(value.trim())
    });
    let value = values.next().filter(|_| values.next().is_none())?;
    let value = value.strip_prefix("%(here)s/").unwrap_or(value);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_/".contains(c);
    let fits = !value.is_empty() && !value.starts_with('/') && value.chars().all(is_plain);
    fits.then(|| value.trim_end_matches('/').to_owned())
}

/// The files of the migrations, the oldest first by name.
fn list(root: &Path, kept: &MigrationFiles) -> Result<Vec<PathBuf>, UnknownReason> {
    let listed = fs::read_dir(root).map_err(|error| files::reason(&error))?;
    let mut found = Vec::new();
    for entry in listed.take(MAX_FILES * 2) {
        let path = entry.map_err(|error| files::reason(&error))?.path();
        match kept.inner {
            Some(inner) if path.is_dir() => {
                // A folder without its file would be skipped silently.
                let file = path.join(inner);
                fs::metadata(&file).map_err(|error| files::reason(&error))?;
                found.push(file);
            }
            None if path.extension().is_some_and(|ending| ending == kept.ending) => {
                found.push(path);
            }
            _ => {}
        }
        if found.len() > MAX_FILES {
            return Err(UnknownReason::TooLarge);
        }
    }
    if found.is_empty() {
        return Err(UnknownReason::Missing);
    }
    found.sort();
    Ok(found)
}
