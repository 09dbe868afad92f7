//! The ledger: its newest entries, its signed checkpoint, and a verification in the browser.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_ledger::entry::Entry;
use countersign_store::{Store as _, StoreError};
use countersign_text::sanitize::sanitize_within;
use countersign_types::time::{Clock as _, Timestamp};
use maud::{Markup, html};

use super::labels::{relative_time, thousands};
use super::layout;
use super::page::{ApiState, PageResult, signed_in_page};

/// How many of the newest entries are shown.
const NEWEST: u32 = 100;

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&identity));
    let store = api.gate.store();
    let head = store.tree_head().await.map_err(failed)?;
    let note = store.checkpoint().await.map_err(failed)?;
    let from = head.size.saturating_sub(u64::from(NEWEST));
    let slice = store.entries(from, NEWEST).await.map_err(failed)?;
    let now = api.gate.clock().now().at;
    let body = html! {
        section.wide {
            h1 { "Ledger" }
            @if let Some(fault) = api.gate.integrity().fault() { (fault_form(&fault.to_string())) }
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
    Ok(layout::page("Ledger", layout::MenuItem::Ledger, Some(&identity), &body))
}

/// What is wrong with the store, and the form with which an administrator accepts it.
fn fault_form(fault: &str) -> Markup {
    html! {
        p.alarm role="alert" {
            (sanitize_within(fault, 1000).text)
            ". Nothing is approved until an administrator acknowledges this. Find out who changed "
            "the store first."
        }
        form.api.line data-method="POST" data-path="/v1/ledger/acknowledge" {
            input name="reason" required maxlength="500" placeholder="I restored a backup"
                aria-label="Reason (required)";
            button type="submit" { "Acknowledge" }
            p.wrong role="alert" {}
        }
    }
}

/// One entry as a sentence, with its exact text.
pub fn line(seq: u64, bytes: &[u8], now: Timestamp) -> Markup {
    let entry = Entry::decode(bytes).ok();
    let text = String::from_utf8_lossy(bytes);
    let identity = entry.as_ref().and_then(|entry| entry.person.as_ref().or(entry.agent.as_ref()));
    let sentence = entry.as_ref().map_or("The entry cannot be read.", |it| it.kind.sentence());
    html! {
        li {
            span.when { @if let Some(entry) = &entry { (relative_time(Timestamp(entry.at), now)) } }
            details {
                summary { (sentence) }
                pre { (sanitize_within(&text, 4000).text) }
            }
            span.faint {
                @if let Some(identity) = identity { (sanitize_within(identity, 60).text) ", " }
                "entry " (seq)
            }
        }
    }
}
