//! In which folder the next command of a call runs, and which names lead elsewhere.

use std::borrow::Cow;

use super::counters::{Counters, Totals};
use super::folders::Folders;
use crate::context::Context;
use crate::limit::{Excess, Limit};
use crate::paths::workspace::Workspace;
use crate::paths::{LOST, PathAction, PathClass, class_of, normal};
use crate::shell::plain::is_plain;

/// How many links and copies are remembered.
const LINKS: Limit = Limit::new("links and copies", 64);

/// A name that stands for something else.
#[derive(Debug, Clone)]
struct Link {
    name: String,
    target: String,
    /// Only what is in it is the same; deleting the one leaves the other.
    copy: bool,
}

/// Links of one reading of a command, while another is made.
#[derive(Debug, Default)]
pub(crate) struct LinksAside(Vec<Link>);

/// The folders of one call.
#[derive(Debug)]
pub(crate) struct FolderState {
    /// Where the next command may run.
    current: Folders,
    /// Where it may run if the last command failed; none is the same folders.
    failed: Option<Folders>,
    /// Every folder there has been.
    seen: Folders,
    /// Names that stand for something else. Links are only ever added, or set aside for a while.
    links: Vec<Link>,
    /// Counts every change of `links`: equal numbers mean equal links.
    link_version: usize,
    counters: Counters,
}

/// The folder of the next command. It is part of the memo's key, so that setting it is not counted.
impl FolderState {
    pub fn start(ctx: &Context<'_>) -> FolderState {
        FolderState {
            current: Folders::start(ctx),
            failed: None,
            seen: Folders::start(ctx),
            links: Vec::new(),
            link_version: 0,
            counters: Counters::default(),
        }
    }

    /// Where the next command may run.
    pub fn current(&self) -> &Folders {
        &self.current
    }

    /// The next command runs there; returns where it would have run.
    pub fn replace(&mut self, folders: Folders) -> Folders {
        std::mem::replace(&mut self.current, folders)
    }

    /// The next command runs there.
    pub fn set(&mut self, folders: Folders) {
        self.current = folders;
    }

    /// The next command may run there as well.
    pub fn join(&mut self, folders: Folders) {
        self.current.join(folders);
    }

    /// Whether the last command may have left another folder where it failed.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Where the next command may run if the last one failed.
    pub fn take_failed(&mut self) -> Option<Folders> {
        self.failed.take()
    }

    pub fn set_failed(&mut self, failed: Option<Folders>) {
        self.failed = failed;
    }

    /// The next command may also run where it would if the last one failed.
    pub fn join_failed(&mut self) {
        if let Some(failed) = self.failed.take() {
            self.current.join(failed);
        }
    }
}

/// `cd` and links.
impl FolderState {
    /// A command leaves the folder; returns where it was.
    pub fn leave(&mut self) -> Folders {
        self.counters.change();
        let before = self.current.clone();
        self.seen.join(before.clone());
        before
    }

    /// Every folder there has been.
    pub fn seen(&self) -> Folders {
        self.seen.clone()
    }

    /// A command enters one of these folders, which `path` named from `before`: where links lead
    /// there, what they lead to. `may_fail` says that it may have stayed in `before`.
    pub fn enter(&mut self, mut inside: Folders, before: Folders, path: &str, may_fail: bool) {
        let leads_there = |l: &&Link| !l.copy && inside.named.contains(&l.name);
        let targets: Vec<String> =
            self.links.iter().filter(leads_there).map(|l| l.target.clone()).collect();
        for target in targets {
            inside.add(Cow::Owned(target));
        }
        inside.lost |= before.lost && !path.starts_with(['/', '~']);
        self.current = inside;
        self.failed = may_fail.then_some(before);
    }

    /// The names a path may have, seen from where the text began.
    pub(super) fn names_of(&self, path: &str, workspace: &Workspace) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for place in self.current.each() {
            let name = normal(path, place);
            let name = workspace.local(&name).into_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// From now on this name leads to that target.
    pub(super) fn link(
        &mut self,
        name: &str,
        target: &str,
        copy: bool,
        workspace: &Workspace,
    ) -> Result<(), Excess> {
        self.counters.edit();
        let targets = self.names_of(target, workspace);
        let pairs = self.names_of(name, workspace).into_iter();
        let pairs = pairs.flat_map(|n| targets.iter().map(move |t| (n.clone(), t.clone())));
        let mut within = Ok(());
        for (name, target) in pairs {
            // Another name for an ordinary file of the project leads to nothing that matters.
            if name == target || name == "." || is_plain(&target) {
                continue;
            }
            match LINKS.check(self.links.len() + 1) {
                Ok(()) => {
                    self.link_version += 1;
                    self.links.push(Link { name, target, copy });
                }
                Err(excess) => {
                    self.current.lost = true;
                    within = Err(excess);
                }
            }
        }
        within
    }

    /// Whether a name stands for something else that its deletion would hit.
    pub fn has_links(&self) -> bool {
        self.links.iter().any(|link| !link.copy)
    }

    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// The number of the present links, for the memo.
    pub fn link_version(&self) -> usize {
        self.link_version
    }

    /// Takes away the links beyond the first `count`: another reading of the same words begins as
    /// this one did. They have to be put back with `restore_links`.
    pub fn set_links_aside(&mut self, count: usize, aside: &mut LinksAside) {
        if count < self.links.len() {
            self.counters.edit();
            self.link_version += 1;
            aside.0.extend(self.links.split_off(count));
        }
    }

    /// Puts back what other readings have linked.
    pub fn restore_links(&mut self, aside: LinksAside) {
        if !aside.0.is_empty() {
            self.counters.edit();
            self.link_version += 1;
            self.links.extend(aside.0);
        }
    }

    /// The most severe class a path may be, wherever the command runs.
    pub(super) fn class_for(
        &self,
        act: PathAction,
        path: &str,
        workspace: &Workspace,
    ) -> &'static PathClass {
        if self.current.only_start() && self.links.is_empty() {
            return class_of(&workspace.local(path), None);
        }
        let mut worst: Option<&'static PathClass> = None;
        let mut offer = |class: &'static PathClass| {
            if worst.is_none_or(|w| class.cost(act) > w.cost(act)) {
                worst = Some(class);
            }
        };
        if self.current.lost && !path.starts_with(['/', '~']) {
            offer(&LOST);
        }
        for place in self.current.each() {
            let full = normal(path, place);
            offer(class_of(&workspace.local(&full), None));
            for link in self.links.iter().filter(|l| !l.copy || act == PathAction::Read) {
                if let Some(rest) = full.strip_prefix(link.name.as_str())
                    && (rest.is_empty() || rest.starts_with('/'))
                {
                    let target = format!("{}{rest}", link.target.trim_end_matches('/'));
                    offer(class_of(&workspace.local(&target), None));
                    if rest.is_empty() || link.target == "/" {
                        offer(class_of(&format!("{}{rest}", link.target), None));
                    }
                }
            }
        }
        worst.unwrap_or(&LOST)
    }

    pub(super) fn totals(&self) -> Totals {
        self.counters.totals()
    }
}
