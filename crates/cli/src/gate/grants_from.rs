//! `countersign grants give TOOL --from FILE`: grants for the commands of a whitelist in YAML.

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use countersign_client::{Error, NewGrant};
use countersign_json::Value;
use countersign_risk::tools;
use countersign_workflow::grant::is_command_shape;
use serde::Serialize;

use super::args_grants::GiveArgs;
use super::credential::PersonSession;
use super::whitelist_yaml::{YamlEntry, parse};
use super::{output, page};
use crate::failure::Failure;

/// The largest file.
const MAX_BYTES: u64 = 1 << 20;

/// A grant that was given.
#[derive(Serialize)]
struct GivenGrant {
    pattern: String,
    id: String,
    words: String,
}

/// An entry without a grant.
#[derive(Serialize)]
struct LeftOut {
    line: usize,
    pattern: String,
    reason: String,
}

#[derive(Default, Serialize)]
struct FromReport {
    given: Vec<GivenGrant>,
    left_out: Vec<LeftOut>,
}

impl FromReport {
    fn leave_out(&mut self, entry: &YamlEntry, reason: String) {
        let pattern = entry.pattern.clone().unwrap_or_default();
        self.left_out.push(LeftOut { line: entry.line, pattern, reason });
    }
}

/// Gives a grant for each entry that can have one.
pub fn give_from(file: &Path, args: &GiveArgs) -> Result<ExitCode, Failure> {
    if !tools::runs_programs(&args.tool, &Value::Object(Vec::new())) {
        return Err(Failure::at(&page::safe(&args.tool, 60), "this tool runs no commands"));
    }
    let name = file.display().to_string();
    let entries = read(file, &name).and_then(|text| {
        parse(&text).map_err(|error| Failure::at(&name, page::safe(&error, 200)))
    })?;
    let mut report = FromReport::default();
    let mut wanted = Vec::new();
    for entry in &entries {
        match new_grant(entry, args) {
            Ok(grant) => wanted.push((entry, grant)),
            Err(reason) => report.leave_out(entry, reason),
        }
    }
    if !wanted.is_empty() {
        let session = PersonSession::open_to_change(&args.person)?;
        for (entry, grant) in &wanted {
            give(&session, entry, grant, &mut report)?;
        }
    }
    report.left_out.sort_by_key(|one| one.line);
    let code = if report.left_out.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    print(&report, args.person.json)?;
    Ok(code)
}

fn read(file: &Path, name: &str) -> Result<String, Failure> {
    let opened = std::fs::File::open(file).map_err(|error| Failure::at(name, error))?;
    let mut text = String::new();
    let read = opened.take(MAX_BYTES + 1).read_to_string(&mut text);
    match read.map_err(|error| Failure::at(name, error))? as u64 {
        0..=MAX_BYTES => Ok(text),
        _ => Err(Failure::at(name, "the file is larger than 1 MiB")),
    }
}

/// The grant of an entry, or why it has none.
fn new_grant(entry: &YamlEntry, args: &GiveArgs) -> Result<NewGrant, String> {
    if let Some(problem) = &entry.problem {
        return Err(problem.clone());
    }
    let pattern = entry.pattern.as_deref().ok_or("it has no pattern")?;
    if !is_command_shape(pattern) {
        let why = "a grant needs a program and at least one more word, without quotes, variables, \
            `*` or other shell syntax, and no option at the end";
        return Err(why.to_owned());
    }
    let session = match entry.scope.as_deref() {
        Some("always") => None,
        Some("session") if args.session.is_some() => args.session.clone(),
        Some("session") => return Err("name the session with --agent and --session".to_owned()),
        Some("auto") => {
            return Err("no model decides which commands pass; see [learning]".to_owned());
        }
        _ => return Err("its scope is not session or always".to_owned()),
    };
    Ok(NewGrant {
        shape: "targets".to_owned(),
        tool: Some(args.tool.clone()),
        request: None,
        conditions: Vec::new(),
        targets: vec![pattern.to_owned()],
        agent: args.agent.clone(),
        session,
        minutes: args.minutes,
        uses: args.uses,
        per_hour: args.per_hour,
        spend: None,
        recipients: None,
    })
}

/// A grant that the daemon does not give is left out; another error ends the command, after it
/// said what was given so far.
fn give(
    session: &PersonSession,
    entry: &YamlEntry,
    grant: &NewGrant,
    report: &mut FromReport,
) -> Result<(), Failure> {
    match session.create_grant(grant) {
        Ok(given) => {
            let text = |member| given.get(member).and_then(serde_json::Value::as_str);
            report.given.push(GivenGrant {
                pattern: grant.targets.concat(),
                id: text("id").unwrap_or("?").to_owned(),
                words: text("words").unwrap_or_default().to_owned(),
            });
            Ok(())
        }
        Err(error @ Error::Conflict(_)) => {
            report.leave_out(entry, error.to_string());
            Ok(())
        }
        Err(error) => {
            print(report, false)?;
            Err(error.into())
        }
    }
}

fn print(report: &FromReport, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(report);
    }
    output::say(|out, _| {
        for given in &report.given {
            let (id, words) = (page::safe(&given.id, 60), page::safe(&given.words, 300));
            writeln!(out, "Given: {id} {words}")?;
        }
        for left in &report.left_out {
            let (pattern, reason) = (page::safe(&left.pattern, 100), page::safe(&left.reason, 300));
            writeln!(out, "Left out: line {} `{pattern}`: {reason}", left.line)?;
        }
        Ok(())
    })
}
