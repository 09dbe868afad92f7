//! The counts by themselves.

use super::agent::MAX_OPEN_IN_CRISIS;
use super::*;

const LIMITS: FloodConfig = FloodConfig {
    open_per_agent: 3,
    asks_per_minute: 5,
    asks_per_hour: 8,
    denials: 3,
    within: Span::seconds(600),
    quarantine: Span::seconds(300),
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
    for _ in 0..3 {
        assert_eq!(ask(&gate, "b", NOW.plus(Span(1_000))), Ok(()));
    }
    assert_eq!(ask(&gate, "c", NOW.plus(Span(1_000))), Err(Rejection::TooManyQuestions(3_599)));
    assert_eq!(ask(&gate, "c", NOW.plus(HOUR)), Ok(()));
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
        let at = NOW.plus(Span(u64::try_from(agent).unwrap() * 600_000));
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
