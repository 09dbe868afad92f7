//! How the gate of an agent stands: shut, open and why, or not there at all.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::record::{Record, digest};
use super::{Ours, Piece, Place, Share, files, is_program};
use crate::agents::Agent;
use crate::hook::alone::asks;

/// How an agent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stand {
    /// Our part is in its files, as we write it, and nothing is known that turns it off.
    Gated,
    /// Our part is there, but does not hold.
    Open,
    /// The agent is here, our part is not.
    NotGated,
    /// Neither is here.
    Absent,
}

/// What was seen of one agent.
#[derive(Debug, Clone, Serialize)]
pub struct Seen {
    /// Its name.
    pub agent: &'static str,
    /// Its name as people say it.
    pub title: &'static str,
    /// How it stands.
    pub state: Stand,
    /// Its program on the PATH.
    pub program: Option<PathBuf>,
    /// The files that make the gate.
    pub files: Vec<PathBuf>,
    /// Why it is open.
    pub why: Vec<String>,
    /// What the agent itself makes impossible.
    pub notes: Vec<String>,
}

/// How our part stands in the files.
enum Part {
    Missing,
    AsWritten,
    Differs(Vec<String>),
}

/// Looks at one agent. `us` is the program that runs now, as it would be written.
pub fn look(agent: &'static Agent, place: &Place, us: &Ours, record: &Record) -> Seen {
    let setup = &agent.setup;
    let program = place.program(setup.programs);
    let here = program.is_some() || (setup.folder)(place).is_dir();
    let mut seen = Seen {
        agent: agent.name,
        title: agent.title,
        state: if here { Stand::NotGated } else { Stand::Absent },
        program,
        files: Vec::new(),
        why: Vec::new(),
        notes: setup.notes.iter().map(|note| (*note).to_owned()).collect(),
    };
    let Ok(pieces) = agent.pieces(place, us) else { return seen };
    // Measured by what was written then, not by what would be written today.
    let paths = pieces.iter().map(|piece| piece.path.as_path());
    let then = record.ours(&place.key(agent.name), paths).unwrap_or_else(|| us.clone());
    let Ok(pieces) = agent.pieces(place, &then) else { return seen };
    seen.files = pieces.iter().map(|piece| piece.path.clone()).collect();
    match part(&place.key(agent.name), &pieces, record) {
        Part::Missing => {}
        Part::AsWritten => {
            seen.why.extend(program_fault(&then.program, &us.program));
            seen.why.extend((setup.open)(place, &then));
            seen.state = if seen.why.is_empty() { Stand::Gated } else { Stand::Open };
        }
        Part::Differs(why) => {
            seen.why = why;
            seen.state = Stand::Open;
        }
    }
    seen
}

fn part(agent: &str, pieces: &[Piece], record: &Record) -> Part {
    let (mut there, mut faults) = (0, Vec::new());
    for piece in pieces {
        let shown = piece.path.display();
        let text = match files::read(&piece.path) {
            Ok(text) => text,
            Err(refused) => {
                faults.push(refused.to_string());
                continue;
            }
        };
        match (&piece.share, text) {
            (Share::Whole(_), None) => faults.push(format!("{shown} is missing")),
            (Share::Whole(ours), Some(text)) => {
                there += 1;
                let wrote = record.about(agent, &piece.path).map(|entry| entry.wrote.as_str());
                if text == *ours {
                } else if wrote == Some(&digest(&text)) {
                    faults.push(format!("{shown} is of another version of Countersign"));
                } else {
                    faults.push(format!("{shown} was changed since it was written"));
                }
            }
            (Share::Within(part), text) => {
                let text = text.unwrap_or_default();
                match (part.put(&text), part.take(&text)) {
                    (Ok(put), Ok(taken)) if put == text => there += usize::from(taken != text),
                    (Ok(_), Ok(taken)) if taken == text => {
                        faults.push(format!("nothing of ours is in {shown}"));
                    }
                    (Ok(_), Ok(_)) => {
                        there += 1;
                        faults.push(format!("our part of {shown} was changed"));
                    }
                    (Err(misread), _) | (_, Err(misread)) => {
                        // What the agent cannot read it does not heed, and ours with it.
                        there += usize::from(text.contains("countersign"));
                        faults.push(format!("{shown}: {misread}"));
                    }
                }
            }
        }
    }
    match (there, faults.is_empty()) {
        (0, _) => Part::Missing,
        (_, true) => Part::AsWritten,
        (_, false) => Part::Differs(faults),
    }
}

/// Why the program that the agent starts is not to be relied on.
fn program_fault(written: &str, us: &str) -> Option<String> {
    let (written, us) = (Path::new(written), Path::new(us));
    if !is_program(written) {
        return Some(format!("{} is not there, or is no program", written.display()));
    }
    // The small program can only say yes; who asks must be beside it.
    let beside = asks(written);
    if !is_program(&beside) {
        return Some(format!("{} is not there, or is no program", beside.display()));
    }
    if is_same(written, us) || is_same(written, &asks(us)) {
        return None;
    }
    let (written, us) = (written.display(), us.display());
    Some(format!("the agent starts {written}, which is not the Countersign that runs here ({us})"))
}

/// The same file, or one that holds the same.
fn is_same(one: &Path, other: &Path) -> bool {
    if let (Ok(one), Ok(other)) = (fs::canonicalize(one), fs::canonicalize(other))
        && one == other
    {
        return true;
    }
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}
