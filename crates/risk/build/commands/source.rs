//! Small pieces of Rust source: tiers, globs, flags.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::gate::{flag_needs, shared};
use super::lists::{self, glob_set, static_list};
use countersign_text::glob::{CAPITAL, bit_of};

pub fn touch_pairs(map: &BTreeMap<String, String>) -> Result<String, String> {
    let pair = |(name, kind): (&String, &String)| Ok(format!("({name:?}, {})", touch(kind)?));
    let pairs = map.iter().map(pair).collect::<Result<_, String>>()?;
    Ok(static_list(lists::NAMED_TOUCHES, pairs))
}

pub fn touch(kind: &str) -> Result<&'static str, String> {
    Ok(match kind {
        "-" | "skip" => "ArgumentUse::Skip",
        "read" => "ArgumentUse::Read",
        "write" => "ArgumentUse::Write",
        "may_write" => "ArgumentUse::MayWrite",
        "append" => "ArgumentUse::Append",
        "delete" => "ArgumentUse::Delete",
        "change" => "ArgumentUse::Change",
        "move" => "ArgumentUse::Move",
        "run" => "ArgumentUse::Run",
        "shell" => "ArgumentUse::Shell",
        "bang" => "ArgumentUse::Bang",
        "code" => "ArgumentUse::Code",
        "sql" => "ArgumentUse::Sql",
        "net" => "ArgumentUse::Net",
        "upload" => "ArgumentUse::Upload",
        "upload_file" => "ArgumentUse::UploadFile",
        "sent" => "ArgumentUse::Sent",
        "build" => "ArgumentUse::Build",
        other => return Err(format!("no touch `{other}`")),
    })
}

/// `- read* write` → lead, rest, tail; words nobody described are only `named`, where words can
/// run.
pub fn operands(text: &str, inert: bool) -> Result<String, String> {
    let (mut lead, mut tail, mut rest) = (Vec::new(), Vec::new(), None);
    for word in text.split_whitespace() {
        if let Some(kind) = word.strip_suffix('*') {
            if rest.replace(touch(kind)?).is_some() {
                return Err(format!("operands `{text}` repeat twice"));
            }
        } else if rest.is_none() {
            lead.push(touch(word)?);
        } else {
            tail.push(touch(word)?);
        }
    }
    let touches = |kinds: Vec<&str>| {
        static_list(lists::TOUCHES, kinds.into_iter().map(str::to_owned).collect())
    };
    Ok(format!(
        "Operands {{ lead: {}, rest: {}, tail: {} }}",
        touches(lead),
        rest.unwrap_or(if inert { "ArgumentUse::Skip" } else { "ArgumentUse::Named" }),
        touches(tail)
    ))
}

pub fn tier(label: &str) -> Result<&'static str, String> {
    Ok(match label {
        "SAFE" => "Tier::Safe",
        "LOW" => "Tier::Low",
        "MEDIUM" => "Tier::Medium",
        "HIGH" => "Tier::High",
        "CRITICAL" => "Tier::Critical",
        other => return Err(format!("no tier `{other}`")),
    })
}

pub fn globs(items: &[String]) -> String {
    let mut runs: BTreeMap<u64, Vec<&String>> = BTreeMap::new();
    for item in items {
        runs.entry(rarest(needs(item))).or_default().push(item);
    }
    let run = |run: &Vec<&String>| {
        let needs = shared(run.iter().map(|i| needs(i)));
        let globs: Vec<String> = run.iter().map(|i| glob(i)).collect();
        format!("({needs:#x}, {})", static_list(lists::GLOBS, globs))
    };
    let runs = static_list(lists::GLOB_RUNS, runs.values().map(run).collect());
    let marks = marks(items);
    let needs = shared(items.iter().map(|i| needs(i)));
    format!("Globs {{ needs: {needs:#x}, marks: {marks:#x}, runs: {runs} }}")
}

/// A reference to several patterns.
pub fn globs_ref(items: &[String]) -> String {
    glob_set((!items.is_empty()).then(|| globs(items)))
}

/// The rarest byte of each pattern.
pub fn marks(items: &[String]) -> u64 {
    items.iter().fold(0, |set, i| set | rarest(needs(i)))
}

/// Paths of subcommands: a sequence of patterns each.
pub fn sub_paths(paths: &[String]) -> String {
    let sequence = |path: &String| static_list(lists::GLOBS, path.split(' ').map(glob).collect());
    static_list(lists::GLOB_PATHS, paths.iter().map(sequence).collect())
}

/// The byte of a set that ordinary words hold least often; every byte if it has none.
pub fn rarest(set: u64) -> u64 {
    // What command lines are made of, the most common first; what is not here is rarer still.
    const COMMON: &[u8] = b"etaoinsr/-.lcdpmufghbyw_vk012345678:=9x";
    let rarity = |bit: &u64| {
        let common = COMMON.iter().position(|b| bit_of(*b) & bit != 0);
        common.unwrap_or(if *bit == CAPITAL { 28 } else { usize::MAX })
    };
    (0..64).map(|n| 1 << n).filter(|bit| set & bit != 0).max_by_key(rarity).unwrap_or(u64::MAX)
}

/// Sorts a pattern by its shape and notes the bytes a text must hold to fit it.
pub fn glob(pattern: &str) -> String {
    let (pattern, fold) = match pattern.strip_prefix("(?i)") {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let bare = |t: &str| !t.contains(['*', '?']);
    let (shape, text) = if fold {
        ("General", pattern)
    } else if pattern == "*" {
        ("Any", "")
    } else if bare(pattern) {
        ("Exact", pattern)
    } else if let Some(t) = pattern.strip_suffix('*').filter(|t| bare(t)) {
        ("Prefix", t)
    } else if let Some(t) = pattern.strip_prefix('*').filter(|t| bare(t)) {
        ("Suffix", t)
    } else if let Some(t) =
        pattern.strip_prefix('*').and_then(|t| t.strip_suffix('*')).filter(|t| bare(t))
    {
        ("Contains", t)
    } else {
        ("General", pattern)
    };
    let needs = if fold { needs(pattern) & !CAPITAL } else { needs(pattern) };
    let (at, len) = (place_of(text), text.len());
    format!(
        "Glob {{ needs: {needs:#x}, at: {at}, len: {len}, shape: GlobShape::{shape}, fold: {fold} }}"
    )
}

thread_local! {
    /// The literal texts of all patterns so far, and where each starts.
    static GLOB_TEXT: RefCell<(String, BTreeMap<String, usize>)> = RefCell::default();
}

/// Where a literal text starts in the text of all patterns; it is added if it is new.
fn place_of(literal: &str) -> usize {
    GLOB_TEXT.with_borrow_mut(|(text, places)| {
        *places.entry(literal.to_owned()).or_insert_with(|| {
            text.push_str(literal);
            text.len() - literal.len()
        })
    })
}

/// The text of all patterns as source.
pub fn glob_text() -> String {
    GLOB_TEXT.with_borrow(|(text, _)| format!("static GLOB_TEXT: &str = {text:?};\n"))
}

/// The bytes a text must hold to fit a pattern.
pub fn needs(pattern: &str) -> u64 {
    let (text, fold) = match pattern.strip_prefix("(?i)") {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let sure = text.bytes().filter(|b| !matches!(b, b'*' | b'?'));
    sure.fold(0, |set, b| set | if fold { bit_of(b) & !CAPITAL } else { bit_of(b) })
}

pub fn flag(name: &str) -> String {
    let mut chars = name.chars();
    let letter = match (chars.next(), chars.next(), chars.next()) {
        (Some('-'), Some(c), None) if c != '*' => format!("Some({c:?})"),
        _ => "None".to_owned(),
    };
    let pattern =
        if name.contains('*') { format!("Some(&{})", glob(name)) } else { "None".to_owned() };
    let needs = flag_needs(name);
    format!("Flag {{ text: {name:?}, letter: {letter}, glob: {pattern}, needs: {needs:#x} }}")
}

pub fn flags(items: &[String]) -> String {
    static_list(lists::FLAGS, items.iter().map(|i| flag(i)).collect())
}

pub fn list(items: &[String]) -> String {
    static_list(lists::WORDS, items.iter().map(|i| format!("{i:?}")).collect())
}

pub fn put(s: &mut String, text: impl AsRef<str>) {
    s.push_str(text.as_ref());
}
