//! Code given as text: Python, JavaScript and the other interpreters, read for what it would do.

mod apply_rule;
mod attributes;
mod bindings;
mod collections;
mod comments;
mod decoding;
mod entered;
mod expr;
mod imports;
mod lex;
mod loops;
mod names;
mod nested;
mod ops;
mod paths;
mod perl;
mod plain_words;
mod postfix;
mod quote;
mod reader;
mod requests;
mod rights;
mod starts;
mod strings;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod text_ops;
mod token;
mod unknown_calls;
mod url;
mod value;
mod work;

use crate::context::Context;
use crate::finding::{Doubt, Finding, Findings};
use crate::nested_command::ReadNested;
use countersign_types::tier::Tier;

pub use crate::language::Language;

/// Longest code that is read.
const SIZE_LIMIT: usize = 1 << 20;

/// The rules and the combinations of a language: its own first, then those of every language.
pub(crate) fn rules(language: Language) -> (&'static [table::Rule], &'static [table::Rule]) {
    let table = table::of(language);
    (table.rules, table.combos)
}

/// Whether all of a code is read, nothing in it is known only when it runs, and nothing in it asks
/// for a person; by what a reading of the code found. A language without a reader of its own is
/// understood only where all words of the code are known ones.
pub(crate) fn is_harmless_reading(lang: Language, text: &str, findings: &Findings) -> bool {
    (lang != Language::Other || plain_words::has_only_known_words(text))
        && unknown_calls::is_harmless(findings)
}

/// Reads code and adds what it would do. `base` is where the code starts in its argument, `depth`
/// how many texts it is inside of, and `nested` reads the commands that it hands to a shell.
pub(crate) fn read(
    lang: Language,
    text: &str,
    base: usize,
    ctx: &Context<'_>,
    depth: u8,
    nested: ReadNested,
    out: &mut Findings,
) {
    if text.len() > SIZE_LIMIT {
        out.doubt(Doubt::Unreadable);
        out.add(Finding::pattern("code.too_long", Tier::High, "This code is too long to be read."));
        return;
    }
    let ctx = *ctx;
    reader::Reader::new(lang, text, base, &ctx, depth, nested, out).run();
}
