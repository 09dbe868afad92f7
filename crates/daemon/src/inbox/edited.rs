//! The edited call beside the original: judged before it can be approved, and shown ever after.

use axum::extract::{Path, Request, State};
use axum::response::IntoResponse as _;
use countersign_json::parse;
use countersign_risk::card::Card;
use countersign_risk::word_pair::phrase;
use countersign_store::StoredRequest;
use countersign_text::sanitize::show_within;
use countersign_types::tier::Tier;
use maud::{Markup, html};
use serde_json::json;

use super::card::{badge, inside, word_field};
use super::view::View;
use super::{House, Shown, reader};
use crate::api::check_edit;

/// The route that checks an edit for the inbox.
pub const CHECK_EDIT: &str = "/inbox/edit/{id}";

/// How much of arguments without a card is shown.
const ARGUMENTS: usize = 8_000;

/// The card of the edited call that was approved; none if it cannot be read or is of another call.
pub fn card_of(stored: &StoredRequest) -> Option<Card> {
    let decided = stored.request.decision.as_ref()?.digest.canonical;
    let card = parse(stored.edited_card.as_deref()?).ok()?;
    Card::from_json(&card).ok().filter(|card| card.digest == decided)
}

/// The edited call of a request that was approved with an edit.
pub fn approved(view: &View) -> Markup {
    let Some(arguments) = &view.stored.edited else { return html! {} };
    html! {
        section.edited aria-label="Edited call" {
            h2 { "Edited call (this is what was approved)" }
            @match card_of(&view.stored) {
                Some(card) => (judged(&card)),
                None => {
                    p.wrong { "The assessment of this edit was not recorded." }
                    div.call { pre { (show_within(arguments, ARGUMENTS).text) } }
                }
            }
        }
        h2 { "Original call (it was not approved)" }
    }
}

/// A call as it was judged: tier, two words, what would happen, the call itself and the reasons.
fn judged(card: &Card) -> Markup {
    html! {
        div.(colour(card.tier)) {
            p.tier { (badge(card.tier)) strong.words { (phrase(&card.digest)) } }
            p.what { strong { (show_within(&card.brief, 400).text) } }
            (inside(card))
        }
    }
}

/// The class that gives a tier its colour.
fn colour(tier: Tier) -> String {
    tier.label().to_ascii_lowercase()
}

/// An edit that is not approved yet: judged, so that a person sees the result first.
pub async fn check(State(api): House, Path(text): Path<String>, request: Request) -> Shown {
    reader(&api, request.headers())?;
    let card = check_edit(&api, &text, request).await?;
    let words = phrase(&card.digest).to_string();
    let markup = html! {
        div.judged data-tier=(card.tier.label()) {
            (judged(&card))
            @match card.tier {
                Tier::High => (word_field(&words)),
                Tier::Critical => p.hint { "The edited call is CRITICAL: enter a reason below." },
                Tier::Safe | Tier::Low | Tier::Medium => {}
            }
        }
    };
    let markup = markup.into_string();
    let answer = json!({ "digest": card.digest, "tier": card.tier, "markup": markup });
    Ok(axum::Json(answer).into_response())
}
