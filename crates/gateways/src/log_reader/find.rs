//! Finds log files: in the folders of the agents, or where the user says.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::agents::{AGENTS, AgentDescriptor};
use crate::install::InstallScope;

/// How deep folders are searched, and how many entries in all.
const MAX_LEVELS: usize = 8;
const MAX_ENTRIES: usize = 500_000;

/// A log file.
#[derive(Debug, Clone)]
pub struct LogFile {
    /// Where it is.
    pub path: PathBuf,
    /// The agent whose folder it is in; none for a file that the user named.
    pub agent: Option<&'static AgentDescriptor>,
}

/// The log files that were found.
#[derive(Debug, Default)]
pub struct FoundLogs {
    /// The files, in the order in which they are to be read.
    pub files: Vec<LogFile>,
    /// Whether there were more entries than were looked at.
    pub partial: bool,
    entries: usize,
}

/// The logs in the agents' own folders that were changed since a time, or those that the user
/// named: files, and all `.jsonl` and `.json` files below folders.
pub fn find_logs(
    named: &[PathBuf],
    scope: &InstallScope,
    since: Option<SystemTime>,
) -> std::io::Result<FoundLogs> {
    let mut found = FoundLogs::default();
    for path in named {
        if fs::metadata(path).map_err(|error| with_path(path, &error))?.is_dir() {
            found.search(path, None, &["jsonl", "json"], since, 0);
        } else {
            found.files.push(LogFile { path: path.clone(), agent: None });
        }
    }
    if named.is_empty() {
        for agent in AGENTS {
            let Some(format) = agent.session_log else { continue };
            let from = found.files.len();
            found.search(&(format.folder)(scope), Some(agent), format.extensions, since, 0);
            if let Some(own) = found.files.get_mut(from..) {
                own.sort_by_key(|file| !(format.is_index)(&file.path));
            }
        }
    }
    Ok(found)
}

fn with_path(path: &Path, error: &std::io::Error) -> std::io::Error {
    std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

impl FoundLogs {
    /// Adds the log files below a folder in the order of their names. Symlinks are not followed.
    fn search(
        &mut self,
        folder: &Path,
        agent: Option<&'static AgentDescriptor>,
        extensions: &[&str],
        since: Option<SystemTime>,
        level: usize,
    ) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut paths = Vec::new();
        for entry in entries.flatten() {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                self.partial = true;
                break;
            }
            paths.push(entry.path());
        }
        paths.sort();
        for path in paths {
            let Ok(about) = fs::symlink_metadata(&path) else { continue };
            if about.is_dir() && level < MAX_LEVELS {
                self.search(&path, agent, extensions, since, level + 1);
                continue;
            }
            let has_extension = path
                .extension()
                .and_then(|extension| extension.to_str())
                .is_some_and(|extension| extensions.contains(&extension));
            let changed = about.modified().ok();
            let is_old = since.is_some_and(|since| changed.is_some_and(|changed| changed < since));
            if about.is_file() && has_extension && !is_old {
                self.files.push(LogFile { path, agent });
            }
        }
    }
}
