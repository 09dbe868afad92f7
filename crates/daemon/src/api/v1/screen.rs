//! POST /v1/screen: signs of a person in crisis in a text, and the card that answers them at once.

use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_crisis as crisis;
use countersign_crisis::ScreenOptions;
use countersign_store::{CrisisSession, Store as _, StoreError, WriteContext};
use countersign_types::time::Clock as _;
use serde_json::Value;

use super::requests;
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, authenticate};

/// The longest text in bytes.
const MAX_TEXT: usize = 64 << 10;
/// The response waits at most 3 ms for the crisis to be stored; a timer may be up to 1 ms late.
const MAX_WAIT: Duration = Duration::from_millis(2);
/// The first and the longest pause between two attempts to write.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The routes of the agent API.
pub fn agents() -> Router<Api> {
    Router::new().route("/v1/screen", post(screen))
}

/// The text is neither stored nor logged; only that the session is in a crisis, and its level.
async fn screen(State(api): State<Api>, request: Request) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let text = fields.text("text")?.ok_or_else(|| ApiProblem::bad_request("`text` is required"))?;
    let session = fields.text("session")?.unwrap_or_default();
    let (country, lang) = (fields.text("country")?, fields.text("lang")?);
    fields.finish()?;
    requests::check_length("session", session)?;
    if text.len() > MAX_TEXT {
        return Err(ApiProblem::bad_request(format!("`text` may have at most {MAX_TEXT} bytes")));
    }
    let rules = api.gate.rules();
    // An unknown country must not hide the helplines: the configured country is used instead.
    let country = country.map(str::to_ascii_uppercase);
    let country = country.as_deref().filter(|code| crisis::country(code).is_some());
    let options = ScreenOptions {
        country: country.or(rules.country.as_deref()),
        preset: rules.preset,
        lang,
        unverified: false,
    };
    let screening = crisis::screen(text, &options);
    if screening.crisis {
        let crisis = CrisisSession {
            agent: caller.agent.clone(),
            session: session.to_owned(),
            level: screening.level,
            imminent: screening.imminent,
            since: api.gate.clock().now().at,
        };
        // In memory before the response, so that the next call already meets the crisis rules.
        if let Some(crisis) = api.gate.crises().begin(crisis) {
            let writing = store_crisis(&api, crisis);
            // Help does not wait for a disk. Dropping the handle does not stop the write.
            let _ = tokio::time::timeout(MAX_WAIT, writing).await;
        }
    }
    let holds = api.gate.crises().holds(&caller.agent, Some(session));
    let mut answer = serde_json::to_value(&screening)
        .map_err(|_| ApiProblem::from(crate::gate::Rejection::Unwritable))?;
    if let Some(members) = answer.as_object_mut() {
        let context = if holds { "crisis" } else { "none" };
        members.insert("context".to_owned(), Value::String(context.to_owned()));
    }
    Ok(axum::Json(answer).into_response())
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
