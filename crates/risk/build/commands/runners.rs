//! `[[runner]]` tables → which programs run other programs, and where the inner command stands.

use std::collections::BTreeMap;

use super::lists::{self, static_list};
use super::schema::{Anywhere, Program, Runner};
use super::source::{globs, list, put, sub_paths};

/// The runners of one program, as references into the table.
pub fn refs(runners: &[Runner], name: &str) -> String {
    let own = runners.iter().enumerate().filter(|(_, r)| r.programs.iter().any(|p| p == name));
    static_list(lists::RUNNER_REFS, own.map(|(i, _)| format!("&RUNNERS[{i}]")).collect())
}

/// A description for every program that only the table of runners names.
pub fn undescribed(
    runners: &[Runner],
    names: &BTreeMap<String, usize>,
) -> BTreeMap<String, Program> {
    let mut programs: BTreeMap<String, Program> = BTreeMap::new();
    for runner in runners {
        for name in runner.programs.iter().filter(|n| !names.contains_key(*n)) {
            let program = programs.entry(name.clone()).or_insert_with(|| Program {
                names: vec![name.clone()],
                base: "LOW".to_owned(),
                message: "Runs another program.".to_owned(),
                posix: true,
                effects: vec!["exec".to_owned()],
                ..Program::default()
            });
            // Options of a subcommand stand behind it.
            program.posix &= runner.sub.is_empty() && runner.start.is_none();
        }
    }
    programs
}

/// The description with the options that take a value according to this program's runners; none if
/// it has them all.
pub fn with_values(runners: &[Runner], name: &str, program: &Program) -> Option<Program> {
    let mut own = program.clone();
    for runner in runners.iter().filter(|r| r.programs.iter().any(|p| p == name)) {
        let text = !matches!(runner.inner.as_deref(), None | Some("argv"));
        let options = runner.options.iter().filter(|o| text && o.starts_with('-'));
        for value in runner.values.iter().chain(options) {
            if !own.values.contains(value) && !own.touches.contains_key(value) {
                own.values.push(value.clone());
            }
        }
    }
    (own.values.len() > program.values.len()).then_some(own)
}

/// The table itself.
pub fn write(runners: &[Runner], anywhere: &Anywhere, s: &mut String) -> Result<(), String> {
    put(
        s,
        format!(
            "/// Programs that run other programs.\npub static RUNNERS: [Runner; {}] = [\n",
            runners.len()
        ),
    );
    for runner in runners {
        put(s, source(runner).map_err(|e| format!("runner {:?}: {e}", runner.programs))?);
    }
    put(s, "];\n");
    put(
        s,
        format!(
            "/// Options whose value is a command, whatever the program.\npub static COMMAND_OPTIONS: Globs = {};\n",
            globs(&anywhere.options)
        ),
    );
    let mut commands = anywhere.commands.clone();
    commands.sort();
    put(
        s,
        format!(
            "/// Words that begin a command wherever an undescribed program is given them, sorted.\npub static COMMAND_WORDS: StaticList<&str> = {};\n",
            list(&commands)
        ),
    );
    Ok(())
}

fn source(r: &Runner) -> Result<String, String> {
    let start = match r.start.as_deref() {
        None | Some("operand") => "Operand",
        Some("dashes") => "Dashes",
        Some("option") => "Option",
        Some("word") => "Word",
        Some(other) => return Err(format!("no start `{other}`")),
    };
    let inner = match r.inner.as_deref() {
        None | Some("argv") => "Argv",
        Some("shell") => "Shell",
        Some("each") => "Each",
        Some("sql") => "Code(CodeLanguage::Sql)",
        Some("redis") => "Code(CodeLanguage::Redis)",
        Some("mongo") => "Code(CodeLanguage::Mongo)",
        Some("python") => "Code(CodeLanguage::Python)",
        Some("ruby") => "Code(CodeLanguage::Ruby)",
        Some("php") => "Code(CodeLanguage::Php)",
        Some("javascript") => "Code(CodeLanguage::JavaScript)",
        Some(other) => return Err(format!("no inner `{other}`")),
    };
    let container = match r.place.as_deref() {
        None | Some("here" | "host" | "project") => false,
        Some("container") => true,
        Some(other) => return Err(format!("no place `{other}`")),
    };
    let needed = match start {
        "Option" => !r.options.is_empty(),
        "Word" => !r.prefixes.is_empty() && !matches!(inner, "Argv" | "Each"),
        _ => r.prefixes.is_empty(),
    };
    if !needed {
        return Err("`option` needs options, `word` needs prefixes and shell text".to_owned());
    }
    if !r.example.contains("{}") {
        return Err(format!("example `{}` has no `{{}}` for the inner command", r.example));
    }
    Ok(format!(
        "Runner {{ programs: {}, sub: {}, unless: {}, start: Start::{start}, skip: {}, options: {}, prefixes: {}, lead: {:?}, inner: Inner::{inner}, assignments: {}, root: {}, login: {}, shell_when_bare: {}, feeds: {}, elsewhere: {container}, remote: {}, project: {} }},\n",
        list(&r.programs),
        sub_paths(&r.sub),
        list(&r.unless),
        r.skip,
        list(&r.options),
        list(&r.prefixes),
        r.lead,
        r.assignments,
        r.root,
        list(&r.login),
        r.shell_when_bare,
        r.feeds,
        r.place.as_deref() == Some("host"),
        r.place.as_deref() == Some("project")
    ))
}
