//! `replay` and `rollout` on the sample log.

use std::fs;

use super::binary::{assert_refused, run, scratch, stdout};
use serde_json::Value;

const LOG: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../gateways/fixtures/logs/claude-code.jsonl");

#[test]
fn a_weaker_mode_would_pass_a_call_that_was_rejected() {
    let output = run(&["replay", LOG, "--mode", "observe", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&report["calls"], &report["denied"]), (&21.into(), &1.into()));
    assert_eq!((&report["now"]["questions"], &report["then"]["questions"]), (&5.into(), &0.into()));
    assert_eq!(report["denied_passed"].as_array().unwrap().len(), 1);
    let text = stdout(&run(&["replay", LOG, "--mode", "observe"]));
    assert!(
        text.contains("Denied calls that would pass:\n  HIGH 8e07b9aa-tuesday kubectl"),
        "{text}"
    );
}

#[test]
fn a_stricter_configuration_asks_more() {
    let file = scratch("stricter.toml");
    fs::write(&file, "[assessment]\nlow_confidence = 1.0\n").unwrap();
    let output = run(&["replay", LOG, "--config", file.to_str().unwrap(), "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["fewer"], 0);
    assert!(report["more"].as_u64().unwrap() > 0, "{report}");
    assert_refused(&run(&["replay", LOG]), "--config");
    assert_refused(&run(&["replay", LOG, "--config", "/nowhere.toml"]), "/nowhere.toml");
}

#[test]
fn the_phases_with_their_figures() {
    let file = scratch("observe.toml");
    fs::write(&file, "mode = \"observe\"\n").unwrap();
    let output = run(&["rollout", LOG, "--config", file.to_str().unwrap(), "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let phase = |at: usize| &report["phases"][at];
    assert_eq!((&phase(0)["mode"], &phase(0)["current"]), (&"observe".into(), &true.into()));
    assert_eq!((&phase(0)["asked"]["total"], &phase(2)["asked"]["total"]), (&0.into(), &5.into()));
    assert_eq!((&phase(0)["rejected_held"], &phase(2)["rejected_held"]), (&0.into(), &1.into()));
    assert_eq!(report["next"], "crisis_only");
}
