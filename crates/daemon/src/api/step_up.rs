//! Step-up authentication: every change of people and rights needs a fresh proof in the same
//! request.
//!
//! A session can be stolen, so it may read and answer, and change nothing else. A request that
//! changes more carries a proof: a passkey's signature over this change if the person has a
//! passkey, otherwise the passphrase. `routes::step_up` lists the routes that need one.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_json::base64;
use countersign_json::canonical::{Digest, canonical};
use countersign_store::WriteContext;
use serde_json::json;
use zeroize::Zeroizing;

use super::credentials::verify_passphrase;
use super::fields::{self, Fields};
use super::problem::{ApiProblem, ApiResult};
use super::state::Api;
use super::{authenticate, passkey_signature};
use crate::auth::PersonIdentity;
use crate::passkeys::{Assertion, Purpose};

/// The header with the proof: `passphrase BASE64URL` or `passkey BASE64URL` (of the JSON document
/// of the signature).
pub const HEADER: &str = "x-countersign-step-up";

/// The route that tells which proof a change needs and returns the challenge for a passkey.
pub const BEGIN: &str = "/v1/step-up";

/// The longest proof in bytes.
const MAX_PROOF: usize = 16 << 10;

/// The proof of the person for exactly this request. Handlers that change something take it as an
/// argument, so none of them can run without the check.
#[derive(Debug, Clone)]
pub struct StepUpProof {
    facts: serde_json::Value,
}

impl StepUpProof {
    /// What the ledger records about it, by name.
    pub fn fact(&self) -> (String, serde_json::Value) {
        ("step_up".to_owned(), self.facts.clone())
    }

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
            let kept = passkey_signature::signed(api, identity, &signed, purpose).await?;
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
            "passkey" => {
                Ok(Some(Proof::Passkey(passkey_signature::assertion(&fields::parse(&bytes)?)?)))
            }
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
    let mut answer = passkey_signature::challenge_for(
        &api,
        &identity,
        &parts.headers,
        Purpose::Change(change.digest()),
    )?;
    if let Some(members) = answer.as_object_mut() {
        members.insert("proof".to_owned(), json!("passkey"));
    }
    Ok(axum::Json(answer).into_response())
}
