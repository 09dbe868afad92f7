//! Measures how long a look takes: `look_time FOLDER [ROUNDS]` asks about real paths of a folder.

use std::env;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use countersign_facts::{LookLimits, LookPlace, look};
use countersign_risk::facts::{FactObserver, FactQuery, PlanTool, RemoteSystem};

fn main() {
    let mut words = env::args().skip(1);
    let Some(folder) = words.next().map(PathBuf::from) else {
        println!("usage: look_time FOLDER [ROUNDS] [PATH…]");
        return;
    };
    let rounds = words.next().and_then(|word| word.parse().ok()).unwrap_or(1_000);
    let paths: Vec<String> = words.collect();
    let place = LookPlace {
        cwd: folder.clone(),
        project: Some(folder),
        home: env::var_os("HOME").map(PathBuf::from),
        variable: |name| env::var(name).ok(),
    };
    let path = |path: &String| FactQuery::Path { path: path.clone() };
    let mut queries: Vec<FactQuery> = paths.iter().map(path).collect();
    queries.push(FactQuery::Script { path: "test".to_owned() });
    queries.push(FactQuery::GitRemote { folder: ".".to_owned(), remote: None });
    queries.push(FactQuery::Current { system: RemoteSystem::Kubernetes });
    let words = Some(vec!["push".to_owned(), "origin".to_owned(), "HEAD".to_owned()]);
    let (tool, folder) = (PlanTool::GitPush, ".".to_owned());
    queries.push(FactQuery::Plan { tool, folder, words, is_first: true });
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            let facts = look(&queries, &place, LookLimits::BEFORE_CALL, FactObserver::Hook);
            assert_eq!(facts.found.len(), queries.len());
            start.elapsed()
        })
        .collect();
    times.sort();
    let at = |percent: usize| times.get(times.len() * percent / 100).or(times.last());
    println!("{rounds} looks, {} questions each", queries.len());
    for (name, percent) in [("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)] {
        println!("{name} {:?}", at(percent).copied().unwrap_or_default());
    }
}
