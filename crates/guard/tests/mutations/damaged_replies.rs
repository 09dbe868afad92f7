//! 100,000 damaged replies of each family against a second opinion.

use countersign_guard::{GuardFamily, GuardRole, GuardVerdict};
use serde_json::Value;

const ROUNDS: usize = 100_000;
const MODEL: &str = "m";

/// A small generator with a fixed seed, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % below.max(1)
    }
}

fn seeds(family: GuardFamily) -> Vec<String> {
    let texts: &[&str] = match family {
        GuardFamily::LlamaGuard => {
            &["safe", "unsafe\\nS11", "unsafe\\nS1,S10", "\\n\\nsafe", "Safe", "not safe", ""]
        }
        GuardFamily::Qwen3Guard => &[
            "Safety: Safe\\nCategories: None",
            "Safety: Safe\\nCategories: None\\nRefusal: No",
            "Safety: Unsafe\\nCategories: Violent",
            "Safety: Controversial\\nCategories: None\\nRefusal: Yes",
        ],
        GuardFamily::OpenaiModeration => return moderation_seeds(),
    };
    let mut seeds = Vec::new();
    for text in texts {
        for (done, reason) in [("true", "stop"), ("false", "stop"), ("true", "length")] {
            seeds.push(format!(
                r#"{{"model":"m","response":"{text}","done":{done},"done_reason":"{reason}"}}"#
            ));
        }
    }
    seeds.push(r#"{"error":"model not found"}"#.to_owned());
    seeds
}

fn moderation_seeds() -> Vec<String> {
    let names = [
        "harassment",
        "harassment/threatening",
        "hate",
        "hate/threatening",
        "self-harm",
        "self-harm/instructions",
        "self-harm/intent",
        "sexual",
        "sexual/minors",
        "violence",
        "violence/graphic",
    ];
    [("false", "false"), ("true", "false"), ("true", "true"), ("false", "true")]
        .map(|(flagged, last)| {
            let all: Vec<String> = names
                .iter()
                .map(|name| {
                    let value = if *name == "violence/graphic" { last } else { "false" };
                    format!("\"{name}\":{value}")
                })
                .collect();
            let all = all.join(",");
            format!(r#"{{"results":[{{"flagged":{flagged},"categories":{{{all}}}}}]}}"#)
        })
        .to_vec()
}

fn damage(reply: &str, other: &str, random: &mut Random) -> Vec<u8> {
    let mut bytes = reply.as_bytes().to_vec();
    for _ in 0..random.next(4) {
        let (at, len) = (random.next(bytes.len() + 1), bytes.len());
        match random.next(8) {
            0 if at < len => bytes[at] ^= 1 << random.next(8),
            1 if at < len => {
                bytes.remove(at);
            }
            2 => bytes.insert(at, b"\"{}[]:,\\ \nsafeSUnt0"[random.next(19)]),
            3 => bytes.truncate(at),
            4 => {
                let end = (at + random.next(30)).min(len);
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            5 => {
                let from = random.next(other.len());
                bytes.splice(at.., other.as_bytes()[from..].to_vec());
            }
            6 => bytes.extend_from_slice(other.as_bytes()),
            _ => {
                let end = (at + random.next(12)).min(len);
                bytes.drain(at..end);
            }
        }
    }
    bytes
}

/// Whether these bytes are a safe reply, decided in another way than the parsers do.
fn is_exactly_safe(family: GuardFamily, role: GuardRole, bytes: &[u8]) -> bool {
    let Ok(reply) = serde_json::from_slice::<Value>(bytes) else { return false };
    if family == GuardFamily::OpenaiModeration {
        let results = reply["results"].as_array();
        let Some([result]) = results.map(Vec::as_slice) else { return false };
        let categories = result["categories"].as_object();
        let calm = |one: (&String, &Value)| {
            one.1 == &Value::Bool(false) || one.0.starts_with("illicit") && one.1.is_null()
        };
        return result["flagged"] == Value::Bool(false)
            && categories.is_some_and(|all| all.len() >= 11 && all.iter().all(calm));
    }
    let text = reply["response"].as_str().unwrap_or_default().trim_matches(['\n', ' ']);
    let safe = match (family, role) {
        (GuardFamily::LlamaGuard, _) => text == "safe",
        (_, GuardRole::User) => text == "Safety: Safe\nCategories: None",
        (_, GuardRole::Agent) => ["Yes", "No"]
            .iter()
            .any(|word| text == format!("Safety: Safe\nCategories: None\nRefusal: {word}")),
    };
    safe && reply["model"] == MODEL
        && reply["done"] == Value::Bool(true)
        && reply["done_reason"] == "stop"
        && reply.get("error").is_none()
}

#[test]
fn a_damaged_reply_is_never_safe() {
    for family in GuardFamily::ALL {
        let seeds = seeds(family);
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let (mut safe, mut other) = (0_usize, 0_usize);
        for round in 0..ROUNDS {
            let role = [GuardRole::User, GuardRole::Agent][round % 2];
            let (one, two) = (random.next(seeds.len()), random.next(seeds.len()));
            let bytes = damage(&seeds[one], &seeds[two], &mut random);
            let shown = String::from_utf8_lossy(&bytes);
            if family.parse(MODEL, role, 200, &bytes) == GuardVerdict::Safe {
                safe += 1;
                assert!(is_exactly_safe(family, role, &bytes), "{}: {shown}", family.name());
            } else {
                other += 1;
            }
            let refused = family.parse(MODEL, role, 503, &bytes);
            assert!(matches!(refused, GuardVerdict::Unavailable(_)), "status 503: {shown}");
        }
        assert!(safe > 100, "{}: the mutations must leave some replies whole", family.name());
        assert!(other > ROUNDS / 2, "{}: {other}", family.name());
    }
}
