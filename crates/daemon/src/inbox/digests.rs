//! Digest cards: several questions of one session as one card above the list.

use countersign_store::StoredRequest;
use countersign_types::tier::Tier;
use maud::{Markup, html};

use super::view::RequestView;
use crate::api::Api;
use crate::gate::{Burst, bursts};

/// A card for each session with many pending questions.
pub fn cards(api: &Api, views: &[RequestView]) -> Markup {
    let from = api.gate.rules().flood.digest_from;
    let found = bursts(views.iter().map(|view| &view.stored), from);
    html! { @for burst in &found { (card(burst)) } }
}

fn card(burst: &Burst<'_>) -> Markup {
    let id = |stored: &&StoredRequest| stored.request.id.to_string();
    let ids: Vec<String> = burst.requests.iter().map(id).collect();
    // HIGH and CRITICAL stay in the list.
    let low = burst.requests.iter().filter(|stored| stored.request.current_tier() < Tier::High);
    let folds: Vec<String> = low.map(id).collect();
    html! {
        div.digest data-ids=(ids.join(" ")) data-folds=(folds.join(" ")) {
            p.what { strong { (burst.title()) } }
            p.by { (burst.tiers()) }
            div.choices {
                a.button href=(burst.path()) { "Answer together" }
                button.quiet type="button" data-digest="unfold" { "List them" }
                button.quiet.deny type="button" data-digest="deny" {
                    "Deny all " (burst.requests.len())
                }
            }
        }
    }
}
