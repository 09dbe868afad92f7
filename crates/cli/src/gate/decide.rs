//! `countersign approve` and `deny`: a person's answer, after they have seen the call.

use std::process::ExitCode;

use countersign_client::{Choice, Filter, GrantWish, People, Request, State};

use super::args;
use super::choose::{self, Among};
use super::credential::{Session, Terminal};
use super::now::now;
use super::{house, page, show};
use crate::card::Style;
use crate::core_api::Tier;
use crate::failure::Failure;

/// Runs `countersign deny`.
pub fn deny(args: &args::Deny) -> Result<ExitCode, Failure> {
    let session = Session::open(&args.person)?;
    let request = choose::find(&session, &args.request, Among::Waiting)?;
    let id = id(&request)?;
    let reason = args.reason.as_deref().unwrap_or_default();
    let after = session.decide(id, &request.digest, Choice::Deny, reason, None)?;
    told(&after, args.person.json)
}

/// Runs `countersign approve`.
pub fn approve(args: &args::Approve) -> Result<ExitCode, Failure> {
    let session = Session::open(&args.person)?;
    let Some(text) = &args.request else { return approve_all(args, &session) };
    let request = choose::find(&session, text, Among::Waiting)?;
    if !args.yes {
        house::say(|out, paint| Ok(show::print(out, &request, Style { paint, all: true })?))?;
        let words = page::safe(&request.phrase, 60);
        if !terminal("--yes")?.agrees(&format!("\nApprove {words}?"))? {
            return refused();
        }
    }
    let reason = match &args.reason {
        Some(reason) => reason.clone(),
        None if needs_reason(&request) => ask_reason(&request)?,
        None => String::new(),
    };
    let wish = match (args.for_session, args.minutes) {
        (true, _) => Some(GrantWish { shape: "exact", scope: "session", minutes: None }),
        (false, Some(_)) => {
            Some(GrantWish { shape: "exact", scope: "until", minutes: args.minutes })
        }
        (false, None) => None,
    };
    // What was shown is what is approved: its digest goes with the answer.
    let id = id(&request)?;
    let after = session.decide(id, &request.digest, Choice::Approve, &reason, wish.as_ref())?;
    told(&after, args.person.json)
}

fn needs_reason(request: &Request) -> bool {
    // A tier that we do not know is not taken for a small one.
    Tier::parse(&request.tier).is_none_or(|tier| tier == Tier::Critical)
}

fn ask_reason(request: &Request) -> Result<String, Failure> {
    let words = page::safe(&request.phrase, 60);
    let question = format!("{words} is {}. Why may it run? ", page::safe(&request.tier, 12));
    let reason = terminal("--reason")?.line(&question)?;
    let reason = reason.trim();
    if reason.is_empty() {
        return Err(Failure::Input("nothing was approved: a reason is needed".to_owned()));
    }
    Ok(reason.to_owned())
}

fn terminal(flag: &str) -> Result<Terminal, Failure> {
    Terminal::open()
        .map_err(|_| Failure::Input(format!("there is no terminal to ask on: say it with {flag}")))
}

/// What waits, seen one by one, then one question.
fn approve_all(args: &args::Approve, session: &People) -> Result<ExitCode, Failure> {
    let filter = Filter { state: Some(State::Pending), limit: Some(500), ..Filter::default() };
    let mut whole = Vec::new();
    for listed in session.list(&filter)?.requests {
        whole.push(session.show(id(&listed)?)?);
    }
    if whole.is_empty() {
        return house::line("Nothing waits for you.");
    }
    let mut easy = Vec::new();
    let mut grave = Vec::new();
    house::say(|out, paint| {
        for request in &whole {
            show::print(out, request, Style { paint, all: false })?;
            writeln!(out)?;
            let seen = show::card_of(request).is_some_and(|card| card.one_tap());
            if !seen {
                let words = page::safe(&request.phrase, 60);
                writeln!(
                    out,
                    "Not all of it fits here: countersign show {words} --all, then approve it alone.\n"
                )?;
            } else if needs_reason(request) || request.crisis {
                grave.push(request);
            } else {
                easy.push(request);
            }
        }
        Ok(page::requests(out, &whole, now(), paint)?)
    })?;
    let mut terminal = terminal("the ids, one by one")?;
    let mut taken = 0;
    if !easy.is_empty() {
        if !terminal.agrees(&format!("\nApprove these {}?", easy.len()))? {
            return refused();
        }
        let list = easy.iter().map(|one| Ok((id(one)?.to_owned(), one.digest.clone())));
        let list = list.collect::<Result<Vec<_>, Failure>>()?;
        let reason = args.reason.as_deref().unwrap_or_default();
        for result in session.decide_several(&list, Choice::Approve, reason)? {
            match result.problem {
                None => taken += 1,
                Some(problem) => {
                    let why = page::safe(&problem.detail, 400);
                    house::line(&format!("{}: {why}", page::short(Some(&result.id))))?;
                }
            }
        }
    }
    for request in &grave {
        let words = page::safe(&request.phrase, 60);
        let tier = page::safe(&request.tier, 12);
        // One by one, each with its own reason: a bare Enter leaves it waiting.
        let reason = terminal.line(&format!("{words} is {tier}. Why may it run? (Enter: no) "))?;
        if !reason.trim().is_empty() {
            session.decide(id(request)?, &request.digest, Choice::Approve, reason.trim(), None)?;
            taken += 1;
        }
    }
    house::line(&format!("{taken} of {} approved.", whole.len()))?;
    Ok(if taken == whole.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn refused() -> Result<ExitCode, Failure> {
    house::line("Nothing was approved.")?;
    Ok(ExitCode::FAILURE)
}

fn id(request: &Request) -> Result<&str, Failure> {
    let id = request.id.as_deref();
    id.ok_or_else(|| Failure::Input("this request has no id".to_owned()))
}

fn told(after: &Request, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return house::json(after);
    }
    let words = page::safe(&after.phrase, 60);
    house::say(|out, paint| {
        writeln!(out, "{words}: {}", show::standing(after, paint))?;
        if let Some(grant) = &after.grant {
            let grant = page::safe(grant, 60);
            writeln!(
                out,
                "The same call passes from now on: grant {grant} (countersign grants list)"
            )?;
        }
        Ok(())
    })
}
