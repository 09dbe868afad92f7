//! What programs write according to `rules/structure.toml`.

use super::invocation::Invocation;
use super::xargs::{found_below, protected_below};
use crate::flow::{Flow, Taint};
use countersign_text::decode;

/// One entry of `[[output]]`.
#[derive(Debug)]
struct OutputRule {
    /// Names of programs.
    programs: &'static [&'static str],
    /// The first operand is one of these; empty for any.
    sub: &'static [&'static str],
    /// One of these options is given; empty for any.
    options: &'static [&'static str],
    /// And one of these.
    with: &'static [&'static str],
    /// None of these options is given.
    unless: &'static [&'static str],
    /// No operand is given.
    bare: bool,
    /// What it writes.
    gives: OutputKind,
}

/// What a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputKind {
    /// What is piped in.
    Input,
    /// The names of files.
    FileNames,
    /// Files of the repository, or what is known about this machine and its people.
    Local,
    /// Passwords, keys or tokens.
    Secret,
    /// Its input, decoded from base64.
    Base64,
    /// Its input, decoded from base32.
    Base32,
    /// Its input, decoded from hexadecimal.
    Hex,
    /// Its input, decoded in a way that is not followed.
    Decoded,
}

include!(concat!(env!("OUT_DIR"), "/program_outputs.rs"));

impl OutputRule {
    fn fits(&self, name: &str, inv: &Invocation<'_, '_>, stdin: &Flow) -> bool {
        let first = || inv.operand(0).is_some_and(|word| self.sub.contains(&word));
        self.programs.contains(&name)
            && (self.sub.is_empty() || first())
            && (self.options.is_empty() || inv.has_one(self.options))
            && (self.with.is_empty() || inv.has_one(self.with))
            && !inv.has_one(self.unless)
            && (!self.bare || inv.operands.is_empty())
            && (self.gives != OutputKind::Input || stdin.present)
    }
}

/// The output of a program by the first rule that fits; none where no rule does.
pub(super) fn program_output(name: &str, inv: &Invocation<'_, '_>, stdin: &Flow) -> Option<Flow> {
    let rule = OUTPUT_RULES.iter().find(|rule| rule.fits(name, inv, stdin))?;
    Some(match rule.gives {
        OutputKind::Input => stdin.clone(),
        OutputKind::FileNames => Flow {
            place: found_below(inv),
            protected: protected_below(inv),
            ..Flow::unknown(Taint::FILE)
        },
        OutputKind::Local => Flow::unknown(Taint::FILE),
        OutputKind::Secret => Flow::unknown(Taint::SECRET),
        OutputKind::Base64 => decoded(stdin, decode::base64),
        OutputKind::Base32 => decoded(stdin, decode::base32),
        OutputKind::Hex => decoded(stdin, decode::hex),
        OutputKind::Decoded => decoded(stdin, |_| None),
    })
}

fn decoded(stdin: &Flow, decoder: impl Fn(&str) -> Option<Vec<u8>>) -> Flow {
    let text = stdin.text.as_deref().and_then(decoder).and_then(decode::utf8_without_nul);
    Flow { text, ..Flow::unknown(stdin.taint.and(Taint::DECODED)) }
}
