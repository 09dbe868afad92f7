//! What a dry run is made of: lines for people, and the digest of what decides.

use countersign_json::canonical::Digest;
use countersign_risk::facts::PlanFact;

/// The longest line, in characters.
const MAX_LINE: usize = 140;

/// A dry run in progress.
#[derive(Debug, Default)]
pub struct PlanParts {
    lines: Vec<String>,
    bound: Vec<u8>,
}

impl PlanParts {
    /// Adds a line, without secrets and short enough to be shown as a whole.
    pub fn line(&mut self, text: &str) {
        let clean = countersign_redact::redact_text(text).text;
        let mut line: String = clean.chars().take(MAX_LINE).collect();
        if line.len() < clean.len() {
            line.push('…');
        }
        self.lines.push(line);
    }

    /// Makes something part of what is approved. Only its digest is kept.
    pub fn bind(&mut self, name: &str, bytes: &[u8]) {
        self.bound.extend_from_slice(&(name.len() as u64).to_be_bytes());
        self.bound.extend_from_slice(name.as_bytes());
        self.bound.extend_from_slice(Digest::of(bytes).as_bytes());
    }

    /// The dry run.
    pub fn finish(self) -> PlanFact {
        PlanFact { lines: self.lines, digest: Digest::of(&self.bound) }
    }
}

/// "1 file", "3 files".
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// The first names of a list, and how many more there are.
pub fn listed(names: &[String], count: usize) -> String {
    let more = count.saturating_sub(names.len());
    let shown = names.join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}
