//! The files with policy rules of the projects that a call belongs to: `.countersign.toml` in every
//! folder at or above the place where the call runs. A nested repository does not hide the file of
//! the project around it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use countersign_types::PROJECT_FILE;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

/// The largest file that is read.
const MAX_PROJECT_FILE: usize = 32 << 10;
/// The most files of one call, and the most text in them.
pub const MAX_PROJECT_FILES: usize = 8;
const MAX_TEXT: usize = 96 << 10;
/// The longest folder name or problem, in bytes.
const MAX_NAME: usize = 4096;
/// How many folders are looked at above a place.
const MAX_LEVELS: usize = 128;

/// What was found about the projects of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectLook {
    /// The repository that the working directory is in, with every symlink resolved. Only the
    /// observer itself knows it.
    #[serde(skip)]
    pub root: Option<String>,
    /// Whether the observer may not enter the working directory.
    #[serde(skip)]
    pub is_hidden: bool,
    /// The files.
    #[serde(default)]
    pub files: Vec<ProjectFile>,
}

/// One file with policy rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectFile {
    /// The folder that it is in, with every symlink resolved.
    pub folder: String,
    /// Its text; none if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl ProjectFile {
    /// Whether the file is as large as an observer may report it.
    pub fn is_bounded(&self) -> bool {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.folder.len() <= MAX_NAME
            && length(&self.text) <= MAX_PROJECT_FILE
            && length(&self.problem) <= MAX_NAME
    }
}

impl ProjectLook {
    /// Looks at the working directory and the project of a call. A folder that this user may not
    /// enter is passed over: it may only hold a file that another observer sees.
    pub fn new(cwd: Option<&Path>, project: Option<&Path>) -> ProjectLook {
        let denied = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        let is_hidden = cwd.is_some_and(|cwd| fs::canonicalize(cwd).is_err_and(denied));
        let mut look = ProjectLook { root: cwd.and_then(root), is_hidden, files: Vec::new() };
        let mut size = 0;
        for (folder, problem) in folders(cwd, project) {
            let read = match problem {
                Some(problem) => Some(Err(problem)),
                None => read(&folder.join(PROJECT_FILE)).transpose(),
            };
            let Some(mut read) = read else { continue };
            let folder = fs::canonicalize(&folder).unwrap_or(folder);
            let folder = folder.to_string_lossy().into_owned();
            if look.files.iter().any(|known| known.folder == folder) {
                continue;
            }
            size += read.as_ref().map_or(0, String::len);
            if size > MAX_TEXT {
                read = Err("the project files of this call are too large together".to_owned());
            }
            let (text, problem) = match read {
                Ok(text) => (Some(text), None),
                Err(problem) => (None, Some(problem)),
            };
            look.files.push(ProjectFile { folder, text, problem });
            if look.files.len() >= MAX_PROJECT_FILES {
                let problem = Some(format!("there are {MAX_PROJECT_FILES} project files or more"));
                if let Some(last) = look.files.last_mut() {
                    (last.text, last.problem) = (None, problem);
                }
                break;
            }
        }
        look
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// Whether a call belongs to a project with a file of policy rules, readable or not.
pub fn has_project_file(cwd: Option<&Path>, project: Option<&Path>) -> bool {
    folders(cwd, project).iter().any(|(folder, problem)| {
        let found = fs::symlink_metadata(folder.join(PROJECT_FILE));
        problem.is_some() || !found.is_err_and(|error| is_out_of_sight(&error))
    })
}

/// The closest folder that has a `.git`, at or above a folder.
fn root(cwd: &Path) -> Option<String> {
    let cwd = fs::canonicalize(cwd).ok().filter(|_| cwd.is_absolute())?;
    let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    cwd.ancestors().take(MAX_LEVELS).find(has_git)?.to_str().map(str::to_owned)
}

/// The folders at and above the places of a call, each with what prevents a look at it.
fn folders(cwd: Option<&Path>, project: Option<&Path>) -> Vec<(PathBuf, Option<String>)> {
    let mut all: Vec<(PathBuf, Option<String>)> = Vec::new();
    for place in [cwd, project].into_iter().flatten().filter(|place| place.is_absolute()) {
        // Behind a symlink, the folders above are others than those that the path names.
        let resolved = fs::canonicalize(place).ok();
        let written = resolved.as_deref() != Some(place);
        let places = resolved.as_deref().into_iter().chain(written.then_some(place));
        for place in places {
            for (level, folder) in place.ancestors().enumerate() {
                if level == MAX_LEVELS {
                    let problem = format!("there are more than {MAX_LEVELS} folders above");
                    all.push((place.to_owned(), Some(problem)));
                    break;
                }
                if !all.iter().any(|(known, _)| known == folder) {
                    all.push((folder.to_owned(), None));
                }
            }
        }
    }
    all
}

/// Whether there is no file, or none that this user could see.
fn is_out_of_sight(error: &io::Error) -> bool {
    let kinds = [
        io::ErrorKind::NotFound,
        io::ErrorKind::NotADirectory,
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::InvalidFilename,
    ];
    kinds.contains(&error.kind())
}

/// The text of a file; none if there is no file.
fn read(path: &Path) -> Result<Option<String>, String> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if is_out_of_sight(&error) => return Ok(None),
        found => found.map_err(|error| error.to_string())?,
    };
    if found.is_symlink() {
        return Err("it is a symbolic link".to_owned());
    }
    if !found.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let file = open(path).map_err(|error| error.to_string())?;
    let text = read_file(&file)?;
    // The times of a file are coarser than a write, so the text is read twice.
    let again = open(path).map_err(|error| error.to_string())?;
    if read_file(&again)? != text {
        return Err("it changed while it was read".to_owned());
    }
    String::from_utf8(text).map(Some).map_err(|_| "it is not UTF-8 text".to_owned())
}

fn open(path: &Path) -> io::Result<File> {
    // Something else may be there since: no link is followed, and a pipe does not block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let flags = i32::try_from(flags.bits()).map_err(|_| io::ErrorKind::Unsupported)?;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn read_file(file: &File) -> Result<Vec<u8>, String> {
    let found = file.metadata().map_err(|error| error.to_string())?;
    if !found.is_file() || found.nlink() == 0 {
        return Err("it was replaced while it was read".to_owned());
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_PROJECT_FILE).unwrap_or(u64::MAX);
    let mut reader = file.take(limit.saturating_add(1));
    reader.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > MAX_PROJECT_FILE {
        return Err(format!("it is larger than {} KiB", MAX_PROJECT_FILE >> 10));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    struct Project {
        _folder: tempfile::TempDir,
        base: PathBuf,
    }

    impl Project {
        fn new() -> Project {
            let folder = tempfile::tempdir().unwrap();
            let base = fs::canonicalize(folder.path()).unwrap();
            for name in ["shop/.git", "shop/src/deep", "shop/vendor/lib/.git", "other"] {
                fs::create_dir_all(base.join(name)).unwrap();
            }
            Project { _folder: folder, base }
        }

        fn look(&self, cwd: &str) -> ProjectLook {
            ProjectLook::new(Some(&self.base.join(cwd)), None)
        }

        fn problem(&self, cwd: &str) -> String {
            let look = self.look(cwd);
            assert_eq!(look.files.len(), 1, "{look:?}");
            look.files[0].problem.clone().unwrap_or_default()
        }
    }

    #[test]
    fn the_file_is_found_from_every_folder_below_it() {
        let project = Project::new();
        let file = project.base.join("shop").join(PROJECT_FILE);
        assert!(project.look("shop").is_empty());
        fs::write(&file, "# rules\n").unwrap();
        // Also from a nested repository, a missing folder and through a symlink.
        symlink(project.base.join("shop/src"), project.base.join("link")).unwrap();
        for cwd in ["shop", "shop/src/deep", "shop/vendor/lib", "shop/gone/too", "link/deep"] {
            let look = project.look(cwd);
            assert_eq!(look.files.len(), 1, "{cwd}: {look:?}");
            assert_eq!(look.files[0].text.as_deref(), Some("# rules\n"), "{cwd}");
            assert_eq!(look.files[0].folder, project.base.join("shop").to_str().unwrap());
            assert!(has_project_file(Some(&project.base.join(cwd)), None), "{cwd}");
        }
        assert!(project.look("other").is_empty());
        assert!(!has_project_file(Some(&project.base.join("other")), None));
        // The session's project counts wherever the call runs.
        let (other, shop) = (project.base.join("other"), project.base.join("shop"));
        assert_eq!(ProjectLook::new(Some(&other), Some(&shop)).files.len(), 1);
        assert!(has_project_file(Some(&other), Some(&shop)));
        let root = |cwd: &str| project.look(cwd).root;
        let shown = |name: &str| Some(project.base.join(name).to_str().unwrap().to_owned());
        assert_eq!(root("shop/src"), shown("shop"));
        assert_eq!(root("shop/vendor/lib"), shown("shop/vendor/lib"));
        assert_eq!(root("link/deep"), shown("shop"));
    }

    #[test]
    fn what_cannot_be_read_is_a_problem_and_not_a_missing_file() {
        let project = Project::new();
        let file = project.base.join("shop").join(PROJECT_FILE);
        symlink("/dev/null", &file).unwrap();
        assert_eq!(project.problem("shop/src"), "it is a symbolic link");
        assert!(has_project_file(Some(&project.base.join("shop/src")), None));
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert_eq!(project.problem("shop"), "it is not a regular file");
        fs::remove_dir(&file).unwrap();
        fs::write(&file, "#".repeat(MAX_PROJECT_FILE + 1)).unwrap();
        assert_eq!(project.problem("shop"), "it is larger than 32 KiB");
        fs::write(&file, [0xff, 0xfe]).unwrap();
        assert_eq!(project.problem("shop"), "it is not UTF-8 text");
        fs::remove_file(&file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
        assert!(made.success());
        assert_eq!(project.problem("shop"), "it is not a regular file");
        fs::remove_file(&file).unwrap();
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
        // The superuser reads it nevertheless.
        if File::open(&file).is_err() {
            assert!(project.problem("shop").contains("denied"));
        }
        assert!(has_project_file(Some(&project.base.join("shop")), None));
    }

    #[test]
    fn many_and_deep_folders_do_not_hide_a_file() {
        let project = Project::new();
        let deep = "d/".repeat(MAX_LEVELS + 1);
        assert!(project.problem(&format!("shop/{deep}")).contains("folders above"));
        let nested: PathBuf = (0..MAX_PROJECT_FILES + 2).map(|at| at.to_string()).collect();
        let nested = project.base.join(nested);
        fs::create_dir_all(&nested).unwrap();
        for folder in nested.ancestors().take(MAX_PROJECT_FILES + 2) {
            fs::write(folder.join(PROJECT_FILE), "").unwrap();
        }
        let look = ProjectLook::new(Some(&nested), None);
        assert_eq!(look.files.len(), MAX_PROJECT_FILES);
        assert!(look.files.iter().any(|file| file.problem.is_some()));
    }
}
