//! The edited call next to the original: assessed before it can be approved, and shown afterwards.

use axum::extract::{Path, Request, State};
use axum::response::IntoResponse as _;
use countersign_json::parse;
use countersign_risk::card::Card;
use countersign_risk::word_pair::word_pair;
use countersign_store::StoredRequest;
use countersign_text::sanitize::sanitize_within;
use countersign_types::tier::Tier;
use maud::{Markup, html};
use serde_json::json;

use super::assessment::{assessed_call, badge, word_field};
use super::page::{ApiState, PageResult, signed_in};
use super::view::RequestView;
use crate::api::check_edit;

/// The route that checks an edit for the inbox.
pub const CHECK_EDIT: &str = "/inbox/edit/{id}";

/// How much of the arguments is shown without a card.
const ARGUMENTS: usize = 8_000;

/// The card of the approved edit; none if it cannot be read or is of another call.
pub fn card_of(stored: &StoredRequest) -> Option<Card> {
    let decided = stored.request.decision.as_ref()?.digest.canonical;
    let card = parse(stored.edited_card.as_deref()?).ok()?;
    Card::from_json(&card).ok().filter(|card| card.digest == decided)
}

/// The edited call of a request that was approved with an edit.
pub fn approved(view: &RequestView) -> Markup {
    let Some(arguments) = &view.stored.edited else { return html! {} };
    html! {
        section.edited aria-label="Edited call" {
            h2 { "Edited call (this is what was approved)" }
            @match card_of(&view.stored) {
                Some(card) => (assessed(&card)),
                None => {
                    p.wrong { "The assessment of this edit was not recorded." }
                    div.call { pre { (sanitize_within(arguments, ARGUMENTS).text) } }
                }
            }
        }
        h2 { "Original call (it was not approved)" }
    }
}

/// An assessed call: tier, two words, summary, the call itself and the reasons.
fn assessed(card: &Card) -> Markup {
    html! {
        div.(color_class(card.tier)) {
            p.tier { (badge(card.tier)) strong.words { (word_pair(&card.digest)) } }
            p.what { strong { (sanitize_within(&card.brief, 400).text) } }
            (assessed_call(card))
        }
    }
}

/// The class that gives a tier its color.
fn color_class(tier: Tier) -> String {
    tier.label().to_ascii_lowercase()
}

/// Assesses an edit, so that a person sees the result before approving it.
pub async fn check(State(api): ApiState, Path(text): Path<String>, request: Request) -> PageResult {
    signed_in(&api, request.headers())?;
    let (card, tier) = check_edit(&api, &text, request).await?;
    let words = word_pair(&card.digest).to_string();
    let markup = html! {
        div.assessed data-tier=(card.tier.label()) {
            (assessed(&card))
            @match tier {
                Tier::High => (word_field(&words)),
                Tier::Critical => p.hint { "A CRITICAL call needs a reason: enter it below." },
                Tier::Safe | Tier::Low | Tier::Medium => {}
            }
        }
    };
    let markup = markup.into_string();
    let answer = json!({ "digest": card.digest, "tier": tier, "markup": markup });
    Ok(axum::Json(answer).into_response())
}
