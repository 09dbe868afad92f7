//! The card: what would happen, the exact call, why, who asks, and the answer.

use countersign_risk::card::Card;
use countersign_text::sanitize::show_within;
use countersign_types::tier::Tier;
use countersign_workflow::request::Choice;
use maud::{Markup, html};

use super::call::{call, editable};
use super::view::View;
use super::words::{self, apart, shape, thousands};
use crate::drills;

/// How many reasons stand on a card before "all 7 reasons".
const REASONS: usize = 3;
/// How much of a text is shown.
const TEXT: usize = 2000;

/// A request, whole.
pub fn card(view: &View) -> Markup {
    let request = &view.stored.request;
    html! {
        article.card.(view.colour()) #card data-id=(request.id)
            data-digest=(request.digest.canonical)
            data-tier=(request.tier.label()) data-state=(request.state.label())
            data-votes=(request.votes.len()) aria-labelledby="brief" {
            div.sheet {
                p.tier {
                    (badge(request.tier))
                    @if request.crisis { span.badge.heart { "somebody may be in crisis" } }
                    strong.words { (view.words()) }
                }
                h1 #brief tabindex="-1" { (view.brief()) }
                @if !view.waits() { (over(view)) (super::edited::approved(view)) }
                @match &view.card {
                    Some(card) => (inside(card)),
                    None => p.wrong { "The call cannot be shown, so it cannot be approved here." },
                }
                (asks(view))
                (super::earlier::earlier(view))
                @if view.waits() && view.card.is_some() { (more(view)) }
            }
            @if view.waits() { (answer(view)) }
        }
    }
}

/// The tier: a shape, a word and a colour.
pub fn badge(tier: Tier) -> Markup {
    html! {
        span.badge { span aria-hidden="true" { (shape(tier)) " " } (tier.label()) }
    }
}

/// The field for one of the two words, which approving a HIGH call takes here as in the terminal.
pub fn word_field(phrase: &str) -> Markup {
    let (first, second) = phrase.split_once('-').unwrap_or((phrase, phrase));
    html! {
        label.word {
            "Type " strong { (first) } " or " strong { (second) } " to approve"
            input name="word" maxlength="60" autocapitalize="none" spellcheck="false"
                data-words=(phrase);
        }
    }
}

/// The call, why, what it touches, and what would be safer.
pub fn inside(card: &Card) -> Markup {
    html! {
        (call(card))
        (reasons(card))
        (impact(card))
        @if let Some(safer) = card.reasons.iter().find_map(|reason| reason.safer.as_ref()) {
            p.safer { strong { "Safer: " } (show_within(safer, TEXT).text) }
        }
    }
}

fn reasons(card: &Card) -> Markup {
    let weigh: Vec<_> = card.reasons.iter().filter(|reason| reason.weight.0 > 0).collect();
    let line = |reason: &&countersign_risk::assess::Reason| {
        let width = u32::from(reason.weight.0).min(400) * 48 / 400;
        html! {
            li title=(show_within(&reason.code, TEXT).text) {
                svg.bar viewBox="0 0 48 8" aria-hidden="true" {
                    rect.whole width="48" height="8" rx="2" {}
                    rect.share width=(width) height="8" rx="2" {}
                }
                span.weight { (reason.weight.value()) }
                span { (show_within(&reason.say, TEXT).text) }
            }
        }
    };
    html! {
        @if !weigh.is_empty() {
            section.why aria-label="Why" {
                ul { @for reason in weigh.iter().take(REASONS) { (line(reason)) } }
                @if weigh.len() > REASONS {
                    details {
                        summary { "all " (weigh.len()) " reasons" }
                        ul { @for reason in weigh.iter().skip(REASONS) { (line(reason)) } }
                    }
                }
            }
        }
    }
}

fn impact(card: &Card) -> Markup {
    let impact = &card.impact;
    html! {
        dl.facts {
            @for money in &impact.money {
                dt { "money" }
                dd { (money.amount) " " (money.currency.as_deref().unwrap_or("(no currency)")) }
            }
            @for (name, touched) in
                impact.lists().into_iter().filter(|(_, list)| !list.is_empty()) {
                dt { (name) }
                dd {
                    @for entry in &touched.listed { code { (show_within(entry, TEXT).text) } " " }
                    @let listed = touched.listed.len() as u64;
                    @let more = u64::from(touched.count).saturating_sub(listed);
                    @if more > 0 { "and " (thousands(more)) " more" }
                }
            }
            @if !card.doubts.is_empty() {
                dt { "not sure" }
                dd { @for (at, doubt) in card.doubts.iter().enumerate() {
                    @if at > 0 { "; " } (doubt.words())
                } }
            }
        }
    }
}

/// Who asks, where, since when, in whose words.
fn asks(view: &View) -> Markup {
    let request = &view.stored.request;
    html! {
        dl.facts.who {
            @if let Some(claim) = view.claim() { dt { "it says" } dd.claim { (claim) } }
            dt { "asks" }
            dd {
                (view.agent())
                @if let Some(session) = view.session() { ", session " (session) }
                ", " (apart(request.plan.created, view.now))
            }
            @if let Some(cwd) = view.card.as_ref().and_then(|card| card.cwd.as_ref()) {
                dt { "where" } dd { code { (cwd) } }
            }
            @for vote in &request.votes {
                dt { "vote" }
                dd {
                    (show_within(&vote.person, TEXT).text) ": "
                    @if vote.choice == Choice::Approve { "yes" } @else { "no" }
                    @if !vote.reason.is_empty() { ", " (show_within(&vote.reason, TEXT).text) }
                }
            }
        }
    }
}

/// The time left, as a line that shrinks.
fn left(view: &View) -> Markup {
    let request = &view.stored.request;
    html! {
        div.left data-left=(view.left()) data-whole=(view.whole()) {
            span.line aria-hidden="true" {}
            p {
                "Without an answer it is denied "
                (apart(request.plan.deadline, view.now))
                ". Asked: "
                (words::rung(request.rung)) "."
                @if request.quorum.approve > 1 {
                    " " (view.approvals()) " of " (request.quorum.approve) " have approved."
                }
            }
            @if let Some(since) = view.left_since {
                p.unheard {
                    "The agent stopped waiting for this " (apart(since, view.now))
                    ". If it tries the very same call again soon, a yes lets that run once."
                }
            }
        }
    }
}

fn over(view: &View) -> Markup {
    html! {
        @if let Some(decision) = &view.stored.request.decision {
            div.over role="status" {
                @if let Some(words) = drills::words(&view.stored) { p.drill { (words) } }
                @let edited = view.stored.edited.is_some();
                p { strong { (words::ended(decision, edited, view.now)) } }
                @if !decision.reason.is_empty() {
                    p.claim { (show_within(&decision.reason, TEXT).text) }
                }
            }
        }
    }
}

/// The buttons. Nothing in here is a link, and nothing works by a GET.
fn answer(view: &View) -> Markup {
    let tier = view.stored.request.tier;
    let critical = tier == Tier::Critical;
    let needed = view.stored.request.needs_reason();
    let folded = view.card.as_ref().map_or(1, |card| card.folded);
    let approves = view.card.is_some();
    html! {
        form.answer #answer autocomplete="off" {
            (left(view))
            div.fields {
                label.reason {
                    @if needed { "Reason (required)" } @else { "Message to the agent (optional)" }
                    input name="reason" maxlength="500" data-needed=[needed.then_some("yes")];
                }
                @if tier == Tier::High && !needed && approves { (word_field(&view.words())) }
            }
            @if critical {
                p.hint { "If you have a passkey, it is asked for next and signs exactly this." }
            }
            @if folded > 0 && approves {
                label.check {
                    input type="checkbox" name="unseen";
                    span { "I know that " (thousands(folded)) " bytes of it are not shown." }
                }
            }
            p.wrong role="alert" {}
            div.buttons {
                button.deny type="button" data-answer="deny" { "Deny" }
                @if approves {
                    button.approve type="button" data-answer="approve" {
                        @if critical { "Approve: " (short(&view.brief())) } @else { "Approve once" }
                    }
                }
            }
        }
    }
}

/// What the button of a CRITICAL call says it does.
fn short(brief: &str) -> String {
    let end = brief.find(['.', ';']).unwrap_or(brief.len()).min(60);
    let end = brief.floor_char_boundary(end);
    let (head, tail) = brief.split_at(end);
    if tail.trim_start_matches('.').is_empty() { head.to_owned() } else { format!("{head}…") }
}

/// Another answer, and what it would also allow.
fn choice(label: &str, grant: Option<(&str, &str, Option<&str>)>, says: &Markup) -> Markup {
    let (shape, scope, minutes) = grant
        .map_or((None, None, None), |(shape, scope, minutes)| (Some(shape), Some(scope), minutes));
    let answer = if grant.is_some() { "approve" } else { "deny" };
    let words = grant.is_none().then_some("I'll do it myself.");
    html! {
        li {
            button type="button" data-answer=(answer) data-says=[words] data-shape=[shape]
                data-scope=[scope] data-minutes=[minutes] { (label) }
            span { (says) }
        }
    }
}

/// Other answers.
fn more(view: &View) -> Markup {
    let request = &view.stored.request;
    let grants = !request.crisis && request.tier < Tier::Critical;
    let by_name = grants && request.tier < Tier::High;
    let (agent, tool) = (view.agent(), show_within(&view.stored.tool, 80).text);
    let take_over = html! { "Denies, and tells the agent that you take over." };
    let session = html! { "Exactly this call passes again in this session, for up to 12 hours." };
    let hour = html! { "Exactly this call by " (agent) " passes again, for an hour." };
    let all = html! {
        "Every " code { (tool) } " call by " (agent)
        " below HIGH passes for an hour, whatever its arguments."
    };
    html! {
        details.more {
            summary { "Other answers" }
            ul.choices {
                (choice("Deny, I'll do it myself", None, &take_over))
                @if grants && view.session().is_some() {
                    (choice("Approve for this session", Some(("exact", "session", None)), &session))
                }
                @if grants {
                    (choice("Approve for an hour", Some(("exact", "until", Some("60"))), &hour))
                }
                @if by_name {
                    (choice("Approve all like this", Some(("action", "until", Some("60"))), &all))
                }
            }
            (edit(view))
        }
    }
}

/// The arguments to be changed; not where something of them is hidden.
fn edit(view: &View) -> Markup {
    let whole = |card: &&Card| card.hidden.is_empty() && card.folded == 0;
    let card = view.card.as_ref().filter(whole).filter(|_| !view.stored.request.crisis);
    let arguments = card.map(|card| editable(&card.arguments)).unwrap_or_default();
    html! {
        @if card.is_some() {
            details.edit {
                summary { "Edit, then approve" }
                textarea name="edited" rows="8" spellcheck="false" data-was=(arguments)
                    aria-label="The arguments, as JSON" { (arguments) }
                pre.difference hidden {}
                div.checked role="status" {}
                button type="button" data-edit="check" { "Check edit" }
                button type="button" data-edit="approve" hidden { "Approve the edited call" }
            }
        }
    }
}
