//! Names in the sentence: the objects of headlines and the entries of lists, safe to show.

use crate::assess::Reason;
use crate::finding::Span;
use crate::headline;
use crate::headline::{Headline, Part};
use crate::impact::CountedList;
use crate::redact::RedactedCall;
use countersign_redact::sanitize_marked;
use countersign_text::glob;
use countersign_types::tier::Tier;

/// The longest name or path in it, in bytes.
const ENTRY: usize = 72;

/// The same where the headline has more than one.
const SHORT_ENTRY: usize = 44;

/// The headline of a rule's findings: "Delete namespace prod".
pub(super) fn headline(clean: &RedactedCall, code: &str) -> Option<String> {
    let (parts, more) = headline::merged(&clean.headlines, code)?;
    let objects = parts.iter().filter(|part| matches!(part, Part::Object(_))).count();
    let limit = if objects > 1 { SHORT_ENTRY } else { ENTRY };
    let mut text = String::new();
    for part in &parts {
        match part {
            Part::Text(words) => text.push_str(words),
            Part::Object(list) => text.push_str(&entries_with(list, &|name| quoted(name, limit))),
        }
    }
    Some(if more > 0 { format!("{text}, and {more} more") } else { text })
}

/// The headline of what a text does, where the finding of the program that runs it only repeats it.
pub(super) fn deferred(clean: &RedactedCall, top: &Reason) -> Option<String> {
    let defers = |code: &str| headline::DEFERRED.iter().any(|glob| glob::matches(glob, code));
    let says_more = |headline: &&Headline| {
        headline.tier >= top.weight.tier() && !headline.parts.is_empty() && !defers(&headline.code)
    };
    let found = clean.headlines.iter().filter(|_| defers(&top.code)).find(says_more)?;
    headline(clean, &found.code)
}

/// The headline of the most severe finding elsewhere in the call, to follow that of the first.
pub(super) fn second(clean: &RedactedCall, top: &Reason) -> Option<String> {
    let known = clean.headlines.iter().find(|headline| headline.code == top.code);
    let place = known.map_or(top.span.filter(|_| clean.hidden.is_empty()), |known| known.span)?;
    let elsewhere = |span: Span| span.end <= place.start || span.start >= place.end;
    let mut found: Option<&Headline> = None;
    for headline in &clean.headlines {
        if headline.code != top.code
            && headline.tier >= Tier::Medium
            && !headline.parts.is_empty()
            && headline.span.is_some_and(elsewhere)
            && found.is_none_or(|found| headline.tier > found.tier)
        {
            found = Some(headline);
        }
    }
    let text = self::headline(clean, &found?.code)?;
    let mut chars = text.chars();
    let first = chars.next()?.to_lowercase();
    Some(first.chain(chars).collect())
}

/// Whether a headline names the first entry of a list.
pub(super) fn names(headline: &str, list: Option<&CountedList>) -> bool {
    let first = list.and_then(|list| list.listed.first());
    first.is_some_and(|first| headline.contains(shown(first).as_str()))
}

/// A name without the markers of hidden secrets.
fn without_markers(name: &str) -> String {
    let mut text = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once("⟨hidden:") {
        text.push_str(before);
        rest = after.split_once('⟩').map_or("", |(_, after)| after);
    }
    text + rest
}

/// A name from the call, in quotes where it could be read as words of the headline.
fn quoted(name: &str, limit: usize) -> String {
    let shown = sanitize_marked(name, limit).text;
    let is_loose = |c: char| c.is_whitespace() || ",;\"'".contains(c);
    if without_markers(name).contains(is_loose) {
        return format!("\"{}\"", shown.replace('"', "'"));
    }
    shown
}

pub(super) fn shown(entry: &str) -> String {
    sanitize_marked(entry, ENTRY).text
}

/// `a`, `a and b`, `a and 2 others`.
pub(super) fn entries(list: &CountedList) -> String {
    entries_with(list, &|entry| shown(entry))
}

fn entries_with(list: &CountedList, shown: &dyn Fn(&str) -> String) -> String {
    let first = list.listed.first().map(|first| shown(first)).unwrap_or_default();
    match (list.count, list.listed.get(1)) {
        (0 | 1, _) => first,
        (2, Some(second)) if first.len() + second.len() < ENTRY => {
            format!("{first} and {}", shown(second))
        }
        (2, _) => format!("{first} and 1 other"),
        (count, _) => format!("{first} and {} others", count.saturating_sub(1)),
    }
}
