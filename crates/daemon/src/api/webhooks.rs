//! `POST /hooks/NAME`: where platforms deliver messages. Only what the channel can authenticate is
//! used.

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use countersign_channels::HookRequest;
use countersign_types::time::Clock as _;

use super::{Api, ApiProblem, ApiResult, fields};
use crate::inbound;

/// A platform delivers a message.
pub async fn posted(
    State(api): State<Api>,
    Path(channel): Path<String>,
    request: Request,
) -> ApiResult {
    let rules = api.gate.rules();
    let line = api.channels.get(&rules, &channel).map_err(|_| nothing_here())?;
    let (parts, body) = request.into_parts();
    let body = fields::read_body(body).await?;
    let query = parts.uri.query().map_or_else(String::new, |query| format!("?{query}"));
    let url = format!("{}{}{query}", rules.inbox, parts.uri.path());
    let headers = &parts.headers;
    // A duplicate header counts as missing, because an attacker may have added one.
    let header = |name: &str| {
        let mut found = headers.get_all(name).iter();
        match (found.next(), found.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    };
    let now = api.gate.clock().now().at;
    let posted = HookRequest { url: &url, header: &header, body: &body, now };
    let answer = inbound::posted(api.inbound(), &line, &posted).await;
    let Some(answer) = answer else { return Err(refused()) };
    let mut response = Response::new(Body::from(answer.body));
    if let Ok(kind) = HeaderValue::from_str(answer.content_type)
        && !answer.content_type.is_empty()
    {
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    Ok(response)
}

fn nothing_here() -> ApiProblem {
    ApiProblem::not_found("channel not found")
}

fn refused() -> ApiProblem {
    ApiProblem::new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "Authentication required",
        "the request could not be verified as the platform's",
    )
}
