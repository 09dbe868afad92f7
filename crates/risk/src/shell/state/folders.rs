//! A set of folders in which a command may run.

use std::borrow::Cow;

use super::real_folder::{RealFolder, below};
use crate::context::Context;
use crate::paths::workspace::Workspace;
use crate::paths::{class_of, normal};
use countersign_shell::UNKNOWN;
use countersign_types::tier::Tier;

/// How many folders are followed at once.
const MAX_FOLDERS: usize = 12;

/// A set of folders. `cd` may fail, and a branch may not run: more than one is possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders {
    /// Where the text began, or a folder that is not known.
    start: bool,
    pub(super) named: Vec<String>,
    /// More than are followed.
    pub(super) lost: bool,
    real: RealFolder,
    /// One of them is not known.
    unknown: bool,
}

impl Folders {
    pub(super) fn start(ctx: &Context<'_>) -> Folders {
        let real = RealFolder::Known(String::new());
        let (start, lost, unknown) = (true, false, false);
        let mut folders = Folders { start, named: Vec::new(), lost, unknown, real };
        // A project may be anywhere, but hardly where a star is everything.
        if let Some(cwd) = ctx.cwd
            && class_of("*", Some(cwd)).delete_tree == Tier::Critical
        {
            folders.named.push(normal(cwd, None).into_owned());
        }
        if !ctx.folders.is_empty() {
            folders.named.extend_from_slice(ctx.folders);
            folders.real = RealFolder::Unknown;
        }
        folders
    }

    /// Behind `exit`.
    pub fn nowhere() -> Folders {
        let (start, lost, unknown, real) = (false, false, false, RealFolder::Nowhere);
        Folders { start, named: Vec::new(), lost, unknown, real }
    }

    /// The same folders, without knowing which of them it is.
    pub fn without_real_folder(self) -> Folders {
        Folders { real: RealFolder::Unknown, ..self }
    }

    /// A path of the next command as the file system knows it, relative to where the text began.
    pub fn real_path(&self, path: &str) -> Option<String> {
        match &self.real {
            _ if path.starts_with(['/', '~']) => Some(path.to_owned()),
            RealFolder::Known(folder) => Some(below(folder, path)),
            RealFolder::Nowhere | RealFolder::Unknown => None,
        }
    }

    pub fn is_nowhere(&self) -> bool {
        !self.start && !self.lost && self.named.is_empty()
    }

    /// Whether not all of them are known.
    pub fn is_unknown(&self) -> bool {
        self.unknown || self.lost || self.is_nowhere()
    }

    /// Whether it can only be the folder in which the text starts.
    pub fn only_start(&self) -> bool {
        self.start && !self.lost && self.named.is_empty()
    }

    /// The only folder that it can be, if that is not the start.
    pub fn only_named(&self) -> Option<&str> {
        match &*self.named {
            [name] if !self.start && !self.is_unknown() => Some(name),
            _ => None,
        }
    }

    /// The folders other than the start. More than are followed may be anywhere.
    pub fn entered_names(&self) -> Vec<String> {
        let mut names = self.named.clone();
        if self.lost {
            names.push("/".to_owned());
        }
        names
    }

    pub fn add(&mut self, place: Cow<'_, str>) {
        self.real = RealFolder::Unknown;
        if place.contains(UNKNOWN) || place == "." {
            self.unknown |= place != ".";
            self.start = true;
        } else if self.named.len() >= MAX_FOLDERS || place.len() > 1024 {
            self.lost = true;
        } else if !self.named.iter().any(|n| *n == *place) {
            self.named.push(place.into_owned());
        }
    }

    pub fn join(&mut self, other: Folders) {
        self.start |= other.start;
        self.lost |= other.lost;
        let mut real = self.real.clone();
        real.join(other.real);
        self.unknown |= other.unknown;
        if self.named.is_empty() {
            self.real = real;
            self.named = other.named;
            return;
        }
        for name in other.named {
            self.add(Cow::Owned(name));
        }
        self.real = real;
    }

    /// Every folder; none stands for the start.
    pub fn each(&self) -> impl Iterator<Item = Option<&str>> {
        let start = (self.start || self.named.is_empty()).then_some(None);
        start.into_iter().chain(self.named.iter().map(|n| Some(n.as_str())))
    }

    /// The folders that these paths may be, seen from each folder of this set.
    pub fn entered(&self, paths: &[String], workspace: &Workspace) -> Folders {
        let mut inside = Folders::nowhere();
        for place in self.each() {
            for path in paths {
                inside.add(workspace.local(&normal(path, place)));
            }
        }
        inside.real = match paths {
            [path] => self.real.entered(path),
            _ => RealFolder::Unknown,
        };
        inside
    }
}
