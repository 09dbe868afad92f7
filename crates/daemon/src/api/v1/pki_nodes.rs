//! `POST /v1/pki/nodes`: a node of the fleet reports its card and what it accepts from each sender.
//! It changes nothing: people see it on the page of peers.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_tls::node_report_text;
use countersign_types::time::{Clock as _, Timestamp};
use std::sync::Arc;

use super::pki::SignedByHolder;
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult};
use crate::fleet_nodes::{AcceptedReport, MAX_REPORT, NodeReport};

/// The routes of the agent API. The key of the certificate is the credential.
pub fn agents() -> Router<Api> {
    Router::new().route("/v1/pki/nodes", post(report))
}

async fn report(State(api): State<Api>, request: Request) -> ApiResult {
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let signed = SignedByHolder::read(&fields)?;
    let text = fields.required_text("report")?;
    fields.finish()?;
    if text.len() > MAX_REPORT {
        return Err(ApiProblem::bad_request("`report` is longer than 64 KiB"));
    }
    let report = NodeReport::parse(text);
    let report =
        report.ok_or_else(|| ApiProblem::bad_request("`report` is not a node's report"))?;
    let (at, now) = (signed.at, api.gate.clock().now().at);
    let said = |serial: &[u8]| node_report_text(serial, at, text);
    let (record, _) = api.fleet.holder(&signed.proof(), said, now)?;
    let new = AcceptedReport { at: Timestamp(at), serial: record.serial, report: Arc::new(report) };
    if !api.fleet.nodes.keep(&record.agent, new) {
        return Err(ApiProblem::conflict("a newer report of this node is known"));
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}
