//! `rules/commands` and `rules/paths.toml` → static tables of programs, rules and path classes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    program: Vec<Program>,
    #[serde(default)]
    rule: Vec<Rule>,
    #[serde(default)]
    assignment: Vec<Assignment>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    names: Vec<String>,
    base: String,
    #[serde(default)]
    say: String,
    #[serde(default)]
    single_dash: bool,
    #[serde(default)]
    posix: bool,
    #[serde(default)]
    values: Vec<String>,
    #[serde(default)]
    touches: BTreeMap<String, String>,
    #[serde(default)]
    exec: Vec<String>,
    #[serde(default)]
    operands: String,
    #[serde(default)]
    first_if: Vec<String>,
    #[serde(default)]
    in_place: Vec<String>,
    #[serde(default)]
    recursive: Vec<String>,
    #[serde(default)]
    dry: Vec<String>,
    #[serde(default)]
    keys: BTreeMap<String, String>,
    #[serde(default)]
    wrapper: Vec<Wrapper>,
    interpreter: Option<Interpreter>,
    #[serde(default)]
    fetches: bool,
    #[serde(default)]
    sends: bool,
    #[serde(default)]
    inert: bool,
    #[serde(default)]
    effects: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapper {
    #[serde(default)]
    sub: String,
    #[serde(default)]
    skip: u8,
    inner: String,
    #[serde(default)]
    assignments: bool,
    #[serde(default)]
    root: bool,
    #[serde(default)]
    shell_when_bare: bool,
    #[serde(default)]
    after_dashes: bool,
    #[serde(default)]
    feeds: bool,
    #[serde(default)]
    elsewhere: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Interpreter {
    speech: String,
    #[serde(default)]
    stdin: bool,
    #[serde(default)]
    script: bool,
    inline: String,
    bare: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    programs: Vec<String>,
    tier: String,
    say: String,
    safer: Option<String>,
    #[serde(default)]
    sub: Vec<String>,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    all_flags: Vec<String>,
    #[serde(default)]
    not_flags: Vec<String>,
    #[serde(default)]
    operand: Vec<String>,
    #[serde(default)]
    not_operand: Vec<String>,
    #[serde(default)]
    first: Vec<String>,
    #[serde(default)]
    last: Vec<String>,
    #[serde(default)]
    arg: Vec<String>,
    #[serde(default)]
    option: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    min_operands: u8,
    max_operands: Option<u8>,
    #[serde(default)]
    stdin: bool,
    #[serde(default)]
    root: bool,
    #[serde(default)]
    settings: bool,
    #[serde(default)]
    effects: Vec<String>,
    #[serde(default)]
    irreversible: bool,
    examples: Vec<String>,
    counter_examples: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assignment {
    id: String,
    names: Vec<String>,
    #[serde(default)]
    values: Vec<String>,
    tier: String,
    say: String,
    examples: Vec<String>,
    counter_examples: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathFile {
    class: Vec<PathClass>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathClass {
    id: String,
    name: String,
    paths: Vec<String>,
    read: String,
    write: String,
    delete: String,
    delete_tree: String,
    change: String,
    change_tree: String,
}

/// Reads the rule files of this kind and writes the table into `out`.
pub fn generate(rules: &Path, out: &Path) -> Result<(), String> {
    let mut tables = Tables::default();
    let mut files: Vec<_> = fs::read_dir(rules)
        .map_err(|e| format!("{}: {e}", rules.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    for path in files {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let file: File = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let family = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default().to_owned();
        tables.add(&family, file).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let paths = rules.with_file_name("paths.toml");
    let text = fs::read_to_string(&paths).map_err(|e| format!("{}: {e}", paths.display()))?;
    let classes: PathFile = toml::from_str(&text).map_err(|e| format!("{}: {e}", paths.display()))?;
    let mut source = tables.write()?;
    write_paths(&classes, &mut source)?;
    fs::write(out.join("commands.rs"), source).map_err(|e| e.to_string())
}

#[derive(Default)]
struct Tables {
    specs: Vec<(String, Program)>,
    names: BTreeMap<String, usize>,
    rules: Vec<Rule>,
    assignments: Vec<Assignment>,
}

impl Tables {
    fn add(&mut self, family: &str, file: File) -> Result<(), String> {
        for program in file.program {
            for name in &program.names {
                if self.names.insert(name.clone(), self.specs.len()).is_some() {
                    return Err(format!("program `{name}` is described twice"));
                }
            }
            self.specs.push((family.to_owned(), program));
        }
        for rule in file.rule {
            if !rule.id.starts_with(&format!("{family}.")) {
                return Err(format!("rule `{}` must begin with `{family}.`", rule.id));
            }
            if self.rules.iter().any(|r| r.id == rule.id) {
                return Err(format!("rule `{}` stands here twice", rule.id));
            }
            if rule.examples.is_empty() {
                return Err(format!("rule `{}` has no examples", rule.id));
            }
            self.rules.push(rule);
        }
        self.assignments.extend(file.assignment);
        Ok(())
    }

    fn write(&self) -> Result<String, String> {
        let mut s = String::new();
        let mut by_program: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        put(&mut s, format!("/// Every rule.\npub static RULES: [Rule; {}] = [\n", self.rules.len()));
        for (i, rule) in self.rules.iter().enumerate() {
            for program in &rule.programs {
                let known = self.names.contains_key(program) || program.contains('*');
                if !known {
                    return Err(format!("rule `{}`: no program `{program}`", rule.id));
                }
                by_program.entry(program).or_default().push(i);
            }
            put(&mut s, rule_source(rule)?);
        }
        put(&mut s, format!("];\n/// Every program.\nstatic SPECS: [Spec; {}] = [\n", self.specs.len()));
        for (family, program) in &self.specs {
            put(&mut s, spec_source(family, program).map_err(|e| format!("{:?}: {e}", program.names))?);
        }
        put(&mut s, "];\ntype Named = (&'static str, u16, &'static [&'static Rule]);\n".to_owned());
        put(&mut s, format!("static PROGRAMS: [Named; {}] = [\n", self.names.len()));
        for (name, index) in &self.names {
            let rules = by_program.get(name.as_str()).map(Vec::as_slice).unwrap_or_default();
            put(&mut s, format!("({name:?}, {index}, &{}),\n", rule_refs(rules)));
        }
        put(&mut s, "];\n".to_owned());
        for (pattern, table) in [("*", "UNLISTED"), ("**", "EVERYWHERE"), ("*?", "LOOKING")] {
            let rules = by_program.get(pattern).map(Vec::as_slice).unwrap_or_default();
            put(&mut s, format!("/// Rules for `{pattern}`.\npub static {table}: &[&Rule] = &{};\n", rule_refs(rules)));
        }
        self.write_assignments(&mut s)?;
        Ok(s)
    }

    fn write_assignments(&self, s: &mut String) -> Result<(), String> {
        put(s, "/// What setting a variable costs.\n#[derive(Debug)]\npub struct Assignment {\n/// Stable id.\npub id: &'static str,\n/// Variable names (globs).\npub names: &'static [Glob],\n/// Values (globs); empty for any.\npub values: &'static [Glob],\n/// Cost.\npub tier: Tier,\n/// Sentence.\npub say: &'static str,\n/// Must match.\npub examples: &'static [&'static str],\n/// Must not.\npub counter_examples: &'static [&'static str],\n}\n/// Every assignment rule.\npub static ASSIGNMENTS: &[Assignment] = &[\n".to_owned());
        for a in &self.assignments {
            put(
                s,
                format!(
                    "Assignment {{ id: {:?}, names: {}, values: {}, tier: {}, say: {:?}, examples: {}, counter_examples: {} }},\n",
                    a.id, globs(&a.names), globs(&a.values), tier(&a.tier)?, a.say, list(&a.examples), list(&a.counter_examples)
                ),
            );
        }
        put(s, "];\n".to_owned());
        Ok(())
    }
}

fn rule_refs(rules: &[usize]) -> String {
    let refs: Vec<String> = rules.iter().map(|i| format!("&RULES[{i}]")).collect();
    format!("[{}]", refs.join(", "))
}

fn rule_source(r: &Rule) -> Result<String, String> {
    let mut options = String::new();
    for (name, values) in &r.option {
        let names: Vec<&str> = name.split('|').collect();
        put(&mut options, format!("(&{names:?}, {}), ", globs(values)));
    }
    let sub: Vec<String> = r
        .sub
        .iter()
        .map(|path| globs(&path.split(' ').map(str::to_owned).collect::<Vec<_>>()))
        .collect();
    let all: Vec<String> = r
        .all_flags
        .iter()
        .map(|names| flags(&names.split('|').map(str::to_owned).collect::<Vec<_>>()))
        .collect();
    let wrap = |e: String| format!("rule `{}`: {e}", r.id);
    Ok(format!(
        "Rule {{ id: {:?}, tier: {}, say: {:?}, safer: {:?}, sub: &[{}], flags: {}, all_flags: &[{}], not_flags: {}, operand: {}, not_operand: {}, first: {}, last: {}, arg: {}, option: &[{options}], min_operands: {}, max_operands: {}, stdin: {}, root: {}, settings: {}, effects: {}, irreversible: {}, examples: {}, counter_examples: {} }},\n",
        r.id, tier(&r.tier).map_err(wrap)?, r.say, r.safer, sub.join(", "), flags(&r.flags), all.join(", "),
        flags(&r.not_flags), globs(&r.operand), globs(&r.not_operand), globs(&r.first), globs(&r.last), globs(&r.arg), r.min_operands,
        r.max_operands.unwrap_or(u8::MAX), r.stdin, r.root, r.settings, effects(&r.effects).map_err(wrap)?, r.irreversible,
        list(&r.examples), list(&r.counter_examples)
    ))
}

fn spec_source(family: &str, p: &Program) -> Result<String, String> {
    let mut values = p.values.clone();
    values.extend(p.touches.keys().cloned());
    let mut wrappers = String::new();
    for w in &p.wrapper {
        let inner = match w.inner.as_str() {
            "argv" => "Argv",
            "shell" => "Shell",
            other => return Err(format!("inner `{other}` is neither argv nor shell")),
        };
        put(
            &mut wrappers,
            format!(
                "Wrapper {{ sub: {:?}, skip: {}, inner: Inner::{inner}, assignments: {}, root: {}, shell_when_bare: {}, after_dashes: {}, feeds: {}, elsewhere: {} }}, ",
                w.sub, w.skip, w.assignments, w.root, w.shell_when_bare, w.after_dashes, w.feeds, w.elsewhere
            ),
        );
    }
    let interpreter = match &p.interpreter {
        None => "None".to_owned(),
        Some(i) => format!(
            "Some(Interpreter {{ speech: Speech::{}, stdin: {}, script: {}, inline: {}, bare: {} }})",
            i.speech, i.stdin, i.script, tier(&i.inline)?, tier(&i.bare)?
        ),
    };
    Ok(format!(
        "Spec {{ family: {family:?}, base: {}, say: {:?}, single_dash: {}, posix: {}, values: {}, touches: &[{}], exec: {}, operands: {}, first_if: {}, in_place: {}, recursive: {}, dry: {}, keys: &[{}], wrappers: &[{wrappers}], interpreter: {interpreter}, fetches: {}, sends: {}, inert: {}, effects: {} }},\n",
        tier(&p.base)?, p.say, p.single_dash, p.posix, list(&values), touch_pairs(&p.touches)?, list(&p.exec),
        operands(&p.operands)?, flags(&p.first_if), flags(&p.in_place), flags(&p.recursive), flags(&p.dry),
        touch_pairs(&p.keys)?, p.fetches, p.sends, p.inert, effects(&p.effects)?
    ))
}

fn touch_pairs(map: &BTreeMap<String, String>) -> Result<String, String> {
    let mut s = String::new();
    for (name, kind) in map {
        put(&mut s, format!("({name:?}, {}), ", touch(kind)?));
    }
    Ok(s)
}

fn touch(kind: &str) -> Result<&'static str, String> {
    Ok(match kind {
        "-" | "skip" => "Touch::Skip",
        "read" => "Touch::Read",
        "write" => "Touch::Write",
        "append" => "Touch::Append",
        "delete" => "Touch::Delete",
        "change" => "Touch::Change",
        "run" => "Touch::Run",
        "shell" => "Touch::Shell",
        "code" => "Touch::Code",
        "sql" => "Touch::Sql",
        "net" => "Touch::Net",
        "upload" => "Touch::Upload",
        other => return Err(format!("no touch `{other}`")),
    })
}

/// `- read* write` → lead, rest, tail.
fn operands(text: &str) -> Result<String, String> {
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
    Ok(format!(
        "Operands {{ lead: &[{}], rest: {}, tail: &[{}] }}",
        lead.join(", "),
        rest.unwrap_or("Touch::Skip"),
        tail.join(", ")
    ))
}

fn effects(names: &[String]) -> Result<String, String> {
    const KNOWN: [(&str, &str); 17] = [
        ("read", "Read"), ("write", "Write"), ("delete", "Delete"), ("exec", "Exec"),
        ("net_out", "NetOut"), ("net_in", "NetIn"), ("privilege", "Privilege"),
        ("persist", "Persist"), ("publish", "Publish"), ("service", "Service"),
        ("send", "Send"), ("money", "Money"), ("secret", "Secret"),
        ("self_change", "SelfChange"), ("delegate", "Delegate"), ("remote", "Remote"),
        ("crisis", "Crisis"),
    ];
    let mut parts = Vec::new();
    for name in names {
        let (_, variant) =
            KNOWN.iter().find(|(n, _)| n == name).ok_or_else(|| format!("no effect `{name}`"))?;
        parts.push(format!("Effect::{variant}"));
    }
    Ok(format!("&[{}]", parts.join(", ")))
}

fn tier(label: &str) -> Result<&'static str, String> {
    Ok(match label {
        "SAFE" => "Tier::Safe",
        "LOW" => "Tier::Low",
        "MEDIUM" => "Tier::Medium",
        "HIGH" => "Tier::High",
        "CRITICAL" => "Tier::Critical",
        other => return Err(format!("no tier `{other}`")),
    })
}

fn globs(items: &[String]) -> String {
    let parts: Vec<String> = items.iter().map(|i| glob(i)).collect();
    format!("&[{}]", parts.join(", "))
}

/// Sorts a pattern by its shape and notes the bytes a text must hold to fit it.
fn glob(pattern: &str) -> String {
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
    } else if let Some(t) = pattern.strip_prefix('*').and_then(|t| t.strip_suffix('*')).filter(|t| bare(t)) {
        ("Contains", t)
    } else {
        ("General", pattern)
    };
    let needs = text
        .bytes()
        .filter(|b| !matches!(b, b'*' | b'?') && !(fold && b.is_ascii_alphabetic()))
        .fold(0u64, |set, b| set | 1 << (b & 63));
    format!("Glob {{ text: {text:?}, shape: Shape::{shape}, fold: {fold}, needs: {needs:#x} }}")
}

fn flag(name: &str) -> String {
    let mut chars = name.chars();
    let letter = match (chars.next(), chars.next(), chars.next()) {
        (Some('-'), Some(c), None) if c != '*' => format!("Some({c:?})"),
        _ => "None".to_owned(),
    };
    let pattern = if name.contains('*') { format!("Some({})", glob(name)) } else { "None".to_owned() };
    format!("Flag {{ text: {name:?}, letter: {letter}, glob: {pattern} }}")
}

fn flags(items: &[String]) -> String {
    let parts: Vec<String> = items.iter().map(|i| flag(i)).collect();
    format!("&[{}]", parts.join(", "))
}

fn list(items: &[String]) -> String {
    format!("&{items:?}")
}

fn put(s: &mut String, text: String) {
    // Writing into a String cannot fail.
    let _ = s.write_str(&text);
}

/// Path classes in file order: the first pattern that fits decides.
fn write_paths(file: &PathFile, s: &mut String) -> Result<(), String> {
    put(s, "/// Path classes, the order of `rules/paths.toml`.\npub static CLASSES: &[PathClass] = &[\n".to_owned());
    for c in &file.class {
        let wrap = |e: String| format!("path class `{}`: {e}", c.id);
        put(
            s,
            format!(
                "PathClass {{ id: {:?}, name: {:?}, read: {}, write: {}, delete: {}, delete_tree: {}, change: {}, change_tree: {} }},\n",
                c.id, c.name, tier(&c.read).map_err(wrap)?, tier(&c.write).map_err(wrap)?, tier(&c.delete).map_err(wrap)?,
                tier(&c.delete_tree).map_err(wrap)?, tier(&c.change).map_err(wrap)?, tier(&c.change_tree).map_err(wrap)?
            ),
        );
    }
    put(s, "];\n".to_owned());
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let mut dirs: BTreeMap<&str, usize> = BTreeMap::new();
    let mut name_globs = Vec::new();
    let mut kinds: [(&str, BTreeMap<String, Vec<String>>); 3] =
        [("ROOT", BTreeMap::new()), ("HOME", BTreeMap::new()), ("LOCAL", BTreeMap::new())];
    for (i, c) in file.class.iter().enumerate() {
        for p in &c.paths {
            if let Some(name) = p.strip_prefix("name:") {
                if name.contains('*') {
                    name_globs.push(format!("({}, {i})", glob(name)));
                } else {
                    names.entry(name).or_insert(i);
                }
                continue;
            }
            if let Some(name) = p.strip_prefix("dir:") {
                dirs.entry(name).or_insert(i);
                continue;
            }
            let kind = usize::from(!p.starts_with('/')) + usize::from(!p.starts_with(['/', '~']));
            let first = first_part(p).filter(|f| !f.contains('*')).unwrap_or_default();
            if let Some((_, map)) = kinds.get_mut(kind) {
                map.entry(first.to_owned()).or_default().push(path_pattern(p, i));
            }
        }
    }
    put(s, format!("/// Last parts of paths with their class, sorted.\npub static NAMES: &[(&str, u8)] = &{:?};\n", names.into_iter().collect::<Vec<_>>()));
    put(s, format!("/// Any part of a path with its class, sorted.\npub static DIRS: &[(&str, u8)] = &{:?};\n", dirs.into_iter().collect::<Vec<_>>()));
    put(s, format!("/// Last parts with stars.\npub static NAME_GLOBS: &[(Glob, u8)] = &[{}];\n", name_globs.join(", ")));
    for (kind, map) in kinds {
        put(s, format!("/// Patterns by their first part, sorted; those under `\"\"` hold for every path.\npub static {kind}_PATHS: &[(&str, &[PathPattern])] = &[\n"));
        for (first, patterns) in map {
            put(s, format!("({first:?}, &[{}]),\n", patterns.join(", ")));
        }
        put(s, "];\n".to_owned());
    }
    Ok(())
}

/// `/etc/x` → `etc`, `~/.ssh/x` → `.ssh`, `.git/x` → `.git`.
fn first_part(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("~/").or(path.strip_prefix('/')).unwrap_or(path);
    rest.split('/').next().filter(|p| *p != "~")
}

fn path_pattern(p: &str, class: usize) -> String {
    let (shape, text) = if let Some(folder) = p.strip_suffix("**") {
        let folder = folder.strip_suffix('/').unwrap_or(folder);
        (if folder.contains('*') { "PartsTree" } else { "Tree" }, folder)
    } else if !p.contains('*') {
        ("Exact", p)
    } else if p == "*" || p == ".*" {
        ("Exact", p)
    } else if let Some(folder) = p.strip_suffix("/*").filter(|f| !f.contains('*')) {
        ("Star", folder)
    } else {
        ("Parts", p)
    };
    format!("PathPattern {{ text: {text:?}, shape: PathShape::{shape}, class: {class} }}")
}
