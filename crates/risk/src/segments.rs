//! The parts of a compound command that mean the same alone: a person sees the tier of each, and
//! may approve one of them by itself.
//!
//! A part is a whole pipeline. Where anything else could change what a part does (a folder that
//! was entered, a variable, a function, a redirection, a condition of the shell), or where the
//! parts assessed alone do not add up to the assessment of the whole, the command has no parts.

use std::borrow::Cow;
use std::collections::BTreeSet;

use countersign_json::Value;
use countersign_json::canonical::{Digest, canonical};
use countersign_shell::posix::ast::{Node, Part, Parts, Pipeline, Redirect, Stage, Word};
use countersign_shell::posix::{parse, unquoted};

use crate::assess::Assessment;
use crate::call::Call;
use crate::context::{Context, Environment};
use crate::effect::Effects;
use crate::finding::{Doubt, Factor};
use crate::name_lists::{BESIDE_A_COMMAND, SHELL_STATE};
use crate::question::Topic;
use crate::tools;
use crate::verdict::Verdict;
use countersign_types::tier::Tier;

/// How many parts a command may have; one with more is shown as a whole.
const MAX_PARTS: usize = 16;

/// Whether a member beside a command does not affect what runs.
pub fn is_beside_a_command(member: &str) -> bool {
    BESIDE_A_COMMAND.iter().any(|name| member.eq_ignore_ascii_case(name))
}

/// How the message to the agent begins where only parts of its command were approved.
pub const APPROVED_ONLY: &str = "Approved only: ";

/// A part of a command, assessed as a call of its own.
#[derive(Debug, Clone)]
pub struct AssessedPart {
    /// Its text, as it is in the command.
    pub text: String,
    /// Its assessment.
    pub seen: Assessment,
    /// The key of the part standing alone.
    pub key: Digest,
}

/// The parts of a call that asks; none where they do not mean the same alone. `assess` assesses a
/// call as the whole was assessed.
pub fn assessed_parts(
    call: &Call<'_>,
    whole: &Assessment,
    assess: impl Fn(&Call<'_>) -> Assessment,
) -> Vec<AssessedPart> {
    let parts = split_call(call, whole).unwrap_or_default();
    let mut assessed = Vec::with_capacity(parts.len());
    for text in parts {
        let Some(arguments) = with_command(&call.tool, &call.arguments, text) else {
            return Vec::new();
        };
        let seen = assess(&Call { arguments, ..call.clone() });
        let arguments = with_command(&call.tool, &call.arguments, text);
        let key = arguments.and_then(|found| part_key(&found, PartPlace::of(&call.context), &seen));
        let Some(key) = key else { return Vec::new() };
        assessed.push(AssessedPart { text: text.to_owned(), seen, key });
    }
    if adds_up(whole, &assessed) { assessed } else { Vec::new() }
}

fn split_call<'c>(call: &'c Call<'_>, whole: &Assessment) -> Option<Vec<&'c str>> {
    let claimed = whole.reasons.iter().any(|reason| reason.code == "context.claimed");
    if whole.verdict != Verdict::Ask || whole.crisis_sensitive || claimed {
        return None;
    }
    split(tools::command_text(&call.tool, &call.arguments)?.0)
}

/// Where a part runs.
#[derive(Debug, Clone, Copy)]
pub struct PartPlace<'a> {
    /// The working directory.
    pub cwd: Option<&'a str>,
    /// The kind of machine.
    pub environment: Environment,
}

impl<'a> PartPlace<'a> {
    /// The place of a call.
    pub fn of(context: &Context<'a>) -> PartPlace<'a> {
        PartPlace { cwd: context.cwd, environment: context.environment }
    }
}

/// The key of exactly this command in its folder and environment, with what its assessment found:
/// a call that is riskier later has another key. None where the call is not one command in a known
/// folder.
pub fn part_key(arguments: &Value<'_>, place: PartPlace<'_>, seen: &Assessment) -> Option<Digest> {
    let (_, members) = tools::command_text(&seen.tool, arguments)?;
    let affects = |key: &str| !is_beside_a_command(key);
    let bound: Vec<_> = members.iter().filter(|(key, _)| affects(key)).cloned().collect();
    // The canonical form of other values may be that of several texts.
    let is_exact = |value: &Value<'_>| matches!(value, Value::String(_) | Value::Bool(_));
    if !bound.iter().all(|(_, value)| is_exact(value)) {
        return None;
    }
    let (topics, open) = (topics(seen), seen.trace.question().is_open());
    let found = format!("{}\0{:?}\0{topics:?}\0{open}", seen.tier.label(), codes(seen));
    let place = format!("{}\0{}\0{}", seen.tool, place.cwd?, place.environment.label());
    let arguments = canonical(&Value::Object(bound)).text;
    let text = format!("countersign/part/2\0{place}\0{arguments}\0{found}");
    Some(seen.trace.call_key(&Digest::of(text.as_bytes())))
}

/// The arguments with another command.
fn with_command<'v>(tool: &str, arguments: &'v Value<'v>, command: &'v str) -> Option<Value<'v>> {
    let (text, members) = tools::command_text(tool, arguments)?;
    let is_text = |value: &Value<'_>| value.as_str().is_some_and(|one| std::ptr::eq(one, text));
    let replaced = members.iter().map(|(key, value)| {
        let value =
            if is_text(value) { Value::String(Cow::Borrowed(command)) } else { value.reborrow() };
        (Cow::Borrowed(&**key), value)
    });
    Some(Value::Object(replaced.collect()))
}

/// The pipelines of a text, if each of them means the same alone; none if the text is one pipeline.
fn split(text: &str) -> Option<Vec<&str>> {
    if text.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
        return None;
    }
    let parsed = parse(text);
    let count = parsed.list.len();
    if parsed.problem.is_some() || !(2..=MAX_PARTS).contains(&count) {
        return None;
    }
    let (mut parts, mut end) = (Vec::with_capacity(count), 0);
    for pipeline in &parsed.list {
        let (first, last) = (pipeline.stages.first()?, pipeline.stages.last()?);
        if !is_plain_pipeline(pipeline) || !is_separator(text.get(end..first.start)?, end == 0) {
            return None;
        }
        let part = text.get(first.start..last.end)?;
        parts.push(part.trim());
        end = last.end;
    }
    let rest = text.get(end..)?;
    let alone = |part: &&str| parse(part).problem.is_none() && parse(part).list.len() == 1;
    (rest.trim_matches([' ', '\t', '\n', ';']).is_empty() && parts.iter().all(alone))
        .then_some(parts)
}

/// Whether this is all that stands between two pipelines: one operator, and line ends.
fn is_separator(between: &str, at_start: bool) -> bool {
    let operator: String = between.chars().filter(|c| !matches!(c, ' ' | '\t' | '\n')).collect();
    let lines = between.contains('\n');
    match operator.as_str() {
        "" => at_start || lines,
        "&&" | "||" | ";" => !at_start,
        _ => false,
    }
}

fn is_plain_pipeline(pipeline: &Pipeline<'_>) -> bool {
    !pipeline.background && !pipeline.negated && pipeline.stages.iter().all(is_plain_stage)
}

/// Whether a stage is a program with literal words, which changes nothing of its shell.
fn is_plain_stage(stage: &Stage<'_>) -> bool {
    let Node::Simple(simple) = &stage.node else { return false };
    let Some(name) = simple.words.first().and_then(unquoted) else { return false };
    simple.assignments.is_empty()
        && is_program(&name)
        && simple.words.iter().all(is_literal)
        && stage.redirections.iter().all(|one| is_plain_redirection(&one.kind))
}

/// Whether a name is that of a program of its own, in every shell.
fn is_program(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_./+-".contains(&byte);
    let base = name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    !base.is_empty()
        && name.bytes().all(letter)
        && SHELL_STATE.binary_search(&base.as_str()).is_err()
}

/// Whether a word is the same in every shell and at every time: no variable, no command, no
/// arithmetic.
fn is_literal(word: &Word<'_>) -> bool {
    match &word.parts {
        Parts::Plain(_) => true,
        Parts::Many(parts) => {
            parts.iter().all(|part| matches!(part, Part::Bare(_) | Part::Quoted(_)))
        }
    }
}

/// Whether a redirection reaches no file: another descriptor, or nowhere.
fn is_plain_redirection(kind: &Redirect<'_>) -> bool {
    match kind {
        Redirect::Duplicate(word) => {
            unquoted(word).is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        }
        Redirect::Write(word) | Redirect::Append(word) => {
            unquoted(word).is_some_and(|text| text == "/dev/null")
        }
        Redirect::Read(_) | Redirect::Both(_) | Redirect::Text(_) | Redirect::Here(_) => false,
    }
}

/// Whether the parts alone have all that the whole has, and nothing else.
fn adds_up(whole: &Assessment, parts: &[AssessedPart]) -> bool {
    let each = || parts.iter().map(|part| &part.seen);
    let tier: Option<Tier> = each().map(|seen| seen.tier).max();
    let (mut effects, mut doubts) = (Effects::default(), BTreeSet::new());
    for seen in each() {
        effects.extend(seen.effects);
        doubts.extend(seen.doubts.iter().map(|doubt: &Doubt| doubt.words()));
    }
    let same = |of: fn(&Assessment) -> BTreeSet<String>| {
        of(whole) == each().flat_map(of).collect::<BTreeSet<String>>()
    };
    let whole_doubts: BTreeSet<_> = whole.doubts.iter().map(|doubt| doubt.words()).collect();
    let is_open = |seen: &Assessment| seen.trace.question().is_open();
    parts.len() > 1
        && tier == Some(whole.tier)
        && effects == whole.effects
        && doubts == whole_doubts
        && whole.reversible == each().all(|seen| seen.reversible)
        && is_open(whole) == each().any(is_open)
        && same(codes)
        && same(topics)
        && same(|seen| seen.trace.script_digests().map(ToString::to_string).collect())
}

/// What was found, by code.
fn codes(seen: &Assessment) -> BTreeSet<String> {
    let found = seen.reasons.iter().filter(|reason| reason.factor == Factor::Pattern);
    found.map(|reason| reason.code.to_string()).collect()
}

/// What is asked about, by key: program, words, folder and variables.
fn topics(seen: &Assessment) -> BTreeSet<String> {
    let topics = seen.trace.question().all_topics().iter();
    topics.map(Topic::key).map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests;
