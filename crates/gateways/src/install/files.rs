//! Files read with a limit and written whole, with what was there kept beside them.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::Misread;

/// Longest file that is taken for a configuration.
const LONGEST: u64 = 8 * 1024 * 1024;
/// How a backup's name ends, before its number.
const BACKUP: &str = ".countersign-backup-";
/// Most backups of one file.
const MOST_BACKUPS: u32 = 1000;

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// A file that cannot be understood.
    #[error("{}: {why}; nothing was written", path.display())]
    Misread {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The system said no.
    #[error("{}: {why}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// It cannot be done this way.
    #[error("{0}")]
    Cannot(String),
}

impl Refused {
    pub(super) fn io(path: &Path, error: &io::Error) -> Refused {
        Refused::Io { path: path.to_owned(), why: error.to_string() }
    }

    pub(super) fn misread(path: &Path, misread: Misread) -> Refused {
        Refused::Misread { path: path.to_owned(), why: misread.0 }
    }

    /// It cannot be done this way.
    pub fn cannot(why: &str) -> Refused {
        Refused::Cannot(why.to_owned())
    }
}

/// A file's text; `None` where there is no file.
pub fn read(path: &Path) -> Result<Option<String>, Refused> {
    let failed = |error: &io::Error| Refused::io(path, error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A link that leads nowhere is somebody's mistake, not an invitation.
            return match fs::symlink_metadata(path) {
                Ok(_) => Err(Refused::cannot(&format!(
                    "{}: this link leads nowhere; nothing was written",
                    path.display()
                ))),
                Err(_) => Ok(None),
            };
        }
        Err(error) => return Err(failed(&error)),
    };
    let about = file.metadata().map_err(|error| failed(&error))?;
    if !about.is_file() || about.len() > LONGEST {
        let why = "this is no configuration file".to_owned();
        return Err(Refused::Misread { path: path.to_owned(), why });
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| Refused::Misread {
        path: path.to_owned(),
        why: "it is not UTF-8".to_owned(),
    })?;
    Ok(Some(text))
}

/// The file that a name leads to: people link their configurations to where they keep them.
pub fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether the name itself is a link.
pub fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink())
}

/// Writes a file as a whole: what reads it sees the old text or the new one. Its mode stays.
pub fn write(path: &Path, text: &str) -> Result<(), Refused> {
    let path = real(path);
    let failed = |error: &io::Error| Refused::io(&path, error);
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

/// Makes the folders above a file. Says which ones were missing, the outermost first.
pub fn make_folders(path: &Path) -> Result<Vec<PathBuf>, Refused> {
    let Some(parent) = path.parent() else { return Ok(Vec::new()) };
    let missing: Vec<PathBuf> =
        parent.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    fs::create_dir_all(parent).map_err(|error| Refused::io(parent, &error))?;
    Ok(missing.into_iter().rev().collect())
}

/// Keeps a file's text beside it, once: a backup of the same text is used again.
pub fn keep(path: &Path, text: &str) -> Result<PathBuf, Refused> {
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
                return kept.map(|()| backup.clone()).map_err(|error| Refused::io(&backup, &error));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let same = !is_link(&backup)
                    && fs::read_to_string(&backup).is_ok_and(|there| there == text);
                if same {
                    return Ok(backup);
                }
            }
            Err(error) => return Err(Refused::io(&backup, &error)),
        }
    }
    Err(Refused::cannot(&format!("{}: too many backups; remove some", path.display())))
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
        let backup = keep(&link, "old").unwrap();
        write(&link, "new").unwrap();
        assert!(is_link(&link));
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert_eq!((mode(&real), mode(&backup)), (0o640, 0o640));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing else is left");
        // The same text is kept once, another one beside it.
        assert_eq!(keep(&link, "old").unwrap(), backup);
        assert_ne!(keep(&link, "other").unwrap(), backup);
        assert_eq!(fs::read_to_string(&backup).unwrap(), "old");
    }

    #[test]
    fn what_is_no_text_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        assert_eq!(read(&path).unwrap(), None);
        assert!(read(folder.path()).is_err());
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(read(&path).is_err());
        let dangling = folder.path().join("dangling");
        std::os::unix::fs::symlink(folder.path().join("nowhere"), &dangling).unwrap();
        assert!(read(&dangling).unwrap_err().to_string().contains("leads nowhere"));
    }
}
