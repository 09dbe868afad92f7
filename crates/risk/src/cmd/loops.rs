//! Loops of cmd: `for`, and the values that its variable takes.

use super::run::{Runner, not_read, run};
use super::scope::MAX_VALUES;
use crate::finding::Span;
use crate::flow::Flow;
use countersign_shell::UNKNOWN;
use countersign_shell::cmd::CmdWord;

impl Runner<'_, '_, '_, '_> {
    /// `for … in (…) do …`: the body is assessed with each value of the variable.
    pub(super) fn for_loop(&mut self, rest: &[CmdWord], stdin: &Flow, span: Span) -> Flow {
        let at = |word: &str| rest.iter().position(|w| w.text.eq_ignore_ascii_case(word));
        let (Some(set), Some(body)) = (at("in").map(|i| i + 1), at("do").map(|i| i + 1)) else {
            not_read(self.assessor, span);
            return Flow::none();
        };
        let letter = rest.iter().take(set).find_map(|w| {
            let (_, after) = w.text.split_once('\u{2}')?;
            after.chars().next()
        });
        let values = self.loop_values(rest, set, span);
        if let Some(letter) = letter {
            self.scope.loops.retain(|(l, _)| *l != letter);
            self.scope.loops.push((letter, values));
        }
        // Behind `do (` the body comes as commands of their own.
        self.words(rest.get(body..).unwrap_or_default(), stdin, span)
    }

    /// The values of a loop whose set is the word at `set`; the words before it are its options.
    fn loop_values(&mut self, rest: &[CmdWord], set: usize, span: Span) -> Vec<String> {
        let options: Vec<String> =
            rest.iter().take(set).map(|w| w.text.to_ascii_lowercase()).collect();
        let text = rest.get(set).map(|w| w.text.clone()).unwrap_or_default();
        let reads = options.iter().any(|o| o == "/f");
        let trimmed = text.trim();
        let code = trimmed
            .strip_prefix('\'')
            .and_then(|t| t.strip_suffix('\''))
            .or_else(|| trimmed.strip_prefix('`').and_then(|t| t.strip_suffix('`')));
        if let Some(code) = code.filter(|_| reads) {
            return self.output_lines(code, span);
        }
        if reads || options.iter().any(|o| o == "/l") {
            return vec![UNKNOWN.to_string()];
        }
        let items = crate::powershell::split_arguments(trimmed);
        if items.len() > MAX_VALUES {
            not_read(self.assessor, span);
        }
        let mut values: Vec<String> = items.into_iter().take(MAX_VALUES).collect();
        if let Some(at) = options.iter().position(|o| o == "/r") {
            // Every file below the folder that is named behind `/r`.
            let folder = rest.get(at + 1).map(|w| w.text.clone());
            let folder = folder.filter(|t| !t.starts_with('\u{2}'));
            let folder = folder.unwrap_or_else(|| ".".to_owned());
            values = values.iter().map(|v| format!("{folder}\\{v}")).collect();
        }
        values
    }

    /// The lines that a command prints.
    fn output_lines(&mut self, code: &str, span: Span) -> Vec<String> {
        let old = self.assessor.pin(Some(span));
        let output = run(self.assessor, code, &Flow::none());
        self.assessor.pin(old);
        let Some(text) = output.text else { return vec![UNKNOWN.to_string()] };
        let mut values: Vec<String> = text.lines().take(MAX_VALUES).map(str::to_owned).collect();
        if values.len() == MAX_VALUES {
            values.push(UNKNOWN.to_string());
        }
        values
    }
}
