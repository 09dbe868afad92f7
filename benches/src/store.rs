//! The store beside the floor of any group commit: an appended file and `fdatasync`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use countersign_core::canon::{CallDigest, Digest};
use countersign_core::id::Id;
use countersign_core::ledger::entry::{Entry, Kind};
use countersign_core::request::{Choice, Event, Quorum, Request, Requester, Terms, Times};
use countersign_core::tier::Tier;
use countersign_core::time::{Clock, Moment, Span, Timestamp};
use countersign_store::{NewRequest, Note, Options, SqliteStore, Store};
use tokio::sync::{mpsc, oneshot};

const SECONDS: u64 = 2;

struct Ticks(AtomicI64);

impl Clock for Ticks {
    fn now(&self) -> Moment {
        Moment::settled(Timestamp(self.0.load(Ordering::Relaxed)))
    }
}

/// Decisions a second for each number of waiters, floor and store in turn.
pub fn bench(rounds: usize) -> Result<(), String> {
    let folder = std::env::current_dir().map_err(|e| e.to_string())?.join("target/bench-store");
    let _ = std::fs::remove_dir_all(&folder);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .map_err(|e| e.to_string())?;
    println!("\nstore: durable answers a second, medians of {rounds} rounds in turn");
    println!("{:>8} {:>12} {:>8} {:>12} {:>8}", "waiters", "floor", "batch", "decisions", "ratio");
    for waiters in [1, 16, 64, 256] {
        let (mut floors, mut stores, mut batches) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds.max(1) {
            let place = folder.join(format!("{waiters}-{round}"));
            let store = runtime.block_on(Opened::new(&place, waiters))?;
            let (floor, batch) = runtime.block_on(floor(&place, waiters))?;
            floors.push(floor);
            batches.push(batch);
            stores.push(runtime.block_on(store.decisions(waiters))?);
        }
        let (floor, decisions) = (median(&mut floors), median(&mut stores));
        let ratio = crate::measure::ratio(decisions, floor);
        println!(
            "{waiters:>8} {floor:>12} {:>8} {decisions:>12} {ratio:>8.2}",
            median(&mut batches)
        );
    }
    runtime.block_on(passes(&folder))?;
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

fn median(figures: &mut [u64]) -> u64 {
    figures.sort_unstable();
    crate::measure::at(figures, 500)
}

/// The same waiters, queue and wake-ups over a file that is only appended to.
async fn floor(place: &Path, waiters: u64) -> Result<(u64, u64), String> {
    let file = place.join("floor");
    let file = OpenOptions::new().create(true).append(true).open(file).map_err(text)?;
    let (jobs, queue) = mpsc::channel::<oneshot::Sender<()>>(4_096);
    let writer = std::thread::spawn(move || append(file, queue));
    let (until, done) =
        (Instant::now() + Duration::from_secs(SECONDS), Arc::new(AtomicU64::new(0)));
    let mut tasks = Vec::new();
    for _ in 0..waiters {
        let (jobs, done) = (jobs.clone(), Arc::clone(&done));
        tasks.push(tokio::spawn(async move {
            while Instant::now() < until {
                let (answer, answered) = oneshot::channel();
                if jobs.send(answer).await.is_err() || answered.await.is_err() {
                    return;
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    for task in tasks {
        task.await.map_err(text)?;
    }
    drop(jobs);
    let commits = writer.join().map_err(|_| "the floor broke")?.max(1);
    let done = done.load(Ordering::Relaxed);
    Ok((done / SECONDS, done / commits))
}

fn append(mut file: File, mut queue: mpsc::Receiver<oneshot::Sender<()>>) -> u64 {
    let mut commits = 0;
    let mut batch = Vec::new();
    while queue.blocking_recv_many(&mut batch, 256) > 0 {
        let bytes = vec![b'x'; 600 * batch.len()];
        if file.write_all(&bytes).and_then(|()| file.sync_data()).is_err() {
            return commits;
        }
        commits += 1;
        for answer in batch.drain(..) {
            let _ = answer.send(());
        }
    }
    commits
}

struct Opened {
    store: Arc<SqliteStore>,
    ids: Vec<Id>,
}

impl Opened {
    /// A store with more pending requests than will be decided.
    async fn new(place: &Path, waiters: u64) -> Result<Opened, String> {
        let clock = Arc::new(Ticks(AtomicI64::new(1_800_000_000_000)));
        let file = place.join("store.db");
        let store = SqliteStore::open(&file, clock, Options::default()).map_err(text)?;
        let store = Arc::new(store);
        let mut ids = Vec::new();
        let mut tasks = Vec::new();
        let many = if waiters == 1 { 20_000 } else { 60_000 };
        for number in 0..many {
            let new = asked(number);
            ids.push(new.request.id);
            let store = Arc::clone(&store);
            tasks.push(tokio::spawn(async move { store.submit(new).await.map(|_| ()) }));
            if tasks.len() == 1_000 {
                for task in tasks.drain(..) {
                    task.await.map_err(text)?.map_err(text)?;
                }
            }
        }
        for task in tasks {
            task.await.map_err(text)?.map_err(text)?;
        }
        Ok(Opened { store, ids })
    }

    async fn decisions(self, waiters: u64) -> Result<u64, String> {
        let ids = Arc::new(self.ids);
        let (next, start) = (Arc::new(AtomicU64::new(0)), Instant::now());
        let until = start + Duration::from_secs(SECONDS);
        let mut tasks = Vec::new();
        for _ in 0..waiters {
            let (store, ids, next) = (Arc::clone(&self.store), Arc::clone(&ids), Arc::clone(&next));
            tasks.push(tokio::spawn(async move {
                let mut done = 0_u64;
                while Instant::now() < until {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let id = usize::try_from(place).ok().and_then(|at| ids.get(at).copied());
                    let Some(id) = id else { break };
                    if store.apply(id, yes(), note()).await.is_err() {
                        break;
                    }
                    done += 1;
                }
                done
            }));
        }
        let mut done = 0;
        for task in tasks {
            done += task.await.map_err(text)?;
        }
        // Nanoseconds, as all requests may be decided before the time is over.
        let nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1);
        self.store.close().await.map_err(text)?;
        Ok(done.saturating_mul(1_000_000_000) / nanos)
    }
}

/// Passes that ride, and entries appended in one commit.
async fn passes(folder: &Path) -> Result<(), String> {
    let store = Opened::new(&folder.join("passes"), 1).await?.store;
    let many = 200_000_u32;
    let start = Instant::now();
    for _ in 0..many {
        store.pass(pass_entry()).await.map_err(text)?;
    }
    let took = start.elapsed();
    println!("\n{:.0} passes a second, one after the other", f64::from(many) / took.as_secs_f64());
    let mut took = Duration::ZERO;
    for _ in 0..20 {
        let entries: Vec<_> = (0..10_000).map(|_| pass_entry()).collect();
        let start = Instant::now();
        store.append(entries).await.map_err(text)?;
        took += start.elapsed();
    }
    println!("{:.2} µs an entry, 10,000 a commit, durable", took.as_secs_f64() * 1e6 / 200_000.0);
    store.close().await.map_err(text)
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn digest() -> CallDigest {
    let digest = Digest::of(b"call");
    CallDigest { canonical: digest, raw: digest, both_bind: false }
}

fn note() -> Note {
    Note { policy: Digest::of(b"policy"), facts: None, edited: None }
}

fn pass_entry() -> Entry<'static> {
    let mut entry = Entry::new(0, Kind::Pass, Digest::of(b"policy"));
    entry.agent = Some("coder".into());
    entry.session = Some("s-1".into());
    entry.digest = Some(Digest::of(b"call"));
    entry
}

fn yes() -> Event {
    Event::Answer {
        person: "ana".to_owned(),
        choice: Choice::Approve,
        seen: digest(),
        edited: None,
        channel: "web".to_owned(),
        reason: String::new(),
    }
}

fn asked(number: u64) -> NewRequest {
    let at = Timestamp(1_800_000_000_000);
    let mut random = [0; 10];
    for (place, byte) in random.iter_mut().zip(number.to_be_bytes()) {
        *place = byte;
    }
    let terms = Terms { tier: Tier::Medium, crisis: false, quorum: Quorum::default() };
    let plan = Times::default().plan(at, Tier::Medium, false, None);
    let requester = Requester::Agent("coder".to_owned());
    NewRequest {
        request: Request::new(Id::new(at, random), requester, digest(), terms, plan),
        tool: "send_message".to_owned(),
        session: "s-1".to_owned(),
        brief: "Sends a message to Bo.".to_owned(),
        card: "x".repeat(300),
        card_after: None,
        detail: "{}".to_owned(),
        idempotency: None,
        group: None,
        permit_for: Span::seconds(60),
        note: note(),
    }
}
