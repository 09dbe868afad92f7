//! What each `<( … )` of the command being made holds.

use super::counters::{Counters, Totals};
use crate::flow::Flow;

/// The outputs of process substitutions, by the path that stands for each.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    outputs: Vec<(String, Flow)>,
    counters: Counters,
}

impl Processes {
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    pub fn count(&self) -> usize {
        self.outputs.len()
    }

    /// Keeps an output; returns the path that stands for it.
    pub fn add(&mut self, output: Flow) -> String {
        self.counters.edit();
        let path = format!("/dev/fd/{}", 63 + self.outputs.len());
        self.outputs.push((path.clone(), output));
        path
    }

    /// The output behind this path. A pipe can be read once.
    pub fn take(&mut self, path: &str) -> Option<Flow> {
        let at = self.outputs.iter().position(|(name, _)| name == path)?;
        Some(self.outputs.remove(at).1)
    }

    /// The command is done: what was kept behind the first `kept` is gone.
    pub fn truncate(&mut self, kept: usize) {
        self.outputs.truncate(kept);
    }

    pub(super) fn totals(&self) -> Totals {
        self.counters.totals()
    }
}
