//! Loops: which values of their variable are tried, and how often their body is walked.

use super::evaluator::Evaluator;
use super::plain::is_plain;
use super::state::{MAX_COMMANDS, Variable};
use crate::flow::{Flow, Taint};
use crate::limit::Limit;
use crate::structural_findings;
use countersign_shell::UNKNOWN;
use countersign_shell::posix::ast::{List, Word};

/// How many values of a loop variable are tried whatever they are; behind them, a plain value is
/// tried only if there was none like it.
const FIRST_VALUES: usize = 6;
/// How many values of a loop variable are tried.
const LOOP_VALUES: Limit = Limit::new("values in a loop", 256);
/// How much of what may still be walked one loop may use up.
const LOOP_WORK: Limit = Limit::new("commands in a loop", MAX_COMMANDS as usize / 2);
/// How often a loop is walked until nothing changes any more.
const MAX_TURNS: usize = 6;

impl<'t> Evaluator<'t, '_, '_, '_> {
    /// `for NAME in WORDS`: the body is walked for each value that makes a difference.
    pub(super) fn for_loop(
        &mut self,
        name: &str,
        words: &'t [Word<'t>],
        body: &'t List<'t>,
        stdin: &Flow,
    ) -> Flow {
        let mut args = Vec::new();
        for word in words {
            self.expand(word, &mut args);
        }
        let mut values: Vec<(String, Taint)> =
            args.into_iter().map(|a| (a.text.into_owned(), a.taint)).collect();
        if words.is_empty() {
            values = self.positional_values();
        }
        if values.is_empty() {
            values.push((UNKNOWN.to_string(), Taint::default()));
        }
        // Where no value is sure, the loop may not run and the variable keeps what it held.
        let unsure = values.iter().all(|(value, _)| value.contains(UNKNOWN));
        let mut values = representative(values);
        LOOP_VALUES.cut(&mut values, self.shared.out, self.shared.position.fixed());
        let mut flow = Flow::none();
        let last = values.len() - 1;
        let share = self.shared.budget.commands_left() / 2;
        for (at, (value, taint)) in values.iter().enumerate() {
            if (FIRST_VALUES..last).contains(&at) && self.shared.budget.commands_left() < share {
                // The remaining budget must suffice for the rest of the text.
                self.shared.exceeded(LOOP_WORK.exceeded(), None);
                continue;
            }
            if at == 0 && (unsure || self.shared.variables.get(name).is_none()) {
                self.set(name, value.clone(), *taint);
            } else {
                self.shared.variables.overwrite(name, value, *taint);
            }
            if at < last {
                flow = self.maybe(|w| w.list(body, stdin));
            } else {
                flow = self.turns(|w| {
                    w.shared.variables.overwrite(name, value, *taint);
                    w.list(body, stdin)
                });
            }
        }
        // `break` may have left any of them.
        for (value, taint) in values {
            self.set(name, value, taint);
        }
        // Values are not text order any more; only where they come from is kept.
        flow.text = None;
        flow
    }

    /// A loop runs again with what its first turn left behind; what still changes then is unknown.
    pub(super) fn turns(&mut self, mut turn: impl FnMut(&mut Self) -> Flow) -> Flow {
        let changes = self.shared.changes();
        let mut flow = self.maybe(&mut turn);
        if self.shared.changes() == changes || !self.shared.budget.begin_loop() {
            return flow;
        }
        let widened = self.shared.variables.widened_count();
        for at in 0.. {
            let before = self.shared.variables.snapshot();
            let formers = self.shared.variables.former_count();
            flow = flow.then(self.maybe(&mut turn));
            if !self.widen(before, formers) {
                break;
            }
            if at >= MAX_TURNS {
                self.shared.report(&structural_findings::TOO_MANY, None);
                break;
            }
        }
        self.shared.variables.end_widening(widened);
        self.shared.budget.end_loop();
        flow.text = None;
        flow
    }

    /// Makes variables unknown that the last turn of a loop still changed; whether there were any.
    /// `before` and `formers` are the variables and the count of former values before that turn.
    fn widen(&mut self, before: Vec<Variable>, formers: usize) -> bool {
        let variables = &mut self.shared.variables;
        let mut widened = false;
        for Variable { name, value, .. } in before {
            let more = variables.former_since(formers, &name).filter(|former| *former != value);
            let now = variables.value(&name).filter(|now| *now != value);
            let Some(now) = now.or(more) else { continue };
            if now == UNKNOWN.encode_utf8(&mut [0; 4]) {
                widened |= value != now;
                continue;
            }
            // A list that only grows still begins as it did.
            let stem = value.split(UNKNOWN).next().unwrap_or_default();
            let stem = if now.starts_with(stem) { stem } else { "" };
            let wide = format!("{stem}{UNKNOWN}");
            variables.widen(&name, wide);
            widened = true;
        }
        widened
    }
}

/// The first values, and behind them those that are neither there already nor plain data like one
/// that came before.
pub(super) fn representative(values: Vec<(String, Taint)>) -> Vec<(String, Taint)> {
    let mut kept: Vec<(String, Taint)> = Vec::with_capacity(values.len());
    let mut plain = false;
    for (value, taint) in values {
        let like = taint == Taint::default() && is_plain(&value);
        let known = (like && plain) || kept.iter().any(|k| k.0 == value && k.1 == taint);
        plain |= like;
        if kept.len() < FIRST_VALUES || !known {
            kept.push((value, taint));
        }
    }
    kept
}
