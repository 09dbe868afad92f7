//! The ledger: its newest entries, its signed checkpoint, and a verification in the browser.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_ledger::entry::Entry;
use countersign_store::{Store as _, StoreError};
use countersign_text::sanitize::show_within;
use countersign_types::time::{Clock as _, Timestamp};
use maud::{Markup, html};

use super::labels::{apart, thousands};
use super::layout;
use super::page::{ApiState, PageResult, signed_in_page};

/// How many of the newest entries are shown.
const NEWEST: u32 = 100;

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let who = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&who));
    let store = api.gate.store();
    let head = store.tree_head().await.map_err(failed)?;
    let note = store.checkpoint().await.map_err(failed)?;
    let from = head.size.saturating_sub(u64::from(NEWEST));
    let slice = store.entries(from, NEWEST).await.map_err(failed)?;
    let now = api.gate.clock().now().at;
    let body = html! {
        section.wide {
            h1 { "Ledger" }
            p {
                (thousands(head.size))
                "entries. Each is hashed into a Merkle tree, so a changed entry changes the root."
            }
            dl.facts { dt { "root" } dd { code { (head.root) } } }
            div.check data-size=(head.size) data-root=(head.root) {
                button type="button" #verify { "Verify in this browser" }
                p #verified role="status" {}
            }
            @if let Some(note) = note {
                details {
                    summary { "The signed checkpoint, for a witness" }
                    pre.note { (note) }
                }
            }
            p.hint { "From a terminal: countersign ledger verify" }
            ol.entries reversed {
                @for (at, entry) in slice.entries.iter().enumerate().rev() {
                    (line(slice.from.saturating_add(at as u64), entry, now))
                }
            }
        }
    };
    Ok(layout::page("Ledger", layout::MenuItem::Ledger, Some(&who), &body))
}

/// One entry as a sentence, with its exact text.
pub fn line(seq: u64, bytes: &[u8], now: Timestamp) -> Markup {
    let entry = Entry::decode(bytes).ok();
    let text = String::from_utf8_lossy(bytes);
    let who = entry.as_ref().and_then(|entry| entry.person.as_ref().or(entry.agent.as_ref()));
    let sentence = entry.as_ref().map_or("The entry cannot be read.", |it| it.kind.sentence());
    html! {
        li {
            span.when { @if let Some(entry) = &entry { (apart(Timestamp(entry.at), now)) } }
            details {
                summary { (sentence) }
                pre { (show_within(&text, 4000).text) }
            }
            span.faint {
                @if let Some(who) = who { (show_within(who, 60).text) ", " }
                "entry " (seq)
            }
        }
    }
}
