//! Step-up: whatever gives or takes power needs a fresh proof of the person, in the same request.
//!
//! A session can be stolen, so it reads and answers, and changes nothing else. Every request to a
//! route in [`NEEDED`] carries a proof: a passkey's signature over this very change where the
//! person has a passkey, else the passphrase. A route that is neither there nor in [`EXEMPT`] is
//! not served.

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
use super::v1::{knows, passkeys};
use super::{Answered, Api, Problem, who};
use crate::auth::Who;
use crate::passkeys::{Assertion, Purpose};

/// The header that carries the proof: `passphrase BASE64URL` or `passkey BASE64URL`, the latter of
/// the JSON document of the signature.
pub const HEADER: &str = "x-countersign-step-up";

/// Where a client learns which proof it needs, and gets the challenge for a passkey.
pub const BEGIN: &str = "/v1/step-up";

/// The longest proof that is read.
const LONGEST: usize = 16 << 10;

/// What changes who has which power: each needs a proof.
pub const NEEDED: [(&str, &str); 16] = [
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
];

/// What may be done without a proof, and why.
pub const EXEMPT: [(&str, &str); 17] = [
    // These prove who the person is by themselves.
    ("POST", super::v1::LOGIN),
    ("POST", crate::inbox::DENY),
    ("POST", super::v1::RECOVER),
    // Ending one's own session takes power away from nobody else.
    ("DELETE", super::v1::LOGIN),
    ("DELETE", "/v1/sessions/{session}"),
    // Answers: core asks each for what its tier needs. A grant that is given along with an answer
    // is checked where the answer is read.
    ("POST", "/v1/requests/{id}/decision"),
    ("POST", "/v1/decisions"),
    ("POST", "/respond"),
    // A check of an edit assesses the edited call for the person and stores nothing. The approval
    // of the edit is a separate request.
    ("POST", "/v1/requests/{id}/edit"),
    ("POST", crate::inbox::CHECK_EDIT),
    // Challenges are worth nothing until they are signed.
    ("POST", "/v1/requests/{id}/challenge"),
    ("POST", "/v1/passkeys/begin"),
    ("POST", BEGIN),
    // Platforms sign what they post; what it says is checked like any other answer.
    ("POST", "/hooks/{channel}"),
    // These change no right: presence, one test message, one drill.
    ("POST", "/v1/me"),
    ("POST", "/v1/channels/{name}/test"),
    ("POST", "/v1/drills"),
];

/// Whether a request to this route needs a proof; nothing if the route does not take the method. A
/// route that is added later is refused until somebody decides here what it needs.
fn is_needed(method: &Method, route: &str) -> Option<bool> {
    let one = (method.as_str(), route);
    if [Method::GET, Method::HEAD].contains(method) || EXEMPT.contains(&one) {
        Some(false)
    } else {
        NEEDED.contains(&one).then_some(true)
    }
}

/// That the person proved who they are for this very request. Handlers that change something take
/// it as an argument, so none of them can run without the check.
#[derive(Debug, Clone)]
pub struct SteppedUp {
    facts: serde_json::Value,
}

impl SteppedUp {
    /// The circumstances for the ledger: who did it, and how they proved it.
    pub fn note(&self, api: &Api, person: &str) -> WriteContext {
        self.note_with(api, json!({ "by": person }))
    }

    /// The same with further facts.
    pub fn note_with(&self, api: &Api, mut facts: serde_json::Value) -> WriteContext {
        if let Some(members) = facts.as_object_mut() {
            members.insert("step_up".to_owned(), self.facts.clone());
        }
        WriteContext { policy: api.gate.rules().hash, facts: Some(facts.to_string()), edited: None }
    }
}

impl FromRequestParts<Api> for SteppedUp {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<SteppedUp, Problem> {
        match parts.extensions.get::<SteppedUp>() {
            Some(proven) => Ok(proven.clone()),
            None => Err(required(api, &who::person(api, &parts.headers)?)),
        }
    }
}

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new().route(BEGIN, post(begin))
}

/// One change: what is done to what, with which body.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    operation: String,
    body: Digest,
}

impl Change {
    fn new(method: &str, path: &str, body: &[u8]) -> Result<Change, Problem> {
        let text = match body {
            [] => String::new(),
            body => canonical(&fields::parse(body)?).text,
        };
        let operation = format!("{method} {path}");
        Ok(Change { operation, body: Digest::of(text.as_bytes()) })
    }

    /// What a passkey signs, together with a nonce of ours.
    fn digest(&self) -> Digest {
        Digest::of(format!("countersign step-up 1\n{}\n{}\n", self.operation, self.body).as_bytes())
    }
}

/// Checks a request to the people's API before its handler sees it.
pub async fn check(api: &Api, request: Request) -> Result<Request, Problem> {
    // Without a route there is nothing that could be changed.
    let Some(route) = request.extensions().get::<MatchedPath>() else { return Ok(request) };
    match is_needed(request.method(), route.as_str()) {
        Some(true) => {}
        Some(false) => return Ok(request),
        None => return Err(super::not_so().await),
    }
    let who = who::person(api, request.headers())?;
    let (mut parts, body) = request.into_parts();
    let bytes = fields::whole_body(body).await?;
    let proven = prove(api, &who, &parts, &bytes).await?;
    parts.extensions.insert(proven);
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

/// The proof of one request, for what is decided by its body whether it needs one.
pub async fn prove(
    api: &Api,
    who: &Who,
    parts: &Parts,
    body: &Bytes,
) -> Result<SteppedUp, Problem> {
    let Some(proof) = Proof::read(&parts.headers)? else { return Err(required(api, who)) };
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    match (proof, api.has_passkey(&who.person)) {
        (Proof::Passphrase(passphrase), false) => {
            knows(api, who, passphrase).await?;
            Ok(SteppedUp { facts: json!({ "proof": "passphrase" }) })
        }
        (Proof::Passkey(signed), true) => {
            let change = Change::new(parts.method.as_str(), path, body)?;
            let purpose = Purpose::Change(change.digest());
            let kept = passkeys::signed(api, who, &signed, purpose).await?;
            let facts = json!({
                "proof": "passkey", "operation": change.operation, "body": change.body,
                "passkey": kept,
            });
            Ok(SteppedUp { facts })
        }
        _ => Err(required(api, who)),
    }
}

/// What is missing, and how to bring it.
fn required(api: &Api, who: &Who) -> Problem {
    let passkey = api.has_passkey(&who.person);
    let detail = if passkey {
        "this change needs your passkey: make it in the inbox, in a browser"
    } else {
        "this change needs your passphrase, sent with it; being signed in is not enough"
    };
    Problem {
        why: Some(if passkey { "passkey" } else { "passphrase" }),
        ..Problem::new(StatusCode::FORBIDDEN, "step-up-required", "Confirm that it is you", detail)
    }
}

enum Proof {
    Passphrase(Zeroizing<String>),
    Passkey(Assertion),
}

impl Proof {
    /// The proof of a request, if it brings one. Two are none.
    fn read(headers: &HeaderMap) -> Result<Option<Proof>, Problem> {
        let unreadable = || {
            Problem::bad(format!("`{HEADER}` must be `passphrase` or `passkey`, then base64url"))
        };
        let mut given = headers.get_all(HEADER).iter();
        let Some(value) = given.next() else { return Ok(None) };
        if given.next().is_some() || value.len() > LONGEST {
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

/// Which proof a change needs, with the challenge for a passkey. The body names the change as it
/// will be sent: `method`, `path`, and `body` where there is one.
async fn begin(State(api): State<Api>, request: Request) -> Answered {
    let who = who::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let (method, path) = (said.needed_text("method")?, said.needed_text("path")?);
    let body = said.get("body").map(|body| canonical(body).text).unwrap_or_default();
    said.finish()?;
    if !api.has_passkey(&who.person) {
        return Ok(axum::Json(json!({ "proof": "passphrase" })).into_response());
    }
    let change = Change::new(method, path, body.as_bytes())?;
    let mut answer =
        passkeys::challenge_for(&api, &who, &parts.headers, Purpose::Change(change.digest()))?;
    if let Some(members) = answer.as_object_mut() {
        members.insert("proof".to_owned(), json!("passkey"));
    }
    Ok(axum::Json(answer).into_response())
}
