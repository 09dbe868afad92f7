//! Step-up authentication: every change of people and rights needs a fresh proof in the same
//! request.
//!
//! A session can be stolen, so it may read and answer, and change nothing else. A request to a
//! route in [`NEEDED`] carries a proof: a passkey's signature over this change if the person has a
//! passkey, otherwise the passphrase. A route in neither [`NEEDED`] nor [`EXEMPT`] is not served.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_json::base64;
use countersign_json::canonical::{Digest, canonical};
use countersign_store::WriteContext;
use serde_json::json;
use zeroize::Zeroizing;

use super::fields::{self, Fields};
use super::v1::{passkeys, verify_passphrase};
use super::{Api, ApiProblem, ApiResult, authenticate};
use crate::auth::PersonIdentity;
use crate::passkeys::{Assertion, Purpose};

/// The header with the proof: `passphrase BASE64URL` or `passkey BASE64URL` (of the JSON document
/// of the signature).
pub const HEADER: &str = "x-countersign-step-up";

/// The route that tells which proof a change needs and returns the challenge for a passkey.
pub const BEGIN: &str = "/v1/step-up";

/// The longest proof in bytes.
const MAX_PROOF: usize = 16 << 10;

/// Changes of people and rights: each needs a proof.
pub const NEEDED: [(&str, &str); 18] = [
    ("POST", "/v1/people"),
    ("DELETE", "/v1/people/{name}"),
    ("POST", "/v1/people/{name}/passphrase"),
    ("POST", "/v1/people/{name}/role"),
    ("POST", "/v1/passkeys"),
    ("POST", "/v1/passkeys/{credential}/remove"),
    ("POST", "/v1/agents"),
    ("DELETE", "/v1/agents/{name}"),
    ("POST", "/v1/agents/{name}/token"),
    ("POST", "/v1/grants"),
    ("DELETE", "/v1/grants/{id}"),
    ("POST", "/v1/channels/{name}/link"),
    ("DELETE", "/v1/accounts/{channel}/{account}"),
    ("POST", "/v1/push"),
    ("DELETE", "/v1/push/{browser}"),
    ("POST", "/v1/crises/lift"),
    ("POST", "/v1/ledger/acknowledge"),
    ("POST", "/v1/mode"),
];

/// Changes without a proof, and why.
pub const EXEMPT: [(&str, &str); 17] = [
    // These authenticate by themselves.
    ("POST", super::v1::LOGIN),
    ("POST", crate::inbox::DENY),
    ("POST", super::v1::RECOVER),
    // Ending an own session takes rights away from no one else.
    ("DELETE", super::v1::LOGIN),
    ("DELETE", "/v1/sessions/{session}"),
    // Answers: the workflow checks the assurance that each tier needs. A grant given with an answer
    // is checked where the answer is read.
    ("POST", "/v1/requests/{id}/decision"),
    ("POST", "/v1/decisions"),
    ("POST", "/respond"),
    // A check of an edit assesses the edited call for the person and stores nothing. The approval
    // of the edit is a separate request.
    ("POST", "/v1/requests/{id}/edit"),
    ("POST", crate::inbox::CHECK_EDIT),
    // Challenges have no effect until they are signed.
    ("POST", "/v1/requests/{id}/challenge"),
    ("POST", "/v1/passkeys/begin"),
    ("POST", BEGIN),
    // Platforms sign what they post, and the content is checked like any other answer.
    ("POST", "/hooks/{channel}"),
    // These change no rights: presence, one test message, one drill.
    ("POST", "/v1/me"),
    ("POST", "/v1/channels/{name}/test"),
    ("POST", "/v1/drills"),
];

/// Whether a request to this route needs a proof; none if the route does not allow the method. A
/// new route is rejected until it is added to one of the lists.
fn is_needed(method: &Method, route: &str) -> Option<bool> {
    let one = (method.as_str(), route);
    if [Method::GET, Method::HEAD].contains(method) || EXEMPT.contains(&one) {
        Some(false)
    } else {
        NEEDED.contains(&one).then_some(true)
    }
}

/// The proof of the person for exactly this request. Handlers that change something take it as an
/// argument, so none of them can run without the check.
#[derive(Debug, Clone)]
pub struct StepUpProof {
    facts: serde_json::Value,
}

impl StepUpProof {
    /// The ledger note: who made the change, and with which proof.
    pub fn note(&self, api: &Api, person: &str) -> WriteContext {
        self.note_with(api, json!({ "by": person }))
    }

    /// The ledger note with further facts.
    pub fn note_with(&self, api: &Api, mut facts: serde_json::Value) -> WriteContext {
        if let Some(members) = facts.as_object_mut() {
            members.insert("step_up".to_owned(), self.facts.clone());
        }
        WriteContext { policy: api.gate.rules().hash, facts: Some(facts.to_string()), edited: None }
    }
}

impl FromRequestParts<Api> for StepUpProof {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<StepUpProof, ApiProblem> {
        match parts.extensions.get::<StepUpProof>() {
            Some(proven) => Ok(proven.clone()),
            None => Err(proof_required(api, &authenticate::person(api, &parts.headers)?)),
        }
    }
}

/// The routes of this module.
pub fn people() -> Router<Api> {
    Router::new().route(BEGIN, post(begin))
}

/// One change: operation and body.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    operation: String,
    body: Digest,
}

impl Change {
    fn new(method: &str, path: &str, body: &[u8]) -> Result<Change, ApiProblem> {
        let text = match body {
            [] => String::new(),
            body => canonical(&fields::parse(body)?).text,
        };
        let operation = format!("{method} {path}");
        Ok(Change { operation, body: Digest::of(text.as_bytes()) })
    }

    /// The digest that a passkey signs, together with a nonce.
    fn digest(&self) -> Digest {
        Digest::of(format!("countersign step-up 1\n{}\n{}\n", self.operation, self.body).as_bytes())
    }
}

/// Checks a request to the people API before its handler runs.
pub async fn check(api: &Api, request: Request) -> Result<Request, ApiProblem> {
    // Without a route nothing can be changed.
    let Some(route) = request.extensions().get::<MatchedPath>() else { return Ok(request) };
    match is_needed(request.method(), route.as_str()) {
        Some(true) => {}
        Some(false) => return Ok(request),
        None => return Err(super::method_not_allowed().await),
    }
    let identity = authenticate::person(api, request.headers())?;
    let (mut parts, body) = request.into_parts();
    let bytes = fields::read_body(body).await?;
    let proven = prove(api, &identity, &parts, &bytes).await?;
    parts.extensions.insert(proven);
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

/// The proof of one request, for handlers whose body decides whether they need one.
pub async fn prove(
    api: &Api,
    identity: &PersonIdentity,
    parts: &Parts,
    body: &Bytes,
) -> Result<StepUpProof, ApiProblem> {
    let Some(proof) = Proof::read(&parts.headers)? else {
        return Err(proof_required(api, identity));
    };
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    match (proof, api.has_passkey(&identity.person)) {
        (Proof::Passphrase(passphrase), false) => {
            verify_passphrase(api, identity, passphrase).await?;
            Ok(StepUpProof { facts: json!({ "proof": "passphrase" }) })
        }
        (Proof::Passkey(signed), true) => {
            let change = Change::new(parts.method.as_str(), path, body)?;
            let purpose = Purpose::Change(change.digest());
            let kept = passkeys::signed(api, identity, &signed, purpose).await?;
            let facts = json!({
                "proof": "passkey", "operation": change.operation, "body": change.body,
                "passkey": kept,
            });
            Ok(StepUpProof { facts })
        }
        _ => Err(proof_required(api, identity)),
    }
}

/// The problem document that names the missing proof.
fn proof_required(api: &Api, identity: &PersonIdentity) -> ApiProblem {
    let passkey = api.has_passkey(&identity.person);
    let detail = if passkey {
        let (inbox, person) = (&api.gate.rules().inbox, &identity.person);
        format!(
            "this change needs your passkey, which only a browser can use: make it in the web inbox \
             at {inbox}. If the passkey is lost, run `countersign people recover {person} \
             --remove-passkeys` on the daemon's machine"
        )
    } else {
        "this change needs your passphrase in the same request; a session is not enough".to_owned()
    };
    ApiProblem {
        why: Some(if passkey { "passkey" } else { "passphrase" }),
        ..ApiProblem::new(
            StatusCode::FORBIDDEN,
            "step-up-required",
            "Confirmation required",
            detail,
        )
    }
}

enum Proof {
    Passphrase(Zeroizing<String>),
    Passkey(Assertion),
}

impl Proof {
    /// The proof of a request, if it has one. Two are rejected.
    fn read(headers: &HeaderMap) -> Result<Option<Proof>, ApiProblem> {
        let unreadable = || {
            ApiProblem::bad_request(format!(
                "`{HEADER}` must be `passphrase` or `passkey`, then base64url"
            ))
        };
        let mut given = headers.get_all(HEADER).iter();
        let Some(value) = given.next() else { return Ok(None) };
        if given.next().is_some() || value.len() > MAX_PROOF {
            return Err(unreadable());
        }
        let (kind, text) =
            value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(unreadable)?;
        let bytes = Zeroizing::new(base64::decode_url(text).map_err(|_| unreadable())?);
        match kind {
            "passphrase" => {
                let text = std::str::from_utf8(&bytes).map_err(|_| unreadable())?;
                Ok(Some(Proof::Passphrase(Zeroizing::new(text.to_owned()))))
            }
            "passkey" => Ok(Some(Proof::Passkey(passkeys::assertion(&fields::parse(&bytes)?)?))),
            _ => Err(unreadable()),
        }
    }
}

/// `POST /v1/step-up`: which proof a change needs, with the challenge for a passkey. The body names
/// the change as it will be sent: `method`, `path` and, if there is one, `body`.
async fn begin(State(api): State<Api>, request: Request) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let (method, path) = (fields.required_text("method")?, fields.required_text("path")?);
    let body = fields.get("body").map(|body| canonical(body).text).unwrap_or_default();
    fields.finish()?;
    if !api.has_passkey(&identity.person) {
        return Ok(axum::Json(json!({ "proof": "passphrase" })).into_response());
    }
    let change = Change::new(method, path, body.as_bytes())?;
    let mut answer =
        passkeys::challenge_for(&api, &identity, &parts.headers, Purpose::Change(change.digest()))?;
    if let Some(members) = answer.as_object_mut() {
        members.insert("proof".to_owned(), json!("passkey"));
    }
    Ok(axum::Json(answer).into_response())
}
