//! Whether an agent's gate is installed and in effect, by its files.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::agents::AgentDescriptor;
use crate::install::files;
use crate::install::record::{InstallRecord, digest};
use crate::install::{FileEdit, HookCommand, InstallScope, Ownership, is_program};
use crate::programs::asking_program_beside;

/// The protection of an agent, as far as files show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// Our part is in its files exactly as written, and no setting is known that disables it.
    Protected,
    /// Our part is there but has no effect.
    Unprotected,
    /// The agent is in use here without our part.
    NoGate,
    /// The agent is not installed here.
    Absent,
}

/// The status of one agent.
#[derive(Debug, Clone, Serialize)]
pub struct AgentStatus {
    /// Its name.
    pub agent: &'static str,
    /// Its product name.
    pub title: &'static str,
    /// Its protection.
    pub state: Protection,
    /// Its program on the PATH.
    pub program: Option<PathBuf>,
    /// The files that contain the gate.
    pub files: Vec<PathBuf>,
    /// Why it is not protected.
    pub why: Vec<String>,
    /// What the agent itself makes impossible.
    pub notes: Vec<String>,
}

/// The state of our part in the files.
enum InstalledPart {
    Missing,
    AsWritten,
    Differs(Vec<String>),
}

/// Inspects one agent. `current` is the command that would be written now.
pub fn inspect(
    agent: &'static AgentDescriptor,
    scope: &InstallScope,
    current: &HookCommand,
    record: &InstallRecord,
) -> AgentStatus {
    let program = scope.program(agent.programs);
    let in_use = program.is_some() || (agent.setup.folder)(scope).is_dir();
    let mut status = AgentStatus {
        agent: agent.name,
        title: agent.title,
        state: if in_use { Protection::NoGate } else { Protection::Absent },
        program,
        files: Vec::new(),
        why: Vec::new(),
        notes: agent.limits.iter().map(|limit| (*limit).to_owned()).collect(),
    };
    let Ok(edits) = agent.file_edits(scope, current) else { return status };
    // Compared with the command that was written then, not with the one that would be written now.
    let paths = edits.iter().map(|edit| edit.path.as_path());
    let key = scope.key(agent.name);
    let written = record.command(&key, paths).unwrap_or_else(|| current.clone());
    let Ok(edits) = agent.file_edits(scope, &written) else { return status };
    status.files = edits.iter().map(|edit| edit.path.clone()).collect();
    match installed_part(&key, &edits, record) {
        InstalledPart::Missing => {}
        InstalledPart::AsWritten => {
            status.why.extend(program_fault(&written.program, &current.program));
            status.why.extend((agent.setup.faults)(scope, &written));
            let protected = status.why.is_empty();
            status.state = if protected { Protection::Protected } else { Protection::Unprotected };
        }
        InstalledPart::Differs(why) => {
            status.why = why;
            status.state = Protection::Unprotected;
        }
    }
    status
}

fn installed_part(key: &str, edits: &[FileEdit], record: &InstallRecord) -> InstalledPart {
    let (mut present, mut faults) = (0, Vec::new());
    for edit in edits {
        let path = edit.path.display();
        let text = match files::read(&edit.path) {
            Ok(text) => text,
            Err(error) => {
                faults.push(error.to_string());
                continue;
            }
        };
        match (&edit.ownership, text) {
            (Ownership::Whole(_), None) => faults.push(format!("{path} is missing")),
            (Ownership::Whole(ours), Some(text)) => {
                present += 1;
                let wrote = record.about(key, &edit.path).map(|entry| entry.wrote.as_str());
                if text == *ours {
                } else if wrote == Some(&digest(&text)) {
                    faults.push(format!("{path} is from another version of Countersign"));
                } else {
                    faults.push(format!("{path} was changed since it was written"));
                }
            }
            (Ownership::Part(part), text) => {
                let text = text.unwrap_or_default();
                match (part.apply(&text), part.remove(&text)) {
                    (Ok(with), Ok(without)) if with == text => {
                        present += usize::from(without != text);
                    }
                    (Ok(_), Ok(without)) if without == text => {
                        faults.push(format!("our part is missing in {path}"));
                    }
                    (Ok(_), Ok(_)) => {
                        present += 1;
                        faults.push(format!("our part of {path} was changed"));
                    }
                    (Err(error), _) | (_, Err(error)) => {
                        // An agent ignores a file that it cannot read, including our part.
                        present += usize::from(text.contains("countersign"));
                        faults.push(format!("{path}: {error}"));
                    }
                }
            }
        }
    }
    match (present, faults.is_empty()) {
        (0, _) => InstalledPart::Missing,
        (_, true) => InstalledPart::AsWritten,
        (_, false) => InstalledPart::Differs(faults),
    }
}

/// Why the program that the agent starts cannot be relied on.
fn program_fault(written: &str, current: &str) -> Option<String> {
    let (written, current) = (Path::new(written), Path::new(current));
    let missing = |path: &Path| format!("{} is missing or not executable", path.display());
    if !is_program(written) {
        return Some(missing(written));
    }
    // The small program only decides harmless calls; the program that asks must be next to it.
    let beside = asking_program_beside(written);
    if !is_program(&beside) {
        return Some(missing(&beside));
    }
    if is_same(written, current) || is_same(written, &asking_program_beside(current)) {
        return None;
    }
    let (written, current) = (written.display(), current.display());
    Some(format!("the agent starts {written}, not the Countersign that runs here ({current})"))
}

/// Whether two paths are the same file or files with the same content.
fn is_same(one: &Path, other: &Path) -> bool {
    if let (Ok(one), Ok(other)) = (fs::canonicalize(one), fs::canonicalize(other))
        && one == other
    {
        return true;
    }
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}
