//! Where a call would really write: symlinks on the way resolved, missing folders included.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::SnapshotError;
use crate::folders::{is_plain, tidy_path};

/// The places that a change of this path touches: the path in its real folder and, if a symlink is
/// there, also what the symlink names. If folders above are missing, the topmost of them, because
/// the call would create it.
pub fn resolve(path: &Path) -> Result<Vec<PathBuf>, SnapshotError> {
    let path = tidy_path(path);
    let (true, Some(name)) = (is_plain(&path), path.file_name()) else {
        return Err(SnapshotError::BadPath(path));
    };
    let mut missing = PathBuf::from(name);
    let mut folder = path.parent().unwrap_or(Path::new("/"));
    let real = loop {
        match fs::canonicalize(folder) {
            Ok(real) => break real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A symlink to nowhere is not a missing folder.
                if fs::symlink_metadata(folder).is_ok() {
                    return Err(SnapshotError::DanglingLink(folder.to_path_buf()));
                }
                let (Some(above), Some(name)) = (folder.parent(), folder.file_name()) else {
                    return Err(SnapshotError::BadPath(path));
                };
                missing = PathBuf::from(name);
                folder = above;
            }
            Err(error) => return Err(SnapshotError::io_at(folder)(error)),
        }
    };
    let place = real.join(missing);
    match fs::symlink_metadata(&place) {
        Ok(found) if found.is_symlink() => match fs::canonicalize(&place) {
            Ok(target) => Ok(vec![place, target]),
            Err(_) => Err(SnapshotError::DanglingLink(place)),
        },
        Ok(_) => Ok(vec![place]),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![place]),
        Err(error) => Err(SnapshotError::io_at(&place)(error)),
    }
}

/// All places of several paths, without those that are inside another one.
pub fn resolve_all(paths: &[PathBuf]) -> Result<Vec<PathBuf>, SnapshotError> {
    let mut all = Vec::new();
    for path in paths {
        all.extend(resolve(path)?);
    }
    all.sort();
    let mut roots: Vec<PathBuf> = Vec::new();
    for path in all {
        if !roots.iter().any(|root| path.starts_with(root)) {
            roots.push(path);
        }
    }
    Ok(roots)
}
