//! Commands where no description says that there is one: in options, words and quoted texts.

use std::borrow::Cow;

use super::arg::Arg;
use super::evaluator::Evaluator;
use super::invocation::Invocation;
use super::nested::{begins_command, quoted};
use super::program::resolve;
use crate::command_tables::{COMMAND_OPTIONS, COMMAND_WORDS, Spec};
use crate::finding::Span;
use crate::flow::Flow;
use crate::name_lists::{
    INLINE_CODE_OPTIONS, INLINE_SHELL_OPTIONS, INLINE_SHELLS, RECURSIVE_DELETE_OPTIONS,
};
use countersign_text::glob::bytes_of;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// An option such as `--exec` holds a command in whatever program it stands.
    pub(super) fn command_options(&mut self, spec: &Spec, inv: &Invocation<'_, 't>, stdin: &Flow) {
        for index in &inv.options {
            let Some(word) = inv.arg(*index).filter(|a| a.text.starts_with("--")) else { continue };
            let name = word.text.split('=').next().unwrap_or_default();
            let described = spec.touches.iter().any(|(n, _)| *n == name);
            if described || !COMMAND_OPTIONS.fit(name, bytes_of(name)) {
                continue;
            }
            let value = match word.text.split_once('=') {
                Some((_, value)) => Arg { text: Cow::Owned(value.to_owned()), ..word.clone() },
                None => match inv.args.get(usize::from(*index) + 1) {
                    Some(next) => next.clone(),
                    None => continue,
                },
            };
            let begins = begins_command(&value.text, |first| resolve(first).is_some());
            if begins && self.another_reading(word.span) {
                self.shell_text(&value, stdin);
            }
        }
    }

    /// A program without a description may be a runner: a word that is a command is one.
    pub(super) fn undescribed_runner(
        &mut self,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        span: Span,
    ) {
        let listed = |first: &str| {
            let name = crate::paths::last_part(first);
            COMMAND_WORDS.binary_search(&name).is_ok()
        };
        for (at, word) in inv.args.iter().enumerate().skip(1) {
            let text: &str = &word.text;
            let behind_dashes = inv.dashes.is_some_and(|d| d + 1 == at);
            if !behind_dashes && (names_a_value(inv, at) || is_idle_shell(inv, at, stdin)) {
                continue;
            }
            if (listed(text) || behind_dashes && resolve(text).is_some())
                && self.another_reading(span)
            {
                let inner: Vec<Arg<'t>> = inv.args.get(at..).unwrap_or_default().to_vec();
                self.command(&inner, stdin.clone(), span);
                return;
            }
            let value = if text.starts_with('-') {
                text.split_once('=').map_or("", |(_, value)| value)
            } else {
                text
            };
            if value.contains(' ') && begins_command(value, listed) && self.another_reading(span) {
                let arg = Arg { text: Cow::Owned(value.to_owned()), ..word.clone() };
                self.shell_text(&arg, stdin);
            }
        }
    }

    /// A command where the description of a program knows of none: behind `--`, or so plain that it
    /// cannot be anything else.
    pub(super) fn unexpected_command(
        &mut self,
        inv: &Invocation<'_, 't>,
        stdin: &Flow,
        span: Span,
    ) {
        for (at, word) in inv.args.iter().enumerate().skip(2) {
            let name = crate::paths::last_part(&word.text);
            let Some(next) = inv.args.get(at + 1) else { return };
            if COMMAND_WORDS.binary_search(&name).is_err() {
                continue;
            }
            let behind_dashes = inv.dashes.is_some_and(|d| d + 1 == at);
            let plain = match name {
                "rm" => RECURSIVE_DELETE_OPTIONS.iter().any(|f| next.text.starts_with(f)),
                "sudo" => true,
                _ => {
                    INLINE_SHELLS.contains(&name)
                        && INLINE_SHELL_OPTIONS.contains(&next.text.as_ref())
                }
            };
            if (behind_dashes || plain) && self.another_reading(span) {
                let inner: Vec<Arg<'t>> = inv.args.get(at..).unwrap_or_default().to_vec();
                self.command(&inner, stdin.clone(), span);
                return;
            }
        }
    }

    /// Commands in the quoted texts of code that no reader knows: `Sys.command "rm -rf x"`,
    /// `System.cmd("rm", ["-rf", "x"])`.
    pub(super) fn quoted_commands(&mut self, code: &str, span: Span) {
        let listed =
            |first: &str| COMMAND_WORDS.binary_search(&crate::paths::last_part(first)).is_ok();
        let texts = quoted(code);
        for (at, text) in texts.iter().enumerate() {
            if !begins_command(text, listed) || !self.another_reading(span) {
                continue;
            }
            let words = texts.get(at..).unwrap_or_default();
            let line = if text.contains(' ') { text.clone() } else { words.join(" ") };
            self.inside(&line, span, &Flow::none());
        }
    }
}

/// Whether an interpreter stands here with nothing to run: `prompter init bash --config x` names a
/// shell. If it were started, nothing would be typed into it.
fn is_idle_shell(inv: &Invocation<'_, '_>, at: usize, stdin: &Flow) -> bool {
    let name = inv.args.get(at).and_then(|word| resolve(&word.text));
    let interpreter = name.is_some_and(|(spec, ..)| spec.interpreter.is_some());
    let behind = inv.args.get(at + 1..).unwrap_or_default();
    let idle = |(at, word): (usize, &Arg<'_>)| {
        let before = at.checked_sub(1).and_then(|before| behind.get(before));
        word.text.starts_with("--") || before.is_some_and(|before| before.text == "--config")
    };
    interpreter && !stdin.present && behind.iter().enumerate().all(idle)
}

/// Whether a word is more likely the value of an option than a command: `--shell zsh`.
fn names_a_value(inv: &Invocation<'_, '_>, at: usize) -> bool {
    let Some((spec, ..)) = inv.args.get(at).and_then(|a| resolve(&a.text)) else {
        return false;
    };
    if spec.interpreter.is_none() {
        return false;
    }
    let Some(next) = inv.args.get(at + 1) else { return true };
    let before = at.checked_sub(1).and_then(|n| inv.args.get(n));
    let option = before.is_some_and(|a| a.text.starts_with("--") && a.text.len() > 2);
    let runs = INLINE_CODE_OPTIONS.iter().any(|f| next.text.starts_with(f));
    option && !runs
}
