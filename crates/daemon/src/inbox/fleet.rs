//! The agents that delegate tasks to each other: card, certificate, what each may ask, last tasks.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_types::time::{Clock as _, Timestamp};
use maud::{Markup, html};

use super::controls::{is_administrator, shown};
use super::labels::relative_time;
use super::page::{ApiState, PageResult, signed_in_page};
use super::view::RequestView;
use super::{delegated_tasks, layout, peer_report};
use crate::fleet_nodes::AcceptedReport;
use crate::fleet_records::IssuedCertificate;

/// What the page shows.
struct Peers {
    /// The certificates of each agent, the newest first.
    certificates: BTreeMap<String, Vec<IssuedCertificate>>,
    /// The reports of nodes whose certificate is valid.
    reports: BTreeMap<String, AcceptedReport>,
    tasks: Vec<RequestView>,
    now: Timestamp,
    may_revoke: bool,
}

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let failed =
        |error: crate::fleet::FleetError| layout::error_page(&error.into(), Some(&identity));
    let tasks = delegated_tasks::newest(&api).await;
    let tasks = tasks.map_err(|error| layout::error_page(&error.into(), Some(&identity)))?;
    let now = api.gate.clock().now().at;
    let mut certificates = BTreeMap::<String, Vec<IssuedCertificate>>::new();
    for one in api.fleet.certificates().map_err(failed)?.into_iter().rev() {
        certificates.entry(one.agent.clone()).or_default().push(one);
    }
    let mut reports = api.fleet.nodes.all();
    reports.retain(|agent, report| {
        let mut own = certificates.get(agent).into_iter().flatten();
        own.any(|one| one.serial == report.serial && is_valid(one, now))
    });
    let may_revoke = is_administrator(&identity);
    let peers = Peers { certificates, reports, tasks, now, may_revoke };
    let body = html! {
        section.wide {
            h1 { "Peers" }
            p.hint {
                "Agents with a certificate may send tasks to each other. "
                "Each task waits for a person as a call of delegate_task."
            }
            @if let Some(fault) = api.fleet.fault() {
                p.wrong role="alert" { "No agent is accepted: " (fault) "." }
            }
            @if !api.fleet.is_set_up() {
                p { "No authority. Set it up with: countersign pki init" }
            } @else if peers.certificates.is_empty() {
                p { "No certificates. Issue one with: countersign pki issue NAME" }
            }
            @for (agent, own) in &peers.certificates { (peer(agent, own, &peers)) }
            (delegated_tasks::stories(&peers.tasks))
        }
    };
    Ok(layout::page("Peers", layout::MenuItem::Agents, Some(&identity), &body))
}

fn is_valid(one: &IssuedCertificate, now: Timestamp) -> bool {
    one.revoked.is_none() && one.expires > now.0
}

fn peer(agent: &str, own: &[IssuedCertificate], peers: &Peers) -> Markup {
    let is_open = own.iter().any(|one| is_valid(one, peers.now));
    let (newest, earlier) = own.split_first().map_or((None, own), |(one, rest)| (Some(one), rest));
    html! {
        article.peer id={ "peer-" (agent) } {
            h2 { (shown(agent)) }
            (peer_report::card(agent, peers.reports.get(agent), peers.now))
            h3 { "Certificate" }
            @if let Some(newest) = newest { (certificate(newest, peers)) }
            @if !earlier.is_empty() {
                details {
                    summary { (earlier.len()) " earlier" }
                    @for one in earlier { (certificate(one, peers)) }
                }
            }
            @if is_open { (peer_report::accepted(agent, &peers.reports)) }
            (delegated_tasks::of_peer(agent, &peers.tasks))
        }
    }
}

fn certificate(one: &IssuedCertificate, peers: &Peers) -> Markup {
    let (now, valid) = (peers.now, is_valid(one, peers.now));
    html! {
        div.certificate {
            dl {
                dt { "Validity" }
                dd {
                    @if let Some(at) = one.revoked {
                        strong.wrong { "revoked " (relative_time(Timestamp(at), now)) }
                    } @else if valid {
                        "expires " (relative_time(Timestamp(one.expires), now))
                    } @else {
                        strong.wrong { "expired " (relative_time(Timestamp(one.expires), now)) }
                    }
                    ", issued " (relative_time(Timestamp(one.issued), now))
                    @if one.renews.is_some() { " as a renewal" }
                }
                dt { "Names" }
                dd {
                    (countersign_tls::AGENT_URI) (shown(&one.agent))
                    @if !one.hosts.is_empty() { "; " (shown(&one.hosts.join(", "))) }
                }
                @if let Some(fingerprint) = &one.fingerprint {
                    dt { "Fingerprint" }
                    dd { code { (shown(fingerprint)) } span.hint { " SHA-256" } }
                }
                dt { "Serial number" }
                dd { code { (one.serial) } }
            }
            @if valid && peers.may_revoke {
                form.api.line data-method="POST" data-path="/v1/pki/revocations" {
                    input type="hidden" name="certificate" value=(one.serial);
                    button type="submit" { "Revoke" }
                    p.wrong role="alert" {}
                }
            }
        }
    }
}
