//! What a command acts on, by the rows of `rules/headlines.toml`.

use super::invocation::Invocation;
use crate::finding::{Findings, Span};
use crate::headline::{CommandRow, Headline, Part, fill, object, rows_of};
use crate::impact::CountedList;
use countersign_shell::UNKNOWN;
use countersign_text::glob;
use countersign_types::tier::Tier;

/// A command with this many operands has no headline: not all of them would be read.
const MAX_OPERANDS: usize = 256;

/// Notes the headline of a finding about this command.
pub(super) fn note(
    code: &'static str,
    tier: Tier,
    inv: &Invocation<'_, '_>,
    span: Span,
    out: &mut Findings,
) {
    let parts = headline(inv).unwrap_or_default();
    out.headline(Headline { code: code.into(), tier, span: Some(span), parts });
}

fn headline(inv: &Invocation<'_, '_>) -> Option<Vec<Part>> {
    let first: &str = &inv.args.first()?.text;
    let name = first.rsplit(['/', '\\']).next().unwrap_or(first);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let mut rows = rows_of(name).peekable();
    rows.peek()?;
    let operands: Vec<&str> = (0..MAX_OPERANDS).map_while(|at| inv.operand(at)).collect();
    // An operand that is only known at run time may be the object.
    if operands.len() == MAX_OPERANDS || operands.iter().any(|word| word.contains(UNKNOWN)) {
        return None;
    }
    let fits = |row: &&'static CommandRow| {
        let word = |at: usize, globs: &[&str]| {
            let lookahead = |glob: &&str| glob.strip_prefix('&').unwrap_or(glob).to_owned();
            operands.get(at).is_some_and(|word| {
                globs.iter().map(lookahead).any(|glob| glob::matches(&glob, word))
            })
        };
        row.words.iter().enumerate().all(|(at, globs)| word(at, globs))
            && (row.flags.is_empty() || inv.has_one(row.flags))
    };
    rows.filter(fits).find_map(|row| {
        let is_lookahead = |globs: &&&[&str]| globs.iter().any(|glob| glob.starts_with('&'));
        let matched = row.words.len() - row.words.iter().filter(is_lookahead).count();
        let operands = operands.get(matched..).unwrap_or_default();
        fill(row.headline, &|name| named(name, operands, inv))
    })
}

/// The object behind a placeholder, as `rules/headlines.toml` describes them.
fn named(placeholder: &str, operands: &[&str], inv: &Invocation<'_, '_>) -> Option<CountedList> {
    let (name, is_ref) = match placeholder.strip_suffix(":ref") {
        Some(name) => (name, true),
        None => (placeholder, false),
    };
    let (name, and_more) = match name.strip_suffix('+') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let nth = |name: &str| name.parse::<usize>().ok()?.checked_sub(1);
    let words: Vec<&str> = match name {
        "all" => operands.to_vec(),
        "last" => operands.last().copied().into_iter().collect(),
        _ if name.starts_with('-') => {
            let mut values = name.split('|').map(|option| values(option, inv));
            let mut values = values.find(|values| !values.is_empty())?;
            values.extend(operands.iter().filter(|_| and_more));
            values
        }
        _ if and_more => operands.get(nth(name)?..)?.to_vec(),
        _ => vec![operands.get(nth(name)?)?],
    };
    if is_ref {
        return object(words.into_iter().map(target));
    }
    object(words)
}

/// The name that a git refspec changes on the other side.
fn target(refspec: &str) -> &str {
    let text = refspec.strip_prefix('+').unwrap_or(refspec);
    let text = text.rsplit_once(':').map_or(text, |(_, target)| target);
    text.strip_prefix("refs/heads/").unwrap_or(text)
}

/// All values of an option, also where the program's description does not list it.
fn values<'i>(option: &str, inv: &Invocation<'i, '_>) -> Vec<&'i str> {
    let listed = inv.values.iter().filter(|(name, _)| *name == option).map(|(_, value)| value.text);
    let listed: Vec<&str> = listed.collect();
    if !listed.is_empty() {
        return listed;
    }
    let given = inv.options.iter().filter(|at| inv.arg(**at).is_some_and(|a| a.text == option));
    let next = |at: &u16| -> Option<&'i str> { Some(&inv.arg(at.checked_add(1)?)?.text) };
    given.filter_map(next).filter(|word| !word.starts_with('-')).collect()
}
