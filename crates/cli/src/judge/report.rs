//! `countersign judge report`: the judge's state and how it compares with people.

use std::process::ExitCode;

use countersign_judge::Proportion;
use serde_json::Value;

use super::rates::in_words;
use crate::failure::Failure;
use crate::gate::args::PersonOnly;
use crate::gate::credential::PersonSession;
use crate::gate::{output, page};

/// Runs the command.
pub fn run(args: &PersonOnly) -> Result<ExitCode, Failure> {
    let found = PersonSession::open(&args.person)?.judge()?;
    if args.person.json {
        return output::json(&found);
    }
    let word =
        |name: &str| found.get(name).and_then(Value::as_str).map(|text| page::safe(text, 200));
    let mode = word("mode").unwrap_or_default();
    if mode == "off" {
        return output::line("The model judge is off: the configuration has no section [judge].");
    }
    let count = |part: &str, name: &str| {
        let found = found.pointer(&format!("/{part}/{name}"));
        found.and_then(Value::as_u64).unwrap_or(0)
    };
    let rate =
        |part: &str| in_words(Proportion { hits: count(part, "hits"), of: count(part, "of") });
    let line = |name: &str, text: String| vec![format!("  {name}"), text];
    output::say(|out, paint| {
        let model = word("model").unwrap_or_default();
        writeln!(out, "{}", paint.strong(format!("{model}, mode {mode}")))?;
        match word("held_back") {
            Some(why) => writeln!(out, "It releases nothing: {why}.")?,
            None => writeln!(out, "It may release calls.")?,
        }
        let compared = found.get("compared").and_then(Value::as_u64).unwrap_or(0);
        let heading = format!("\nCompared with {compared} decisions of people");
        writeln!(out, "{}", paint.strong(heading))?;
        page::table(
            out,
            &[
                line("denied by people, allowed by the judge", rate("missed")),
                line("approved by people, held back by the judge", rate("over_asked")),
                line("allowed by the judge, denied by people", rate("wrongly_allowed")),
            ],
        )?;
        Ok(())
    })
}
