//! Where to look for the rules of the projects of a call.

use std::io;
use std::path::{Path, PathBuf};

use countersign_facts::ProjectLook;

/// Where to look for the rules of a call.
pub(super) struct PlacesToLook {
    /// The working directory.
    pub cwd: Option<PathBuf>,
    /// The project's root folder.
    pub project: Option<PathBuf>,
    /// What the caller found.
    pub observed: Option<ProjectLook>,
    /// Whether the kernel says who asks.
    pub is_local: bool,
    /// Whether nobody looked who can enter the folder: a person edited the call.
    pub is_unseen: bool,
}

impl PlacesToLook {
    /// The places as they are named.
    pub(super) fn named(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let folders = self.observed.iter().flat_map(|look| &look.files);
        let folders = folders.map(|file| PathBuf::from(&file.folder));
        self.cwd.iter().chain(&self.project).cloned().chain(folders)
    }

    /// Whether a folder is at or above a place of the call, which the card names.
    pub(super) fn is_around(&self, folder: &str) -> bool {
        let mut places = self.cwd.iter().chain(&self.project);
        Path::new(folder).is_absolute() && places.any(|place| place.starts_with(folder))
    }

    /// The place that the daemon may not enter, if it is the only one who looks. `is_hidden`:
    /// whether that is the working directory.
    pub(super) fn unseen_place(&self, is_hidden: bool) -> Option<String> {
        let denied = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        let project = self.project.as_ref();
        let project = project.filter(|place| place.canonicalize().is_err_and(denied));
        let place = self.cwd.as_ref().filter(|_| is_hidden).or(project);
        place.filter(|_| self.is_unseen).map(|place| place.display().to_string())
    }

    /// The places, also with their symlinks resolved.
    pub(super) fn places(&self, root: Option<&str>) -> Vec<PathBuf> {
        let named = [self.cwd.as_deref(), self.project.as_deref(), root.map(Path::new)];
        let files = self.observed.iter().flat_map(|look| &look.files);
        let folders = files.map(|file| Path::new(&file.folder));
        let all = named.into_iter().flatten().chain(folders);
        all.flat_map(|place| [Some(place.to_owned()), place.canonicalize().ok()])
            .flatten()
            .collect()
    }
}
