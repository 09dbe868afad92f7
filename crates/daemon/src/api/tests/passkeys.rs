//! Passkeys through the people API, over a real store, with a software authenticator.

use super::*;
use crate::api::STEP_UP;
use crate::passkeys::test_authenticator::{TestAuthenticator, sent};
use crate::passkeys::{LedgerSignatureCheck, SignedDecision, decision_challenge};
use countersign_json::base64;
use countersign_ledger::entry::Entry;
use countersign_types::id::Id;
use countersign_workflow::request::{ApprovalScope, Choice};
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

const ORIGIN: &str = "http://localhost:6001";
const BY_NAME: [(&str, &str); 1] = [("host", "localhost:6001")];

async fn test_api() -> TestApi {
    TestApi::new().await
}

/// Sends a request as Ana, from the page under its host name.
async fn ana(api: &TestApi, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
    read(send(&api.people, 6001, method, path, Some(ANA_TOKEN), &BY_NAME, body).await).await
}

/// Sends a change as Ana with this proof.
async fn proven(api: &TestApi, proof: &str, path: &str, body: Value) -> (StatusCode, Value) {
    let headers = [BY_NAME[0], (STEP_UP, proof)];
    read(send(&api.people, 6001, "POST", path, Some(ANA_TOKEN), &headers, body).await).await
}

/// The proof by a passkey for exactly this change.
async fn signs_change(
    api: &TestApi,
    authenticator: &mut TestAuthenticator,
    path: &str,
    body: &Value,
) -> String {
    let asks = json!({ "method": "POST", "path": path, "body": body });
    let (status, begun) = ana(api, "POST", "/v1/step-up", asks).await;
    assert_eq!((status, &begun["proof"]), (StatusCode::OK, &json!("passkey")), "{begun}");
    let signed = sent(&authenticator.sign(&bytes(&begun["challenge"])));
    format!("passkey {}", base64::encode_url(signed.to_string().as_bytes()))
}

fn bytes(value: &Value) -> Vec<u8> {
    base64::decode_url(value.as_str().unwrap()).unwrap()
}

async fn begin(api: &TestApi) -> Vec<u8> {
    let (status, begun) = ana(api, "POST", "/v1/passkeys/begin", json!({})).await;
    assert_eq!((status, &begun["rp_id"]), (StatusCode::OK, &json!("localhost")), "{begun}");
    bytes(&begun["challenge"])
}

async fn enrolled(api: &TestApi) -> TestAuthenticator {
    let authenticator = TestAuthenticator::es256("localhost", ORIGIN);
    let body = authenticator.registration_body(&begin(api).await, "desk");
    let (status, answer) = proven(api, &step_up_proof(PASSPHRASE), "/v1/passkeys", body).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    authenticator
}

/// A pending CRITICAL request, and Ana's approval of it.
async fn critical(api: &TestApi, folder: &str) -> (Value, Value) {
    let call = json!({
        "tool": "terminal", "arguments": { "command": format!("rm -rf / {folder}") },
    });
    let (status, asked) = api.agent("POST", "/v1/requests", call).await;
    assert_eq!(status, StatusCode::CREATED, "{asked}");
    let yes = json!({ "choice": "approve", "digest": asked["digest"], "reason": "I looked" });
    (asked, yes)
}

/// The approval with edited arguments, after the check of the edit.
async fn edited(api: &TestApi, asked: &Value, yes: &Value, arguments: Value) -> Value {
    let path = format!("/v1/requests/{}/edit", asked["id"].as_str().unwrap());
    let body = json!({ "digest": yes["digest"], "edited_arguments": arguments });
    let (status, checked) = ana(api, "POST", &path, body).await;
    assert_eq!(status, StatusCode::OK, "{checked}");
    let mut said = yes.clone();
    said["edited_arguments"] = arguments;
    said["edited_digest"] = checked["digest"].clone();
    said
}

async fn challenge(api: &TestApi, asked: &Value, yes: &Value) -> Vec<u8> {
    let path = format!("/v1/requests/{}/challenge", asked["id"].as_str().unwrap());
    let (status, answer) = ana(api, "POST", &path, yes.clone()).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    bytes(&answer["challenge"])
}

async fn decide(api: &TestApi, asked: &Value, yes: &Value, passkey: Value) -> (StatusCode, Value) {
    let mut body = yes.clone();
    body["passkey"] = passkey;
    let path = format!("/v1/requests/{}/decision", asked["id"].as_str().unwrap());
    ana(api, "POST", &path, body).await
}

fn refused(answer: &(StatusCode, Value), why: &str) {
    assert_eq!(answer.0, StatusCode::FORBIDDEN, "{why}: {}", answer.1);
    assert_eq!((&answer.1["why"], &answer.1["outcome"]), (&json!(why), &json!("none")));
}

#[tokio::test]
async fn a_person_with_a_passkey_signs_critical_calls() {
    let api = test_api().await;
    let (asked, yes) = critical(&api, "a").await;
    assert_eq!(asked["tier"], "CRITICAL");
    let mut authenticator = enrolled(&api).await;
    // A session alone is no longer enough.
    let (status, answer) = api.approve(&asked).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(answer["type"], "urn:countersign:problem:passkey");
    let several = json!({
        "choice": "approve", "reason": "x",
        "requests": [{ "id": asked["id"], "digest": asked["digest"] }],
    });
    let (_, several) = api.person("POST", "/v1/decisions", several).await;
    assert_eq!(several["results"][0]["problem"]["status"], 409, "never together with others");
    let signed = authenticator.sign(&challenge(&api, &asked, &yes).await);
    let (status, answer) = decide(&api, &asked, &yes, sent(&signed)).await;
    assert_eq!((status, &answer["state"]), (StatusCode::OK, &json!("approved")), "{answer}");
}

#[tokio::test]
async fn a_denial_needs_no_passkey() {
    let api = test_api().await;
    enrolled(&api).await;
    let (asked, _) = critical(&api, "a").await;
    let path = format!("/v1/requests/{}/decision", asked["id"].as_str().unwrap());
    let (status, answer) = api.person("POST", &path, json!({ "choice": "deny" })).await;
    assert_eq!((status, &answer["state"]), (StatusCode::OK, &json!("denied")), "{answer}");
}

#[tokio::test]
async fn a_signature_is_bound_to_one_request_call_answer_and_origin() {
    let api = test_api().await;
    let mut authenticator = enrolled(&api).await;
    let (first, yes) = critical(&api, "first").await;
    let (second, other) = critical(&api, "second").await;
    // For another request.
    let signed = authenticator.sign(&challenge(&api, &first, &yes).await);
    refused(&decide(&api, &second, &other, sent(&signed)).await, "challenge");
    // The attempt used the challenge up, also for its own request.
    refused(&decide(&api, &first, &yes, sent(&signed)).await, "challenge");
    // For the other choice.
    let no = json!({ "choice": "deny", "digest": first["digest"] });
    let signed = authenticator.sign(&challenge(&api, &first, &no).await);
    refused(&decide(&api, &first, &yes, sent(&signed)).await, "challenge");
    // From a page on another port of this host.
    authenticator.origin = "http://localhost:9999".to_owned();
    let signed = authenticator.sign(&challenge(&api, &first, &yes).await);
    refused(&decide(&api, &first, &yes, sent(&signed)).await, "origin");
    authenticator.origin = "http://127.0.0.1:6001".to_owned();
    let signed = authenticator.sign(&challenge(&api, &first, &yes).await);
    refused(&decide(&api, &first, &yes, sent(&signed)).await, "origin");
    authenticator.origin = ORIGIN.to_owned();
    // By an unknown passkey.
    let mut stranger = TestAuthenticator::es256("localhost", ORIGIN);
    let signed = stranger.sign(&challenge(&api, &first, &yes).await);
    refused(&decide(&api, &first, &yes, sent(&signed)).await, "unknown");
    stranger.credential.clone_from(&authenticator.credential);
    let signed = stranger.sign(&challenge(&api, &first, &yes).await);
    refused(&decide(&api, &first, &yes, sent(&signed)).await, "signature");
    // With a counter that went back, as a copy would send.
    authenticator.count = 0;
    let signed = authenticator.sign(&challenge(&api, &first, &yes).await);
    refused(&decide(&api, &first, &yes, sent(&signed)).await, "copied");
    authenticator.count = 40;
    let signed = authenticator.sign(&challenge(&api, &first, &yes).await);
    let (status, answer) = decide(&api, &first, &yes, sent(&signed)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    // Replayed for the next request.
    refused(&decide(&api, &second, &other, sent(&signed)).await, "challenge");
    let path = format!("/v1/requests/{}", text(&second["id"]));
    let (_, waits) = api.agent("GET", &path, Value::Null).await;
    assert_eq!(waits["state"], "pending");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[tokio::test]
async fn an_edit_is_signed_with_its_edited_digest() {
    let api = test_api().await;
    let mut authenticator = enrolled(&api).await;
    let (asked, yes) = critical(&api, "a").await;
    let edited = edited(&api, &asked, &yes, json!({ "command": "rm -rf / b" })).await;
    // Signed for the original call, sent with the edit.
    let signed = authenticator.sign(&challenge(&api, &asked, &yes).await);
    refused(&decide(&api, &asked, &edited, sent(&signed)).await, "challenge");
    let signed = authenticator.sign(&challenge(&api, &asked, &edited).await);
    let (status, answer) = decide(&api, &asked, &edited, sent(&signed)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

#[tokio::test]
async fn registration_needs_the_passphrase_and_an_open_challenge() {
    let api = test_api().await;
    let mut authenticator = TestAuthenticator::eddsa("localhost", ORIGIN);
    let right = step_up_proof(PASSPHRASE);
    let enrol = authenticator.registration_body(&begin(&api).await, "desk");
    let (status, answer) = ana(&api, "POST", "/v1/passkeys", enrol.clone()).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(answer["type"], "urn:countersign:problem:step-up-required");
    let wrong = step_up_proof("not-it");
    let (status, answer) = proven(&api, &wrong, "/v1/passkeys", enrol).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(answer["detail"], "wrong passphrase");
    let own = authenticator.registration_body(&[9; 32], "desk");
    refused(&proven(&api, &right, "/v1/passkeys", own).await, "challenge");
    assert!(!api.api.has_passkey("ana"));
    let good = authenticator.registration_body(&begin(&api).await, "desk");
    let (status, answer) = proven(&api, &right, "/v1/passkeys", good).await;
    assert_eq!((status, &answer["algorithm"]), (StatusCode::CREATED, &json!("EdDSA")), "{answer}");
    assert!(api.api.has_passkey("ana"));
    // Removed with the passkey itself; the passphrase is no longer enough.
    let path = format!("/v1/passkeys/{}/remove", text(&answer["id"]));
    let (status, answer) = proven(&api, &right, &path, json!({})).await;
    assert_eq!((status, &answer["why"]), (StatusCode::FORBIDDEN, &json!("passkey")), "{answer}");
    let proof = signs_change(&api, &mut authenticator, &path, &json!({})).await;
    let (status, answer) = proven(&api, &proof, &path, json!({})).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert!(!api.api.has_passkey("ana"));
}

#[tokio::test]
async fn a_signature_on_a_change_is_bound_to_it_and_used_once() {
    let api = test_api().await;
    let mut authenticator = enrolled(&api).await;
    let path = "/v1/people/ana/passphrase";
    let lift = json!({ "agent": "coder", "session": "s", "reason": "over" });
    let other = signs_change(&api, &mut authenticator, "/v1/crises/lift", &lift).await;
    refused(&proven(&api, &other, path, json!({})).await, "challenge");
    let with_more = signs_change(&api, &mut authenticator, path, &json!({ "x": 1 })).await;
    refused(&proven(&api, &with_more, path, json!({})).await, "challenge");
    // A signature on an answer does not count for a change.
    let (asked, yes) = critical(&api, "a").await;
    let answer = sent(&authenticator.sign(&challenge(&api, &asked, &yes).await)).to_string();
    let answer = format!("passkey {}", base64::encode_url(answer.as_bytes()));
    refused(&proven(&api, &answer, path, json!({})).await, "challenge");
    let good = signs_change(&api, &mut authenticator, path, &json!({})).await;
    let (status, changed) = proven(&api, &good, path, json!({})).await;
    assert_eq!(status, StatusCode::OK, "{changed}");
    refused(&proven(&api, &good, path, json!({})).await, "challenge");
    let (_, exported) = api.person("GET", "/v1/ledger/entries?from=0", Value::Null).await;
    let entries = exported["entries"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["facts"]["what"] == "passphrase changed");
    let proof = &entry.unwrap()["facts"]["step_up"];
    assert_eq!(
        (&proof["proof"], &proof["operation"]),
        (&json!("passkey"), &json!("POST /v1/people/ana/passphrase"),)
    );
}

/// Where other people could object, a new passkey cannot sign before its waiting period ends.
#[tokio::test]
async fn a_new_passkey_waits_before_it_signs() {
    let api = test_api().await;
    let mut bo = api.api.directory.record("ana").unwrap();
    bo.name = "bo".to_owned();
    api.api.gate.store().save_person(bo, note()).await.unwrap();
    api.api.directory.reload(api.api.gate.store()).await.unwrap();
    let mut authenticator = enrolled(&api).await;
    assert!(!api.api.has_passkey("ana"));
    let (asked, yes) = critical(&api, "a").await;
    let path = format!("/v1/requests/{}/challenge", text(&asked["id"]));
    assert_eq!(ana(&api, "POST", &path, yes.clone()).await.0, StatusCode::CONFLICT);
    let decided = SignedDecision {
        request: Id::parse(text(&asked["id"])).unwrap(),
        digest: Digest::parse(text(&asked["digest"])).unwrap(),
        choice: Choice::Approve,
        scope: ApprovalScope::Once,
    };
    let login = ("ana", Digest::of(ANA_TOKEN.as_bytes()));
    let purpose = crate::passkeys::Purpose::Decide(decided);
    let now = api.api.gate.clock().now().at;
    let begun = api.api.now.challenges.begin(login, purpose, now).unwrap();
    let signed = authenticator.sign(begun.as_bytes());
    refused(&decide(&api, &asked, &yes, sent(&signed)).await, "waiting");
}

#[tokio::test]
async fn at_an_ip_address_the_error_names_the_right_url() {
    let api = test_api().await;
    let (status, answer) = api.person("POST", "/v1/passkeys/begin", json!({})).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(text(&answer["detail"]).ends_with("open http://localhost:6001"), "{answer}");
}

/// Only the exported entries are used, not the gate.
#[tokio::test]
async fn the_signature_can_be_verified_from_the_exported_ledger_alone() {
    let api = test_api().await;
    let mut authenticator = enrolled(&api).await;
    let (asked, yes) = critical(&api, "a").await;
    let signed = authenticator.sign(&challenge(&api, &asked, &yes).await);
    assert_eq!(decide(&api, &asked, &yes, sent(&signed)).await.0, StatusCode::OK);
    let (_, exported) = api.person("GET", "/v1/ledger/entries?from=0", Value::Null).await;
    drop(api);

    let entries = exported["entries"].as_array().unwrap();
    let approval = entries.iter().find(|entry| entry["kind"] == "approve").unwrap();
    assert!(Entry::decode(approval.to_string().as_bytes()).is_ok(), "{approval}");
    let proof = &approval["facts"]["passkey"];
    let added = |entry: &&Value| entry["facts"]["what"] == "passkey added";
    let enrolment = entries.iter().find(added).unwrap();
    assert_eq!(enrolment["facts"]["id"], proof["id"]);
    assert_eq!(enrolment["person"], approval["person"]);
    let decided = SignedDecision {
        request: Id::parse(text(&approval["request"])).unwrap(),
        digest: Digest::parse(text(&approval["digest"])).unwrap(),
        choice: Choice::Approve,
        scope: ApprovalScope::Once,
    };
    let nonce = bytes(&proof["nonce"]).try_into().unwrap();
    let (client, data) = (bytes(&proof["client_data"]), bytes(&proof["authenticator_data"]));
    let told: Value = serde_json::from_slice(&client).unwrap();
    assert_eq!(bytes(&told["challenge"]), decision_challenge(&decided, &nonce).as_bytes());
    assert_eq!((&told["origin"], &told["type"]), (&json!(ORIGIN), &json!("webauthn.get")));
    let key = bytes(&enrolment["facts"]["public_key"]);
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key);
    let message = [&data[..], Digest::of(&client).as_bytes()].concat();
    assert!(key.verify(&message, &bytes(&proof["signature"])).is_ok());
    // The signature proves no other answer.
    let other = SignedDecision { choice: Choice::Deny, ..decided };
    assert_ne!(bytes(&told["challenge"]), decision_challenge(&other, &nonce).as_bytes());
}

/// A manipulation of a ledger.
type Change<'a> = &'a dyn Fn(&mut Vec<Value>);

/// The result of `countersign ledger verify`.
fn verified(entries: &[Value]) -> Result<u64, String> {
    let mut offline = LedgerSignatureCheck::default();
    for entry in entries {
        let text = entry.to_string();
        let entry = Entry::decode(text.as_bytes()).map_err(|error| error.to_string())?;
        offline.feed(&entry)?;
    }
    Ok(offline.signed())
}

#[tokio::test]
async fn a_moved_or_changed_signature_is_detected_in_the_ledger() {
    let api = test_api().await;
    let mut authenticator = enrolled(&api).await;
    let (asked, yes) = critical(&api, "a").await;
    let yes = edited(&api, &asked, &yes, json!({ "command": "rm -rf / b" })).await;
    let signed = authenticator.sign(&challenge(&api, &asked, &yes).await);
    assert_eq!(decide(&api, &asked, &yes, sent(&signed)).await.0, StatusCode::OK);
    let (second, no) = critical(&api, "c").await;
    let no = json!({ "choice": "deny", "digest": no["digest"] });
    let signed = authenticator.sign(&challenge(&api, &second, &no).await);
    assert_eq!(decide(&api, &second, &no, sent(&signed)).await.0, StatusCode::OK);
    let (_, exported) = api.person("GET", "/v1/ledger/entries?from=0", Value::Null).await;
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
