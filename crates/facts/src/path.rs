//! What is at a path.

use std::fs;
use std::io;
use std::path::Path;

use countersign_risk::facts::{FactAnswer, PathFact, PathKind, TreeSize, UnknownReason};

use crate::files;
use crate::git::NAME as GIT;
use crate::local_look::LocalLook;
use crate::tree;

/// Looks at a path. A symlink is not followed, but where it leads is reported.
pub fn look_at(look: &mut LocalLook<'_>, path: &Path) -> Result<FactAnswer, UnknownReason> {
    // `x/..` and `x/.` have no name of their own; they are the folder that they lead to.
    let named = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => files::resolved(parent).map(|parent| parent.join(name)),
        _ => files::resolved(path),
    };
    let located = named.ok_or(UnknownReason::Unsupported)?;
    let kind = match fs::symlink_metadata(&located) {
        Ok(found) if found.is_symlink() => PathKind::Symlink,
        Ok(found) if found.is_file() => PathKind::File,
        Ok(found) if found.is_dir() => PathKind::Folder,
        Ok(_) => PathKind::Special,
        Err(error) if error.kind() == io::ErrorKind::NotFound => PathKind::Missing,
        Err(error) => return Err(files::reason(&error)),
    };
    let resolved = files::resolved(&located);
    let project = look.place.project.as_deref().and_then(files::resolved);
    let in_project = is_inside(resolved.as_deref(), project.as_deref());
    let in_repository = located.components().any(|part| part.as_os_str() == GIT);
    let mut fact = PathFact {
        kind,
        resolved: resolved.map(|path| path.display().to_string()),
        in_project,
        size: TreeSize { is_exact: true, ..TreeSize::default() },
        has_repository: in_repository,
        git: None,
    };
    match kind {
        PathKind::Missing => {}
        PathKind::Special => fact.size.files = 1,
        PathKind::File | PathKind::Symlink | PathKind::Folder => {
            tree::measure(look, &located, &mut fact);
        }
    }
    Ok(FactAnswer::Path(fact))
}

/// Whether a path is below a folder; the folder itself is not.
fn is_inside(path: Option<&Path>, folder: Option<&Path>) -> bool {
    let (Some(path), Some(folder)) = (path, folder) else { return false };
    path.starts_with(folder) && path != folder && folder.parent().is_some()
}
