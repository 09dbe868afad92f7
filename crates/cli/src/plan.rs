//! `countersign plan`: which calls of a list may run in parallel.

use std::io;
use std::process::ExitCode;

use crate::args;
use crate::assess::apply_context;
use crate::engine::{self, Call, Value};
use crate::failure::Failure;
use crate::stream::{self, LineError};

/// Runs the command.
pub fn run(args: &args::PlanArgs) -> Result<ExitCode, Failure> {
    let input = stream::standard_input("lists of calls");
    stream::answer_each(input, io::stdout().lock(), |item, out| {
        let mut calls = Vec::new();
        for (at, value) in list(&item.value)?.iter().enumerate() {
            let mut call: Call<'_> =
                engine::read_call(value).map_err(|e| format!("call {}: {e}", at + 1))?;
            apply_context(&mut call, &args.context);
            calls.push(call);
        }
        Ok(serde_json::to_writer(out, &engine::plan(&calls))?)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn list<'a, 'b>(value: &'a Value<'b>) -> Result<&'a [Value<'b>], LineError> {
    match value.get("calls").unwrap_or(value) {
        Value::Array(calls) => Ok(calls),
        _ => Err(LineError::Bad("expected an array of calls or {\"calls\": […]}".to_owned())),
    }
}
