//! The certificates of the agents' fleet: people issue and revoke them, their holders renew them,
//! and everybody may read which are revoked.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use countersign_json::{Value, base64};
use countersign_tls::rustls::pki_types::pem::PemObject as _;
use countersign_tls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use countersign_tls::{
    AgentPublicKey, FleetAuthority, KeyPin, generate_authority, issue_text, pem,
};
use countersign_types::time::{Clock as _, Millis};
use serde_json::json;
use zeroize::Zeroizing;

use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};
use crate::auth::agent_name;
use crate::fleet::{CertificateRequest, FleetError, HolderProof};
use crate::fleet_records::{ISSUE, IssuedCertificate, RENEW, REVOKE, SET_UP};

const DAY: u64 = 86_400_000;
/// How long a certificate is valid by default, and at most.
const DEFAULT_DAYS: u64 = 7;
const MAX_DAYS: u64 = 90;
/// The most hosts of an agent.
const MAX_HOSTS: usize = 16;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/pki", get(list).post(set_up))
        .route("/v1/pki/certificates", post(issue))
        .route("/v1/pki/revocations", post(revoke))
}

/// The routes of the agent API. They need no credential: lists are signed, renewals are proven.
pub fn agents() -> Router<Api> {
    Router::new()
        .route("/v1/pki/authority", get(authority))
        .route("/v1/pki/revocations", get(revocations))
        .route("/v1/pki/renewals", post(renew))
}

impl From<FleetError> for ApiProblem {
    fn from(error: FleetError) -> ApiProblem {
        match error {
            FleetError::NotSetUp | FleetError::NotFound => ApiProblem::not_found(error.to_string()),
            FleetError::AlreadySetUp | FleetError::NotRenewable(_) | FleetError::NotAccepted(_) => {
                ApiProblem::conflict(error.to_string())
            }
            FleetError::Tls(_) => ApiProblem::bad_request(error.to_string()),
            FleetError::Unproven | FleetError::Replaced(_) => ApiProblem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "unready",
                "Not ready",
                error.to_string(),
            )
            .with_outcome("unavailable"),
            FleetError::Key(_) | FleetError::EntropyUnavailable(_) => {
                tracing::error!(%error, "the fleet's authority failed");
                ApiProblem::conflict("the authority's files cannot be used; see the daemon's log")
            }
        }
    }
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let authority = match api.fleet.certificate() {
        Ok(certificate) => authority_document(&certificate),
        Err(FleetError::NotSetUp) => serde_json::Value::Null,
        Err(error) => return Err(error.into()),
    };
    let certificates = api.fleet.certificates()?;
    Ok(axum::Json(json!({ "authority": authority, "certificates": certificates })).into_response())
}

fn authority_document(certificate: &[u8]) -> serde_json::Value {
    let pin = KeyPin::of_certificate(certificate).map(|pin| pin.to_string()).ok();
    json!({ "certificate": pem(certificate), "pin": pin })
}

/// `POST /v1/pki`: sets the authority up, new or with an existing key and certificate.
async fn set_up(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let identity = authenticate::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = Zeroizing::new(fields::read_json_body(&parts.headers, body).await?.to_vec());
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let name = fields.text("fleet")?.unwrap_or("Countersign fleet").to_owned();
    let given = (fields.text("certificate")?, fields.text("key")?);
    fields.finish()?;
    let now = api.gate.clock().now().at;
    let (key, certificate) = match given {
        (Some(certificate), Some(key)) => existing(certificate, key)?,
        (None, None) => generate_authority(&name, now).map_err(FleetError::from)?,
        _ => {
            return Err(ApiProblem::bad_request("`certificate` and `key` are given together"));
        }
    };
    // Only an authority that can be used is recorded.
    FleetAuthority::open(&key, &certificate).map_err(FleetError::from)?;
    let _changing = api.fleet.lock().await;
    if api.fleet.is_set_up() {
        return Err(FleetError::AlreadySetUp.into());
    }
    let document = authority_document(&certificate);
    let facts = json!({
        "by": identity.person, "action": SET_UP, "pin": document.get("pin"),
        "existing": given.0.is_some(),
    });
    let note = proven.note_with(&api, facts);
    let entry = api.gate.record_certificate(Some(&identity.person), note).await?;
    api.fleet.apply(&entry);
    api.fleet.set_up(&key, &certificate)?;
    Ok((StatusCode::CREATED, axum::Json(json!({ "authority": document }))).into_response())
}

/// An authority that exists already, from PEM texts.
fn existing(certificate: &str, key: &str) -> Result<(Zeroizing<Vec<u8>>, Vec<u8>), ApiProblem> {
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes())
        .map_err(|_| ApiProblem::bad_request("`certificate` is not a certificate in PEM"))?;
    match PrivateKeyDer::from_pem_slice(key.as_bytes()) {
        Ok(PrivateKeyDer::Pkcs8(key)) => {
            Ok((Zeroizing::new(key.secret_pkcs8_der().to_vec()), certificate.to_vec()))
        }
        _ => Err(ApiProblem::bad_request("`key` is not a private key in PEM and PKCS #8")),
    }
}

/// `POST /v1/pki/certificates`: a person issues a certificate for an agent's key.
async fn issue(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let identity = authenticate::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let agent = fields.required_text("agent")?;
    agent_name(agent)?;
    let hosts = hosts(fields.list("hosts")?.unwrap_or_default())?;
    let days = fields.get("days").map_or(Some(DEFAULT_DAYS), |days| days.as_number()?.parse().ok());
    let days = days.filter(|days| (1..=MAX_DAYS).contains(days));
    let days = days.ok_or_else(|| ApiProblem::bad_request("`days` must be 1 to 90"))?;
    let key = decoded(&fields, "public_key")?;
    let proof = decoded(&fields, "proof")?;
    fields.finish()?;
    let public_key = AgentPublicKey::from_bytes(&key)
        .ok_or_else(|| ApiProblem::bad_request("`public_key` is not a P-256 point"))?;
    if !public_key.has_signed(issue_text(agent, &public_key).as_bytes(), &proof) {
        return Err(ApiProblem::bad_request("`proof` is not a signature of this key"));
    }
    let wanted = CertificateRequest { agent, hosts, public_key, life: Millis(days * DAY) };
    let _changing = api.fleet.lock().await;
    let now = api.gate.clock().now().at;
    let (certificate, record) = api.fleet.prepare(&wanted, None, now)?;
    let facts = json!({
        "by": identity.person, "action": ISSUE, "agent_name": agent, "serial": record.serial,
        "fingerprint": record.fingerprint,
        "hosts": record.hosts, "expires": record.expires, "life": record.life,
    });
    let note = proven.note_with(&api, facts);
    let entry = api.gate.record_certificate(Some(&identity.person), note).await?;
    api.fleet.apply(&entry);
    let document = issued(&api, &certificate, &record)?;
    Ok((StatusCode::CREATED, axum::Json(document)).into_response())
}

fn issued(
    api: &Api,
    certificate: &[u8],
    record: &IssuedCertificate,
) -> Result<serde_json::Value, ApiProblem> {
    Ok(json!({
        "certificate": pem(certificate), "authority": pem(&api.fleet.certificate()?),
        "record": record,
    }))
}

fn hosts(list: &[Value<'_>]) -> Result<Vec<String>, ApiProblem> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:".contains(&byte);
    let fits = |text: &&str| (1..=253).contains(&text.len()) && text.bytes().all(plain);
    let hosts: Option<Vec<String>> =
        list.iter().map(|host| host.as_str().filter(fits).map(ToOwned::to_owned)).collect();
    hosts.filter(|hosts| hosts.len() <= MAX_HOSTS).ok_or_else(|| {
        ApiProblem::bad_request("`hosts` must be at most 16 host names or addresses")
    })
}

/// A member in base64.
fn decoded(fields: &Fields<'_, '_>, name: &'static str) -> Result<Vec<u8>, ApiProblem> {
    base64::decode(fields.required_text(name)?)
        .map_err(|_| ApiProblem::bad_request(format!("`{name}` is not base64")))
}

/// What the holder of a certificate signed, and when.
pub struct SignedByHolder {
    certificate: Vec<u8>,
    /// When, in milliseconds since 1970.
    pub at: i64,
    signature: Vec<u8>,
}

impl SignedByHolder {
    /// Reads the members `certificate`, `at` and `proof`.
    pub fn read(fields: &Fields<'_, '_>) -> Result<SignedByHolder, ApiProblem> {
        let certificate = decoded(fields, "certificate")?;
        let at = fields.get("at").and_then(|at| at.as_number()?.parse().ok());
        let at =
            at.ok_or_else(|| ApiProblem::bad_request("`at` must be milliseconds since 1970"))?;
        Ok(SignedByHolder { certificate, at, signature: decoded(fields, "proof")? })
    }

    /// The proof that it is checked by.
    pub fn proof(&self) -> HolderProof<'_> {
        HolderProof { certificate: &self.certificate, at: self.at, signature: &self.signature }
    }
}

/// `POST /v1/pki/revocations`: revokes every certificate of an agent, or one by its serial number.
async fn revoke(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let identity = authenticate::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let which = fields.required_text("certificate")?;
    fields.finish()?;
    let _changing = api.fleet.lock().await;
    let now = api.gate.clock().now().at;
    let serials = api.fleet.valid(which, now)?;
    let facts = json!({ "by": identity.person, "action": REVOKE, "serials": serials });
    let note = proven.note_with(&api, facts);
    let entry = api.gate.record_certificate(Some(&identity.person), note).await?;
    api.fleet.apply(&entry);
    Ok(axum::Json(json!({ "revoked": serials })).into_response())
}

async fn authority(State(api): State<Api>) -> ApiResult {
    Ok(axum::Json(authority_document(&api.fleet.certificate()?)).into_response())
}

async fn revocations(State(api): State<Api>) -> ApiResult {
    // In a store that was rolled back, revocations may be missing.
    api.gate.integrity().check()?;
    let list = api.fleet.revocation_list(api.gate.clock().now().at)?;
    Ok(axum::Json(json!({ "list": base64::encode(&list) })).into_response())
}

/// `POST /v1/pki/renewals`: the holder of a valid certificate gets its successor.
async fn renew(State(api): State<Api>, request: Request) -> ApiResult {
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let signed = SignedByHolder::read(&fields)?;
    fields.finish()?;
    let _changing = api.fleet.lock().await;
    let now = api.gate.clock().now().at;
    let (old, public_key) = api.fleet.renewable(&signed.proof(), now)?;
    let life = Millis(old.life);
    let wanted =
        CertificateRequest { agent: &old.agent, hosts: old.hosts.clone(), public_key, life };
    let (certificate, record) = api.fleet.prepare(&wanted, Some(&old), now)?;
    let facts = json!({
        "action": RENEW, "agent_name": record.agent, "serial": record.serial,
        "fingerprint": record.fingerprint,
        "renews": old.serial, "expires": record.expires, "life": record.life,
    });
    let mut note = api.gate.note();
    note.facts = Some(facts.to_string());
    let entry = api.gate.record_certificate(None, note).await?;
    api.fleet.apply(&entry);
    Ok(axum::Json(issued(&api, &certificate, &record)?).into_response())
}
