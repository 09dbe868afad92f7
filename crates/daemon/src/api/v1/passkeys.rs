//! Passkeys: enrolled and removed with one's passphrase; what they sign, checked and written down.

use std::borrow::Cow;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use countersign_json::Value;
use countersign_json::base64;
use countersign_json::canonical::Digest;
use countersign_ledger::entry::{Entry, Kind};
use countersign_store::{Passkey, Store as _};
use countersign_types::time::Clock as _;
use serde_json::json;

use crate::api::fields::{self, Fields};
use crate::api::{Answered, Api, Problem, SteppedUp, who};
use crate::auth::Who;
use crate::gate::Rejection;
use crate::passkeys::{
    ALGORITHMS, Assertion, Decided, Key, LONGEST_CREDENTIAL, NotSigned, Place, Purpose,
    algorithm_name, assertion, attested, client,
};

/// So many passkeys may one person have.
const MOST: usize = 20;
/// The longest name of a passkey.
const LONGEST_NAME: usize = 64;
/// The longest that an authenticator says, and the longest attestation that is passed over.
const LONGEST_DATA: usize = 4096;
const LONGEST_ATTESTATION: usize = 16 << 10;
const LONGEST_SIGNATURE: usize = 256;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/passkeys", get(list).post(enrol))
        .route("/v1/passkeys/begin", post(begin))
        .route("/v1/passkeys/{credential}/remove", post(remove))
}

impl From<NotSigned> for Problem {
    fn from(not: NotSigned) -> Problem {
        Problem {
            why: Some(not.word()),
            ..Problem::new(
                StatusCode::FORBIDDEN,
                "passkey-refused",
                "This passkey does not count here",
                not.to_string(),
            )
        }
    }
}

/// Browsers know passkeys by the name of a host, and an address of numbers is none.
fn needs_a_name(api: &Api) -> Problem {
    let instead = api.people_names.named_origin().unwrap_or("a name");
    Problem {
        why: Some("address"),
        ..Problem::conflict(format!("browsers use no passkeys at this address: open {instead}"))
    }
}

/// The page's place for passkeys, by the address under which it was opened.
fn place(api: &Api, headers: &HeaderMap) -> Result<String, Problem> {
    let origin = api.people_names.passkey_origin(headers);
    let place = origin.as_deref().and_then(|origin| api.people_names.place_of(origin));
    place.map(ToOwned::to_owned).ok_or_else(|| needs_a_name(api))
}

fn document(passkey: &Passkey) -> serde_json::Value {
    json!({
        "id": base64::encode_url(&passkey.credential), "name": passkey.name,
        "algorithm": algorithm_name(passkey.algorithm), "added": passkey.added,
        "active_from": passkey.active_from, "used": passkey.used,
    })
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> Answered {
    let who = who::person(&api, &headers)?;
    let passkeys = api.book.passkeys(&who.person);
    let passkeys: Vec<_> = passkeys.iter().map(document).collect();
    let place = place(&api, &headers).ok();
    Ok(axum::Json(json!({ "passkeys": passkeys, "place": place })).into_response())
}

/// The names of somebody's passkeys, for their browser.
fn known(api: &Api, who: &Who) -> Vec<String> {
    let passkeys = api.book.passkeys(&who.person);
    passkeys.iter().map(|passkey| base64::encode_url(&passkey.credential)).collect()
}

fn challenge(api: &Api, who: &Who, purpose: Purpose) -> Result<String, Problem> {
    let now = api.gate.clock().now().at;
    let challenge = api.challenges.begin((&who.person, who.login), purpose, now);
    let challenge = challenge.map_err(|_| Problem::from(Rejection::NoChance))?;
    Ok(base64::encode_url(challenge.as_bytes()))
}

async fn begin(State(api): State<Api>, request: Request) -> Answered {
    let who = who::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    Fields::of(&fields::parse(&bytes)?)?.finish()?;
    let place = place(&api, &parts.headers)?;
    // What the device keeps to know whose passkey it is: no name in it.
    let user = Digest::of(format!("countersign user 1\n{}", who.person).as_bytes());
    let body = json!({
        "challenge": challenge(&api, &who, Purpose::Enrol)?,
        "place": place, "person": who.person, "user": base64::encode_url(user.as_bytes()),
        "algorithms": ALGORITHMS, "known": known(&api, &who),
    });
    Ok(axum::Json(body).into_response())
}

/// Asks for a signature under an answer.
pub fn ask(api: &Api, who: &Who, headers: &HeaderMap, decided: Decided) -> Answered {
    let body = challenge_for(api, who, headers, Purpose::Decide(decided))?;
    Ok(axum::Json(body).into_response())
}

/// What a browser needs to ask for a signature.
pub fn challenge_for(
    api: &Api,
    who: &Who,
    headers: &HeaderMap,
    purpose: Purpose,
) -> Result<serde_json::Value, Problem> {
    let now = api.gate.clock().now().at;
    let passkeys = api.book.passkeys(&who.person);
    let usable = passkeys.iter().filter(|passkey| passkey.active_from <= now);
    let known: Vec<_> = usable.map(|passkey| base64::encode_url(&passkey.credential)).collect();
    if known.is_empty() {
        return Err(Problem::conflict("you have no passkey: add one on the page Devices"));
    }
    let place = place(api, headers)?;
    Ok(json!({ "challenge": challenge(api, who, purpose)?, "place": place, "known": known }))
}

fn bytes(said: &Fields<'_, '_>, name: &'static str, most: usize) -> Result<Vec<u8>, Problem> {
    let decoded = base64::decode_url(said.needed_text(name)?).ok();
    let decoded = decoded.filter(|bytes| !bytes.is_empty() && bytes.len() <= most);
    decoded.ok_or_else(|| Problem::bad(format!("`{name}` must be base64url of 1 to {most} bytes")))
}

/// Reads what a browser brings with an answer.
pub fn assertion(value: &Value<'_>) -> Result<Assertion, Problem> {
    let said = Fields::of(value)?;
    let assertion = Assertion {
        credential: bytes(&said, "id", LONGEST_CREDENTIAL)?,
        client_data: bytes(&said, "client_data", client::LONGEST)?,
        authenticator_data: bytes(&said, "authenticator_data", LONGEST_DATA)?,
        signature: bytes(&said, "signature", LONGEST_SIGNATURE)?,
    };
    said.finish()?;
    Ok(assertion)
}

/// The client data, believed: the right ceremony, on a page of ours, for an open challenge.
fn believed<'o>(
    api: &Api,
    who: &Who,
    told: &'o client::Told,
    purpose: Purpose,
) -> Result<(Place<'o>, [u8; 32]), NotSigned> {
    let now = api.gate.clock().now().at;
    // Taken first: whatever is wrong with the rest, it was used.
    let nonce = api.challenges.take(&told.challenge, (&who.person, who.login), purpose, now);
    let place = api.people_names.place_of(&told.origin).ok_or(NotSigned::Origin)?;
    Ok((Place(place), nonce.ok_or(NotSigned::Challenge)?))
}

/// Checks the signature under an answer or a change. What the ledger keeps of it is enough to check
/// it again.
pub async fn signed(
    api: &Api,
    who: &Who,
    said: &Assertion,
    purpose: Purpose,
) -> Result<serde_json::Value, Problem> {
    // One at a time: of two with the same count one is a copy's.
    let changing = api.book.changing().await;
    let (passkey, nonce) = match checked(api, who, said, purpose) {
        Ok(checked) => checked,
        Err(not) => {
            drop(changing);
            refused(api, who, not).await;
            return Err(not.into());
        }
    };
    api.gate.store().save_passkey(passkey, api.note_by(&who.person)).await?;
    api.book.read(api.gate.store()).await?;
    drop(changing);
    let text = base64::encode_url;
    Ok(json!({
        "id": text(&said.credential), "nonce": text(&nonce),
        "client_data": text(&said.client_data),
        "authenticator_data": text(&said.authenticator_data),
        "signature": text(&said.signature),
    }))
}

fn checked(
    api: &Api,
    who: &Who,
    said: &Assertion,
    purpose: Purpose,
) -> Result<(Passkey, [u8; 32]), NotSigned> {
    let told = client::read(&said.client_data, "webauthn.get")?;
    let (place, nonce) = believed(api, who, &told, purpose)?;
    let mut passkeys = api.book.passkeys(&who.person).into_iter();
    let found = passkeys.find(|passkey| passkey.credential == said.credential);
    let mut passkey = found.ok_or(NotSigned::Unknown)?;
    if passkey.active_from > api.gate.clock().now().at {
        return Err(NotSigned::Waiting);
    }
    let key = Key::kept(passkey.algorithm, &passkey.public_key)?;
    passkey.uses = assertion::check(said, &key, passkey.uses, place)?;
    passkey.used = Some(api.gate.clock().now().at);
    Ok((passkey, nonce))
}

/// A signature that does not count is written down: it may be somebody else's attempt.
async fn refused(api: &Api, who: &Who, not: NotSigned) {
    let mut entry = Entry::new(0, Kind::LoginFailed, api.gate.rules().hash);
    entry.person = Some(Cow::Owned(who.person.clone()));
    let fact = |name: &'static str, text: &str| {
        (Cow::Borrowed(name), Value::String(Cow::Owned(text.to_owned())))
    };
    entry.facts = vec![fact("channel", &who.channel), fact("passkey", not.word())];
    if let Err(error) = api.gate.store().append(vec![entry]).await {
        tracing::error!(%error, "a refused passkey could not be written down");
    }
}

async fn enrol(State(api): State<Api>, proven: SteppedUp, request: Request) -> Answered {
    let who = who::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let read = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&read)?;
    let said = Fields::of(&value)?;
    let name = name(&said)?;
    let client_data = bytes(&said, "client_data", client::LONGEST)?;
    let attestation = bytes(&said, "attestation", LONGEST_ATTESTATION)?;
    said.finish()?;
    let told = client::read(&client_data, "webauthn.create")?;
    let (place, _) = believed(&api, &who, &told, Purpose::Enrol)?;
    let made = attested::read(&attestation, place)?;
    let changing = api.book.changing().await;
    // Asked again when it is one's turn: the login may have ended in between.
    who::person(&api, &parts.headers)?;
    if api.book.passkeys(&who.person).len() >= MOST {
        return Err(Problem::conflict(format!("a person has at most {MOST} passkeys")));
    }
    let now = api.gate.clock().now().at;
    let passkey = Passkey {
        credential: made.credential,
        person: who.person.clone(),
        name,
        public_key: made.key.bytes().to_vec(),
        algorithm: made.key.algorithm(),
        uses: made.count,
        added: now,
        active_from: now.plus(api.waiting_period(&who.person)),
        used: None,
        ended: None,
    };
    // Signatures are checked years later with the key that stands in the ledger.
    let facts = json!({
        "by": who.person, "id": base64::encode_url(&passkey.credential),
        "public_key": base64::encode_url(&passkey.public_key), "algorithm": passkey.algorithm,
    });
    let note = proven.note_with(&api, facts);
    let body = document(&passkey);
    api.gate.store().save_passkey(passkey, note).await?;
    api.book.read(api.gate.store()).await?;
    drop(changing);
    api.announce(format!("{} added a passkey for approvals.", who.person));
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

fn name(said: &Fields<'_, '_>) -> Result<String, Problem> {
    let name = said.needed_text("name")?.trim();
    if name.is_empty() || name.chars().count() > LONGEST_NAME || name.contains(char::is_control) {
        return Err(Problem::bad(format!(
            "`name` must be one line of 1 to {LONGEST_NAME} letters"
        )));
    }
    Ok(name.to_owned())
}

async fn remove(
    State(api): State<Api>,
    Path(credential): Path<String>,
    proven: SteppedUp,
    request: Request,
) -> Answered {
    let who = who::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    Fields::of(&fields::parse(&bytes)?)?.finish()?;
    let changing = api.book.changing().await;
    who::person(&api, &parts.headers)?;
    let mut passkeys = api.book.passkeys(&who.person).into_iter();
    let found = passkeys.find(|passkey| base64::encode_url(&passkey.credential) == credential);
    let mut passkey = found.ok_or_else(|| Problem::not_found("there is no such passkey"))?;
    passkey.ended = Some(api.gate.clock().now().at);
    let body = json!({ "id": credential, "removed": passkey.ended });
    let note = proven.note_with(&api, json!({ "by": who.person, "id": credential }));
    api.gate.store().save_passkey(passkey, note).await?;
    api.book.read(api.gate.store()).await?;
    drop(changing);
    api.announce(format!("{} removed a passkey.", who.person));
    Ok(axum::Json(body).into_response())
}
