//! `countersign plan`: which calls of a list may run side by side.

use std::io;
use std::process::ExitCode;

use crate::args;
use crate::assess::place;
use crate::core_api::{self, Call, Value};
use crate::failure::Failure;
use crate::stream::{self, Answered};

/// Runs the command.
pub fn run(args: &args::Plan) -> Result<ExitCode, Failure> {
    let input = stream::standard_input("lists of calls");
    stream::answer_each(input, io::stdout().lock(), |item, out| {
        let mut calls = Vec::new();
        for (at, value) in list(&item.value)?.iter().enumerate() {
            let mut call: Call<'_> =
                core_api::read_call(value).map_err(|e| format!("call {}: {e}", at + 1))?;
            place(&mut call, &args.place);
            calls.push(call);
        }
        Ok(serde_json::to_writer(out, &core_api::plan(&calls))?)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn list<'a, 'b>(value: &'a Value<'b>) -> Result<&'a [Value<'b>], Answered> {
    match value.get("calls").unwrap_or(value) {
        Value::Array(calls) => Ok(calls),
        _ => Err(Answered::Bad("neither an array of calls nor {\"calls\": […]}".to_owned())),
    }
}
