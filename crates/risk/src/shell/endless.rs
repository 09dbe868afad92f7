//! Loops that start processes without end.

use std::borrow::Cow;

use crate::name_lists::{CONSTANT_CONDITIONS, LOOP_ENDS};
use countersign_shell::posix::ast::{List, Node, Pipeline, Runs, Word};
use countersign_shell::posix::unquoted;

/// Whether a loop never ends by its condition and starts a process in the background each time,
/// with nothing behind it that waits for the process or leaves the loop. The condition is the first
/// pipeline of the list.
pub(super) fn spawns_without_end(text: &str, list: &List<'_>) -> bool {
    let Some((condition, body)) = list.split_first() else { return false };
    is_constant(text, condition) && keeps_spawning(body)
}

/// Whether a process is started in the background, with nothing behind it that waits or leaves.
fn keeps_spawning(body: &[Pipeline<'_>]) -> bool {
    let Some(last) = body.iter().rposition(|p| p.background || starts_in_a_group(p)) else {
        return false;
    };
    let behind = body.get(last + 1..).unwrap_or_default();
    let ends = |pipeline: &Pipeline<'_>| {
        words(pipeline).first().is_some_and(|word| LOOP_ENDS.contains(&word.as_str()))
    };
    !behind.iter().any(ends)
}

/// `(x &)` and `{ x & }`: the process goes on when the group has ended.
fn starts_in_a_group(pipeline: &Pipeline<'_>) -> bool {
    let [stage] = pipeline.stages.as_slice() else { return false };
    matches!(&stage.node, Node::Group(Runs::Here | Runs::Apart, list) if keeps_spawning(list))
}

/// The same for `for ((…;;…))`, which has no condition. `text` is the text that holds the loop.
pub(super) fn turns_without_end(text: &str, head: &[Word<'_>], body: &List<'_>) -> bool {
    let [head] = head else { return false };
    let condition = source(text, head);
    let condition: String = condition.chars().filter(|c| !c.is_whitespace()).collect();
    condition.contains(";;") && keeps_spawning(body)
}

/// A word as it is written.
fn source<'t>(text: &'t str, word: &Word<'_>) -> &'t str {
    text.get(word.start..word.end).unwrap_or_default()
}

/// A condition that is the same every time.
fn is_constant(text: &str, pipeline: &Pipeline<'_>) -> bool {
    let [stage] = pipeline.stages.as_slice() else { return false };
    if let Node::Test(words) = &stage.node {
        let number = |word: &Word<'_>| {
            let inside = source(text, word).trim_matches(['(', ')', ' ', '\t']);
            !inside.is_empty() && inside.bytes().all(|b| b.is_ascii_digit())
        };
        let literal = |word: &Word<'_>| unquoted(word).is_some_and(|text| is_literal(&text));
        return words.iter().all(|word| literal(word) || number(word));
    }
    let words = words(pipeline);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [program] => {
            let name = program.rsplit('/').next().unwrap_or_default();
            CONSTANT_CONDITIONS.contains(&name)
        }
        ["[" | "[[" | "test", rest @ ..] => rest.iter().all(|word| is_literal(word)),
        _ => false,
    }
}

fn is_literal(word: &str) -> bool {
    !word.contains(['$', '`', '-', '*', '?', '<', '>', '='])
}

/// The words of a pipeline that is one simple command; empty for any other, or one whose words are
/// not all known.
fn words(pipeline: &Pipeline<'_>) -> Vec<String> {
    let [stage] = pipeline.stages.as_slice() else { return Vec::new() };
    let Node::Simple(simple) = &stage.node else { return Vec::new() };
    let text = |word: &Word<'_>| unquoted(word).map(Cow::into_owned);
    simple.words.iter().map(text).collect::<Option<_>>().unwrap_or_default()
}
