//! Plans all edits before anything is written; then writes exactly those, or none.

use std::fs;
use std::path::PathBuf;

use super::command::HookCommand;
use super::edit::{FileEdit, Ownership};
use super::files::{self, InstallError};
use super::record::{InstallRecord, InstalledFile, digest};

/// Whether the gate is installed or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallAction {
    /// Add our part.
    Install,
    /// Remove our part.
    Uninstall,
}

/// One file and its text before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedEdit {
    /// The file.
    pub path: PathBuf,
    /// Its text now; none if there is no file.
    pub before: Option<String>,
    /// Its text afterwards; none if the file is removed.
    pub after: Option<String>,
    /// Whether the text before contains nothing of ours.
    untouched: bool,
}

/// An edit that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedEdit {
    /// The file.
    pub path: PathBuf,
    /// Whether the file was removed.
    pub removed: bool,
    /// The backup of the text before.
    pub backup: Option<PathBuf>,
}

/// The edits that are needed; none if all files are as they should be. Writes nothing.
pub fn plan_edits(
    key: &str,
    edits: &[FileEdit],
    action: InstallAction,
    record: &InstallRecord,
) -> Result<Vec<PlannedEdit>, InstallError> {
    let mut planned = Vec::new();
    for edit in edits {
        let path = &edit.path;
        // A file that is all ours is never written through a link, which could lead to any file.
        if matches!(edit.ownership, Ownership::Whole(_)) && files::is_link(path) {
            let why = "is a link to another file; nothing was written. Remove the link first";
            return Err(InstallError::unsupported(&format!("{} {why}", path.display())));
        }
        let before = files::read(path)?;
        let entry = record.about(key, path);
        let after = match action {
            InstallAction::Install => Some(installed(edit, before.as_deref())?),
            InstallAction::Uninstall => uninstalled(edit, before.as_deref(), entry)?,
        };
        let stays_missing = before.is_none() && after.as_deref() == Some("");
        if before != after && !(action == InstallAction::Install && stays_missing) {
            let untouched = match (&edit.ownership, &before) {
                (Ownership::Part(part), Some(text)) => {
                    part.remove(text).is_ok_and(|it| it == *text)
                }
                (Ownership::Whole(_), Some(_)) => entry.is_none(),
                (_, None) => true,
            };
            planned.push(PlannedEdit { path: path.clone(), before, after, untouched });
        }
    }
    if action == InstallAction::Uninstall {
        // The entry that enables the gate goes first, so that a half-removed gate is never in use.
        planned.reverse();
    }
    Ok(planned)
}

fn installed(edit: &FileEdit, before: Option<&str>) -> Result<String, InstallError> {
    match &edit.ownership {
        Ownership::Whole(text) => Ok(text.clone()),
        Ownership::Part(part) => {
            let invalid = |error| InstallError::invalid_file(&edit.path, error);
            let text = part.apply(before.unwrap_or_default()).map_err(invalid)?;
            // A part that is not recognized again could never be removed.
            match part.apply(&text) {
                Ok(again) if again == text => Ok(text),
                _ => Err(InstallError::InvalidFile {
                    path: edit.path.clone(),
                    why: "it cannot be changed safely".to_owned(),
                }),
            }
        }
    }
}

fn uninstalled(
    edit: &FileEdit,
    before: Option<&str>,
    entry: Option<&InstalledFile>,
) -> Result<Option<String>, InstallError> {
    let Some(text) = before else { return Ok(None) };
    let unchanged = entry.is_some_and(|entry| entry.exact && entry.wrote == digest(text));
    if unchanged && let Some(entry) = entry {
        match &entry.backup {
            None => return Ok(None),
            Some(backup) => {
                let kept = files::read(backup).ok().flatten();
                let same = |kept: &String| entry.before.as_deref() == Some(&digest(kept));
                if let Some(kept) = kept.filter(same) {
                    return Ok(Some(kept));
                }
            }
        }
    }
    match &edit.ownership {
        // The file has our name; what a person added to it is kept in a backup.
        Ownership::Whole(_) => Ok(None),
        Ownership::Part(part) => {
            let invalid = |error| InstallError::invalid_file(&edit.path, error);
            let left = part.remove(text).map_err(invalid)?;
            let made_by_us = entry.is_some_and(|entry| entry.exact && entry.backup.is_none());
            let remove_file = made_by_us && part.is_blank(&left);
            Ok((!remove_file).then_some(left))
        }
    }
}

/// Writes the planned edits. Stops at a file that was changed since it was planned.
pub fn apply(
    key: &str,
    edits: &[PlannedEdit],
    action: InstallAction,
    command: &HookCommand,
    record: &mut InstallRecord,
) -> Result<Vec<AppliedEdit>, InstallError> {
    let mut applied = Vec::new();
    for edit in edits {
        if files::read(&edit.path)? != edit.before {
            return Err(InstallError::InvalidFile {
                path: edit.path.clone(),
                why: "it was changed meanwhile; try again".to_owned(),
            });
        }
        applied.push(match action {
            InstallAction::Install => add(key, edit, command, record)?,
            InstallAction::Uninstall => take_out(key, edit, record)?,
        });
    }
    Ok(applied)
}

/// Removes an agent's files from the record, after our part was removed from them.
pub fn forget(
    key: &str,
    edits: &[FileEdit],
    record: &mut InstallRecord,
) -> Result<(), InstallError> {
    edits.iter().try_for_each(|edit| record.forget(key, &edit.path))
}

fn add(
    key: &str,
    edit: &PlannedEdit,
    command: &HookCommand,
    record: &mut InstallRecord,
) -> Result<AppliedEdit, InstallError> {
    let after = edit.after.clone().unwrap_or_default();
    let folders = files::make_folders(&edit.path)?;
    let old = record.about(key, &edit.path).cloned();
    let (backup, before, exact) = match (&edit.before, old) {
        (None, _) => (None, None, true),
        // Only we changed it since: the first backup is still the text to restore.
        (Some(text), Some(old)) if old.wrote == digest(text) => (old.backup, old.before, old.exact),
        (Some(text), _) => {
            let kept = files::back_up(&edit.path, text)?;
            // A text that already contains our part is not one to restore.
            (Some(kept), Some(digest(text)), edit.untouched)
        }
    };
    files::write(&edit.path, &after)?;
    let entry = InstalledFile {
        agent: key.to_owned(),
        path: edit.path.clone(),
        wrote: digest(&after),
        backup: backup.clone(),
        before,
        exact,
        program: command.program.clone(),
        patience: command.patience,
        daemon_key: command.daemon_key.clone(),
    };
    record.remember(entry, folders)?;
    Ok(AppliedEdit { path: edit.path.clone(), removed: false, backup })
}

fn take_out(
    key: &str,
    edit: &PlannedEdit,
    record: &mut InstallRecord,
) -> Result<AppliedEdit, InstallError> {
    let entry = record.about(key, &edit.path).cloned();
    let text = edit.before.as_deref().unwrap_or_default();
    let unchanged = entry.as_ref().is_some_and(|entry| entry.wrote == digest(text));
    let backup = if unchanged { None } else { Some(files::back_up(&edit.path, text)?) };
    match &edit.after {
        Some(after) => files::write(&edit.path, after)?,
        None => {
            fs::remove_file(&edit.path).map_err(|error| InstallError::io(&edit.path, &error))?;
        }
    }
    // A backup of the text that is back in place is only a second copy.
    let old = entry.and_then(|entry| entry.backup.filter(|_| entry.before.is_some()));
    if let (Some(old), Some(after)) = (old, &edit.after)
        && files::read(&old).ok().flatten().as_ref() == Some(after)
    {
        let _ = fs::remove_file(&old);
    }
    record.forget(key, &edit.path)?;
    Ok(AppliedEdit { path: edit.path.clone(), removed: edit.after.is_none(), backup })
}
