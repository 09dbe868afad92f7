//! `countersign assess`: one call or a stream of them.

use std::borrow::Cow;
use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::args::{self, Place};
use crate::card::{self, Style};
use crate::core_api::{self, Annotations, Assessment, Call, Context, Identity, Value, Verdict};
use crate::door::{self, Files};
use crate::failure::Failure;
use crate::stream;
use crate::terminal::Paint;

/// The record as it is printed: the assessment and what a decision is bound to.
#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    assessment: &'a Assessment,
    digest: &'a str,
    raw_digest: &'a str,
    both_bind: bool,
    phrase: &'a str,
}

impl<'a> Record<'a> {
    fn of(assessment: &'a Assessment, identity: &'a Identity) -> Record<'a> {
        Record {
            assessment,
            digest: &identity.digest,
            raw_digest: &identity.raw_digest,
            both_bind: identity.both_bind,
            phrase: &identity.phrase,
        }
    }
}

/// Runs the command.
pub fn run(args: &args::Assess) -> Result<ExitCode, Failure> {
    if args.batch {
        return batch(args);
    }
    if let Some(tool) = &args.tool {
        let raw = door::text(args.args.as_deref().unwrap_or("{}"), "--args", Files::Named)?;
        let arguments = core_api::read_json(&raw).map_err(|e| Failure::at("--args", e))?;
        if !matches!(arguments, Value::Object(_)) {
            return Err(Failure::at("--args", "the arguments must be a JSON object"));
        }
        return one(tool_call(tool, arguments), &raw, args);
    }
    let Some(command) = &args.command else {
        return Err(Failure::Input(
            "nothing to assess: give a command, `-`, --tool or --batch (see --help)".to_owned(),
        ));
    };
    let mut text = door::text(command, "command", Files::AreText)?;
    if command == "-" && text.ends_with('\n') {
        text.pop();
    }
    one(Call::shell(&text), &text, args)
}

/// A call of a tool with its arguments, nothing known about its place.
pub fn tool_call<'a>(tool: &'a str, arguments: Value<'a>) -> Call<'a> {
    Call {
        tool: Cow::Borrowed(tool),
        arguments,
        agent: None,
        session: None,
        context: Context::default(),
        annotations: Annotations::default(),
        claimed: None,
    }
}

/// Puts a call where the command line says it is; what was not said stays as it came.
pub fn place<'a>(call: &mut Call<'a>, place: &'a Place) {
    if let Some(platform) = place.platform() {
        call.context.platform = platform;
    }
    if let Some(environment) = place.env {
        call.context.environment = environment;
    }
    if let Some(cwd) = &place.cwd {
        call.context.cwd = Some(cwd);
    }
}

fn one<'a>(mut call: Call<'a>, raw: &str, args: &'a args::Assess) -> Result<ExitCode, Failure> {
    place(&mut call, &args.place);
    call.claimed = call.claimed.max(args.claimed);
    let assessment = core_api::assess(&call);
    let identity = core_api::identify(&call, raw);
    let stdout = io::stdout();
    let paint = Paint::of(&stdout);
    let mut out = io::BufWriter::new(stdout.lock());
    if args.json {
        serde_json::to_writer_pretty(&mut out, &Record::of(&assessment, &identity))?;
        out.write_all(b"\n")?;
    } else {
        card::print(
            &mut out,
            &call,
            &assessment,
            &identity.phrase,
            Style { paint, all: args.all },
        )?;
    }
    out.flush()?;
    Ok(if args.exit_code { verdict_code(assessment.verdict) } else { ExitCode::SUCCESS })
}

fn verdict_code(verdict: Verdict) -> ExitCode {
    ExitCode::from(match verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 10,
        Verdict::Deny => 11,
        Verdict::Crisis => 12,
    })
}

fn batch(args: &args::Assess) -> Result<ExitCode, Failure> {
    let input = stream::standard_input("calls");
    stream::answer_each(input, io::stdout().lock(), |item, out| {
        let mut call = core_api::read_call(&item.value)?;
        place(&mut call, &args.place);
        call.claimed = call.claimed.max(args.claimed);
        let assessment = core_api::assess(&call);
        let identity = core_api::identify(&call, core_api::raw_arguments(item.raw));
        Ok(serde_json::to_writer(out, &Record::of(&assessment, &identity))?)
    })?;
    Ok(ExitCode::SUCCESS)
}
