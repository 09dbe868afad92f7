//! The agents that delegate tasks: their certificates, and their last tasks.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_types::time::{Clock as _, Timestamp};
use maud::{Markup, html};

use super::controls::{is_administrator, shown};
use super::labels::relative_time;
use super::page::{ApiState, PageResult, signed_in_page};
use super::{delegated_tasks, layout};
use crate::fleet_records::IssuedCertificate;

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let failed =
        |error: crate::fleet::FleetError| layout::error_page(&error.into(), Some(&identity));
    let mut certificates = api.fleet.certificates().map_err(failed)?;
    certificates.reverse();
    let tasks = delegated_tasks::newest(&api).await;
    let tasks = tasks.map_err(|error| layout::error_page(&error.into(), Some(&identity)))?;
    let (now, may_revoke) = (api.gate.clock().now().at, is_administrator(&identity));
    let body = html! {
        section.wide {
            h1 { "Certificates of agents" }
            p.hint {
                "Agents with these certificates may send tasks to each other. "
                "Each task waits for a person as a call of delegate_task."
            }
            @if let Some(fault) = api.fleet.fault() {
                p.wrong role="alert" { "No agent is accepted: " (fault) "." }
            }
            @if !api.fleet.is_set_up() {
                p { "No authority. Set it up with: countersign pki init" }
            } @else if certificates.is_empty() {
                p { "No certificates. Issue one with: countersign pki issue NAME" }
            }
            ul.list { @for one in &certificates { (line(one, now, may_revoke)) } }
            (delegated_tasks::stories(&tasks))
        }
    };
    Ok(layout::page("Certificates", layout::MenuItem::Agents, Some(&identity), &body))
}

fn line(one: &IssuedCertificate, now: Timestamp, may_revoke: bool) -> Markup {
    let is_valid = one.revoked.is_none() && one.expires > now.0;
    html! {
        li {
            div {
                strong { (shown(&one.agent)) }
                p.hint {
                    @if let Some(at) = one.revoked {
                        "revoked " (relative_time(Timestamp(at), now))
                    } @else if is_valid {
                        "expires " (relative_time(Timestamp(one.expires), now))
                    } @else { "expired " (relative_time(Timestamp(one.expires), now)) }
                    ", issued " (relative_time(Timestamp(one.issued), now))
                    @if one.renews.is_some() { " as a renewal" }
                    @if !one.hosts.is_empty() { ", at " (shown(&one.hosts.join(", "))) }
                    ", serial number " (one.serial)
                }
            }
            @if is_valid && may_revoke {
                form.api.line data-method="POST" data-path="/v1/pki/revocations" {
                    input type="hidden" name="certificate" value=(one.serial);
                    button type="submit" { "Revoke" }
                    p.wrong role="alert" {}
                }
            }
        }
    }
}
