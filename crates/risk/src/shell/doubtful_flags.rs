//! Words that may be flags of a program although they were taken as the values of its options.

use super::invocation::{Invocation, bit};
use crate::command_tables::Flag;

/// How many letters behind an option may be flags rather than its value.
const MAX_CLUSTER: usize = 3;

impl Invocation<'_, '_> {
    /// Notes a word that was taken as a value. With another subcommand the same option may be a
    /// plain flag: `git push -u -f`.
    pub(super) fn note_doubtful(&mut self, at: usize) {
        let Some(arg) = self.args.get(at) else { return };
        let Some(name) = arg.text.strip_prefix('-') else { return };
        let Ok(index) = u16::try_from(at) else { return };
        if name.starts_with('-') {
            self.doubtful.push(index);
        } else {
            self.note_doubtful_letters(name);
        }
        self.option_bytes |= self.bytes_at(index);
    }

    /// Notes the letters of a short value: `-uf` may be `-u -f`.
    pub(super) fn note_doubtful_letters(&mut self, value: &str) {
        if value.len() <= MAX_CLUSTER && value.bytes().all(|b| b.is_ascii_alphabetic()) {
            self.doubtful_letters |= value.chars().fold(0, |all, c| all | bit(c));
        }
    }

    /// Whether any of the flags may be given, among what was taken as values too. Only for rules
    /// that make a call worse.
    pub fn may_have_any(&self, flags: &[Flag]) -> bool {
        let doubtful = |flag: &Flag| match flag.letter {
            Some(letter) => self.doubtful_letters & bit(letter) != 0,
            None => self.doubtful.iter().any(|index| self.is_option(*index, flag)),
        };
        self.has_any(flags) || flags.iter().any(doubtful)
    }
}
