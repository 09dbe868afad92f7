//! `rules/code` → static tables: a trie of dotted names per language, rules, combinations.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::effects::effects;
use crate::examples::Examples;

#[path = "sql.rs"]
mod sql;

const TIERS: [&str; 5] = ["SAFE", "LOW", "MEDIUM", "HIGH", "CRITICAL"];
const KINDS: [&str; 17] = [
    "Plain", "Delete", "Tree", "Write", "Read", "Open", "Copy", "Shell", "Start", "Spread", "Eval",
    "Sql", "Fetch", "Request", "Kill", "Mode", "Enter",
];
const OPS: [&str; 19] = [
    "None", "Import", "Getattr", "Globals", "Chr", "Base64", "Hex", "Unquote", "Rot13", "Bytes",
    "Same", "Join", "Map", "Home", "Buffer", "Parent", "Iter", "Call", "Split",
];
const TAINTS: [&str; 6] = ["net", "decoded", "env", "input", "many", "built"];
const SIGNS: [&str; 22] = [
    "start",
    "start_net",
    "shell",
    "connect",
    "listen",
    "dup",
    "fork",
    "forever",
    "send",
    "fetch",
    "write",
    "secret",
    "system",
    "env",
    "walk",
    "encrypt",
    "delete",
    "keys",
    "screen",
    "decoded",
    "mode",
    "big",
];
/// The signs the reader itself sets.
const OWN: [&str; 14] = [
    "start",
    "start_net",
    "shell",
    "forever",
    "send",
    "fetch",
    "write",
    "secret",
    "system",
    "env",
    "delete",
    "decoded",
    "big",
    "fork",
];
const LANGUAGES: [&str; 6] = ["python", "javascript", "perl", "ruby", "php", "other"];

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    tier: String,
    #[serde(default)]
    effects: Vec<String>,
    message: String,
    #[serde(default)]
    suggestion: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    calls: Vec<String>,
    #[serde(default)]
    reads: Vec<String>,
    #[serde(default)]
    signs: Vec<String>,
    #[serde(default)]
    arg: u8,
    #[serde(default)]
    needs: String,
    #[serde(default)]
    gives: Vec<String>,
    #[serde(default)]
    examples: Vec<String>,
    #[serde(default)]
    counter_examples: Vec<String>,
    /// Code that the rule describes and that leaves no finding, for a SAFE rule that only adds
    /// effects or signs.
    #[serde(default)]
    safe_examples: Vec<String>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct Meaning {
    calls: Vec<String>,
    #[serde(default)]
    is: String,
    #[serde(default)]
    op: String,
    #[serde(default)]
    gives: Vec<String>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct Combo {
    id: String,
    tier: String,
    #[serde(default)]
    effects: Vec<String>,
    message: String,
    #[serde(default)]
    suggestion: String,
    signs: Vec<String>,
    examples: Vec<String>,
    #[serde(default)]
    counter_examples: Vec<String>,
}

#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rule: Vec<Rule>,
    #[serde(default)]
    value: Vec<Meaning>,
    #[serde(default)]
    combo: Vec<Combo>,
}

#[derive(Default)]
struct Node {
    children: BTreeMap<String, usize>,
    calls: Vec<usize>,
    reads: Vec<usize>,
    op: &'static str,
    is: usize,
    gives: u32,
}

/// Reads the rule files of this kind and writes the table into `out`; returns the examples.
pub fn generate(rules: &Path, out: &Path) -> Result<Vec<String>, String> {
    let mut text = String::new();
    for (bit, sign) in SIGNS.iter().enumerate().filter(|(_, sign)| OWN.contains(sign)) {
        let name = sign.to_uppercase();
        put(&mut text, &format!("pub(crate) const SIGN_{name}: u32 = 1 << {bit};\n"));
    }
    for (bit, taint) in TAINTS.iter().enumerate() {
        let name = taint.to_uppercase();
        put(&mut text, &format!("pub(crate) const TAINT_{name}: u32 = 1 << {bit};\n"));
    }
    let common: File = load(&rules.join("every_language.toml"))?;
    let mut own = vec![examples("every_language", &common)?];
    for language in LANGUAGES {
        let path = rules.join(format!("{language}.toml"));
        let mut file: File = load(&path)?;
        own.push(examples(language, &file)?);
        file.rule.extend(common.rule.iter().cloned());
        file.value.extend(common.value.iter().cloned());
        file.combo.extend(common.combo.iter().cloned());
        table(language, &file, &mut text)
            .map_err(|e| format!("rules/code/{language}.toml (with every_language.toml): {e}"))?;
    }
    std::fs::write(out.join("code.rs"), text).map_err(|e| format!("code.rs: {e}"))?;
    let mut shown = sql::generate(&rules.join("sql.toml"), out)?;
    shown.extend(own);
    Ok(shown)
}

/// The examples of the rules and of the combinations that one file holds.
fn examples(language: &str, file: &File) -> Result<String, String> {
    let wrap = |e: String| format!("rules/code/{language}.toml: {e}");
    let upper = language.to_uppercase();
    let mut rules = Examples::new(&format!("{upper}_RULES"));
    for rule in &file.rule {
        if rule.safe_examples.is_empty() {
            rules.add(&rule.id, &rule.examples, &rule.counter_examples).map_err(wrap)?;
        } else if rule.tier == "SAFE" && rule.examples.is_empty() {
            rules.add_safe(&rule.id, &rule.safe_examples).map_err(wrap)?;
        } else {
            return Err(wrap(format!("rule `{}`: only a SAFE rule has safe_examples", rule.id)));
        }
    }
    let mut combos = Examples::new(&format!("{upper}_COMBOS"));
    for combo in &file.combo {
        combos.add(&combo.id, &combo.examples, &combo.counter_examples).map_err(wrap)?;
    }
    Ok(rules.source() + &combos.source())
}

fn load(path: &Path) -> Result<File, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

fn put(text: &mut String, piece: &str) {
    text.push_str(piece);
}

fn node(nodes: &mut [Node], at: usize) -> Result<&mut Node, String> {
    nodes.get_mut(at).ok_or_else(|| format!("no node {at}"))
}

fn place(nodes: &mut Vec<Node>, name: &str) -> Result<usize, String> {
    let mut at = 0;
    let spaced = name.replace("()", ".()");
    for part in spaced.split('.') {
        if part.is_empty() {
            return Err(format!("`{name}` is not a dotted name"));
        }
        let fresh = nodes.len();
        let next = *node(nodes, at)?.children.entry(part.to_owned()).or_insert(fresh);
        if next == fresh {
            nodes.push(Node::default());
        }
        at = next;
    }
    Ok(at)
}

fn bits(words: &[String], list: &[&str], what: &str) -> Result<u32, String> {
    words.iter().try_fold(0, |set, word| {
        let bit = list.iter().position(|w| w == word);
        bit.map(|b| set | 1 << b).ok_or_else(|| format!("unknown {what} `{word}`"))
    })
}

fn one(word: &str, list: &[&'static str], what: &str) -> Result<&'static str, String> {
    let found = if word.is_empty() { list.first() } else { list.iter().find(|w| **w == word) };
    found.copied().ok_or_else(|| format!("unknown {what} `{word}`"))
}

pub fn tier(word: &str) -> Result<&'static str, String> {
    let label = ["Safe", "Low", "Medium", "High", "Critical"];
    let at = TIERS.iter().position(|t| *t == word);
    at.and_then(|at| label.get(at).copied()).ok_or_else(|| format!("unknown tier `{word}`"))
}

pub fn sentence(id: &str, message: &str) -> Result<(), String> {
    let plain = message.ends_with('.') && !message.contains('!') && message.len() <= 120;
    if plain { Ok(()) } else { Err(format!("{id}: `message` must be one short plain sentence")) }
}

fn table(language: &str, file: &File, text: &mut String) -> Result<(), String> {
    let mut nodes = vec![Node::default()];
    let mut body = String::new();
    for (index, rule) in file.rule.iter().enumerate() {
        sentence(&rule.id, &rule.message)?;
        let gives = bits(&rule.gives, &TAINTS, "taint")?;
        for name in &rule.calls {
            let at = place(&mut nodes, name)?;
            let node = node(&mut nodes, at)?;
            node.calls.push(index);
            node.gives |= gives;
        }
        for name in &rule.reads {
            let at = place(&mut nodes, name)?;
            let node = node(&mut nodes, at)?;
            node.reads.push(index);
            node.gives |= gives;
        }
        let line = rule_line(rule).map_err(|e| format!("{}: {e}", rule.id))?;
        body.push_str(&line);
    }
    for value in &file.value {
        let gives = bits(&value.gives, &TAINTS, "taint")?;
        let op = one(&value.op, &OPS, "op")?;
        let is = if value.is.is_empty() { 0 } else { place(&mut nodes, &value.is)? };
        for name in &value.calls {
            let at = place(&mut nodes, name)?;
            let node = node(&mut nodes, at)?;
            node.gives |= gives;
            node.op = op;
            node.is = is;
        }
    }
    let upper = language.to_uppercase();
    put(text, &format!("static {upper}: Table = Table {{\n nodes: &[\n"));
    for node in &nodes {
        put(text, &node_line(node));
    }
    put(text, &format!(" ],\n rules: &[\n{body} ],\n combos: &[\n"));
    for combo in &file.combo {
        sentence(&combo.id, &combo.message)?;
        let line = combo_line(combo).map_err(|e| format!("{}: {e}", combo.id))?;
        put(text, &line);
    }
    put(text, " ],\n};\n");
    Ok(())
}

/// The first eight bytes as a number; the reader computes the same.
fn head(name: &str) -> u64 {
    (0..8).fold(0, |n, at| n << 8 | u64::from(name.as_bytes().get(at).copied().unwrap_or(0)))
}

fn grouped(set: u32) -> String {
    format!("0x{:04x}_{:04x}", set >> 16, set & 0xffff)
}

fn child_text(head: u64, name: &str, at: usize) -> String {
    let digits = format!("{head:016x}");
    let groups: Vec<&str> = (0..16).step_by(4).filter_map(|n| digits.get(n..n + 4)).collect();
    format!("(0x{}, {name:?}, {at})", groups.join("_"))
}

fn node_line(node: &Node) -> String {
    let mut children: Vec<(u64, &str, usize)> =
        node.children.iter().map(|(name, at)| (head(name), name.as_str(), *at)).collect();
    children.sort_unstable();
    let children: Vec<String> = children.iter().map(|c| child_text(c.0, c.1, c.2)).collect();
    let children = children.join(", ");
    let op = if node.op.is_empty() { "None" } else { node.op };
    format!(
        "  Node {{ children: &[{children}], calls: &{:?}, reads: &{:?}, op: Op::{op}, is: {}, \
         gives: {} }},\n",
        node.calls, node.reads, node.is, node.gives
    )
}

fn rule_line(rule: &Rule) -> Result<String, String> {
    Ok(format!(
        "  Rule {{ id: {:?}, tier: Tier::{}, effects: {}, message: {:?}, suggestion: {:?}, \
         kind: Kind::{}, signs: {}, arg: {}, needs: {:?} }},\n",
        rule.id,
        tier(&rule.tier)?,
        effects(&rule.effects)?,
        rule.message,
        rule.suggestion,
        one(&rule.kind, &KINDS, "kind")?,
        grouped(bits(&rule.signs, &SIGNS, "sign")?),
        rule.arg,
        rule.needs,
    ))
}

fn combo_line(combo: &Combo) -> Result<String, String> {
    Ok(format!(
        "  Rule {{ id: {:?}, tier: Tier::{}, effects: {}, message: {:?}, suggestion: {:?}, \
         kind: Kind::Plain, signs: {}, arg: 0, needs: \"\" }},\n",
        combo.id,
        tier(&combo.tier)?,
        effects(&combo.effects)?,
        combo.message,
        combo.suggestion,
        grouped(bits(&combo.signs, &SIGNS, "sign")?),
    ))
}
