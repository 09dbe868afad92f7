//! Setting up the gate in an agent's own files, taking it out again, and saying how it stands.
//!
//! An agent says in its own file which texts it wants where (`Setup`); everything else is the same
//! for all: the plan that people see first, backups, whole writes, the record of what was written.

pub mod command;
pub mod diff;
mod files;
pub mod hooks;
pub mod json;
mod place;
pub mod plan;
pub mod plugins;
pub mod record;
pub mod status;
#[cfg(test)]
mod tests;
pub mod yaml;

use std::path::PathBuf;

use crate::agents::Agent;

pub use files::Refused;
pub use place::{Place, is_program};

/// How long a host is told to wait for a hook that asks people, in seconds: a day.
pub const HOST_WAITS: u32 = 86_400;
/// How long the hook itself waits at most: it must be the first to speak.
pub const LONGEST_PATIENCE: u32 = HOST_WAITS - 300;
/// How long a host is told to wait for a hook that asks nobody, in seconds.
pub const HOST_WAITS_BRIEFLY: u32 = 30;

/// Where and how an agent is gated. Pure, but for what only the agent itself can be asked.
#[derive(Debug)]
pub struct Setup {
    /// What its program is called.
    pub programs: &'static [&'static str],
    /// Its own folder, which says that it is used here.
    pub folder: fn(&Place) -> PathBuf,
    /// Whether a project can have a gate of its own.
    pub per_project: bool,
    /// The texts it needs, in the order in which they are written.
    pub pieces: fn(&Place, &Ours) -> Vec<Piece>,
    /// What can be known only when those are there.
    pub then: fn(&Place, &Ours) -> Then,
    /// Why a gate that stands in the files does not hold. Empty: nothing is known against it.
    pub open: fn(&Place, &Ours) -> Vec<String>,
    /// What people have to know: what the agent itself makes impossible.
    pub notes: &'static [&'static str],
}

impl Agent {
    /// The texts that its gate needs here, where it can have one.
    pub fn pieces(&self, place: &Place, ours: &Ours) -> Result<Vec<Piece>, Refused> {
        let title = self.title;
        if place.project().is_some() && !self.setup.per_project {
            let why = "is gated for the whole of a person's work; leave --project out";
            return Err(Refused::Cannot(format!("{title} {why}")));
        }
        let pieces = (self.setup.pieces)(place, ours);
        // A gate that is only switched on, and not there, would stop the agent or hold nothing.
        if PLUGINS.iter().any(|(name, files)| *name == self.name && files.is_empty()) {
            return Err(Refused::Cannot(format!("this build carries no plugin for {title}")));
        }
        Ok(pieces)
    }
}

/// The plugins, by the agent that they are for.
const PLUGINS: [(&str, &[(&str, &str)]); 3] =
    [("opencode", plugins::OPENCODE), ("openclaw", plugins::OPENCLAW), ("hermes", plugins::HERMES)];

/// What is written: which program, and how long it waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ours {
    /// The whole path of `countersign`.
    pub program: String,
    /// After how many seconds its hook says "still waiting".
    pub patience: u32,
}

/// One file and what is to become of it.
pub struct Piece {
    /// Which file.
    pub path: PathBuf,
    /// What of it is ours.
    pub share: Share,
}

/// How much of a file is ours.
pub enum Share {
    /// All of it: written whole, removed whole.
    Whole(String),
    /// A part, in a file that belongs to the person.
    Within(Box<dyn Within>),
}

/// Our part of somebody's file. Everything else of the text stays as it is.
pub trait Within {
    /// The text with our part in it; exactly the same text where it is there already.
    fn put(&self, text: &str) -> Result<String, Misread>;
    /// The text without our part; exactly the same text where there is none.
    fn take(&self, text: &str) -> Result<String, Misread>;
    /// Whether nothing is said in it that a person could miss.
    fn says_nothing(&self, text: &str) -> bool;
}

impl Piece {
    /// A file of ours.
    pub fn whole(path: PathBuf, text: impl Into<String>) -> Piece {
        Piece { path, share: Share::Whole(text.into()) }
    }

    /// Our part of a file.
    pub fn within(path: PathBuf, part: impl Within + 'static) -> Piece {
        Piece { path, share: Share::Within(Box::new(part)) }
    }
}

/// Why a text was not understood: nothing is written then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Misread(pub String);

/// What follows once the files are there.
#[derive(Default)]
pub struct Then {
    /// Further texts.
    pub pieces: Vec<Piece>,
    /// What the person has to be told.
    pub say: Vec<String>,
}

/// For agents of which nothing further has to be asked.
pub fn nothing_then(_: &Place, _: &Ours) -> Then {
    Then::default()
}
