//! Calls that ran before a person looked: what changed, with a way to keep it or to roll it back.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_store::{Store as _, StoreError, StoredReview};
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::review::ReviewState;
use maud::{Markup, html};

use super::controls::shown;
use super::labels::relative_time;
use super::layout;
use super::page::{ApiState, PageResult, signed_in_page};
use crate::api::Api;
use crate::gate::{ChangedFileView, ReviewChanges, change_view};

/// How long ended reviews are listed: a week.
const LISTED_MS: i64 = 7 * 86_400_000;
/// The most open reviews on the page.
const MOST: usize = 30;

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&identity));
    let now = api.gate.clock().now().at;
    let open = api.gate.store().reviews(None).await.map_err(failed)?;
    let since = Timestamp(now.0.saturating_sub(LISTED_MS));
    let recent = api.gate.store().reviews(Some(since)).await.map_err(failed)?;
    let ended: Vec<&StoredReview> = recent.iter().filter(|one| one.ended.is_some()).collect();
    let mut items = Vec::new();
    for review in open.iter().take(MOST) {
        items.push(item(&api, review, now).await);
    }
    let body = html! {
        section.wide.reviews {
            h1 { "Reviews" }
            p.hint {
                "These calls changed files before a person looked. Keep the changes, or roll them "
                "back: the files become as they were before the call."
            }
            @if open.is_empty() { p { "Nothing to review." } }
            @for item in &items { (item) }
            @if open.len() > MOST { p.hint { (open.len() - MOST) " more follow." } }
            @if !ended.is_empty() {
                details { summary { (ended.len()) " ended in the last seven days" }
                    ul.list { @for review in ended.iter().take(100) { (ended_line(review, now)) } }
                }
            }
        }
    };
    Ok(layout::page("Reviews", layout::MenuItem::Reviews, Some(&identity), &body))
}

/// A line on the inbox page if calls wait for their review.
pub async fn notice(api: &Api) -> Result<Markup, StoreError> {
    let open = api.gate.store().reviews(None).await?.len();
    Ok(html! {
        @if open > 0 {
            p.hint role="status" {
                a href="/reviews" {
                    @if open == 1 { "One call ran first and waits for your review." }
                    @else { (open) " calls ran first and wait for your review." }
                }
            }
        }
    })
}

async fn item(api: &Api, review: &StoredReview, now: Timestamp) -> Markup {
    let found = change_view(&api.gate, review).await;
    let path = format!("/v1/reviews/{}/decision", review.request);
    let conflicts = found.as_ref().is_ok_and(|view| !view.conflicts.is_empty());
    html! {
        article.card.item data-review=(review.request) {
            h2 { (shown(&review.brief)) }
            p.by {
                (shown(&review.agent)) " · " (shown(&review.tool)) " · ran "
                (relative_time(review.opened, now)) " · counts as not reviewed "
                (relative_time(review.until, now)) " · "
                a href={ "/requests/" (review.request) } { "Show the request" }
            }
            @if !review.note.is_empty() { p.wrong { (shown(&review.note)) } }
            @match &found {
                Ok(view) => (changes(view, review)),
                Err(error) => p.alarm role="alert" {
                    "The changes cannot be shown or rolled back: " (shown(&error.to_string())) "."
                }
            }
            @if review.state == ReviewState::Open {
                (decision(&path, "keep", "Keep", None))
                @if found.is_ok() {
                    (decision(&path, "roll_back", "Roll back", None))
                    @if conflicts {
                        (decision(&path, "roll_back", "Roll back and replace later changes",
                            Some("true")))
                    }
                }
            } @else { p.hint { "The files are being rolled back." } }
        }
    }
}

fn decision(path: &str, choice: &str, label: &str, force: Option<&str>) -> Markup {
    html! {
        form.api.line data-method="POST" data-path=(path) {
            input type="hidden" name="choice" value=(choice);
            @if let Some(force) = force {
                input type="hidden" name="force" data-boolean="yes" value=(force);
            }
            button type="submit" { (label) }
            p.wrong role="alert" {}
        }
    }
}

fn changes(view: &ReviewChanges, review: &StoredReview) -> Markup {
    html! {
        @if review.after.is_none() {
            p.hint { "The agent did not report the end of the call: this is what is there now." }
        }
        @if view.undone { p.hint { "The files were restored already with countersign undo." } }
        @if view.changes.is_empty() { p { "No file differs." } }
        @for file in &view.changes { (changed_file(file)) }
        @if view.more > 0 { p.hint { (view.more) " more files: countersign undo show "
            (review.snapshot) } }
        @if !view.conflicts.is_empty() {
            p.wrong { "Changed again after the call: "
                @for path in view.conflicts.iter().take(20) {
                    code { (shown(&path.display().to_string())) } " "
                }
            }
        }
    }
}

fn changed_file(file: &ChangedFileView) -> Markup {
    html! {
        details open {
            summary { code { (file.path) } " (" (file.change) ")" }
            p.hint { "before: " (file.before) "; after: " (file.after) }
            @match &file.lines {
                Some(lines) => pre.difference {
                    @for row in lines { (row.sign) " " (row.text) "\n" }
                },
                None => p.hint { "The content is not shown: no text, or longer than 1 MiB." },
            }
        }
    }
}

fn ended_line(review: &StoredReview, now: Timestamp) -> Markup {
    let result = match review.state {
        ReviewState::Kept => "kept",
        ReviewState::RolledBack => "rolled back",
        ReviewState::Unchanged => "changed nothing",
        ReviewState::NotReviewed => "not reviewed: no person approved it",
        ReviewState::Open | ReviewState::RollingBack => "open",
    };
    html! {
        li {
            div {
                strong { (shown(&review.brief)) }
                " " a href={ "/requests/" (review.request) } { "Show the request" }
                p.hint {
                    (shown(&review.agent)) ", " (result)
                    @if let Some(person) = &review.person { " by " (shown(person)) }
                    @if let Some(ended) = review.ended { ", " (relative_time(ended, now)) }
                }
            }
        }
    }
}
