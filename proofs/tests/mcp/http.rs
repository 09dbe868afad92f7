//! The proxy over HTTP: what the official SDKs and the conformance suite see, and what is held.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proof_skip::{Cause, skip};
use proofs::http::Client;
use serde_json::{Value, json};

use crate::fixture::{ProxyFixture, report_figures, shared, until};
use crate::sdks::{ApproveAll, here, node, python, run, target};
use crate::web::Web;

/// Ended with the proof.
pub struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server of the Python SDK on a port of its own.
fn server(python: &str, script: &str) -> (Server, u16) {
    let port = free_port();
    let mut command = Command::new(python);
    command.args([here(script), port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    let child = Server(command.spawn().unwrap());
    let end = Instant::now() + Duration::from_mins(1);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < end, "{script} does not start");
        std::thread::sleep(Duration::from_millis(50));
    }
    (child, port)
}

/// A proxy before it.
pub fn proxy(place: &ProxyFixture, upstream: u16, patience: Option<u64>) -> (Server, SocketAddr) {
    let mut words = place.proxy_words(patience);
    words.push(format!("http://127.0.0.1:{upstream}/mcp"));
    listening(&words)
}

/// Starts a proxy with these words, and where it listens.
pub fn listening(words: &[String]) -> (Server, SocketAddr) {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env("PROXY", "http").stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (Server(child), line.trim().parse().unwrap())
}

#[test]
fn the_sdks_see_the_same_over_http_in_both_eras() {
    let (Some(python), Some(node)) = (python(), node()) else {
        return skip(Cause::Tool, "the MCP SDKs are not installed");
    };
    let _shared = shared();
    let place = ProxyFixture::new();
    let _yes = ApproveAll::new(&place);
    let (_server, port) = server(&python, "sdk_server.py");
    let (_proxy, address) = proxy(&place, port, None);
    let clients = [
        (&python, "sdk_client.py", "legacy"),
        (&python, "sdk_client.py", "auto"),
        (&node, "sdk_client.mjs", "v1"),
        (&node, "sdk_client.mjs", "v2"),
        (&node, "sdk_client.mjs", "auto"),
    ];
    for (program, script, era) in clients {
        let words = |url: String| {
            run(&[program.clone(), here(script), era.to_owned(), "http".to_owned(), url])
        };
        let direct = words(format!("http://127.0.0.1:{port}/mcp"));
        let through = words(format!("http://{address}/mcp"));
        for (part, value) in direct.as_object().unwrap() {
            assert_eq!(*value, through[part], "{script} {era}: {part}");
        }
        let parts = direct.as_object().unwrap().len();
        report_figures(&format!(
            "{script} ({era}) over HTTP: {parts} parts alike, direct and through"
        ));
    }
}

#[test]
fn the_conformance_suite_counts_the_same_direct_and_through() {
    let suite = target("mcp/node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let (Some(python), Some(node), true) = (python(), node(), suite.is_file()) else {
        return skip(Cause::Tool, "the MCP conformance suite is not installed");
    };
    let _shared = shared();
    let place = ProxyFixture::new();
    let _yes = ApproveAll::new(&place);
    let (_server, port) = server(&python, "conformance_server.py");
    let (_proxy, address) = proxy(&place, port, None);
    let count = |url: String, revision: &str| {
        let out = Command::new(&node)
            .arg(&suite)
            .args(["server", "--url", &url, "--requirements", revision])
            .current_dir(place.folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let summary: Vec<String> = text
            .lines()
            .filter(|line| line.contains("passed") && line.contains("failed"))
            .map(ToOwned::to_owned)
            .collect();
        assert!(!summary.is_empty(), "{text}{}", String::from_utf8_lossy(&out.stderr));
        summary
    };
    for revision in ["2025-11-25", "2026-07-28"] {
        // A scenario of the suite may run into one of its time-outs, direct as well as through: a
        // fault of the proxy shows in every try.
        let mut tries = (0..3).map(|_| {
            let direct = count(format!("http://127.0.0.1:{port}/mcp"), revision);
            (direct, count(format!("http://{address}/mcp"), revision))
        });
        let mut seen = Vec::new();
        let alike = tries.find_map(|(direct, through)| {
            let total = direct.last().cloned().unwrap_or_default();
            let same = direct == through;
            seen.extend(direct.into_iter().zip(through).filter(|(a, b)| a != b));
            same.then_some(total)
        });
        let Some(total) = alike else { panic!("{revision}: {seen:#?}") };
        report_figures(&format!(
            "conformance {revision}: the same direct and through: {}",
            total.trim()
        ));
    }
}

/// A plain HTTP exchange: the head, and the stream behind it.
pub fn post(address: SocketAddr, headers: &str, body: &str) -> (String, BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let text = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    (head, reader)
}

/// Reads until a text came; all that came.
fn read_until(stream: &mut BufReader<TcpStream>, text: &str) -> String {
    let mut said = String::new();
    while !said.contains(text) {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "{said}");
        said.push_str(&line);
    }
    said
}

fn call(tool: &str, arguments: &Value) -> String {
    let meta = crate::fixture::modern();
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string()
}

const HEADERS: &str = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n";

#[test]
fn a_held_call_answers_with_a_stream_at_once_and_a_client_that_leaves_takes_it_back() {
    let Some(python) = python() else {
        return skip(Cause::Tool, "the Python MCP SDK is not installed");
    };
    let _shared = shared();
    let place = ProxyFixture::new();
    let (_server, port) = server(&python, "sdk_server.py");
    let (_proxy, address) = proxy(&place, port, None);
    let body = call("send_message", &json!({"to": "bo", "text": "hi"}));
    let headers = format!("{HEADERS}mcp-name: send_message\r\n");
    // Before a person has answered.
    let (head, mut stream) = post(address, &headers, &body);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.to_lowercase().contains("content-type: text/event-stream"), "{head}");
    place.answer(false);
    let said = read_until(&mut stream, "\"isError\":true");
    assert!(said.contains("Denied by a human reviewer"), "{said}");

    let (_, stream) = post(address, &headers, &body);
    let request = place.waiting(1).remove(0);
    drop(stream);
    until("its end", || place.request(&request["id"])["state"] != "pending");
    assert_eq!(place.request(&request["id"])["state"], "cancelled");
}

#[test]
fn who_is_not_meant_and_what_contradicts_itself_is_refused() {
    let Some(python) = python() else {
        return skip(Cause::Tool, "the Python MCP SDK is not installed");
    };
    let _shared = shared();
    let place = ProxyFixture::new();
    let (_server, port) = server(&python, "sdk_server.py");
    let (_proxy, address) = proxy(&place, port, None);
    let read = call("read_note", &json!({"name": "a"}));
    let status = |headers: &str, body: &str| {
        let (head, mut stream) = post(address, headers, body);
        let mut rest = [0; 512];
        let count = stream.read(&mut rest).unwrap_or(0);
        (
            head.split(' ').nth(1).unwrap().to_owned(),
            String::from_utf8_lossy(&rest[..count]).into_owned(),
        )
    };
    assert_eq!(status("origin: http://evil.example\r\n", &read).0, "403");
    let (code, said) = status("mcp-method: tools/list\r\n", &read);
    assert_eq!(code, "400");
    assert!(said.contains("-32020"), "{said}");
    assert_eq!(status("mcp-name: add\r\n", &read).0, "400");
    assert_eq!(status("content-encoding: gzip\r\n", &read).0, "415");
    assert_eq!(status("", "{\"a\":1,\"a\":2}").0, "400");
    assert_eq!(status("", &read.replace("tools/call", "Tools/call")).0, "400");
}

/// One modern request with its headers; the last header names the session.
fn ask(client: &mut Client, method: &str, name: &str, params: &Value, owner: &str) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 3, "method": method, "params": params});
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
        ("mcp-name", name),
        ("accept", "application/json, text/event-stream"),
        ("authorization", owner),
    ];
    let reply = client.send("POST", "/mcp", &headers, Some(&body.to_string())).unwrap();
    assert_eq!((reply.status, &reply.body["id"]), (200, &json!(3)), "{}", reply.body);
    reply.body["result"].clone()
}

fn about(client: &mut Client, method: &str, task: &str, owner: &str) -> Value {
    let params = json!({"taskId": task, "_meta": crate::fixture::modern()});
    ask(client, method, task, &params, owner)
}

fn ended(client: &mut Client, task: &str) -> Value {
    let mut found = Value::Null;
    until("the end of the task", || {
        found = about(client, "tasks/get", task, "Bearer mine");
        found["status"] != "working"
    });
    found
}

fn start_task(client: &mut Client) -> String {
    let mut meta = crate::fixture::modern();
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let mail = json!({"to": "bo@example.org", "text": "hi"});
    let call = json!({"name": "send_email", "arguments": mail, "_meta": meta});
    let made = ask(client, "tools/call", "send_email", &call, "Bearer mine");
    assert_eq!((&made["resultType"], &made["status"]), (&json!("task"), &json!("working")));
    made["taskId"].as_str().unwrap().to_owned()
}

#[test]
fn a_client_that_knows_tasks_gets_one_over_http_too() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let web = Web::new();
    let (_proxy, address) = proxy(&place, web.port, Some(300));
    let client = &mut Client::new(address);
    let task = start_task(client);
    place.waiting(1);
    // It outlives the client's own patience of 300 ms: nobody gives up on a task.
    let past = Instant::now() + Duration::from_millis(600);
    while Instant::now() < past {
        assert_eq!(about(client, "tasks/get", &task, "Bearer mine")["status"], "working");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!web.reached("send_email"));
    place.answer(true);
    let done = ended(client, &task);
    let text = done["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(done["status"] == "completed" && text.starts_with("ran send_email"), "{done}");
    // It is nobody else's business: the server is asked, which knows nothing of it.
    assert_eq!(about(client, "tasks/get", &task, "Bearer another"), json!({}));

    let task = start_task(client);
    place.answer(false);
    let denied = ended(client, &task);
    let (status, failed) = (&denied["status"], &denied["result"]["isError"]);
    assert_eq!((status, failed), (&json!("completed"), &json!(true)), "{denied}");

    let task = start_task(client);
    let request = place.waiting(1).remove(0);
    let complete = json!({"resultType": "complete"});
    assert_eq!(about(client, "tasks/cancel", &task, "Bearer mine"), complete);
    assert_eq!(ended(client, &task)["status"], "cancelled");
    until("its end", || place.request(&request["id"])["state"] != "pending");
    let ran = web.log().iter().filter(|body| body.contains("send_email")).count();
    assert_eq!(ran, 1, "only what was approved reached the server");
}
