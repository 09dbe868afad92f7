//! Words of a person instead of a command: new orders for the agent, or a cry for help.

use crate::context::Context;
use crate::effect::Effect;
use crate::finding::{Doubt, Finding, Findings};
use crate::limit::Limit;
use countersign_crisis as crisis;
use countersign_crisis::ScreenOptions;
use countersign_text::words::split_words;
use countersign_types::tier::Tier;

/// A group of sentences that try to give an agent new orders.
pub struct Phrase {
    /// Stable id.
    pub id: &'static str,
    /// The sentence for people.
    pub message: &'static str,
    phrases: &'static [&'static str],
}

/// How long words of a person may be.
const PROSE: Limit = Limit::new("bytes of prose", 16 * 1024);

/// What a text that gives an agent new orders costs.
pub const NEW_ORDERS: Tier = Tier::Medium;

include!(concat!(env!("OUT_DIR"), "/injection.rs"));

/// Several words, and nothing that only commands have: no option, path, variable or operator.
pub(crate) fn is_prose(text: &str) -> bool {
    let bytes = text.as_bytes();
    let technical =
        |b: &u8| matches!(b, b'/' | b'=' | b'$' | b'|' | b'<' | b'>' | b'`' | b'{' | b'&' | b'*');
    !bytes.iter().any(technical)
        && text.split_whitespace().nth(2).is_some()
        && !text.split_whitespace().any(|word| word.starts_with('-') && word.len() > 1)
}

/// Sentences among the commands of a text: a command beside them does not make them one.
pub(crate) fn note_sentences(text: &str, ctx: &Context<'_>, out: &mut Findings) {
    let is_whole = is_prose(text);
    if is_whole {
        note_prose(text, ctx, out);
    }
    let parts: Vec<&str> =
        text.split([';', '\n', '|', '&']).filter(|part| is_prose(part)).collect();
    let mut readings: Vec<String> = Vec::new();
    if !is_whole {
        readings.push(parts.join("\n"));
    }
    // The words around a sentence can count against it, so each is also read by itself.
    if is_whole || parts.len() > 1 {
        readings.extend(parts.iter().map(|part| (*part).to_owned()));
    }
    for reading in readings.iter().filter(|reading| reading.trim() != text.trim()) {
        if reading.is_empty() || out.has_doubt(Doubt::CrisisSigns) {
            continue;
        }
        let mut inner = Findings::default();
        note_prose(reading, ctx, &mut inner);
        // Places in a part mean nothing in the text that came.
        out.absorb(inner, |finding| Finding { span: None, ..finding });
    }
}

/// Words of a person instead of a command: new orders for the agent, or a cry for help.
fn note_prose(text: &str, ctx: &Context<'_>, out: &mut Findings) {
    if !PROSE.admits(text.len(), out, None) {
        return;
    }
    if let Some(found) = new_orders(text) {
        out.add(Finding::pattern(found.id, NEW_ORDERS, found.message));
    }
    ctx.read_text(|set| set.screen, text, out);
}

/// Looks for signs of a person in crisis.
pub(crate) fn note_crisis(text: &str, _ctx: &Context<'_>, out: &mut Findings) {
    let screening = crisis::screen(text, &ScreenOptions::default());
    if screening.crisis || screening.by_rules {
        out.effect(Effect::Crisis);
        out.doubt(Doubt::CrisisSigns);
        out.irreversible();
        let mut finding = Finding::pattern(
            "crisis.text",
            Tier::Critical,
            "These are the words of a person who may be in danger, not a command.",
        );
        finding.span = screening.signals.first().map(|s| s.span);
        out.add(finding);
    }
}

/// All groups of such sentences.
pub fn phrases() -> &'static [Phrase] {
    PHRASES
}

/// The group whose words a text holds.
pub fn new_orders(text: &str) -> Option<&'static Phrase> {
    let mut folded = String::with_capacity(text.len());
    for word in split_words(text) {
        folded.push(' ');
        folded.push_str(&word.text);
    }
    PHRASES.iter().find(|p| p.phrases.iter().any(|phrase| folded.contains(phrase)))
}
