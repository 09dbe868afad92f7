//! In which folders a command may run, as `cd` and what stands around it leave them.

use std::borrow::Cow;

use super::expand::Arg;
use super::invocation::Invocation;
use super::plain::is_plain;
use super::walk::{Shared, Walker};
use crate::context::Context;
use crate::limit::Limit;
use crate::paths::{Act, LOST, PathClass, UNKNOWN, class_of, normal};
use countersign_types::tier::Tier;

/// How many folders are followed at once.
const MAX_FOLDERS: usize = 12;
/// How many links and copies are remembered.
const LINKS: Limit = Limit::new("links and copies", 64);

/// A set of folders. `cd` may fail, and a branch may not run: more than one is possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Folders {
    /// Where the text began, or a folder nobody can tell.
    start: bool,
    named: Vec<String>,
    /// More than are followed.
    lost: bool,
}

/// A name that stands for something else.
#[derive(Debug, Clone)]
pub(super) struct Link {
    name: String,
    target: String,
    /// Only what is in it is the same; deleting the one leaves the other.
    copy: bool,
}

impl Folders {
    pub fn start(ctx: &Context<'_>) -> Folders {
        let mut folders = Folders { start: true, named: Vec::new(), lost: false };
        // A project may lie anywhere, but hardly where a star is everything.
        if let Some(cwd) = ctx.cwd
            && class_of("*", Some(cwd)).delete_tree == Tier::Critical
        {
            folders.named.push(normal(cwd, None).into_owned());
        }
        folders
    }

    /// Behind `exit`.
    pub fn nowhere() -> Folders {
        Folders { start: false, named: Vec::new(), lost: false }
    }

    pub fn is_nowhere(&self) -> bool {
        !self.start && !self.lost && self.named.is_empty()
    }

    fn only_start(&self) -> bool {
        self.start && !self.lost && self.named.is_empty()
    }

    pub fn add(&mut self, place: Cow<'_, str>) {
        if place.contains(UNKNOWN) || place == "." {
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
        if self.named.is_empty() {
            self.named = other.named;
            return;
        }
        for name in other.named {
            self.add(Cow::Owned(name));
        }
    }

    /// Every folder; none stands for the start.
    pub fn each(&self) -> impl Iterator<Item = Option<&str>> {
        let start = (self.start || self.named.is_empty()).then_some(None);
        start.into_iter().chain(self.named.iter().map(|n| Some(n.as_str())))
    }
}

impl Shared<'_, '_> {
    /// The gravest class a path may be, wherever the command runs.
    pub fn class_for(&self, act: Act, path: &str) -> &'static PathClass {
        if self.folders.only_start() && self.links.is_empty() {
            return class_of(path, None);
        }
        let mut worst: Option<&'static PathClass> = None;
        let mut offer = |class: &'static PathClass| {
            if worst.is_none_or(|w| class.cost(act) > w.cost(act)) {
                worst = Some(class);
            }
        };
        if self.folders.lost && !path.starts_with(['/', '~']) {
            offer(&LOST);
        }
        for place in self.folders.each() {
            let full = normal(path, place);
            offer(class_of(&full, None));
            for link in self.links.iter().filter(|l| !l.copy || act == Act::Read) {
                if let Some(rest) = full.strip_prefix(link.name.as_str())
                    && (rest.is_empty() || rest.starts_with('/'))
                {
                    offer(class_of(&format!("{}{rest}", link.target.trim_end_matches('/')), None));
                    if rest.is_empty() || link.target == "/" {
                        offer(class_of(&format!("{}{rest}", link.target), None));
                    }
                }
            }
        }
        worst.unwrap_or(&LOST)
    }

    /// The names a path may have, seen from where the text began.
    pub fn names_of(&self, path: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for place in self.folders.each() {
            let name = normal(path, place).into_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// From now on this name leads to that target.
    pub fn link(&mut self, name: &str, target: &str, copy: bool) {
        self.edits += 1;
        let targets = self.names_of(target);
        let pairs = self.names_of(name).into_iter();
        for (name, target) in
            pairs.flat_map(|n| targets.iter().map(move |t| (n.clone(), t.clone())))
        {
            // Another name for an ordinary file of the project leads to nothing that matters.
            if name == target || name == "." || is_plain(&target) {
                continue;
            }
            match LINKS.check(self.links.len() + 1) {
                Ok(()) => self.links.push(Link { name, target, copy }),
                Err(excess) => {
                    self.folders.lost = true;
                    self.exceeded(excess, None);
                }
            }
        }
    }
}

impl<'t> Walker<'t, '_, '_, '_> {
    /// `cd`, `pushd`, `popd`.
    pub(super) fn enter(&mut self, args: &[Arg<'t>]) {
        let word = args.iter().skip(1).find(|a| !is_option(&a.text)).map(|a| a.text.to_string());
        let pops = args.first().is_some_and(|a| a.text == "popd" || a.text == "pushd");
        let back = match word.as_deref() {
            Some(word) => word == "-" || pops && word.starts_with(['+', '-']),
            None => pops,
        };
        let before = self.shared.folders.clone();
        self.shared.seen.join(before.clone());
        self.shared.changed();
        if back {
            // Where one came from: any folder there has been, or what `OLDPWD` says.
            let mut seen = self.shared.seen.clone();
            if let Some((old, _)) = self.lookup("OLDPWD") {
                seen.add(normal(&old, None));
            }
            self.shared.folders = seen;
            self.shared.failed = Some(before);
            return;
        }
        let target = match word {
            Some(word) => word,
            None => self.lookup("HOME").map_or_else(|| "~".to_owned(), |(home, _)| home),
        };
        let mut inside = Folders::nowhere();
        let mut paths = vec![target.clone()];
        if !target.starts_with(['/', '~', '.'])
            && let Some((roots, _)) = self.lookup("CDPATH")
        {
            paths.extend(roots.split(':').map(|root| format!("{root}/{target}")));
        }
        for place in before.each() {
            for path in &paths {
                inside.add(normal(path, place));
            }
        }
        let led: Vec<String> = self
            .shared
            .links
            .iter()
            .filter(|l| !l.copy && inside.named.contains(&l.name))
            .map(|l| l.target.clone())
            .collect();
        for target in led {
            inside.add(Cow::Owned(target));
        }
        inside.lost |= before.lost && !target.starts_with(['/', '~']);
        // These are always there.
        let sure = matches!(target.as_str(), "/" | "/tmp" | "." | "..");
        self.shared.folders = inside;
        self.shared.failed = (!sure).then_some(before);
    }
}

impl<'t> Walker<'t, '_, '_, '_> {
    /// `env -C /`, `git -C /`, `sudo --chdir=/`: there as well as here; returns where it was.
    pub(super) fn elsewhere_by_option(&mut self, inv: &Invocation<'_, 't>) -> Option<Folders> {
        const GOES: [&str; 6] = ["-C", "-D", "--chdir", "--directory", "--cwd", "--work-tree"];
        let (_, value) = inv.values.iter().find(|(n, _)| GOES.contains(n))?;
        let before = self.shared.folders.clone();
        let mut inside = before.clone();
        for place in before.each() {
            inside.add(normal(value.text, place));
        }
        self.shared.folders = inside;
        Some(before)
    }
}

impl Shared<'_, '_> {
    /// A file of this name that this text wrote.
    pub fn program_file(&self, name: &str) -> Option<String> {
        let named = |path: &str| path.strip_suffix(name).is_some_and(|p| p.ends_with('/'));
        self.files.iter().find(|(path, _)| named(path)).map(|(path, _)| path.clone())
    }
}

fn is_option(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-') && !text.ends_with(|c: char| c.is_ascii_digit())
}
