//! What the proxy adds to a call that passes.

use std::process::Command;
use std::time::{Duration, Instant};

use proofs::http::Client;
use serde_json::json;

use crate::fixture::{ProxyFixture, Wire, alone, report_figures};
use crate::http::proxy;
use crate::web::Web;

fn measure(client: &mut Wire, first: usize, count: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(count);
    for id in first..first + count {
        let start = Instant::now();
        client.call(id, "read_file", &json!({"path": "notes.txt"}));
        let _ = client.line();
        times.push(start.elapsed());
    }
    times
}

#[test]
fn a_harmless_call_takes_hardly_longer_through_the_proxy() {
    let _alone = alone();
    let place = ProxyFixture::new();
    let mut direct = Command::new("python3");
    direct.arg(format!("{}/tests/mcp/server.py", env!("CARGO_MANIFEST_DIR")));
    direct.env("LOG", place.path("log2")).env("TOOLS", place.path("tools.json"));
    let mut clients = [Wire::open(direct), place.proxy(None, &[])];
    let mut times = [Vec::new(), Vec::new()];
    clients.iter_mut().for_each(Wire::greet);
    // In turn, so that a busy machine slows both alike.
    for round in 0..20 {
        for (client, times) in clients.iter_mut().zip(&mut times) {
            times.extend(measure(client, 100 + round * 50, 50));
        }
    }
    compare("over stdio", times);
}

/// Says the medians of what was measured direct and through.
fn compare(way: &str, mut times: [Vec<Duration>; 2]) {
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    let [direct, through] = times.each_mut().map(median);
    let added = through.saturating_sub(direct);
    report_figures(&format!(
        "a call that passes {way}: {direct:?} direct, {through:?} through, {added:?} added"
    ));
}

fn measure_http(client: &mut Client, first: usize, count: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(count);
    for id in first..first + count {
        let params = json!({"name": "read_file", "arguments": {"path": "notes.txt"}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let call = call.to_string();
        let accept = [("accept", "application/json, text/event-stream")];
        let start = Instant::now();
        let reply = client.send("POST", "/mcp", &accept, Some(&call)).unwrap();
        times.push(start.elapsed());
        assert_eq!((reply.status, &reply.body["id"]), (200, &json!(id)), "{}", reply.body);
        assert_eq!(reply.body["result"]["isError"], false, "{}", reply.body);
    }
    times
}

#[test]
fn a_harmless_call_over_http_takes_hardly_longer_through_the_proxy() {
    let _alone = alone();
    let place = ProxyFixture::new();
    let web = Web::new();
    let (_proxy, address) = proxy(&place, web.port, None);
    let mut clients = [Client::new(([127, 0, 0, 1], web.port).into()), Client::new(address)];
    let mut times = [Vec::new(), Vec::new()];
    // The first call makes the proxy list the tools.
    for client in &mut clients {
        measure_http(client, 0, 20);
    }
    for round in 0..20 {
        for (client, times) in clients.iter_mut().zip(&mut times) {
            times.extend(measure_http(client, 100 + round * 50, 50));
        }
    }
    assert!(web.reached("read_file"));
    compare("over HTTP", times);
}
