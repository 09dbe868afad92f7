//! What is at a path.

use std::fs;
use std::io;
use std::path::Path;

use countersign_risk::facts::{
    FactAnswer, GitCounts, PathFact, PathKind, TargetFact, TreeSize, UnknownReason,
};

use crate::files;
use crate::git::{NAME as GIT, Repositories};
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
    let in_project = is_inside(Some(&located), project.as_deref())
        && is_inside(resolved.as_deref(), project.as_deref());
    let in_repository = located.components().any(|part| part.as_os_str() == GIT);
    let mut fact = PathFact {
        kind,
        located: look.place.named(&located),
        resolved: resolved.map(|path| look.place.named(&path)),
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

/// Where a path leads.
pub fn follow(look: &LocalLook<'_>, path: &Path) -> Result<FactAnswer, UnknownReason> {
    let resolved = files::target(path).ok_or(UnknownReason::Unsupported)?;
    Ok(FactAnswer::Target(TargetFact { resolved: look.place.named(&resolved) }))
}

/// What git knows about the work tree of a folder. Ignored folders are not entered.
pub fn worktree(look: &mut LocalLook<'_>, folder: &Path) -> Result<FactAnswer, UnknownReason> {
    let folder = files::resolved(folder).ok_or(UnknownReason::Missing)?;
    let root = Repositories::worktree_of(&folder).ok_or(UnknownReason::Missing)?;
    let mut fact = PathFact {
        kind: PathKind::Folder,
        located: String::new(),
        resolved: None,
        in_project: false,
        size: TreeSize { is_exact: true, ..TreeSize::default() },
        has_repository: false,
        git: None,
    };
    tree::measure_worktree(look, &root, &mut fact);
    let mut counts: GitCounts = fact.git.ok_or(UnknownReason::Unsupported)?;
    if let Some(head) = look.repositories.head_of(&root, &look.budget) {
        counts.is_index_committed = head.is_index_committed;
        counts.is_on_branch = head.is_on_branch;
    }
    Ok(FactAnswer::Worktree(counts))
}

/// Whether a path is below a folder; the folder itself is not.
fn is_inside(path: Option<&Path>, folder: Option<&Path>) -> bool {
    let (Some(path), Some(folder)) = (path, folder) else { return false };
    path.starts_with(folder) && path != folder && folder.parent().is_some()
}
