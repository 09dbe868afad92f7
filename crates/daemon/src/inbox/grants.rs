//! Grants: what passes without asking a person, with a way to give and to revoke them.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_store::{Store as _, StoreError};
use countersign_text::sanitize::sanitize_within;
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::grant::Grant;
use maud::{Markup, html};

use super::controls::{action_button, is_administrator, shown};
use super::grant_forms::{self, form_proposals};
use super::labels::relative_time;
use super::layout;
use super::page::{ApiState, PageResult, signed_in_page};
use crate::gate::GrantSuggestion;

/// How much of a call is shown; longer ones are not suggested.
const CALL: usize = 1000;
/// How much of what a grant covers is shown.
const WORDS: usize = 500;

/// What grants cover at all; `docs/grants.md` has the table.
const WHAT_PASSES: &str = "Calls that pass without asking a person: never in a crisis, and never \
    CRITICAL, except a part of a command that was approved to run once. HIGH calls pass only by \
    grants for exactly one call, for commands of one approved form, for named recipients or the \
    agent's own user, and for the rest of a session.";

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&identity));
    let all = api.gate.store().grants(true).await.map_err(failed)?;
    let now = api.gate.clock().now().at;
    let (held, over): (Vec<_>, Vec<_>) =
        all.iter().partition(|grant| api.gate.grants().in_force(grant, now));
    let needed = api.gate.rules().learning.approvals;
    let suggested = api.gate.grant_suggestions(needed).await.map_err(failed)?;
    let forms = form_proposals(&api, needed).await.map_err(failed)?;
    let body = html! {
        section.wide {
            h1 { "Grants" }
            p.hint {
                (WHAT_PASSES)
            }
            @if held.is_empty() { p { "No grants. Give one with an approval, or below." } }
            ul.list { @for grant in &held { (grant_line(grant, now, true)) } }
            (suggestions(&suggested, is_administrator(&identity), now))
            (grant_forms::list(&forms, is_administrator(&identity), now))
            @if is_administrator(&identity) { (new_grant()) }
            @if !over.is_empty() {
                details { summary { (over.len()) " expired or revoked" }
                    ul.list {
                        @for grant in over.iter().rev().take(100) {
                            (grant_line(grant, now, false))
                        }
                    }
                }
            }
        }
    };
    Ok(layout::page("Grants", layout::MenuItem::Grants, Some(&identity), &body))
}

fn grant_line(grant: &Grant, now: Timestamp, held: bool) -> Markup {
    let what = sanitize_within(&grant.words(), WORDS).text.into_owned();
    html! {
        li {
            div {
                strong { (what) }
                @if grant.shape.is_answer() {
                    " " a href={ "/requests/" (grant.id) } { "Show the request" }
                }
                p.hint {
                    @match &grant.agent { Some(agent) => (shown(agent)), None => "any agent" }
                    @if let Some(session) = &grant.session { ", session " (shown(session)) }
                    ", by " (shown(&grant.made_by)) " " (relative_time(grant.made_at, now))
                    @if let Some(end) = grant.expires { ", expires " (relative_time(end, now)) }
                    @if let Some(left) = grant.uses_left { ", " (left) " calls left" }
                    @if let Some(most) = grant.details.per_hour {
                        ", at most " (most) " calls an hour"
                    }
                    @for text in grant.budget_words() { ", " (shown(&text)) }
                    @match grant.details.last_used {
                        Some(at) => { ", last used " (relative_time(at, now)) }
                        None => ", not used yet"
                    }
                }
            }
            @if held {
                @let path = format!("/v1/grants/{}", grant.id);
                (action_button("Revoke", "DELETE", &path, "Revoke this grant?"))
            }
        }
    }
}

/// Calls that people approved many times in a row. Each grant is for exactly the call shown.
fn suggestions(list: &[GrantSuggestion], can_give: bool, now: Timestamp) -> Markup {
    html! {
        @if !list.is_empty() {
            h2 { "Suggested" }
            p.hint {
                "People approved these calls every time. Each grant is for exactly this call of this "
                "agent; a denial takes the suggestion back."
            }
            ul.list { @for one in list {
                li {
                    div {
                        strong { (shown(&one.brief)) }
                        " " a href={ "/requests/" (one.request) } { "Show the request" }
                        p { code { (sanitize_within(&one.call, CALL).text) } }
                        p.hint {
                            (shown(&one.agent)) ", " (one.tier.label()) ", approved "
                            (one.approvals) " times in a row, last " (relative_time(one.last, now))
                        }
                    }
                    @if can_give { (accept(one)) }
                }
            } }
        }
    }
}

fn accept(one: &GrantSuggestion) -> Markup {
    html! {
        form.api.line data-method="POST" data-path="/v1/grants" {
            input type="hidden" name="shape" value="exact";
            input type="hidden" name="request" value=(one.request);
            input type="hidden" name="digest" value=(one.digest.canonical);
            input type="hidden" name="raw_digest" value=(one.digest.raw);
            input type="hidden" name="both_bind" data-boolean="yes" value=(one.digest.both_bind);
            input type="hidden" name="agent" value=(one.agent);
            input type="hidden" name="minutes" data-number="yes" value="43200";
            button type="submit" { "Allow for 30 days" }
            p.wrong role="alert" {}
        }
    }
}

fn new_grant() -> Markup {
    html! {
        details.add {
            summary { "Add a grant" }
            form.api data-method="POST" data-path="/v1/grants" {
                label { "What" select name="shape" {
                    option value="targets" { "a tool, only for these recipients or commands" }
                    option value="tool_call" { "a tool, only with these arguments, up to MEDIUM" }
                    option value="to_self" { "a tool, only to the agent's own user" }
                    option value="action" { "every call of a tool below HIGH" }
                } }
                label {
                    "Tool"
                    input name="tool" required maxlength="200" placeholder="send_message";
                }
                label {
                    "Recipients or commands, one per line (for the first kind)"
                    textarea name="targets" data-lines="yes" rows="3" {}
                }
                label {
                    "Arguments, one condition per line (for the second kind): NAME=VALUE, "
                    "NAME<=NUMBER, or NAME~* for any text; calls with others are asked about"
                    textarea name="where" data-lines="yes" rows="3" {}
                }
                label {
                    "Money in all (for the second kind), as ARGUMENT:CURRENCY:LIMIT"
                    input name="spend" maxlength="250" placeholder="amount:USD:500";
                }
                label {
                    "Different recipients in all (for the second kind)"
                    input name="recipients" data-number="yes" type="number" min="1" max="1000";
                }
                label {
                    "Calls in an hour"
                    input name="per_hour" data-number="yes" type="number" min="1" max="1000000";
                }
                label { "Agent (empty: any)" input name="agent"; }
                label {
                    "Duration in minutes"
                    input name="minutes" data-number="yes" type="number" min="1" max="43200"
                        value="60" required;
                }
                p.wrong role="alert" {}
                button.main type="submit" { "Add grant" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use countersign_types::id::Id;
    use countersign_workflow::grant::{
        BudgetUsed, GrantBudget, GrantDetails, GrantShape, PlainDecimal, SpendLimit,
    };

    use super::*;

    #[test]
    fn a_grant_shows_what_was_used_of_its_budget() {
        let spend = Some(SpendLimit::parse("amount:USD:500").unwrap());
        let spent = PlainDecimal::parse("120.50").unwrap();
        let reached = ["a".to_owned()].into();
        let grant = Grant {
            id: Id::from_bytes([1; 16]),
            shape: GrantShape::Action { tool: "place_order".to_owned() },
            agent: None,
            session: None,
            made_by: "ana".to_owned(),
            made_at: Timestamp(0),
            expires: Some(Timestamp(3_600_000)),
            uses_left: None,
            revoked: None,
            details: GrantDetails {
                budget: Some(GrantBudget { spend, recipients: Some(3) }),
                used: BudgetUsed { spent, reached },
                ..GrantDetails::default()
            },
        };
        let line = grant_line(&grant, Timestamp(0), true).into_string();
        assert!(line.contains("120.5 of 500 USD spent (amount), 1 of 3 recipients"), "{line}");
    }
}
