//! Flags that make a command milder (`--dry-run`) count only if no other word takes them back.

use super::invocation::Invocation;
use crate::command_tables::Flag;
use crate::name_lists::NEGATIVE_VALUES;
use countersign_shell::UNKNOWN;

impl Invocation<'_, '_> {
    /// Whether one of the flags is given, and none of them is taken back. They count as names of
    /// one flag. For everything that makes a call milder.
    pub fn surely_has_any(&self, flags: &[Flag]) -> bool {
        self.has_any(flags) && !flags.iter().any(|flag| self.is_taken_back(flag))
    }

    /// Whether a flag is switched off: `--dry-run=false`, `--dry-run false`, `--no-dry-run`.
    fn is_taken_back(&self, flag: &Flag) -> bool {
        let next = |index: u16| self.args.get(usize::from(index) + 1);
        self.options.iter().chain(&self.doubtful).any(|index| {
            let Some(arg) = self.arg(*index) else { return false };
            let (name, value) = match arg.text.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (arg.text.as_ref(), None),
            };
            let is_it = match flag.letter {
                Some(letter) => name.strip_prefix('-').is_some_and(|rest| rest.ends_with(letter)),
                None => self.is_option(*index, flag),
            };
            match value {
                Some(value) if is_it => is_negative(value),
                None if is_it && flag.letter.is_none() => {
                    next(*index).is_some_and(|arg| is_negative(&arg.text))
                }
                _ => is_opposite(name, flag.text.split(['=', '*']).next().unwrap_or_default()),
            }
        })
    }
}

/// A value that switches a flag off, or that is only known when the command runs.
fn is_negative(value: &str) -> bool {
    value.contains(UNKNOWN) || NEGATIVE_VALUES.iter().any(|no| no.eq_ignore_ascii_case(value))
}

/// `--no-x` and `--x`, in both directions.
fn is_opposite(name: &str, flag: &str) -> bool {
    let without = |name: &str| -> Option<usize> {
        let negated = name.strip_prefix("--no-").or_else(|| name.strip_prefix("--no"));
        negated.map(str::len)
    };
    let ends = |long: &str, short: &str| {
        let bare = short.strip_prefix("--").unwrap_or_default();
        !bare.is_empty() && without(long) == Some(bare.len()) && long.ends_with(bare)
    };
    ends(name, flag) || ends(flag, name)
}
