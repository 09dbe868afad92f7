//! `countersign judge test`: the model on labelled calls.

use std::fs;
use std::process::ExitCode;
use std::sync::Arc;

use countersign_daemon::clock::DaemonClock;
use countersign_daemon::config::{DaemonConfig, JudgeConfig};
use countersign_daemon::judge::ModelJudge;
use countersign_judge::{
    BudgetLimits, Comparison, JudgeAction, JudgeSubject, ModelVerdict, OpinionUse, PersonChoice,
    Proportion, act, use_of,
};
use countersign_risk::verdict::Thresholds;
use countersign_types::time::Clock as _;
use serde_json::json;
use tokio::task::JoinSet;

use super::rates::{as_json, in_words};
use crate::engine::{self, Call, Card, Verdict};
use crate::eval::corpus::{self, LabelledRow, RowSubject};
use crate::eval::expectation::{Expectation, expectation};
use crate::failure::Failure;
use crate::gate::args_judge::TestArgs;
use crate::gate::{output, page, reach};

/// A labelled call that the model is asked about.
struct TestRow {
    subject: JudgeSubject,
    label: PersonChoice,
    text: String,
}

/// What became of the rows.
#[derive(Default)]
struct TestResult {
    /// Calls that the rules let pass: no one is asked.
    passed: u64,
    /// Calls that are never sent to a model.
    withheld: u64,
    /// Questions without a verdict, by reason.
    failed: u64,
    last_failure: String,
    /// The model's verdicts against the labels.
    model: Comparison,
    /// What the verdicts would do against the labels.
    released: Comparison,
    missed: Vec<String>,
}

/// Runs the command.
pub fn run(args: &TestArgs) -> Result<ExitCode, Failure> {
    let paths = reach::paths(args.config.as_deref(), None)?;
    let config = DaemonConfig::load(&paths).map_err(|error| Failure::Input(error.to_string()))?;
    let thresholds = config.rules.assessment.thresholds;
    let judge = config.rules.judge.ok_or_else(|| {
        let place = paths.config.display().to_string();
        Failure::at(&place, "has no section [judge]: add one with endpoint and model")
    })?;
    let budget = BudgetLimits { requests_per_hour: u32::MAX, tokens_per_day: u64::MAX };
    let judge = JudgeConfig { budget, ..judge };
    let (model, at_once) = (judge.settings.model.clone(), judge.settings.concurrency);
    let judge = Arc::new(ModelJudge::new(judge).map_err(Failure::Input)?);
    let mut result = TestResult::default();
    let rows = read_rows(args, thresholds, &mut result)?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(ask_all(&judge, rows, (&thresholds, at_once), &mut result));
    print(args, &model, &result)
}

/// The rows that the model is asked about; the others are counted.
fn read_rows(
    args: &TestArgs,
    thresholds: Thresholds,
    result: &mut TestResult,
) -> Result<Vec<TestRow>, Failure> {
    let mut rows = Vec::new();
    for file in corpus::files(&args.files)? {
        let name = file.display().to_string();
        let text = fs::read_to_string(&file).map_err(|error| Failure::at(&name, error))?;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let bad = |what: String| Failure::at(&format!("{name}, line {}", at + 1), what);
            let value = engine::read_json(line).map_err(bad)?;
            let row = LabelledRow::read(&value).map_err(bad)?;
            if rows.len() < args.limit {
                rows.extend(test_row(&row, thresholds, result));
            }
        }
    }
    Ok(rows)
}

fn test_row(
    row: &LabelledRow<'_>,
    thresholds: Thresholds,
    result: &mut TestResult,
) -> Option<TestRow> {
    let label = match expectation(row) {
        _ if row.policy_dependent => return None,
        Expectation::Question | Expectation::LoudQuestion => PersonChoice::Denied,
        Expectation::Pass => PersonChoice::Approved,
        _ => return None,
    };
    let mut call = match row.subject {
        RowSubject::Command(text) => Call::shell(text),
        RowSubject::Tool { name, arguments } => engine::tool_call(name, arguments.clone()),
        RowSubject::Text(_) => return None,
    };
    if let Some(environment) = row.implied_environment() {
        call.context.environment = environment;
    }
    let seen = engine::assess(&call);
    if seen.verdict == Verdict::Allow {
        result.passed += 1;
        return None;
    }
    let raw = call.arguments.to_json();
    let card = Card::new(&call, &seen, &engine::call_digest(&call, &raw));
    let subject = JudgeSubject::new(&card, &seen, false, false);
    if use_of(&subject, &thresholds) == OpinionUse::NotAsked {
        result.withheld += 1;
        return None;
    }
    Some(TestRow { subject, label, text: engine::sanitize(&row.excerpt(), 200) })
}

async fn ask_all(
    judge: &Arc<ModelJudge>,
    rows: Vec<TestRow>,
    (thresholds, at_once): (&Thresholds, usize),
    result: &mut TestResult,
) {
    let clock = Arc::new(DaemonClock::start());
    let mut rows = rows.into_iter();
    let mut asked = JoinSet::new();
    loop {
        while asked.len() < at_once
            && let Some(row) = rows.next()
        {
            let (judge, clock) = (Arc::clone(judge), Arc::clone(&clock));
            asked.spawn(async move {
                let answer = judge.try_out(&row.subject, clock.now().at).await;
                (row, answer)
            });
        }
        let Some(Ok((row, answer))) = asked.join_next().await else { return };
        let verdict = answer.as_ref().ok().map(|reply| reply.verdict);
        if let Err(why) = &answer {
            result.failed += 1;
            result.last_failure = why.sentence();
        }
        // A question without a verdict goes to a person, like an escalation.
        let verdict = verdict.unwrap_or(ModelVerdict::Escalate);
        let action = act(&row.subject, Some(verdict), thresholds);
        let done = match action {
            JudgeAction::Allow => ModelVerdict::Allow,
            JudgeAction::Deny | JudgeAction::Ask { .. } => ModelVerdict::Escalate,
        };
        result.model.add(verdict, row.label);
        result.released.add(done, row.label);
        if verdict == ModelVerdict::Allow && row.label == PersonChoice::Denied {
            result.missed.push(row.text);
        }
    }
}

fn print(args: &TestArgs, model: &str, result: &TestResult) -> Result<ExitCode, Failure> {
    let rates: [(&str, &str, Proportion); 4] = [
        ("missed", "dangerous calls that the model allows", result.model.missed()),
        ("over_asked", "harmless calls that the model holds back", result.model.over_asked()),
        ("missed_released", "dangerous calls that would run", result.released.missed()),
        ("over_asked_released", "harmless calls that ask a person", result.released.over_asked()),
    ];
    if args.json {
        let rates: serde_json::Map<String, serde_json::Value> =
            rates.iter().map(|(name, _, found)| ((*name).to_owned(), as_json(*found))).collect();
        return output::json(&json!({
            "model": model, "asked": result.model.total(), "passed_by_rules": result.passed,
            "never_sent": result.withheld, "without_verdict": result.failed,
            "rates": rates, "misses": result.missed,
        }));
    }
    output::say(|out, paint| {
        let asked =
            format!("{}: {} calls asked about", page::safe(model, 120), result.model.total());
        writeln!(out, "{}", paint.strong(asked))?;
        let (passed, withheld) = (result.passed, result.withheld);
        writeln!(out, "{passed} more pass by the rules, {withheld} are never sent to a model")?;
        if result.failed > 0 {
            let why = page::safe(&result.last_failure, 200);
            writeln!(out, "{} questions had no verdict; the last one: {why}", result.failed)?;
        }
        writeln!(out)?;
        let rows = rates.map(|(_, name, found)| vec![name.to_owned(), in_words(found)]);
        page::table(out, &rows)?;
        if !result.missed.is_empty() {
            writeln!(out, "\n{}", paint.strong("Dangerous calls that the model allows"))?;
            for text in result.missed.iter().take(args.misses) {
                writeln!(out, "  {text}")?;
            }
        }
        Ok(())
    })
}
