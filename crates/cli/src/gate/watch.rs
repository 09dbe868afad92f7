//! `countersign watch`: events as they happen.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use countersign_client::{Error, Filter, PeopleClient, RequestRecord, RequestStatus, ServerEvent};

use super::credential::PersonSession;
use super::now::now;
use super::{args, output, page, show};
use crate::failure::Failure;
use crate::terminal::Paint;

/// The pause between two attempts to reconnect.
const PAUSE: Duration = Duration::from_secs(2);

/// Runs the command, until it is interrupted.
pub fn run(args: &args::Watch) -> Result<ExitCode, Failure> {
    let session = PersonSession::open(&args.person)?;
    let mut first = true;
    loop {
        match follow(&session, args.person.json, first) {
            // A restarting daemon is retried; missing permission is an error.
            Ok(()) | Err(Ended::Lost(Error::Unreachable { .. } | Error::Unavailable { .. })) => {}
            Err(Ended::Lost(error)) => return Err(error.into()),
            Err(Ended::Here(failure)) => return Err(failure),
        }
        if first {
            first = false;
        }
        let _ = writeln!(io::stderr(), "connection lost; reconnecting");
        thread::sleep(PAUSE);
    }
}

enum Ended {
    Lost(Error),
    Here(Failure),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Ended {
        Ended::Lost(error)
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Ended {
        Ended::Here(failure)
    }
}

fn follow(people: &PeopleClient, json: bool, first: bool) -> Result<(), Ended> {
    // The stream first, then the list, so that no event is missed in between.
    let mut events = people.events()?;
    if !json {
        waiting(people, first)?;
    }
    while let Some(event) = events.next_event()? {
        if json {
            let data: serde_json::Value = serde_json::from_str(&event.data).unwrap_or_default();
            let line = serde_json::json!({ "event": event.name, "data": data });
            output::line(&line.to_string())?;
        } else if event.name == "again" {
            waiting(people, false)?;
        } else {
            tell(&event)?;
        }
    }
    Ok(())
}

fn waiting(people: &PeopleClient, first: bool) -> Result<(), Ended> {
    let filter =
        Filter { state: Some(RequestStatus::Pending), limit: Some(500), ..Filter::default() };
    let list = people.list(&filter)?.requests;
    output::say(|out, paint| {
        if list.is_empty() && first {
            writeln!(out, "No pending requests. Watching; Ctrl-C stops.")?;
        }
        Ok(page::requests(out, &list, now(), paint)?)
    })?;
    Ok(())
}

fn tell(event: &ServerEvent) -> Result<(), Failure> {
    let request: Option<RequestRecord> = serde_json::from_str(&event.data).ok();
    let name = page::safe(&event.name, 20);
    output::say(|out, paint| {
        match request {
            Some(request) if event.name == "asked" => {
                page::requests(out, std::slice::from_ref(&request), now(), paint)?;
            }
            Some(request) => {
                let words = page::safe(&request.phrase, 60);
                let how = match event.name.as_str() {
                    "escalated" => format!("escalated to {}", escalation(&request)),
                    _ => show::standing(&request, Paint::Plain),
                };
                writeln!(out, "{words}  {how}")?;
            }
            None => writeln!(out, "{name}")?,
        }
        Ok(())
    })?;
    Ok(())
}

fn escalation(request: &RequestRecord) -> &'static str {
    match request.level.as_str() {
        "administrators" => "administrators",
        "emergency" => "emergency contacts",
        _ => "more people",
    }
}
