//! Browsers that show notifications: each person's own.

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{delete, get};
use countersign_channels::{ChannelSettings, webpush};
use countersign_json::base64;
use countersign_json::canonical::Digest;
use countersign_store::{PushSubscription, Store as _};
use countersign_types::time::Clock as _;
use serde_json::{Value, json};

use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};
use crate::push;

/// The most browsers of one person.
const MAX_ITEMS: usize = 20;
const MAX_NAME: usize = 64;
const MAX_ENDPOINT: usize = 1024;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/push", get(list).post(add)).route("/v1/push/{browser}", delete(end))
}

/// An id for a browser that does not reveal its push endpoint.
fn name_of(subscription: &PushSubscription) -> String {
    let digest = Digest::of(subscription.endpoint.as_bytes()).to_string();
    digest.get(..24).unwrap_or_default().to_owned()
}

fn document(subscription: &PushSubscription) -> Value {
    json!({
        "id": name_of(subscription), "called": subscription.called, "added": subscription.added,
    })
}

/// The browsers of a person.
pub async fn own(api: &Api, person: &str) -> Result<Vec<(String, PushSubscription)>, ApiProblem> {
    let all = api.gate.store().subscriptions().await?;
    let own = all.into_iter().filter(|subscription| subscription.person == person);
    Ok(own.map(|subscription| (name_of(&subscription), subscription)).collect())
}

/// Our public key, as browsers expect it.
pub fn key(api: &Api) -> String {
    base64::encode_url(&api.channels.browsers().public_key().unwrap_or_default())
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    let identity = authenticate::person(&api, &headers)?;
    let own = own(&api, &identity.person).await?;
    let browsers: Vec<Value> = own.iter().map(|(_, browser)| document(browser)).collect();
    Ok(axum::Json(json!({ "key": key(&api), "browsers": browsers })).into_response())
}

/// Whether endpoints without TLS are allowed: only if the configuration allows private addresses.
fn allows_private(api: &Api) -> bool {
    let rules = api.gate.rules();
    let channel_config =
        rules.channels.get(webpush::NAME).map(|channel_config| &channel_config.settings);
    matches!(channel_config, Some(ChannelSettings::WebPush(settings)) if settings.allow_private)
}

/// Reads a subscription, and rejects one that could not be used.
fn subscription(
    api: &Api,
    value: &countersign_json::Value<'_>,
    person: &str,
) -> Result<PushSubscription, ApiProblem> {
    let fields = Fields::new(value)?;
    let decoded = |name: &'static str| {
        let bytes = base64::decode_url(fields.required_text(name)?);
        bytes.map_err(|_| ApiProblem::bad_request(format!("`{name}` must be base64url")))
    };
    let browser = PushSubscription {
        endpoint: fields.required_text("endpoint")?.to_owned(),
        person: person.to_owned(),
        public_key: decoded("p256dh")?,
        secret: decoded("auth")?,
        called: fields.required_text("called")?.trim().to_owned(),
        added: api.gate.clock().now().at,
        ended: None,
    };
    fields.finish()?;
    let (called, endpoint) = (&browser.called, &browser.endpoint);
    let letters = called.chars().count();
    if letters == 0 || letters > MAX_NAME || called.contains(char::is_control) {
        return Err(ApiProblem::bad_request(format!(
            "`called` must have 1 to {MAX_NAME} characters"
        )));
    }
    if endpoint.len() > MAX_ENDPOINT {
        return Err(ApiProblem::bad_request(format!(
            "`endpoint` may have at most {MAX_ENDPOINT} bytes"
        )));
    }
    if !endpoint.starts_with("https://") && !allows_private(api) {
        return Err(ApiProblem::bad_request("`endpoint` must begin with https://"));
    }
    match push::browser(browser.clone()).problem() {
        Some(problem) => Err(ApiProblem::bad_request(problem)),
        None => Ok(browser),
    }
}

async fn add(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let browser = subscription(&api, &fields::parse(&bytes)?, &identity.person)?;
    let own = own(&api, &identity.person).await?;
    let known = own.iter().any(|(_, known)| known.endpoint == browser.endpoint);
    if !known && own.len() >= MAX_ITEMS {
        return Err(ApiProblem::conflict(format!(
            "a person can have at most {MAX_ITEMS} browsers"
        )));
    }
    let body = document(&browser);
    api.gate.store().save_subscription(browser, proven.note(&api, &identity.person)).await?;
    push::read(&api.gate, api.channels.browsers()).await?;
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

async fn end(
    State(api): State<Api>,
    Path(id): Path<String>,
    proven: StepUpProof,
    headers: HeaderMap,
) -> ApiResult {
    let identity = authenticate::person(&api, &headers)?;
    let own = own(&api, &identity.person).await?;
    let found = own.into_iter().find(|(name, _)| *name == id);
    let (_, mut browser) = found.ok_or_else(|| ApiProblem::not_found("browser not found"))?;
    browser.ended = Some(api.gate.clock().now().at);
    let body = json!({ "id": id, "ended": browser.ended });
    api.gate.store().save_subscription(browser, proven.note(&api, &identity.person)).await?;
    push::read(&api.gate, api.channels.browsers()).await?;
    Ok(axum::Json(body).into_response())
}
