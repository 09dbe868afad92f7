//! Reads files up to a limit, writes them atomically and keeps backups next to them.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::edit::PatchError;

/// The longest file that is accepted as a configuration.
const LONGEST: u64 = 8 * 1024 * 1024;
/// The end of a backup's name, before its number.
const BACKUP: &str = ".countersign-backup-";
/// The largest number of backups of one file.
const MOST_BACKUPS: u32 = 1000;

/// Why an installation stopped.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The file cannot be edited.
    #[error("{}: {why}; nothing was written", path.display())]
    InvalidFile {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The system could not read or write the file.
    #[error("{}: {why}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// This installation is not possible.
    #[error("{0}")]
    Unsupported(String),
}

impl InstallError {
    pub(super) fn io(path: &Path, error: &io::Error) -> InstallError {
        InstallError::Io { path: path.to_owned(), why: error.to_string() }
    }

    pub(super) fn invalid_file(path: &Path, error: PatchError) -> InstallError {
        InstallError::InvalidFile { path: path.to_owned(), why: error.0 }
    }

    /// This installation is not possible, for this reason.
    pub fn unsupported(why: &str) -> InstallError {
        InstallError::Unsupported(why.to_owned())
    }
}

/// The text of a file; `None` if there is no file.
pub fn read(path: &Path) -> Result<Option<String>, InstallError> {
    let failed = |error: &io::Error| InstallError::io(path, error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A dangling link is a mistake that a person has to correct.
            return match fs::symlink_metadata(path) {
                Ok(_) => Err(InstallError::unsupported(&format!(
                    "{}: this link points to a missing file; nothing was written",
                    path.display()
                ))),
                Err(_) => Ok(None),
            };
        }
        Err(error) => return Err(failed(&error)),
    };
    let about = file.metadata().map_err(|error| failed(&error))?;
    if !about.is_file() || about.len() > LONGEST {
        let why = "it is not a regular file, or it is larger than 8 MiB".to_owned();
        return Err(InstallError::InvalidFile { path: path.to_owned(), why });
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| InstallError::InvalidFile {
        path: path.to_owned(),
        why: "it is not UTF-8".to_owned(),
    })?;
    Ok(Some(text))
}

/// The file that a link points to: people link their configurations to another folder.
pub fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether the path itself is a link.
pub fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink())
}

/// Replaces a file atomically: a reader sees the old text or the new one. The mode stays the same.
pub fn write(path: &Path, text: &str) -> Result<(), InstallError> {
    let path = real(path);
    let failed = |error: &io::Error| InstallError::io(&path, error);
    let mode = fs::metadata(&path).map_or(0o600, |about| about.permissions().mode() & 0o7777);
    let fresh = beside(&path, &format!(".countersign-new-{}", std::process::id()));
    let done = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.sync_all()?;
        fs::rename(&fresh, &path)
    })();
    if done.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    done.map_err(|error| failed(&error))
}

/// Creates the folders above a file and returns those that were missing, the outermost first.
pub fn make_folders(path: &Path) -> Result<Vec<PathBuf>, InstallError> {
    let Some(parent) = path.parent() else { return Ok(Vec::new()) };
    let missing: Vec<PathBuf> =
        parent.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    fs::create_dir_all(parent).map_err(|error| InstallError::io(parent, &error))?;
    Ok(missing.into_iter().rev().collect())
}

/// Writes a backup next to a file; an existing backup with the same text is used again.
pub fn back_up(path: &Path, text: &str) -> Result<PathBuf, InstallError> {
    let path = real(path);
    let mode = fs::metadata(&path).map_or(0o600, |about| about.permissions().mode() & 0o7777);
    for number in 1..=MOST_BACKUPS {
        let backup = beside(&path, &format!("{BACKUP}{number}"));
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).mode(0o600).open(&backup) {
            Ok(mut file) => {
                let kept = file
                    .write_all(text.as_bytes())
                    .and_then(|()| file.set_permissions(Permissions::from_mode(mode)))
                    .and_then(|()| file.sync_all());
                return kept
                    .map(|()| backup.clone())
                    .map_err(|error| InstallError::io(&backup, &error));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let same = !is_link(&backup)
                    && fs::read_to_string(&backup).is_ok_and(|there| there == text);
                if same {
                    return Ok(backup);
                }
            }
            Err(error) => return Err(InstallError::io(&backup, &error)),
        }
    }
    Err(InstallError::unsupported(&format!(
        "{}: there are too many backups next to it; remove some",
        path.display()
    )))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_write_follows_links_and_keeps_the_mode() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("dotfiles.json"), folder.path().join("link.json"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let backup = back_up(&link, "old").unwrap();
        write(&link, "new").unwrap();
        assert!(is_link(&link));
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert_eq!((mode(&real), mode(&backup)), (0o640, 0o640));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing else is left");
        // The same text is kept once; another text gets another name.
        assert_eq!(back_up(&link, "old").unwrap(), backup);
        assert_ne!(back_up(&link, "other").unwrap(), backup);
        assert_eq!(fs::read_to_string(&backup).unwrap(), "old");
    }

    #[test]
    fn only_utf8_text_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        assert_eq!(read(&path).unwrap(), None);
        assert!(read(folder.path()).is_err());
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(read(&path).is_err());
        let dangling = folder.path().join("dangling");
        std::os::unix::fs::symlink(folder.path().join("nowhere"), &dangling).unwrap();
        assert!(read(&dangling).unwrap_err().to_string().contains("points to a missing file"));
    }
}
