//! The parts of a compound command: the risky ones first, each with a button that approves only it.

use countersign_risk::card::{Card, CardSegment};
use countersign_text::sanitize::sanitize_within;
use countersign_types::tier::Tier;
use maud::{Markup, html};

use super::assessment::{badge, word_field};

/// How much of a part is shown; a card holds no longer one.
const TEXT: usize = 2000;

/// The parts of a command, to read.
pub fn parts(card: &Card) -> Markup {
    list(card, None)
}

/// The same with the answers; `phrase` is the two words of the whole call.
pub fn answerable_parts(card: &Card, phrase: &str) -> Markup {
    list(card, Some(phrase))
}

fn list(card: &Card, phrase: Option<&str>) -> Markup {
    let sorted = card.segments_by_risk();
    let (asking, harmless): (Vec<_>, Vec<_>) =
        sorted.into_iter().partition(|(_, segment)| segment.asks && !segment.approved);
    let takes_word = asking.iter().any(|(_, segment)| segment.tier == Tier::High);
    html! {
        @if !card.segments.is_empty() {
            section.segments aria-label="Parts of the command" {
                ul { @for (number, segment) in &asking { (part(*number, segment, phrase)) } }
                @if !harmless.is_empty() {
                    details {
                        summary { (folded(&harmless)) }
                        ul {
                            @for (number, segment) in &harmless { (part(*number, segment, None)) }
                        }
                    }
                }
                @if let Some(phrase) = phrase.filter(|_| takes_word) { (word_field(phrase)) }
                @if phrase.is_some() {
                    p.hint {
                        "Approving one part denies the command as a whole. The agent is told, and "
                        "may run exactly that part alone, once."
                    }
                }
            }
        }
    }
}

fn folded(harmless: &[(usize, &CardSegment)]) -> String {
    match harmless.len() {
        1 => "1 part that needs no answer".to_owned(),
        count => format!("{count} parts that need no answer"),
    }
}

fn part(number: usize, segment: &CardSegment, phrase: Option<&str>) -> Markup {
    html! {
        li {
            (badge(segment.tier)) " "
            span.number { (number) ". " }
            code { (sanitize_within(&segment.text, TEXT).text) }
            @if segment.approved { span.faint { " approved before" } }
            @if phrase.is_some() {
                button type="button" data-answer="approve" data-segment=(number)
                    data-tier=(segment.tier.label()) { "Approve only this part" }
            }
        }
    }
}
