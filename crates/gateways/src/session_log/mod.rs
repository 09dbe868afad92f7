//! The logs that agents keep of their own sessions: where they are and which calls they contain.
//!
//! Only reads. Everything in a log was written by others, possibly to mislead its reader, so all of
//! it is bounded: folders, files, lines and calls. A line that cannot be read is counted.

mod function_call;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use countersign_json::Value;

use crate::install::InstallScope;

pub use function_call::function_call;

/// The log format of one agent.
#[derive(Debug)]
pub struct SessionLogFormat {
    /// The folder with its logs.
    pub folder: fn(&InstallScope) -> PathBuf,
    /// How the names of its log files end.
    pub extensions: &'static [&'static str],
    /// A record without any of these texts contains nothing of interest and is not parsed.
    pub markers: &'static [&'static str],
    /// Whether a record is in this format.
    pub recognizes: fn(&Value<'_>) -> bool,
    /// Adds what a record contains.
    pub read: fn(&Value<'_>, &mut LogRecords),
    /// Whether a file describes sessions and has to be read before the others.
    pub is_index: fn(&Path) -> bool,
}

/// No file has to be read before the others.
pub fn no_index(_: &Path) -> bool {
    false
}

/// A call as a log has it.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedCall {
    /// The agent's id for it, by which copies in other files are recognized.
    pub id: Option<String>,
    /// The tool, named as the agent's hook would name it.
    pub tool: String,
    /// Its arguments: an object.
    pub arguments: Value<'static>,
    /// The session, if the log names it.
    pub session: Option<String>,
    /// The working directory, if the log names it.
    pub cwd: Option<String>,
    /// The project, if the log names it.
    pub project: Option<String>,
    /// The agent program, if a log of no particular agent names it.
    pub host: Option<String>,
    /// The user rejected it in the agent itself.
    pub rejected: bool,
}

/// What was read of one file, and what it says about its session.
#[derive(Debug, Default)]
pub struct LogRecords {
    /// The calls in order.
    pub calls: Vec<LoggedCall>,
    /// The session of the records that follow.
    pub session: Option<String>,
    /// The working directory of the records that follow.
    pub cwd: Option<String>,
    /// The folders of sessions; kept for the files that follow.
    pub folders: HashMap<String, String>,
    /// Calls whose arguments cannot be read.
    pub unreadable: u64,
}

/// How far back the call of a result is searched.
const MAX_OPEN_CALLS: usize = 1_000;
/// How many folders of sessions are remembered.
const MAX_FOLDERS: usize = 100_000;

impl LogRecords {
    /// Adds a call of the current session. Arguments that are not an object cannot be read.
    pub fn add(&mut self, id: Option<&str>, tool: &str, arguments: &Value<'_>) {
        if tool.is_empty() || arguments.as_object().is_none() {
            self.unreadable += 1;
            return;
        }
        let folder = || self.session.as_ref().and_then(|session| self.folders.get(session));
        self.calls.push(LoggedCall {
            id: id.map(str::to_owned),
            tool: tool.to_owned(),
            arguments: arguments.clone().into_owned(),
            session: self.session.clone(),
            cwd: self.cwd.clone().or_else(|| folder().cloned()),
            project: None,
            host: None,
            rejected: false,
        });
    }

    /// Notes that the user rejected the last call with this id.
    pub fn reject(&mut self, id: Option<&str>) {
        let mut recent = self.calls.iter_mut().rev().take(MAX_OPEN_CALLS);
        if let Some(call) = recent.find(|call| id.is_some() && call.id.as_deref() == id) {
            call.rejected = true;
        }
    }

    /// Notes the session and the working directory of a record, where it names them.
    pub fn enter(&mut self, session: Option<&str>, cwd: Option<&str>) {
        if let Some(session) = session.filter(|name| !name.is_empty()) {
            self.session = Some(session.to_owned());
        }
        if let Some(cwd) = cwd.filter(|folder| !folder.is_empty()) {
            self.cwd = Some(cwd.to_owned());
        }
    }

    /// Notes the folder of a session.
    pub fn note_folder(&mut self, session: &str, folder: &str) {
        if self.folders.len() < MAX_FOLDERS {
            self.folders.insert(session.to_owned(), folder.to_owned());
        }
    }
}

/// The text of a member.
pub fn text<'v>(value: &'v Value<'_>, name: &str) -> Option<&'v str> {
    value.get(name)?.as_str()
}

/// Whether a text, or one of the text blocks of a list, contains any of these.
pub fn says(content: Option<&Value<'_>>, phrases: &[&str]) -> bool {
    let found = |text: &str| phrases.iter().any(|phrase| text.contains(phrase));
    match content {
        Some(Value::String(content)) => found(content),
        Some(Value::Array(blocks)) => {
            blocks.iter().any(|block| text(block, "text").is_some_and(found))
        }
        _ => false,
    }
}
