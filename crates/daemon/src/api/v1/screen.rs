//! POST /v1/screen: signs of a person in crisis, and the card that answers them, at once.

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
use crate::api::{Answered, Api, Problem, who};

/// The longest text, in bytes.
const LONGEST_TEXT: usize = 64 << 10;
/// The answer waits no longer than 3 ms for its crisis to be on the disk; a timer here may come
/// up to a millisecond late.
const MOST_WAIT: Duration = Duration::from_millis(2);
/// Between two attempts to write, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What agents may do.
pub fn agents() -> Router<Api> {
    Router::new().route("/v1/screen", post(screen))
}

/// The text is neither kept nor logged; only that the session is in a crisis, and how grave.
async fn screen(State(api): State<Api>, request: Request) -> Answered {
    let caller = who::agent(&api, &request)?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let text = said.text("text")?.ok_or_else(|| Problem::bad("`text` is needed"))?;
    let session = said.text("session")?.unwrap_or_default();
    let (country, lang) = (said.text("country")?, said.text("lang")?);
    said.finish()?;
    requests::name("session", session)?;
    if text.len() > LONGEST_TEXT {
        return Err(Problem::bad(format!("`text` may have at most {LONGEST_TEXT} bytes")));
    }
    let rules = api.gate.rules();
    // A country that nobody knows is no reason to show nothing: the configured one counts.
    let country = country.map(str::to_ascii_uppercase);
    let country = country.as_deref().filter(|code| crisis::country(code).is_some());
    let options = ScreenOptions {
        country: country.or(rules.country.as_deref()),
        preset: rules.preset,
        lang,
        unverified: false,
    };
    let seen = crisis::screen(text, &options);
    if seen.crisis {
        let crisis = CrisisSession {
            agent: caller.agent.clone(),
            session: session.to_owned(),
            level: seen.level,
            imminent: seen.imminent,
            since: api.gate.clock().now().at,
        };
        // In memory before anything is answered: the very next call meets the crisis rules.
        if let Some(crisis) = api.gate.crises().begin(crisis) {
            let writing = write_down(&api, crisis);
            // Help does not wait for a disk. Dropping the handle does not stop the writing.
            let _ = tokio::time::timeout(MOST_WAIT, writing).await;
        }
    }
    let holds = api.gate.crises().holds(&caller.agent, Some(session));
    let mut answer = serde_json::to_value(&seen)
        .map_err(|_| Problem::from(crate::gate::Rejection::Unwritable))?;
    if let Some(members) = answer.as_object_mut() {
        let context = if holds { "crisis" } else { "none" };
        members.insert("context".to_owned(), Value::String(context.to_owned()));
    }
    Ok(axum::Json(answer).into_response())
}

/// Writes a crisis down in the background, until that succeeds or a person has lifted it.
pub fn write_down(api: &Api, crisis: CrisisSession) -> tokio::task::JoinHandle<()> {
    let api = api.clone();
    tokio::spawn(async move {
        let mut pause = FIRST_PAUSE;
        while api.gate.crises().signs(&crisis.agent, &crisis.session).is_some() {
            let note = WriteContext { policy: api.gate.rules().hash, facts: None, edited: None };
            match api.gate.store().begin_crisis(crisis.clone(), note).await {
                Ok(()) | Err(StoreError::Closed) => return,
                Err(error) => tracing::error!(
                    %error, agent = %crisis.agent,
                    "a crisis could not be written down; it holds in memory and is tried again"
                ),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    })
}
