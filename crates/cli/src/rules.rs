//! `countersign rules`: list, explain, check.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::args::{self, RulesWhat};
use crate::engine::{self, RuleInfo, Subject, Tier};
use crate::failure::Failure;
use crate::terminal::{Paint, accent, badge};

/// Runs the command.
pub fn run(args: &args::Rules) -> Result<ExitCode, Failure> {
    let stdout = io::stdout();
    let paint = Paint::of(&stdout);
    let mut out = BufWriter::new(stdout.lock());
    let Some(what) = &args.what else {
        return Err(Failure::Input(
            "missing action; use `rules list`, `rules explain ID` or `rules check`".to_owned(),
        ));
    };
    let code = match what {
        RulesWhat::List { family, json } => {
            let rules = of_family(family.as_deref())?;
            if *json {
                list_json(&mut out, &rules)?;
            } else {
                list(&mut out, &rules, paint)?;
            }
            ExitCode::SUCCESS
        }
        RulesWhat::Explain { id } => {
            for (at, rule) in named(id)?.iter().enumerate() {
                if at > 0 {
                    writeln!(out)?;
                }
                explain(&mut out, rule, paint)?;
            }
            ExitCode::SUCCESS
        }
        RulesWhat::Check { family } => check(&mut out, &of_family(family.as_deref())?, paint)?,
    };
    out.flush()?;
    Ok(code)
}

fn of_family(family: Option<&str>) -> Result<Vec<RuleInfo>, Failure> {
    let mut rules = engine::rules();
    let Some(family) = family else { return Ok(rules) };
    let mut families: Vec<&str> = rules.iter().map(RuleInfo::family).collect();
    families.dedup();
    let known = families.join(", ");
    rules.retain(|r| r.family() == family);
    if rules.is_empty() {
        return Err(Failure::Input(format!("no family `{family}`; there are: {known}")));
    }
    Ok(rules)
}

/// The rule with this id; a rule about code may exist for several languages.
fn named(id: &str) -> Result<Vec<RuleInfo>, Failure> {
    let rules = engine::rules();
    let near: Vec<&str> = rules.iter().map(|r| r.id).filter(|r| r.contains(id)).take(5).collect();
    let near = near.join(", ");
    let found: Vec<RuleInfo> = rules.into_iter().filter(|r| r.id == id).collect();
    if found.is_empty() {
        let hint = if near.is_empty() {
            "see `countersign rules list`".to_owned()
        } else {
            format!("did you mean {near}?")
        };
        return Err(Failure::Input(format!("no rule `{id}`; {hint}")));
    }
    Ok(found)
}

fn list(out: &mut dyn Write, rules: &[RuleInfo], paint: Paint) -> io::Result<()> {
    let width = rules.iter().map(|r| r.id.len()).max().unwrap_or(0);
    let mut family = "";
    for rule in rules {
        if rule.family() != family {
            let gap = if family.is_empty() { "" } else { "\n" };
            family = rule.family();
            let count = rules.iter().filter(|r| r.family() == family).count();
            let count = format!("{count} rules");
            writeln!(out, "{gap}{}  {}", paint.strong(family), paint.faint(count))?;
        }
        let word = paint.with(accent(rule.tier), format!("{:<8}", rule.tier.label()));
        writeln!(out, "  {word}  {:<width$}  {}", rule.id, rule.message)?;
    }
    Ok(())
}

#[derive(Serialize)]
struct RuleRecord<'a> {
    id: &'a str,
    family: &'a str,
    about: &'a str,
    tier: Tier,
    message: &'a str,
    suggestion: Option<&'a str>,
    examples: &'a [&'a str],
    counter_examples: &'a [&'a str],
}

fn list_json(out: &mut dyn Write, rules: &[RuleInfo]) -> Result<(), Failure> {
    for rule in rules {
        let record = RuleRecord {
            id: rule.id,
            family: rule.family(),
            about: rule.subject.label(),
            tier: rule.tier,
            message: rule.message,
            suggestion: rule.suggestion,
            examples: rule.examples,
            counter_examples: rule.counter_examples,
        };
        serde_json::to_writer(&mut *out, &record)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn explain(out: &mut dyn Write, rule: &RuleInfo, paint: Paint) -> io::Result<()> {
    writeln!(out, "{}", paint.strong(rule.message))?;
    writeln!(out)?;
    let word = paint.badge(badge(rule.tier), rule.tier.label());
    let about = format!("family {}, about {}", rule.family(), rule.subject.label());
    writeln!(out, "{word}  {}  {}", rule.id, paint.faint(about))?;
    if let Some(suggestion) = rule.suggestion {
        writeln!(out, "\n{}  {suggestion}", paint.faint("suggestion"))?;
    }
    let mark = if rule.subject == Subject::Command { "$ " } else { "" };
    for (title, texts) in [("matches", rule.examples), ("does not match", rule.counter_examples)] {
        if texts.is_empty() {
            continue;
        }
        writeln!(out, "\n{}", paint.strong(title))?;
        for text in texts {
            writeln!(out, "  {mark}{}", engine::sanitize(text, 400))?;
        }
    }
    Ok(())
}

fn check(out: &mut dyn Write, rules: &[RuleInfo], paint: Paint) -> io::Result<ExitCode> {
    let mut ran = 0_usize;
    let mut failed = 0_usize;
    for rule in rules {
        ran += rule.examples.len() + rule.counter_examples.len();
        for wrong in engine::check_rule(rule) {
            failed += 1;
            let what = if wrong.wanted {
                "does not match its example"
            } else {
                "matches its counter-example"
            };
            let shown = engine::sanitize(wrong.line, 400);
            writeln!(out, "{}  {} {what}: {shown}", paint.strong("failed"), wrong.id)?;
        }
    }
    writeln!(out, "{} rules, {ran} examples, {failed} failed", rules.len())?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
