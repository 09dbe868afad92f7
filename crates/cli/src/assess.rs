//! `countersign assess`: one call or a stream of them.

use std::collections::HashMap;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use countersign_risk::facts::CallFacts;
use serde::Serialize;

use crate::args;
use crate::call_context::CallContext;
use crate::card::{self, Style};
use crate::engine::{self, Assessment, Call, Identity, SessionMemory, Value, Verdict};
use crate::facts;
use crate::failure::Failure;
use crate::input::{self, Files};
use crate::stream;
use crate::terminal::Paint;

/// The printed record: the assessment and the identity of the call.
#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    assessment: &'a Assessment,
    digest: &'a str,
    raw_digest: &'a str,
    both_bind: bool,
    phrase: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<&'a CallFacts>,
}

impl<'a> Record<'a> {
    fn of(assessment: &'a Assessment, identity: &'a Identity) -> Record<'a> {
        Record {
            assessment,
            digest: &identity.digest,
            raw_digest: &identity.raw_digest,
            both_bind: identity.both_bind,
            phrase: &identity.phrase,
            facts: None,
        }
    }
}

/// Runs the command.
pub fn run(args: &args::Assess) -> Result<ExitCode, Failure> {
    if args.batch {
        return batch(args);
    }
    if let Some(tool) = &args.tool {
        let raw = input::text(args.args.as_deref().unwrap_or("{}"), "--args", Files::Named)?;
        let arguments = engine::read_json(&raw).map_err(|e| Failure::at("--args", e))?;
        if !matches!(arguments, Value::Object(_)) {
            return Err(Failure::at("--args", "the arguments must be a JSON object"));
        }
        return one(engine::tool_call(tool, arguments), &raw, args);
    }
    let Some(command) = &args.command else {
        return Err(Failure::Input(
            "nothing to assess; give a command, `-`, --tool or --batch (see --help)".to_owned(),
        ));
    };
    let mut text = input::text(command, "command", Files::AreText)?;
    if command == "-" && text.ends_with('\n') {
        text.pop();
    }
    one(Call::shell(&text), &text, args)
}

/// Applies the context from the command line; what is not given stays unchanged.
pub fn apply_context<'a>(call: &mut Call<'a>, context: &'a CallContext) {
    if let Some(platform) = context.platform() {
        call.context.platform = platform;
    }
    if let Some(environment) = context.env {
        call.context.environment = environment;
    }
    if let Some(cwd) = &context.cwd {
        call.context.cwd = Some(cwd);
    }
    if let Some(project) = &context.project {
        call.context.project = Some(project);
    }
    if let Some(host) = &context.host {
        call.context.host = Some(host);
    }
}

fn one<'a>(mut call: Call<'a>, raw: &str, args: &'a args::Assess) -> Result<ExitCode, Failure> {
    apply_context(&mut call, &args.context);
    call.claimed = call.claimed.max(args.claimed);
    let (assessment, facts) = if args.facts {
        let (assessment, facts) = facts::assess(&call);
        call.facts = Some(Arc::clone(&facts));
        (assessment, Some(facts))
    } else {
        (engine::assess(&call), None)
    };
    let identity = engine::identify(&call, raw);
    let stdout = io::stdout();
    let paint = Paint::of(&stdout);
    let mut out = io::BufWriter::new(stdout.lock());
    if args.json {
        let facts = facts.as_deref();
        let record = Record { facts, ..Record::of(&assessment, &identity) };
        serde_json::to_writer_pretty(&mut out, &record)?;
        out.write_all(b"\n")?;
    } else {
        card::print(
            &mut out,
            &call,
            &assessment,
            &identity.phrase,
            Style { paint, all: args.all },
        )?;
        if let Some(facts) = &facts {
            facts::print(&mut out, facts, paint)?;
        }
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
    let mut sessions: HashMap<String, SessionMemory> = HashMap::new();
    stream::answer_each(input, io::stdout().lock(), |item, out| {
        let mut call = engine::read_call(&item.value)?;
        apply_context(&mut call, &args.context);
        call.claimed = call.claimed.max(args.claimed);
        let session = call.session.as_deref().map(str::to_owned);
        let memory = session.as_ref().map(|id| sessions.remove(id).unwrap_or_default());
        call.context.session = memory.as_ref();
        let mut assessment = engine::assess(&call);
        let raw = engine::raw_arguments(item.raw);
        let identity = engine::identify(&call, raw);
        let digest = engine::call_digest(&call, raw);
        if let (Some(id), Some(mut memory)) = (session, memory) {
            memory.apply_answers(&mut assessment, &digest);
            if args.assume_approved {
                memory.answer(&assessment, &digest);
            }
            if assessment.verdict == Verdict::Allow || args.assume_approved {
                memory.add(&assessment.trace);
            }
            sessions.insert(id, memory);
        }
        Ok(serde_json::to_writer(out, &Record::of(&assessment, &identity))?)
    })?;
    Ok(ExitCode::SUCCESS)
}
