//! `countersign approve` and `deny`: a person's answer, after they have seen the call.

use std::process::ExitCode;

use countersign_client::{Choice, Filter, GrantWish, People, Request, State};

use super::args;
use super::choose::{self, Among};
use super::credential::{Session, Terminal};
use super::preview::{Waiting, id};
use super::proof::{self, Proof};
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
        if !agreed(&mut terminal("--yes")?, &request, text)? {
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

/// HIGH takes one of the two words; who named the request by them has typed them already.
fn agreed(terminal: &mut Terminal, request: &Request, named: &str) -> Result<bool, Failure> {
    let words = page::safe(&request.phrase, 60);
    let is_high = Tier::parse(&request.tier).is_none_or(|tier| tier == Tier::High);
    if !is_high || request.crisis || proof::is_word(named, &request.phrase) {
        return Ok(terminal.agrees(&format!("\nApprove {words}?"))?);
    }
    typed_word(terminal, request)
}

fn typed_word(terminal: &mut Terminal, request: &Request) -> Result<bool, Failure> {
    let tier = page::safe(&request.tier, 12);
    let word = page::safe(&proof::either_word(&request.phrase), 60);
    let typed = terminal.line(&format!("\n{tier}. To approve, type {word}: "))?;
    Ok(proof::is_word(&typed, &request.phrase))
}

fn needs_reason(request: &Request) -> bool {
    // A tier that we do not know is not taken for a small one.
    request.crisis || Tier::parse(&request.tier).is_none_or(|tier| tier == Tier::Critical)
}

fn ask_reason(request: &Request) -> Result<String, Failure> {
    let words = page::safe(&request.phrase, 60);
    let why = if request.crisis {
        "Somebody may be in crisis".to_owned()
    } else {
        format!("{words} is {}", page::safe(&request.tier, 12))
    };
    let question = format!("{why}. Why may it run? ");
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

/// What waits, seen one by one; then one question for the easy ones, and one for each grave one.
fn approve_all(args: &args::Approve, session: &People) -> Result<ExitCode, Failure> {
    let filter = Filter { state: Some(State::Pending), limit: Some(500), ..Filter::default() };
    let waiting = Waiting::read(session, &session.list(&filter)?.requests)?;
    if waiting.count() == 0 {
        return house::line("Nothing waits for you.");
    }
    house::say(|out, paint| Ok(waiting.print(out, paint)?))?;
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
        // One by one: a bare Enter leaves it waiting.
        let said = match proof {
            Proof::Reason => {
                terminal.line(&format!("{words} is {tier}. Why may it run? (Enter: no) "))?
            }
            Proof::Word | Proof::OnlyWord if !typed_word(&mut terminal, request)? => continue,
            Proof::Yes if !terminal.agrees(&format!("{words} is {tier}. Approve it?"))? => continue,
            _ => reason.to_owned(),
        };
        if *proof != Proof::Reason || !said.trim().is_empty() {
            session.decide(id(request)?, &request.digest, Choice::Approve, said.trim(), None)?;
            taken += 1;
        }
    }
    house::line(&format!("{taken} of {} approved.", waiting.count()))?;
    Ok(if taken == waiting.count() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn refused() -> Result<ExitCode, Failure> {
    house::line("Nothing was approved.")?;
    Ok(ExitCode::FAILURE)
}

fn told(after: &Request, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return house::json(after);
    }
    let words = page::safe(&after.phrase, 60);
    house::say(|out, paint| {
        writeln!(out, "{words}: {}", show::standing(after, paint))?;
        show::drill(out, after)?;
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
