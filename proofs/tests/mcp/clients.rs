//! Several clients of one proxy over HTTP, and clients that leave while their calls wait or run.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};

use crate::fixture::{ProxyFixture, modern, shared, until};
use crate::http::{post, proxy};
use crate::web::Web;

/// A call without a session, under an id that every client uses.
fn call(arguments: &Value) -> String {
    let params = json!({"name": "send_email", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

/// The answer in a stream of events.
fn answer(stream: &mut BufReader<TcpStream>) -> Value {
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended");
        if let Some(data) = line.strip_prefix("data: ") {
            return serde_json::from_str(data).unwrap();
        }
    }
}

#[test]
fn a_client_that_leaves_withdraws_its_own_call_only() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let web = Web::new();
    let (_proxy, address) = proxy(&place, web.port, None);
    let mut streams: Vec<Option<BufReader<TcpStream>>> = Vec::new();
    let mut requests = Vec::new();
    for number in 0..6 {
        let body = call(&json!({"to": format!("client{number}@example.org")}));
        streams.push(Some(post(address, "", &body).1));
        let known: Vec<Value> = requests.clone();
        let waiting = place.waiting(number + 1);
        requests.extend(
            waiting.into_iter().map(|one| one["id"].clone()).filter(|id| !known.contains(id)),
        );
    }
    // A cancellation that could mean any of them withdraws none of them.
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                        "params": {"requestId": 1}});
    post(address, "", &cancel.to_string());
    for leaves in [3, 0] {
        drop(streams[leaves].take());
        let id = &requests[leaves];
        until("the call of the client that left still waits", || {
            place.request(id)["state"] != "pending"
        });
        assert_eq!(place.request(id)["state"], "cancelled");
    }
    for (stream, id) in streams.iter_mut().zip(&requests) {
        let Some(stream) = stream else { continue };
        assert_eq!(place.request(id)["state"], "pending", "another client's call was withdrawn");
        assert_eq!(place.decide(&place.request(id), true, None).status, 200);
        let ran = answer(stream);
        assert_eq!(ran["result"]["isError"], false, "{ran}");
    }
}

#[test]
fn a_session_s_cancellation_withdraws_its_own_call_only() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let web = Web::new();
    let (_proxy, address) = proxy(&place, web.port, None);
    let mut streams = Vec::new();
    for session in ["one", "two"] {
        let headers = format!("mcp-session-id: {session}\r\n");
        let body = call(&json!({"to": format!("{session}@example.org")}));
        streams.push(post(address, &headers, &body).1);
    }
    let waiting = place.waiting(2);
    let of = |session: &str| {
        let is_its = |one: &&Value| place.request(&one["id"]).to_string().contains(session);
        waiting.iter().find(is_its).unwrap()["id"].clone()
    };
    let (one, two) = (of("one@example.org"), of("two@example.org"));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                        "params": {"requestId": 1}});
    let (head, _) = post(address, "mcp-session-id: two\r\n", &cancel.to_string());
    assert!(head.starts_with("HTTP/1.1 202"), "{head}");
    until("the call still waits", || place.request(&two)["state"] == "cancelled");
    assert_eq!(place.request(&one)["state"], "pending");
}

/// Sends a call, approves it, and leaves while it runs. Its request.
fn leaves_while_it_runs(
    place: &ProxyFixture,
    (web, address): (&Web, SocketAddr),
    (headers, body): (&str, &str),
    accept: &str,
) -> Value {
    use std::io::Write as _;
    let before = web.log().len();
    let mut stream = TcpStream::connect(address).unwrap();
    let text = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: {accept}\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).unwrap();
    let request = place.answer(true);
    until("the approved call does not run", || {
        web.log().iter().skip(before).any(|body| body.contains("tools/call"))
    });
    // The server has answered something later, so the call is at the server.
    drop(stream);
    request["id"].clone()
}

fn reported(place: &ProxyFixture, request: &Value) -> Value {
    let mut reported = Value::Null;
    until("no outcome was reported", || {
        reported = place.request(request)["reported"].clone();
        !reported.is_null()
    });
    reported
}

#[test]
fn what_came_of_a_call_is_recorded_although_its_client_left() {
    let _shared = shared();
    let place = ProxyFixture::new();
    for wait in ["json", "events", "breaks off"] {
        for accept in ["application/json, text/event-stream", "application/json"] {
            let web = Web::new();
            let (_proxy, address) = proxy(&place, web.port, None);
            let body = call(&json!({"to": "bo@example.org", "wait": wait}));
            let message = ("", body.as_str());
            let request = leaves_while_it_runs(&place, (&web, address), message, accept);
            // The proxy hears that the client left before it hears this.
            let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {}});
            let (head, _) = post(address, "", &ping.to_string());
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            web.release();
            let reported = reported(&place, &request);
            let expected = if wait == "breaks off" { "error" } else { "ok" };
            assert_eq!(reported["status"], expected, "{wait}, {accept}: {reported}");
        }
    }
}

#[test]
fn a_modern_client_cancels_by_leaving_and_that_is_recorded() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let web = Web::new();
    let (_proxy, address) = proxy(&place, web.port, None);
    let arguments = json!({"to": "bo@example.org", "wait": "events"});
    let params = json!({"name": "send_email", "arguments": arguments, "_meta": modern()});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n\
                   mcp-name: send_email\r\n";
    let accept = "application/json, text/event-stream";
    let message = (headers, &*body.to_string());
    let request = leaves_while_it_runs(&place, (&web, address), message, accept);
    // Although the server does not answer any more.
    let reported = reported(&place, &request);
    assert_eq!(reported["status"], "error", "{reported}");
    web.release();
}
