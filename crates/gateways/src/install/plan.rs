//! What would be written, before anything is; then exactly that, or nothing.

use std::fs;
use std::path::PathBuf;

use super::record::{Entry, Record, digest};
use super::{Ours, Piece, Refused, Share, files};

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// Our part in.
    Install,
    /// Our part out.
    Uninstall,
}

/// One file and its two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Which file.
    pub path: PathBuf,
    /// Its text now; none where there is no file.
    pub before: Option<String>,
    /// Its text afterwards; none where the file goes.
    pub after: Option<String>,
    /// Whether nothing of ours is in it yet.
    untouched: bool,
}

/// What became of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Which file.
    pub path: PathBuf,
    /// Whether it is gone now.
    pub removed: bool,
    /// Where the text before is kept.
    pub kept: Option<PathBuf>,
}

/// The edits that are needed; none where everything is as it should be. Nothing is written.
pub fn edits(
    agent: &str,
    pieces: &[Piece],
    aim: Aim,
    record: &Record,
) -> Result<Vec<Edit>, Refused> {
    let mut found = Vec::new();
    for piece in pieces {
        let path = &piece.path;
        // A file of ours alone is never written through a link: it could lead to any file.
        if matches!(piece.share, Share::Whole(_)) && files::is_link(path) {
            let why = format!("{}: this is a link to another file", path.display());
            return Err(Refused::cannot(&why));
        }
        let before = files::read(path)?;
        let entry = record.about(agent, path);
        let after = match aim {
            Aim::Install => Some(installed(piece, before.as_deref())?),
            Aim::Uninstall => uninstalled(piece, before.as_deref(), entry)?,
        };
        let nothing_new = aim == Aim::Install && before.is_none() && after.as_deref() == Some("");
        if before != after && !nothing_new {
            let untouched = match (&piece.share, &before) {
                (Share::Within(part), Some(text)) => part.take(text).is_ok_and(|it| it == *text),
                (Share::Whole(_), Some(_)) => entry.is_none(),
                (_, None) => true,
            };
            found.push(Edit { path: path.clone(), before, after, untouched });
        }
    }
    if aim == Aim::Uninstall {
        // What switches the gate on goes first, so that nothing half is ever in use.
        found.reverse();
    }
    Ok(found)
}

fn installed(piece: &Piece, before: Option<&str>) -> Result<String, Refused> {
    match &piece.share {
        Share::Whole(text) => Ok(text.clone()),
        Share::Within(part) => {
            let misread = |misread| Refused::misread(&piece.path, misread);
            let text = part.put(before.unwrap_or_default()).map_err(misread)?;
            // What was written must be known again, or it could never be taken out.
            match part.put(&text) {
                Ok(again) if again == text => Ok(text),
                _ => Err(Refused::Misread {
                    path: piece.path.clone(),
                    why: "it cannot be changed safely".to_owned(),
                }),
            }
        }
    }
}

fn uninstalled(
    piece: &Piece,
    before: Option<&str>,
    entry: Option<&Entry>,
) -> Result<Option<String>, Refused> {
    let Some(text) = before else { return Ok(None) };
    let untouched = entry.is_some_and(|entry| entry.exact && entry.wrote == digest(text));
    if untouched && let Some(entry) = entry {
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
    match &piece.share {
        // It bears our name; what somebody wrote into it is kept as a backup.
        Share::Whole(_) => Ok(None),
        Share::Within(part) => {
            let left = part.take(text).map_err(|misread| Refused::misread(&piece.path, misread))?;
            let made_by_us = entry.is_some_and(|entry| entry.exact && entry.backup.is_none());
            let nothing = made_by_us && part.says_nothing(&left);
            Ok((!nothing).then_some(left))
        }
    }
}

/// Writes what was planned. A file that changed since is left alone, and those after it.
pub fn apply(
    agent: &str,
    edits: &[Edit],
    aim: Aim,
    ours: &Ours,
    record: &mut Record,
) -> Result<Vec<Done>, Refused> {
    let mut done = Vec::new();
    for edit in edits {
        if files::read(&edit.path)? != edit.before {
            return Err(Refused::Misread {
                path: edit.path.clone(),
                why: "it was changed meanwhile; try again".to_owned(),
            });
        }
        done.push(match aim {
            Aim::Install => put(agent, edit, ours, record)?,
            Aim::Uninstall => take(agent, edit, record)?,
        });
    }
    Ok(done)
}

/// Forgets everything about an agent's files, once our part is out of them.
pub fn forget(agent: &str, pieces: &[Piece], record: &mut Record) -> Result<(), Refused> {
    pieces.iter().try_for_each(|piece| record.forget(agent, &piece.path))
}

fn put(agent: &str, edit: &Edit, ours: &Ours, record: &mut Record) -> Result<Done, Refused> {
    let after = edit.after.clone().unwrap_or_default();
    let folders = files::make_folders(&edit.path)?;
    let old = record.about(agent, &edit.path).cloned();
    let (backup, before, exact) = match (&edit.before, old) {
        (None, _) => (None, None, true),
        // Only we wrote since: what was there before us is still what would be put back.
        (Some(text), Some(old)) if old.wrote == digest(text) => (old.backup, old.before, old.exact),
        (Some(text), _) => {
            let kept = files::keep(&edit.path, text)?;
            // With ours in it already, this is no text to go back to.
            (Some(kept), Some(digest(text)), edit.untouched)
        }
    };
    files::write(&edit.path, &after)?;
    let kept = backup.clone();
    let entry = Entry {
        agent: agent.to_owned(),
        path: edit.path.clone(),
        wrote: digest(&after),
        backup,
        before,
        exact,
        program: ours.program.clone(),
        patience: ours.patience,
    };
    record.remember(entry, folders)?;
    Ok(Done { path: edit.path.clone(), removed: false, kept })
}

fn take(agent: &str, edit: &Edit, record: &mut Record) -> Result<Done, Refused> {
    let entry = record.about(agent, &edit.path).cloned();
    let text = edit.before.as_deref().unwrap_or_default();
    let only_ours = entry.as_ref().is_some_and(|entry| entry.wrote == digest(text));
    let kept = if only_ours { None } else { Some(files::keep(&edit.path, text)?) };
    match &edit.after {
        Some(after) => files::write(&edit.path, after)?,
        None => fs::remove_file(&edit.path).map_err(|error| Refused::io(&edit.path, &error))?,
    }
    // A backup of what stands there again is nothing but a second copy.
    let backup = entry.and_then(|entry| entry.backup.filter(|_| entry.before.is_some()));
    if let (Some(backup), Some(after)) = (backup, &edit.after)
        && files::read(&backup).ok().flatten().as_ref() == Some(after)
    {
        let _ = fs::remove_file(&backup);
    }
    record.forget(agent, &edit.path)?;
    Ok(Done { path: edit.path.clone(), removed: edit.after.is_none(), kept })
}
