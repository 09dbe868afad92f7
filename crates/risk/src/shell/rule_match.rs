//! Rules held against one program call.

use super::invocation::Invocation;
use crate::command_tables::{Flag, Rule};
use crate::flow::Taint;
use crate::rule_glob::static_list::StaticList;
use crate::rule_glob::{Glob, Globs};
use countersign_text::glob::{GlobShape, bytes_of};
use countersign_types::tier::Tier;

impl Invocation<'_, '_> {
    /// Whether a rule holds for this call.
    #[inline]
    pub fn fits(&self, rule: &Rule, stdin: bool, root: bool) -> bool {
        rule.gate & !self.all_bytes == 0
            && rule.marks & self.all_bytes != 0
            && rule.head_marks & self.head_bytes != 0
            && rule.flag_marks & self.option_bytes != 0
            && rule.flag_gate & !self.option_bytes == 0
            && self.compare_rule(rule, stdin, root)
    }

    #[inline(never)]
    fn compare_rule(&self, rule: &Rule, stdin: bool, root: bool) -> bool {
        if (rule.stdin && !stdin) || (rule.root && !root) {
            return false;
        }
        let Some(after) = self.after_sub(rule) else { return false };
        // What an option means depends on the subcommand, which the list of values does not know.
        let doubtful = rule.tier >= Tier::Medium && !rule.sub.is_empty();
        let asks = rule.tier >= Tier::Medium;
        let given = |flags: &[Flag]| match (doubtful, asks) {
            (true, _) => self.may_have_any(flags),
            (false, true) => self.has_any(flags),
            (false, false) => self.surely_has_any(flags),
        };
        if !rule.flags.is_empty() && !given(&rule.flags) {
            return false;
        }
        let all = |alternatives: &StaticList<Flag>| given(alternatives);
        let excepted =
            if asks { self.surely_has_any(&rule.not_flags) } else { self.has_any(&rule.not_flags) };
        if !rule.all_flags.iter().all(all) || excepted {
            return false;
        }
        let rest = self.operands.get(after..).unwrap_or_default();
        if rest.len() < usize::from(rule.min_operands)
            || rest.len() > usize::from(rule.max_operands)
        {
            return false;
        }
        let computed = |i: &u16| self.arg(*i).is_some_and(|a| a.taint.has(Taint::COMPUTED));
        if rule.computed && !rest.iter().any(computed) {
            return false;
        }
        self.fits_words(rule, rest)
    }

    fn after_sub(&self, rule: &Rule) -> Option<usize> {
        if rule.sub.is_empty() {
            return Some(0);
        }
        let head: &str = &self.arg(*self.operands.first()?)?.text;
        let begins = |path: &[Glob]| {
            path.first().is_none_or(|first| {
                (first.shape != GlobShape::Exact || usize::from(first.len) == head.len())
                    && first.fits(head, self.head_bytes)
            })
        };
        rule.sub.iter().filter(|path| begins(path)).find_map(|path| self.sub(path))
    }

    fn fits_words(&self, rule: &Rule, rest: &[u16]) -> bool {
        let any = |globs: &Globs| self.any_fits(globs, rest.iter().copied());
        if !rule.operand.is_empty() && !any(&rule.operand) {
            return false;
        }
        if !rule.not_operand.is_empty() && any(&rule.not_operand) {
            return false;
        }
        if !rule.first.is_empty() && !rest.first().is_some_and(|i| self.fits_any(&rule.first, *i)) {
            return false;
        }
        let head = rest.first();
        if !rule.not_first.is_empty() && head.is_some_and(|i| self.fits_any(&rule.not_first, *i)) {
            return false;
        }
        if !rule.last.is_empty() {
            let last = u16::try_from(self.args.len().saturating_sub(1)).unwrap_or(u16::MAX);
            if self.args.len() <= 2 || !self.fits_any(&rule.last, last) {
                return false;
            }
        }
        if !rule.arg.is_empty() {
            let words = self.args.iter().zip(self.bytes.iter()).skip(1);
            if rule.arg.needs & !self.all_bytes != 0
                || !words.into_iter().any(|(arg, bytes)| rule.arg.fit(&arg.text, *bytes))
            {
                return false;
            }
        }
        rule.option.iter().all(|(names, globs)| {
            self.values.iter().any(|(name, value)| {
                names.contains(name) && globs.fit(value.text, bytes_of(value.text))
            })
        })
    }
    /// How many operands a subcommand path takes up, if it stands here.
    pub fn sub(&self, path: &[Glob]) -> Option<usize> {
        for (at, part) in path.iter().enumerate() {
            let index = *self.operands.get(at)?;
            let word = self.arg(index)?;
            if !part.fits(&word.text, self.bytes_at(index)) {
                return None;
            }
        }
        Some(path.len())
    }

    /// Whether any of these words fits any of the patterns.
    fn any_fits(&self, globs: &Globs, mut words: impl Iterator<Item = u16>) -> bool {
        if globs.needs & !self.all_bytes != 0 || globs.marks & self.all_bytes == 0 {
            return false;
        }
        words.any(|index| self.fits_any(globs, index))
    }

    /// Whether the word at an index fits any of the patterns.
    fn fits_any(&self, globs: &Globs, index: u16) -> bool {
        self.arg(index).is_some_and(|a| globs.fit(&a.text, self.bytes_at(index)))
    }
}
