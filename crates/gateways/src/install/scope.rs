//! Where an agent's files are: by its own variables, below the home folder, or in a project.

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::files::InstallError;

/// The files of a user, or those of one project.
pub struct InstallScope {
    home: PathBuf,
    project: Option<PathBuf>,
    variables: Box<LookUpVariable>,
}

/// The value of an environment variable, if it is set.
type LookUpVariable = dyn Fn(&str) -> Option<String>;

impl fmt::Debug for InstallScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstallScope").field("home", &self.home).finish_non_exhaustive()
    }
}

impl InstallScope {
    /// The user's files, or with a project, that project's own files.
    pub fn new(
        project: Option<&Path>,
        variables: impl Fn(&str) -> Option<String> + 'static,
    ) -> Result<InstallScope, InstallError> {
        let home = variables("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let unset = "the variable HOME is not set to an absolute path; set it to your home folder";
        let home = home.ok_or_else(|| InstallError::unsupported(unset))?;
        let project = match project {
            Some(folder) => {
                Some(fs::canonicalize(folder).map_err(|error| InstallError::io(folder, &error))?)
            }
            None => None,
        };
        Ok(InstallScope { home, project, variables: Box::new(variables) })
    }

    /// The project, in the scope of a project.
    pub fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// The key of an agent's files in the install record. The gates of a user and of a project may
    /// both edit the same file.
    pub fn key(&self, agent: &str) -> String {
        match &self.project {
            None => agent.to_owned(),
            Some(project) => format!("{agent} in {}", project.display()),
        }
    }

    /// The home folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The folder in which the agent would be started: the project, or else the home folder.
    pub fn working_folder(&self) -> &Path {
        self.project().unwrap_or(&self.home)
    }

    /// An environment variable, if it is set and not blank.
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.variables)(name).filter(|value| !value.trim().is_empty())
    }

    /// The folder that a variable names, or else a folder below the home folder.
    pub fn folder(&self, variable: &str, below_home: &str) -> PathBuf {
        let named = self.variable(variable).map(PathBuf::from);
        named.filter(|path| path.is_absolute()).unwrap_or_else(|| self.home.join(below_home))
    }

    /// The first of these programs on the PATH.
    pub fn program(&self, names: &[&str]) -> Option<PathBuf> {
        let path = self.variable("PATH")?;
        let folders = path.split(':').map(Path::new).filter(|folder| folder.is_absolute());
        let mut found = folders.flat_map(|folder| names.iter().map(|name| folder.join(name)));
        found.find(|path| is_program(path))
    }
}

/// Whether a file can be executed.
pub fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
