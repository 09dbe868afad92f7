//! The judge in shadow over recorded agent sessions: the report finds the error rate of a scripted
//! model within its interval. `COUNTERSIGN_SESSIONS` names the folder, with `sessions.jsonl` (calls
//! that people wanted) and `dangerous.jsonl` (calls that people deny); nothing of it is kept here.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use proof_skip::{Cause, skip};
use serde_json::{Value, json};

use crate::fixture::{DaemonWithJudge, report_figures, until};
use crate::scripted::{ScriptedAnswer, ScriptedModel};

/// Of 1,000 calls that a person denies, the model allows so many; of those that a person approves,
/// it holds back so many.
const MISSED: u64 = 80;
const OVER_ASKED: u64 = 150;
/// The most questions of each kind.
const MOST: usize = 400;

fn rows(folder: &Path, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The call of a row; each dangerous one in a session of its own.
fn call(row: &Value, number: usize, denied: bool) -> Value {
    let mut call = match row["tool"].as_str() {
        Some(tool) => json!({ "tool": tool, "arguments": row["arguments"] }),
        None => json!({ "command": row["command"] }),
    };
    let own = format!("d{number}");
    let session = if denied { own.as_str() } else { row["session"].as_str().unwrap_or(&own) };
    call["session"] = json!(session);
    if let Some(cwd) = row["cwd"].as_str() {
        call["cwd"] = json!(cwd);
    }
    call
}

/// A number from 0 to 999 that follows from the digest.
fn chance(digest: &str) -> u64 {
    u64::from_str_radix(digest.get(..12).unwrap_or_default(), 16).unwrap_or(0) % 1_000
}

/// What people think of each call, by digest; the model reads it and errs.
type Truth = Arc<Mutex<HashMap<String, bool>>>;

fn erring(truth: &Truth) -> ScriptedModel {
    let truth = Arc::clone(truth);
    let canaries = countersign_judge::canaries().unwrap();
    let canaries: HashSet<String> =
        canaries.iter().map(|one| one.subject.digest.to_string()).collect();
    ScriptedModel::start(move |question| {
        if canaries.contains(&question.digest) {
            return ScriptedAnswer::Verdict("deny");
        }
        let end = Instant::now() + Duration::from_secs(3);
        let denied = loop {
            if let Some(denied) = truth.lock().unwrap().get(&question.digest) {
                break *denied;
            }
            if Instant::now() > end {
                return ScriptedAnswer::Hangs;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let errs = chance(&question.digest) < if denied { MISSED } else { OVER_ASKED };
        // Not `deny`: an agent that the judge denies often is left to people for a while.
        ScriptedAnswer::Verdict(if denied == errs { "allow" } else { "escalate" })
    })
}

#[test]
fn the_report_finds_the_error_rate_of_a_model_over_recorded_sessions() {
    let Some(folder) = std::env::var_os("COUNTERSIGN_SESSIONS") else {
        skip(Cause::Machine, "COUNTERSIGN_SESSIONS names no folder with recorded sessions");
        return;
    };
    let folder = Path::new(&folder);
    let truth = Truth::default();
    let model = erring(&truth);
    let running = DaemonWithJudge::start(&model.section("shadow"));
    let mut totals = [0_usize; 2];
    for (denied, file) in [(true, "dangerous.jsonl"), (false, "sessions.jsonl")] {
        let mut waiting = Vec::new();
        for (number, row) in rows(folder, file).iter().enumerate() {
            if totals[usize::from(denied)] >= MOST {
                break;
            }
            let before = model.questions();
            let reply = running.ask(&call(row, number, denied));
            if reply.status != 201 || reply.text("state") != "pending" {
                continue;
            }
            totals[usize::from(denied)] += 1;
            let (id, digest) = (reply.text("id").to_owned(), reply.text("digest").to_owned());
            truth.lock().unwrap().insert(digest.clone(), denied);
            waiting.push((id, digest));
            // The queue of the judge is short; about some calls it is not asked at all.
            let end = Instant::now() + Duration::from_millis(300);
            while model.questions() == before && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(2));
            }
            // People decide a little later, as they do.
            if waiting.len() > 20 {
                let (id, digest) = waiting.remove(0);
                running.decide(&id, &digest, !denied);
            }
        }
        for (id, digest) in waiting {
            running.decide(&id, &digest, !denied);
        }
    }
    until("the comparison", || running.read("/v1/judge")["compared"].as_u64() > Some(50));
    let report = running.read("/v1/judge");
    for (name, thousandths) in [("missed", MISSED), ("over_asked", OVER_ASKED)] {
        let rate = &report[name];
        let (low, high) = (rate["low"].as_f64().unwrap(), rate["high"].as_f64().unwrap());
        let wanted = f64::from(u32::try_from(thousandths).unwrap()) / 1_000.0;
        report_figures(&format!("judge in shadow: {name} {rate}, scripted {wanted}"));
        assert!(rate["of"].as_u64() > Some(20), "too few calls: {report}");
        assert!(low <= wanted && wanted <= high, "{name}: {wanted} is not in [{low}, {high}]");
    }
    assert_eq!(running.count("judge_release"), 0);
    report_figures(&format!("judge in shadow: {totals:?} asked, compared {}", report["compared"]));
}
