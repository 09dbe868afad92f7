//! `rules` → a static automaton, word tables and helplines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use countersign_text::words::split_words;

#[path = "build/ages.rs"]
mod ages;
#[path = "build/evidence.rs"]
mod evidence;
#[path = "src/hash.rs"]
mod hash;
#[path = "build/helplines.rs"]
mod helplines;
#[path = "build/near.rs"]
mod near;
#[path = "build/nfa.rs"]
mod nfa;
#[path = "build/pattern.rs"]
mod pattern;
#[path = "build/table.rs"]
mod table;

/// The fifteen languages, in the order of their hint bits.
const LANGS: [&str; 15] =
    ["en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "uk", "ar", "hi", "zh", "ja", "ko"];

const KINDS: [&str; 8] =
    ["ideation", "hopelessness", "plan", "means", "method", "goodbye", "self_harm", "third_party"];

const FRAMES: [&str; 6] = ["non_human", "negation", "recovery", "fiction", "laughter", "timeframe"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    lang: String,
    /// Where the wording comes from and who reviewed it.
    review: String,
    /// Common words that identify the language.
    #[serde(default)]
    hints: String,
    /// Words that are also recognized with a missing, doubled or swapped letter.
    #[serde(default)]
    typos: String,
    #[serde(default)]
    sets: BTreeMap<String, String>,
    /// Marks that rules combine in any order.
    #[serde(default)]
    marks: BTreeMap<String, String>,
    rule: Vec<Rule>,
    #[serde(default)]
    frame: Vec<Frame>,
    card: BTreeMap<String, String>,
}

/// What additional files of a language may contain.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct More {
    #[serde(default)]
    sets: BTreeMap<String, String>,
    #[serde(default)]
    marks: BTreeMap<String, String>,
    #[serde(default)]
    rule: Vec<Rule>,
    #[serde(default)]
    frame: Vec<Frame>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    kind: String,
    level: u8,
    #[serde(default)]
    imminent: bool,
    /// A denial in it is part of the signal, as in "hard not to hurt myself".
    #[serde(default)]
    firm: bool,
    #[serde(default)]
    patterns: Vec<String>,
    /// Combinations of marks that are close together, in any order.
    #[serde(default)]
    near: Vec<String>,
    examples: Vec<String>,
    #[serde(default)]
    counter_examples: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame {
    id: String,
    kind: String,
    scope: String,
    patterns: Vec<String>,
}

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=rules");
    println!("cargo::rerun-if-changed=build");
    let out = std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    evidence::write(Path::new(&out))?;
    generate(Path::new("rules"), Path::new(&out))
}

/// Reads the rule files of this kind and writes the table into `out`.
fn generate(rules: &Path, out: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    for lang in LANGS {
        let path = rules.join(format!("{lang}.toml"));
        let text =
            std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut file: File =
            toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        for room in ["marks", "meanings"] {
            more(&rules.join(format!("{room}/{lang}.toml")), &mut file)?;
        }
        if file.lang != lang || file.review.is_empty() {
            return Err(format!("{}: wrong lang, or no review note", path.display()));
        }
        files.push(file);
    }
    let mut text = String::new();
    compile(&files, &mut text)?;
    cards(&files, &mut text)?;
    ages::generate(&rules.join("ages.toml"), &mut text)?;
    helplines::generate(&rules.join("helplines.toml"), &mut text)?;
    std::fs::write(out.join("crisis.rs"), text).map_err(|e| e.to_string())
}

/// Adds the sets, marks, rules and frames of an additional file to those of a language.
fn more(path: &Path, file: &mut File) -> Result<(), String> {
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(()) };
    let more: More = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    file.sets.extend(more.sets);
    file.marks.extend(more.marks);
    file.rule.extend(more.rule);
    file.frame.extend(more.frame);
    Ok(())
}

fn compile(files: &[File], text: &mut String) -> Result<(), String> {
    let mut hints: BTreeMap<String, u16> = BTreeMap::new();
    for (bit, file) in files.iter().enumerate() {
        for word in file.hints.split_whitespace() {
            for word in split_words(word) {
                *hints.entry(word.text).or_default() |= 1 << bit;
            }
        }
    }
    let common: BTreeSet<String> = hints.keys().cloned().collect();
    let mut automaton = nfa::Automaton::default();
    let mut ids = BTreeSet::new();
    let mut rules = String::from("static RULES: &[CrisisRule] = &[\n");
    let mut combos = Vec::new();
    let mut examples = String::from("#[cfg(test)]\nstatic EXAMPLES: &[(&str, &str, bool)] = &[\n");
    let mut about = String::from("static RULE_NOTES: &[RuleNote] = &[\n");
    for (lang, file) in files.iter().enumerate() {
        for (id, patterns, what) in entries(file)? {
            let number = u16::try_from(ids.len()).map_err(|_| "too many rules")?;
            if !ids.insert(id.clone()) || !id.starts_with(&format!("{}.", file.lang)) {
                return Err(format!("{id}: twice, or not named after its language"));
            }
            let _ = writeln!(rules, "CrisisRule {{ id: {id:?}, lang: {lang}, what: {what} }},");
            for text in patterns {
                let say = |e: String| format!("{id}: {text}: {e}");
                let node = pattern::parse(text, &file.sets).map_err(say)?;
                for part in pattern::parts(node, what.starts_with("RuleMeaning::Mark")) {
                    let keys = pattern::keys(&part, &common);
                    automaton.add(&part, &keys, number).map_err(say)?;
                }
            }
            let near = file.rule.iter().find(|r| r.id == id).map(|r| r.near.as_slice());
            for text in near.unwrap_or_default() {
                let marks: Vec<&String> = file.marks.keys().collect();
                combos.push(
                    near::parse(text, &marks, lang, number).map_err(|e| format!("{id}: {e}"))?,
                );
            }
        }
        for rule in &file.rule {
            let kind = rule.kind.replace('_', " ");
            let now = if rule.imminent { ", danger now" } else { "" };
            let say = format!("Signs of {kind}, step {} of 6{now} ({}).", rule.level, file.lang);
            let _ = writeln!(
                about,
                "RuleNote {{ id: {:?}, say: {say:?}, examples: &{:?}, counter_examples: &{:?} }},",
                rule.id, rule.examples, rule.counter_examples
            );
            for (list, crisis) in [(&rule.examples, true), (&rule.counter_examples, false)] {
                for text in list {
                    let _ = writeln!(examples, "({:?}, {text:?}, {crisis}),", rule.id);
                }
            }
        }
    }
    text.push_str(&rules);
    text.push_str("];\n");
    text.push_str(&examples);
    text.push_str("];\n");
    text.push_str(&about);
    text.push_str("];\n");
    near::write(&mut combos, text);
    let _ = writeln!(text, "static LANGS: [&str; 15] = {LANGS:?};");
    let typos: Vec<&str> = files.iter().flat_map(|f| f.typos.split_whitespace()).collect();
    automaton.write(&hints, &typos, text)
}

/// A rule, frame or mark: its id, its patterns and what a match means.
type Entry<'a> = (String, &'a [String], String);

fn entries(file: &File) -> Result<Vec<Entry<'_>>, String> {
    let mut out: Vec<Entry> = Vec::new();
    for rule in &file.rule {
        let known = KINDS.contains(&rule.kind.as_str()) && (1..=6).contains(&rule.level);
        if !known || (rule.patterns.is_empty() && rule.near.is_empty()) {
            return Err(format!("{}: unknown kind, bad level or no pattern", rule.id));
        }
        if rule.examples.len() < 2 || rule.counter_examples.len() < 2 {
            return Err(format!("{}: needs two examples and two counter_examples", rule.id));
        }
        let (kind, level) = (camel(&rule.kind), rule.level);
        let (imminent, firm) = (rule.imminent, rule.firm);
        let what = format!("RuleMeaning::Signal(SignalKind::{kind}, {level}, {imminent}, {firm})");
        out.push((rule.id.clone(), &rule.patterns, what));
    }
    for frame in &file.frame {
        let scope = ["overlap", "sentence", "text"].contains(&frame.scope.as_str());
        if !FRAMES.contains(&frame.kind.as_str()) || !scope {
            return Err(format!("{}: unknown kind or scope", frame.id));
        }
        let (kind, scope) = (camel(&frame.kind), camel(&frame.scope));
        let what = format!("RuleMeaning::Frame(Frame::{kind}, Scope::{scope})");
        out.push((frame.id.clone(), &frame.patterns, what));
    }
    for (number, (name, pattern)) in file.marks.iter().enumerate() {
        if number >= 64 {
            return Err(format!("{}: more than 64 marks", file.lang));
        }
        let id = format!("{}.mark-{name}", file.lang);
        out.push((id, std::slice::from_ref(pattern), format!("RuleMeaning::Mark({number})")));
    }
    Ok(out)
}

fn camel(name: &str) -> String {
    let part = |p: &str| {
        let mut chars = p.chars();
        chars.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(chars).collect::<String>()
    };
    name.split('_').map(part).collect()
}

/// The texts of the card in each language.
fn cards(files: &[File], text: &mut String) -> Result<(), String> {
    let fields = [
        "unanswered",
        "check_in",
        "safe",
        "helper",
        "emergency",
        "local",
        "reach",
        "anywhere",
        "close",
    ];
    text.push_str("static CARDS: [CardText; 15] = [\n");
    for file in files {
        text.push_str("CardText {");
        for field in fields {
            let say = file.card.get(field).ok_or(format!("{}: card has no {field}", file.lang))?;
            let _ = write!(text, "{field}: {say:?}, ");
        }
        text.push_str("},\n");
    }
    text.push_str("];\n");
    Ok(())
}
