//! `rules/tools` → static tables: catalogue, verbs, nouns, arguments, actions, secrets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::effects::effects;

#[path = "tools_words.rs"]
mod words;

const TIERS: &[(&str, &str)] = &[
    ("SAFE", "Tier::Safe"),
    ("LOW", "Tier::Low"),
    ("MEDIUM", "Tier::Medium"),
    ("HIGH", "Tier::High"),
    ("CRITICAL", "Tier::Critical"),
];

const HUMAN: &[(&str, &str)] = &[
    ("none", "HumanImpact::None"),
    ("administrative", "HumanImpact::Administrative"),
    ("personal", "HumanImpact::Personal"),
    ("safety", "HumanImpact::Safety"),
];

const ROLES: &[(&str, &str)] = &[
    ("shell", "Role::Shell"),
    ("shell_lines", "Role::ShellLines"),
    ("powershell", "Role::PowerShell"),
    ("cmd", "Role::Cmd"),
    ("python", "Role::Code(Language::Python)"),
    ("javascript", "Role::Code(Language::JavaScript)"),
    ("code", "Role::AnyCode"),
    ("language", "Role::Language"),
    ("sql", "Role::Sql"),
    ("maybe_sql", "Role::MaybeSql"),
    ("path", "Role::Path"),
    ("path.read", "Role::PathRead"),
    ("path.write", "Role::PathWrite"),
    ("path.delete", "Role::PathDelete"),
    ("path.taken", "Role::PathTaken"),
    ("cwd", "Role::Cwd"),
    ("url", "Role::Url"),
    ("recipient", "Role::Recipient"),
    ("amount", "Role::Amount"),
    ("currency", "Role::Currency"),
    ("body", "Role::Body"),
    ("patch", "Role::Patch"),
    ("method", "Role::Method"),
    ("action", "Role::Action"),
    ("secret", "Role::Secret"),
    ("items", "Role::Items"),
    ("sweep", "Role::Sweep"),
    ("escalate", "Role::Escalate"),
    ("tool", "Role::Tool"),
    ("tool_arguments", "Role::ToolArguments"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    family: String,
    #[serde(default)]
    servers: Vec<String>,
    tool: Vec<Tool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    id: String,
    names: Vec<String>,
    tier: String,
    #[serde(default)]
    effects: Vec<String>,
    #[serde(default)]
    irreversible: bool,
    #[serde(default)]
    human: Option<String>,
    say: String,
    #[serde(default)]
    safer: Option<String>,
    #[serde(default)]
    args: BTreeMap<String, String>,
    examples: Vec<String>,
    #[serde(default)]
    counter_examples: Vec<String>,
}

/// Reads the rule files of this kind and writes the tables into `out`.
pub fn generate(rules: &Path, out: &Path) -> Result<(), String> {
    let mut text = String::new();
    let mut examples = String::new();
    catalogue(rules, &mut text, &mut examples)?;
    words::verbs(&read(&rules.join("verbs.toml"))?, &mut text)?;
    words::nouns(&read(&rules.join("nouns.toml"))?, &mut text)?;
    words::arguments(&read(&rules.join("arguments.toml"))?, &mut text)?;
    words::actions(&read(&rules.join("actions.toml"))?, &mut text)?;
    words::secrets(&read(&rules.join("secrets.toml"))?, &mut text)?;
    write(&out.join("tools.rs"), &text)?;
    write(&out.join("tools_examples.rs"), &examples)
}

fn catalogue(rules: &Path, text: &mut String, examples: &mut String) -> Result<(), String> {
    const OTHER: [&str; 5] = ["verbs", "nouns", "arguments", "actions", "secrets"];
    let mut files = Vec::new();
    for entry in fs::read_dir(rules).map_err(|e| format!("{}: {e}", rules.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default().to_owned();
        if path.extension().is_some_and(|x| x == "toml") && !OTHER.contains(&stem.as_str()) {
            files.push(path);
        }
    }
    files.sort();

    let mut names: BTreeMap<(usize, String), usize> = BTreeMap::new();
    let mut servers: BTreeMap<String, usize> = BTreeMap::new();
    let mut entries = String::new();
    let mut shown = [String::new(), String::new()];
    let mut count = 0;
    for (at, file) in files.into_iter().enumerate() {
        let family: RuleFile =
            toml::from_str(&read(&file)?).map_err(|e| format!("{}: {e}", file.display()))?;
        // Family 0 holds the tools that stand without a server.
        let group = if family.servers.is_empty() { 0 } else { at + 1 };
        for server in &family.servers {
            if servers.insert(compact(server), group).is_some() {
                return Err(format!("the server {server} stands twice"));
            }
        }
        for tool in &family.tool {
            let code = format!("tool.{}.{}", family.family, tool.id);
            entry(&mut entries, &code, tool).map_err(|e| format!("{code}: {e}"))?;
            register(&mut names, group, tool, count).map_err(|e| format!("{code}: {e}"))?;
            for (list, lines) in shown.iter_mut().zip([&tool.examples, &tool.counter_examples]) {
                for line in lines {
                    let _ = writeln!(list, "({code:?}, {line:?}, {}),", find(TIERS, &tool.tier)?);
                }
            }
            count += 1;
        }
    }
    let _ = writeln!(text, "pub(super) static TOOLS: &[Entry] = &[\n{entries}];");
    let groups = servers.values().copied().max().unwrap_or(0) + 1;
    let _ = writeln!(text, "static TOOL_NAMES: &[&[(u64, &str, u16)]] = &[");
    for group in 0..groups {
        text.push_str("&[\n");
        for ((_, name), at) in names.iter().filter(|((g, _), _)| *g == group) {
            let _ = writeln!(text, "({}, {name:?}, {at}),", first_bytes(name));
        }
        text.push_str("],\n");
    }
    text.push_str("];\nstatic SERVERS: &[(&str, u8)] = &[\n");
    for (server, group) in &servers {
        let _ = writeln!(text, "({server:?}, {group}),");
    }
    text.push_str("];\n");
    let [good, bad] = shown;
    let _ = writeln!(examples, "static EXAMPLES: &[(&str, &str, Tier)] = &[\n{good}];");
    let _ = writeln!(examples, "static COUNTER_EXAMPLES: &[(&str, &str, Tier)] = &[\n{bad}];");
    Ok(())
}

fn entry(out: &mut String, code: &str, tool: &Tool) -> Result<(), String> {
    if tool.examples.is_empty() {
        return Err("every entry needs an example".to_owned());
    }
    sentence(&tool.say)?;
    let mut args = String::new();
    for (key, role) in &tool.args {
        let _ = write!(args, "({:?}, {}), ", compact(key), find(ROLES, role)?);
    }
    let safer = tool.safer.as_ref().map_or("None".to_owned(), |s| format!("Some({s:?})"));
    let human = find(HUMAN, tool.human.as_deref().unwrap_or("none"))?;
    let _ = writeln!(
        out,
        "Entry {{ code: {code:?}, tier: {}, effects: {}, irreversible: {}, human: {human}, \
         say: {:?}, safer: {safer}, args: &[{args}], examples: &{:?}, counter_examples: &{:?} }},",
        find(TIERS, &tool.tier)?,
        effects(&tool.effects)?,
        tool.irreversible,
        tool.say,
        tool.examples,
        tool.counter_examples,
    );
    Ok(())
}

fn register(
    names: &mut BTreeMap<(usize, String), usize>,
    group: usize,
    tool: &Tool,
    at: usize,
) -> Result<(), String> {
    for name in &tool.names {
        let key = compact(name);
        if names.insert((group, key.clone()), at).is_some() {
            return Err(format!("the name {key} is taken"));
        }
    }
    Ok(())
}

/// The first eight bytes as a number: most comparisons of a search end there.
fn first_bytes(word: &str) -> String {
    let mut number = String::from("0x");
    for (at, byte) in word.bytes().chain(std::iter::repeat(0)).take(8).enumerate() {
        let gap = if at > 0 && at % 2 == 0 { "_" } else { "" };
        let _ = write!(number, "{gap}{byte:02x}");
    }
    number
}

/// The same key that the reader makes: letters and digits, lower case, nothing else.
fn compact(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn find(table: &[(&str, &'static str)], word: &str) -> Result<&'static str, String> {
    let found = table.iter().find(|(name, _)| *name == word);
    found.map(|(_, code)| *code).ok_or_else(|| format!("unknown word {word:?}"))
}

/// Sentences are plain: they end with a full stop and do not shout.
fn sentence(say: &str) -> Result<(), String> {
    if !say.ends_with('.') || say.contains('!') || say.len() > 120 {
        return Err(format!("not a plain short sentence: {say:?}"));
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
