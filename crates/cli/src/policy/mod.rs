//! `countersign policy`: check, test, explain, diff, show, adopt.

pub mod args;
mod counted;
mod diff;
mod explain;
mod load;
mod projects;

use std::path::Path;
use std::process::ExitCode;

use countersign_daemon::config::policy::WrittenPolicy;
use countersign_policy::SCHEMA;
use countersign_risk::verdict::Policy;
use countersign_types::PROJECT_FILE;
use countersign_types::tier::Tier;

use crate::failure::Failure;
use crate::gate::args::PersonArgs;
use crate::gate::credential::PersonSession;
use crate::gate::{output, page};
use args::{PolicyArgs, PolicyWhat};
use counted::counted;
use load::{load, valid};
use projects::CheckedProject;

/// Runs the command.
pub fn run(args: &PolicyArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        PolicyWhat::Check { file, json } => check(file.as_deref(), *json),
        PolicyWhat::Test { file } => test(file.as_deref()),
        PolicyWhat::Explain(args) => explain::run(args),
        PolicyWhat::Diff { old, new, calls, json } => diff::run(old, new, calls, *json),
        PolicyWhat::Confirm { hash, person } => confirm(hash, person),
        PolicyWhat::Apply { file, person } => apply(file, person),
        PolicyWhat::Adopt { path, person } => projects::adopt(path.as_deref(), person),
        PolicyWhat::Projects { person } => projects::list(person),
        PolicyWhat::Revoke { path, person } => projects::revoke(path, person),
        PolicyWhat::Show { schema: true, .. } => {
            output::say(|out, _| Ok(out.write_all(SCHEMA.as_bytes())?))
        }
        PolicyWhat::Show { name, config, .. } => show(name.as_deref(), config.as_deref()),
    }
}

fn check(file: Option<&str>, json: bool) -> Result<ExitCode, Failure> {
    let project = file.map(Path::new).filter(|file| file.ends_with(PROJECT_FILE));
    let loaded = load(file.filter(|_| project.is_none()))?;
    let none = (Policy::default(), Tier::Medium);
    let (settings, limit) =
        loaded.as_ref().map_or(none, |written| (written.assessment, written.policy.permit_up_to()));
    let folder = project.map(|file| std::path::absolute(file).unwrap_or_default());
    let folder = folder.as_deref().and_then(Path::parent);
    let projects = projects::checked(folder, &settings, limit);
    let problems: Vec<String> = match &loaded {
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
        Ok(written) => {
            let failed = written.policy.run_cases(&written.assessment);
            failed.iter().map(|failed| format!("test {failed}")).collect()
        }
    };
    let (rules, tests, hash) = loaded.as_ref().map_or((0, 0, String::new()), |written| {
        let policy = &written.policy;
        (policy.rules().len(), policy.case_count(), policy.hash().to_string())
    });
    let fine = problems.is_empty() && projects.iter().all(|one| one.problems.is_empty());
    let code = if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if json {
        output::json(&serde_json::json!({
            "ok": fine, "rules": rules, "tests": tests, "hash": hash,
            "problems": problems,
            "projects": projects.iter().map(CheckedProject::document).collect::<Vec<_>>(),
        }))?;
        return Ok(code);
    }
    output::say(|out, _| {
        for problem in &problems {
            writeln!(out, "{}", page::safe(problem, 1000))?;
        }
        if problems.is_empty() {
            let hash = hash.get(..16).unwrap_or(&hash);
            let (rules, tests) = (counted(rules, "rule"), counted(tests, "test"));
            writeln!(out, "{rules}, {tests} passed. Policy {hash}.")?;
        }
        projects.iter().try_for_each(|project| project.print(out))
    })?;
    Ok(code)
}

fn test(file: Option<&str>) -> Result<ExitCode, Failure> {
    let WrittenPolicy { policy, assessment } = valid(file)?;
    let failed = policy.run_cases(&assessment);
    output::say(|out, _| {
        for failure in &failed {
            writeln!(out, "failed  {}", page::safe(&failure.to_string(), 1000))?;
        }
        let passed = policy.case_count().saturating_sub(failed.len());
        Ok(writeln!(out, "{passed} passed, {} failed", failed.len())?)
    })?;
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(name: Option<&str>, config: Option<&str>) -> Result<ExitCode, Failure> {
    let policy = valid(config)?.policy;
    let shown = |rule: &str| name.is_none_or(|name| name == rule);
    if name.is_some() && !policy.rules().iter().any(|rule| shown(rule.name())) {
        let names: Vec<&str> =
            policy.rules().iter().map(countersign_policy::PolicyRule::name).collect();
        let message = format!("rule not found; there are: {}", names.join(", "));
        return Err(Failure::Input(message));
    }
    output::say(|out, _| {
        for rule in policy.rules().iter().filter(|rule| shown(rule.name())) {
            writeln!(out, "// {} in {}", rule.word(), page::safe(&rule.file, 400))?;
            for line in rule.text.lines() {
                writeln!(out, "{}", page::safe(line, 2000))?;
            }
            writeln!(out)?;
        }
        if name.is_none() {
            writeln!(
                out,
                "// {}. Policy {}.",
                counted(policy.rules().len(), "rule"),
                policy.hash()
            )?;
        }
        Ok(())
    })
}

fn confirm(hash: &str, person: &PersonArgs) -> Result<ExitCode, Failure> {
    let rules = PersonSession::open_to_change(person)?.confirm_policy(hash)?;
    if person.json {
        return output::json(&serde_json::json!({ "rules": rules }));
    }
    output::line(&format!("The rules are in force: {}.", counted(rules, "rule")))
}

/// Proposes the rules in a file.
fn apply(file: &str, person: &PersonArgs) -> Result<ExitCode, Failure> {
    let text = match file {
        "-" => std::io::read_to_string(std::io::stdin()),
        _ => std::fs::read_to_string(file),
    };
    let text = text.map_err(|error| Failure::at(file, error))?;
    let request = PersonSession::open_to_change(person)?.propose_policy(&text)?;
    if person.json {
        return output::json(&request);
    }
    output::say(|out, _| {
        let brief = request.brief.as_deref().unwrap_or_default();
        writeln!(out, "{}", page::safe(brief, 2000))?;
        let words = &request.phrase;
        let more = "The rules are in force once the request is approved";
        Ok(writeln!(out, "{more}: countersign approve {words}")?)
    })
}
