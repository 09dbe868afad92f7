//! What policy rules add to the time of a call: 1,000 rules over a file of calls, over the recorded
//! sessions in the folder `COUNTERSIGN_SESSIONS`, or over a few calls.
//!
//! `cargo run --release -p benches --bin policy -- calls.jsonl`

use std::time::{Duration, Instant};

use countersign_json as json;
use countersign_policy::{CallTime, CompiledPolicy, PolicyFacts, PolicySection};
use countersign_risk::assess::assess;
use countersign_risk::call::Call;
use countersign_risk::verdict::Policy;

const RULES: usize = 1_000;
const CALLS: &str = r#"{"command":"ls -la"}
{"command":"git status && git diff --stat"}
{"command":"cargo test -p shop --lib"}
{"command":"rm -rf build"}
{"command":"curl -s https://api.example.com/v1/things"}
{"command":"program7 action7 a"}
{"tool":"Read","arguments":{"file_path":"/srv/shop/src/main.rs"}}
{"tool":"Write","arguments":{"file_path":"/srv/shop/src/main.rs","content":"x"}}
{"tool":"send_message","arguments":{"to":"bo@example.com","text":"hi"}}"#;

fn main() {
    let sessions = std::env::var("COUNTERSIGN_SESSIONS").ok();
    let file = std::env::args().nth(1).or(sessions.map(|folder| folder + "/sessions.jsonl"));
    let text = match file {
        Some(file) => std::fs::read_to_string(file).unwrap_or_default(),
        None => CALLS.to_owned(),
    };
    let Ok(section) = toml::from_str::<PolicySection>(&rules()) else { return };
    let start = Instant::now();
    let Ok(policy) = CompiledPolicy::compile("countersign.toml", &section, &[]) else { return };
    println!("{} rules compiled in {:?}", policy.rules().len(), start.elapsed());
    let (mut assessing, mut added, mut decided) = (Vec::new(), Vec::new(), 0);
    for line in text.lines() {
        let Ok(value) = json::parse(line) else { continue };
        let Ok(call) = Call::from_json(&value) else { continue };
        let start = Instant::now();
        let seen = assess(&call, &Policy::default());
        assessing.push(start.elapsed());
        let start = Instant::now();
        let facts = PolicyFacts::new(&call, &seen, false, CallTime::default());
        let decision = policy.decide(&facts, &seen);
        added.push(start.elapsed());
        decided += usize::from(decision.ruling.is_some());
    }
    println!("{} calls, {decided} decided by a rule", added.len());
    print("assessment", assessing);
    print("rules added", added);
}

/// Rules about what agents really do, so that some of them match.
const COMMON: [(&str, &str); 10] = [
    ("ask", "commands = [\"git push\", \"npm publish\"]"),
    ("ask", "commands = [\"docker run\", \"kubectl apply\"]"),
    ("deny", "commands = [\"terraform destroy\"]"),
    ("deny", "paths = [\"/etc\", \"~/.ssh\"]"),
    ("ask", "hosts = [\"github.com\"]"),
    ("ask", "recipients = [\"@example.com\"]"),
    ("ask", "tools = [\"send_message\"]\nquorum = 2"),
    ("allow", "commands = [\"npm test\", \"cargo test\", \"git commit\"]"),
    ("allow", "commands = [\"npm install\"]\nenvironments = [\"container\"]"),
    ("allow", "exact_commands = [\"make deploy\"]"),
];

/// Rules of every kind, as an organisation would have them.
fn rules() -> String {
    let mut text = "permit_up_to = \"MEDIUM\"\n".to_owned();
    for (number, (decision, what)) in COMMON.iter().enumerate() {
        let rule = format!("[[rule]]\nname = \"c{number}\"\ndecision = \"{decision}\"\n{what}\n");
        text.push_str(&rule);
    }
    for number in COMMON.len()..RULES {
        // A rule with commands or paths becomes two.
        let (decision, what) = match number % 5 {
            0 => ("deny", format!("commands = [\"program{number} action{number}\"]")),
            1 => ("ask", format!("paths = [\"/srv/app{number}\"]")),
            2 => ("deny", format!("hosts = [\"host{number}.example\"]")),
            3 => ("ask", format!("recipients = [\"@team{number}.example\"]")),
            _ => ("allow", format!("commands = [\"tool{number} deploy\"]")),
        };
        let rule = format!("[[rule]]\nname = \"r{number}\"\ndecision = \"{decision}\"\n{what}\n");
        text.push_str(&rule);
    }
    text
}

fn print(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    println!("{name}: median {:?}, 90 % {:?}, 99 % {:?}", at(50), at(90), at(99));
}
