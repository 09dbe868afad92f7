//! The webhook's way back, against a stand-in for a receiver that signs as the standard says.

use std::path::Path;

use serde_json::{Value, json};

use crate::fake_server::{
    CRITICAL, FakeServer, HIGH, MEDIUM, SECRET, installation, median_to_message, mutated, now,
    private, signed, until,
};
use crate::fixture::{Fixture, alone, report_figures, shared, size};

fn channel(url: &str, folder: &Path) -> String {
    let secret = private(folder, "ops.secret", &format!("whsec_{SECRET}"));
    format!(
        "[channels.ops]\nkind = \"webhook\"\nurl = \"{url}\"\nsecret_file = {secret}\n\
         allow_private = true\ntimeout_seconds = 1\nper_minute = 6000\ncallback = true\n\
         details = true\napproves = \"HIGH\"\n"
    )
}

fn post(fixture: &Fixture, id: &str, time: i64, signature: &str, body: &str) -> (u16, Value) {
    let time = time.to_string();
    let headers = [
        ("webhook-id", id),
        ("webhook-timestamp", time.as_str()),
        ("webhook-signature", signature),
        ("content-type", "application/json"),
    ];
    let (status, answer) = fixture.hook("ops", &headers, body);
    (status, serde_json::from_str(&answer).unwrap_or(Value::Null))
}

fn send(fixture: &Fixture, id: &str, body: &Value) -> (u16, Value) {
    let (time, body) = (now(), body.to_string());
    post(fixture, id, time, &signed(id, time, &body), &body)
}

/// The buttons that a receiver was sent with a question.
fn buttons(fixture: &Fixture, receiver: &FakeServer, asked: &Value) -> Value {
    let mut found = Value::Null;
    until("the question", || {
        let all = receiver.got();
        let event = all
            .iter()
            .map(crate::fake_server::Got::json)
            .find(|event| event["subject"] == asked["id"] && event["data"]["kind"] == "asked");
        found = event.map_or(Value::Null, |event| event["data"]["buttons"].clone());
        !found.is_null()
    });
    fixture.wait_for_delivery_record(asked);
    found
}

#[test]
fn a_receiver_brings_the_answers_of_linked_people() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let receiver = FakeServer::start(204, "");
    let fixture = installation(folder.path(), "ops", &channel(&receiver.url(), folder.path()));
    let tap = |account: &str, button: &Value| {
        json!({
            "account": account, "decision": "approve", "button": button, "reason": "as planned",
        })
    };
    let say_yes = |account: &str, button: &Value, asked: &Value| {
        let mut said = tap(account, button);
        said["words"] = asked["phrase"].clone();
        said
    };

    let asked = fixture.ask(HIGH);
    let offered = buttons(&fixture, &receiver, &asked);
    let (status, answer) = send(&fixture, "m1", &say_yes("ana@corp", &offered["approve"], &asked));
    assert!(status == 200 && answer["reply"].as_str().unwrap().contains("not linked to a person"));
    assert_eq!(fixture.state(&asked), "pending", "a stranger");
    let code = fixture.code("ops");
    let (_, answer) = send(&fixture, "m2", &json!({ "account": "ana@corp", "link": code }));
    assert!(answer["reply"].as_str().unwrap().starts_with("Linked."), "{answer}");
    // A new link approves nothing that was asked before it.
    let (_, answer) = send(&fixture, "m2b", &say_yes("ana@corp", &offered["approve"], &asked));
    assert!(answer["reply"].as_str().unwrap().contains("newer than the request"), "{answer}");
    assert_eq!(fixture.state(&asked), "pending", "a link that is newer than the request");
    let asked = fixture.ask("git push --force origin release");
    let offered = buttons(&fixture, &receiver, &asked);
    // A HIGH call takes its two words.
    let (_, answer) = send(&fixture, "m2c", &tap("ana@corp", &offered["approve"]));
    assert!(answer["reply"].as_str().unwrap().starts_with("Not approved"), "{answer}");
    assert_eq!(fixture.state(&asked), "pending", "a tap alone");
    let said = say_yes("ana@corp", &offered["approve"], &asked);
    let (_, answer) = send(&fixture, "m3", &said);
    assert!(answer["reply"].as_str().unwrap().starts_with("Approved."), "{answer}");
    let seen = fixture.look(&asked);
    assert_eq!(
        (&seen["state"], &seen["decision"]["reason"]),
        (&json!("approved"), &json!("as planned"))
    );
    // A second answer, and the same one under the same name.
    let no = json!({ "account": "ana@corp", "decision": "deny", "button": offered["deny"] });
    let (_, answer) = send(&fixture, "m4", &no);
    assert!(answer["reply"].as_str().unwrap().contains("already approved"), "{answer}");
    let (_, answer) = send(&fixture, "m4", &no);
    assert_eq!(answer["heard"], false, "{answer}");
    assert_eq!(fixture.state(&asked), "approved");

    let grave = fixture.ask(CRITICAL);
    let offered = buttons(&fixture, &receiver, &grave);
    assert!(offered["approve"].is_null(), "CRITICAL is never approved like this");
    let no = json!({ "account": "ana@corp", "decision": "deny", "button": offered["deny"] });
    send(&fixture, "m5", &no);
    assert_eq!(fixture.state(&grave), "denied");
}

#[test]
fn no_forged_or_replayed_callback_counts() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let receiver = FakeServer::start(204, "");
    let fixture = installation(folder.path(), "ops", &channel(&receiver.url(), folder.path()));
    let code = fixture.code("ops");
    let link = json!({ "account": "ana", "link": code }).to_string();
    let linked_at = now();
    let linked = signed("link", linked_at, &link);
    assert_eq!(post(&fixture, "link", linked_at, &linked, &link).1["heard"], true);
    let asked = fixture.ask(MEDIUM);
    let offered = buttons(&fixture, &receiver, &asked);
    let body = json!({ "account": "ana", "decision": "approve", "button": offered["approve"] });
    let body = body.to_string();
    let (count, mut accepted) = (size(1_000, 10_000), 0);
    for number in 0..count {
        let (time, id) = (now(), format!("f{number}"));
        let good = signed(&id, time, &body);
        let bare = good.trim_start_matches("v1,");
        let (status, answer) = match number % 6 {
            0 => post(&fixture, &id, time, &mutated(bare, number), &body),
            1 => post(&fixture, &id, time, &format!("v1,{}", mutated(bare, number)), &body),
            2 => post(&fixture, &id, time, &good, &mutated(&body, number)),
            3 => post(&fixture, "other", time, &good, &body),
            4 => {
                let old = time - 301 - i64::try_from(number).unwrap();
                post(&fixture, &id, old, &signed(&id, old, &body), &body)
            }
            // What was said before, word for word.
            _ => post(&fixture, "link", linked_at, &linked, &link),
        };
        accepted += usize::from(status == 200 && answer["heard"] == true);
    }
    assert_eq!(accepted, 0);
    assert_eq!(fixture.state(&asked), "pending");
    // The true one still counts.
    let time = now();
    let (_, answer) = post(&fixture, "true", time, &signed("true", time, &body), &body);
    assert!(answer["reply"].as_str().unwrap().starts_with("Approved."), "{answer}");
    report_figures(&format!("callback: {count} forged or replayed, {accepted} accepted"));
}

#[test]
fn the_time_to_a_message_is_reported() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let receiver = FakeServer::start(204, "");
    let fixture = installation(folder.path(), "ops", &channel(&receiver.url(), folder.path()));
    let middle = median_to_message(&fixture, |number| receiver.wait(number + 1)[number].at);
    report_figures(&format!("webhook: request to message, median of 100: {middle:.1} ms"));
}
