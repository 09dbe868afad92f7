//! Where a runner runs its command: on this machine, or on a host that may be in production.

use super::arg::Arg;
use super::evaluator::Evaluator;
use crate::command_tables::Runner;
use crate::finding::Span;
use crate::flow::Flow;
use crate::name_lists::PRODUCTION_WORDS;
use crate::structural_findings;
use countersign_types::tier::Tier;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// Runs the command inside a runner, given the runner's own words. A change on a host that is
    /// in production is a finding.
    pub(super) fn run_on(
        &mut self,
        runner: &Runner,
        words: &[Arg<'t>],
        inner: &[Arg<'t>],
        stdin: &Flow,
        span: Span,
    ) -> Flow {
        let subject = self.shared.run_through(words);
        let hosts = words.get(1..).unwrap_or_default();
        let before = self.shared.out.iter().len();
        let host = hosts.iter().rev().find(|word| !word.text.starts_with('-'));
        if let Some(host) = host.filter(|_| runner.remote) {
            self.on_net(&host.text);
        }
        let flow = self.placed(runner, |w| w.run_inner(runner, inner, stdin, span));
        if runner.remote && hosts.iter().any(|a| is_production(&a.text)) {
            let mut found = self.shared.out.iter().skip(before);
            if found.any(|finding| finding.weight.tier() >= Tier::Low) {
                self.shared.report(&structural_findings::PRODUCTION_HOST, Some(span));
            }
        }
        self.shared.out.set_subject(subject);
        flow
    }
}

/// Whether a host or app is called production.
fn is_production(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts
        .any(|part| PRODUCTION_WORDS.contains(&part.trim_end_matches(|c: char| c.is_ascii_digit())))
}
