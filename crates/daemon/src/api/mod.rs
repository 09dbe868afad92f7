//! The HTTP API: one router for agents, one for people.

mod agent_api;
pub(crate) mod authenticate;
mod confirm;
mod fields;
mod health;
mod problem;
mod respond;
mod step_up;
mod v1;
mod webhooks;

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
use countersign_types::time::{Clock as _, Millis};
use countersign_workflow::assurance::Authority;

use crate::auth::origin::{AllowedHosts, is_browser};
use crate::auth::{Directory, LoginThrottle, PassphraseChecks};
use crate::buttons::Buttons;
use crate::gate::{Caller, Gate};
use crate::inbound::{LinkCodes, ReplayGuard};
use crate::inbox;
use crate::keys::Keys;
use crate::listeners::{self, Peer, Stop};
use crate::notifier::{ChannelPool, NotifierParts};
use crate::passkeys::Challenges;
use crate::presence::Presence;
use crate::proof::Proofs;
use v1::OfferSigner;

pub use agent_api::AgentApi;
#[cfg(test)]
pub use authenticate::cookie_from_proof;
pub use problem::ApiProblem;
pub use step_up::StepUpProof;
#[cfg(test)]
pub use step_up::{EXEMPT, HEADER as STEP_UP, NEEDED};
#[cfg(test)]
pub use v1::DOCUMENT;
pub use v1::push;
pub(crate) use v1::{CalibrationData, calibration_data, check_edit, deny, proven};

/// The state of every handler.
#[derive(Clone)]
pub struct Api {
    parts: Arc<ApiParts>,
    /// Binds access requests to the evaluations that offered them; none without randomness.
    offers: Option<Arc<OfferSigner>>,
    /// Open passkey challenges.
    challenges: Arc<Challenges>,
    /// Becomes true when the daemon stops; none in tests.
    stop: Option<Stop>,
    /// The caller of `/confirm` and `/pending` without a token.
    anonymous: Arc<Caller>,
}

/// The parts that both APIs use.
pub struct ApiParts {
    /// The gate.
    pub gate: Arc<Gate>,
    /// People, agents, sessions and linked accounts.
    pub directory: Arc<Directory>,
    /// Failed logins and lockouts.
    pub login_throttle: LoginThrottle,
    /// Passphrase hashing, limited in parallel.
    pub checks: PassphraseChecks,
    /// The signing key.
    pub keys: Arc<Keys>,
    /// The open channels.
    pub channels: Arc<ChannelPool>,
    /// Signed button payloads for channels.
    pub buttons: Arc<Buttons>,
    /// Open codes for linking accounts.
    pub link_codes: LinkCodes,
    /// Messages that were received already.
    pub replay_guard: ReplayGuard,
    /// Whether a person is active in the inbox.
    pub presence: Arc<Presence>,
    /// The results of the tests of the agents' gates.
    pub proofs: Arc<Proofs>,
    /// The folder of recovery codes.
    pub recovery: PathBuf,
    /// Allowed hosts of the agent API.
    pub agent_hosts: AllowedHosts,
    /// Allowed hosts and origins of the people API.
    pub people_hosts: AllowedHosts,
}

impl Api {
    /// Over these parts.
    pub fn new(parts: ApiParts) -> Api {
        let offers = OfferSigner::new().ok().map(Arc::new);
        let anonymous = Arc::new(Caller {
            agent: authenticate::ANONYMOUS.to_owned(),
            own_addresses: [].into(),
            is_socket_peer: false,
        });
        let challenges = Arc::default();
        Api { parts: Arc::new(parts), offers, challenges, stop: None, anonymous }
    }

    /// With a stop signal: open streams end when the daemon stops.
    #[must_use]
    pub fn until(mut self, stop: Stop) -> Api {
        self.stop = Some(stop);
        self
    }

    /// The parts that the notifier needs.
    pub fn notifier_parts(&self) -> NotifierParts {
        NotifierParts {
            channels: Arc::clone(&self.channels),
            buttons: Arc::clone(&self.buttons),
            presence: Arc::clone(&self.presence),
        }
    }

    /// Whether this person has a passkey that may sign now.
    pub fn has_passkey(&self, person: &str) -> bool {
        self.directory.has_passkey(person, self.gate.clock().now().at)
    }

    /// The assurance of a signed-in person for an answer.
    pub fn standing(&self, person: &str) -> Authority {
        Authority::login(self.has_passkey(person), self.directory.tenure(person))
    }

    /// How long a new passkey or linked account of this person waits before it may approve. A
    /// single person sets the installation up, and no one else could object.
    pub fn waiting_period(&self, person: &str) -> Millis {
        if self.directory.is_only_person(person) {
            Millis(0)
        } else {
            self.gate.rules().waiting_period
        }
    }

    /// Announces a change of who may approve on every channel. The change does not wait for it.
    pub fn announce(&self, text: String) {
        let (gate, channels) = (Arc::clone(&self.gate), Arc::clone(&self.channels));
        tokio::spawn(async move { crate::notifier::broadcast(&gate, &channels, &text).await });
    }

    /// Waits until the daemon stops.
    async fn stopped(&self) {
        match self.stop.clone() {
            Some(mut stop) => listeners::stopped(&mut stop).await,
            None => std::future::pending().await,
        }
    }
}

impl std::ops::Deref for Api {
    type Target = ApiParts;

    fn deref(&self) -> &ApiParts {
        &self.parts
    }
}

/// The agent API's label in metrics.
const AGENTS: &str = "agents";

/// The result of a handler.
pub type ApiResult = Result<Response, ApiProblem>;

/// The agent API: ask, read own requests, cancel. Nothing here can decide without a person's
/// credential.
pub fn agents(api: &Api) -> Router {
    Router::new()
        .route("/health", get(health::seed))
        .route("/ready", get(health::ready))
        .route("/confirm", post(confirm::confirm))
        .route("/pending", get(confirm::pending))
        .route("/respond", post(respond_on_agent_api))
        .merge(v1::agents())
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn_with_state(api.clone(), check_agent_request))
        .with_state(api.clone())
}

/// The people API.
pub fn people(api: &Api) -> Router {
    Router::new()
        .route("/health", get(health::seed))
        .route("/ready", get(health::ready))
        .route("/pending", get(confirm::pending))
        .route("/respond", post(respond::respond))
        .route("/hooks/{channel}", post(webhooks::posted))
        .merge(step_up::people())
        .merge(v1::people())
        .merge(inbox::pages())
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn_with_state(api.clone(), check_people_request))
        .with_state(api.clone())
}

async fn not_found() -> ApiProblem {
    ApiProblem::not_found("this route does not exist")
}

/// Clients of the original API answer on the agent API; the configuration can turn that off.
async fn respond_on_agent_api(State(api): State<Api>, request: Request) -> ApiResult {
    if api.gate.rules().respond_on_agent_api {
        respond::respond(State(api), request).await
    } else {
        Err(not_found().await)
    }
}

async fn method_not_allowed() -> ApiProblem {
    ApiProblem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method",
        "Method not allowed",
        "this route does not allow this method",
    )
}

/// Whether a request can be an agent's: right host, and not from a browser.
fn is_agent_request(api: &Api, headers: &HeaderMap, uri: &Uri, peer: Option<Peer>) -> bool {
    let unix = matches!(peer, Some(Peer::User(_)));
    (unix || api.agent_hosts.is_host_allowed(headers, uri)) && !is_browser(headers)
}

async fn check_agent_request(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get().copied();
    if !is_agent_request(&api, request.headers(), request.uri(), peer) {
        return host_not_allowed().into_response();
    }
    // Agents have no cookies.
    request.headers_mut().remove(header::COOKIE);
    let response = next.run(request).await;
    api.gate.metrics().answered(AGENTS, response.status().as_u16());
    with_security_headers(response)
}

async fn check_people_request(State(api): State<Api>, request: Request, next: Next) -> Response {
    let ours = api.people_hosts.is_host_allowed(request.headers(), request.uri());
    if !ours || !api.people_hosts.is_origin_allowed(request.headers()) {
        return host_not_allowed().into_response();
    }
    // These routes take a passphrase or code and ignore the cookie, which may be of an old session
    // without its proof.
    let logs_in = [v1::LOGIN, v1::RECOVER, inbox::DENY].contains(&request.uri().path());
    if !logs_in
        && let Err(problem) = authenticate::check_proof(&api, request.method(), request.headers())
    {
        return with_security_headers(problem.into_response());
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
    with_security_headers(response)
}

fn host_not_allowed() -> ApiProblem {
    ApiProblem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "misdirected",
        "Host not allowed",
        "the Host or Origin header is not allowed here; add the name to `listen.hosts` if it is \
         yours",
    )
}

/// Adds the headers that every response has.
fn with_security_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
