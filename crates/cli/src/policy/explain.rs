//! `countersign policy explain`.

use std::io::Write;
use std::process::ExitCode;

use countersign_policy::case::{ExplainedCall, verdict_word};
use serde_json::{Map, Value, json};

use super::args::PolicyExplainArgs;
use super::load::valid;
use super::projects;
use crate::failure::Failure;
use crate::gate::{output, page};
use crate::input::{self, Files};

/// Runs the command.
pub fn run(args: &PolicyExplainArgs) -> Result<ExitCode, Failure> {
    let call = call_json(args)?;
    let written = valid(args.config.as_deref())?;
    let (cwd, project) = (args.context.cwd.as_deref(), args.context.project.as_deref());
    let limit = written.policy.permit_up_to();
    let projects = projects::readings(cwd, project, limit);
    let explained = written.policy.explain_in(&call, &written.assessment, &projects);
    let explained = explained.map_err(Failure::Input)?;
    let waiting: Vec<String> =
        projects.iter().filter_map(|project| project.as_ref().ok()?.waiting_sentence()).collect();
    if args.json {
        return output::json(&document(&explained, &waiting));
    }
    output::say(|out, _| {
        print(out, &explained, args.facts)?;
        for sentence in &waiting {
            writeln!(out, "{}", page::safe(sentence, 1000))?;
        }
        Ok(())
    })
}

/// The call as JSON, with its context.
fn call_json(args: &PolicyExplainArgs) -> Result<String, Failure> {
    let mut call = Map::new();
    match (&args.command, &args.tool) {
        (Some(command), _) => {
            call.insert("command".to_owned(), command.clone().into());
        }
        (None, Some(tool)) => {
            call.insert("tool".to_owned(), tool.clone().into());
            let text = args.args.as_deref().map(|text| input::text(text, "--args", Files::Named));
            let text = text.transpose()?;
            let arguments: Value = serde_json::from_str(text.as_deref().unwrap_or("{}"))
                .map_err(|error| Failure::at("--args", error))?;
            call.insert("arguments".to_owned(), arguments);
        }
        (None, None) => {
            let message = "missing call; give a shell command, or --tool and --args";
            return Err(Failure::Input(message.to_owned()));
        }
    }
    let context = &args.context;
    let env = context.env.map(|env| env.label().to_owned());
    for (name, value) in [
        ("agent", &args.agent),
        ("platform", &context.platform),
        ("cwd", &context.cwd),
        ("project", &context.project),
        ("host", &context.host),
        ("environment", &env),
    ] {
        if let Some(value) = value {
            call.insert(name.to_owned(), value.clone().into());
        }
    }
    Ok(Value::Object(call).to_string())
}

fn document(explained: &ExplainedCall, waiting: &[String]) -> Value {
    let held_back = explained.decision.held_back.iter();
    let held_back: Vec<Value> =
        held_back.map(|(rule, limit)| json!({ "rule": rule, "why": limit.to_string() })).collect();
    json!({
        "verdict": verdict_word(explained.assessment.verdict),
        "without_rules": verdict_word(explained.without_rules),
        "tier": explained.assessment.tier.label(),
        "policy": explained.assessment.policy,
        "held_back": held_back,
        "wait_for_adoption": waiting,
        "facts": facts(explained),
    })
}

fn print(out: &mut dyn Write, explained: &ExplainedCall, with_facts: bool) -> Result<(), Failure> {
    let seen = &explained.assessment;
    writeln!(out, "{}  {}", verdict_word(seen.verdict), seen.tier.label())?;
    match &seen.policy {
        Some(ruling) => writeln!(out, "{}", page::safe(&ruling.sentence(), 1000))?,
        None => writeln!(out, "No rule decides; the verdict follows from the tier.")?,
    }
    if explained.without_rules != seen.verdict {
        writeln!(out, "Without rules: {}.", verdict_word(explained.without_rules))?;
    }
    for (rule, limit) in &explained.decision.held_back {
        writeln!(out, "Rule {rule} permits the call, but does not let it pass: {limit}.")?;
    }
    if with_facts {
        for (name, value) in facts(explained) {
            writeln!(out, "  {name}: {}", page::safe(&value.to_string(), 1000))?;
        }
    }
    Ok(())
}

/// The facts that rules see and that are not empty.
fn facts(explained: &ExplainedCall) -> Map<String, Value> {
    let facts = &explained.facts;
    let mut all = Map::new();
    for (name, set) in facts.lists() {
        if !set.is_empty() {
            all.insert(name.to_owned(), json!(set));
        }
    }
    for (name, text) in [
        ("agent", &facts.agent),
        ("tool", &facts.tool),
        ("host", &facts.host),
        ("session", &facts.session),
        ("project", &facts.project),
        ("environment", &facts.environment),
        ("exact_command", &facts.exact_command),
    ] {
        if !text.is_empty() {
            all.insert(name.to_owned(), text.clone().into());
        }
    }
    for (name, number) in [
        ("tier", u16::from(facts.tier)),
        ("points", facts.points),
        ("confidence", u16::from(facts.confidence)),
        ("hour", u16::from(facts.hour)),
    ] {
        all.insert(name.to_owned(), number.into());
    }
    for (name, flag) in [
        ("reversible", facts.reversible),
        ("crisis", facts.crisis),
        ("runs_programs", facts.runs_programs),
    ] {
        all.insert(name.to_owned(), flag.into());
    }
    all.insert("weekday".to_owned(), facts.weekday.into());
    all
}
