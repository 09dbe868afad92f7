//! What the proxy adds to a call that passes.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::wires::{Place, Wire, alone, say};

/// The usual bar is 0.3 ms; a busy machine and a build without the optimiser get more.
const BAR: Duration = Duration::from_millis(3);

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
    let place = Place::new();
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
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    let [direct, through] = times.each_mut().map(median);
    let added = through.saturating_sub(direct);
    say(&format!("a call that passes: {direct:?} direct, {through:?} through, {added:?} added"));
    assert!(added < BAR, "{added:?}");
}
