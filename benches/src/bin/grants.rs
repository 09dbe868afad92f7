//! How long a call takes to find its grants among 100,000.
//!
//! `cargo run --release -p benches --bin grants`

use std::time::{Duration, Instant};

use countersign_json as json;
use countersign_json::canonical::{CallDigest, Digest};
use countersign_risk::assess::assess;
use countersign_risk::call::Call;
use countersign_risk::call_digest::digest;
use countersign_risk::card::Card;
use countersign_risk::context::Environment;
use countersign_risk::verdict::Policy;
use countersign_types::id::Id;
use countersign_types::time::{Moment, Timestamp};
use countersign_workflow::grant::{
    CommandPattern, CommandShape, Grant, GrantDetails, GrantIndex, GrantQuery, GrantShape,
    ShownCommand,
};

const GRANTS: u32 = 100_000;
const ROUNDS: usize = 2_000;
const SHOP: &str = "/srv/shop";
const CALLS: [&str; 5] = [
    r#"{"tool":"bash","arguments":{"command":"tool7 publish packages/a"},"cwd":"/srv/shop"}"#,
    r#"{"tool":"bash","arguments":{"command":"tool7 remove packages/a"},"cwd":"/srv/shop"}"#,
    r#"{"tool":"bash","arguments":{"command":"npm publish && rm -rf dist"},"cwd":"/srv/shop"}"#,
    r#"{"tool":"send_message","arguments":{"to":"user9@example.com","text":"hi"}}"#,
    r#"{"tool":"send_message","arguments":{"to":"eve@example.net","text":"hi"}}"#,
];

fn main() {
    let index: GrantIndex = (0..GRANTS).filter_map(grant).collect();
    println!("{} grants", index.iter().count());
    let now = Moment::reliable(Timestamp(1_000_000));
    for text in CALLS {
        let Ok(value) = json::parse(text) else { continue };
        let Ok(call) = Call::from_json(&value) else { continue };
        let (seen, digest) = (assess(&call, &Policy::default()), digest(&call, b""));
        let asked = GrantQuery {
            agent: "claude",
            session: "s1",
            repository: Some(SHOP),
            cwd: Some(SHOP),
            environment: Environment::default(),
            own_addresses: &[],
            digest: &digest,
            arguments: &call.arguments,
            assessment: &seen,
            crisis: false,
        };
        let mut times = Vec::with_capacity(ROUNDS);
        let mut covered = false;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            covered = !index.covering(&asked, now, |_| true).is_empty();
            times.push(start.elapsed());
        }
        times.sort_unstable();
        let at = |part: usize| times.get(times.len() * part / 1_000).copied().unwrap_or_default();
        let (median, high): (Duration, Duration) = (at(500), at(990));
        println!("{median:>10.1?} {high:>10.1?} (p99)  covered: {covered}  {text}");
    }
}

/// Grants of every kind, as an organisation would have them.
fn grant(number: u32) -> Option<Grant> {
    let shape = match number % 4 {
        0 => GrantShape::Exact { digest: numbered_digest(number) },
        1 => GrantShape::Targets {
            tool: "send_message".to_owned(),
            targets: vec![format!("user{number}@example.com")],
        },
        2 => GrantShape::SameProgram {
            repository: format!("/srv/app{number}"),
            keys: vec![Digest::of(&number.to_be_bytes())],
        },
        _ => command_shape(number)?,
    };
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(number.to_be_bytes()).for_each(|(to, from)| *to = from);
    Some(Grant {
        id: Id::from_bytes(bytes),
        shape,
        agent: (number % 4 == 2).then(|| "claude".to_owned()),
        session: None,
        made_by: "ana".to_owned(),
        made_at: Timestamp(i64::from(number)),
        expires: Some(Timestamp(i64::MAX)),
        uses_left: None,
        revoked: None,
        details: GrantDetails::default(),
    })
}

fn numbered_digest(number: u32) -> CallDigest {
    let canonical = Digest::of(&number.to_be_bytes());
    CallDigest { canonical, raw: canonical, both_bind: false }
}

fn command_shape(number: u32) -> Option<GrantShape> {
    let name = if number % 1_000 == 3 { 7 } else { number };
    let command = format!("tool{name} publish packages/p{number}");
    let text = format!(r#"{{"tool":"bash","arguments":{{"command":"{command}"}},"cwd":"{SHOP}"}}"#);
    let value = json::parse(&text).ok()?;
    let call = Call::from_json(&value).ok()?;
    let seen = assess(&call, &Policy::default());
    let shown = ShownCommand::new(&Card::new(&call, &seen, &digest(&call, b"")))?;
    let pattern = CommandPattern::parse(&format!("tool{name} publish <path>")).ok()?;
    let shape = CommandShape::new(&shown, pattern, Some(SHOP.to_owned())).ok()?;
    Some(GrantShape::Command(Box::new(shape)))
}
