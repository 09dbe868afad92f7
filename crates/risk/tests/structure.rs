//! Structural findings that one line cannot show: calls beyond what is followed.

use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::Call;
use countersign_risk::verdict::Policy;

fn command(text: &str) -> Assessment {
    assess(&Call::shell(text), &Policy::default())
}

#[track_caller]
fn has(seen: &Assessment, code: &str) {
    let codes: Vec<&str> = seen.reasons.iter().map(|reason| reason.code.as_ref()).collect();
    assert!(codes.contains(&code), "{codes:?}");
}

#[test]
fn a_text_that_is_too_long_is_reported() {
    has(&command(&"echo a; ".repeat(200_000)), "shell.too-long");
}

#[test]
fn commands_that_are_nested_too_deep_are_reported() {
    let deep = format!("{}ls{}", "$( ".repeat(200), ")".repeat(200));
    has(&command(&deep), "shell.too-deep");
}

#[test]
fn too_many_commands_are_reported() {
    has(&command(&"ls; ".repeat(2_000)), "shell.too-many");
}

#[test]
fn code_with_too_many_commands_is_reported() {
    let line = format!("import os\nc = 'echo {}'\n", "a".repeat(4_000));
    let code = format!("{line}{}", "os.system(c)\n".repeat(4_000));
    has(&command(&format!("python3 - <<'EOF'\n{code}EOF\n")), "code.too_many");
}

#[test]
fn arguments_that_are_nested_too_deep_are_reported() {
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(60), "]".repeat(60));
    let call = Call { tool: "frobnicate".into(), ..Call::shell("ls") };
    let arguments = countersign_json::parse(&deep).unwrap();
    has(&assess(&Call { arguments, ..call }, &Policy::default()), "tool.unreadable");
}

#[test]
fn too_many_values_of_powershell_are_reported() {
    let list: Vec<String> = (0..5_000).map(|number| format!("'f{number}'")).collect();
    let text = format!("foreach ($f in {}) {{ Remove-Item $f }}", list.join(","));
    has(&command(&format!("powershell -Command \"{text}\"")), "powershell.too-many-values");
}
