//! The store compared with the floor of any group commit: an appended file and `fdatasync`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use countersign_json::canonical::{CallDigest, Digest};
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_risk::session_answer::SessionQuestion;
use countersign_store::{NewRequest, SqliteOptions, SqliteStore, Store, WriteContext};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock, Millis, Moment, Timestamp};
use countersign_workflow::assurance::{Authority, RequiredAssurance, Tenure};
use countersign_workflow::request::{
    ApprovalScope, Choice, EscalationTimes, Event, Quorum, Request, Requester, Terms,
};
use tokio::sync::oneshot;

const SECONDS: u64 = 2;

struct Ticks(AtomicI64);

impl Clock for Ticks {
    fn now(&self) -> Moment {
        Moment::reliable(Timestamp(self.0.load(Ordering::Relaxed)))
    }
}

/// Decisions a second for each number of waiters: store and floors in turn, as load comes and goes.
pub fn agent_run(rounds: usize) -> Result<(), String> {
    let folder = std::env::current_dir().map_err(|e| e.to_string())?.join("target/bench-store");
    let _ = std::fs::remove_dir_all(&folder);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .map_err(|e| e.to_string())?;
    println!("\nstore: durable answers a second, medians of {rounds} rounds in turn");
    println!("`floor` takes what waits; `same` commits as many at once as the store did");
    println!(
        "{:>8} {:>10} {:>6} {:>10} {:>10} {:>6} {:>13} {:>13}",
        "waiters", "decisions", "batch", "same", "floor", "batch", "of the same", "of the floor"
    );
    for waiters in [1, 16, 64, 256] {
        let mut rows: [Vec<u64>; 7] = Default::default();
        for round in 0..rounds.max(1) {
            let place = folder.join(format!("{waiters}-{round}"));
            let store = runtime.block_on(Opened::new(&place, waiters))?;
            let (floor, taken) = runtime.block_on(floor(&place, waiters, None))?;
            let (decisions, batch) = runtime.block_on(store.decisions(waiters))?;
            let (same, _) = runtime.block_on(self::floor(&place, waiters, Some(batch)))?;
            let _ = std::fs::remove_dir_all(&place);
            let part = |of: u64| decisions.saturating_mul(1_000) / of.max(1);
            let row = [decisions, batch, same, floor, taken, part(same), part(floor)];
            rows.iter_mut().zip(row).for_each(|(figures, figure)| figures.push(figure));
        }
        let [decisions, batch, same, floor, taken, of_same, of_floor] =
            rows.map(|mut figures| median(&mut figures));
        let (of_same, of_floor) =
            (crate::measure::ratio(of_same, 1_000), crate::measure::ratio(of_floor, 1_000));
        println!(
            "{waiters:>8} {decisions:>10} {batch:>6} {same:>10} {floor:>10} {taken:>6} \
             {of_same:>13.2} {of_floor:>13.2}"
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

/// The same waiters, queue and wake-ups over a file that is only appended to; in commits of what
/// waits, or of exactly so many.
async fn floor(place: &Path, waiters: u64, exactly: Option<u64>) -> Result<(u64, u64), String> {
    let file = place.join("floor");
    let file = OpenOptions::new().create(true).append(true).open(file).map_err(text)?;
    let (jobs, queue) = sync_channel::<oneshot::Sender<()>>(4_096);
    let until = Instant::now() + Duration::from_secs(SECONDS);
    let exactly = exactly.and_then(|many| usize::try_from(many.min(waiters)).ok());
    let writer = std::thread::spawn(move || append(file, &queue, exactly, until));
    let done = Arc::new(AtomicU64::new(0));
    let mut tasks = Vec::new();
    for _ in 0..waiters {
        let (jobs, done) = (jobs.clone(), Arc::clone(&done));
        tasks.push(tokio::spawn(async move {
            while Instant::now() < until {
                let (answer, answered) = oneshot::channel();
                if jobs.try_send(answer).is_err() || answered.await.is_err() {
                    return;
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    drop(jobs);
    for task in tasks {
        task.await.map_err(text)?;
    }
    let commits = writer.join().map_err(|_| "the floor broke")?.max(1);
    let done = done.load(Ordering::Relaxed);
    Ok((done / SECONDS, done / commits))
}

fn append(
    mut file: File,
    queue: &Receiver<oneshot::Sender<()>>,
    exactly: Option<usize>,
    until: Instant,
) -> u64 {
    let mut commits = 0;
    let mut batch = Vec::new();
    while let Ok(first) = queue.recv() {
        batch.push(first);
        batch.extend(queue.try_iter().take(exactly.unwrap_or(256).saturating_sub(1)));
        while exactly.is_some_and(|many| batch.len() < many) {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(next) = queue.recv_timeout(left) else { break };
            batch.push(next);
        }
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
        let store = SqliteStore::open(&file, clock, SqliteOptions::default()).map_err(text)?;
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

    /// Decisions a second, and how many shared a commit.
    async fn decisions(self, waiters: u64) -> Result<(u64, u64), String> {
        let before = self.store.commits();
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
        let commits = (self.store.commits() - before).max(1);
        self.store.close().await.map_err(text)?;
        Ok((done.saturating_mul(1_000_000_000) / nanos, (done + commits / 2) / commits))
    }
}

/// Passes that ride, and entries appended in one commit.
async fn passes(folder: &Path) -> Result<(), String> {
    let store = Opened::new(&folder.join("passes"), 1).await?.store;
    let many = 200_000_u32;
    let start = Instant::now();
    for _ in 0..many {
        store.record_pass(pass_entry()).await.map_err(text)?;
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

#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` wants")]
fn text(error: impl ToString) -> String {
    error.to_string()
}

fn digest() -> CallDigest {
    let digest = Digest::of(b"call");
    CallDigest { canonical: digest, raw: digest, both_bind: false }
}

fn note() -> WriteContext {
    WriteContext { policy: Digest::of(b"policy"), facts: None, edited: None }
}

fn pass_entry() -> Entry<'static> {
    let mut entry = Entry::new(0, EntryKind::Pass, Digest::of(b"policy"));
    entry.agent = Some("coder".into());
    entry.session = Some("s-1".into());
    entry.digest = Some(Digest::of(b"call"));
    entry
}

fn yes() -> Event {
    Event::Answer {
        person: "ana".to_owned(),
        choice: Choice::Approve,
        scope: ApprovalScope::Once,
        seen: digest(),
        edited: None,
        channel: "web".to_owned(),
        reason: String::new(),
        word: String::new(),
        standing: (
            Authority::login(false, Tenure::from(Timestamp(0))),
            RequiredAssurance::default(),
        ),
    }
}

fn asked(number: u64) -> NewRequest {
    let at = Timestamp(1_800_000_000_000);
    let mut random = [0; 10];
    for (place, byte) in random.iter_mut().zip(number.to_be_bytes()) {
        *place = byte;
    }
    let terms =
        Terms { tier: Tier::Medium, crisis: false, quorum: Quorum::default(), own_approval: false };
    let schedule = EscalationTimes::default().schedule(at, Tier::Medium, false, None);
    let requester = Requester::Agent("coder".to_owned());
    NewRequest {
        request: Request::new(Id::new(at, random), requester, digest(), terms, schedule),
        tool: "send_message".to_owned(),
        session: "s-1".to_owned(),
        brief: "Sends a message to Bo.".to_owned(),
        card: "x".repeat(300),
        card_after: None,
        detail: "{}".to_owned(),
        idempotency: None,
        group: None,
        review: None,
        session_question: SessionQuestion::default(),
        further_grants: Vec::new(),
        grant_cost: countersign_workflow::grant::GrantCost::default(),
        permit_for: Millis::from_seconds(60),
        context: note(),
    }
}
