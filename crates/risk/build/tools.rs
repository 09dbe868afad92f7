//! `rules/tools` → static tables: catalogue, verbs, nouns, arguments, actions, secrets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::effects::effects;
use crate::examples::Examples;

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
    ("bash", "Role::Bash"),
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
    ("switch", "Role::Switch"),
    ("argv", "Role::Argv"),
    ("program", "Role::Program"),
    ("env", "Role::Env"),
    ("interpreter", "Role::Interpreter"),
    ("plain", "Role::Plain"),
    ("note", "Role::Note"),
    ("keystrokes", "Role::Keystrokes"),
    ("instructions", "Role::Instructions"),
    ("content", "Role::Content"),
    ("label", "Role::Label"),
    ("tool", "Role::Tool"),
    ("tool_arguments", "Role::ToolArguments"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    family: String,
    #[serde(default)]
    servers: Vec<String>,
    /// The agents whose own tools these are; such names are exact and need the host to be known.
    #[serde(default)]
    hosts: Vec<String>,
    tool: Vec<Tool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    id: String,
    names: Vec<String>,
    /// The values of one argument for which this entry replaces the plain one of the same name.
    #[serde(default)]
    when: BTreeMap<String, Vec<String>>,
    tier: String,
    #[serde(default)]
    effects: Vec<String>,
    #[serde(default)]
    irreversible: bool,
    /// The tier is for code that is not understood; other code is assessed by what it does.
    #[serde(default)]
    assessed_by_code: bool,
    #[serde(default)]
    human: Option<String>,
    message: String,
    #[serde(default)]
    suggestion: Option<String>,
    #[serde(default)]
    args: BTreeMap<String, String>,
    examples: Vec<String>,
    #[serde(default)]
    counter_examples: Vec<String>,
}

/// Reads the rule files of this kind and writes the tables into `out`; returns the examples.
pub fn generate(rules: &Path, out: &Path) -> Result<String, String> {
    let mut text = String::new();
    let mut examples = Examples::new("TOOLS");
    catalogue(rules, &mut text, &mut examples)?;
    words::verbs(&read(&rules.join("verbs.toml"))?, &mut text, &mut examples)?;
    words::nouns(&read(&rules.join("nouns.toml"))?, &mut text, &mut examples)?;
    words::arguments(&read(&rules.join("arguments.toml"))?, &mut text)?;
    words::actions(&read(&rules.join("actions.toml"))?, &mut text)?;
    words::secrets(&read(&rules.join("secrets.toml"))?, &mut text)?;
    words::exec_arguments(&read(&rules.join("exec_arguments.toml"))?, &mut text)?;
    words::autorun(&read(&rules.join("autorun.toml"))?, &mut text)?;
    write(&out.join("tools.rs"), &text)?;
    let server_words = words::server_words(&read(&rules.join("server_words.toml"))?)?;
    write(&out.join("server_words.rs"), &server_words)?;
    Ok(examples.source())
}

fn catalogue(rules: &Path, text: &mut String, examples: &mut Examples) -> Result<(), String> {
    const OTHER: [&str; 8] = [
        "verbs",
        "nouns",
        "arguments",
        "actions",
        "secrets",
        "exec_arguments",
        "autorun",
        "server_words",
    ];
    let mut files = Vec::new();
    for entry in fs::read_dir(rules).map_err(|e| format!("{}: {e}", rules.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default().to_owned();
        if path.extension().is_some_and(|x| x == "toml") && !OTHER.contains(&stem.as_str()) {
            files.push(path);
        }
    }
    files.sort();

    let mut names = Names::default();
    let mut servers: BTreeMap<String, usize> = BTreeMap::new();
    let mut hosts: BTreeMap<String, usize> = BTreeMap::new();
    let mut entries = String::new();
    let mut count = 0;
    for (at, file) in files.into_iter().enumerate() {
        let family: RuleFile =
            toml::from_str(&read(&file)?).map_err(|e| format!("{}: {e}", file.display()))?;
        // Group 0 holds the tools that need neither a server nor a host.
        let shared = family.servers.is_empty() && family.hosts.is_empty();
        let group = if shared { 0 } else { at + 1 };
        names.groups = names.groups.max(group + 1);
        for server in &family.servers {
            if servers.insert(compact(server), group).is_some() {
                return Err(format!("the server {server} stands twice"));
            }
        }
        for host in &family.hosts {
            if hosts.insert(compact(host), group).is_some() {
                return Err(format!("the host {host} is listed twice"));
            }
        }
        let host = family.hosts.first().map(|host| compact(host));
        for tool in &family.tool {
            let code = format!("tool.{}.{}", family.family, tool.id);
            entry(&mut entries, &code, host.as_deref(), tool)
                .map_err(|e| format!("{code}: {e}"))?;
            names
                .register(group, host.is_some(), tool, count)
                .map_err(|e| format!("{code}: {e}"))?;
            examples.add(&code, &tool.examples, &tool.counter_examples)?;
            count += 1;
        }
    }
    let _ = writeln!(text, "pub(super) static TOOLS: &[Entry] = &[\n{entries}];");
    names.write(text)?;
    for (table, groups) in [("SERVERS", &servers), ("HOSTS", &hosts)] {
        let _ = writeln!(text, "static {table}: &[(&str, u8)] = &[");
        for (name, group) in groups {
            let _ = writeln!(text, "({name:?}, {group}),");
        }
        text.push_str("];\n");
    }
    Ok(())
}

/// Tool names by group; entries with a condition are kept apart from the plain ones.
#[derive(Default)]
struct Names {
    plain: BTreeMap<(usize, String), usize>,
    variants: Vec<(usize, String, usize)>,
    groups: usize,
}

impl Names {
    fn register(
        &mut self,
        group: usize,
        exact: bool,
        tool: &Tool,
        at: usize,
    ) -> Result<(), String> {
        for name in &tool.names {
            let key = if exact { name.clone() } else { compact(name) };
            if !tool.when.is_empty() {
                self.variants.push((group, key, at));
            } else if self.plain.insert((group, key.clone()), at).is_some() {
                return Err(format!("the name {key} is taken"));
            }
        }
        Ok(())
    }

    fn write(&mut self, text: &mut String) -> Result<(), String> {
        let _ = writeln!(text, "static TOOL_NAMES: &[&[(u64, &str, u16)]] = &[");
        for group in 0..self.groups {
            text.push_str("&[\n");
            for ((_, name), at) in self.plain.iter().filter(|((g, _), _)| *g == group) {
                let _ = writeln!(text, "({}, {name:?}, {at}),", first_bytes(name));
            }
            text.push_str("],\n");
        }
        text.push_str("];\nstatic VARIANTS: &[(u8, &str, u16)] = &[\n");
        self.variants.sort();
        for (group, name, at) in &self.variants {
            if !self.plain.contains_key(&(*group, name.clone())) {
                return Err(format!("{name} has a condition and no plain entry"));
            }
            let _ = writeln!(text, "({group}, {name:?}, {at}),");
        }
        text.push_str("];\n");
        Ok(())
    }
}

fn entry(out: &mut String, code: &str, host: Option<&str>, tool: &Tool) -> Result<(), String> {
    sentence(&tool.message)?;
    let mut args = String::new();
    for (key, role) in &tool.args {
        let _ = write!(args, "({:?}, {}), ", compact(key), find(ROLES, role)?);
    }
    let when = match tool.when.iter().next() {
        None => "None".to_owned(),
        Some((key, values)) if tool.when.len() == 1 => {
            format!("Some(({:?}, &{values:?}))", compact(key))
        }
        Some(_) => return Err("a condition names one argument".to_owned()),
    };
    let suggestion = tool.suggestion.as_ref().map_or("None".to_owned(), |s| format!("Some({s:?})"));
    let human = find(HUMAN, tool.human.as_deref().unwrap_or("none"))?;
    let _ = writeln!(
        out,
        "Entry {{ code: {code:?}, tier: {}, effects: {}, irreversible: {}, \
         assessed_by_code: {}, human: {human}, \
         message: {:?}, suggestion: {suggestion}, args: &[{args}], when: {when}, \
         host: {host:?} }},",
        find(TIERS, &tool.tier)?,
        effects(&tool.effects)?,
        tool.irreversible,
        tool.assessed_by_code,
        tool.message,
    );
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
fn sentence(message: &str) -> Result<(), String> {
    if !message.ends_with('.') || message.contains('!') || message.len() > 120 {
        return Err(format!("not a plain short sentence: {message:?}"));
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
