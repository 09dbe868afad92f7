//! Several requests answered together: every call shown completely, HIGH ones opened first.

use axum::extract::{Query, State};
use axum::http::{HeaderMap, Uri};
use countersign_store::StoreError;
use countersign_text::sanitize::show_within;
use countersign_types::tier::Tier;
use maud::{Markup, html};
use serde::Deserialize;

use super::labels::{apart, encoded, shape};
use super::page::{ApiState, PageResult, signed_in_page};
use super::view::RequestView;
use super::{assessment, layout, pending};

/// The most requests on one page.
const MOST: usize = 50;

#[derive(Deserialize)]
pub struct ReviewQuery {
    agent: Option<String>,
}

/// The page. CRITICAL calls and calls in a crisis are answered alone and are not shown.
pub async fn page(
    State(api): ApiState,
    headers: HeaderMap,
    uri: Uri,
    Query(which): Query<ReviewQuery>,
) -> PageResult {
    let who = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&who));
    let (together, alone): (Vec<_>, Vec<_>) =
        pending::pending(&api).await.map_err(failed)?.into_iter().partition(may_be_together);
    let agents = agents(&together);
    let of = which.agent.filter(|agent| !agent.is_empty());
    let fits = |view: &RequestView| {
        of.as_deref().is_none_or(|agent| view.stored.request.requester.shown() == agent)
    };
    let chosen: Vec<RequestView> = together.into_iter().filter(fits).collect();
    let all = chosen.len();
    let read = |view: RequestView| RequestView::new(view.stored, view.now);
    let views: Vec<RequestView> = chosen.into_iter().take(MOST).map(read).collect();
    let body = html! {
        section.wide.review #review {
            h1 { (title(views.len(), all)) }
            p.hint {
                "Each answer is a separate decision, for exactly the call that you see here. "
                "To approve a HIGH call, open it and type one of its two words."
                @if !alone.is_empty() {
                    " " (number(alone.len())) " CRITICAL or in a crisis: "
                    a href="/" { "answered alone" } "."
                }
            }
            @if agents.len() > 1 { (filter(&agents, of.as_deref())) }
            p.hint.fresh role="status" hidden {}
            ol.together { @for view in &views { (item(view)) } }
            @if !views.is_empty() { (bar()) }
        }
    };
    Ok(layout::page("Review together", layout::MenuItem::Pending, Some(&who), &body))
}

/// Whether it may be answered together with others.
fn may_be_together(view: &RequestView) -> bool {
    view.stored.request.tier < Tier::Critical && !view.stored.request.crisis
}

fn title(shown: usize, all: usize) -> String {
    match all {
        0 => "No pending requests that can be answered together".to_owned(),
        1 => "One to review".to_owned(),
        _ if shown < all => format!("The {shown} most urgent of {all}, to review together"),
        _ => format!("{all} to review together"),
    }
}

fn number(alone: usize) -> String {
    if alone == 1 { "One more is".to_owned() } else { format!("{alone} more are") }
}

/// The agents with their number of requests.
fn agents(views: &[RequestView]) -> Vec<(String, usize)> {
    let mut agents = std::collections::BTreeMap::<&str, usize>::new();
    for view in views {
        *agents.entry(view.stored.request.requester.shown()).or_default() += 1;
    }
    agents.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

fn filter(agents: &[(String, usize)], of: Option<&str>) -> Markup {
    html! {
        nav.tabs aria-label="Agent" {
            a href="/review" aria-current=[of.is_none().then_some("page")] { "all" }
            @for (name, count) in agents.iter().take(12) {
                a href={ "/review?agent=" (encoded(name)) }
                    aria-current=[(of == Some(name)).then_some("page")] {
                    (show_within(name, 60).text) " (" (count) ")"
                }
            }
        }
    }
}

fn item(view: &RequestView) -> Markup {
    let request = &view.stored.request;
    let grave = request.tier >= Tier::High;
    let whole = view.card.as_ref().is_some_and(countersign_risk::card::Card::one_tap);
    html! {
        li {
            article.card.item.(view.color_class()) data-id=(request.id)
                data-digest=(request.digest.canonical) data-tier=(request.tier.label())
                data-whole=[whole.then_some("yes")] {
                label.check {
                    input type="checkbox" name="chosen";
                    span.what {
                        span.shape aria-hidden="true" { (shape(request.tier)) " " }
                        strong { (view.brief()) }
                    }
                }
                p.by {
                    span.tiername { (request.tier.label()) } " · " (view.word_pair()) " · "
                    (view.agent())
                    @if let Some(session) = view.session() { ", session " (session) }
                    " · denied " (apart(request.plan.deadline, view.now))
                }
                @if grave {
                    details.opened {
                        summary { "Open the call" }
                        (inside(view))
                        @if whole { (assessment::word_field(&view.word_pair())) }
                    }
                } @else { (inside(view)) }
                p.result role="status" {}
            }
        }
    }
}

fn inside(view: &RequestView) -> Markup {
    html! {
        @if let Some(claim) = view.claim() { p.claim { "The agent's description: " (claim) } }
        @match &view.card {
            Some(read) => {
                (assessment::inside(read))
                @if !read.one_tap() {
                    p.gone { "The whole call does not fit here, so it must be approved alone: "
                        a href={ "/?r=" (view.stored.request.id) } { "open it" } }
                }
            }
            None => p.wrong { "The call cannot be shown here, so it cannot be approved here." },
        }
    }
}

fn bar() -> Markup {
    html! {
        form #together autocomplete="off" {
            label.reason {
                "Message to the agents (optional)"
                input name="reason" maxlength="500";
            }
            div.conclude {
                div.said {
                    span #chosen role="status" { "None selected." }
                    button.quiet type="button" #choose { "Select all" }
                }
                p.wrong role="alert" {}
                div.buttons {
                    button.deny type="button" data-together="deny" disabled { "Deny" }
                    button.approve type="button" data-together="approve" disabled { "Approve" }
                }
            }
        }
    }
}
