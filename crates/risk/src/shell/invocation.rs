//! One program call taken apart: flags, option values, operands.

use super::arg::Arg;
use crate::command_tables::{Flag, Runner, Spec};
use countersign_text::glob::{ALWAYS, DASH, bytes_of};
use smallvec::SmallVec;

/// The parts of a program call. Indices point into the words.
pub(super) struct Invocation<'i, 't> {
    /// All words, the program first.
    pub args: &'i [Arg<'t>],
    /// Words that are options.
    pub options: SmallVec<[u16; 16]>,
    /// Words that are operands.
    pub operands: SmallVec<[u16; 16]>,
    /// Option name and its value.
    pub values: SmallVec<[(&'i str, Value<'i>); 4]>,
    /// Where `--` stood.
    pub dashes: Option<usize>,
    spec: Option<&'static Spec>,
    /// The set of bytes of each word, to rule patterns out.
    pub bytes: SmallVec<[u64; 16]>,
    /// The bytes of all words but the program.
    pub all_bytes: u64,
    /// The bytes of the first operand.
    pub head_bytes: u64,
    /// The single-letter flags given, alone or in a cluster, one bit each.
    letters: u128,
    /// The bytes of all options together, each without its first.
    pub option_bytes: u64,
    /// Words that may be options but were taken as the values of options.
    pub(super) doubtful: SmallVec<[u16; 2]>,
    /// Letters that may be flags but were taken as part of a value.
    pub(super) doubtful_letters: u128,
}

/// Where an option's value stands: a word of its own or the rest of the option's word.
#[derive(Clone, Copy, Default)]
pub(super) struct Value<'i> {
    /// The text.
    pub text: &'i str,
    /// The word it is in.
    pub word: usize,
}

impl<'i, 't> Invocation<'i, 't> {
    pub fn new(args: &'i [Arg<'t>], spec: Option<&'static Spec>) -> Invocation<'i, 't> {
        let mut inv = Invocation {
            args,
            options: SmallVec::new(),
            operands: SmallVec::new(),
            values: SmallVec::new(),
            dashes: None,
            spec,
            bytes: SmallVec::new(),
            all_bytes: ALWAYS,
            head_bytes: ALWAYS,
            letters: 0,
            option_bytes: ALWAYS,
            doubtful: SmallVec::new(),
            doubtful_letters: 0,
        };
        for (at, arg) in args.iter().enumerate() {
            let bytes = bytes_of(&arg.text);
            inv.bytes.push(bytes);
            inv.all_bytes |= if at > 0 { bytes } else { 0 };
        }
        inv.sort();
        inv.head_bytes |= inv.operands.first().map_or(0, |first| inv.bytes_at(*first));
        inv
    }

    /// Notes all words from here on as operands.
    fn rest(&mut self, from: usize) {
        (from..self.args.len())
            .filter_map(|i| u16::try_from(i).ok())
            .for_each(|i| self.operands.push(i));
    }

    fn sort(&mut self) {
        let posix = self.spec.is_some_and(|s| s.posix);
        let mut at = 1;
        while let Some(arg) = self.args.get(at) {
            let text: &'i str = &arg.text;
            let index = u16::try_from(at).unwrap_or(u16::MAX);
            if text == "--" {
                self.dashes = Some(at);
                self.rest(at + 1);
                return;
            }
            let option = text.len() > 1
                && (text.starts_with('-') || (text.starts_with('+') && text.len() == 2));
            if !option {
                if posix {
                    self.rest(at);
                    return;
                }
                self.operands.push(index);
                at += 1;
                continue;
            }
            self.options.push(index);
            self.note_letters(text);
            let dashed = text.bytes().skip(1).any(|b| b == b'-');
            let bytes = self.bytes_at(index);
            self.option_bytes |= if dashed { bytes } else { bytes & !DASH };
            let took_next = self.value_of(text, at);
            if took_next {
                self.note_doubtful(at + 1);
            }
            at += 1 + usize::from(took_next);
        }
    }

    /// Notes the value of an option; whether it took the next word.
    fn value_of(&mut self, text: &'i str, at: usize) -> bool {
        let Some(spec) = self.spec else {
            if let Some((name, value)) = name_and_value(text) {
                self.values.push((name, Value { text: value, word: at }));
            }
            return false;
        };
        let next = self.args.get(at + 1).map(|a| -> &'i str { &a.text });
        if text.starts_with("--") || spec.single_dash {
            if let Some((name, value)) = name_and_value(text) {
                self.values.push((name, Value { text: value, word: at }));
                return false;
            }
            if takes_value(spec, text)
                && let Some(value) = next
            {
                self.values.push((text, Value { text: value, word: at + 1 }));
                return true;
            }
            return false;
        }
        // A cluster: the first letter that takes a value takes the rest, or the next word.
        for (i, c) in text.char_indices().skip(1) {
            if c.is_ascii() && spec.letters & bit(c) == 0 {
                continue;
            }
            let mut name = [b'-', 0, 0, 0, 0];
            let letter = c.encode_utf8(name.get_mut(1..).unwrap_or_default()).len();
            let name =
                std::str::from_utf8(name.get(..=letter).unwrap_or_default()).unwrap_or_default();
            let Some(known) = spec.values.iter().find(|v| **v == name) else { continue };
            let rest = text.get(i + c.len_utf8()..).unwrap_or_default();
            if !rest.is_empty() {
                self.note_doubtful_letters(rest);
                let rest = rest.strip_prefix('=').unwrap_or(rest);
                self.values.push((known, Value { text: rest, word: at }));
                return false;
            }
            if let Some(value) = next {
                self.values.push((known, Value { text: value, word: at + 1 }));
                return true;
            }
            return false;
        }
        // `-name value` of programs that write long options with one dash.
        if takes_value(spec, text)
            && let Some(value) = next
        {
            self.values.push((text, Value { text: value, word: at + 1 }));
            return true;
        }
        false
    }

    /// The word at an index of `operands` or `options`.
    pub fn arg(&self, index: u16) -> Option<&'i Arg<'t>> {
        self.args.get(usize::from(index))
    }

    /// The text of the nth operand.
    pub fn operand(&self, n: usize) -> Option<&'i str> {
        self.operands.get(n).and_then(|i| self.arg(*i)).map(|a| -> &'i str { &a.text })
    }

    /// Whether a flag is given: `-f` (also inside `-rf`), `--force` (also `--force=x`), `--recur*`.
    #[inline]
    pub fn has_flag(&self, flag: &Flag) -> bool {
        flag.needs & !self.option_bytes == 0 && self.compare_flag(flag)
    }

    #[inline(never)]
    fn compare_flag(&self, flag: &Flag) -> bool {
        if let Some(letter) = flag.letter {
            return self.letters & bit(letter) != 0;
        }
        self.options.iter().any(|index| self.is_option(*index, flag))
    }

    pub(super) fn is_option(&self, index: u16, flag: &Flag) -> bool {
        let Some(arg) = self.arg(index) else { return false };
        let text: &str = &arg.text;
        if let Some(glob) = flag.glob {
            return glob.fits(text, self.bytes_at(index));
        }
        // Most options differ in their third byte.
        if text.as_bytes().get(2) != flag.text.as_bytes().get(2) {
            return false;
        }
        text.strip_prefix(flag.text).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    }

    /// Whether any option has a dash behind its first, as all long ones have.
    pub fn has_long(&self) -> bool {
        self.option_bytes & DASH != 0
    }

    /// The same for a flag that is in no table.
    pub fn has(&self, flag: &'static str) -> bool {
        let mut chars = flag.chars().skip(1);
        let letter = match (chars.next(), chars.next()) {
            (Some(c), None) => Some(c),
            _ => None,
        };
        self.has_flag(&Flag { text: flag, letter, glob: None, needs: 0 })
    }

    /// The set of bytes of the word at an index.
    pub fn bytes_at(&self, index: u16) -> u64 {
        self.bytes.get(usize::from(index)).copied().unwrap_or_default()
    }

    /// Notes the letters of `-abc`, up to one that takes the rest as its value.
    fn note_letters(&mut self, text: &str) {
        let Some(cluster) = text.strip_prefix('-').filter(|c| !c.starts_with('-')) else {
            if let [b'+', letter] = text.as_bytes() {
                self.letters |= bit(char::from(*letter));
            }
            return;
        };
        // Programs with long options behind one dash have no clusters.
        if self.spec.is_some_and(|s| s.single_dash) {
            let name = cluster.split('=').next().unwrap_or(cluster);
            if name.len() == 1 {
                self.letters |= name.chars().next().map_or(0, bit);
            }
            return;
        }
        for c in cluster.chars() {
            self.letters |= bit(c);
            if self.spec.is_some_and(|s| s.letters & bit(c) != 0) {
                return;
            }
        }
    }

    /// Whether any of the flags is given.
    pub fn has_any(&self, flags: &[Flag]) -> bool {
        !self.options.is_empty() && flags.iter().any(|f| self.has_flag(f))
    }

    /// The same for flags that are in no table.
    pub fn has_one(&self, flags: &[&'static str]) -> bool {
        !self.options.is_empty() && flags.iter().any(|f| self.has(f))
    }

    /// Whether a runner is about this subcommand.
    pub fn may_run(&self, runner: &Runner) -> bool {
        let is_meant =
            runner.sub.is_empty() || runner.sub.iter().any(|path| self.sub(path).is_some());
        is_meant && !self.has_one(&runner.unless)
    }
}

/// Splits `--name=value`; options are short, so byte by byte.
fn name_and_value(text: &str) -> Option<(&str, &str)> {
    let at = text.bytes().position(|b| b == b'=')?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// Whether an option takes the next word as its value.
fn takes_value(spec: &Spec, option: &str) -> bool {
    // Most of the same length differ in their last byte.
    let end = option.as_bytes().last();
    spec.values
        .iter()
        .any(|v| v.len() == option.len() && v.as_bytes().last() == end && *v == option)
}

/// The bit of a flag's letter; letters outside ASCII have none.
pub(super) fn bit(letter: char) -> u128 {
    if letter.is_ascii() { 1 << u32::from(letter) } else { 0 }
}
