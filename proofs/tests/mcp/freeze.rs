//! A freeze reaches the proxy: harmless calls do not pass by themselves, waiting ones are denied.

use serde_json::json;

use crate::fixture::{ProxyFixture, shared, words};

#[test]
fn a_freeze_stops_waiting_new_and_harmless_calls() {
    let _shared = shared();
    let place = ProxyFixture::new();
    // The daemon tells the gateways of its own user, which have this folder.
    let mut command = place.proxy_words(None);
    command[4] = place.path("installation/countersign-gateways").display().to_string();
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/server.py");
    command.extend(["python3".to_owned(), server.to_owned()]);
    let mut client = place.start(&command, &[]);
    client.greet();
    let notes = json!({"path": "notes.txt"});
    client.call(1, "read_file", &notes);
    assert!(words(&client.next()).starts_with("ran read_file"));
    client.call(2, "send_email", &json!({"to": "bo@example.org", "text": "hi"}));
    place.waiting(1);

    let frozen = place.person().post("/v1/freeze", &json!({})).unwrap();
    assert_eq!(frozen.status, 200, "{}", frozen.body);
    let denied = client.next();
    assert!(words(&denied).contains("frozen by owner"), "{denied}");
    for (id, tool, arguments) in [
        (3, "read_file", notes.clone()),
        (4, "send_email", json!({"to": "eve@example.org", "text": "hi"})),
    ] {
        client.call(id, tool, &arguments);
        let refused = client.next();
        assert_eq!(refused["result"]["isError"], true, "{refused}");
        assert!(words(&refused).contains("frozen by owner"), "{refused}");
    }
    assert!(!place.reached("send_email"));
    assert_eq!(place.log().matches("\"tools/call\"").count(), 1, "{}", place.log());

    let thawed = place.person().post("/v1/thaw", &json!({"resume": "people"})).unwrap();
    assert_eq!(thawed.status, 200, "{}", thawed.body);
    client.call(5, "read_file", &notes);
    assert!(words(&client.next()).starts_with("ran read_file"));
    client.call(6, "send_email", &json!({"to": "bo@example.org", "text": "hi"}));
    place.answer(true);
    assert!(words(&client.next()).starts_with("ran send_email"));
    assert_eq!(client.end(), 0);
}
