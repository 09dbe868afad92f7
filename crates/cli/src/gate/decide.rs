//! `countersign approve` and `deny`.

use std::process::ExitCode;

use countersign_client::{
    DecisionAnswer, DecisionChoice, DecisionScope, Filter, GrantWithApproval, PeopleClient,
    RequestRecord, RequestStatus,
};

use super::args;
use super::confirmation::{self, Confirmation};
use super::credential::{PersonSession, PromptTerminal};
use super::find_request::{self, RequestSearch};
use super::preview::{PendingGroups, id};
use super::{output, page, show};
use crate::card::Style;
use crate::engine::Tier;
use crate::failure::Failure;

/// Runs `countersign deny`.
pub fn deny(args: &args::Deny) -> Result<ExitCode, Failure> {
    let session = PersonSession::open(&args.person)?;
    let request = find_request::find(&session, &args.request, RequestSearch::Waiting)?;
    let id = id(&request)?;
    let reason = args.reason.as_deref().unwrap_or_default();
    let answer = DecisionAnswer::new(DecisionChoice::Deny, &request.digest);
    let after = session.decide(id, &DecisionAnswer { reason, ..answer })?;
    told(&after, args.person.json)
}

/// Runs `countersign approve`.
pub fn approve(args: &args::Approve) -> Result<ExitCode, Failure> {
    // A grant that lasts beyond its session needs its own confirmation.
    let session = match args.minutes {
        Some(_) if !args.for_session => PersonSession::open_to_change(&args.person)?,
        _ => PersonSession::open(&args.person)?,
    };
    let Some(text) = &args.request else { return approve_all(args, &session) };
    let request = find_request::find(&session, text, RequestSearch::Waiting)?;
    let given = args.word.as_deref().unwrap_or(text);
    let word = if args.yes {
        word_without_prompt(&request, given)?
    } else {
        output::say(|out, paint| {
            show::print(out, &request, Style { paint, all: true })?;
            Ok(say_parts(out, &args.only)?)
        })?;
        let Some(word) = agreed(&mut terminal("--yes")?, &request, given)? else {
            return refused();
        };
        word
    };
    let reason = match &args.reason {
        Some(reason) => reason.clone(),
        // The daemon requires a reason if a named part is CRITICAL.
        None if needs_reason(&request) && args.only.is_empty() => ask_reason(&request)?,
        None => String::new(),
    };
    let grant = GrantWithApproval { shape: "exact", scope: "until", minutes: args.minutes };
    let grant = args.minutes.is_some().then_some(&grant);
    let scope = match (args.for_session, args.for_repository) {
        (_, true) => DecisionScope::Repository,
        (true, _) => DecisionScope::Session,
        (false, false) => DecisionScope::Once,
    };
    // The digest of the shown call is sent with the decision, so exactly that call is approved.
    let id = id(&request)?;
    let answer = DecisionAnswer::new(DecisionChoice::Approve, &request.digest);
    let segments = args.only.as_slice();
    let answer = DecisionAnswer { scope, reason: &reason, word: &word, grant, segments, ..answer };
    let after = session.decide(id, &answer)?;
    told(&after, args.person.json)
}

/// What an approval of parts means, before the prompt.
fn say_parts(out: &mut dyn std::io::Write, only: &[u8]) -> std::io::Result<()> {
    if only.is_empty() {
        return Ok(());
    }
    let numbers: Vec<String> = only.iter().map(u8::to_string).collect();
    let numbers = numbers.join(", ");
    writeln!(out, "\nOnly part {numbers} will be approved; the command as a whole will be denied.")
}

/// HIGH requires one of the two words; naming the request by its words is enough.
fn agreed(
    terminal: &mut PromptTerminal,
    request: &RequestRecord,
    given: &str,
) -> Result<Option<String>, Failure> {
    let words = page::safe(&request.phrase, 60);
    if !needs_word(request) || confirmation::is_word(given, &request.phrase) {
        let agreed = terminal.agrees(&format!("\nApprove {words}?"))?;
        return Ok(agreed.then(|| typed(request, given)));
    }
    typed_word(terminal, request)
}

/// The word for an approval without a prompt. The daemon rejects a HIGH approval without it.
fn word_without_prompt(request: &RequestRecord, given: &str) -> Result<String, Failure> {
    let is_high = !request.crisis && Tier::parse(&request.tier) == Some(Tier::High);
    if is_high && !confirmation::is_word(given, &request.phrase) {
        let tier = page::safe(&request.tier, 12);
        let word = page::safe(&confirmation::either_word(&request.phrase), 60);
        return Err(Failure::Input(format!(
            "not approved: {tier} requires one of the two words of the call; add --word with {word}"
        )));
    }
    Ok(typed(request, given))
}

fn needs_word(request: &RequestRecord) -> bool {
    // An unknown tier is not treated as a low one.
    !request.crisis && Tier::parse(&request.tier).is_none_or(|tier| tier == Tier::High)
}

/// The word if it is one of the call's; a request may also be named by its id.
fn typed(request: &RequestRecord, given: &str) -> String {
    if confirmation::is_word(given, &request.phrase) { given.to_owned() } else { String::new() }
}

fn typed_word(
    terminal: &mut PromptTerminal,
    request: &RequestRecord,
) -> Result<Option<String>, Failure> {
    let tier = page::safe(&request.tier, 12);
    let word = page::safe(&confirmation::either_word(&request.phrase), 60);
    let typed = terminal.line(&format!("\n{tier}. To approve, type {word}: "))?;
    Ok(confirmation::is_word(&typed, &request.phrase).then_some(typed))
}

fn needs_reason(request: &RequestRecord) -> bool {
    // An unknown tier is not treated as a low one.
    request.crisis || Tier::parse(&request.tier).is_none_or(|tier| tier == Tier::Critical)
}

fn ask_reason(request: &RequestRecord) -> Result<String, Failure> {
    let words = page::safe(&request.phrase, 60);
    let why = if request.crisis {
        "A person may be in crisis".to_owned()
    } else {
        format!("{words} is {}", page::safe(&request.tier, 12))
    };
    let question = format!("{why}. Reason (required): ");
    let reason = terminal("--reason")?.line(&question)?;
    let reason = reason.trim();
    if reason.is_empty() {
        return Err(Failure::Input("not approved: a reason is required".to_owned()));
    }
    Ok(reason.to_owned())
}

fn terminal(flag: &str) -> Result<PromptTerminal, Failure> {
    PromptTerminal::open()
        .map_err(|_| Failure::Input(format!("no terminal to prompt on; use {flag}")))
}

/// Shows all pending requests; then one prompt for the low tiers, and one for each high tier.
fn approve_all(args: &args::Approve, session: &PeopleClient) -> Result<ExitCode, Failure> {
    let filter =
        Filter { state: Some(RequestStatus::Pending), limit: Some(500), ..Filter::default() };
    let waiting = PendingGroups::read(session, &session.list(&filter)?.requests)?;
    if waiting.count() == 0 {
        return output::line("No pending requests.");
    }
    output::say(|out, paint| Ok(waiting.print(out, paint)?))?;
    let mut terminal = terminal("the ids, one by one")?;
    let reason = args.reason.as_deref().unwrap_or_default();
    let mut taken = 0;
    if !waiting.easy.is_empty() {
        if !terminal.agrees(&format!("\nApprove these {}?", waiting.easy.len()))? {
            return refused();
        }
        taken += waiting.approve_easy(session, reason)?;
    }
    for (request, proof) in &waiting.alone {
        let words = page::safe(&request.phrase, 60);
        let tier = page::safe(&request.tier, 12);
        // One by one: Enter alone leaves the request pending.
        let (said, word) = match proof {
            Confirmation::Reason => {
                let question = format!("{words} is {tier}. Reason (required; Enter skips): ");
                (terminal.line(&question)?, String::new())
            }
            Confirmation::Word | Confirmation::OnlyWord => {
                let Some(word) = typed_word(&mut terminal, request)? else { continue };
                (reason.to_owned(), word)
            }
            Confirmation::Yes => {
                if !terminal.agrees(&format!("{words} is {tier}. Approve it?"))? {
                    continue;
                }
                (reason.to_owned(), String::new())
            }
        };
        if *proof != Confirmation::Reason || !said.trim().is_empty() {
            let answer = DecisionAnswer::new(DecisionChoice::Approve, &request.digest);
            let answer = DecisionAnswer { reason: said.trim(), word: word.trim(), ..answer };
            session.decide(id(request)?, &answer)?;
            taken += 1;
        }
    }
    output::line(&format!("{taken} of {} approved.", waiting.count()))?;
    Ok(if taken == waiting.count() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn refused() -> Result<ExitCode, Failure> {
    output::line("Nothing was approved.")?;
    Ok(ExitCode::FAILURE)
}

fn told(after: &RequestRecord, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(after);
    }
    let words = page::safe(&after.phrase, 60);
    output::say(|out, paint| {
        writeln!(out, "{words}: {}", show::standing(after, paint))?;
        show::drill(out, after)?;
        if let Some(grant) = &after.grant {
            let grant = page::safe(grant, 60);
            writeln!(
                out,
                "The same call is now approved automatically: grant {grant} (countersign grants list)"
            )?;
        }
        Ok(())
    })
}
