//! `POST /hooks/NAME`: where platforms bring what people said. Nothing is believed but what the
//! channel can prove to be the platform's.

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use countersign_channels::HookRequest;
use countersign_types::time::Clock as _;

use super::{Answered, Api, Problem, fields};
use crate::ears;

/// A platform calls.
pub async fn posted(
    State(api): State<Api>,
    Path(channel): Path<String>,
    request: Request,
) -> Answered {
    let rules = api.gate.rules();
    let line = api.lines.get(&rules, &channel).map_err(|_| nothing_here())?;
    let (parts, body) = request.into_parts();
    let body = fields::whole_body(body).await?;
    let query = parts.uri.query().map_or_else(String::new, |query| format!("?{query}"));
    let url = format!("{}{}{query}", rules.inbox, parts.uri.path());
    let headers = &parts.headers;
    // A header that is there twice is none: who added the second one?
    let header = |name: &str| {
        let mut found = headers.get_all(name).iter();
        match (found.next(), found.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    };
    let now = api.gate.clock().now().at;
    let posted = HookRequest { url: &url, header: &header, body: &body, now };
    let answer = ears::posted(&api, &line, &posted).await;
    let Some(answer) = answer else { return Err(refused()) };
    let mut response = Response::new(Body::from(answer.body));
    if let Ok(kind) = HeaderValue::from_str(answer.content_type)
        && !answer.content_type.is_empty()
    {
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    Ok(response)
}

fn nothing_here() -> Problem {
    Problem::not_found("there is no such channel")
}

fn refused() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "Who are you?",
        "this does not come from the platform",
    )
}
