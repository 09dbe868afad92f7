//! Code given as text: Python, JavaScript and the other interpreters, read for what it would do.

mod act;
mod expr;
mod hand;
mod lex;
mod names;
mod ops;
mod paths;
mod quote;
mod reader;
mod strings;
mod table;
#[cfg(test)]
mod tests;
mod text;
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

const LANGUAGES: [Language; 6] = [
    Language::Python,
    Language::JavaScript,
    Language::Perl,
    Language::Ruby,
    Language::Php,
    Language::Other,
];

/// All rules and combinations by language.
pub(crate) fn rules() -> impl Iterator<Item = (Language, &'static table::Rule)> {
    LANGUAGES.into_iter().flat_map(|language| {
        let table = table::of(language);
        table.rules.iter().chain(table.combos).map(move |rule| (language, rule))
    })
}

/// Whether an example of a rule is one of those written in Python.
pub(crate) fn is_python(id: &str, example: &str) -> bool {
    let table = table::of(Language::Python);
    table.rules.iter().chain(table.combos).any(|rule| {
        rule.id == id && (rule.examples.contains(&example) || rule.counter.contains(&example))
    })
}

/// Reads code and adds what it would do. `base` is where the code starts in its argument.
pub fn read(lang: Language, text: &str, base: usize, ctx: &Context<'_>, out: &mut Findings) {
    read_at(lang, text, base, ctx, 0, out);
}

/// The same for code found at some depth of shell in code in shell.
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
