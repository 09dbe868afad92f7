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

const DENIED: &str = "{\"command\": \"acmectl deploy\", \"decision\": \"denied\"}\n\
    {\"command\": \"acmectl status --all\"}\n";

/// Replays calls with a configuration, and a file of rules in its folder.
fn replayed(calls: &str, config: &str, cedar: Option<&str>) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let (log, file) = (folder.path().join("calls.jsonl"), folder.path().join("c.toml"));
    fs::write(&log, calls).unwrap();
    fs::write(&file, config).unwrap();
    if let Some(rules) = cedar {
        fs::create_dir(folder.path().join("policy")).unwrap();
        fs::write(folder.path().join("policy/a.cedar"), rules).unwrap();
    }
    let (log, file) = (log.to_str().unwrap(), file.to_str().unwrap());
    let output = run(&["replay", log, "--config", file, "--json"]);
    let report = serde_json::from_str(&stdout(&output))
        .unwrap_or_else(|error| panic!("{error}: {}", super::binary::stderr(&output)));
    (output.status.code(), report)
}

fn rule(decision: &str, more: &str) -> String {
    format!(
        "[policy]\npermit_up_to = \"MEDIUM\"\n[[policy.rule]]\nname = \"deploys\"\n\
         decision = \"{decision}\"\ncommands = [\"acmectl deploy\"]\n{more}"
    )
}

#[test]
fn a_rule_that_allows_a_denied_call_is_reported() {
    let (code, report) = replayed(DENIED, &rule("allow", ""), None);
    assert_eq!(code, Some(1), "{report}");
    let passed = report["denied_passed"].as_array().unwrap();
    assert_eq!(passed.len(), 1, "{report}");
    assert!(passed[0]["call"].as_str().unwrap().contains("acmectl"), "{report}");
    assert_eq!(report["not_comparable"], 0);
}

#[test]
fn a_cedar_rule_that_allows_a_denied_call_is_reported() {
    let cedar = "@id(\"deploys\")\npermit (principal, action, resource)\n\
        when { context.command.contains(\"acmectl deploy\") };\n";
    let (code, report) = replayed(DENIED, "[policy]\npermit_up_to = \"MEDIUM\"\n", Some(cedar));
    assert_eq!(code, Some(1), "{report}");
    assert_eq!(report["denied_passed"].as_array().unwrap().len(), 1, "{report}");
}

#[test]
fn rules_that_deny_refuse_and_rules_that_ask_ask_each_time() {
    let (code, report) = replayed(DENIED, &rule("deny", ""), None);
    assert_eq!((code, &report["then"]["refused"]), (Some(0), &1.into()), "{report}");
    // An answer for the session covers the second call, unless a rule wants a person each time.
    let twice = "{\"command\": \"acmectl deploy\", \"session\": \"a\"}\n".repeat(2);
    let (_, report) = replayed(&twice, &rule("ask", ""), None);
    let questions = (&report["now"]["questions"], &report["then"]["questions"]);
    assert_eq!(questions, (&1.into(), &2.into()), "{report}");
    let looks = "{\"command\": \"ls /srv\"}\n";
    let cedar = "@id(\"looks\")\n@decision(\"ask\")\nforbid (principal, action, resource)\n\
        when { context.commands.contains(\"ls\") };\n";
    let (_, report) = replayed(looks, "", Some(cedar));
    assert_eq!(report["more"], 1, "{report}");
}

#[test]
fn a_denied_call_that_may_pass_by_its_agent_or_time_is_not_ruled_out() {
    for more in ["agents = [\"deployer\"]\n", "agents = [\"ci\", \"deployer\"]\n"] {
        let (code, report) = replayed(DENIED, &rule("allow", more), None);
        assert_eq!((code, &report["not_comparable"]), (Some(1), &1.into()), "{report}");
        assert_eq!(report["denied_unknown"].as_array().unwrap().len(), 1, "{report}");
    }
    let by_day = "@id(\"deploys\")\npermit (principal, action, resource) when {\n\
        context.command.contains(\"acmectl deploy\") && context.hour >= 22 };\n";
    let (code, report) = replayed(DENIED, "[policy]\npermit_up_to = \"MEDIUM\"\n", Some(by_day));
    assert_eq!((code, &report["not_comparable"]), (Some(1), &1.into()), "{report}");
    // A rule that only restricts lets nothing pass, whoever asks.
    let (code, report) = replayed(DENIED, &rule("deny", "agents = [\"deployer\"]\n"), None);
    assert_eq!((code, &report["not_comparable"]), (Some(0), &1.into()), "{report}");
}

#[test]
fn a_rule_about_a_project_that_the_log_does_not_say_is_not_ruled_out() {
    let allow = "@id(\"deploys\")\npermit (principal, action, resource) when {\n\
        context.command.contains(\"acmectl deploy\") && context.project == \"/srv/shop\" };\n";
    let config = "[policy]\npermit_up_to = \"MEDIUM\"\n";
    let (code, report) = replayed(DENIED, config, Some(allow));
    assert_eq!((code, &report["not_comparable"]), (Some(1), &2.into()), "{report}");
    let placed = DENIED.replace("{\"command", "{\"project\": \"/srv/shop\", \"command");
    let (code, report) = replayed(&placed, config, Some(allow));
    assert_eq!((code, &report["not_comparable"]), (Some(1), &0.into()), "{report}");
    let elsewhere = placed.replace("/srv/shop", "/srv/docs");
    let (code, report) = replayed(&elsewhere, config, Some(allow));
    assert_eq!((code, &report["not_comparable"]), (Some(0), &0.into()), "{report}");
}

#[test]
fn a_rule_that_cannot_be_evaluated_is_a_question() {
    let allow = "@id(\"deploys\")\npermit (principal, action, resource)\n\
        when { context.command.contains(\"acmectl deploy\") };\n";
    let overflow = "@id(\"broken\")\npermit (principal, action, resource)\n\
        when { (context.confidence + 1) * 9223372036854775807 > 0 };\n";
    let config = "[policy]\npermit_up_to = \"MEDIUM\"\n";
    let (code, report) = replayed(DENIED, config, Some(&format!("{allow}{overflow}")));
    assert_eq!((code, &report["then"]["questions"]), (Some(0), &2.into()), "{report}");
    assert_eq!(report["not_comparable"], 0, "{report}");
}

#[test]
fn the_phases_apply_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    let (log, file) = (folder.path().join("calls.jsonl"), folder.path().join("c.toml"));
    fs::write(&log, DENIED).unwrap();
    fs::write(&file, rule("allow", "")).unwrap();
    let (log, file) = (log.to_str().unwrap(), file.to_str().unwrap());
    let output = run(&["rollout", log, "--config", file, "--json"]);
    let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["phases"][2]["rejected_held"], 0, "{report}");
    assert_eq!(report["not_comparable"], 0, "{report}");
}
