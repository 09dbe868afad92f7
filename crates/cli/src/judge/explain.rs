//! `countersign judge explain`: the exact prompt and reply of one request.

use std::process::ExitCode;

use serde_json::Value;

use crate::failure::Failure;
use crate::gate::args_judge::ExplainArgs;
use crate::gate::credential::PersonSession;
use crate::gate::find_request::{self, RequestSearch};
use crate::gate::{output, page};

/// The longest part that is printed, in bytes.
const LONGEST: usize = 64 * 1024;

/// Runs the command.
pub fn run(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    let session = PersonSession::open(&args.person)?;
    let request = find_request::find(&session, &args.request, RequestSearch::All)?;
    let id = request.id.as_deref().unwrap_or_default();
    let found = session.judge_exchange(id)?;
    if args.person.json {
        return output::json(&found);
    }
    let text = |pointer: &str| {
        let found = found.pointer(pointer).and_then(Value::as_str).unwrap_or("-");
        // Line by line, because each line is made safe for the terminal.
        let lines = found.lines().map(|line| page::safe(line, LONGEST));
        lines.collect::<Vec<_>>().join("\n")
    };
    output::say(|out, paint| {
        let (model, verdict) = (text("/recorded/model"), text("/recorded/verdict"));
        let head = format!("{model}: {verdict}, {}", text("/recorded/concern"));
        writeln!(out, "{}", paint.strong(head))?;
        if let Some(from) = found.pointer("/recorded/cached_from").and_then(Value::as_str) {
            let from = page::safe(from, 60);
            writeln!(out, "The verdict was cached; the model was asked for request {from}.")?;
        }
        if found.pointer("/exchange/system").is_none() {
            let why = if found.pointer("/recorded/cached") == Some(&Value::Bool(true)) {
                "The verdict was cached: the same call was asked about shortly before."
            } else {
                "The prompt and the reply are no longer kept."
            };
            writeln!(out, "{why}")?;
            return Ok(());
        }
        match found.get("matches_ledger").and_then(Value::as_bool) {
            Some(true) => writeln!(out, "The ledger confirms this prompt.")?,
            _ => writeln!(out, "The ledger has another prompt: this text was changed.")?,
        }
        for (name, pointer) in [
            ("System message", "/exchange/system"),
            ("User message", "/exchange/user"),
            ("Reply", "/exchange/reply"),
            ("Result", "/exchange/result"),
        ] {
            writeln!(out, "\n{}\n{}", paint.strong(name), text(pointer))?;
        }
        Ok(())
    })
}
