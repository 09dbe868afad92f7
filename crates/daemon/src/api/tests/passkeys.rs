//! Passkeys through the people's door, over a real store, with a passkey in software.

use super::*;
use crate::api::STEP_UP;
use crate::passkeys::soft::{Soft, sent};
use crate::passkeys::{Decided, Offline, challenge_of};
use countersign_json::base64;
use countersign_ledger::entry::Entry;
use countersign_types::id::Id;
use countersign_workflow::request::Choice;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

const ORIGIN: &str = "http://localhost:6001";
const BY_NAME: [(&str, &str); 1] = [("host", "localhost:6001")];

async fn house() -> Trial {
    Trial::new().await
}

/// Asks as Ana, on the page under its name.
async fn ana(trial: &Trial, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
    read(send(&trial.people, 6001, method, path, Some(ANA_TOKEN), &BY_NAME, body).await).await
}

/// The same with a proof that it is her.
async fn proven(trial: &Trial, proof: &str, path: &str, body: Value) -> (StatusCode, Value) {
    let headers = [BY_NAME[0], (STEP_UP, proof)];
    read(send(&trial.people, 6001, "POST", path, Some(ANA_TOKEN), &headers, body).await).await
}

/// The proof by a passkey for this very change.
async fn signs_change(trial: &Trial, soft: &mut Soft, path: &str, body: &Value) -> String {
    let asks = json!({ "method": "POST", "path": path, "body": body });
    let (status, begun) = ana(trial, "POST", "/v1/step-up", asks).await;
    assert_eq!((status, &begun["proof"]), (StatusCode::OK, &json!("passkey")), "{begun}");
    let signed = sent(&soft.signs(&bytes(&begun["challenge"])));
    format!("passkey {}", base64::encode_url(signed.to_string().as_bytes()))
}

fn bytes(value: &Value) -> Vec<u8> {
    base64::decode_url(value.as_str().unwrap()).unwrap()
}

async fn begin(trial: &Trial) -> Vec<u8> {
    let (status, begun) = ana(trial, "POST", "/v1/passkeys/begin", json!({})).await;
    assert_eq!((status, &begun["place"]), (StatusCode::OK, &json!("localhost")), "{begun}");
    bytes(&begun["challenge"])
}

async fn enrolled(trial: &Trial) -> Soft {
    let soft = Soft::es256("localhost", ORIGIN);
    let body = soft.enrols(&begin(trial).await, "desk");
    let (status, answer) = proven(trial, &step_up_header(PASSPHRASE), "/v1/passkeys", body).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    soft
}

/// A CRITICAL call that waits, and Ana's yes to it.
async fn critical(trial: &Trial, folder: &str) -> (Value, Value) {
    let call = json!({
        "tool": "terminal", "arguments": { "command": format!("rm -rf / {folder}") },
    });
    let (status, asked) = trial.agent("POST", "/v1/requests", call).await;
    assert_eq!(status, StatusCode::CREATED, "{asked}");
    let yes = json!({ "choice": "approve", "digest": asked["digest"], "reason": "I looked" });
    (asked, yes)
}

/// The same with other arguments, which were checked.
async fn edited(trial: &Trial, asked: &Value, yes: &Value, arguments: Value) -> Value {
    let path = format!("/v1/requests/{}/edit", asked["id"].as_str().unwrap());
    let body = json!({ "digest": yes["digest"], "edited_arguments": arguments });
    let (status, checked) = ana(trial, "POST", &path, body).await;
    assert_eq!(status, StatusCode::OK, "{checked}");
    let mut said = yes.clone();
    said["edited_arguments"] = arguments;
    said["edited_digest"] = checked["digest"].clone();
    said
}

async fn challenge(trial: &Trial, asked: &Value, yes: &Value) -> Vec<u8> {
    let path = format!("/v1/requests/{}/challenge", asked["id"].as_str().unwrap());
    let (status, answer) = ana(trial, "POST", &path, yes.clone()).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    bytes(&answer["challenge"])
}

async fn decide(trial: &Trial, asked: &Value, yes: &Value, passkey: Value) -> (StatusCode, Value) {
    let mut body = yes.clone();
    body["passkey"] = passkey;
    let path = format!("/v1/requests/{}/decision", asked["id"].as_str().unwrap());
    ana(trial, "POST", &path, body).await
}

fn refused(answer: &(StatusCode, Value), why: &str) {
    assert_eq!(answer.0, StatusCode::FORBIDDEN, "{why}: {}", answer.1);
    assert_eq!((&answer.1["why"], &answer.1["outcome"]), (&json!(why), &json!("none")));
}

#[tokio::test]
async fn who_has_a_passkey_signs_what_is_critical() {
    let trial = house().await;
    let (asked, yes) = critical(&trial, "a").await;
    assert_eq!(asked["tier"], "CRITICAL");
    let mut soft = enrolled(&trial).await;
    // A login alone is not enough any more, by either door's words.
    let (status, answer) = trial.approve(&asked).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(answer["type"], "urn:countersign:problem:passkey");
    let several = json!({
        "choice": "approve", "reason": "x",
        "requests": [{ "id": asked["id"], "digest": asked["digest"] }],
    });
    let (_, several) = trial.person("POST", "/v1/decisions", several).await;
    assert_eq!(several["results"][0]["problem"]["status"], 409, "never together with others");
    let signed = soft.signs(&challenge(&trial, &asked, &yes).await);
    let (status, answer) = decide(&trial, &asked, &yes, sent(&signed)).await;
    assert_eq!((status, &answer["state"]), (StatusCode::OK, &json!("approved")), "{answer}");
}

#[tokio::test]
async fn a_no_and_smaller_things_need_no_passkey() {
    let trial = house().await;
    enrolled(&trial).await;
    let (asked, _) = critical(&trial, "a").await;
    let path = format!("/v1/requests/{}/decision", asked["id"].as_str().unwrap());
    let (status, answer) = trial.person("POST", &path, json!({ "choice": "deny" })).await;
    assert_eq!((status, &answer["state"]), (StatusCode::OK, &json!("denied")), "{answer}");
}

#[tokio::test]
async fn a_signature_is_good_once_for_one_request_one_call_one_answer_and_on_our_page() {
    let trial = house().await;
    let mut soft = enrolled(&trial).await;
    let (first, yes) = critical(&trial, "first").await;
    let (second, other) = critical(&trial, "second").await;
    // For another request.
    let signed = soft.signs(&challenge(&trial, &first, &yes).await);
    refused(&decide(&trial, &second, &other, sent(&signed)).await, "challenge");
    // The attempt used it up: it is no longer good for its own request either.
    refused(&decide(&trial, &first, &yes, sent(&signed)).await, "challenge");
    // For the other answer.
    let no = json!({ "choice": "deny", "digest": first["digest"] });
    let signed = soft.signs(&challenge(&trial, &first, &no).await);
    refused(&decide(&trial, &first, &yes, sent(&signed)).await, "challenge");
    // From a page on another port of this machine.
    soft.origin = "http://localhost:9999".to_owned();
    let signed = soft.signs(&challenge(&trial, &first, &yes).await);
    refused(&decide(&trial, &first, &yes, sent(&signed)).await, "origin");
    soft.origin = "http://127.0.0.1:6001".to_owned();
    let signed = soft.signs(&challenge(&trial, &first, &yes).await);
    refused(&decide(&trial, &first, &yes, sent(&signed)).await, "origin");
    soft.origin = ORIGIN.to_owned();
    // By a passkey that nobody enrolled.
    let mut stranger = Soft::es256("localhost", ORIGIN);
    let signed = stranger.signs(&challenge(&trial, &first, &yes).await);
    refused(&decide(&trial, &first, &yes, sent(&signed)).await, "unknown");
    stranger.credential.clone_from(&soft.credential);
    let signed = stranger.signs(&challenge(&trial, &first, &yes).await);
    refused(&decide(&trial, &first, &yes, sent(&signed)).await, "signature");
    // With a count that went back, as of a copy.
    soft.count = 0;
    let signed = soft.signs(&challenge(&trial, &first, &yes).await);
    refused(&decide(&trial, &first, &yes, sent(&signed)).await, "copied");
    soft.count = 40;
    let signed = soft.signs(&challenge(&trial, &first, &yes).await);
    let (status, answer) = decide(&trial, &first, &yes, sent(&signed)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    // Played again under the next request.
    refused(&decide(&trial, &second, &other, sent(&signed)).await, "challenge");
    let path = format!("/v1/requests/{}", text(&second["id"]));
    let (_, waits) = trial.agent("GET", &path, Value::Null).await;
    assert_eq!(waits["state"], "pending");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[tokio::test]
async fn an_edit_is_signed_as_it_will_run() {
    let trial = house().await;
    let mut soft = enrolled(&trial).await;
    let (asked, yes) = critical(&trial, "a").await;
    let edited = edited(&trial, &asked, &yes, json!({ "command": "rm -rf / b" })).await;
    // Signed as it was asked, sent as it was changed.
    let signed = soft.signs(&challenge(&trial, &asked, &yes).await);
    refused(&decide(&trial, &asked, &edited, sent(&signed)).await, "challenge");
    let signed = soft.signs(&challenge(&trial, &asked, &edited).await);
    let (status, answer) = decide(&trial, &asked, &edited, sent(&signed)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

#[tokio::test]
async fn enrolment_needs_the_passphrase_and_a_challenge_of_ours() {
    let trial = house().await;
    let mut soft = Soft::eddsa("localhost", ORIGIN);
    let right = step_up_header(PASSPHRASE);
    let enrol = soft.enrols(&begin(&trial).await, "desk");
    let (status, answer) = ana(&trial, "POST", "/v1/passkeys", enrol.clone()).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(answer["type"], "urn:countersign:problem:step-up-required");
    let wrong = step_up_header("not-it");
    let (status, answer) = proven(&trial, &wrong, "/v1/passkeys", enrol).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(answer["detail"], "the passphrase is wrong");
    let own = soft.enrols(&[9; 32], "desk");
    refused(&proven(&trial, &right, "/v1/passkeys", own).await, "challenge");
    assert!(!trial.api.has_passkey("ana"));
    let good = soft.enrols(&begin(&trial).await, "desk");
    let (status, answer) = proven(&trial, &right, "/v1/passkeys", good).await;
    assert_eq!((status, &answer["algorithm"]), (StatusCode::CREATED, &json!("EdDSA")), "{answer}");
    assert!(trial.api.has_passkey("ana"));
    // Removed with the passkey itself; the passphrase is not enough any more.
    let path = format!("/v1/passkeys/{}/remove", text(&answer["id"]));
    let (status, answer) = proven(&trial, &right, &path, json!({})).await;
    assert_eq!((status, &answer["why"]), (StatusCode::FORBIDDEN, &json!("passkey")), "{answer}");
    let proof = signs_change(&trial, &mut soft, &path, &json!({})).await;
    let (status, answer) = proven(&trial, &proof, &path, json!({})).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert!(!trial.api.has_passkey("ana"));
}

#[tokio::test]
async fn a_signature_under_a_change_is_good_once_and_for_that_change_alone() {
    let trial = house().await;
    let mut soft = enrolled(&trial).await;
    let path = "/v1/people/ana/passphrase";
    let lift = json!({ "agent": "coder", "session": "s", "reason": "over" });
    let other = signs_change(&trial, &mut soft, "/v1/crises/lift", &lift).await;
    refused(&proven(&trial, &other, path, json!({})).await, "challenge");
    let with_more = signs_change(&trial, &mut soft, path, &json!({ "x": 1 })).await;
    refused(&proven(&trial, &with_more, path, json!({})).await, "challenge");
    // A signature under an answer is none under a change.
    let (asked, yes) = critical(&trial, "a").await;
    let answer = sent(&soft.signs(&challenge(&trial, &asked, &yes).await)).to_string();
    let answer = format!("passkey {}", base64::encode_url(answer.as_bytes()));
    refused(&proven(&trial, &answer, path, json!({})).await, "challenge");
    let good = signs_change(&trial, &mut soft, path, &json!({})).await;
    let (status, changed) = proven(&trial, &good, path, json!({})).await;
    assert_eq!(status, StatusCode::OK, "{changed}");
    refused(&proven(&trial, &good, path, json!({})).await, "challenge");
    let (_, exported) = trial.person("GET", "/v1/ledger/entries?from=0", Value::Null).await;
    let entries = exported["entries"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["facts"]["what"] == "passphrase changed");
    let proof = &entry.unwrap()["facts"]["step_up"];
    assert_eq!(
        (&proof["proof"], &proof["operation"]),
        (&json!("passkey"), &json!("POST /v1/people/ana/passphrase"),)
    );
}

/// Where others could object, a new passkey neither signs nor is asked for until it has waited.
#[tokio::test]
async fn a_new_passkey_waits_before_it_signs() {
    let trial = house().await;
    let mut bo = trial.api.book.record("ana").unwrap();
    bo.name = "bo".to_owned();
    trial.api.gate.store().save_person(bo, note()).await.unwrap();
    trial.api.book.read(trial.api.gate.store()).await.unwrap();
    let mut soft = enrolled(&trial).await;
    assert!(!trial.api.has_passkey("ana"));
    let (asked, yes) = critical(&trial, "a").await;
    let path = format!("/v1/requests/{}/challenge", text(&asked["id"]));
    assert_eq!(ana(&trial, "POST", &path, yes.clone()).await.0, StatusCode::CONFLICT);
    let decided = Decided {
        request: Id::parse(text(&asked["id"])).unwrap(),
        digest: Digest::parse(text(&asked["digest"])).unwrap(),
        choice: Choice::Approve,
    };
    let login = ("ana", Digest::of(ANA_TOKEN.as_bytes()));
    let purpose = crate::passkeys::Purpose::Decide(decided);
    let now = trial.api.gate.clock().now().at;
    let begun = trial.api.challenges.begin(login, purpose, now).unwrap();
    let signed = soft.signs(begun.as_bytes());
    refused(&decide(&trial, &asked, &yes, sent(&signed)).await, "waiting");
}

#[tokio::test]
async fn at_an_address_of_numbers_the_way_is_said() {
    let trial = house().await;
    let (status, answer) = trial.person("POST", "/v1/passkeys/begin", json!({})).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(text(&answer["detail"]).ends_with("open http://localhost:6001"), "{answer}");
}

/// Everything is taken from the entries as they are exported; nothing is asked of the gate.
#[tokio::test]
async fn the_signature_can_be_verified_from_the_exported_ledger_alone() {
    let trial = house().await;
    let mut soft = enrolled(&trial).await;
    let (asked, yes) = critical(&trial, "a").await;
    let signed = soft.signs(&challenge(&trial, &asked, &yes).await);
    assert_eq!(decide(&trial, &asked, &yes, sent(&signed)).await.0, StatusCode::OK);
    let (_, exported) = trial.person("GET", "/v1/ledger/entries?from=0", Value::Null).await;
    drop(trial);

    let entries = exported["entries"].as_array().unwrap();
    let approval = entries.iter().find(|entry| entry["kind"] == "approve").unwrap();
    assert!(Entry::decode(approval.to_string().as_bytes()).is_ok(), "{approval}");
    let proof = &approval["facts"]["passkey"];
    let added = |entry: &&Value| entry["facts"]["what"] == "passkey added";
    let enrolment = entries.iter().find(added).unwrap();
    assert_eq!(enrolment["facts"]["id"], proof["id"]);
    assert_eq!(enrolment["person"], approval["person"]);
    let decided = Decided {
        request: Id::parse(text(&approval["request"])).unwrap(),
        digest: Digest::parse(text(&approval["digest"])).unwrap(),
        choice: Choice::Approve,
    };
    let nonce = bytes(&proof["nonce"]).try_into().unwrap();
    let (client, data) = (bytes(&proof["client_data"]), bytes(&proof["authenticator_data"]));
    let told: Value = serde_json::from_slice(&client).unwrap();
    assert_eq!(bytes(&told["challenge"]), challenge_of(&decided, &nonce).as_bytes());
    assert_eq!((&told["origin"], &told["type"]), (&json!(ORIGIN), &json!("webauthn.get")));
    let key = bytes(&enrolment["facts"]["public_key"]);
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key);
    let message = [&data[..], Digest::of(&client).as_bytes()].concat();
    assert!(key.verify(&message, &bytes(&proof["signature"])).is_ok());
    // Of another answer it proves nothing.
    let other = Decided { choice: Choice::Deny, ..decided };
    assert_ne!(bytes(&told["challenge"]), challenge_of(&other, &nonce).as_bytes());
}

/// Something that is done to a ledger.
type Change<'a> = &'a dyn Fn(&mut Vec<Value>);

/// What `countersign ledger verify` makes of entries.
fn verified(entries: &[Value]) -> Result<u64, String> {
    let mut offline = Offline::default();
    for entry in entries {
        let text = entry.to_string();
        let entry = Entry::decode(text.as_bytes()).map_err(|error| error.to_string())?;
        offline.feed(&entry)?;
    }
    Ok(offline.signed())
}

#[tokio::test]
async fn a_signature_that_was_moved_or_changed_is_found_in_the_ledger() {
    let trial = house().await;
    let mut soft = enrolled(&trial).await;
    let (asked, yes) = critical(&trial, "a").await;
    let yes = edited(&trial, &asked, &yes, json!({ "command": "rm -rf / b" })).await;
    let signed = soft.signs(&challenge(&trial, &asked, &yes).await);
    assert_eq!(decide(&trial, &asked, &yes, sent(&signed)).await.0, StatusCode::OK);
    let (second, no) = critical(&trial, "c").await;
    let no = json!({ "choice": "deny", "digest": no["digest"] });
    let signed = soft.signs(&challenge(&trial, &second, &no).await);
    assert_eq!(decide(&trial, &second, &no, sent(&signed)).await.0, StatusCode::OK);
    let (_, exported) = trial.person("GET", "/v1/ledger/entries?from=0", Value::Null).await;
    let entries = exported["entries"].as_array().unwrap();
    assert_eq!(verified(entries), Ok(2));

    let at = entries.iter().position(|entry| entry["kind"] == "approve").unwrap();
    let last = entries.iter().position(|entry| entry["kind"] == "deny").unwrap();
    let enrolled = entries.iter().position(|entry| entry["facts"]["what"] == "passkey added");
    let changes: [Change<'_>; 7] = [
        &|all| all[at]["digest"] = all[last]["digest"].clone(),
        &|all| all[at]["request"] = all[last]["request"].clone(),
        &|all| all[last]["kind"] = json!("approve"),
        &|all| all[at]["person"] = json!("bo"),
        &|all| all[at]["facts"]["passkey"] = all[last]["facts"]["passkey"].clone(),
        &|all| {
            let other = all[last]["facts"]["passkey"]["signature"].clone();
            all[at]["facts"]["passkey"]["signature"] = other;
        },
        &|all| drop(all.remove(enrolled.unwrap())),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut changed = entries.clone();
        change(&mut changed);
        assert!(verified(&changed).is_err(), "change {number}");
    }
}
