//! Code given as text: Python, JavaScript and the other interpreters, read for what it would do.

mod apply_rule;
mod expr;
mod lex;
mod names;
mod nested;
mod ops;
mod paths;
mod quote;
mod reader;
mod strings;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod unknown_calls;
mod url;
mod value;

use crate::context::Context;
use crate::finding::{Doubt, Finding, Findings};
use countersign_types::tier::Tier;

/// Longest code that is read.
const SIZE_LIMIT: usize = 1 << 20;

/// A language code can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Python.
    Python,
    /// JavaScript and TypeScript.
    JavaScript,
    /// Perl.
    Perl,
    /// Ruby.
    Ruby,
    /// PHP.
    Php,
    /// Lua, R, Tcl, … : read as text with the common signs only.
    Other,
}

/// The rules and the combinations of a language: its own first, then those of every language.
pub(crate) fn rules(language: Language) -> (&'static [table::Rule], &'static [table::Rule]) {
    let table = table::of(language);
    (table.rules, table.combos)
}

/// Reads code and adds what it would do. `base` is where the code starts in its argument.
pub fn read(lang: Language, text: &str, base: usize, ctx: &Context<'_>, out: &mut Findings) {
    read_at(lang, text, base, ctx, 0, out);
}

/// Whether all of a code is read, nothing in it is known only when it runs, and nothing in it asks
/// for a person.
pub(crate) fn is_harmless(lang: Language, text: &str, ctx: &Context<'_>, depth: u8) -> bool {
    let mut findings = Findings::default();
    read_at(lang, text, 0, ctx, depth, &mut findings);
    is_harmless_reading(lang, &findings)
}

/// The same for what a reading of the code found.
pub(crate) fn is_harmless_reading(lang: Language, findings: &Findings) -> bool {
    lang != Language::Other && unknown_calls::is_harmless(findings)
}

/// Reads code found at some depth of shell in code in shell.
pub(crate) fn read_at(
    lang: Language,
    text: &str,
    base: usize,
    ctx: &Context<'_>,
    depth: u8,
    out: &mut Findings,
) {
    if text.len() > SIZE_LIMIT {
        out.doubt(Doubt::Unreadable);
        out.add(Finding::pattern("code.too_long", Tier::High, "This code is too long to be read."));
        return;
    }
    let ctx = *ctx;
    reader::Reader::new(lang, text, base, &ctx, depth, out).run();
}
