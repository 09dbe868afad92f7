//! What one call leaves behind for the memory of its session.

use countersign_json::canonical::Digest;
use serde::{Deserialize, Serialize};

use crate::question::Question;

/// How many files of one call are noted.
const MAX_NOTED: usize = 64;

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
    /// Holds keys, passwords or tokens.
    pub const SECRET: FileOrigin = FileOrigin(16);

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
    pub(crate) writes: Vec<FileWrite>,
    /// More files are written than are noted.
    pub(crate) lost: bool,
    /// Folders that the call clones or unpacks from the network.
    pub(crate) fetched: Vec<String>,
    /// Names of the secrets that the call shows to its agent.
    pub(crate) secrets: Vec<String>,
    /// The call reaches a host that is known only when it runs.
    pub(crate) reaches_unknown_host: bool,
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

    /// Notes a folder that the call would clone or unpack from the network.
    pub(crate) fn fetches(&mut self, folder: String) {
        if self.fetched.contains(&folder) {
            return;
        }
        if self.fetched.len() < MAX_NOTED {
            self.fetched.push(folder);
        } else {
            self.lost = true;
        }
    }

    /// Notes a secret that the call would show.
    pub(crate) fn shows_secret(&mut self, name: &str) {
        if self.secrets.len() < MAX_NOTED && !self.secrets.iter().any(|known| known == name) {
            self.secrets.push(name.to_owned());
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

    /// Whether the call runs texts that are not in the call itself.
    pub fn runs_scripts(&self) -> bool {
        !self.scripts.is_empty()
    }

    /// The digests of these texts.
    pub(crate) fn script_digests(&self) -> impl Iterator<Item = &Digest> {
        self.scripts.iter()
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

    /// Whether the session has to remember the call.
    pub fn is_remembered(&self) -> bool {
        self.lost || !(self.writes.is_empty() && self.fetched.is_empty() && self.secrets.is_empty())
    }

    /// Adds why another reading of the call asks, but not what it would write.
    pub fn absorb_question(&mut self, other: SessionTrace) {
        self.absorb(SessionTrace {
            writes: Vec::new(),
            fetched: Vec::new(),
            secrets: Vec::new(),
            lost: false,
            ..other
        });
    }

    /// Adds what another reading of the call noted.
    pub fn absorb(&mut self, other: SessionTrace) {
        self.lost |= other.lost;
        other.writes.into_iter().for_each(|write| self.wrote(write));
        other.fetched.into_iter().for_each(|folder| self.fetches(folder));
        other.secrets.iter().for_each(|name| self.shows_secret(name));
        self.reaches_unknown_host |= other.reaches_unknown_host;
        self.question.absorb(other.question);
        for digest in other.scripts {
            if !self.scripts.contains(&digest) {
                self.scripts.push(digest);
            }
        }
    }
}
