//! Who may ask, who may answer, and what passes without asking: lists with a way to change them.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_store::{CrisisSession, Role, Store as _, StoreError, StoredAgent, StoredPerson};
use countersign_text::sanitize::show_within;
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::grant::{Grant, Shape};
use maud::{Markup, html};

use super::words::apart;
use super::{House, Shown, frame, visitor};
use crate::auth::Who;

const NAME: usize = 200;

pub(super) fn shown(text: &str) -> String {
    show_within(text, NAME).text.into_owned()
}

/// A button that calls the API, after a question if there is one.
pub(super) fn act(label: &str, method: &str, path: &str, question: &str) -> Markup {
    html! {
        button type="button" data-method=(method) data-path=(path) data-question=(question) {
            (label)
        }
    }
}

pub(super) fn may_change(who: &Who) -> bool {
    who.administrator().is_ok()
}

fn only_administrators() -> Markup {
    html! { p.hint { "Only administrators see and change this." } }
}

/// Grants.
pub async fn grants(State(api): House, headers: HeaderMap, uri: Uri) -> Shown {
    let who = visitor(&api, &headers, &uri)?;
    let failed = |error: StoreError| frame::sorry(&error.into(), Some(&who));
    let all = api.gate.store().grants(true).await.map_err(failed)?;
    let now = api.gate.clock().now().at;
    let (held, over): (Vec<_>, Vec<_>) =
        all.iter().partition(|grant| api.gate.grants().in_force(grant, now));
    let body = html! {
        section.wide {
            h1 { "Grants" }
            p.hint {
                "What passes without asking. Never CRITICAL, never in a crisis, nothing from "
                "HIGH up by name alone."
            }
            @if held.is_empty() { p { "There are none. Give one with an answer, or below." } }
            ul.list { @for grant in &held { (grant_line(grant, now, true)) } }
            @if may_change(&who) { (new_grant()) }
            @if !over.is_empty() {
                details { summary { (over.len()) " that are over" }
                    ul.list {
                        @for grant in over.iter().rev().take(100) {
                            (grant_line(grant, now, false))
                        }
                    }
                }
            }
        }
    };
    Ok(frame::page("Grants", frame::Place::Grants, Some(&who), &body))
}

fn grant_line(grant: &Grant, now: Timestamp, held: bool) -> Markup {
    let what = match &grant.shape {
        Shape::Exact { digest } => {
            format!("exactly the call {:.16}…", digest.canonical.to_string())
        }
        Shape::Action { tool } => format!("every {} call below HIGH", shown(tool)),
        Shape::Targets { tool, targets } => {
            format!("{} to {}", shown(tool), shown(&targets.join(", ")))
        }
        Shape::ToSelf { tool } => format!("{} to the agent's own user", shown(tool)),
    };
    html! {
        li {
            div {
                strong { (what) }
                p.hint {
                    @match &grant.agent { Some(agent) => (shown(agent)), None => "any agent" }
                    @if let Some(session) = &grant.session { ", session " (shown(session)) }
                    ", by " (shown(&grant.made_by)) " " (apart(grant.made_at, now))
                    @if let Some(end) = grant.expires { ", ends " (apart(end, now)) }
                    @if let Some(left) = grant.uses_left { ", " (left) " calls left" }
                }
            }
            @if held {
                @let path = format!("/v1/grants/{}", grant.id);
                (act("Take back", "DELETE", &path, "Take this grant back?"))
            }
        }
    }
}

fn new_grant() -> Markup {
    html! {
        details.add {
            summary { "Give one" }
            form.api data-method="POST" data-path="/v1/grants" {
                label { "What" select name="shape" {
                    option value="targets" { "a tool, to these people or with these commands only" }
                    option value="to_self" { "a tool, to the agent's own user only" }
                    option value="action" { "every call of a tool below HIGH" }
                } }
                label {
                    "Tool"
                    input name="tool" required maxlength="200" placeholder="send_message";
                }
                label {
                    "To whom, or which commands (one a line, for the first kind)"
                    textarea name="targets" data-lines="yes" rows="3" {}
                }
                label { "Agent (empty: any)" input name="agent"; }
                label {
                    "For how many minutes"
                    input name="minutes" data-number="yes" type="number" min="1" max="43200"
                        value="60" required;
                }
                p.wrong role="alert" {}
                button.main type="submit" { "Give it" }
            }
        }
    }
}

/// Agents.
pub async fn agents(State(api): House, headers: HeaderMap, uri: Uri) -> Shown {
    let who = visitor(&api, &headers, &uri)?;
    let failed = |error: StoreError| frame::sorry(&error.into(), Some(&who));
    let all = api.gate.store().agents().await.map_err(failed)?;
    let now = api.gate.clock().now().at;
    let body = html! {
        section.wide {
            h1 { "Agents" }
            @if may_change(&who) {
                ul.list {
                    @for agent in all.iter().filter(|agent| agent.revoked.is_none()) {
                        (agent_line(agent, now))
                    }
                }
                details.add open[all.is_empty()] {
                    summary { "Add one" }
                    form.api data-method="POST" data-path="/v1/agents" data-once="token" {
                        label {
                            "Name"
                            input name="name" required maxlength="64" placeholder="coder";
                        }
                        label {
                            "Its token is good for so many days (empty: until revoked)"
                            input name="days" data-number="yes" type="number" min="1";
                        }
                        p.wrong role="alert" {}
                        button.main type="submit" { "Add it" }
                    }
                }
            } @else { (only_administrators()) }
        }
    };
    Ok(frame::page("Agents", frame::Place::Agents, Some(&who), &body))
}

fn agent_line(agent: &StoredAgent, now: Timestamp) -> Markup {
    let path = format!("/v1/agents/{}", super::words::encoded(&agent.name));
    html! {
        li {
            div {
                strong { (shown(&agent.name)) }
                p.hint {
                    @if let Some(uid) = agent.uid { "user " (uid) " at the socket, " }
                    @if agent.token.is_some() { "has a token" } @else { "has no token" }
                    @if let Some(end) = agent.expires { ", good until " (apart(end, now)) }
                    ", added " (apart(agent.added, now))
                    @if !agent.own_addresses.is_empty() {
                        ", is "
                        (shown(&agent.own_addresses.join(", ")))
                    }
                }
            }
            div.pair {
                button type="button" data-method="POST" data-path={ (path) "/token" }
                    data-once="token"
                    data-question="Its old token ends at once. Make a new one?" { "New token" }
                (act("Revoke", "DELETE", &path, "It can ask nothing any more. Revoke it?"))
            }
        }
    }
}

/// People.
pub async fn people(State(api): House, headers: HeaderMap, uri: Uri) -> Shown {
    let who = visitor(&api, &headers, &uri)?;
    let failed = |error: StoreError| frame::sorry(&error.into(), Some(&who));
    let all = api.gate.store().people().await.map_err(failed)?;
    let now = api.gate.clock().now().at;
    let body = html! {
        section.wide {
            h1 { "People" }
            @if may_change(&who) {
                ul.list {
                    @for person in all.iter().filter(|person| person.revoked.is_none()) {
                        (person_line(person, person.name == who.person, now))
                    }
                }
                details.add {
                    summary { "Add somebody" }
                    form.api data-method="POST" data-path="/v1/people" data-once="passphrase" {
                        label { "Name" input name="name" required maxlength="64"; }
                        label { "May" select name="role" {
                            option value="approver" { "answer requests" }
                            option value="administrator" {
                                "answer, and change people, agents and grants"
                            }
                        } }
                        p.wrong role="alert" {}
                        button.main type="submit" { "Add them" }
                    }
                }
            } @else { (only_administrators()) }
        }
    };
    Ok(frame::page("People", frame::Place::People, Some(&who), &body))
}

fn person_line(person: &StoredPerson, own: bool, now: Timestamp) -> Markup {
    let path = format!("/v1/people/{}", super::words::encoded(&person.name));
    let role = if person.role == Role::Administrator { "administrator" } else { "approver" };
    html! {
        li {
            div {
                strong { (shown(&person.name)) }
                p.hint {
                    (role) ", added " (apart(person.added, now))
                    @if person.active_from > now {
                        ", can approve " (apart(person.active_from, now))
                    }
                }
            }
            div.pair {
                @if own {
                    button type="button" data-method="POST" data-path={ (path) "/passphrase" }
                        data-once="passphrase"
                        data-question="Your other sessions end at once. Make a new passphrase?" {
                            "New passphrase"
                        }
                }
                (act("Revoke", "DELETE", &path, "They can answer nothing any more. Revoke them?"))
            }
        }
    }
}

/// Sessions in which somebody may be in crisis.
pub async fn crises(State(api): House, headers: HeaderMap, uri: Uri) -> Shown {
    let who = visitor(&api, &headers, &uri)?;
    let now = api.gate.clock().now().at;
    let list = api.gate.crises().list();
    let body = html! {
        section.wide {
            h1 { "Somebody may be in crisis" }
            p.hint {
                "In these sessions everything outbound or irreversible waits for a person, "
                "whatever grants or modes say. Help was shown at once. What was written is not "
                "kept."
            }
            @if list.is_empty() { p { "There is no such session." } }
            ul.list { @for crisis in &list {
                li.crisis {
                    div {
                        strong {
                            (shown(&crisis.agent))
                            @if !crisis.session.is_empty() {
                                ", session "
                                (shown(&crisis.session))
                            }
                        }
                        p.hint { (signs(crisis, now)) }
                    }
                    (lift(crisis))
                }
            } }
        }
    };
    Ok(frame::page("Crises", frame::Place::Crises, Some(&who), &body))
}

/// What was seen of a crisis, and since when.
pub fn signs(crisis: &CrisisSession, now: Timestamp) -> Markup {
    html! {
        "level " (crisis.level) " of 6"
        @if crisis.imminent { ", danger may be near" }
        ", since " (apart(crisis.since, now))
    }
}

/// A person says that it is over, and why.
pub fn lift(crisis: &CrisisSession) -> Markup {
    html! {
        form.api.line data-method="POST" data-path="/v1/crises/lift" {
            input type="hidden" name="agent" value=(crisis.agent);
            input type="hidden" name="session" value=(crisis.session);
            input name="reason" required maxlength="500" placeholder="I spoke to them"
                aria-label="Why it is over";
            button type="submit" { "It is over" }
            p.wrong role="alert" {}
        }
    }
}
