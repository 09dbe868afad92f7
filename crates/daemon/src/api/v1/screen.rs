//! POST /v1/screen: signs of a person in crisis in a text, the guard model's verdict on it, and what
//! to do with it. The card that answers signs never waits for anything.

mod guard_check;
mod inbound;
mod outbound;

use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_crisis as crisis;
use countersign_crisis::{ScreenOptions, Screening};
use countersign_guard::GuardRole;
use countersign_store::{CrisisSession, Store as _, StoreError, WriteContext};
use serde_json::{Map, Value};

use super::requests;
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, authenticate};
use crate::config::DaemonRules;

/// The longest text in bytes.
const MAX_TEXT: usize = 64 << 10;
/// The first and the longest pause between two attempts to write.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new().route("/v1/screen", post(screen))
}

/// A text to screen.
struct ScreenedText<'v> {
    text: &'v str,
    session: &'v str,
    role: GuardRole,
    country: Option<String>,
    lang: Option<&'v str>,
    /// Whether a person is asked about an agent's text that must not go out by itself.
    ask: bool,
}

impl<'v> ScreenedText<'v> {
    fn read(fields: &Fields<'v, '_>) -> Result<ScreenedText<'v>, ApiProblem> {
        let text = fields.text("text")?;
        let text = text.ok_or_else(|| ApiProblem::bad_request("`text` is required"))?;
        let session = fields.text("session")?.unwrap_or_default();
        let role = match fields.text("role")? {
            None | Some("user") => GuardRole::User,
            Some("agent") => GuardRole::Agent,
            Some(_) => return Err(ApiProblem::bad_request("`role` must be user or agent")),
        };
        let (country, lang) = (fields.text("country")?, fields.text("lang")?);
        let ask = fields.boolean("ask")?.unwrap_or(false);
        fields.finish()?;
        requests::check_length("session", session)?;
        if text.len() > MAX_TEXT {
            let detail = format!("`text` may have at most {MAX_TEXT} bytes");
            return Err(ApiProblem::bad_request(detail));
        }
        if ask && role == GuardRole::User {
            return Err(ApiProblem::bad_request("`ask` is for texts of an agent"));
        }
        // An unknown country must not hide the helplines: the configured country is used instead.
        let country = country.map(str::to_ascii_uppercase);
        let country = country.filter(|code| crisis::country(code).is_some());
        Ok(ScreenedText { text, session, role, country, lang, ask })
    }

    fn options<'o>(&'o self, rules: &'o DaemonRules) -> ScreenOptions<'o> {
        ScreenOptions {
            country: self.country.as_deref().or(rules.country.as_deref()),
            preset: rules.preset,
            lang: self.lang,
            unverified: false,
        }
    }
}

/// The text is neither stored nor logged, unless a person is asked about it.
async fn screen(State(api): State<Api>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let screened = ScreenedText::read(&Fields::new(&value)?)?;
    let answer = match screened.role {
        GuardRole::User => inbound::screen(&api, &caller, &screened).await?,
        GuardRole::Agent => outbound::screen(&api, &caller, &screened).await?,
    };
    Ok(axum::Json(answer).into_response())
}

/// The screening as an object, with the context of the session.
fn document(
    screening: &Screening,
    in_crisis: bool,
    rest: Value,
) -> Result<Map<String, Value>, ApiProblem> {
    let Ok(Value::Object(mut members)) = serde_json::to_value(screening) else {
        return Err(crate::gate::Rejection::Unwritable.into());
    };
    let context = if in_crisis { "crisis" } else { "none" };
    members.insert("context".to_owned(), Value::String(context.to_owned()));
    if let Value::Object(rest) = rest {
        members.extend(rest);
    }
    Ok(members)
}

/// Stores a crisis in the background, until that succeeds or a person has resolved it.
pub fn store_crisis(api: &Api, crisis: CrisisSession) -> tokio::task::JoinHandle<()> {
    let api = api.clone();
    tokio::spawn(async move {
        let mut pause = FIRST_PAUSE;
        while api.gate.crises().signs(&crisis.agent, &crisis.session).is_some() {
            let note = WriteContext { policy: api.gate.rules().hash, facts: None, edited: None };
            match api.gate.store().begin_crisis(crisis.clone(), note).await {
                Ok(()) | Err(StoreError::Closed) => return,
                Err(error) => tracing::error!(
                    %error, agent = %crisis.agent,
                    "a crisis was not stored; it applies in memory, and the write is retried"
                ),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    })
}
