//! A flood of questions: people are asked no more often than the settings say, and harmless calls
//! and memory do not suffer.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proofs::house::House;
use proofs::http::Client;

use crate::setting::{Setting, alone, harmless, risky, say, size};

const CONNECTIONS: usize = 200;
/// `flood.open_per_agent` and `flood.asks_per_minute`, as they are by default.
const OPEN: usize = 20;
const PER_MINUTE: usize = 30;
/// What a flood may cost in memory, beside what its connections need.
const MEMORY_KIB: u64 = 64 * 1024;

#[test]
fn a_flood_neither_bothers_people_nor_slows_harmless_calls() {
    let _alone = alone();
    let many = size(20_000, 1_000_000);
    let folder = tempfile::tempdir().unwrap();
    let setting = Setting::new(House::new(folder.path(), "").unwrap());
    let other = setting.gate.agent(&setting.owner, "other").unwrap();
    let before = setting.gate.memory().unwrap();
    let idle = measure(&setting, &other, |elapsed, _| elapsed < Duration::from_secs(3));
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (asked, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let start = Instant::now();
    let (busy, most) = std::thread::scope(|scope| {
        let flooding: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                let mut client = setting.asks();
                let (next, asked, refused) = (&next, &asked, &refused);
                scope.spawn(move || submit(&mut client, next, many, asked, refused))
            })
            .collect();
        let over = &over;
        let setting = &setting;
        let measuring = scope.spawn(|| {
            let mut most = 0;
            let busy = measure(setting, &other, |_, count| {
                if count % 50 == 0 {
                    most = most.max(setting.gate.memory().unwrap());
                }
                !over.load(Ordering::Acquire)
            });
            (busy, most)
        });
        for thread in flooding {
            thread.join().unwrap();
        }
        over.store(true, Ordering::Release);
        measuring.join().unwrap()
    });
    let took = start.elapsed();
    let (asked, refused) = (asked.into_inner(), refused.into_inner());
    let minutes = usize::try_from(took.as_secs() / 60 + 1).unwrap();
    assert_eq!(asked + refused, many);
    assert!(asked <= OPEN.min(PER_MINUTE * minutes), "{asked} people's questions");
    let list = setting.decides().get("/v1/requests?state=pending&limit=500").unwrap();
    assert_eq!(list.body["requests"].as_array().unwrap().len(), asked, "open at people's door");
    let grown = most.saturating_sub(before);
    assert!(grown < MEMORY_KIB, "{grown} KiB");
    let ratio = busy.1.as_secs_f64() / idle.1.as_secs_f64();
    say(&format!(
        "flood: {many} submissions from {CONNECTIONS} connections in {took:.1?}: {asked} asked, \
         {refused} refused; harmless p50 {:.1?} -> {:.1?}, p99 {:.1?} -> {:.1?} ({ratio:.1} x); \
         memory {before} -> {most} KiB",
        idle.0, busy.0, idle.1, busy.1
    ));
}

fn submit(
    client: &mut Client,
    next: &AtomicUsize,
    many: usize,
    asked: &AtomicUsize,
    refused: &AtomicUsize,
) {
    loop {
        let number = next.fetch_add(1, Ordering::AcqRel);
        if number >= many {
            return;
        }
        let reply = client.post("/v1/requests", &risky(number)).unwrap();
        match reply.status {
            201 => asked.fetch_add(1, Ordering::AcqRel),
            429 => {
                assert_eq!(reply.text("outcome"), "denied");
                refused.fetch_add(1, Ordering::AcqRel)
            }
            _ => panic!("{} {}", reply.status, reply.body),
        };
    }
}

/// Median and p99 of harmless calls by another agent, one every few milliseconds.
fn measure(
    setting: &Setting,
    token: &str,
    mut goes_on: impl FnMut(Duration, usize) -> bool,
) -> (Duration, Duration) {
    let mut client = Client::with(setting.gate.agents, token);
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
