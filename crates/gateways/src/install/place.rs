//! Where an agent's files lie: by its own variables, below the home folder, or in a project.

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::Refused;

/// The person's home folder, or one project in it.
pub struct Place {
    home: PathBuf,
    project: Option<PathBuf>,
    variables: Box<Variables>,
}

/// One variable of the environment, if it is set.
type Variables = dyn Fn(&str) -> Option<String>;

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("home", &self.home).finish_non_exhaustive()
    }
}

impl Place {
    /// By the variables of the environment; with a project, that project's own files are meant.
    pub fn new(
        project: Option<&Path>,
        variables: impl Fn(&str) -> Option<String> + 'static,
    ) -> Result<Place, Refused> {
        let home = variables("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let home = home.ok_or_else(|| Refused::cannot("HOME names no folder"))?;
        let project = match project {
            Some(folder) => {
                Some(fs::canonicalize(folder).map_err(|error| Refused::io(folder, &error))?)
            }
            None => None,
        };
        Ok(Place { home, project, variables: Box::new(variables) })
    }

    /// The project, where one is meant.
    pub fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// What an agent's files are called here in the record: a person's and a project's gate may
    /// both need something in one file.
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

    /// A variable of the environment, where it says something.
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.variables)(name).filter(|value| !value.trim().is_empty())
    }

    /// A folder by its variable, or below the home folder.
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

/// Whether a file could be started.
pub fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
