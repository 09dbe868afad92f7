//! Calls that wait for a person: asked once, joined by a retry, run once.

use countersign_client::{DecisionAnswer, DecisionChoice};
use serde_json::json;

use super::fixture::{HookOutput, RISKY, TestHome, approve, bash, waiting};

#[test]
fn a_person_says_yes_and_it_may_run_once() {
    let home = TestHome::new();
    let person = home.person();
    let hook = home.hook(&["claude", "--patience", "20"], &bash(RISKY, "toolu_1"));
    approve(&person, &waiting(&person, 1));
    let (word, reason) = HookOutput::of(hook).claude();
    assert_eq!((word.as_str(), reason.contains("a person approved")), ("allow", true));
    // The next call is the next question, whatever it is called.
    let again = home.says(&["claude", "--patience", "1"], &bash(RISKY, "toolu_2"));
    assert!(again.denied().contains("has not decided yet"), "{again:?}");
    let same = home.says(&["claude", "--patience", "1"], &bash(RISKY, "toolu_1"));
    assert!(same.denied().contains("has not decided yet"), "{same:?}");
}

#[test]
fn a_no_reaches_the_model_with_its_reason() {
    let home = TestHome::new();
    let person = home.person();
    let hook = home.hook(&["claude", "--patience", "20"], &bash(RISKY, "toolu_1"));
    let request = waiting(&person, 1).remove(0);
    let id = request.id.as_deref().unwrap();
    let answer = DecisionAnswer::new(DecisionChoice::Deny, &request.digest);
    person.decide(id, &DecisionAnswer { reason: "use the trash", ..answer }).unwrap();
    let reason = HookOutput::of(hook).denied();
    assert!(reason.contains("owner") && reason.contains("use the trash"), "{reason}");
}

#[test]
fn whoever_loses_patience_comes_back_to_the_same_question() {
    let home = TestHome::new();
    let person = home.person();
    let early = home.says(&["claude", "--patience", "1"], &bash(RISKY, "toolu_1")).denied();
    let open = waiting(&person, 1);
    assert!(early.contains(open[0].id.as_deref().unwrap()), "{early}");
    let later = home.hook(&["claude", "--patience", "20"], &bash(RISKY, "toolu_2"));
    home.callers_wait(1);
    approve(&person, &waiting(&person, 1));
    assert_eq!(HookOutput::of(later).claude().0, "allow");

    // Approved while no one waited: the retry gets it, and only the first one.
    home.says(&["claude", "--patience", "1"], &bash("rm -rf /srv/b", "toolu_3")).denied();
    approve(&person, &waiting(&person, 1));
    let retry = home.says(&["claude", "--patience", "1"], &bash("rm -rf /srv/b", "toolu_4"));
    assert_eq!(retry.claude().0, "allow");
    let third = home.says(&["claude", "--patience", "1"], &bash("rm -rf /srv/b", "toolu_5"));
    assert!(third.denied().contains("has not decided yet"), "{third:?}");
}

#[test]
fn the_same_call_twice_at_once_needs_a_yes_each() {
    let home = TestHome::new();
    let person = home.person();
    let hooks =
        ["a", "b"].map(|call| home.hook(&["claude", "--patience", "6"], &bash(RISKY, call)));
    home.callers_wait(2);
    approve(&person, &waiting(&person, 1));
    let said = hooks.map(|hook| HookOutput::of(hook).claude());
    let allowed = said.iter().filter(|(word, _)| word == "allow").count();
    assert_eq!(allowed, 1, "one yes, one call: {said:?}");
    assert!(said.iter().any(|(_, why)| why.contains("has not decided yet")), "{said:?}");
    waiting(&person, 1);
}

#[test]
fn what_a_person_changed_is_what_runs() {
    let home = TestHome::new();
    let hook = home.hook(&["claude", "--patience", "20"], &bash(RISKY, "toolu_1"));
    let person = home.person();
    let request = waiting(&person, 1).remove(0);
    let edited = json!({ "command": "ls /srv/data" });
    let id = request.id.unwrap();
    let mut body = json!({ "digest": request.digest, "edited_arguments": edited });
    let checked = home.post_as_person(&format!("{id}/edit"), &body);
    let (_, checked) = checked.split_once("\r\n\r\n").unwrap();
    let checked: serde_json::Value = serde_json::from_str(checked).unwrap();
    assert!(checked["digest"].is_string(), "{checked}");
    body["edited_digest"] = checked["digest"].clone();
    body["choice"] = json!("approve");
    body["reason"] = json!("only look");
    body["word"] = checked["phrase"].clone();
    let answer = home.post_as_person(&format!("{id}/decision"), &body);
    assert!(answer.contains("approved"), "{answer}");
    let said = HookOutput::of(hook);
    assert_eq!(said.claude().0, "allow", "{said:?}");
    assert_eq!(said.json()["hookSpecificOutput"]["updatedInput"], edited);
}

#[test]
fn a_turn_of_several_calls_is_one_group_with_an_answer_for_each() {
    let home = TestHome::new();
    let person = home.person();
    let call = |command: &str, id: &str| {
        let arguments = json!({ "command": command });
        json!({ "tool": "terminal", "arguments": arguments, "call_id": id })
    };
    let batch = json!({
        "event": "batch", "session": "s", "cwd": "/srv",
        "calls": [
            call("ls", "1"), call(RISKY, "2"), call("rm -rf /srv/b", "3"), call("mkdir x", "4"),
        ],
    });
    let hook = home.hook(&["plugin", "--agent", "hermes", "--patience", "20"], &batch);
    let open = waiting(&person, 2);
    assert!(open[0].group.is_some() && open[0].group == open[1].group, "one card");
    let yes = open.iter().find(|one| one.brief.as_deref().unwrap().contains("/srv/b")).unwrap();
    let no = open.iter().find(|one| one.id != yes.id).unwrap();
    approve(&person, std::slice::from_ref(yes));
    let id = no.id.as_deref().unwrap();
    let answer = DecisionAnswer::new(DecisionChoice::Deny, &no.digest);
    person.decide(id, &DecisionAnswer { reason: "keep it", ..answer }).unwrap();
    let said = HookOutput::of(hook).json();
    let words: Vec<_> =
        (0..4).map(|at| said["decisions"][at]["decision"].as_str().unwrap()).collect();
    assert_eq!(words, ["allow", "deny", "allow", "allow"], "{said}");
    assert!(said["decisions"][1]["reason"].as_str().unwrap().contains("keep it"), "{said}");
    assert_eq!(
        said["stages"].as_array().unwrap().iter().flat_map(|s| s.as_array().unwrap()).count(),
        4
    );
}

#[test]
fn a_turn_in_which_nobody_has_to_be_asked_goes_on_at_once() {
    let home = TestHome::new();
    let call = |command: &str| json!({ "tool": "terminal", "arguments": { "command": command } });
    let batch = json!({ "event": "batch", "calls": [call("mkdir a"), call("mkdir b")] });
    let said = home.says(&["plugin", "--agent", "hermes", "--patience", "5"], &batch).json();
    let yes = json!({ "decision": "allow" });
    assert_eq!(said["decisions"], json!([yes, yes]), "{said}");
}

#[test]
fn what_passed_without_the_daemon_is_in_its_ledger_a_moment_later() {
    let mut home = TestHome::empty();
    for number in 0..5 {
        let said = home.says(&["claude"], &bash(&format!("cat notes-{number}.txt"), "toolu"));
        assert_eq!(said.claude().0, "nothing");
    }
    home.start();
    // What waits is sent when the next call comes, or by the process that is still trying.
    let said = home.says(
        &["gemini"],
        &json!({
            "hook_event_name": "BeforeTool", "tool_name": "list_directory", "session_id": "g",
            "tool_input": { "dir_path": "/srv" },
        }),
    );
    assert_eq!((said.code, said.out.as_str()), (Some(0), "{}"), "{said:?}");
    let lines = home.ledger_with("\"gemini\"");
    let reported = lines.iter().filter(|line| line.contains("reported_by")).count();
    assert_eq!(reported, 6, "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("notes-3")), "no word of the calls stays");
}

#[test]
fn what_came_of_a_call_stands_with_its_request() {
    let home = TestHome::new();
    let person = home.person();
    let hook = home.hook(&["claude", "--patience", "20"], &bash(RISKY, "toolu_1"));
    let request = waiting(&person, 1).remove(0);
    approve(&person, std::slice::from_ref(&request));
    assert_eq!(HookOutput::of(hook).claude().0, "allow");
    let mut after = bash(RISKY, "toolu_1");
    after["hook_event_name"] = json!("PostToolUse");
    after["tool_response"] = json!({ "stdout": "gone", "exit_code": 0 });
    after["duration_ms"] = json!(42);
    let said = home.says(&["claude"], &after);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "{}"), "{said:?}");
    let shown = person.show(request.id.as_deref().unwrap()).unwrap();
    let reported = shown.reported.unwrap();
    assert_eq!((&reported["status"], &reported["duration_ms"]), (&json!("ok"), &json!(42)));
    assert_eq!(reported["result_digest"].as_str().unwrap().len(), 64);
}

#[test]
fn an_approved_part_of_a_command_runs_alone_once() {
    let home = TestHome::new();
    let person = home.person();
    let both = "git push --force && rm -rf /srv/data";
    let hook = home.hook(&["claude", "--patience", "20"], &bash(both, "toolu_1"));
    let request = waiting(&person, 1).remove(0);
    let answer = DecisionAnswer::new(DecisionChoice::Approve, &request.digest);
    let answer = DecisionAnswer { word: &request.phrase, segments: &[1], ..answer };
    person.decide(request.id.as_deref().unwrap(), &answer).unwrap();
    let reason = HookOutput::of(hook).denied();
    assert!(reason.contains("approved only a part") && reason.contains("nothing was run"));
    assert!(reason.contains("`git push --force`; not approved: `rm -rf /srv/data`"), "{reason}");
    let mut alone = bash("git push --force", "toolu_2");
    alone["tool_input"]["description"] = json!("Push the rewritten branch");
    let runs = home.says(&["claude", "--patience", "1"], &alone);
    assert_eq!(runs.claude().0, "allow", "{runs:?}");
    let again = home.says(&["claude", "--patience", "1"], &bash("git push --force", "toolu_3"));
    assert!(again.denied().contains("has not decided yet"), "{again:?}");
    let other = home.says(&["claude", "--patience", "1"], &bash("rm -rf /srv/data", "toolu_4"));
    assert!(other.denied().contains("has not decided yet"), "{other:?}");
}
