//! What people read of the ledger proves itself; counts add up; a broken store is not ready.

use countersign_json::canonical::Digest;
use countersign_ledger::merkle::{leaf_hash, verify_consistency, verify_inclusion};
use countersign_ledger::verify::Verifier;
use countersign_store::SqliteOptions;

use crate::checkpoints::Checkpoints;
use crate::config::Ledger;
use crate::trial::{AGENT, FLOOD, Trial, trial, trial_on};

async fn busy(trial: &Trial) {
    trial.permit(r#"{"command":"git push --force"}"#).await;
    for _ in 0..3 {
        trial.agent(AGENT, "/v1/requests", r#"{"command":"ls"}"#).await;
    }
    trial.agent(AGENT, "/v1/requests", r#"{"command":"rm -rf /srv/x"}"#).await;
    // A pass rides the next commit; this one waits for it.
    trial.permit(r#"{"command":"git push --force origin x"}"#).await;
}

fn digests(proof: &serde_json::Value) -> Vec<Digest> {
    let list = proof["proof"].as_array().unwrap_or_else(|| panic!("{proof}"));
    list.iter().map(|hex| Digest::parse(hex.as_str().unwrap()).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_and_proofs_lead_to_the_signed_head() {
    let trial = trial().await;
    assert_eq!(trial.person("/v1/ledger/checkpoint", "").await.status, 404);
    let ledger = Ledger {
        every: countersign_types::time::Span::seconds(10),
        file: None,
        webhook: None,
        git: None,
    };
    let parts = (trial.gate.clone(), trial.keys.clone());
    let signs = Checkpoints::open(parts.0, parts.1, trial.folder.path(), &ledger).await.unwrap();
    assert!(signs.sign(true).await.unwrap());
    let old = trial.person("/v1/ledger/checkpoint", "").await.text;
    let old = trial.keys.signed_checkpoint(&old).unwrap();
    busy(&trial).await;
    assert!(signs.sign(true).await.unwrap());
    let new = trial.person("/v1/ledger/checkpoint", "").await.text;
    let new = trial.keys.signed_checkpoint(&new).unwrap();
    assert!(new.size > old.size);
    let heard = trial.person("/v1/ledger/entries?from=0&limit=1000", "").await;
    let value = countersign_json::parse(&heard.text).unwrap();
    let entries = value.get("entries").unwrap().as_array().unwrap();
    let mut verifier = Verifier::new();
    // The bytes as they were sent: nobody has to make them canonical again.
    let inside = heard.text.split_once("\"entries\":[").unwrap().1;
    for (index, entry) in entries.iter().enumerate() {
        let text = entry.to_json();
        assert!(inside.contains(&text));
        verifier.feed(text.as_bytes()).unwrap();
        let path = format!("/v1/ledger/inclusion?index={index}&size={}", new.size);
        let proof = trial.person(&path, "").await.json();
        let leaf = leaf_hash(text.as_bytes());
        assert_eq!(proof["leaf"], leaf.to_string());
        verify_inclusion(&leaf, index as u64, new.size, &digests(&proof), &new.root).unwrap();
    }
    verifier.finish(&new).unwrap();
    let path = format!("/v1/ledger/consistency?old={}&new={}", old.size, new.size);
    let proof = digests(&trial.person(&path, "").await.json());
    verify_consistency(old.size, &old.root, new.size, &new.root, &proof).unwrap();
    for (path, status) in [
        ("/v1/ledger/inclusion?index=9999&size=10000", 404),
        ("/v1/ledger/consistency?old=5&new=10000", 404),
        ("/v1/ledger/consistency?old=-1&new=3", 400),
        ("/v1/ledger/entries?form=3", 400),
    ] {
        assert_eq!(trial.person(path, "").await.status, status, "{path}");
        assert_eq!(trial.agent(AGENT, path, "").await.status, 404, "agents read no ledger");
    }
    let key = trial.person("/v1/ledger/key", "").await.json();
    assert_eq!(key["vkey"], trial.keys.vkey().unwrap());
    assert_eq!(key["jwk"]["kid"], trial.keys.kid());
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_say_what_happened() {
    let trial = trial().await;
    busy(&trial).await;
    let stats = trial.person("/v1/stats", "").await.json();
    for part in ["since_start", "last_24_hours"] {
        assert_eq!(stats[part]["calls"]["passes"], 3, "{stats}");
        assert_eq!(stats[part]["calls"]["asks"], 3, "{stats}");
        assert_eq!(stats[part]["calls"]["questions_per_100"], "50.0", "{stats}");
    }
    assert_eq!(stats["last_24_hours"]["by_state"]["approved"], 2, "{stats}");
    assert_eq!(stats["last_24_hours"]["by_agent"]["coder"], 3, "{stats}");
    assert_eq!((&stats["last_24_hours"]["answers"], &stats["open"]), (&2.into(), &1.into()));
    let text = trial.person("/metrics", "").await.text;
    for line in [
        "countersign_open_requests 1",
        "countersign_store_healthy 1",
        "countersign_answer_seconds_count 2",
        "countersign_agent_calls_total{agent=\"coder\"} 6",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(text.contains("countersign_requests_ended_total{end=\"approved\""), "{text}");
    assert_eq!(trial.agent(AGENT, "/metrics", "").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_write_is_not_ready() {
    let trial =
        trial_on(FLOOD, SqliteOptions { max_pages: Some(120), ..SqliteOptions::default() }).await;
    assert_eq!(trial.person("/ready", "").await.status, 200);
    let mut refused = None;
    for n in 0..2000 {
        let call = format!("{{\"command\":\"rm -rf /srv/{n}/{}\"}}", "x".repeat(2000));
        let heard = trial.agent(AGENT, "/v1/requests", &call).await;
        if heard.status != 201 {
            refused = Some(heard);
            break;
        }
    }
    let refused = refused.unwrap();
    assert_eq!((refused.status, &refused.json()["outcome"]), (503, &"unavailable".into()));
    let ready = trial.person("/ready", "").await;
    assert_eq!((ready.status, &ready.json()["outcome"]), (503, &"unavailable".into()));
    let text = trial.person("/metrics", "").await.text;
    assert!(text.contains("countersign_store_healthy 0"), "{text}");
    assert!(text.contains("countersign_held_total{why=\"store\"}"), "{text}");
}
