//! What a session did before, as far as it changes how a later call is assessed.
//!
//! The memory holds the files that approved calls of the session wrote, with their content where it
//! is known, and what a person answered for the rest of the session. A script that was written or
//! downloaded in one call and run in a later one is assessed by its content, as if both were one
//! call. The memory is plain data: the caller keeps it and adds only calls that ran.

use std::collections::VecDeque;

use countersign_json::canonical::Digest;
use serde::{Deserialize, Serialize};

use crate::question::Question;

/// How many files are remembered. Once there are more, a script that is not remembered asks.
const MAX_FILES: usize = 2_000;
/// How many bytes of text are remembered in all; the oldest texts are forgotten first.
const MAX_BYTES: usize = 1024 * 1024;
/// How many bytes of one file are remembered; a longer one asks when it is run.
const MAX_TEXT: usize = 64 * 1024;
/// How many possible contents of one file are remembered.
const MAX_VERSIONS: usize = 4;
/// How many files of one call are noted.
const MAX_NOTED: usize = 64;
/// How many answers are remembered.
const MAX_ANSWERED: usize = 1_024;

/// Where the content of a file came from, as far as it matters when the file is run: a set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileOrigin(u8);

impl FileOrigin {
    /// Downloaded.
    pub const NETWORK: FileOrigin = FileOrigin(1);
    /// Downloaded without encryption, or from a bare address.
    pub const UNPROTECTED: FileOrigin = FileOrigin(2);
    /// Decoded or unpacked.
    pub const DECODED: FileOrigin = FileOrigin(4);
    /// Compiled from source files.
    pub const BUILT: FileOrigin = FileOrigin(8);

    /// Both.
    #[must_use]
    pub const fn and(self, other: FileOrigin) -> FileOrigin {
        FileOrigin(self.0 | other.0)
    }

    /// Whether all of `other` is in it.
    pub const fn has(self, other: FileOrigin) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What a call does to the content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentChange {
    /// The file then holds this; none if the text is not known.
    Whole(Option<String>),
    /// This is added at its end.
    Append(Option<String>),
    /// This text takes the place of another.
    Replace {
        /// The text before.
        old: String,
        /// The text after.
        new: String,
    },
    /// These lines are added somewhere.
    Part(String),
}

/// One file that a call writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileWrite {
    /// Its one name: absolute where the working directory is known.
    pub path: String,
    /// The change.
    pub change: ContentChange,
    /// Where the content came from.
    pub origin: FileOrigin,
}

/// What a call leaves behind for the memory of its session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionTrace {
    writes: Vec<FileWrite>,
    /// More files are written than are noted.
    lost: bool,
    /// Why the call asks.
    pub(crate) question: Question,
    /// Digests of the files of the session that were read because the call runs them.
    scripts: Vec<Digest>,
}

impl SessionTrace {
    /// Notes a file that the call would write.
    pub fn wrote(&mut self, write: FileWrite) {
        if self.writes.contains(&write) {
            return;
        }
        if self.writes.len() < MAX_NOTED {
            self.writes.push(write);
        } else {
            self.lost = true;
        }
    }

    /// Notes a text that the call runs and that is not in the call itself.
    pub(crate) fn runs(&mut self, text: &str) {
        let digest = Digest::of(text.as_bytes());
        if self.scripts.contains(&digest) {
            return;
        }
        if self.scripts.len() < MAX_NOTED {
            self.scripts.push(digest);
        } else {
            self.question.add_open();
        }
    }

    /// Why the call asks.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The key of exactly this call, with the texts that it runs.
    pub(crate) fn call_key(&self, call: &Digest) -> Digest {
        let mut text = format!("countersign/question/call/1\0{call}");
        for script in &self.scripts {
            script.push_hex(&mut text);
        }
        Digest::of(text.as_bytes())
    }

    /// Whether the call would write files.
    pub fn writes_files(&self) -> bool {
        self.lost || !self.writes.is_empty()
    }

    /// Adds what another reading of the call noted.
    pub fn absorb(&mut self, other: SessionTrace) {
        self.lost |= other.lost;
        other.writes.into_iter().for_each(|write| self.wrote(write));
        self.question.absorb(other.question);
        for digest in other.scripts {
            if !self.scripts.contains(&digest) {
                self.scripts.push(digest);
            }
        }
    }
}

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
}

impl SessionMemory {
    /// Adds what a call left behind. To be called only for calls that ran.
    pub fn add(&mut self, trace: &SessionTrace) {
        self.wrote(&trace.writes);
        self.lost |= trace.lost;
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

    /// Whether the session wrote nothing.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
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
