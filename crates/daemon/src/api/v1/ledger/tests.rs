//! The ledger that people read can be verified; counts are right; a broken store is not ready.

use countersign_json::canonical::Digest;
use countersign_ledger::merkle::{leaf_hash, verify_consistency, verify_inclusion};
use countersign_ledger::verify::Verifier;
use countersign_store::SqliteOptions;

use crate::checkpoints::Checkpoints;
use crate::config::LedgerConfig;
use crate::test_gate::{AGENT, FLOOD, TestGate, test_gate, test_gate_with};

async fn busy(gate: &TestGate) {
    gate.permit(r#"{"command":"git push --force"}"#).await;
    for _ in 0..3 {
        gate.agent(AGENT, "/v1/requests", r#"{"command":"ls"}"#).await;
    }
    gate.agent(AGENT, "/v1/requests", r#"{"command":"rm -rf /srv/x"}"#).await;
    // A pass is written with the next commit; this request waits for it.
    gate.permit(r#"{"command":"git push --force origin x"}"#).await;
}

fn digests(proof: &serde_json::Value) -> Vec<Digest> {
    let list = proof["proof"].as_array().unwrap_or_else(|| panic!("{proof}"));
    list.iter().map(|hex| Digest::parse(hex.as_str().unwrap()).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_and_proofs_verify_against_the_signed_checkpoint() {
    let gate = test_gate().await;
    assert_eq!(gate.person("/v1/ledger/checkpoint", "").await.status, 404);
    let ledger = LedgerConfig {
        every: countersign_types::time::Millis::from_seconds(10),
        file: None,
        webhook: None,
        git: None,
    };
    let parts = (gate.gate.clone(), gate.keys.clone());
    let signs = Checkpoints::open(parts.0, parts.1, gate.folder.path(), &ledger).await.unwrap();
    assert!(signs.sign(true).await.unwrap());
    let old = gate.person("/v1/ledger/checkpoint", "").await.text;
    let old = gate.keys.signed_checkpoint(&old).unwrap();
    busy(&gate).await;
    assert!(signs.sign(true).await.unwrap());
    let new = gate.person("/v1/ledger/checkpoint", "").await.text;
    let new = gate.keys.signed_checkpoint(&new).unwrap();
    assert!(new.size > old.size);
    let response = gate.person("/v1/ledger/entries?from=0&limit=1000", "").await;
    let value = countersign_json::parse(&response.text).unwrap();
    let entries = value.get("entries").unwrap().as_array().unwrap();
    let mut verifier = Verifier::new();
    // The bytes as they were sent, without making them canonical again.
    let inside = response.text.split_once("\"entries\":[").unwrap().1;
    for (index, entry) in entries.iter().enumerate() {
        let text = entry.to_json();
        assert!(inside.contains(&text));
        verifier.feed(text.as_bytes()).unwrap();
        let path = format!("/v1/ledger/inclusion?index={index}&size={}", new.size);
        let proof = gate.person(&path, "").await.json();
        let leaf = leaf_hash(text.as_bytes());
        assert_eq!(proof["leaf"], leaf.to_string());
        verify_inclusion(&leaf, index as u64, new.size, &digests(&proof), &new.root).unwrap();
    }
    verifier.finish(&new).unwrap();
    let path = format!("/v1/ledger/consistency?old={}&new={}", old.size, new.size);
    let proof = digests(&gate.person(&path, "").await.json());
    verify_consistency(old.size, &old.root, new.size, &new.root, &proof).unwrap();
    for (path, status) in [
        ("/v1/ledger/inclusion?index=9999&size=10000", 404),
        ("/v1/ledger/consistency?old=5&new=10000", 404),
        ("/v1/ledger/consistency?old=-1&new=3", 400),
        ("/v1/ledger/entries?form=3", 400),
    ] {
        assert_eq!(gate.person(path, "").await.status, status, "{path}");
        assert_eq!(gate.agent(AGENT, path, "").await.status, 404, "agents read no ledger");
    }
    let key = gate.person("/v1/ledger/key", "").await.json();
    assert_eq!(key["vkey"], gate.keys.vkey().unwrap());
    assert_eq!(key["jwk"]["kid"], gate.keys.kid());
}

#[tokio::test(flavor = "multi_thread")]
async fn stats_and_metrics_count_requests() {
    let gate = test_gate().await;
    busy(&gate).await;
    let stats = gate.person("/v1/stats", "").await.json();
    for part in ["since_start", "last_24_hours"] {
        assert_eq!(stats[part]["calls"]["passes"], 3, "{stats}");
        assert_eq!(stats[part]["calls"]["asks"], 3, "{stats}");
        assert_eq!(stats[part]["calls"]["questions_per_100"], "50.0", "{stats}");
    }
    assert_eq!(stats["last_24_hours"]["by_state"]["approved"], 2, "{stats}");
    assert_eq!(stats["last_24_hours"]["by_agent"]["coder"], 3, "{stats}");
    assert_eq!((&stats["last_24_hours"]["answers"], &stats["open"]), (&2.into(), &1.into()));
    let text = gate.person("/metrics", "").await.text;
    for line in [
        "countersign_open_requests 1",
        "countersign_store_healthy 1",
        "countersign_answer_seconds_count 2",
        "countersign_agent_calls_total{agent=\"coder\"} 6",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(text.contains("countersign_requests_ended_total{end=\"approved\""), "{text}");
    assert_eq!(gate.agent(AGENT, "/metrics", "").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_write_is_not_ready() {
    let gate =
        test_gate_with(FLOOD, SqliteOptions { max_pages: Some(120), ..SqliteOptions::default() })
            .await;
    assert_eq!(gate.person("/ready", "").await.status, 200);
    let mut refused = None;
    for n in 0..2000 {
        let call = format!("{{\"command\":\"rm -rf /srv/{n}/{}\"}}", "x".repeat(2000));
        let response = gate.agent(AGENT, "/v1/requests", &call).await;
        if response.status != 201 {
            refused = Some(response);
            break;
        }
    }
    let refused = refused.unwrap();
    assert_eq!((refused.status, &refused.json()["outcome"]), (503, &"unavailable".into()));
    let ready = gate.person("/ready", "").await;
    assert_eq!((ready.status, &ready.json()["outcome"]), (503, &"unavailable".into()));
    let text = gate.person("/metrics", "").await.text;
    assert!(text.contains("countersign_store_healthy 0"), "{text}");
    assert!(text.contains("countersign_held_total{why=\"store\"}"), "{text}");
}
