//! What a node reported about itself: its card, and what each peer may ask of it. Both are the
//! node's own words, signed with the key of its certificate.

use std::collections::BTreeMap;

use countersign_text::sanitize::sanitize_within;
use countersign_types::time::Timestamp;
use maud::{Markup, html};

use super::controls::shown;
use super::labels::{relative_time, thousands};
use crate::fleet_nodes::{AcceptedReport, AcceptedTasks};

/// How long after a report a node counts as running, in milliseconds.
const RECENT: i64 = 5 * 60_000;
const TEXT: usize = 600;
/// How many addresses, skills and patterns are shown.
const MAX_ITEMS: usize = 8;

/// The card of an agent.
pub fn card(agent: &str, report: Option<&AcceptedReport>, now: Timestamp) -> Markup {
    let Some(AcceptedReport { at, report, .. }) = report else {
        return html! {
            p.hint { "No card: " (shown(agent)) " only sends tasks, or its server is not running." }
        };
    };
    let card = &report.card;
    let is_recent = now.0.saturating_sub(at.0) < RECENT;
    html! {
        @if !card.description.is_empty() {
            p { (sanitize_within(&card.description, TEXT).text) }
        }
        h3 { "Card" }
        dl {
            dt { "Takes tasks at" }
            dd {
                @for one in card.supported_interfaces.iter().take(MAX_ITEMS) {
                    div {
                        code { (shown(&one.url)) }
                        span.hint {
                            " " (shown(&one.protocol_binding)) " " (shown(&one.protocol_version))
                        }
                    }
                }
            }
            dt { "Skills" }
            dd {
                @for skill in card.skills.iter().take(MAX_ITEMS) {
                    div {
                        (shown(&skill.name))
                        span.hint { " " (sanitize_within(&skill.description, TEXT).text) }
                    }
                }
            }
            dt { "Version" }
            dd { (shown(&card.version)) ", chains of at most " (report.max_depth) " agents" }
            dt { "Reported" }
            dd {
                (relative_time(*at, now))
                @if !is_recent { strong { " – its server may not be running" } }
            }
        }
    }
}

/// What this agent may ask of every node.
pub fn accepted(agent: &str, nodes: &BTreeMap<String, AcceptedReport>) -> Markup {
    let others = || nodes.iter().filter(|(node, _)| *node != agent);
    html! {
        @if others().next().is_some() {
            h3 { "May ask" }
            dl {
                @for (node, found) in others() {
                    dt { "of " (shown(node)) }
                    dd { (limits(found.report.accepted_from(agent))) }
                }
            }
        }
    }
}

fn limits(accepted: &AcceptedTasks) -> Markup {
    if !accepted.allowed {
        return html! { strong { "nothing" } };
    }
    let patterns = accepted.tasks.iter().take(MAX_ITEMS);
    html! {
        @if accepted.tasks.is_empty() { "any text" } @else {
            "only "
            @for (number, pattern) in patterns.enumerate() {
                @if number > 0 { ", " }
                code { (shown(pattern)) }
            }
            @if accepted.tasks.len() > MAX_ITEMS {
                " and " (accepted.tasks.len() - MAX_ITEMS) " more"
            }
        }
        @match &accepted.max_tier {
            Some(tier) => { ", at most " (shown(tier)) },
            None => ", any tier",
        }
        div.hint {
            (thousands(accepted.per_minute)) " in a minute, "
            (thousands(accepted.per_day)) " in a day, "
            (thousands(accepted.open_tasks)) " open at once"
        }
    }
}
