//! Checks on this machine that a snapshot holds exactly the files which a call changes.

use std::fs;
use std::path::{Component, Path, PathBuf};

use countersign_json::canonical::Digest;
use countersign_risk::file_changes::ChangedFile;
use countersign_snapshot::{RecordedSnapshot, SnapshotRecord, SnapshotStore};

use crate::config::ReviewConfig;

/// How old a snapshot may be when the call is asked about.
const MAX_AGE_MS: u64 = 60_000;
/// How far the clock of the hook may be ahead.
const MAX_AHEAD_MS: u64 = 5_000;
/// The history of the repository is no file of the project.
const GIT: &str = ".git";

/// A snapshot that a hook claims, and the call that it is for.
#[derive(Debug, Clone)]
pub(super) struct ClaimedFiles {
    /// The folder of the snapshots.
    pub folder: PathBuf,
    /// The id of the snapshot.
    pub id: String,
    /// Its digest.
    pub digest: Digest,
    /// The root folder of the project.
    pub project: PathBuf,
    /// What the call changes, by its own words.
    pub changed: Vec<ChangedFile>,
    /// What the operator allows.
    pub allowed: ReviewConfig,
    /// The time, in milliseconds since 1970.
    pub now_ms: u64,
}

/// The number of files and bytes of the snapshot, or why a person has to be asked first. It reads
/// files, so it blocks.
pub(super) fn check(claimed: &ClaimedFiles) -> Result<(u32, u64), &'static str> {
    let store = SnapshotStore::at(claimed.folder.clone());
    let recorded = RecordedSnapshot {
        id: claimed.id.clone(),
        before: claimed.digest.to_string(),
        after: None,
    };
    let record = store.recorded(&recorded).map_err(|_| "the snapshot is not there")?;
    check_fresh(&record, claimed.now_ms)?;
    let (files, bytes) = record.size();
    let files = u32::try_from(files).unwrap_or(u32::MAX);
    if files > claimed.allowed.max_files || bytes > claimed.allowed.max_bytes {
        return Err("the call changes more than may be reviewed afterwards");
    }
    check_places(&record, &real_places(claimed)?, &claimed.allowed)?;
    store.check_whole(&record).map_err(|_| "the snapshot is damaged")?;
    store.check_current(&record).map_err(|_| "a file changed after the snapshot")?;
    Ok((files, bytes))
}

fn check_fresh(record: &SnapshotRecord, now_ms: u64) -> Result<(), &'static str> {
    let is_fresh = now_ms.saturating_sub(record.at_ms) <= MAX_AGE_MS
        && record.at_ms.saturating_sub(now_ms) <= MAX_AHEAD_MS;
    let is_used = record.after.is_some()
        || record.undone_at_ms.is_some()
        || record.restoring
        || record.label.undo_of.is_some();
    match (is_fresh, is_used) {
        (false, _) => Err("the snapshot is not from now"),
        (_, true) => Err("the snapshot is of another call"),
        _ => Ok(()),
    }
}

/// The real project, and what the call changes in it.
struct RealPlaces {
    project: PathBuf,
    places: Vec<PathBuf>,
}

fn real_places(claimed: &ClaimedFiles) -> Result<RealPlaces, &'static str> {
    let real = fs::canonicalize(&claimed.project).map_err(|_| "the project is not there")?;
    if real.components().count() < 3 {
        return Err("the project is a whole file system or home");
    }
    let mut places = Vec::new();
    let named = claimed.changed.iter();
    for path in named.filter_map(|file| file.place(|path| Path::new(path).is_dir())) {
        let path: PathBuf = Path::new(&path).components().collect();
        let below = path.strip_prefix(&claimed.project).or_else(|_| path.strip_prefix(&real));
        let below = below.map_err(|_| "a file is outside the project")?;
        let mut parts = below.components().peekable();
        if parts.peek().is_none() {
            return Err("the call changes the whole project");
        }
        if !parts
            .all(|part| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(GIT)))
        {
            return Err("a file is outside the project");
        }
        let text = below.to_str().ok_or("the name of a file is not text")?;
        if !claimed.allowed.has_path(text) {
            return Err("the operator allows no review of this path");
        }
        places.push(real.join(below));
    }
    Ok(RealPlaces { project: real, places })
}

/// Whether the snapshot covers exactly these places. A symlink on the way leads to another place,
/// which is not among them.
fn check_places(
    record: &SnapshotRecord,
    found: &RealPlaces,
    allowed: &ReviewConfig,
) -> Result<(), &'static str> {
    let roots = record.root_paths();
    if found.places.is_empty() || roots.len() != record.roots.len() {
        return Err("the snapshot names no files");
    }
    for root in &roots {
        // Where folders are missing, the topmost of them is what the call creates.
        let is_missing = record.before.at(root).is_absent();
        let fits = |place: &PathBuf| place == root || is_missing && place.starts_with(root);
        let is_inside = root.starts_with(&found.project) && *root != found.project;
        if !is_inside || !found.places.iter().any(fits) {
            return Err("the snapshot is of other files");
        }
    }
    for (path, _) in record.before.iter() {
        let below = path.strip_prefix(&found.project).ok().and_then(Path::to_str);
        if !below.is_some_and(|below| allowed.has_class(below)) {
            return Err("a file holds secrets or settings");
        }
    }
    let covered = |place: &PathBuf| roots.iter().any(|root| place.starts_with(root));
    if found.places.iter().all(covered) {
        Ok(())
    } else {
        Err("the snapshot does not have all files")
    }
}
