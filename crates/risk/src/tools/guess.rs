//! Tools nobody described: their name is read for its verb and nouns, their arguments by name.

use super::arguments::{Reader, guessed};
use super::place::Place;
use super::subject::{ReadInner, Subject};
use super::table::{self, Class, Noun, Role, Strength, Verb};
use super::{label, name, objects};
use crate::effect::{Effect, Effects};
use crate::finding::{Doubt, Finding, Findings};
use crate::name_lists::{NESTED_ARGUMENT_NAMES, NOUNS};
use crate::structural_findings;
use countersign_json::Value;
use countersign_types::tier::Tier;

/// Reads a tool by its name and arguments.
pub(super) fn read(subject: &Subject<'_>, read_inner: ReadInner, out: &mut Findings) {
    let words = name::words(subject.name);
    let words: Vec<&str> = words.split(' ').filter(|w| !w.is_empty()).collect();
    let verbs = own_verbs(&words, subject.name);
    let nouns = nouns(&words);
    let labelled = label::class(subject, &verbs, &nouns);
    let class = labelled.or_else(|| read_name(subject, &verbs, &nouns, out));
    let looks = class.is_some_and(Class::only_looks);
    let is_exec = |verb: &&Verb| verb.class == Class::Exec;
    let runs = match labelled {
        Some(class) => class == Class::Exec,
        None => class.is_none() || verbs.iter().any(is_exec),
    };
    let mut reader = Reader {
        ctx: subject.context,
        agent: subject.agent,
        class: class.or(Some(Class::Manage)),
        looks,
        // Whatever such a tool is given may leave this machine: its server is not known.
        outward: true,
        language: None,
        currency: None,
        target: None,
        out,
    };
    if verbs.iter().any(|v| v.decides) {
        let message = "The agent would decide for a person.";
        reader.behaviour("behaviour.decides_for_people", 40, message);
    }
    read_inner(subject, &names_a_tool, reader.out);
    read_arguments(subject.arguments, runs, &mut reader);
}

/// The verbs of a name. Where they only look, those in the name of an MCP server do not count:
/// `mcp__search__zorp` may do anything.
fn own_verbs(words: &[&str], written: &str) -> Vec<&'static Verb> {
    let all = verbs(words, written);
    let looks = all.iter().all(|verb| verb.class.only_looks());
    let tool = written.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    tool.filter(|_| looks).map_or(all, |(_, tool)| named_verbs(tool))
}

/// What the words of the name say; the class of the most severe verb, if there is a verb.
fn read_name(
    subject: &Subject<'_>,
    verbs: &[&'static Verb],
    nouns: &[&'static Noun],
    out: &mut Findings,
) -> Option<Class> {
    let Some(main) = verbs.iter().max_by_key(|v| v.tier) else {
        out.doubt(Doubt::UnknownProgram);
        out.effect(Effect::Remote);
        add_guess(subject, structural_findings::UNKNOWN_TOOL.finding(), out);
        return None;
    };
    for verb in verbs {
        named(subject, verb, nouns, out);
    }
    Some(main.class)
}

/// Reads the arguments by their names. `runs`: the tool may run what it is given.
fn read_arguments<'c>(arguments: &'c Value<'c>, runs: bool, reader: &mut Reader<'c, '_>) {
    match arguments {
        Value::Object(members) => {
            let role_of = |key: &str| guessed(key);
            reader.steer(members, &role_of);
            if runs {
                let exec = |key: &str| table::exec_argument(&name::compact(key));
                reader.exec_members(
                    members,
                    &|key| exec(key).or_else(|| guessed(key)),
                    None,
                    false,
                );
            } else {
                let roles: Vec<Option<Role>> =
                    members.iter().map(|(key, _)| role_of(key).or(Some(Role::Body))).collect();
                reader.members(members, &roles);
            }
            reader.scan(arguments, true, &|_| false);
        }
        Value::Null => {}
        other => {
            reader.out.doubt(Doubt::VagueArguments);
            let place = Place { parent: None, key: "", index: None, depth: 0 };
            reader.read(Role::Body, other, &place);
        }
    }
}

/// Whether the name of an undescribed tool says that it runs what it is given.
pub(super) fn names_execution(tool: &str) -> bool {
    named_verbs(tool).iter().any(|verb| verb.class == Class::Exec)
}

/// The verbs in the name of an undescribed tool.
pub(super) fn named_verbs(tool: &str) -> Vec<&'static Verb> {
    let words = name::words(tool);
    let words: Vec<&str> = words.split(' ').filter(|w| !w.is_empty()).collect();
    verbs(&words, tool)
}

/// `tool_name` with `arguments` inside an unknown tool: another tool hides there.
fn names_a_tool(key: &str, wanted: Role) -> bool {
    let names = match wanted {
        Role::Tool => &["toolname"][..],
        _ => NESTED_ARGUMENT_NAMES,
    };
    names.contains(&name::compact(key).as_str())
}

/// Adds what a tool is guessed to do: the question is about the tool. What its arguments say is
/// assessed every time.
pub(super) fn add_guess(subject: &Subject<'_>, finding: Finding, out: &mut Findings) {
    let about = format!("tool {}", subject.name);
    let is_medium = finding.weight.tier() == Tier::Medium;
    if is_medium && subject.context.session.is_some() {
        out.add_about(finding, Some(&about), &[]);
    } else {
        out.add(finding);
    }
}

/// What one verb says, given what it is about.
fn named(subject: &Subject<'_>, verb: &'static Verb, nouns: &[&'static Noun], out: &mut Findings) {
    let mut effects: Effects = verb.effects.iter().copied().collect();
    let raised = nouns.iter().filter(|n| !n.mild).filter_map(|n| n.tier(verb.class)).max();
    let mild = nouns.iter().filter(|n| n.mild).find_map(|n| n.tier(verb.class));
    let mut tier = verb.tier;
    if let (Some(lower), true) = (mild, raised.is_none_or(|t| t <= Tier::Low)) {
        tier = tier.min(lower);
        effects = [Effect::Write].into_iter().collect();
    } else if verb.irreversible {
        out.irreversible();
    }
    out.effects.extend(effects);
    add_guess(subject, Finding::pattern(verb.code, tier, verb.message), out);
    objects::note(verb.code, tier, subject, out);

    for noun in nouns.iter().filter(|n| !n.mild) {
        let Some(tier) = noun.tier(verb.class) else { continue };
        out.human(noun.human);
        for effect in noun.effects {
            out.effect(*effect);
        }
        out.add(Finding::pattern(noun.code, tier, noun.message));
        objects::note(noun.code, tier, subject, out);
    }
}

/// The verbs that count: the main one, and those joined to it by "and", "or", "then".
fn verbs(words: &[&str], written: &str) -> Vec<&'static Verb> {
    let seen = each_verb(words);
    let at = |index: usize| seen.get(index).copied().flatten();
    let first = |from: usize, wanted: &dyn Fn(&Verb, Strength) -> bool| {
        let is = |v: &Option<(&Verb, Strength)>| v.is_some_and(|(verb, s)| wanted(verb, s));
        seen.iter().skip(from).position(is).map(|index| index + from)
    };
    let sure = first(0, &|verb, strength| match strength {
        Strength::Strong => true,
        Strength::Either => verb.class.only_looks(),
        Strength::Weak => false,
    });
    let weak = first(0, &|verb, s| s != Strength::Strong && !verb.class.only_looks());
    let last = words.len().saturating_sub(1);
    let pascal = written.starts_with(char::is_uppercase);
    let main = match (sure, weak) {
        (Some(s), Some(0)) if leads(at(0), at(s), s == last, s == 1 || !pascal) => Some(0),
        (Some(s), _) => {
            // "list_item_delete" and "WatchSendMessage" do what the later verb says.
            let acts = |verb: &Verb, st| st == Strength::Strong && !verb.class.only_looks();
            let noun = at(s).is_some_and(|(_, strength)| strength == Strength::Either);
            let real = |l: &usize| *l == last || s > 0 && !words.last().is_some_and(|w| is_noun(w));
            let later = first(s + 1, &acts).filter(|l| noun && real(l));
            later.or(Some(s))
        }
        (None, Some(w)) => {
            // "order_status" looks; "post_status" posts.
            let noun = at(w).is_some_and(|(_, strength)| strength == Strength::Either);
            let looks = at(last).is_some_and(|(verb, _)| verb.class.only_looks());
            Some(if noun && looks { last } else { w })
        }
        (None, None) => first(0, &|_, _| true),
    };
    let mut found: Vec<&'static Verb> =
        main.and_then(at).map(|(verb, _)| verb).into_iter().collect();
    for (index, word) in words.iter().enumerate() {
        if matches!(*word, "and" | "or" | "then")
            && main.is_some_and(|m| index > m)
            && let Some((verb, Strength::Strong)) = at(index + 1)
        {
            found.push(verb);
        }
    }
    if found.is_empty() {
        found.extend(words.iter().find_map(|word| run_together(word)));
    }
    found
}

type Seen = Option<(&'static Verb, Strength)>;

/// Whether a word that may be a noun leads the name as its verb although a surer verb follows:
/// `share_search_results` and `deposit_check` do, `email_search` and `VendorLockGetStatus` do not.
fn leads(word: Seen, sure: Seen, sure_is_last: bool, close: bool) -> bool {
    let (Some((lead, strength)), Some((_, other))) = (word, sure) else { return false };
    match strength {
        Strength::Weak if sure_is_last => other == Strength::Either,
        Strength::Weak => close,
        _ => lead.class == Class::Send && close && !sure_is_last,
    }
}

/// Whether a name that ends so speaks of a thing: `list_merge_requests`.
fn is_noun(word: &str) -> bool {
    let one = table::singular(word).unwrap_or(word);
    NOUNS.contains(&one) || table::verb(word).is_some_and(|(verb, _)| verb.class.only_looks())
}

/// The verb of every word, or of the word with the next one.
fn each_verb(words: &[&str]) -> Vec<Seen> {
    let mut pair = String::new();
    let mut rest = words.iter().peekable();
    let mut seen = Vec::with_capacity(words.len());
    while let Some(word) = rest.next() {
        let both = rest.peek().filter(|_| table::begins_a_pair(word)).and_then(|next| {
            pair.clear();
            pair.push_str(word);
            pair.push(' ');
            pair.push_str(next);
            table::verb(&pair)
        });
        seen.push(both.or_else(|| table::verb(word)));
    }
    seen
}

/// `sendemail`, `deletefile`: a strong verb at the start of a single word.
fn run_together(word: &str) -> Option<&'static Verb> {
    let ends = (3..word.len()).rev().filter(|end| word.is_char_boundary(*end));
    for end in ends {
        let (head, rest) = word.split_at_checked(end)?;
        if let Some((verb, Strength::Strong)) = table::verb(head)
            && rest.len() > 2
        {
            return Some(verb);
        }
    }
    None
}

/// What the name is about: single words and pairs.
fn nouns(words: &[&str]) -> Vec<&'static Noun> {
    let mut found: Vec<&'static Noun> = Vec::new();
    let mut add = |noun: Option<&'static Noun>| {
        if let Some(noun) = noun
            && !found.iter().any(|n| n.code == noun.code)
        {
            found.push(noun);
        }
    };
    let mut pair = String::new();
    for (index, word) in words.iter().enumerate() {
        add(table::noun(word));
        if let Some(next) = words.get(index + 1) {
            pair.clear();
            pair.push_str(word);
            pair.push_str(next);
            add(table::noun(&pair));
        }
    }
    found
}
