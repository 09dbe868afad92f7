//! `countersign policy diff`: calls that two configurations treat differently.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use countersign_daemon::config::policy::WrittenPolicy;
use countersign_policy::case::{ExplainedCall, verdict_word};
use serde_json::json;

use super::load::valid;
use crate::failure::Failure;
use crate::gate::{output, page};

/// A call with two verdicts.
struct Difference {
    line: usize,
    call: String,
    old: ExplainedCall,
    new: ExplainedCall,
}

/// Runs the command.
pub fn run(old: &str, new: &str, calls: &Path, json: bool) -> Result<ExitCode, Failure> {
    let (old, new) = (valid(Some(old))?, valid(Some(new))?);
    let place = calls.display().to_string();
    let text = match &*place {
        "-" => io::read_to_string(io::stdin()),
        _ => fs::read_to_string(calls),
    };
    let text = text.map_err(|error| Failure::at(&place, error))?;
    let (mut count, mut found) = (0, Vec::new());
    for (number, call) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let explain = |written: &WrittenPolicy| {
            let explained = written.policy.explain(call, &written.assessment);
            explained.map_err(|error| Failure::at(&format!("{place}:{}", number + 1), error))
        };
        let (old, new) = (explain(&old)?, explain(&new)?);
        count += 1;
        if old.assessment.verdict != new.assessment.verdict {
            found.push(Difference { line: number + 1, call: call.to_owned(), old, new });
        }
    }
    output::say(|out, _| {
        for one in &found {
            let (old, new) = (&one.old.assessment, &one.new.assessment);
            let words = (verdict_word(old.verdict), verdict_word(new.verdict));
            let ruling = new.policy.as_ref().or(old.policy.as_ref());
            let why = ruling
                .map(countersign_risk::policy_ruling::PolicyRuling::sentence)
                .unwrap_or_default();
            if json {
                let row = json!({
                    "line": one.line, "call": one.call, "old": words.0, "new": words.1, "why": why,
                });
                writeln!(out, "{row}")?;
            } else {
                let call = page::safe(&one.call, 200);
                writeln!(out, "{} -> {}  line {}: {call}", words.0, words.1, one.line)?;
                writeln!(out, "    {}", page::safe(&why, 1000))?;
            }
        }
        if !json {
            writeln!(out, "{} of {count} calls get another verdict.", found.len())?;
        }
        Ok(())
    })?;
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
