//! `rules`: listed, explained, checked.

use super::binary::{run, stdout};

#[test]
fn rules_are_listed_explained_and_checked() {
    let list = run(&["rules", "list", "--json"]);
    assert!(list.status.success());
    let text = stdout(&list);
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let id = first["id"].as_str().unwrap();
    let explained = stdout(&run(&["rules", "explain", id]));
    assert!(explained.contains(id) && explained.contains("matches"), "{explained}");
    let family = first["family"].as_str().unwrap();
    assert!(stdout(&run(&["rules", "list", family])).contains(id));
    // All others are checked by the unit tests.
    let checked = run(&["rules", "check", family]);
    assert_eq!(checked.status.code(), Some(0), "{}", stdout(&checked));
    assert!(stdout(&checked).trim_end().ends_with(" 0 failed"));
}

#[test]
fn every_kind_of_rule_is_shown() {
    let text = stdout(&run(&["rules", "list", "--json"]));
    let rules: Vec<serde_json::Value> =
        text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    for about in ["command", "tool", "python", "javascript", "statement", "orders", "crisis"] {
        let rule = rules.iter().find(|r| r["about"] == about);
        let id = rule.and_then(|r| r["id"].as_str()).unwrap_or_else(|| panic!("no rule: {about}"));
        assert!(stdout(&run(&["rules", "explain", id])).contains(id), "{id}");
    }
}
