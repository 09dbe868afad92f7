//! `policy`: checked, tested, explained, compared, shown; and the examples of its page.

use std::fs;
use std::path::Path;

use super::binary::{run, run_with, stderr, stdout};

const DENY: &str = "[[policy.rule]]\nname = \"no-destroy\"\ndecision = \"deny\"\n\
    commands = [\"terraform destroy\"]\nreason = \"Ask the platform team.\"\n\
    [[policy.test]]\ncall = \"sudo terraform destroy\"\nexpect = \"deny\"\n";

fn written(folder: &Path, name: &str, text: &str) -> String {
    let file = folder.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn rules_are_checked_and_tested() {
    let folder = tempfile::tempdir().unwrap();
    let config = written(folder.path(), "countersign.toml", DENY);
    let checked = run(&["policy", "check", &config]);
    assert_eq!(checked.status.code(), Some(0), "{}", stdout(&checked));
    assert!(
        stdout(&checked).starts_with("2 rules, 1 test passed. Policy "),
        "{}",
        stdout(&checked)
    );
    assert_eq!(stdout(&run(&["policy", "test", &config])), "1 passed, 0 failed\n");
    let failing = DENY.replace("sudo terraform destroy", "terraform plan");
    let config = written(folder.path(), "countersign.toml", &failing);
    let checked = run(&["policy", "check", &config]);
    assert_eq!(checked.status.code(), Some(1));
    let found = stdout(&checked);
    assert!(found.contains("policy.test 1: expected deny, found"), "{found}");
    assert_eq!(run(&["policy", "test", &config]).status.code(), Some(1));
    assert_eq!(run(&["config", "check", &config]).status.code(), Some(1));
    written(folder.path(), "policy/a.cedar", "@id(\"x\")\nforbid (principal);");
    let checked = run(&["policy", "check", "--json", &config]);
    let found: serde_json::Value = serde_json::from_str(&stdout(&checked)).unwrap();
    let problem = found["problems"][0].as_str().unwrap();
    assert!(problem.starts_with("policy/a.cedar:2: "), "{found}");
}

#[test]
fn a_decision_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let config = written(folder.path(), "countersign.toml", DENY);
    let explain = |call: &str| {
        let output = run(&["policy", "explain", "--config", &config, call]);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let denied = explain("cd x && terraform destroy");
    assert!(denied.starts_with("deny  "), "{denied}");
    assert!(denied.contains("Denied by rule no-destroy: Ask the platform team."), "{denied}");
    assert!(explain("ls").contains("No rule decides; the verdict follows from the tier."));
    let args = ["policy", "explain", "--config", &config, "--json", "--tool", "send_email"];
    let output = run(&[&args[..], &["--args", r#"{"to":"a@example.com"}"#]].concat());
    let found: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(found["facts"]["recipients"][0], "@example.com", "{found}");
    assert_eq!(run(&["policy", "explain", "--config", &config]).status.code(), Some(2));
}

#[test]
fn configurations_are_compared_over_calls() {
    let folder = tempfile::tempdir().unwrap();
    let old = written(folder.path(), "old/countersign.toml", "");
    let new = written(folder.path(), "new/countersign.toml", DENY);
    let calls = "{\"command\":\"terraform destroy\"}\n\n{\"command\":\"ls\"}\n";
    let output = run_with(&["policy", "diff", &old, &new, "--calls", "-"], calls.as_bytes());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let found = stdout(&output);
    assert!(found.starts_with("ask -> deny  line 1: "), "{found}");
    assert!(found.ends_with("1 of 2 calls get another verdict.\n"), "{found}");
    let calls = written(folder.path(), "calls.jsonl", calls);
    let same = run(&["policy", "diff", &new, &new, "--calls", &calls]);
    assert_eq!(same.status.code(), Some(0), "{}", stdout(&same));
    let invalid = run_with(&["policy", "diff", &old, &new, "--calls", "-"], b"{}\n");
    assert_eq!(invalid.status.code(), Some(2));
    assert!(stderr(&invalid).contains("-:1: "), "{}", stderr(&invalid));
}

#[test]
fn rules_are_shown_as_cedar() {
    let folder = tempfile::tempdir().unwrap();
    let config = written(folder.path(), "countersign.toml", DENY);
    let all = stdout(&run(&["policy", "show", "--config", &config]));
    assert!(all.contains("@id(\"no-destroy\")") && all.contains("no-destroy.unclear"), "{all}");
    let one = stdout(&run(&["policy", "show", "no-destroy", "--config", &config]));
    assert!(one.contains("containsAny([\"terraform destroy\"])"), "{one}");
    assert_eq!(run(&["policy", "show", "x", "--config", &config]).status.code(), Some(2));
    assert!(stdout(&run(&["policy", "show", "--schema"])).contains("entity Environment enum"));
}

#[test]
fn the_rules_of_a_project_are_checked_and_explained() {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    let config = written(&root, "c/countersign.toml", "[policy]\npermit_up_to = \"MEDIUM\"\n");
    let allow = "[policy]\npermit_up_to = \"MEDIUM\"\n[[policy.rule]]\nname = \"deploys\"\n\
        decision = \"allow\"\ncommands = [\"acmectl deploy\"]\n";
    let project = written(&root, "shop/.countersign.toml", &format!("{allow}{DENY}"));
    let checked = run(&["policy", "check", &project]);
    let found = stdout(&checked);
    assert_eq!(checked.status.code(), Some(0), "{found}");
    assert!(found.contains("shop/.countersign.toml: 3 rules, 1 test passed."), "{found}");
    assert!(found.contains("1 rule of this project waits for adoption"), "{found}");
    fs::create_dir_all(root.join("shop/src")).unwrap();
    let cwd = root.join("shop/src").to_str().unwrap().to_owned();
    let explain =
        |call: &str| stdout(&run(&["policy", "explain", "--config", &config, "--cwd", &cwd, call]));
    let denied = explain("sudo terraform destroy");
    assert!(denied.contains("Denied by rule project:no-destroy"), "{denied}");
    let waits = explain("acmectl deploy");
    assert!(waits.starts_with("ask  "), "{waits}");
    assert!(waits.contains("Rule project:deploys permits the call"), "{waits}");
    assert!(waits.contains("the rule waits for adoption"), "{waits}");
    written(&root, "shop/.countersign.toml", "[policy]\nenabled = false\n");
    let checked = run(&["policy", "check", &project]);
    assert_eq!(checked.status.code(), Some(1), "{}", stdout(&checked));
    let asks = explain("mkdir build");
    assert!(asks.starts_with("ask  ") && asks.contains(&project), "{asks}");
    assert!(explain("ls").starts_with("allow  "));
}

/// The examples of the page are checked with their tests.
#[test]
fn the_examples_of_the_page_work() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md");
    let page = fs::read_to_string(page).unwrap();
    let block = |language: &str| {
        let start = format!("```{language}\n");
        let (_, rest) = page.split_once(&start).unwrap();
        rest.split_once("\n```").unwrap().0.to_owned()
    };
    let folder = tempfile::tempdir().unwrap();
    let config = written(folder.path(), "countersign.toml", &block("toml"));
    written(folder.path(), "policy/page.cedar", &block("cedar"));
    let checked = run(&["policy", "check", &config]);
    assert_eq!(checked.status.code(), Some(0), "{}", stdout(&checked));
    assert!(stdout(&checked).contains(" 11 tests passed"), "{}", stdout(&checked));
}
