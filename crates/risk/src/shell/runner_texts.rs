//! Commands that a program takes as text: the value of an option, or the rest of a word.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::nested::{option_value, texts_behind};
use crate::command_tables::{CodeLanguage, Inner, Runner};
use crate::finding::Span;
use crate::flow::Flow;
use crate::structural_findings;
use countersign_types::tier::Tier;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// The value of an option is the command, or the command stands behind the option.
    pub(super) fn in_options(
        &mut self,
        runner: &Runner,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        span: Span,
    ) {
        for (at, word) in inv.args.iter().enumerate().skip(1) {
            let Some(attached) = runner.options.iter().find_map(|o| option_value(&word.text, o))
            else {
                continue;
            };
            let attached = Some(attached).filter(|text| !text.is_empty());
            if runner.inner == Inner::Argv {
                let mut inner: Vec<Arg<'t>> = inv.args.get(at + 1..).unwrap_or_default().to_vec();
                if inner.get(1).is_some_and(|a| a.text == "--") {
                    inner.remove(1);
                }
                if let Some(text) = attached {
                    inner.insert(0, Arg { text: Cow::Owned(text.to_owned()), ..word.clone() });
                }
                if !inner.is_empty() && self.another_reading(span) {
                    let words = inv.args.get(..=at).unwrap_or_default();
                    let subject = self.shared.run_through(words);
                    self.placed(runner, |w| w.command(&inner, stdin.clone(), span));
                    self.shared.out.set_subject(subject);
                }
                return;
            }
            let text = match attached {
                Some(text) => Arg { text: Cow::Owned(text.to_owned()), ..word.clone() },
                None => match inv.args.get(at + 1) {
                    Some(next) => next.clone(),
                    None => continue,
                },
            };
            self.text_behind(runner, &text, stdin);
        }
    }

    /// The command stands behind a prefix in any word.
    pub(super) fn in_words(&mut self, runner: &Runner, inv: &Invocation<'_, 't>, stdin: &Flow) {
        for word in inv.args.iter().skip(1) {
            self.text_behind(runner, word, stdin);
        }
    }

    /// Assesses the text behind the runner's prefix, or all of it where the runner has none.
    fn text_behind(&mut self, runner: &Runner, word: &Arg<'t>, stdin: &Flow) {
        let texts: Vec<String> = if runner.prefixes.is_empty() {
            vec![word.text.to_string()]
        } else {
            let prefixes = runner.prefixes.iter().filter(|prefix| may_begin(&word.text, prefix));
            prefixes.flat_map(|prefix| texts_behind(&word.text, prefix)).collect()
        };
        for text in texts.iter().filter(|t| !t.trim().is_empty()) {
            if !self.another_reading(word.span) {
                return;
            }
            // A text that is only put before another command ends with an operator.
            let text = text.trim_end().trim_end_matches(['&', '|', ';']);
            let arg = Arg { text: Cow::Owned(format!("{}{text}", runner.lead)), ..word.clone() };
            self.placed(runner, |w| w.inner_text(runner, &arg, stdin));
        }
    }

    /// Assesses a text in the language that the runner hands it to.
    pub(super) fn inner_text(&mut self, runner: &Runner, arg: &Arg<'t>, stdin: &Flow) -> Flow {
        let Inner::Code(language) = runner.inner else { return self.shell_text(arg, stdin) };
        let statements =
            matches!(language, CodeLanguage::Sql | CodeLanguage::Redis | CodeLanguage::Mongo);
        if !statements {
            let sign = structural_findings::StructuralRule {
                tier: Tier::Low,
                ..structural_findings::INLINE_CODE
            };
            self.shared.report(&sign, Some(arg.span));
        }
        self.code_text(language, arg, stdin)
    }
}

/// Whether a text may begin with a prefix, by its first byte.
fn may_begin(text: &str, prefix: &str) -> bool {
    let first = prefix.as_bytes().first();
    matches!(first, None | Some(b'*')) || first == text.as_bytes().first()
}
