//! The counts by themselves.

use super::agent::MAX_OPEN_IN_CRISIS;
use super::*;
use countersign_types::time::Millis;

const LIMITS: FloodConfig = FloodConfig {
    open_per_agent: 3,
    asks_per_minute: 5,
    asks_per_hour: 8,
    disk_per_hour: u64::MAX,
    denials: 3,
    within: Millis::from_seconds(600),
    quarantine: Millis::from_seconds(300),
    digest_from: 0,
};
const NOW: Timestamp = Timestamp(1_000_000_000);

fn gate() -> FloodControl {
    FloodControl::new(&[])
}

fn ask(gate: &FloodControl, agent: &str, now: Timestamp) -> Result<(), Rejection> {
    gate.reserve(&LIMITS, agent, false, now).map(drop).map_err(|refused| refused.rejection)
}

#[test]
fn reserved_slots_count_as_open() {
    let gate = gate();
    let places: Vec<_> =
        (0..9).filter_map(|_| gate.reserve(&LIMITS, "a", false, NOW).ok()).collect();
    assert_eq!(places.len(), 3);
    drop(places);
    assert_eq!(ask(&gate, "a", NOW), Ok(()));
}

#[test]
fn limits_per_minute_and_hour_are_enforced() {
    let gate = gate();
    for _ in 0..5 {
        assert_eq!(ask(&gate, "a", NOW), Ok(()));
    }
    assert_eq!(ask(&gate, "a", NOW), Err(Rejection::TooManyQuestions(60)));
    let later = NOW.plus(Millis(1_000));
    for _ in 0..3 {
        assert_eq!(ask(&gate, "b", later), Ok(()));
    }
    // The total is used up: b has a third of it, as c has.
    assert_eq!(ask(&gate, "c", later), Ok(()));
    assert_eq!(ask(&gate, "b", later), Err(Rejection::TooManyQuestions(3_600)));
    assert_eq!(ask(&gate, "b", NOW.plus(HOUR).plus(Millis(1_000))), Ok(()));
}

#[test]
fn a_flood_takes_nothing_of_the_share_of_another_agent() {
    let limits = FloodConfig { open_per_agent: 1_000, asks_per_minute: 1_000, ..LIMITS };
    let limits = FloodConfig { asks_per_hour: 200, ..limits };
    let asks = |gate: &FloodControl, agent: &str| {
        (0..500).filter(|_| gate.reserve(&limits, agent, false, NOW).is_ok()).count()
    };
    let gate = gate();
    // Asked and cancelled at once: nothing is refilled.
    assert_eq!(asks(&gate, "greedy"), 200);
    assert_eq!(asks(&gate, "greedy"), 0);
    assert_eq!(asks(&gate, "honest"), 100, "half of the total, because two ask");
    assert_eq!(asks(&gate, "third"), 66);
    assert_eq!(asks(&gate, crate::gate::ANONYMOUS), 20, "callers without a token are one agent");
    // Labels divide the share of their own identity, and there are only a few of them.
    let labels = (0..100).map(|n| asks(&gate, &format!("kind{n}@uid:7"))).sum::<usize>();
    assert!(labels <= 200, "{labels}");
    assert!(gate.lock().agents.len() <= 13);
    assert!(asks(&gate, "late") >= 33);
}

#[test]
fn denials_of_one_label_quarantine_no_other_and_a_person_lifts_it() {
    let gate = gate();
    let mut counts = gate.lock();
    for n in 0..3_u8 {
        let id = Id::from_bytes([n; 16]);
        let digest = Digest::of(&[n]);
        let key = ("uid:0".to_owned(), String::new(), digest, digest);
        counts.agents.entry("claude@uid:0".to_owned()).or_default().open += 1;
        counts.open.insert(id, (key, "claude@uid:0".to_owned()));
        let end = counts.end(&LIMITS, id, true, NOW);
        assert_eq!(end.is_some(), n == 2);
    }
    drop(counts);
    assert!(matches!(ask(&gate, "claude@uid:0", NOW), Err(Rejection::Quarantined(_))));
    assert_eq!(ask(&gate, "codex@uid:0", NOW), Ok(()));
    let listed: Vec<String> = gate.quarantines(NOW).into_iter().map(|it| it.agent).collect();
    assert_eq!(listed, ["claude@uid:0"]);
    assert!(gate.lift_quarantine("claude@uid:0", NOW));
    assert!(!gate.lift_quarantine("claude@uid:0", NOW));
    assert_eq!(ask(&gate, "claude@uid:0", NOW), Ok(()));
}

#[test]
fn unused_slots_do_not_count_but_dropped_ones_do() {
    let gate = gate();
    for _ in 0..50 {
        gate.reserve(&LIMITS, "a", false, NOW).unwrap().unused();
    }
    let asked = (0..50).filter(|_| ask(&gate, "a", NOW).is_ok()).count();
    assert_eq!(asked, 5);
}

#[test]
fn crisis_questions_are_allowed_within_bounds() {
    let gate = gate();
    let places: Vec<_> =
        (0..1_000).filter_map(|_| gate.reserve(&LIMITS, "a", true, NOW).ok()).collect();
    assert_eq!(places.len(), usize::try_from(MAX_OPEN_IN_CRISIS).unwrap());
    let counts = gate.lock();
    assert!(counts.asked.len() <= 8 && counts.agents["a"].asked.len() <= 5);
    drop(counts);
}

#[test]
fn idle_agents_are_dropped() {
    let gate = gate();
    for agent in 0..30_000_i64 {
        let at = NOW.plus(Millis(u64::try_from(agent).unwrap() * 600_000));
        assert_eq!(ask(&gate, &format!("uid:{agent}"), at), Ok(()));
    }
    assert!(gate.lock().agents.len() <= MAX_AGENTS);
}

#[test]
fn refusals_are_counted_per_agent() {
    let gate = gate();
    for _ in 0..100 {
        let _ = ask(&gate, "a", NOW);
    }
    let told = gate.take_refusal_counts();
    let expected = RefusalCount { agent: "a".to_owned(), count: 95, why: "minute" };
    assert_eq!(told, [expected]);
    assert_eq!(gate.take_refusal_counts(), []);
}

#[test]
fn senders_of_one_agent_share_its_room_and_none_takes_all_of_it() {
    let gate = gate();
    let limits = FloodConfig { open_per_agent: 20, asks_per_minute: 1_000, ..LIMITS };
    let limits = FloodConfig { asks_per_hour: 1_000, ..limits };
    let mut places = Vec::new();
    let mut opened = |name: &str| {
        let made: Vec<_> =
            (0..64).filter_map(|_| gate.reserve(&limits, name, false, NOW).ok()).collect();
        let count = made.len();
        places.extend(made);
        count
    };
    assert_eq!(opened("a2a:mallory@node"), 15);
    assert_eq!(opened("a2a:carol@node"), 2);
    assert_eq!(opened("a2a:dan@node"), 2);
    // Further names give an agent no further room, and its own questions and others are as before.
    let more: usize = (0..100).map(|number| opened(&format!("a2a:x{number}@node"))).sum();
    assert_eq!(more, 1);
    assert_eq!((opened("node"), opened("a2a:mallory@other")), (20, 15));
}

#[test]
fn denials_quarantine_the_sender_and_many_of_them_its_agent() {
    let gate = gate();
    let deny = |number: u8, sender: &str| {
        let mut counts = gate.lock();
        let (id, digest) = (Id::from_bytes([number; 16]), Digest::of(&[number]));
        let key = ("node".to_owned(), String::new(), digest, digest);
        counts.agents.entry(sender.to_owned()).or_default().open += 1;
        counts.open.insert(id, (key, sender.to_owned()));
        counts.end(&LIMITS, id, true, NOW).map(|it| it.agent)
    };
    assert_eq!((deny(0, "a2a:mallory@node"), deny(1, "a2a:mallory@node")), (None, None));
    assert_eq!(deny(2, "a2a:mallory@node").as_deref(), Some("a2a:mallory@node"));
    assert!(matches!(ask(&gate, "a2a:mallory@node", NOW), Err(Rejection::Quarantined(_))));
    assert_eq!(ask(&gate, "a2a:carol@node", NOW), Ok(()));
    // An agent that names another sender each time is stopped as a whole.
    let ended: Vec<_> =
        (3..12).map(|number| deny(number, &format!("a2a:x{number}@node"))).collect();
    assert_eq!(ended.last().unwrap().as_deref(), Some("node"), "{ended:?}");
    for name in ["a2a:carol@node", "node"] {
        assert!(matches!(ask(&gate, name, NOW), Err(Rejection::Quarantined(_))), "{name}");
    }
    assert_eq!(ask(&gate, "another", NOW), Ok(()));
}
