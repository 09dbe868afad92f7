//! MCP servers: what their tools do, as people label them.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_risk::tool_label::ToolLabel;
use countersign_store::{ListedTool, Store as _, StoreError, StoredServer};
use countersign_types::time::{Clock as _, Timestamp};
use maud::{Markup, html};

use super::controls::{is_administrator, shown};
use super::labels::relative_time;
use super::layout;
use super::page::{ApiState, PageResult, signed_in_page};
use crate::api::Api;
use crate::gate::listing_digest;

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&identity));
    let servers = api.gate.store().servers().await.map_err(failed)?;
    let (now, may_label) = (api.gate.clock().now().at, is_administrator(&identity));
    let body = html! {
        section.wide {
            h1 { "MCP servers" }
            p.hint {
                "Say once what each tool does that Countersign has no description of. Calls of a "
                "tool that only reads pass if their arguments are harmless; all others ask. A tool "
                "that changes loses its label. Names and descriptions are the server's own words: "
                "do not trust them."
            }
            @if servers.is_empty() { p { "No servers. The MCP proxy lists them." } }
            @for server in &servers { (card(&api, server, now, may_label)) }
        }
    };
    Ok(layout::page("MCP servers", layout::MenuItem::Servers, Some(&identity), &body))
}

/// One line for each server that has tools without a label and was called.
pub async fn notice(api: &Api) -> Result<Markup, StoreError> {
    let servers = api.gate.store().servers().await?;
    let waiting = servers.iter().filter(|server| server.called.is_some());
    let waiting = waiting.map(|server| (server, unlabelled(api, server)));
    let waiting: Vec<_> = waiting.filter(|(_, open)| *open > 0).collect();
    Ok(html! {
        @for (server, open) in waiting {
            p.alarm role="status" {
                "MCP server " strong { (shown(&server.name)) } ": " (open)
                @if open == 1 { " tool has" } @else { " tools have" }
                " no label, and each of them asks. "
                a href={ "/servers#" (server.id) } { "Label its tools" }
            }
        }
    })
}

fn unlabelled(api: &Api, server: &StoredServer) -> usize {
    server.tools.iter().filter(|tool| label(api, server, tool).is_none()).count()
}

fn label(api: &Api, server: &StoredServer, tool: &ListedTool) -> Option<ToolLabel> {
    api.gate.tool_labels().label(server.id, &tool.name, &tool.definition)
}

fn card(api: &Api, server: &StoredServer, now: Timestamp, may_label: bool) -> Markup {
    let listed = u32::try_from(server.tools.len()).unwrap_or(u32::MAX);
    let path = format!("/v1/servers/{}/labels", server.id);
    html! {
        article.server id=(server.id) {
            h2 { (shown(&server.name)) }
            p.hint {
                (server.address) ", " (server.tool_count) " tools, first seen "
                (relative_time(server.first_seen, now))
            }
            form.api data-method="POST" data-path=(path) {
                input type="hidden" name="listing" value=(listing_digest(server));
                ul.list {
                    @for tool in &server.tools {
                        (tool_line(tool, label(api, server, tool), may_label))
                    }
                }
                @if server.tool_count > listed {
                    p.hint {
                        (server.tool_count - listed)
                        " more tools: described by Countersign, or too many to list. "
                        "The latter are asked about."
                    }
                }
                @if may_label && !server.tools.is_empty() {
                    p.wrong role="alert" {}
                    button.main type="submit" { "Save labels" }
                }
            }
        }
    }
}

fn tool_line(tool: &ListedTool, label: Option<ToolLabel>, may_label: bool) -> Markup {
    html! {
        li {
            div {
                strong { (shown(&tool.name)) }
                @if tool.deceptive { " " em { "has hidden or deceptive characters" } }
                p.hint { (tool.description) }
                p.hint {
                    @match label {
                        Some(label) => { "Label: " (label.word()) },
                        None => "No label: every call asks.",
                    }
                    @if let Some(hint) = tool.suggestion { " Suggested: " (hint.word()) "." }
                }
            }
            @if may_label {
                select data-tool=(tool.name) aria-label={ "Label of " (shown(&tool.name)) } {
                    option value="" { "No change" }
                    @for label in ToolLabel::ALL {
                        option value=(label.word()) { (label.word()) }
                    }
                    @if label.is_some() { option value="none" { "remove the label" } }
                }
            }
        }
    }
}
