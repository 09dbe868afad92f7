//! A flood of questions: people are asked no more often than the settings say, and harmless calls
//! and memory do not suffer.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proofs::http::Client;
use proofs::installation::TestInstallation;

use crate::fixture::{Fixture, alone, harmless, report_figures, risky, size};

const CONNECTIONS: usize = 200;
/// So many agents flood: the refusals of each are told at a pace, and one alone would take an hour.
const AGENTS: usize = 4;
/// `open_per_agent`, `asks_per_minute` and `asks_per_hour` of `[flood]`, as they are by default.
const OPEN: u64 = 20;
const PER_MINUTE: u64 = 30;
const PER_HOUR: u64 = 200;
/// `times.usual_seconds`, as it is by default.
const DEADLINE: u64 = 300;
/// What a flood may cost in memory, beside what its connections need.
const MEMORY_KIB: u64 = 64 * 1024;

/// A flood: so many questions, so many a second if that is limited.
struct Flood<'a> {
    fixture: &'a Fixture,
    agents: &'a [String],
    /// Numbers that no flood before this one used.
    from: usize,
    many: usize,
    per_second: Option<f64>,
    next: AtomicUsize,
    asked: AtomicUsize,
    refused: AtomicUsize,
}

/// What it did to the others.
struct FaultCounts {
    took: Duration,
    median: Duration,
    p99: Duration,
    memory: u64,
}

#[test]
fn a_flood_neither_bothers_people_nor_slows_harmless_calls() {
    let _alone = alone();
    let many = size(20_000, 1_000_000);
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(TestInstallation::new(folder.path(), "").unwrap());
    let other = fixture.gate.agent(&fixture.owner, "other").unwrap();
    let start = Instant::now();
    let idle = measure(&fixture, &other, |elapsed, _| elapsed < Duration::from_secs(3));
    let name = |number: usize| format!("flood-{number}");
    let agents: Vec<String> = (0..AGENTS)
        .map(|number| fixture.gate.agent(&fixture.owner, &name(number)).unwrap())
        .collect();
    // Adding an agent takes a passphrase, whose hashing holds on to memory of its own.
    let before = fixture.gate.memory().unwrap();
    let flood = |from, many, per_second| Flood {
        fixture: &fixture,
        agents: &agents,
        from,
        many,
        per_second,
        next: AtomicUsize::new(0),
        asked: AtomicUsize::new(0),
        refused: AtomicUsize::new(0),
    };
    // What so many busy threads cost the others on this machine, whatever they do.
    let burnt = burn(&fixture, &other);
    // As fast as it goes, then half as fast: the machine has room for the others.
    let full = flood(0, many, None);
    let all = full.run(&other);
    let rate = exact(many) / all.took.as_secs_f64();
    let paced = flood(many, many / 10, Some(rate / 2.0));
    let half = paced.run(&other);
    let asked = full.asked.into_inner() + paced.asked.into_inner();
    let refused = full.refused.into_inner() + paced.refused.into_inner();
    let elapsed = start.elapsed().as_secs();
    assert_eq!(asked + refused, many + many / 10);
    let list = fixture.owner_client().get("/v1/requests?state=pending&limit=500").unwrap();
    let open = list.body["requests"].as_array().unwrap().len();
    let most = all.memory.max(half.memory);
    report_figures(&format!(
        "flood: {many} submissions from {AGENTS} agents over {CONNECTIONS} connections at {rate:.0}/s, then a tenth as \
         many half as fast: {asked} asked, {refused} refused, {open} open at the end; memory \
         {before} -> {most} KiB"
    ));
    let times = |p99: Duration| p99.as_secs_f64() / idle.1.as_secs_f64();
    report_figures(&format!(
        "flood: harmless calls p50 / p99: idle {:.1?} / {:.1?}; beside {CONNECTIONS} threads that \
         only burn time {:.1?} / {:.1?} ({:.1} x); half speed {:.1?} / {:.1?} ({:.1} x); full \
         speed {:.1?} / {:.1?} ({:.1} x)",
        idle.0,
        idle.1,
        burnt.0,
        burnt.1,
        times(burnt.1),
        half.median,
        half.p99,
        times(half.p99),
        all.median,
        all.p99,
        times(all.p99)
    ));
    // A question that nobody answers makes room for the next one at its deadline.
    let (minutes, rounds) = (elapsed / 60 + 1, elapsed / DEADLINE + 1);
    let count = |number: usize| u64::try_from(number).unwrap();
    let each = (PER_MINUTE * minutes).min(OPEN * rounds);
    let allowed = (each * count(AGENTS)).min(PER_HOUR * (elapsed / 3600 + 1));
    assert!(count(asked) <= allowed, "{asked} questions to people in {elapsed} s");
    assert!(count(open) <= OPEN * count(AGENTS), "{open} pending requests");
    assert!(most.saturating_sub(before) < MEMORY_KIB, "{before} -> {most} KiB");
}

impl Flood<'_> {
    fn run(&self, other: &str) -> FaultCounts {
        let (start, over) = (Instant::now(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let flooding: Vec<_> =
                (0..CONNECTIONS).map(|at| scope.spawn(move || self.submit(at, start))).collect();
            let measuring = scope.spawn(|| {
                let mut memory = 0;
                let (median, p99) = measure(self.fixture, other, |_, count| {
                    if count % 50 == 0 {
                        memory = memory.max(self.fixture.gate.memory().unwrap());
                    }
                    !over.load(Ordering::Acquire)
                });
                (median, p99, memory)
            });
            for thread in flooding {
                thread.join().unwrap();
            }
            let took = start.elapsed();
            over.store(true, Ordering::Release);
            let (median, p99, memory) = measuring.join().unwrap();
            FaultCounts { took, median, p99, memory }
        })
    }

    fn submit(&self, at: usize, start: Instant) {
        let token = &self.agents[at % self.agents.len()];
        let mut client = Client::with(self.fixture.gate.agents, token);
        loop {
            let number = self.next.fetch_add(1, Ordering::AcqRel);
            if number >= self.many {
                return;
            }
            if let Some(rate) = self.per_second {
                let due = Duration::from_secs_f64(exact(number) / rate);
                std::thread::sleep(due.saturating_sub(start.elapsed()));
            }
            let reply = client.post("/v1/requests", &risky(self.from + number)).unwrap();
            match reply.status {
                201 => self.asked.fetch_add(1, Ordering::AcqRel),
                429 => {
                    assert_eq!(reply.text("outcome"), "denied");
                    self.refused.fetch_add(1, Ordering::AcqRel)
                }
                _ => panic!("{} {}", reply.status, reply.body),
            };
        }
    }
}

/// Harmless calls beside as many threads as a flood has, which ask nothing.
fn burn(fixture: &Fixture, other: &str) -> (Duration, Duration) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                while !over.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            });
        }
        let measured = measure(fixture, other, |elapsed, _| elapsed < Duration::from_secs(3));
        over.store(true, Ordering::Release);
        measured
    })
}

fn exact(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap())
}

/// Median and p99 of harmless calls by another agent, one every few milliseconds.
fn measure(
    fixture: &Fixture,
    token: &str,
    mut goes_on: impl FnMut(Duration, usize) -> bool,
) -> (Duration, Duration) {
    let mut client = Client::with(fixture.gate.agents, token);
    let (start, mut times) = (Instant::now(), Vec::new());
    while goes_on(start.elapsed(), times.len()) {
        let asked = Instant::now();
        let reply = client.post("/v1/requests", &harmless()).unwrap();
        times.push(asked.elapsed());
        assert_eq!((reply.status, reply.text("state")), (200, "approved"), "{}", reply.body);
        std::thread::sleep(Duration::from_millis(2));
    }
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}
