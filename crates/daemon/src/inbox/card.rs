//! The card: summary, exact call, reasons, who asks, and the answer form.

use countersign_text::sanitize::sanitize_within;
use countersign_workflow::request::Choice;
use maud::{Markup, html};

use super::answer_form::{self, answer};
use super::assessment::{assessed_call, badge};
use super::crisis_context;
use super::edited;
use super::labels::{self, relative_time};
use super::segments;
use super::view::RequestView;
use crate::drills;

/// How much of a text is shown.
const TEXT: usize = 2000;

/// A request with everything about it.
pub fn card(view: &RequestView) -> Markup {
    let request = &view.stored.request;
    html! {
        article.card.(view.color_class()) #card data-id=(request.id)
            data-digest=(request.digest.canonical)
            data-tier=(request.tier.label()) data-state=(request.state.label())
            data-votes=(request.votes.len()) aria-labelledby="brief" {
            div.sheet {
                p.tier {
                    (badge(request.tier))
                    @if request.crisis { span.badge.heart { "a person may be in crisis" } }
                    strong.words { (view.word_pair()) }
                }
                h1 #brief tabindex="-1" { (view.brief()) }
                @if !view.is_pending() {
                    (decision_summary(view)) (edited::approved(view)) (edited::not_approved(view))
                }
                (edited::proposed_by(view))
                @if let Some(crisis) = &view.crisis { (crisis_context::on_card(crisis, view.now)) }
                @match &view.card {
                    Some(card) => {
                        (assessed_call(card))
                        @if view.is_pending() && view.original.is_none() {
                            (segments::answerable_parts(card, &view.word_pair()))
                        } @else { (segments::parts(card)) }
                    }
                    None => p.wrong { "The call cannot be shown, so it cannot be approved here." },
                }
                (edited::original(view))
                (requester_facts(view))
                (super::similar::similar_calls(view))
                @if view.is_pending() && view.card.is_some() { (answer_form::other_answers(view)) }
            }
            @if view.is_pending() { (answer(view)) }
        }
    }
}

/// Who asks, where, since when, and how the agent describes it.
fn requester_facts(view: &RequestView) -> Markup {
    let request = &view.stored.request;
    html! {
        dl.facts.who {
            @if let Some(claim) = view.claim() { dt { "description" } dd.claim { (claim) } }
            @if let Some(opinion) = &view.opinion {
                dt { "model judge" }
                dd {
                    @if opinion.is_against() { strong { (opinion.sentence()) } }
                    @else { (opinion.sentence()) }
                }
            }
            dt { "agent" }
            dd {
                (view.agent())
                @if let Some(session) = view.session() { ", session " (session) }
                ", " (relative_time(request.schedule.created, view.now))
            }
            @if let (Some(step), Some(group)) = (view.plan_step(), view.stored.group) {
                dt { "plan" }
                dd {
                    "call " (step.at + 1) " of " (step.of)
                    @if view.is_pending() {
                        ", " a href={ "/review?group=" (group) } { "see and answer the whole plan" }
                    }
                }
            }
            @if let Some(cwd) = view.card.as_ref().and_then(|card| card.cwd.as_ref()) {
                dt { "directory" } dd { code { (cwd) } }
            }
            @for vote in &request.votes {
                dt { "answer" }
                dd {
                    (sanitize_within(&vote.person, TEXT).text) ": "
                    @if vote.choice == Choice::Approve { "approved" } @else { "denied" }
                    @if !vote.reason.is_empty() { ", " (sanitize_within(&vote.reason, TEXT).text) }
                }
            }
        }
    }
}

fn decision_summary(view: &RequestView) -> Markup {
    html! {
        @if let Some(decision) = &view.stored.request.decision {
            div.over role="status" {
                @if let Some(words) = drills::explain(&view.stored) { p.drill { (words) } }
                @let is_edited = view.stored.edited.is_some();
                @let text = labels::decision_text(&view.stored.request, is_edited, view.now);
                p { strong { (text.unwrap_or_default()) } }
                @if !decision.reason.is_empty() {
                    p.claim { (sanitize_within(&decision.reason, TEXT).text) }
                }
            }
        }
    }
}
