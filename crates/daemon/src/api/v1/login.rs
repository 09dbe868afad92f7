//! Logging in and out, and who one is.

use std::borrow::Cow;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, Kind};
use countersign_store::{Store as _, StoredLogin, StoredPerson, WriteContext};
use countersign_types::time::{Clock as _, Span};
use serde_json::json;
use zeroize::Zeroizing;

use crate::api::fields::{self, Fields};
use crate::api::{Answered, Api, Problem, who};
use crate::auth::{Crowded, PERSON_TOKEN, Who};
use crate::chance;
use crate::gate::Rejection;

/// Where people log in.
pub const LOGIN: &str = "/v1/login";
/// How long a browser session is good, and how long a terminal's token.
const WEB_TIME: Span = Span::seconds(30 * 86_400);
const TERMINAL_TIME: Span = Span::seconds(12 * 3_600);
/// What the proofs of browser sessions begin with.
const WEB_PROOF: &str = "csw_";
/// The longest passphrase that is looked at.
const LONGEST: usize = 1024;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new().route(LOGIN, post(log_in).delete(log_out)).route("/v1/me", get(me).post(here))
}

async fn log_in(State(api): State<Api>, request: Request) -> Answered {
    let (parts, body) = request.into_parts();
    let bytes = Zeroizing::new(fields::body(&parts.headers, body).await?.to_vec());
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let name = said.needed_text("name")?.to_owned();
    let passphrase = Zeroizing::new(said.needed_text("passphrase")?.to_owned());
    let channel = match said.text("channel")? {
        Some(channel @ (who::WEB | "terminal")) => channel.to_owned(),
        _ => return Err(Problem::bad("`channel` must be web or terminal")),
    };
    said.finish()?;
    let guess = Guess::new(name, passphrase, &channel)?;
    // A task of its own: who breaks off has guessed all the same.
    let working = api.clone();
    let (secret, login) = tokio::spawn(async move { guess.check(&working).await })
        .await
        .map_err(|_| Problem::from(Crowded))??;
    let secure = api.people_names.is_https(&parts.headers);
    Ok(welcome(&api, &secret, &login, secure))
}

/// Who this is, by name and passphrase alone, for one thing that is done without logging in.
/// Wrong guesses count as they do at the login.
pub async fn proven(
    api: &Api,
    name: String,
    passphrase: Zeroizing<String>,
) -> Result<String, Problem> {
    let guess = Guess::new(name, passphrase, who::WEB)?;
    let working = api.clone();
    let person = tokio::spawn(async move { guess.prove(&working).await });
    Ok(person.await.map_err(|_| Problem::from(Crowded))??.name)
}

/// What somebody says about themselves.
pub(super) struct Guess {
    pub name: String,
    pub passphrase: Zeroizing<String>,
    channel: String,
}

impl Guess {
    /// A name and what is to prove it, if neither is too long to be looked at.
    pub fn new(
        name: String,
        passphrase: Zeroizing<String>,
        channel: &str,
    ) -> Result<Guess, Problem> {
        if name.len() > LONGEST || passphrase.len() > LONGEST {
            return Err(Problem::bad(format!("at most {LONGEST} bytes each")));
        }
        Ok(Guess { name, passphrase, channel: channel.to_owned() })
    }

    async fn check(self, api: &Api) -> Result<(Zeroizing<String>, StoredLogin), Problem> {
        let person = self.prove(api).await?;
        self.enter(api, &person).await
    }

    /// One answer for a wrong passphrase and for a name that nobody has, after the same time.
    async fn prove(&self, api: &Api) -> Result<StoredPerson, Problem> {
        api.strikes.begin(&self.name, api.gate.clock().now().at)?;
        let known = api.book.record(&self.name);
        let kept = known.as_ref().map(|person| person.passphrase.clone());
        let right = api.checks.check(self.passphrase.clone(), kept).await;
        match (right, known) {
            (Ok(true), Some(person)) => {
                api.strikes.right(&self.name);
                Ok(person)
            }
            (Ok(_), known) => Err(self.failed(api, known.is_some()).await),
            (Err(crowded), _) => {
                api.strikes.unheard(&self.name);
                Err(crowded.into())
            }
        }
    }

    async fn enter(
        &self,
        api: &Api,
        person: &StoredPerson,
    ) -> Result<(Zeroizing<String>, StoredLogin), Problem> {
        let now = api.gate.clock().now().at;
        let web = self.channel == who::WEB;
        let prefix = if web { WEB_PROOF } else { PERSON_TOKEN };
        let secret = chance::secret(prefix).map_err(|_| Problem::from(Rejection::NoChance))?;
        let secret = Zeroizing::new(secret);
        let shown = if web { Zeroizing::new(who::cookie_of(&secret)) } else { secret.clone() };
        let login = StoredLogin {
            secret: Digest::of(shown.as_bytes()),
            person: person.name.clone(),
            channel: self.channel.clone(),
            made: now,
            expires: now.plus(if web { WEB_TIME } else { TERMINAL_TIME }),
            ended: None,
        };
        api.gate.store().save_login(login.clone(), api.note()).await.map_err(|error| {
            // Revoked a moment ago: a stranger like any other.
            if matches!(error, countersign_store::StoreError::NotFound(_)) {
                refused()
            } else {
                error.into()
            }
        })?;
        api.book.read(api.gate.store()).await?;
        // The passphrase may have been changed while this one was looked at.
        let still = api.book.record(&person.name);
        if still.is_none_or(|still| still.passphrase != person.passphrase) {
            end(api, login).await?;
            return Err(refused());
        }
        Ok((secret, login))
    }

    /// Written down before it is said. A name that nobody has is not: it may be a passphrase typed
    /// into the wrong field.
    pub async fn failed(&self, api: &Api, known: bool) -> Problem {
        let locked = api.strikes.wrong(&self.name, api.gate.clock().now().at);
        let entry = |kind| {
            let mut entry = Entry::new(0, kind, api.gate.rules().hash);
            entry.person = known.then(|| Cow::Owned(self.name.clone()));
            entry.facts = vec![("channel".into(), text(&self.channel))];
            entry
        };
        let mut entries = vec![entry(Kind::LoginFailed)];
        if let Some(seconds) = locked {
            let mut entry = entry(Kind::LockedOut);
            let seconds = countersign_json::Value::Number(seconds.to_string().into());
            entry.facts.push(("seconds".into(), seconds));
            entries.push(entry);
            let person = if known { &self.name } else { "nobody we know" };
            tracing::warn!(person, "locked out after wrong guesses");
        }
        if let Err(error) = api.gate.store().append(entries).await {
            tracing::error!(%error, "a failed login could not be written down");
        }
        refused()
    }
}

/// Whether somebody who is in already knows their passphrase: guesses count like those of a login.
pub async fn knows(api: &Api, who: &Who, passphrase: Zeroizing<String>) -> Result<(), Problem> {
    let wrong = || {
        let title = "This is not right";
        Problem::new(StatusCode::FORBIDDEN, "wrong", title, "the passphrase is wrong")
    };
    if passphrase.len() > LONGEST {
        return Err(wrong());
    }
    let guess = Guess { name: who.person.clone(), passphrase, channel: who.channel.clone() };
    let working = api.clone();
    // A task of its own: who breaks off has guessed all the same.
    let right = tokio::spawn(async move {
        guess.prove(&working).await?;
        Ok(())
    });
    let right: Result<(), Problem> = right.await.map_err(|_| Problem::from(Crowded))?;
    // They stay logged in: not 401, by which browsers know that they are not.
    let unknown = |problem: Problem| if problem == refused() { wrong() } else { problem };
    right.map_err(unknown)
}

fn text(text: &str) -> countersign_json::Value<'static> {
    countersign_json::Value::String(Cow::Owned(text.to_owned()))
}

fn refused() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "wrong",
        "This is not right",
        "name or passphrase is wrong",
    )
}

impl From<Crowded> for Problem {
    fn from(crowded: Crowded) -> Problem {
        Problem {
            retry_after: Some(1),
            ..Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "crowded",
                "Too many at once",
                crowded.to_string(),
            )
        }
    }
}

/// A terminal gets its token; a browser its proof, and the cookie that is made of it.
fn welcome(api: &Api, secret: &str, login: &StoredLogin, secure: bool) -> Response {
    let role = api.book.record(&login.person).map(|person| person.role);
    if login.channel != who::WEB {
        let body = json!({
            "token": secret, "person": login.person, "role": role, "expires": login.expires,
        });
        return axum::Json(body).into_response();
    }
    let body = json!({
        "person": login.person, "role": role, "expires": login.expires,
        "proof": secret,
    });
    with_cookie(axum::Json(body).into_response(), &who::cookie_of(secret), WEB_TIME, secure)
}

/// Sets the session's cookie, or takes it away with a time of nought.
fn with_cookie(mut response: Response, value: &str, time: Span, secure: bool) -> Response {
    let (name, further) = if secure { (who::HOST_COOKIE, "; Secure") } else { (who::COOKIE, "") };
    let seconds = time.0 / 1000;
    let cookie =
        format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{further}");
    if let Ok(mut cookie) = HeaderValue::try_from(cookie) {
        cookie.set_sensitive(true);
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

async fn log_out(State(api): State<Api>, headers: HeaderMap) -> Answered {
    let who = who::person(&api, &headers)?;
    let logins = api.gate.store().logins().await?;
    if let Some(login) = logins.into_iter().find(|login| login.secret == who.login) {
        end(&api, login).await?;
    }
    let response = axum::Json(json!({ "ended": true })).into_response();
    if who.channel != who::WEB {
        return Ok(response);
    }
    Ok(with_cookie(response, "", Span(0), api.people_names.is_https(&headers)))
}

/// Ends a login, here at once and in the store.
pub async fn end(api: &Api, mut login: StoredLogin) -> Result<(), Problem> {
    api.book.strike_login(login.secret);
    login.ended = Some(api.gate.clock().now().at);
    Ok(api.gate.store().save_login(login, api.note()).await?)
}

async fn me(State(api): State<Api>, headers: HeaderMap) -> Answered {
    let who = who::person(&api, &headers)?;
    let body = json!({
        "person": who.person, "role": who.role, "channel": who.channel, "expires": who.expires,
    });
    Ok(axum::Json(body).into_response())
}

/// A person moves at the inbox: phones wait a little for them.
async fn here(State(api): State<Api>, headers: HeaderMap) -> Answered {
    who::person(&api, &headers)?;
    let now = api.gate.clock().now().at;
    api.presence.saw(now);
    Ok(axum::Json(json!({ "at": now })).into_response())
}

impl Api {
    /// The circumstances under which something is written now.
    pub fn note(&self) -> WriteContext {
        WriteContext { policy: self.gate.rules().hash, facts: None, edited: None }
    }

    /// The same, with who does it.
    pub fn note_by(&self, person: &str) -> WriteContext {
        let facts = Some(json!({ "by": person }).to_string());
        WriteContext { policy: self.gate.rules().hash, facts, edited: None }
    }
}
