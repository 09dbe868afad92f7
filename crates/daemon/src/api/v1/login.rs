//! Sign in, sign out, and the current session.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use countersign_store::{Store as _, StoredLogin};
use countersign_types::time::{Clock as _, Millis};
use serde_json::json;
use zeroize::Zeroizing;

use crate::api::credentials::{Credentials, WEB_TIME, end_session};
use crate::api::fields::{self, Fields};
use crate::api::session_key::{cookie_of, is_public_key};
use crate::api::{Api, ApiProblem, ApiResult, authenticate};
use crate::auth::TooManyLogins;

/// The route to sign in.
pub const LOGIN: &str = "/v1/login";

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new()
        .route(LOGIN, post(log_in).delete(log_out))
        .route("/v1/me", get(me).post(touch_presence))
}

async fn log_in(State(api): State<Api>, request: Request) -> ApiResult {
    let (parts, body) = request.into_parts();
    let bytes = Zeroizing::new(fields::read_json_body(&parts.headers, body).await?.to_vec());
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let name = fields.required_text("name")?.to_owned();
    let passphrase = Zeroizing::new(fields.required_text("passphrase")?.to_owned());
    let channel = match fields.text("channel")? {
        Some(channel @ (authenticate::WEB | "terminal")) => channel.to_owned(),
        _ => return Err(ApiProblem::bad_request("`channel` must be web or terminal")),
    };
    let public_key = fields.text("key")?.unwrap_or_default().to_owned();
    fields.finish()?;
    if (channel == authenticate::WEB) != is_public_key(&public_key) {
        return Err(ApiProblem::bad_request(
            "`key` must be the P-256 key of a browser session, as a point in base64url; a terminal \
             has none",
        ));
    }
    let credentials = Credentials::new(name, passphrase, &channel)?.with_key(public_key.clone());
    // A separate task: a client that disconnects has used its attempt all the same.
    let working = api.clone();
    let (secret, login) = tokio::spawn(async move { credentials.log_in(&working).await })
        .await
        .map_err(|_| ApiProblem::from(TooManyLogins))??;
    let secure = api.people_hosts.is_https(&parts.headers);
    Ok(welcome(&api, (&secret, &public_key), &login, secure))
}

/// The response to a login: a token for a terminal; a salt and the cookie for a browser, which has
/// the key already.
fn welcome(
    api: &Api,
    (secret, public_key): (&str, &str),
    login: &StoredLogin,
    secure: bool,
) -> Response {
    let role = api.directory.record(&login.person).map(|person| person.role);
    if login.channel != authenticate::WEB {
        let body = json!({
            "token": secret, "person": login.person, "role": role, "expires": login.expires,
        });
        return axum::Json(body).into_response();
    }
    let body = json!({
        "person": login.person, "role": role, "expires": login.expires,
        "salt": secret, "now": api.gate.clock().now().at.0,
    });
    with_cookie(axum::Json(body).into_response(), &cookie_of(secret, public_key), WEB_TIME, secure)
}

/// Sets the session cookie, or removes it with a lifetime of 0.
fn with_cookie(mut response: Response, value: &str, time: Millis, secure: bool) -> Response {
    let (name, further) =
        if secure { (authenticate::HOST_COOKIE, "; Secure") } else { (authenticate::COOKIE, "") };
    let seconds = time.0 / 1000;
    let cookie =
        format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{further}");
    if let Ok(mut cookie) = HeaderValue::try_from(cookie) {
        cookie.set_sensitive(true);
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

async fn log_out(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    let identity = authenticate::person(&api, &headers)?;
    let logins = api.gate.store().logins().await?;
    if let Some(login) = logins.into_iter().find(|login| login.secret == identity.login) {
        end_session(&api, login).await?;
    }
    let response = axum::Json(json!({ "ended": true })).into_response();
    if identity.channel != authenticate::WEB {
        return Ok(response);
    }
    Ok(with_cookie(response, "", Millis(0), api.people_hosts.is_https(&headers)))
}

async fn me(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    let identity = authenticate::person(&api, &headers)?;
    let body = json!({
        "person": identity.person, "role": identity.role, "channel": identity.channel,
        "expires": identity.expires,
    });
    Ok(axum::Json(body).into_response())
}

/// A person is active in the inbox, so phones are notified a little later.
async fn touch_presence(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let now = api.gate.clock().now().at;
    api.presence.saw(now);
    Ok(axum::Json(json!({ "at": now })).into_response())
}
