//! Several messages in one, in the one version that has them, over both ways.

use std::io::BufRead as _;

use serde_json::{Value, json};

use crate::fixture::{ProxyFixture, Wire, shared, words};
use crate::http::{post, proxy};
use crate::web::Web;

const VERSION: &[(&str, &str)] = &[("VERSION", "2025-03-26")];

fn call(id: u64, tool: &str, arguments: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":\
         {{\"name\":\"{tool}\",\"arguments\":{arguments}}}}}"
    )
}

const READ: &str = r#"{"path":"a"}"#;
const MAIL: &str = r#"{"to":"bo@example.org","n" : 1e2,"big":12345678901234567890123}"#;
const PING: &str = r#"{"jsonrpc":"2.0", "id":"p","method":"ping"}"#;
const NOTICE: &str = r#"{"jsonrpc":"2.0","method":"notifications/odd","z":[1.0] }"#;

fn ids(answer: &Value) -> Vec<&Value> {
    answer.as_array().map(|all| all.iter().map(|one| &one["id"]).collect()).unwrap_or_default()
}

fn client(place: &ProxyFixture) -> Wire {
    let mut client = place.proxy(None, VERSION);
    client.greet();
    client
}

#[test]
fn a_batch_of_which_nothing_needs_a_person_passes_byte_for_byte() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let mut client = client(&place);
    let harmless = format!("[ {},{PING} ]", call(5, "read_file", READ));
    client.send(&harmless);
    assert!(client.next().is_array());
    assert!(place.log().lines().any(|line| line == harmless));
}

/// One batch with everything in it, and what the server may get of it.
fn mixed() -> (String, [String; 2]) {
    let (read, mail) = (call(5, "read_file", READ), call(6, "send_email", MAIL));
    let delete = call(7, "delete_file", READ);
    let wrong = call(8, "read_file", "[]");
    let all = format!("[{read} , {mail},{delete},{PING},{NOTICE},{wrong}]");
    (all, [read, mail])
}

/// Says yes to the mail and no to the deletion, both of one group.
fn answer_both(place: &ProxyFixture) {
    let waiting = place.waiting(2);
    let group = &place.request(&waiting[0]["id"])["group"];
    assert!(group.is_string(), "{group}");
    for request in &waiting {
        assert_eq!(*group, place.request(&request["id"])["group"]);
        let yes = request["tool"] == "mcp__files__send_email";
        assert_eq!(place.decide(request, yes, None).status, 200);
    }
}

fn check_mixed(answer: &Value) {
    assert_eq!(ids(answer), [&json!(5), &json!(6), &json!(7), &json!("p"), &json!(8)], "{answer}");
    assert!(words(&answer[0]).starts_with("ran read_file"), "{answer}");
    assert!(words(&answer[1]).starts_with("ran send_email"), "{answer}");
    assert_eq!(answer[2]["result"]["isError"], true, "{answer}");
    assert!(words(&answer[2]).contains("as planned"), "{answer}");
    assert_eq!(answer[3]["result"], json!({}));
    assert_eq!(answer[4]["error"]["code"], -32602);
}

#[test]
fn a_batch_is_asked_about_as_one_group_and_answered_as_one() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let mut client = client(&place);
    let (all, runs) = mixed();
    client.send(&all);
    place.waiting(2);
    assert!(!place.reached("send_email") && !place.reached("delete_file"));
    answer_both(&place);
    check_mixed(&client.next());
    for line in runs.iter().map(String::as_str).chain([PING, NOTICE]) {
        assert!(place.log().lines().any(|logged| logged == line), "{line}: {}", place.log());
    }
    assert!(!place.reached("delete_file"));
}

#[test]
fn calls_of_a_batch_keep_their_order_where_it_matters() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let mut client = client(&place);
    client.send(&format!("[{},{}]", call(1, "send_email", MAIL), call(2, "read_file", READ)));
    place.waiting(1);
    // The server has answered something later, so it would have been asked by now.
    client.send(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
    assert_eq!(client.next()["id"], "list");
    assert!(!place.reached("read_file"), "it overtook the call before it");
    place.answer(true);
    let answer = client.next();
    assert_eq!(ids(&answer), [&json!(1), &json!(2)], "{answer}");
    assert!(words(&answer[1]).starts_with("ran read_file"), "{answer}");

    // One that is taken back is not answered, never runs, and does not keep the others.
    client.send(&format!("[{},{}]", call(3, "send_email", MAIL), call(4, "read_file", READ)));
    place.waiting(1);
    let reached = place.log().matches("send_email").count();
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#);
    let answer = client.next();
    assert_eq!(ids(&answer), [&json!(4)], "{answer}");
    assert_eq!(place.log().matches("send_email").count(), reached);
}

#[test]
fn an_odd_batch_is_refused_whole() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let mut client = client(&place);
    let before = place.log();
    let read = call(5, "read_file", READ);
    let many = vec![NOTICE; 101].join(",");
    for odd in [
        "[]".to_owned(),
        format!("[{read},{read}]"),
        format!("[{read},[{}]]", call(6, "read_file", READ)),
        format!("[{read},7]"),
        format!("[{read},{}]", read.replace("\"id\":5,", "")),
        format!("[{read},{}]", read.replace("\"id\":5", "\"id\":6,\"id\":7")),
        format!("[{many}]"),
    ] {
        client.send(&odd);
        let answer = client.next();
        let first = answer.get(0).unwrap_or(&answer);
        let code = first["error"]["code"].as_i64().unwrap_or_default();
        assert!(code == -32600 || code == -32700, "{odd}: {answer}");
    }
    assert_eq!(place.log(), before);
    // An id that is in use is not used again inside a batch.
    client.send(&call(9, "send_email", MAIL));
    place.waiting(1);
    client.send(&format!("[{}]", call(9, "read_file", READ)));
    assert_eq!(client.next()[0]["error"]["code"], -32600);
    assert!(!place.reached("read_file"));
}

#[test]
fn a_batch_over_http_is_asked_about_as_one_group_and_answered_as_one() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let web = Web::new();
    let (_proxy, address) = proxy(&place, web.port, None);
    let (all, runs) = mixed();
    let (head, mut stream) = post(address, "", &all);
    assert!(head.to_lowercase().contains("content-type: text/event-stream"), "{head}");
    place.waiting(2);
    assert!(!web.reached("send_email") && !web.reached("delete_file"));
    answer_both(&place);
    let mut answer = Value::Null;
    while answer.is_null() {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "it broke off");
        if let Some(data) = line.strip_prefix("data: ") {
            answer = serde_json::from_str(data).unwrap();
        }
    }
    check_mixed(&answer);
    for body in runs.iter().map(String::as_str).chain([PING, NOTICE]) {
        assert!(web.log().iter().any(|logged| logged == body), "{body}: {:?}", web.log());
    }
    assert!(!web.reached("delete_file"));
    // Another version has no batches, and an odd one is refused whole.
    let before = web.log().len();
    for (headers, body) in [
        ("mcp-protocol-version: 2025-06-18\r\n", format!("[{PING}]")),
        ("", format!("[{PING},{PING}]")),
        ("", format!("[{PING},[{PING}]]")),
        ("", "[]".to_owned()),
    ] {
        let (head, _) = post(address, headers, &body);
        assert!(head.starts_with("HTTP/1.1 400"), "{body}: {head}");
    }
    assert_eq!(web.log().len(), before);
    // What is harmless passes as it is.
    let harmless = format!("[ {PING},{} ]", call(1, "read_file", READ));
    post(address, "", &harmless);
    assert_eq!(web.log().last(), Some(&harmless));
}
