//! What a person must know to answer in a crisis, as parts of pages.

use countersign_store::CrisisSession;
use countersign_types::time::Timestamp;
use maud::{Markup, html};

use super::controls::shown;
use super::labels::relative_time;
use crate::gate::{CrisisContext, POSSIBLE_MINOR, crisis_level};

/// Everything but the forms.
pub fn markup(context: &CrisisContext, now: Timestamp) -> Markup {
    html! {
        p.hint { (level(&context.crisis, now)) }
        @if let Some(takeover) = &context.takeover {
            p { strong { (shown(&takeover.person)) " has taken over" }
                ", " (relative_time(takeover.at, now)) ". Nothing of the agent is sent." }
        }
        @if !context.signs.words.is_empty() {
            p { "Signs: " @for (at, words) in context.signs.words.iter().enumerate() {
                @if at > 0 { ", " } "“" (shown(words)) "”"
            } }
        }
        @if context.signs.minor { p { strong { (POSSIBLE_MINOR) } } }
        @if !context.turns.is_empty() {
            ol.turns { @for turn in &context.turns {
                li { strong { (turn.role) } ", " (relative_time(turn.at, now)) ": "
                    (shown(&turn.text)) }
            } }
        }
        (helplines(context))
    }
}

/// The numbers that the user was shown.
fn helplines(context: &CrisisContext) -> Markup {
    html! {
        ul.helplines {
            @if let Some(number) = context.card.emergency {
                li { "Emergency: " strong { (number) } }
            }
            @for line in &context.card.lines {
                li { (line.name) ": " strong { (line.number) } ", " (line.channel)
                    @if !line.hours.is_empty() { ", " (line.hours) } }
            }
            @if context.card.country.is_none() {
                li { "The user's country is not known. Helplines: findahelpline.com" }
            }
        }
    }
}

/// The section on the card of a call that waits.
pub fn on_card(context: &CrisisContext, now: Timestamp) -> Markup {
    html! {
        section.crisis aria-label="The conversation" {
            (markup(context, now))
            p.hint {
                "Help was shown to the user at once. Read the text below as they would: "
                "approve it, edit it, deny it, or "
                a href="/crises" { "take over and write yourself" }
                ". Only a person may promise to come back, or contact emergency services."
            }
        }
    }
}

/// The level of a crisis, and since when.
pub fn level(crisis: &CrisisSession, now: Timestamp) -> Markup {
    html! { (crisis_level(crisis)) ", since " (relative_time(crisis.since, now)) }
}
