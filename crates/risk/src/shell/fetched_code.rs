//! Code in a folder that this call or an earlier one of its session fetched from the network.

use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::state::EvalState;
use crate::finding::{Finding, Span};
use crate::flow::Taint;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// The folder from the network in which a command runs, or which it names.
    pub(super) fn fetched_workplace(&self, inv: &Invocation<'_, 't>) -> Option<String> {
        let operands = inv.operands.iter().filter_map(|at| inv.arg(*at));
        let values = inv.values.iter().map(|(_, value)| value.text);
        let words = operands.map(|arg| arg.text.as_ref()).chain(values);
        let mut folders = std::iter::once(".").chain(words.filter(|word| !word.contains("://")));
        folders.find_map(|folder| self.shared.fetched_folder(&format!("{folder}/x")))
    }

    /// A program or script that an earlier call of the session fetched with its folder. One that
    /// an observer read is assessed by its text.
    pub(super) fn run_fetched(&mut self, path: &str, span: Span) {
        if let Some(folder) = self.shared.session_folder(path) {
            let finding = self.remote_code_rule(Taint::NET).finding().at(span);
            self.shared.add_fetched(finding, &folder);
        }
    }
}

impl EvalState<'_, '_> {
    /// Adds a finding about the code of a folder: one answer covers all of it.
    pub(super) fn add_fetched(&mut self, finding: Finding, folder: &str) {
        let subject = self.ctx.session.is_some();
        let subject = subject.then(|| format!("fetched into {folder} {:?}", self.rights));
        self.out.add_about(finding, subject.as_deref(), &[]);
    }

    /// The folder from the network that a path is in.
    fn fetched_folder(&self, path: &str) -> Option<String> {
        let here = self.files.has_fetched() && self.files.is_below_fetched(&self.names_of(path));
        if here {
            return Some(self.identities(path).join(" "));
        }
        self.session_folder(path)
    }

    /// The same for a folder that an earlier call of the session fetched.
    fn session_folder(&self, path: &str) -> Option<String> {
        let session = self.ctx.session.filter(|_| !self.rights.elsewhere)?;
        let names = self.identities(path);
        names.iter().find_map(|name| session.fetched_folder(name)).map(str::to_owned)
    }
}
