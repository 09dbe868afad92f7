//! Several requests answered together: every call shown completely, HIGH ones opened first.

use axum::extract::{Query, State};
use axum::http::{HeaderMap, Uri};
use countersign_store::StoreError;
use countersign_text::sanitize::sanitize_within;
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use maud::{Markup, html};
use serde::Deserialize;

use super::labels::{percent_encode, relative_time, shape};
use super::page::{ApiState, PageResult, signed_in_page};
use super::view::RequestView;
use super::{assessment, layout, pending, segments};

/// The most requests on one page.
const MOST: usize = 50;

#[derive(Deserialize)]
pub struct ReviewQuery {
    agent: Option<String>,
    /// The session of a digest; its HIGH calls are answered alone.
    session: Option<String>,
    /// The batch of calls that an agent submitted as a plan.
    group: Option<String>,
}

/// The page. CRITICAL calls and calls in a crisis are answered alone and are not shown.
pub async fn page(
    State(api): ApiState,
    headers: HeaderMap,
    uri: Uri,
    Query(which): Query<ReviewQuery>,
) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&identity));
    let (together, alone): (Vec<_>, Vec<_>) =
        pending::pending(&api).await.map_err(failed)?.into_iter().partition(|view| {
            let is_high = view.stored.request.tier >= Tier::High;
            may_be_together(view) && !(is_high && which.session.is_some())
        });
    let agents = agents(&together);
    let of = which.agent.as_deref().filter(|agent| !agent.is_empty());
    let group = which.group.as_deref().and_then(Id::parse);
    let fits = |view: &RequestView| {
        let requester = view.stored.request.requester.display_name();
        of.is_none_or(|agent| requester == agent)
            && which.session.as_deref().is_none_or(|session| view.stored.session == session)
            && group.is_none_or(|group| view.stored.group == Some(group))
    };
    let mut chosen: Vec<RequestView> = together.into_iter().filter(fits).collect();
    let all = chosen.len();
    if group.is_some() {
        // A plan is read in its order.
        chosen.sort_by_key(|view| view.plan_step().map(|step| step.at));
    }
    let read = |view: RequestView| RequestView {
        opinion: api.gate.judge().shown(&view.stored),
        original: view.original,
        ..RequestView::new(view.stored, view.now)
    };
    let views: Vec<RequestView> = chosen.into_iter().take(MOST).map(read).collect();
    let body = html! {
        section.wide.review #review {
            h1 { (if group.is_some() { plan_title(all) } else { title(views.len(), all) }) }
            p.hint {
                "Each answer is a separate decision, for exactly the call that you see here. "
                "To approve a HIGH call, open it and type one of its two words."
                @if !alone.is_empty() && which.session.is_none() {
                    " " (number(alone.len())) " CRITICAL or in a crisis: "
                    a href="/" { "answered alone" } "."
                }
            }
            @if which.session.is_some() { (answered_alone(alone.iter().filter(|view| fits(view)))) }
            @if agents.len() > 1 && group.is_none() { (filter(&agents, of)) }
            p.hint.fresh role="status" hidden {}
            ol.together { @for view in &views { (item(view)) } }
            @if !views.is_empty() { (bar()) }
        }
    };
    Ok(layout::page("Review together", layout::MenuItem::Pending, Some(&identity), &body))
}

/// Whether it may be answered together with others.
fn may_be_together(view: &RequestView) -> bool {
    view.stored.request.tier < Tier::Critical && !view.stored.request.crisis
}

/// The calls of a digest that are answered one by one.
fn answered_alone<'v>(views: impl Iterator<Item = &'v RequestView>) -> Markup {
    html! {
        ul.list { @for view in views {
            li {
                span.tiername { (view.stored.request.tier.label()) } " " (view.brief()) " "
                a href={ "/?r=" (view.stored.request.id) } { "Answer alone" }
            }
        } }
    }
}

fn title(shown: usize, all: usize) -> String {
    match all {
        0 => "No pending requests that can be answered together".to_owned(),
        1 => "One to review".to_owned(),
        _ if shown < all => format!("The {shown} most urgent of {all}, to review together"),
        _ => format!("{all} to review together"),
    }
}

fn plan_title(waiting: usize) -> String {
    match waiting {
        0 => "No call of this plan is waiting".to_owned(),
        1 => "A plan: one call is waiting".to_owned(),
        _ => format!("A plan: {waiting} calls are waiting"),
    }
}

fn number(alone: usize) -> String {
    if alone == 1 { "One more is".to_owned() } else { format!("{alone} more are") }
}

/// The agents with their number of requests.
fn agents(views: &[RequestView]) -> Vec<(String, usize)> {
    let mut agents = std::collections::BTreeMap::<&str, usize>::new();
    for view in views {
        *agents.entry(view.stored.request.requester.display_name()).or_default() += 1;
    }
    agents.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

fn filter(agents: &[(String, usize)], of: Option<&str>) -> Markup {
    html! {
        nav.tabs aria-label="Agent" {
            a href="/review" aria-current=[of.is_none().then_some("page")] { "all" }
            @for (name, count) in agents.iter().take(12) {
                a href={ "/review?agent=" (percent_encode(name)) }
                    aria-current=[(of == Some(name)).then_some("page")] {
                    (sanitize_within(name, 60).text) " (" (count) ")"
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
                    @if let Some(step) = view.plan_step() { "call " (step.at + 1) " · " }
                    span.tiername { (request.tier.label()) } " · " (view.word_pair()) " · "
                    (view.agent())
                    @if let Some(session) = view.session() { ", session " (session) }
                    @if let Some(person) = view.edited_by() { " · edited by " (person) }
                    " · denied " (relative_time(request.schedule.deadline, view.now))
                }
                @if grave {
                    details.opened {
                        summary { "Open the call" }
                        (call_details(view))
                        @if whole { (assessment::word_field(&view.word_pair())) }
                    }
                } @else { (call_details(view)) }
                p.result role="status" {}
            }
        }
    }
}

fn call_details(view: &RequestView) -> Markup {
    html! {
        @if let Some(claim) = view.claim() { p.claim { "The agent's description: " (claim) } }
        @if let Some(opinion) = &view.opinion { p { "Model judge: " (opinion.sentence()) } }
        @match &view.card {
            Some(read) => {
                (assessment::assessed_call(read))
                (segments::parts(read))
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
