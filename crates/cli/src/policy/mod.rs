//! `countersign policy`: check, test, explain, diff, show.

pub mod args;
mod diff;
mod explain;
mod load;

use std::process::ExitCode;

use countersign_daemon::config::policy::WrittenPolicy;
use countersign_policy::SCHEMA;

use crate::failure::Failure;
use crate::gate::args::PersonArgs;
use crate::gate::credential::PersonSession;
use crate::gate::{output, page};
use args::{PolicyArgs, PolicyWhat};
use load::{load, valid};

/// Runs the command.
pub fn run(args: &PolicyArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        PolicyWhat::Check { file, json } => check(file.as_deref(), *json),
        PolicyWhat::Test { file } => test(file.as_deref()),
        PolicyWhat::Explain(args) => explain::run(args),
        PolicyWhat::Diff { old, new, calls, json } => diff::run(old, new, calls, *json),
        PolicyWhat::Confirm { hash, person } => confirm(hash, person),
        PolicyWhat::Show { schema: true, .. } => {
            output::say(|out, _| Ok(out.write_all(SCHEMA.as_bytes())?))
        }
        PolicyWhat::Show { name, config, .. } => show(name.as_deref(), config.as_deref()),
    }
}

fn check(file: Option<&str>, json: bool) -> Result<ExitCode, Failure> {
    let loaded = load(file)?;
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
    let code = if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if json {
        output::json(&serde_json::json!({
            "ok": problems.is_empty(), "rules": rules, "tests": tests, "hash": hash,
            "problems": problems,
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
        Ok(())
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

fn counted(number: usize, word: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {word}{ending}")
}
