//! `rules/secrets.toml` → static tables of what secrets look like.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    class: BTreeMap<String, String>,
    shape: Vec<Shape>,
    block: Vec<Block>,
    name: Vec<Name>,
    option: Vec<ProgramOption>,
    card: Vec<Card>,
    pair: Pair,
    cards: Cards,
    plain: Plain,
    innocent: Innocent,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    kind: String,
    shapes: Vec<String>,
    #[serde(default)]
    glued: bool,
    #[serde(default)]
    any_case: bool,
    #[serde(default)]
    check: String,
    examples: Vec<String>,
    counter_examples: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    kind: String,
    begin: String,
    needs: String,
    end: String,
    examples: Vec<String>,
    counter_examples: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    kind: String,
    #[serde(default)]
    ends: Vec<String>,
    #[serde(default)]
    word: Vec<String>,
    #[serde(default)]
    whole: Vec<String>,
    #[serde(default)]
    not: Vec<String>,
    #[serde(default)]
    line: bool,
    examples: Vec<String>,
    counter_examples: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramOption {
    kind: String,
    programs: Vec<String>,
    flags: Vec<String>,
    form: String,
    #[serde(default)]
    after: String,
    examples: Vec<String>,
    counter_examples: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Card {
    starts: Vec<String>,
    lengths: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    of: String,
    kind: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cards {
    kind: String,
    examples: Vec<String>,
    counter_examples: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    values: Vec<String>,
    schemes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Innocent {
    texts: Vec<String>,
}

struct Class {
    bit: usize,
    bytes: [bool; 256],
}

/// One run or text of a shape, and its Rust source.
enum Part {
    Text(String),
    Run { class: usize, min: usize, max: usize, bytes: Box<[bool; 256]> },
}

type Classes<'f> = BTreeMap<&'f str, Class>;

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=rules");
    let out = std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    generate(Path::new("rules/secrets.toml"), Path::new(&out))
}

/// Reads the file and writes the tables into `out`.
fn generate(path: &Path, out: &Path) -> Result<(), String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|e| format!("{name}: {e}"))?;
    let file: File = toml::from_str(&text).map_err(|e| format!("{name}: {e}"))?;
    let source = tables(&file).map_err(|e| format!("{name}: {e}"))?;
    fs::write(out.join("secrets.rs"), source).map_err(|e| format!("secrets.rs: {e}"))
}

fn tables(file: &File) -> Result<String, String> {
    let mut source = String::new();
    let classes = classes(&file.class)?;
    let mut masks = [0_u32; 256];
    for class in classes.values() {
        for (byte, mask) in masks.iter_mut().enumerate() {
            *mask |= u32::from(class.bytes.get(byte) == Some(&true)) << class.bit;
        }
    }
    let _ = writeln!(source, "static CLASSES: [u32; 256] = {masks:?};");
    shapes(file, &classes, &mut source)?;
    names(file, &mut source)?;
    options(file, &mut source)?;
    for block in &file.block {
        let _ = writeln!(
            source,
            "static BLOCK: Block = Block {{ kind: {:?}, begin: {:?}, needs: {:?}, end: {:?} }};",
            block.kind, block.begin, block.needs, block.end
        );
    }
    let mut cards = String::new();
    for card in &file.card {
        for start in &card.starts {
            let _ = write!(cards, "({start:?}, &{:?}), ", card.lengths);
        }
    }
    let _ = writeln!(source, "static CARDS: &[(&str, &[usize])] = &[{cards}];");
    if !file.shape.iter().any(|shape| shape.kind == file.pair.of) {
        return Err(format!("pair: there is no kind `{}`", file.pair.of));
    }
    let _ = writeln!(source, "pub(super) static PAIR_OF: &str = {:?};", file.pair.of);
    let _ = writeln!(source, "pub(super) static PAIR_KIND: &str = {:?};", file.pair.kind);
    let kinds = [&file.cards.kind, &file.pair.kind];
    let kinds = kinds.into_iter().chain(file.shape.iter().map(|one| &one.kind));
    let kinds = kinds.chain(file.block.iter().map(|one| &one.kind));
    let kinds = kinds.chain(file.name.iter().map(|one| &one.kind));
    let kinds = kinds.chain(file.option.iter().map(|one| &one.kind));
    let longest = kinds.map(String::len).max().unwrap_or_default();
    let _ = writeln!(source, "pub(super) const LONGEST_KIND: usize = {longest};");
    let _ = writeln!(source, "static CARD_KIND: &str = {:?};", file.cards.kind);
    let _ = writeln!(source, "static PLAIN: &[&str] = &{:?};", file.plain.values);
    let _ = writeln!(source, "static SCHEMES: &[&str] = &{:?};", file.plain.schemes);
    examples(file, &classes, &mut source)?;
    Ok(source)
}

/// Parses `0-9A-F_` as a set of bytes; all bytes above ASCII are one class, included entirely or
/// not at all.
fn classes(listed: &BTreeMap<String, String>) -> Result<Classes<'_>, String> {
    let mut classes = Classes::new();
    for (bit, (name, ranges)) in listed.iter().enumerate() {
        let mut bytes = [false; 256];
        let signs: Vec<char> = ranges.chars().collect();
        let mut at = 0;
        while let Some(&first) = signs.get(at) {
            let ranged = signs.get(at + 1) == Some(&'-') && signs.get(at + 2).is_some();
            let last = if ranged { signs.get(at + 2).copied().unwrap_or(first) } else { first };
            if first > last || u32::from(last) > 255 {
                return Err(format!("class {name}: no range {first}-{last}"));
            }
            for code in u32::from(first)..=u32::from(last) {
                if let Some(byte) = bytes.get_mut(code as usize) {
                    *byte = true;
                }
            }
            at += if ranged { 3 } else { 1 };
        }
        if bytes.iter().skip(128).any(|&b| b) && !bytes.iter().skip(128).all(|&b| b) {
            return Err(format!("class {name} cuts letters above ASCII in pieces"));
        }
        classes.insert(name, Class { bit, bytes });
    }
    if classes.len() > 32 {
        return Err("more than 32 classes".to_owned());
    }
    Ok(classes)
}

fn run(text: &str, classes: &Classes<'_>) -> Result<Part, String> {
    let wrong = || format!("no run <{text}>, wanted <class n> or <class n..m>");
    let (name, size) = text.split_once(' ').ok_or_else(wrong)?;
    let class = classes.get(name).ok_or_else(wrong)?;
    let number = |digits: &str| digits.parse::<usize>().map_err(|_| wrong());
    let (min, max) = match size.split_once("..") {
        Some((min, "")) => (number(min)?, 1 << 20),
        Some((min, max)) => (number(min)?, number(max)?),
        None => (number(size)?, number(size)?),
    };
    Ok(Part::Run { class: class.bit, min, max, bytes: Box::new(class.bytes) })
}

/// The parts of a shape and which of them are hidden.
fn parts(shape: &str, classes: &Classes<'_>) -> Result<(Vec<Part>, usize, usize), String> {
    let (mut parts, mut from, mut to) = (Vec::new(), 0, usize::MAX);
    let mut rest = shape;
    while let Some(sign) = rest.chars().next() {
        let tail = rest.get(sign.len_utf8()..).unwrap_or_default();
        rest = match sign {
            '(' => {
                from = parts.len();
                tail
            }
            ')' => {
                to = parts.len();
                tail
            }
            '<' => {
                let (inner, tail) = tail.split_once('>').ok_or("a run is not closed")?;
                parts.push(run(inner, classes)?);
                tail
            }
            _ => {
                let length = rest.find(['(', ')', '<']).unwrap_or(rest.len());
                let (text, tail) = rest.split_at(length);
                parts.push(Part::Text(text.to_owned()));
                tail
            }
        };
    }
    let to = to.min(parts.len());
    for pair in parts.windows(2) {
        match pair {
            [Part::Run { max, bytes, .. }, Part::Text(text)] => {
                let first = text.bytes().next().unwrap_or_default();
                if bytes.get(usize::from(first)) == Some(&true) && *max > 256 {
                    return Err(format!("{shape}: a long run may not hold the text behind it"));
                }
            }
            [Part::Run { .. }, Part::Run { .. }] => {
                return Err(format!("{shape}: text must stand between two runs"));
            }
            _ => {}
        }
    }
    Ok((parts, from, to))
}

fn shapes(file: &File, classes: &Classes<'_>, source: &mut String) -> Result<(), String> {
    let mut starts: Vec<Vec<usize>> = vec![Vec::new(); 256];
    let (mut index, mut table) = (0, String::new());
    for group in &file.shape {
        let check = match group.check.as_str() {
            "" => "None",
            "mixed" => "Mixed",
            "not_port" => "NotPort",
            other => return Err(format!("{}: unknown check `{other}`", group.kind)),
        };
        for shape in &group.shapes {
            let (parts, from, to) = parts(shape, classes)?;
            for (byte, list) in starts.iter_mut().enumerate() {
                let begins = match parts.first() {
                    Some(Part::Text(text)) => text.bytes().next().is_some_and(|first| {
                        usize::from(first) == byte
                            || group.any_case && usize::from(first.to_ascii_uppercase()) == byte
                            || group.any_case && usize::from(first.to_ascii_lowercase()) == byte
                    }),
                    Some(Part::Run { bytes, .. }) => bytes.get(byte) == Some(&true),
                    None => return Err(format!("{}: an empty shape", group.kind)),
                };
                if begins {
                    list.push(index);
                }
            }
            let parts: Vec<String> = parts.iter().map(written).collect();
            let _ = writeln!(
                table,
                "Shape {{ kind: {:?}, parts: &[{}], from: {from}, to: {to}, glued: {}, \
                 any_case: {}, check: Check::{check} }},",
                group.kind,
                parts.join(", "),
                group.glued,
                group.any_case,
            );
            index += 1;
        }
    }
    let _ = writeln!(source, "static SHAPES: &[Shape] = &[\n{table}];");
    let starts: Vec<String> = starts.iter().map(|list| format!("&{list:?}")).collect();
    let _ = writeln!(source, "static STARTS: [&[u8]; 256] = [{}];", starts.join(", "));
    Ok(())
}

fn written(part: &Part) -> String {
    match part {
        Part::Text(text) => format!("Part::Text({text:?})"),
        Part::Run { class, min, max, .. } => {
            format!("Part::Run {{ class: {class}, min: {min}, max: {max} }}")
        }
    }
}

fn names(file: &File, source: &mut String) -> Result<(), String> {
    let mut table = String::new();
    let mut not = Vec::new();
    let mut last = [false; 256];
    for name in &file.name {
        let lists = [("Ends", &name.ends), ("Word", &name.word), ("Whole", &name.whole)];
        for (fit, list) in lists {
            for text in list {
                if text.is_empty() || !text.bytes().all(|b| b.is_ascii_alphanumeric()) {
                    return Err(format!("name `{text}`: small letters and digits only"));
                }
                let end = text.bytes().last().and_then(|b| last.get_mut(usize::from(b)));
                if let Some(end) = end {
                    *end = true;
                }
                let _ = writeln!(
                    table,
                    "Name {{ kind: {:?}, text: {text:?}, fit: Fit::{fit}, line: {} }},",
                    name.kind, name.line
                );
            }
        }
        not.extend(name.not.iter().map(String::as_str));
    }
    let _ = writeln!(source, "static NAMES: &[Name] = &[\n{table}];");
    let _ = writeln!(source, "static LAST: [bool; 256] = {last:?};");
    let _ = writeln!(source, "static NOT: &[&str] = &{not:?};");
    Ok(())
}

fn options(file: &File, source: &mut String) -> Result<(), String> {
    let (mut table, mut programs) = (String::new(), BTreeMap::<&str, Vec<usize>>::new());
    for (index, option) in file.option.iter().enumerate() {
        let form = match option.form.as_str() {
            "glued" => "Glued",
            "next" => "Next",
            "either" => "Either",
            "login" => "Login",
            other => return Err(format!("unknown form `{other}`")),
        };
        let _ = writeln!(
            table,
            "Flag {{ kind: {:?}, flags: &{:?}, form: Form::{form}, after: {:?} }},",
            option.kind, option.flags, option.after
        );
        for program in &option.programs {
            programs.entry(program).or_default().push(index);
        }
    }
    let _ = writeln!(source, "static FLAGS: &[Flag] = &[\n{table}];");
    let listed: Vec<String> = programs.iter().map(|(p, i)| format!("({p:?}, &{i:?})")).collect();
    let _ = writeln!(source, "static PROGRAMS: &[(&str, &[usize])] = &[{}];", listed.join(", "));
    Ok(())
}

/// Every example with its kind; the tests fill in the runs.
fn examples(file: &File, classes: &Classes<'_>, source: &mut String) -> Result<(), String> {
    let mut lists: Vec<(&str, &[String], &[String])> = Vec::new();
    lists.extend(file.shape.iter().map(|s| (&*s.kind, &*s.examples, &*s.counter_examples)));
    lists.extend(file.block.iter().map(|s| (&*s.kind, &*s.examples, &*s.counter_examples)));
    lists.extend(file.name.iter().map(|s| (&*s.kind, &*s.examples, &*s.counter_examples)));
    lists.extend(file.option.iter().map(|s| (&*s.kind, &*s.examples, &*s.counter_examples)));
    lists.push((&file.cards.kind, &file.cards.examples, &file.cards.counter_examples));
    lists.push(("nothing", &[], &file.innocent.texts));
    source.push_str("#[cfg(test)]\nstatic EXAMPLES: &[(&str, &[&str], &[&str])] = &[\n");
    for (kind, good, bad) in lists {
        if bad.len() < 2 || (good.len() < 2 && kind != "nothing") {
            return Err(format!("{kind}: needs two examples and two counter_examples"));
        }
        let _ = writeln!(source, "({kind:?}, &{good:?}, &{bad:?}),");
    }
    let bits: Vec<(&str, usize)> = classes.iter().map(|(n, c)| (*n, c.bit)).collect();
    source.push_str("];\n#[cfg(any(test, feature = \"samples\"))]\n");
    let _ = writeln!(source, "static CLASS_BITS: &[(&str, usize)] = &{bits:?};");
    Ok(())
}
