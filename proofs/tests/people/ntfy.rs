//! ntfy, against a stand-in for its server: told, answered from the phone, forged, dead.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fake_server::{
    FakeServer, Got, HIGH, MEDIUM, Manner, SECRET, installation, installation_with,
    median_to_message, mutated, private, until,
};
use crate::fixture::{Fixture, alone, report_figures, shared, size};

fn channel(name: &str, server: &str, folder: &Path, more: &str) -> String {
    let secret = private(folder, "phone.secret", &format!("whsec_{SECRET}"));
    let token = private(folder, "ntfy.token", "tk_secret");
    format!(
        "[channels.{name}]\nkind = \"ntfy\"\nurl = \"{server}\"\ntopic = \"k3TqfX9\"\n\
         token_file = {token}\nallow_private = true\ntimeout_seconds = 1\nper_minute = 6000\n\
         hook_url = \"https://approve.example.org/hooks/{name}\"\nsecret_file = {secret}\n\
         person = \"owner\"\n{more}"
    )
}

fn server() -> FakeServer {
    FakeServer::start(200, "{\"id\":\"Zm2x\",\"event\":\"message\"}")
}

/// What pressing a button sends.
fn action<'a>(message: &'a Value, label: &str) -> Option<(&'a str, &'a str)> {
    let found = message["actions"].as_array()?.iter().find(|one| one["label"] == label)?;
    let proof = found["headers"]["x-countersign-proof"].as_str()?;
    Some((proof, found["body"].as_str()?))
}

fn press(fixture: &Fixture, (proof, button): (&str, &str)) -> u16 {
    fixture.hook("phone", &[("x-countersign-proof", proof)], button).0
}

#[test]
fn a_phone_is_told_and_answers() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let ntfy = server();
    let phone = channel("phone", &ntfy.url(), folder.path(), "details = true\n");
    let fixture = installation(folder.path(), "phone", &phone);

    let asked = fixture.ask(MEDIUM);
    let got = ntfy.wait(1).remove(0);
    assert!(got.head.to_lowercase().contains("authorization: bearer tk_secret"), "{}", got.head);
    let message = got.json();
    assert_eq!((&message["topic"], &message["priority"]), (&"k3TqfX9".into(), &3.into()));
    assert_eq!(message["sequence_id"], asked["id"]);
    assert!(message["message"].as_str().unwrap().contains(MEDIUM), "{message}");
    assert!(message["click"].as_str().unwrap().ends_with(asked["id"].as_str().unwrap()));
    fixture.wait_for_delivery_record(&asked);
    // The table says that MEDIUM may be approved by whoever was reached.
    assert_eq!(press(&fixture, action(&message, "Approve once").unwrap()), 200);
    until("the approval", || fixture.state(&asked) == "approved");
    // The end takes the question's place; who pressed is told as well.
    let got: Vec<Value> = ntfy.wait(3).iter().map(Got::json).collect();
    let about: Vec<&Value> = got.iter().filter(|one| one["sequence_id"] == asked["id"]).collect();
    let [_, end] = about[..] else { panic!("{got:?}") };
    assert!(end["title"].as_str().unwrap().contains("approved by owner"), "{end}");
    // A second answer changes nothing.
    press(&fixture, action(&message, "Deny").unwrap());
    assert_eq!(fixture.state(&asked), "approved");

    let count = ntfy.got().len();
    let grave = fixture.ask(HIGH);
    until("the question", || {
        ntfy.got().iter().skip(count).any(|got| got.json()["sequence_id"] == grave["id"])
    });
    let all = ntfy.got();
    let message = all.iter().map(Got::json).find(|one| one["sequence_id"] == grave["id"]);
    let message = message.unwrap();
    assert_eq!(message["priority"], 4);
    assert_eq!(action(&message, "Approve once"), None, "HIGH needs more than being reached");
    assert_eq!(press(&fixture, action(&message, "Deny").unwrap()), 200);
    until("the denial", || fixture.state(&grave) == "denied");
    // Whose it is, the configuration says: there is nothing to link.
    let linked =
        fixture.owner_client().post("/v1/channels/phone/link", &serde_json::json!({})).unwrap();
    assert_eq!(linked.status, 409, "{}", linked.body);
}

#[test]
fn no_forged_or_replayed_button_counts() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let ntfy = server();
    let phone = channel("phone", &ntfy.url(), folder.path(), "details = true\n");
    let fixture = installation(folder.path(), "phone", &phone);
    let done = fixture.ask(MEDIUM);
    let first = ntfy.wait(1).remove(0).json();
    fixture.wait_for_delivery_record(&done);
    let used = action(&first, "Deny").unwrap();
    assert_eq!(press(&fixture, used), 200);
    until("the denial", || fixture.state(&done) == "denied");
    ntfy.wait(3);
    let open = fixture.ask(&format!("{MEDIUM} # 2"));
    until("the question", || ntfy.got().iter().any(|got| got.json()["sequence_id"] == open["id"]));
    let all: Vec<Value> = ntfy.got().iter().map(Got::json).collect();
    let message = all.iter().find(|one| one["sequence_id"] == open["id"]).unwrap();
    let (proof, button) = action(message, "Approve once").unwrap();
    let (told, since) = (ntfy.got().len(), Instant::now());
    let (count, mut heard) = (size(1_000, 10_000), 0);
    for number in 0..count {
        let (status, may_be_heard) = match number % 5 {
            0 => (press(&fixture, (&mutated(proof, number), button)), false),
            1 => (press(&fixture, (proof, &mutated(button, number))), false),
            2 => (press(&fixture, (used.0, button)), false),
            3 => (fixture.hook("phone", &[], button).0, false),
            // Ours, and said before.
            _ => (press(&fixture, used), true),
        };
        assert_eq!(status, if may_be_heard { 200 } else { 401 }, "{number}");
        heard += usize::from(status == 200 && !may_be_heard);
    }
    assert_eq!(fixture.state(&open), "pending");
    assert_eq!(fixture.state(&done), "denied");
    // A person who presses again is told again, at most every ten seconds, that it has ended.
    let (more, pauses) = (ntfy.got().len() - told, since.elapsed().as_secs() / 10 + 1);
    assert!(
        u64::try_from(more).unwrap() <= pauses,
        "{more} messages in {pauses} times ten seconds"
    );
    // The true one still counts.
    assert_eq!(press(&fixture, (proof, button)), 200);
    until("the approval", || fixture.state(&open) == "approved");
    report_figures(&format!("ntfy: {count} forged or replayed buttons, {heard} accepted"));
}

#[test]
fn a_phone_of_nobody_answers_nothing() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let ntfy = server();
    let phone = channel("phone", &ntfy.url(), folder.path(), "details = true\n");
    let phone = phone.replace("\"owner\"", "\"nobody\"");
    let fixture = installation(folder.path(), "phone", &phone);
    let asked = fixture.ask(MEDIUM);
    let message = ntfy.wait(1).remove(0).json();
    fixture.wait_for_delivery_record(&asked);
    for label in ["Approve once", "Deny"] {
        press(&fixture, action(&message, label).unwrap());
    }
    ntfy.wait(3);
    assert_eq!(fixture.state(&asked), "pending");
}

#[test]
fn a_bad_server_is_asked_again_and_a_refusal_is_final() {
    let _shared = shared();
    let folder = tempfile::tempdir().unwrap();
    let ntfy = server();
    let fixture =
        installation(folder.path(), "phone", &channel("phone", &ntfy.url(), folder.path(), ""));
    for manner in [
        Manner::Answers(429, "retry-after: 2\r\n"),
        Manner::Answers(500, ""),
        Manner::Hangs,
        Manner::BreaksOff,
    ] {
        let before = ntfy.got().len();
        ntfy.will(&[manner]);
        let asked = fixture.ask(&format!("{MEDIUM} # {manner:?}"));
        let got = ntfy.wait(before + 2);
        let (first, second) = (&got[before], &got[before + 1]);
        assert_eq!(first.json()["sequence_id"], second.json()["sequence_id"], "{manner:?}");
        let pause = second.at - first.at;
        let least = if matches!(manner, Manner::Answers(429, _)) { 2 } else { 1 };
        assert!(pause >= Duration::from_secs(least), "{manner:?}: {pause:?}");
        assert!(!first.body.contains(MEDIUM), "no call unless the operator wants it: {first:?}");
        until("the record", || fixture.look(&asked)["deliveries"][0]["state"] == "arrived");
    }
    ntfy.will(&[Manner::Answers(403, "")]);
    let asked = fixture.ask(&format!("{MEDIUM} # refused"));
    until("the record", || fixture.look(&asked)["deliveries"][0]["state"] == "failed");
    assert!(fixture.problem("phone").contains("403"));
}

#[test]
fn the_time_to_a_message_is_reported() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let ntfy = server();
    let fixture =
        installation(folder.path(), "phone", &channel("phone", &ntfy.url(), folder.path(), ""));
    let middle = median_to_message(&fixture, |number| ntfy.wait(number + 1)[number].at);
    report_figures(&format!("ntfy: request to message, median of 100: {middle:.1} ms"));
}

#[test]
fn a_dead_channel_costs_at_most_one_level() {
    let _alone = alone();
    // Nobody listens there any more.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // Takes connections and never says anything.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for dead in [closed, silent.local_addr().unwrap()] {
        let folder = tempfile::tempdir().unwrap();
        let (ntfy, later) = (server(), server());
        let channels = channel("dead", &format!("http://{dead}"), folder.path(), "")
            + &channel("phone", &ntfy.url(), folder.path(), "")
            + &channel("later", &later.url(), folder.path(), "")
            + "[times]\nhigh_escalation_seconds = 2\n";
        let levels = "first = [\"dead\"]\nnext = [\"phone\"]\nadministrators = [\"later\"]";
        let fixture = Fixture::new(installation_with(folder.path(), levels, &channels));
        let since = Instant::now();
        fixture.ask(HIGH);
        let told = ntfy.wait(1)[0].at;
        let took = told - since;
        report_figures(&format!("a dead channel: the next was told after {} ms", took.as_millis()));
        assert!(told < later.wait(1)[0].at, "the level after the next was told first");
    }
}
