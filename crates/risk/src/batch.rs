//! Batches: which calls of a list may run side by side.

use std::convert::Infallible;

use serde::Serialize;

use crate::assess::{Assessment, assess};
use crate::call::Call;
use crate::name_lists::{RESULT_NAMES, RESULT_WORDS};
use crate::score;
use crate::verdict::Policy;
use countersign_json::Value;

/// Values nested deeper than this are taken to need an earlier result.
const DEEPEST: u8 = 12;

/// How a list of calls may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Whether all of them may run at once.
    pub parallel: bool,
    /// Which calls run together, by their place in the list; one stage after the other.
    /// Results are given back in the order of the list, whatever finished first.
    pub stages: Vec<Vec<usize>>,
    /// Why calls must wait for others.
    pub reasons: Vec<WaitReason>,
}

/// Why one call waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitReason {
    /// The call that waits.
    pub call: usize,
    /// The call it waits for, where it is one of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<usize>,
    /// Stable code.
    pub code: &'static str,
    /// The sentence.
    #[serde(rename = "say")]
    pub message: &'static str,
}

/// Plans a list of calls: what only looks may run together, everything else in order.
pub fn plan(calls: &[Call<'_>], policy: &Policy) -> Plan {
    let Ok(plan) = plan_by(|call| Ok::<_, Infallible>(assess(call, policy)), calls);
    plan
}

/// The same with another assessment, whose first error ends it.
pub fn plan_by<E>(
    assess: impl Fn(&Call<'_>) -> Result<Assessment, E>,
    calls: &[Call<'_>],
) -> Result<Plan, E> {
    let mut stages: Vec<Vec<usize>> = Vec::new();
    let mut reasons = Vec::new();
    // Whether the newest stage takes more calls.
    let mut open = false;
    let mut written: Vec<(usize, String)> = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let seen = assess(call)?;
        let alone = alone(&seen);
        let needs = needed(call, at, &written);
        if let Some((code, message)) = alone
            && calls.len() > 1
        {
            reasons.push(WaitReason { call: at, after: None, code, message });
        }
        if let Some((after, code, message)) = needs {
            reasons.push(WaitReason { call: at, after, code, message });
        }
        match stages.last_mut() {
            // Callers number results from zero or from one: a placeholder waits for all before.
            Some(stage) if open && alone.is_none() && !waits(stage, needs) => stage.push(at),
            _ => stages.push(vec![at]),
        }
        open = alone.is_none();
        written.extend(touched(&seen).map(|path| (at, path.clone())));
    }
    Ok(Plan { parallel: calls.len() > 1 && stages.len() == 1, stages, reasons })
}

/// Why a call may not run beside others, if so.
fn alone(seen: &Assessment) -> Option<(&'static str, &'static str)> {
    if score::changes(seen.effects) {
        Some(("batch.changes", "It makes changes, so it keeps its place in the order."))
    } else if seen.requires_human {
        Some(("batch.waits", "It waits for a person."))
    } else {
        None
    }
}

/// Whether what a call needs may still be running in this stage.
fn waits(stage: &[usize], needs: Option<Need>) -> bool {
    match needs {
        Some((Some(earlier), "batch.same_path", _)) => stage.contains(&earlier),
        other => other.is_some(),
    }
}

/// The paths a call would change.
fn touched(seen: &Assessment) -> impl Iterator<Item = &String> {
    seen.impact.writes.listed.iter().chain(&seen.impact.deletes.listed)
}

type Need = (Option<usize>, &'static str, &'static str);

/// Which earlier call this one needs, if its arguments say so.
fn needed(call: &Call<'_>, at: usize, written: &[(usize, String)]) -> Option<Need> {
    if at == 0 {
        return None;
    }
    let mut need = None;
    texts(&call.arguments, 0, &mut |text| {
        if need.is_some() {
            return;
        }
        let path = written.iter().rev().find(|(_, path)| overlaps(path, text));
        if let Some((earlier, _)) = path {
            let message = "It touches what an earlier call writes.";
            need = Some((Some(*earlier), "batch.same_path", message));
        } else if let Some(earlier) = placeholder(text) {
            let message = "It needs the result of an earlier call.";
            let earlier = earlier.filter(|e| *e < at).or(Some(at - 1));
            need = Some((earlier, "batch.needs_result", message));
        }
    });
    need
}

/// Gives every text among the arguments; what lies too deep counts as a placeholder.
fn texts(value: &Value<'_>, depth: u8, see: &mut impl FnMut(&str)) {
    if depth > DEEPEST {
        see("$0");
        return;
    }
    match value {
        Value::String(text) => see(text),
        Value::Array(list) => list.iter().for_each(|item| texts(item, depth + 1, see)),
        Value::Object(members) => members.iter().for_each(|(_, item)| texts(item, depth + 1, see)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// One path is the other, or lies inside it.
fn overlaps(path: &str, text: &str) -> bool {
    let inside = |a: &str, b: &str| {
        a.strip_prefix(b.trim_end_matches('/')).is_some_and(|r| r.is_empty() || r.starts_with('/'))
    };
    let (path, text) = (tidy(path), tidy(text));
    !path.is_empty() && !text.is_empty() && (inside(text, path) || inside(path, text))
}

fn tidy(path: &str) -> &str {
    let path = path.trim();
    path.strip_prefix("./").unwrap_or(path)
}

/// Whether a text stands for an earlier result; the inner number is the call's place, if told.
#[expect(clippy::option_option, reason = "a placeholder that names no call is one too")]
fn placeholder(text: &str) -> Option<Option<usize>> {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    if let Some(rest) = text.strip_prefix('$')
        && !rest.is_empty()
        && rest.chars().all(|c| c.is_ascii_digit())
    {
        return Some(number(rest));
    }
    if let Some((_, rest)) = lower.split_once("{{")
        && let Some((inside, _)) = rest.split_once("}}")
    {
        return Some(number(inside));
    }
    if let Some((_, rest)) = lower.split_once("${")
        && (speaks_of_results(rest) || rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Some(number(rest));
    }
    if let Some(inside) = lower.strip_prefix('<').and_then(|t| t.strip_suffix('>'))
        && speaks_of_results(inside)
    {
        return Some(number(inside));
    }
    let one_word = !lower.contains(char::is_whitespace) && !lower.contains(['/', '.']);
    (one_word && RESULT_NAMES.iter().any(|s| lower.contains(s))).then_some(None)
}

fn speaks_of_results(text: &str) -> bool {
    RESULT_WORDS.iter().any(|w| text.contains(w))
}

/// `call_2.result` → the second call; placeholders count from one.
fn number(text: &str) -> Option<usize> {
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse::<usize>().ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    fn call(tool: &'static str, members: &[(&'static str, &'static str)]) -> Call<'static> {
        let text = |v: &'static str| Value::String(Cow::Borrowed(v));
        Call {
            tool: Cow::Borrowed(tool),
            arguments: Value::Object(
                members.iter().map(|(k, v)| (Cow::Borrowed(*k), text(v))).collect(),
            ),
            ..Call::shell("")
        }
    }

    fn planned(calls: &[Call<'_>]) -> Plan {
        plan(calls, &Policy::default())
    }

    #[test]
    fn the_seed_s_batches() {
        let a = || call("read_file", &[("path", "a.txt")]);
        let b = || call("read_file", &[("path", "b.txt")]);
        assert!(planned(&[a(), b()]).parallel);
        let write = call("write_file", &[("path", "b.txt"), ("content", "x")]);
        let mixed = planned(&[a(), write]);
        assert!(!mixed.parallel);
        assert_eq!(mixed.stages, [[0], [1]]);
        let terminal = ["ls", "pwd", "date"].map(|c| call("execute_terminal", &[("command", c)]));
        assert!(planned(&terminal).parallel);
        assert!(!planned(&[a()]).parallel);
        assert!(!planned(&[]).parallel && planned(&[]).stages.is_empty());
        let web = call("web_search", &[("query", "test")]);
        let session = call("session_search", &[("query", "test")]);
        assert_eq!(planned(&[a(), web, session]).stages, [[0, 1, 2]]);
    }

    #[test]
    fn what_needs_an_earlier_result_waits_for_it() {
        let search = || call("search_files", &[("pattern", "*.py")]);
        let message =
            ["result_from_search", "$1", "{{call_1.result}}", "<output of search>", "${step1}"];
        for path in message {
            let plan = planned(&[search(), call("read_file", &[("path", path)])]);
            assert_eq!(plan.stages, [[0], [1]], "{path}");
            assert_eq!(
                plan.reasons.first().map(|r| (r.call, r.after)),
                Some((1, Some(0))),
                "{path}"
            );
        }
        for path in ["a.txt", "$HOME/a", "result.txt", "results_from_2024/x.csv", "<b>"] {
            assert!(planned(&[search(), call("read_file", &[("path", path)])]).parallel, "{path}");
        }
        let plan = planned(&[search(), call("read_file", &[("path", "$1")]), search()]);
        assert_eq!(plan.stages, [vec![0], vec![1, 2]]);
    }

    #[test]
    fn writes_keep_their_place_and_say_what_they_share() {
        let calls = [
            call("read_file", &[("path", "x")]),
            call("read_file", &[("path", "y")]),
            call("write_file", &[("path", "./out/a.txt")]),
            call("read_file", &[("path", "out/a.txt")]),
            call("read_file", &[("path", "z")]),
            call("send_message", &[("to", "sam")]),
            call("delegate_task", &[("goal", "x")]),
        ];
        let plan = planned(&calls);
        assert_eq!(plan.stages, [vec![0, 1], vec![2], vec![3, 4], vec![5], vec![6]]);
        let shared = plan.reasons.iter().find(|r| r.code == "batch.same_path");
        assert_eq!(shared.map(|r| (r.call, r.after)), Some((3, Some(2))));
        assert!(serde_json::to_string(&plan).unwrap().starts_with("{\"parallel\":false"));
    }

    #[test]
    fn what_waits_for_a_person_runs_alone() {
        let secret = call("read_file", &[("path", "/etc/shadow")]);
        assert!(!planned(&[secret, call("read_file", &[("path", "a")])]).parallel);
    }
}
