//! Shell text inside a command: in a word, or in a file that was written before.

use super::arg::Arg;
use super::evaluator::Evaluator;
use crate::effect::Effect;
use crate::finding::{Doubt, Span};
use crate::flow::{Flow, Taint};
use crate::structural_findings;
use countersign_shell::UNKNOWN;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// A file this text wrote before is run.
    pub(super) fn run_written(&mut self, content: Flow, first: &Arg<'t>, stdin: &Flow) -> Flow {
        self.shared.out.effect(Effect::Exec);
        if content.taint.has(Taint::BUILT) && self.shared.workspace.is_known() {
            // Built from the project's own code, and as trusted.
            return Flow::unknown(stdin.taint);
        }
        if content.taint.has(Taint::NET) {
            let sign = self.remote_code_rule(content.taint);
            self.shared.report(sign, Some(first.span));
        } else {
            self.shared.report(&structural_findings::WRITE_AND_RUN, Some(first.span));
        }
        match content.text {
            Some(text) => self.inside(&text, first.span, stdin),
            None => Flow::unknown(content.taint),
        }
    }

    /// Reads a text that stands inside a word.
    pub(super) fn inside(&mut self, text: &str, span: Span, stdin: &Flow) -> Flow {
        let old = self.shared.position.pin(Some(span));
        let flow = self.shared.text(text, stdin);
        self.shared.position.pin(old);
        flow
    }

    pub(super) fn remote_code_rule(
        &self,
        taint: Taint,
    ) -> &'static structural_findings::StructuralRule {
        if self.shared.rights.root || taint.has(Taint::NET_OPEN) {
            &structural_findings::REMOTE_CODE_WORSE
        } else {
            &structural_findings::REMOTE_CODE
        }
    }

    /// Shell text in a word, known or not.
    pub(super) fn shell_text(&mut self, arg: &Arg<'t>, stdin: &Flow) -> Flow {
        if arg.is_unknown() {
            let sign = if arg.taint.has(Taint::NET) {
                Some(self.remote_code_rule(arg.taint))
            } else if arg.taint.has(Taint::DECODED) {
                Some(&structural_findings::DECODED_CODE)
            } else if arg.text.starts_with(UNKNOWN) {
                Some(&structural_findings::UNSEEN_CODE)
            } else {
                None
            };
            if let Some(sign) = sign {
                self.shared.report(sign, Some(arg.span));
                self.shared.out.doubt(Doubt::DynamicProgram);
            }
        }
        let text = arg.text.replace(UNKNOWN, "$_");
        self.inside(&text, arg.span, stdin)
    }
}
