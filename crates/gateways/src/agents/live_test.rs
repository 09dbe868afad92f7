//! How an agent is started without a network: the part of its descriptor for live tests.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::tool_call::ModelToolCall;

/// How to start an agent against a stand-in model.
#[derive(Debug)]
pub struct LiveTest {
    /// A shell command as a call of the agent's own tool.
    pub shell_call: fn(&str) -> ModelToolCall,
    /// Writes the settings that the agent needs to start without questions, before the gate.
    pub prepare_home: fn(&ScratchHome) -> io::Result<()>,
    /// The arguments and variables to start it with.
    pub launch: fn(&ScratchHome) -> Launch,
    /// How long it takes to start.
    pub cost: StartupCost,
}

/// How much time one start of an agent takes; slow agents run fewer cases in a short test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StartupCost {
    /// Every case is run.
    Low,
    /// The most different cases are run.
    Medium,
    /// Few cases are run.
    High,
}

/// The arguments and variables of a program.
#[derive(Debug, Default)]
pub struct Launch {
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its variables, in addition to those that every program gets.
    pub variables: Vec<(&'static str, String)>,
}

/// The prompt for every agent; the stand-in model ignores it.
pub const PROMPT: &str = "Do what has to be done.";

/// A fake key, because some agents do not start without one.
pub const MODEL_KEY: &str = "a-key-for-a-stand-in-model";

/// A home folder and a project for one run.
#[derive(Debug, Clone)]
pub struct ScratchHome {
    pub(crate) folder: PathBuf,
    model: SocketAddr,
    /// Further arguments for the agent.
    pub arguments: Vec<String>,
    /// Further variables for the agent.
    pub variables: Vec<(String, String)>,
}

impl ScratchHome {
    /// In an empty folder, with the model at this address.
    pub fn new(folder: &Path, model: SocketAddr) -> io::Result<ScratchHome> {
        let (arguments, variables) = (Vec::new(), Vec::new());
        let scratch = ScratchHome { folder: folder.to_owned(), model, arguments, variables };
        fs::create_dir_all(scratch.home())?;
        fs::create_dir_all(scratch.project())?;
        Ok(scratch)
    }

    /// The agent's home folder.
    pub fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// The folder it works in.
    pub fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    /// The model's URL with this path.
    pub fn model_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.model)
    }

    /// Writes a file below the home folder.
    pub fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let path = self.home().join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)
    }
}

/// Arguments as owned strings.
pub fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|word| (*word).to_owned()).collect()
}
