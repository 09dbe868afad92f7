//! Files that a text wrote, what is in them, and what was in them before.

use std::cell::Cell;

use super::counters::{Counters, Totals};
use crate::flow::{Flow, Taint};

/// How many files are followed.
const MAX_FILES: usize = 64;
/// How many folders from the network are followed.
const MAX_FOLDERS: usize = 16;
/// How many former contents of files are kept.
const MAX_FORMER_FILES: usize = 24;

/// The files that one call wrote.
#[derive(Debug, Default)]
pub(crate) struct WrittenFiles {
    contents: Vec<(String, Flow)>,
    /// What they held before, with the same doubt as for variables.
    former: Vec<(String, Flow)>,
    /// Folders that came from the network.
    fetched: Vec<String>,
    /// More files were written than are followed.
    lost: bool,
    counters: Counters,
    /// How often the content of any file became another.
    content_changes: u32,
    /// How often a file that this text may have written was looked for, or one was written.
    uses: Cell<u32>,
}

/// What was read from a file.
pub(super) struct FileContent {
    /// Its name, if other contents of it are possible.
    pub name: Option<String>,
    pub flow: Flow,
}

impl WrittenFiles {
    fn note_use(&self) {
        self.uses.set(self.uses.get() + 1);
    }

    /// Whether no file was written.
    pub(super) fn is_empty(&self) -> bool {
        self.note_use();
        self.contents.is_empty() && self.fetched.is_empty()
    }

    /// Remembers a folder that came from the network.
    pub fn hold_folder(&mut self, name: String) {
        self.note_use();
        if self.fetched.contains(&name) {
            return;
        }
        self.content_changes += 1;
        if self.fetched.len() < MAX_FOLDERS {
            self.fetched.push(name);
            self.counters.change();
        } else {
            self.lost = true;
            self.counters.edit();
        }
    }

    /// Whether any folder came from the network.
    pub fn has_fetched(&self) -> bool {
        self.note_use();
        !self.fetched.is_empty()
    }

    /// Whether one of these names is in a folder that came from the network.
    pub fn is_below_fetched(&self, names: &[String]) -> bool {
        self.note_use();
        names.iter().any(|name| self.is_fetched(name))
    }

    fn is_fetched(&self, name: &str) -> bool {
        self.fetched.iter().any(|folder| match folder.as_str() {
            "." | "" => !name.starts_with(['/', '~']) && !name.starts_with(".."),
            folder => name.strip_prefix(folder).is_some_and(|below| below.starts_with('/')),
        })
    }

    /// What a file of this name holds.
    pub(super) fn content(&self, name: &str) -> Option<&Flow> {
        self.note_use();
        self.contents.iter().find(|(n, _)| n == name).map(|(_, flow)| flow)
    }

    /// The name of the first written file that passes this test.
    pub fn find_name(&self, test: impl Fn(&str) -> bool) -> Option<&str> {
        self.note_use();
        self.contents.iter().map(|(name, _)| name.as_str()).find(|name| test(name))
    }

    /// What is in a file that has one of these names.
    pub(super) fn read(&mut self, names: &[String]) -> Option<FileContent> {
        self.note_use();
        let mut found = self.contents.iter().filter(|(n, _)| names.contains(n));
        let Some((name, flow)) = found.next().cloned() else {
            if names.iter().any(|name| self.is_fetched(name)) {
                let flow = Flow::unknown(Taint::NET.and(Taint::FILE));
                return Some(FileContent { name: None, flow });
            }
            let unknown = || FileContent { name: None, flow: Flow::unknown(Taint::FILE) };
            return self.lost.then(unknown);
        };
        self.counters.read();
        // Seen from another folder it is another file.
        let others: Vec<Flow> = found.map(|(_, f)| f.clone()).collect();
        for other in others {
            if self.former.len() >= MAX_FORMER_FILES {
                let flow = Flow::unknown(flow.taint.and(other.taint));
                return Some(FileContent { name: None, flow });
            }
            if !self.former.iter().any(|(n, f)| *n == name && f.text == other.text) {
                self.counters.edit();
                self.former.push((name.clone(), other));
            }
        }
        Some(FileContent { name: Some(name), flow })
    }

    /// Remembers what a file now holds.
    pub(super) fn hold(&mut self, name: String, flow: Flow) {
        self.note_use();
        let Some((_, content)) = self.contents.iter_mut().find(|(n, _)| *n == name) else {
            self.content_changes += 1;
            if self.contents.len() < MAX_FILES {
                self.contents.push((name, flow));
                self.counters.change();
            } else {
                self.lost = true;
                self.counters.edit();
            }
            return;
        };
        if content.text == flow.text && content.taint == flow.taint {
            return;
        }
        self.counters.change();
        self.content_changes += 1;
        let old = std::mem::replace(content, flow);
        let known = |(n, f): &(String, Flow)| *n == name && f.text == old.text;
        if self.former.iter().any(known) {
            return;
        }
        if self.former.len() >= MAX_FORMER_FILES {
            *content = Flow::unknown(old.taint.and(content.taint));
            return;
        }
        self.former.push((name, old));
    }

    pub fn has_former(&self) -> bool {
        !self.former.is_empty()
    }

    pub(super) fn has_former_of(&self, name: &str) -> bool {
        self.former.iter().any(|(n, _)| n == name)
    }

    /// The former contents of one file.
    pub(super) fn former_of(&self, name: &str) -> impl Iterator<Item = &Flow> {
        self.former.iter().filter(move |(n, _)| n == name).map(|(_, flow)| flow)
    }

    /// Puts a content in place for another walk, none leaves it; returns what was there.
    pub(super) fn swap(&mut self, name: &str, other: Option<Flow>) -> Option<Flow> {
        self.content_changes += 1;
        let (_, content) = self.contents.iter_mut().find(|(n, _)| n == name)?;
        let now = content.clone();
        if let Some(other) = other {
            *content = other;
        }
        Some(now)
    }

    /// Puts back what `swap` returned; what came in between stays possible. `quiet` says that
    /// nothing came in between: then nothing has changed, unless it cannot be put back.
    pub(super) fn restore(&mut self, name: &str, flow: &Flow, quiet: bool) {
        let (edits, formers) = (self.counters.edits(), self.former.len());
        self.hold(name.to_owned(), flow.clone());
        if quiet && formers == self.former.len() && self.content(name) == Some(flow) {
            self.counters.forget_edits_since(edits);
        }
    }

    pub(super) fn totals(&self) -> Totals {
        self.counters.totals()
    }

    /// How often the content of any file became another.
    pub(super) fn content_changes(&self) -> u32 {
        self.content_changes
    }

    /// How often files were looked for or written.
    pub(super) fn uses(&self) -> u32 {
        self.uses.get()
    }
}
