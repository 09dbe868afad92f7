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
use super::labels::relative_time;
use super::page::{ApiState, PageResult, signed_in};
use super::view::{RequestView, card_of};
use crate::api::{CheckedEdit, check_edit};
use crate::current_call::proposed_card;

/// The route that checks an edit for the inbox.
pub const CHECK_EDIT: &str = "/inbox/edit/{id}";

/// How much of the arguments is shown without a card.
const ARGUMENTS: usize = 8_000;
/// How much of a name is shown.
const NAME: usize = 120;

/// The card of the approved edit; none if it cannot be read or is of another call.
pub fn approved_card(stored: &StoredRequest) -> Option<Card> {
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
            @match approved_card(&view.stored) {
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

/// Above the call that people are asked about: who edited it, and how many approvals are missing.
pub fn proposed_by(view: &RequestView) -> Markup {
    let Some(proposal) = view.original.as_ref().and_then(|one| one.request.proposal.as_ref())
    else {
        return html! {};
    };
    let needed = usize::from(view.stored.request.quorum.approve);
    let missing = needed.saturating_sub(view.approvals());
    html! {
        section.edited aria-label="Proposed edit" {
            h2 { "Edited call (this is what you approve)" }
            p {
                "Edited by " (sanitize_within(&proposal.person, NAME).text) ", "
                (relative_time(proposal.at, view.now)) ". It needs " (needed) " approvals; "
                (missing) " missing. An approval of the original does not count."
            }
        }
    }
}

/// Below the call that people are asked about: the call that the agent requested.
pub fn original(view: &RequestView) -> Markup {
    let Some(original) = &view.original else { return html! {} };
    html! {
        section.edited aria-label="Original call" {
            h2 { "Original call (it does not run)" }
            @match card_of(original) {
                Some(card) => (assessed(&card)),
                None => p.wrong { "The original call cannot be shown." },
            }
        }
    }
}

/// The edit of a request that ended before enough people approved it.
pub fn not_approved(view: &RequestView) -> Markup {
    let stored = &view.stored;
    let proposal = stored.request.proposal.as_ref().filter(|_| stored.edited.is_none());
    let Some(proposal) = proposal else { return html! {} };
    html! {
        section.edited aria-label="Proposed edit" {
            h2 {
                "Proposed edit by " (sanitize_within(&proposal.person, NAME).text)
                " (it was not approved)"
            }
            @match proposed_card(stored) {
                Some(card) => (assessed(&card)),
                None => p.wrong { "The edited call cannot be shown." },
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
    let CheckedEdit { card, tier, people } = check_edit(&api, &text, request).await?;
    let words = word_pair(&card.digest).to_string();
    let markup = html! {
        div.assessed data-tier=(card.tier.label()) {
            (assessed(&card))
            @match tier {
                Tier::High => (word_field(&words)),
                Tier::Critical => p.hint { "A CRITICAL call needs a reason: enter it below." },
                Tier::Safe | Tier::Low | Tier::Medium => {}
            }
            @if people > 1 {
                p.hint {
                    (people) " people must approve this call. Your approval proposes it to the "
                    "others; until then nothing runs."
                }
            }
        }
    };
    let markup = markup.into_string();
    let answer = json!({ "digest": card.digest, "tier": tier, "markup": markup });
    Ok(axum::Json(answer).into_response())
}
