//! Proof that a gate is shut: real agents, started against a model of ours that only proposes.
//!
//! Each agent runs in a scratch home with an empty environment and its own permissions switched
//! off, so that nothing but the gate stands between the proposed call and this machine.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod hermes;
mod http;
pub mod knock;
pub mod knock_mcp;
mod model;
mod openclaw;
mod opencode;
pub mod prove;
mod run;
mod speech;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

pub use model::{Model, Proposal, Seen};
pub use run::{Run, find};

/// An agent, as far as a proof has to know it.
#[derive(Debug)]
pub struct Subject {
    /// Its name, as on the command line.
    pub name: &'static str,
    /// The program that is started.
    pub program: &'static str,
    /// A shell command, as its model proposes one.
    pub shell: fn(&str) -> Proposal,
    /// Writes what it must find at home to start without questions. The gate comes after.
    pub furnish: fn(&Scratch) -> io::Result<()>,
    /// What it is started with.
    pub start: fn(&Scratch) -> Start,
}

/// How a program is started.
#[derive(Debug, Default)]
pub struct Start {
    /// Its words.
    pub words: Vec<String>,
    /// Its variables, beside the few that every program needs.
    pub variables: Vec<(&'static str, String)>,
}

/// The agents that can be started without a network.
pub const SUBJECTS: [&Subject; 7] = [
    &claude::SUBJECT,
    &codex::SUBJECT,
    &gemini::SUBJECT,
    &copilot::SUBJECT,
    &opencode::SUBJECT,
    &hermes::SUBJECT,
    &openclaw::SUBJECT,
];

/// The one of this name.
pub fn named(name: &str) -> Option<&'static Subject> {
    SUBJECTS.into_iter().find(|subject| subject.name == name)
}

/// What is said to every agent; the model does not listen anyway.
const PROMPT: &str = "Do what has to be done.";

/// No key at all, but some agents do not start without one.
const KEY: &str = "a-key-for-a-stand-in-model";

/// A home and a project that exist for one run.
#[derive(Debug, Clone)]
pub struct Scratch {
    folder: PathBuf,
    model: SocketAddr,
    /// Further words for the agent.
    pub words: Vec<String>,
    /// Further variables for it.
    pub variables: Vec<(String, String)>,
}

impl Scratch {
    /// In an empty folder, with the model at this address.
    pub fn new(folder: &Path, model: SocketAddr) -> io::Result<Scratch> {
        let scratch =
            Scratch { folder: folder.to_owned(), model, words: Vec::new(), variables: Vec::new() };
        fs::create_dir_all(scratch.home())?;
        fs::create_dir_all(scratch.project())?;
        Ok(scratch)
    }

    /// The agent's home.
    pub fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// The folder it works in.
    pub fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    /// The model's address, with what follows it.
    fn model(&self, path: &str) -> String {
        format!("http://{}{path}", self.model)
    }

    /// Writes a file below the home.
    pub fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let path = self.home().join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)
    }
}

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|word| (*word).to_owned()).collect()
}
