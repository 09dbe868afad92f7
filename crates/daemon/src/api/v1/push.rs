//! Browsers that are called when something waits: each person's own.

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
use crate::api::{Answered, Api, Problem, SteppedUp, who};
use crate::push;

/// So many browsers may one person have.
const MOST: usize = 20;
const LONGEST_NAME: usize = 64;
const LONGEST_ENDPOINT: usize = 1024;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/push", get(list).post(add)).route("/v1/push/{browser}", delete(end))
}

/// A name for a browser that tells nobody where it is called.
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
pub async fn own(api: &Api, person: &str) -> Result<Vec<(String, PushSubscription)>, Problem> {
    let all = api.gate.store().subscriptions().await?;
    let own = all.into_iter().filter(|subscription| subscription.person == person);
    Ok(own.map(|subscription| (name_of(&subscription), subscription)).collect())
}

/// Our public key, as browsers want it.
pub fn key(api: &Api) -> String {
    base64::encode_url(&api.lines.browsers().public_key().unwrap_or_default())
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> Answered {
    let who = who::person(&api, &headers)?;
    let own = own(&api, &who.person).await?;
    let browsers: Vec<Value> = own.iter().map(|(_, browser)| document(browser)).collect();
    Ok(axum::Json(json!({ "key": key(&api), "browsers": browsers })).into_response())
}

/// Whether addresses without TLS may be called: where an operator lets us reach this machine.
fn inside_too(api: &Api) -> bool {
    let rules = api.gate.rules();
    let set_up = rules.channels.get(webpush::NAME).map(|set_up| &set_up.settings);
    matches!(set_up, Some(ChannelSettings::WebPush(settings)) if settings.allow_private)
}

/// Reads what a browser made, and refuses what could not be called.
fn subscription(
    api: &Api,
    value: &countersign_json::Value<'_>,
    person: &str,
) -> Result<PushSubscription, Problem> {
    let said = Fields::of(value)?;
    let decoded = |name: &'static str| {
        let bytes = base64::decode_url(said.needed_text(name)?);
        bytes.map_err(|_| Problem::bad(format!("`{name}` must be base64url")))
    };
    let browser = PushSubscription {
        endpoint: said.needed_text("endpoint")?.to_owned(),
        person: person.to_owned(),
        public_key: decoded("p256dh")?,
        secret: decoded("auth")?,
        called: said.needed_text("called")?.trim().to_owned(),
        added: api.gate.clock().now().at,
        ended: None,
    };
    said.finish()?;
    let (called, endpoint) = (&browser.called, &browser.endpoint);
    let letters = called.chars().count();
    if letters == 0 || letters > LONGEST_NAME || called.contains(char::is_control) {
        return Err(Problem::bad(format!("`called` must be 1 to {LONGEST_NAME} letters")));
    }
    if endpoint.len() > LONGEST_ENDPOINT {
        return Err(Problem::bad(format!("`endpoint` has more than {LONGEST_ENDPOINT} bytes")));
    }
    if !endpoint.starts_with("https://") && !inside_too(api) {
        return Err(Problem::bad("`endpoint` must begin with https://"));
    }
    match push::browser(browser.clone()).problem() {
        Some(problem) => Err(Problem::bad(problem)),
        None => Ok(browser),
    }
}

async fn add(State(api): State<Api>, proven: SteppedUp, request: Request) -> Answered {
    let who = who::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let browser = subscription(&api, &fields::parse(&bytes)?, &who.person)?;
    let own = own(&api, &who.person).await?;
    let known = own.iter().any(|(_, known)| known.endpoint == browser.endpoint);
    if !known && own.len() >= MOST {
        return Err(Problem::conflict(format!("a person has at most {MOST} browsers here")));
    }
    let body = document(&browser);
    api.gate.store().save_subscription(browser, proven.note(&api, &who.person)).await?;
    push::read(&api.gate, api.lines.browsers()).await?;
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

async fn end(
    State(api): State<Api>,
    Path(id): Path<String>,
    proven: SteppedUp,
    headers: HeaderMap,
) -> Answered {
    let who = who::person(&api, &headers)?;
    let own = own(&api, &who.person).await?;
    let found = own.into_iter().find(|(name, _)| *name == id);
    let (_, mut browser) = found.ok_or_else(|| Problem::not_found("there is no such browser"))?;
    browser.ended = Some(api.gate.clock().now().at);
    let body = json!({ "id": id, "ended": browser.ended });
    api.gate.store().save_subscription(browser, proven.note(&api, &who.person)).await?;
    push::read(&api.gate, api.lines.browsers()).await?;
    Ok(axum::Json(body).into_response())
}
