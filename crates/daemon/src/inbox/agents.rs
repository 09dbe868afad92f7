//! Agents: which exist, their tokens, and a way to add and to revoke them.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_store::{Store as _, StoreError, StoredAgent};
use countersign_types::time::{Clock as _, Timestamp};
use maud::{Markup, html};

use super::controls::{action_button, is_administrator, only_administrators, shown};
use super::labels::{percent_encode, relative_time};
use super::layout;
use super::page::{ApiState, PageResult, signed_in_page};
use crate::gate::Quarantine;

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&identity));
    let all = api.gate.store().agents().await.map_err(failed)?;
    let now = api.gate.clock().now().at;
    let body = html! {
        section.wide {
            h1 { "Agents" }
            (quarantines(&api.gate.quarantines(), now))
            p.hint { a href="/fleet" { "Peers: agents that send tasks to each other" } }
            @if is_administrator(&identity) {
                ul.list {
                    @for agent in all.iter().filter(|agent| agent.revoked.is_none()) {
                        (agent_line(agent, now))
                    }
                }
                details.add open[all.is_empty()] {
                    summary { "Add an agent" }
                    form.api data-method="POST" data-path="/v1/agents" data-once="token" {
                        label {
                            "Name"
                            input name="name" required maxlength="64" placeholder="coder";
                        }
                        label {
                            "Token lifetime in days (empty: 365)"
                            input name="days" data-number="yes" type="number" min="1";
                        }
                        p.wrong role="alert" {}
                        button.main type="submit" { "Add it" }
                    }
                }
            } @else { (only_administrators()) }
        }
    };
    Ok(layout::page("Agents", layout::MenuItem::Agents, Some(&identity), &body))
}

/// The agents whose questions are refused after too many denials, and a way to let them ask again.
fn quarantines(list: &[Quarantine], now: Timestamp) -> Markup {
    html! {
        @if !list.is_empty() {
            h2 { "In quarantine after too many denials" }
            ul.list { @for one in list {
                li {
                    div {
                        strong { (shown(&one.agent)) }
                        p.hint { "ends " (relative_time(one.until, now)) }
                    }
                    form.api.line data-method="POST" data-path="/v1/quarantines/lift" {
                        input type="hidden" name="agent" value=(one.agent);
                        button type="submit" { "Let it ask again" }
                        p.wrong role="alert" {}
                    }
                }
            } }
        }
    }
}

fn agent_line(agent: &StoredAgent, now: Timestamp) -> Markup {
    let path = format!("/v1/agents/{}", percent_encode(&agent.name));
    html! {
        li {
            div {
                strong { (shown(&agent.name)) }
                p.hint {
                    @if let Some(uid) = agent.uid { "user " (uid) " at the socket, " }
                    @if agent.token.is_some() { "has a token" } @else { "has no token" }
                    @if let Some(end) = agent.expires { ", expires " (relative_time(end, now)) }
                    ", added " (relative_time(agent.added, now))
                    @if !agent.own_addresses.is_empty() {
                        ", is "
                        (shown(&agent.own_addresses.join(", ")))
                    }
                }
            }
            div.pair {
                button type="button" data-method="POST" data-path={ (path) "/token" }
                    data-once="token"
                    data-question="The old token is revoked at once. Create a new token?" {
                        "New token"
                    }
                @let question = "The agent can no longer submit calls. Revoke it?";
                (action_button("Revoke", "DELETE", &path, question))
            }
        }
    }
}
