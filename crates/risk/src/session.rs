//! What a session did before, as far as it changes how a later call is assessed.
//!
//! The memory holds the files that approved calls of the session wrote, with their content where it
//! is known, the folders that they fetched, the names of the secrets that they showed, and what a
//! person answered for the rest of the session. A script that was written or downloaded in one call
//! and run in a later one is assessed by its content, as if both were one call. The memory is plain
//! data: the caller keeps it and adds only calls that ran.

mod shown_secrets;

use std::collections::VecDeque;

use countersign_json::canonical::Digest;
use countersign_redact::redact_text;
use serde::{Deserialize, Serialize};

pub use crate::session_trace::{ContentChange, FileOrigin, FileWrite, SessionTrace};
use shown_secrets::ShownSecrets;

/// How many files are remembered. Once there are more, a script that is not remembered asks.
const MAX_FILES: usize = 2_000;
/// How many bytes of text are remembered in all; the oldest texts are forgotten first.
const MAX_BYTES: usize = 1024 * 1024;
/// How many bytes of one file are remembered; a longer one asks when it is run.
const MAX_TEXT: usize = 64 * 1024;
/// How many possible contents of one file are remembered.
const MAX_VERSIONS: usize = 4;
/// How many folders from the network are remembered. Once there are more, a script that is not
/// remembered asks.
const MAX_FETCHED: usize = 64;
/// How many answers are remembered.
const MAX_ANSWERED: usize = 1_024;

/// A file that the session wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberedFile {
    path: String,
    /// Every content it may have.
    texts: Vec<String>,
    /// The texts are only parts of the file.
    partial: bool,
    /// Its text was known and is forgotten.
    forgotten: bool,
    /// Where the content came from.
    pub origin: FileOrigin,
}

impl RememberedFile {
    /// Every text the file may hold. Empty if none is known.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Whether the texts are only parts of it.
    pub fn is_partial(&self) -> bool {
        self.partial
    }

    /// Whether its text was known once and is known no longer.
    pub fn is_forgotten(&self) -> bool {
        self.forgotten
    }

    fn size(&self) -> usize {
        self.texts.iter().map(String::len).sum::<usize>() + self.path.len()
    }

    fn change(&mut self, change: ContentChange) {
        match change {
            ContentChange::Whole(text) => {
                self.partial = false;
                self.forgotten = false;
                self.texts.clear();
                self.texts.extend(text);
            }
            ContentChange::Append(Some(text)) if self.partial || !self.texts.is_empty() => {
                if self.partial {
                    self.texts.push(text);
                } else {
                    self.texts.iter_mut().for_each(|known| known.push_str(&text));
                }
            }
            ContentChange::Append(Some(text)) | ContentChange::Part(text) => {
                self.partial = true;
                self.texts.push(text);
            }
            ContentChange::Append(None) => {
                self.partial = true;
            }
            ContentChange::Replace { old, new } => {
                let whole = !self.partial && !old.is_empty();
                let fits = whole && self.texts.iter().any(|known| known.contains(&old));
                if fits {
                    for known in &mut self.texts {
                        *known = known.replace(&old, &new);
                    }
                } else {
                    self.partial = true;
                    self.texts.push(new);
                }
            }
        }
        let long = self.texts.iter().any(|text| text.len() > MAX_TEXT);
        if long || self.texts.len() > MAX_VERSIONS * 4 {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.texts.clear();
        self.forgotten = true;
    }
}

/// What one session did before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMemory {
    files: VecDeque<RememberedFile>,
    /// Keys of what a person answered for the rest of the session.
    answered: VecDeque<String>,
    /// More files were written than are remembered.
    lost: bool,
    /// Folders that were cloned or unpacked from the network.
    #[serde(default)]
    fetched: Vec<String>,
    /// The secrets that were shown.
    #[serde(default)]
    secrets: ShownSecrets,
}

impl SessionMemory {
    /// The memory of a session that cannot be read any more: every script that it may have written
    /// asks, and every call with which a secret could leave.
    pub fn unreadable() -> SessionMemory {
        let secrets = ShownSecrets::unknown();
        SessionMemory { lost: true, secrets, ..SessionMemory::default() }
    }

    /// The memory as it may be written to a disk: without secrets. A script that contained one has
    /// another digest then, so that no answer covers it.
    #[must_use]
    pub fn redacted(&self) -> SessionMemory {
        let mut redacted = self.clone();
        redacted.secrets.redact();
        for folder in &mut redacted.fetched {
            *folder = redact_text(folder).text.into_owned();
        }
        for file in &mut redacted.files {
            file.path = redact_text(&file.path).text.into_owned();
            for text in &mut file.texts {
                *text = redact_text(text).text.into_owned();
            }
        }
        redacted
    }

    /// The memory as it was read from a disk, within its bounds.
    #[must_use]
    pub fn restored(mut self) -> SessionMemory {
        self.answered.clear();
        self.shrink();
        self.secrets.shrink();
        let fetched = std::mem::take(&mut self.fetched);
        self.add_fetched(&fetched);
        self
    }

    /// Notes that the session did what is not remembered.
    pub fn lose(&mut self) {
        self.lost = true;
        self.secrets = ShownSecrets::unknown();
    }

    /// Adds what a call left behind. To be called only for calls that ran.
    pub fn add(&mut self, trace: &SessionTrace) {
        self.wrote(&trace.writes);
        self.lost |= trace.lost;
        self.add_fetched(&trace.fetched);
        trace.secrets.iter().for_each(|name| self.secrets.add(name));
    }

    fn add_fetched(&mut self, folders: &[String]) {
        for folder in folders {
            if self.fetched.contains(folder) {
                continue;
            }
            if self.fetched.len() < MAX_FETCHED {
                self.fetched.push(folder.clone());
            } else {
                self.lost = true;
            }
        }
    }

    /// The folder from the network that a path is in, if the session fetched one there.
    pub(crate) fn fetched_folder(&self, path: &str) -> Option<&str> {
        let holds = |folder: &&String| {
            path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        self.fetched.iter().find(holds).map(String::as_str)
    }

    /// The secrets that the session showed to its agent.
    pub(crate) fn secrets(&self) -> &ShownSecrets {
        &self.secrets
    }

    fn wrote(&mut self, writes: &[FileWrite]) {
        for (at, write) in writes.iter().enumerate() {
            let before = writes.get(..at).unwrap_or_default();
            self.write(write, before.iter().any(|other| other.path == write.path));
        }
        self.shrink();
    }

    fn write(&mut self, write: &FileWrite, again: bool) {
        let at = self.files.iter().position(|file| file.path == write.path);
        let mut file = at.and_then(|at| self.files.remove(at)).unwrap_or_else(|| RememberedFile {
            path: write.path.clone(),
            texts: Vec::new(),
            partial: false,
            forgotten: false,
            origin: FileOrigin::default(),
        });
        match &write.change {
            // One call that writes a file twice may leave it in either way.
            ContentChange::Whole(text) if again => {
                file.partial |= text.is_none();
                if let Some(text) = text.as_ref().filter(|text| !file.texts.contains(text)) {
                    if file.texts.len() < MAX_VERSIONS {
                        file.texts.push(text.clone());
                    } else {
                        file.forget();
                    }
                }
                file.origin = file.origin.and(write.origin);
            }
            change @ ContentChange::Whole(_) => {
                file.change(change.clone());
                file.origin = write.origin;
            }
            change => {
                file.change(change.clone());
                file.origin = file.origin.and(write.origin);
            }
        }
        self.files.push_back(file);
    }

    /// The file of this name, if the session wrote it.
    pub fn file(&self, path: &str) -> Option<&RememberedFile> {
        self.files.iter().rev().find(|file| file.path == path)
    }

    /// Whether the session did nothing that is remembered.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.fetched.is_empty() && !self.secrets.is_any()
    }

    /// Whether files were written that are not remembered.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// All files that the session wrote.
    pub fn files(&self) -> impl Iterator<Item = (&str, &RememberedFile)> {
        self.files.iter().map(|file| (file.path.as_str(), file))
    }

    pub(crate) fn note_answer(&mut self, key: &Digest) {
        if !self.is_answered(key) {
            self.answered.push_back(key.to_string());
            if self.answered.len() > MAX_ANSWERED {
                self.answered.pop_front();
            }
        }
    }

    pub(crate) fn is_answered(&self, key: &Digest) -> bool {
        let key = key.to_string();
        self.answered.contains(&key)
    }

    fn shrink(&mut self) {
        while self.files.len() > MAX_FILES {
            self.files.pop_front();
            self.lost = true;
        }
        let mut size: usize = self.files.iter().map(RememberedFile::size).sum();
        for file in &mut self.files {
            if size <= MAX_BYTES {
                return;
            }
            if !file.texts.is_empty() {
                size -= file.size() - file.path.len();
                file.forget();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &str, change: ContentChange) -> FileWrite {
        FileWrite { path: path.to_owned(), change, origin: FileOrigin::default() }
    }

    fn texts(memory: &SessionMemory, path: &str) -> Vec<String> {
        memory.file(path).map(|file| file.texts().to_vec()).unwrap_or_default()
    }

    #[test]
    fn later_changes_are_followed() {
        let mut memory = SessionMemory::default();
        let mut change = |change| memory.wrote(&[write("a", change)]);
        change(ContentChange::Whole(Some("one two".to_owned())));
        change(ContentChange::Replace { old: "two".to_owned(), new: "three".to_owned() });
        change(ContentChange::Append(Some("\nfour".to_owned())));
        assert_eq!(texts(&memory, "a"), ["one three\nfour"]);
    }

    #[test]
    fn an_edit_of_an_unknown_file_keeps_its_new_lines() {
        let mut memory = SessionMemory::default();
        let edit = ContentChange::Replace { old: "x".to_owned(), new: "rm -rf ~".to_owned() };
        memory.wrote(&[write("a.sh", edit)]);
        assert_eq!(texts(&memory, "a.sh"), ["rm -rf ~"]);
    }

    #[test]
    fn a_call_that_writes_a_file_twice_may_leave_either_text() {
        let mut memory = SessionMemory::default();
        let text = |text: &str| write("a", ContentChange::Whole(Some(text.to_owned())));
        memory.wrote(&[text("one"), text("two")]);
        assert_eq!(texts(&memory, "a"), ["one", "two"]);
        memory.wrote(&[text("three")]);
        assert_eq!(texts(&memory, "a"), ["three"]);
    }

    #[test]
    fn memory_is_bounded_and_says_what_it_forgot() {
        let mut memory = SessionMemory::default();
        let text = "x".repeat(MAX_TEXT);
        for i in 0..=MAX_FILES {
            let change = ContentChange::Whole(Some(text.clone()));
            memory.wrote(&[write(&format!("f{i}"), change)]);
        }
        assert_eq!(memory.files.len(), MAX_FILES);
        assert!(memory.is_lost() && memory.file("f5").unwrap().is_forgotten());
        assert!(memory.files.iter().map(RememberedFile::size).sum::<usize>() <= 2 * MAX_BYTES);
        assert_eq!(texts(&memory, &format!("f{MAX_FILES}")), [text]);
    }
}
