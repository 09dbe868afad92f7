//! HTTP in, the gate's words out: two routers for two doors.

mod direct;
mod fields;
mod health;
mod hooks;
mod problem;
mod seed;
mod step_up;
mod v1;
pub(crate) mod who;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use countersign_types::time::{Clock as _, Span};
use countersign_workflow::assurance::Standing;

use crate::auth::origin::{Names, is_a_page};
use crate::auth::{Book, Checks, Strikes};
use crate::buttons::Buttons;
use crate::courier::{Lines, Reach};
use crate::doors::{self, Peer, Stop};
use crate::ears::{Heard, Links};
use crate::gate::{Caller, Gate};
use crate::inbox;
use crate::keys::Keys;
use crate::passkeys::Challenges;
use crate::presence::Presence;
use crate::proof::Proofs;
use v1::Offers;

pub use direct::Agents;
pub use problem::Problem;
pub use step_up::SteppedUp;
#[cfg(test)]
pub use step_up::{EXEMPT, HEADER as STEP_UP, NEEDED};
#[cfg(test)]
pub use v1::DOCUMENT;
pub use v1::push;
pub(crate) use v1::{Answers, answers, check_edit, deny, proven};
#[cfg(test)]
pub use who::cookie_of;

/// What every handler needs.
#[derive(Clone)]
pub struct Api {
    parts: Arc<Parts>,
    /// Binds access requests to the evaluations that offered them; none without randomness.
    offers: Option<Arc<Offers>>,
    /// What passkeys are asked to sign.
    challenges: Arc<Challenges>,
    /// When the daemon stops; never, where nobody says so.
    stop: Option<Stop>,
    /// Who asks at the seed's routes without a token.
    anonymous: Arc<Caller>,
}

/// The parts behind the doors.
pub struct Parts {
    /// The gate.
    pub gate: Arc<Gate>,
    /// Who is who.
    pub book: Arc<Book>,
    /// Wrong guesses.
    pub strikes: Strikes,
    /// Passphrases that are looked at.
    pub checks: Checks,
    /// The signing key.
    pub keys: Arc<Keys>,
    /// The open channels.
    pub lines: Arc<Lines>,
    /// What their buttons carry.
    pub buttons: Arc<Buttons>,
    /// Codes that link accounts.
    pub links: Links,
    /// What was heard through channels already.
    pub heard: Heard,
    /// Whether somebody sits at the inbox.
    pub presence: Arc<Presence>,
    /// What is known of the agents' gates.
    pub proofs: Arc<Proofs>,
    /// The folder of recovery codes.
    pub recovery: PathBuf,
    /// The names of the agents' door.
    pub agents_names: Names,
    /// The names of the people's door.
    pub people_names: Names,
}

impl Api {
    /// Over these parts.
    pub fn new(parts: Parts) -> Api {
        let offers = Offers::new().ok().map(Arc::new);
        let anonymous =
            Arc::new(Caller { agent: who::ANONYMOUS.to_owned(), own_addresses: [].into() });
        let challenges = Arc::default();
        Api { parts: Arc::new(parts), offers, challenges, stop: None, anonymous }
    }

    /// The same, until the daemon stops: streams end then.
    #[must_use]
    pub fn until(mut self, stop: Stop) -> Api {
        self.stop = Some(stop);
        self
    }

    /// What people are reached with.
    pub fn reach(&self) -> Reach {
        Reach {
            lines: Arc::clone(&self.lines),
            buttons: Arc::clone(&self.buttons),
            presence: Arc::clone(&self.presence),
        }
    }

    /// Whether this person has a passkey that may sign now.
    pub fn has_passkey(&self, person: &str) -> bool {
        self.book.has_passkey(person, self.gate.clock().now().at)
    }

    /// What a person who is signed in brings along to an answer.
    pub fn standing(&self, person: &str) -> Standing {
        Standing::login(self.has_passkey(person), self.book.tenure(person))
    }

    /// How long a new passkey or linked account of this person waits before it may approve. Whoever
    /// is the only person here sets the installation up, and there is nobody to object.
    pub fn waiting_period(&self, person: &str) -> Span {
        if self.book.is_alone(person) { Span(0) } else { self.gate.rules().waiting_period }
    }

    /// Tells every channel about a change of who may approve. The change does not wait for it.
    pub fn announce(&self, text: String) {
        let (gate, lines) = (Arc::clone(&self.gate), Arc::clone(&self.lines));
        tokio::spawn(async move { crate::courier::broadcast(&gate, &lines, &text).await });
    }

    /// Waits until the daemon stops.
    async fn stopped(&self) {
        match self.stop.clone() {
            Some(mut stop) => doors::stopped(&mut stop).await,
            None => std::future::pending().await,
        }
    }
}

impl std::ops::Deref for Api {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

/// The agents' door in counts.
const AGENTS: &str = "agents";

/// What a handler answers.
pub type Answered = Result<Response, Problem>;

/// The agents' door: ask, read one's own, take back. Nothing in here can decide without a
/// person's credential.
pub fn agents(api: &Api) -> Router {
    Router::new()
        .route("/health", get(health::seed))
        .route("/ready", get(health::ready))
        .route("/confirm", post(seed::confirm))
        .route("/pending", get(seed::pending))
        .route("/respond", post(respond_to_agents))
        .merge(v1::agents())
        .fallback(nowhere)
        .method_not_allowed_fallback(not_so)
        .layer(middleware::from_fn_with_state(api.clone(), agents_check))
        .with_state(api.clone())
}

/// The people's door.
pub fn people(api: &Api) -> Router {
    Router::new()
        .route("/health", get(health::seed))
        .route("/ready", get(health::ready))
        .route("/pending", get(seed::pending))
        .route("/respond", post(seed::respond))
        .route("/hooks/{channel}", post(hooks::posted))
        .merge(step_up::people())
        .merge(v1::people())
        .merge(inbox::pages())
        .fallback(nowhere)
        .method_not_allowed_fallback(not_so)
        .layer(middleware::from_fn_with_state(api.clone(), people_check))
        .with_state(api.clone())
}

async fn nowhere() -> Problem {
    Problem::not_found("there is nothing at this address")
}

/// The seed's clients answer at the agents' door; an operator may close that.
async fn respond_to_agents(State(api): State<Api>, request: Request) -> Answered {
    if api.gate.rules().respond_at_agents_door {
        seed::respond(State(api), request).await
    } else {
        Err(nowhere().await)
    }
}

async fn not_so() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method",
        "This is not done so",
        "this address does not take this method",
    )
}

/// Agents are not browsers: whatever a page sends is refused before it is read.
fn may_be_an_agent(api: &Api, headers: &HeaderMap, uri: &Uri, peer: Option<Peer>) -> bool {
    let unix = matches!(peer, Some(Peer::User(_)));
    (unix || api.agents_names.host_is_ours(headers, uri)) && !is_a_page(headers)
}

async fn agents_check(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get().copied();
    if !may_be_an_agent(&api, request.headers(), request.uri(), peer) {
        return misdirected().into_response();
    }
    // Cookies are for people's browsers, and those have no business here.
    request.headers_mut().remove(header::COOKIE);
    let response = next.run(request).await;
    api.gate.metrics().answered(AGENTS, response.status().as_u16());
    guarded(response)
}

async fn people_check(State(api): State<Api>, request: Request, next: Next) -> Response {
    let ours = api.people_names.host_is_ours(request.headers(), request.uri());
    if !ours || !api.people_names.origin_is_ours(request.headers()) {
        return misdirected().into_response();
    }
    // Who proves with a passphrase who they are may have an old session's cookie still, and no
    // proof of it. Neither way looks at the cookie.
    let logs_in = [v1::LOGIN, v1::RECOVER, inbox::DENY].contains(&request.uri().path());
    if !logs_in && let Err(problem) = who::check_proof(&api, request.method(), request.headers()) {
        return guarded(problem.into_response());
    }
    let response = match step_up::check(&api, request).await {
        Ok(request) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let status = response.status().as_u16();
    api.gate.metrics().answered("people", status);
    if logs_in && matches!(status, 401 | 403 | 429) {
        api.gate.metrics().login_failed();
    }
    guarded(response)
}

fn misdirected() -> Problem {
    Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "misdirected",
        "This is not for you to ask here",
        "the request was meant for another host, or comes from a web page that is not ours",
    )
}

/// Headers that every answer has.
fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
