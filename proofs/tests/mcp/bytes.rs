//! Whatever is not gated passes byte for byte, both ways.

use serde_json::json;

use crate::fixture::{ProxyFixture, report_figures, shared};

/// Small random numbers that need no quality.
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// A JSON text as odd as JSON may be.
    fn json(&mut self, depth: usize) -> String {
        let blank = self.one(&["", "", " ", "  ", "\t"]);
        let atoms = [
            "null",
            "true",
            "-0",
            "0.10",
            "1E+2",
            "12345678901234567890123",
            "1e400",
            "-1.0e-7",
            "\"\"",
            "\"\\u00e9\\/\"",
            "\"é\u{2028}\u{1F600}\"",
            "\"\\ud83d\\ude00\"",
            "\"tools/call\"",
        ];
        if depth == 0 || self.below(3) == 0 {
            return format!("{blank}{}{blank}", self.one(&atoms));
        }
        let count = self.below(4);
        if self.below(2) == 0 {
            let items: Vec<String> = (0..count).map(|_| self.json(depth - 1)).collect();
            return format!("{blank}[{}]", items.join(","));
        }
        let members: Vec<String> = (0..count)
            .map(|at| format!("{blank}\"k{at}\\n\"{blank}:{}", self.json(depth - 1)))
            .collect();
        format!("{blank}{{{}}}{blank}", members.join(","))
    }

    fn message(&mut self, id: usize) -> String {
        let (a, b) = (self.json(4), self.json(3));
        let odd = "\"jsonrpc\":\"2.0\",\"method\":\"notifications/odd\"";
        match self.below(3) {
            0 => format!("{{{odd},\"params\":{{\"a\":{a}}},\"z\":{b}}}"),
            1 => format!("{{ \"unknown\":{a},\"id\":{id} ,\"result\":{b}, \"jsonrpc\":\"2.0\"}}"),
            _ => format!("{{\"params\":{{\"a\":{a}}},\"method\":\"x\\u0079z\",\"more\":{b}}}"),
        }
    }
}

#[test]
fn what_is_not_gated_keeps_every_byte() {
    let _shared = shared();
    let place = ProxyFixture::new();
    let mut client = place.proxy(None, &[]);
    client.greet();
    let before = place.log().len();
    let mut rng = Rng(0x5EED_CAFE);
    let sent: Vec<String> = (0..500).map(|id| rng.message(id)).collect();
    for message in &sent {
        client.send(message);
    }
    // The way back, asked for as a text and given as a line; the server's odd ones pass too.
    let mut back: Vec<String> = (0..500).map(|id| rng.message(id)).collect();
    back.extend([
        "not json at all {".to_owned(),
        "{\"a\":1,\"a\":2}".to_owned(),
        "[1,]".to_owned(),
    ]);
    for line in &back {
        let ask = json!({"jsonrpc": "2.0", "method": "test/say", "params": {"line": line}});
        client.send(&ask.to_string());
        assert_eq!(client.line(), *line);
    }
    let log = place.log();
    let given: Vec<&str> = log.get(before..).unwrap().lines().take(sent.len()).collect();
    assert_eq!(given, sent);
    report_figures(&format!(
        "{} messages to the server and {} back, byte for byte",
        sent.len(),
        back.len()
    ));
}
