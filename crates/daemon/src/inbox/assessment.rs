//! An assessed call as pages show it: tier, the call itself, reasons, and what it touches.

use countersign_risk::card::Card;
use countersign_text::sanitize::sanitize_within;
use countersign_types::tier::Tier;
use maud::{Markup, html};

use super::call::call;
use super::labels::{shape, thousands};

/// How many reasons are shown before "all 7 reasons".
const MAX_REASONS: usize = 3;
/// How much of a text is shown.
const TEXT: usize = 2000;

/// The tier: a shape, a word and a color.
pub fn badge(tier: Tier) -> Markup {
    html! {
        span.badge { span aria-hidden="true" { (shape(tier)) " " } (tier.label()) }
    }
}

/// The field for one of the two words, which approving a HIGH call needs here as in the terminal.
pub fn word_field(phrase: &str) -> Markup {
    let (first, second) = phrase.split_once('-').unwrap_or((phrase, phrase));
    html! {
        label.word {
            "Type " strong { (first) } " or " strong { (second) } " to approve"
            input name="word" maxlength="60" autocapitalize="none" spellcheck="false"
                data-words=(phrase);
        }
    }
}

/// The call, the reasons, what it touches, and a safer alternative.
pub fn assessed_call(card: &Card) -> Markup {
    html! {
        (call(card))
        (reasons(card))
        (machine_facts(card))
        (impact(card))
        @if let Some(safer) = card.reasons.iter().find_map(|reason| reason.suggestion.as_ref()) {
            p.safer { strong { "Safer: " } (sanitize_within(safer, TEXT).text) }
        }
    }
}

fn reasons(card: &Card) -> Markup {
    let weigh: Vec<_> = card.reasons.iter().filter(|reason| reason.weight.0 > 0).collect();
    let line = |reason: &&countersign_risk::assess::Reason| {
        let width = u32::from(reason.weight.0).min(400) * 48 / 400;
        html! {
            li title=(sanitize_within(&reason.code, TEXT).text) {
                svg.bar viewBox="0 0 48 8" aria-hidden="true" {
                    rect.whole width="48" height="8" rx="2" {}
                    rect.share width=(width) height="8" rx="2" {}
                }
                span.weight { (reason.weight.value()) }
                span { (sanitize_within(&reason.message, TEXT).text) }
            }
        }
    };
    html! {
        @if !weigh.is_empty() {
            section.why aria-label="Why" {
                ul { @for reason in weigh.iter().take(MAX_REASONS) { (line(reason)) } }
                @if weigh.len() > MAX_REASONS {
                    details {
                        summary { "all " (weigh.len()) " reasons" }
                        ul { @for reason in weigh.iter().skip(MAX_REASONS) { (line(reason)) } }
                    }
                }
            }
        }
    }
}

/// The dry run, and what was found on the machine where the call would run.
fn machine_facts(card: &Card) -> Markup {
    html! {
        @if !(card.plan.is_empty() && card.facts.is_empty()) {
            dl.facts {
                @for (label, line) in card.observations() {
                    dt { (label) }
                    dd { (sanitize_within(line, TEXT).text) }
                }
            }
        }
    }
}

fn impact(card: &Card) -> Markup {
    let impact = &card.impact;
    html! {
        dl.facts {
            @for money in &impact.money {
                dt { "money" }
                dd { (money.amount) " " (money.currency.as_deref().unwrap_or("(no currency)")) }
            }
            @for (name, touched) in
                impact.lists().into_iter().filter(|(_, list)| !list.is_empty()) {
                dt { (name) }
                dd {
                    @for entry in &touched.listed {
                        code { (sanitize_within(entry, TEXT).text) } " "
                    }
                    @let listed = touched.listed.len() as u64;
                    @let more = u64::from(touched.count).saturating_sub(listed);
                    @if more > 0 { "and " (thousands(more)) " more" }
                }
            }
            @if !card.doubts.is_empty() {
                dt { "not sure" }
                dd { @for (at, doubt) in card.doubts.iter().enumerate() {
                    @if at > 0 { "; " } (doubt.words())
                } }
            }
        }
    }
}
