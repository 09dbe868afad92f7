//! `countersign people` and `agents`.

use std::process::ExitCode;

use countersign_client::{NewAgent, Time};
use countersign_daemon::auth::recovery;

use super::args::{PersonArgs, PersonOnly};
use super::args_people::{AgentsArgs, AgentsWhat, PeopleArgs, PeopleWhat};
use super::credential::{self, PersonSession};
use super::now::{now, relative_time};
use super::{output, page, reach};
use crate::failure::Failure;

/// Runs `countersign people`.
pub fn people(args: &PeopleArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        PeopleWhat::List(args) => list_people(args),
        PeopleWhat::Add { name, administrator, person } => {
            let role = if *administrator { "administrator" } else { "approver" };
            let passphrase = PersonSession::open_to_change(person)?.add_person(name, role)?;
            once(name, "passphrase", &passphrase, person.json)
        }
        PeopleWhat::Revoke(args) => {
            PersonSession::open_to_change(&args.person)?.revoke_person(&args.name)?;
            gone(&args.name, args.person.json, "was revoked")
        }
        PeopleWhat::Passphrase(args) => {
            let passphrase =
                PersonSession::open_to_change(&args.person)?.new_passphrase(&args.name)?;
            once(&args.name, "passphrase", &passphrase, args.person.json)
        }
        PeopleWhat::Role { name, role, person } => {
            PersonSession::open_to_change(person)?.change_role(name, role)?;
            if person.json {
                return output::json(&serde_json::json!({ "name": name, "role": role }));
            }
            output::line(&format!("{} is {role} now.", page::safe(name, 80)))
        }
        PeopleWhat::Recover { name, remove_passkeys, state, json } => {
            recover(name, *remove_passkeys, state.as_deref(), *json)
        }
        PeopleWhat::SendCode(args) => {
            let channel =
                PersonSession::open_to_change(&args.person)?.send_recovery_code(&args.name)?;
            if args.person.json {
                let sent = serde_json::json!({ "name": args.name, "channel": channel });
                return output::json(&sent);
            }
            let (name, channel) = (page::safe(&args.name, 80), page::safe(&channel, 80));
            output::line(&format!(
                "Sent to the account of {name} on {channel}. They enter the code on the sign-in page."
            ))
        }
        PeopleWhat::UseCode(args) => {
            let endpoint = reach::people_endpoint(args.person.people.as_deref())?;
            let code = credential::recovery_code(&args.person)?;
            let passphrase =
                countersign_client::PeopleClient::recover(&endpoint, &args.name, &code)?;
            once(&args.name, "passphrase", &passphrase, args.person.json)
        }
        PeopleWhat::Sessions(args) => sessions(args),
        PeopleWhat::EndSession(args) => {
            PersonSession::open(&args.person)?.end_session(&args.name)?;
            if args.person.json {
                return output::json(&serde_json::json!({ "id": args.name, "ended": true }));
            }
            output::line("The session was ended.")
        }
    }
}

fn list_people(args: &PersonOnly) -> Result<ExitCode, Failure> {
    let people = PersonSession::open(&args.person)?.people()?;
    if args.person.json {
        return output::json(&people);
    }
    let rows: Vec<Vec<String>> = people
        .iter()
        .map(|one| {
            let name = page::safe(&one.name, 80);
            vec![name, page::safe(&one.role, 20), since(one.added, one.revoked)]
        })
        .collect();
    output::say(|out, _| Ok(page::table(out, &rows)?))
}

/// Creates a recovery code. Write access to the daemon's state directory is required; a session is
/// not enough.
fn recover(
    name: &str,
    remove_passkeys: bool,
    state: Option<&str>,
    json: bool,
) -> Result<ExitCode, Failure> {
    let paths = reach::paths(None, state)?;
    let issued = recovery::issue(&paths.state, name, remove_passkeys, now().millis());
    let (code, expires) = issued.map_err(|error| {
        let state = paths.state.display().to_string();
        Failure::at(&state, format!("cannot write a recovery code there: {error}"))
    })?;
    if json {
        return output::json(&serde_json::json!({
            "name": name, "code": *code, "expires": expires.to_string(),
        }));
    }
    let name = page::safe(name, 80);
    output::say(|out, _| {
        writeln!(out, "{}\n", page::safe(&code, 200))?;
        Ok(writeln!(
            out,
            "Recovery code of {name}, valid once, until {expires}. Give it to {name}, \
             who runs\n`countersign people use-code {name}` or enters it on the sign-in page."
        )?)
    })
}

/// Prints the sessions of the person.
fn sessions(args: &PersonOnly) -> Result<ExitCode, Failure> {
    let sessions = PersonSession::open(&args.person)?.sessions()?;
    if args.person.json {
        return output::json(&sessions);
    }
    let rows: Vec<Vec<String>> = sessions
        .iter()
        .map(|one| {
            let used = one.used.map_or_else(String::new, |time| relative_time(time, now()));
            let current = if one.current { "this one" } else { "" };
            vec![
                page::safe(&one.id, 60),
                page::safe(&one.channel, 20),
                format!("used {used}"),
                current.to_owned(),
            ]
        })
        .collect();
    output::say(|out, _| Ok(page::table(out, &rows)?))
}

/// Runs `countersign agents`.
pub fn agents(args: &AgentsArgs) -> Result<ExitCode, Failure> {
    match &args.what {
        AgentsWhat::List(args) => {
            let agents = PersonSession::open(&args.person)?.agents()?;
            if args.person.json {
                return output::json(&agents);
            }
            let rows: Vec<Vec<String>> = agents
                .iter()
                .map(|one| {
                    let uid = one.uid.map_or(String::new(), |uid| format!("user {uid}"));
                    let ends = one.expires.map_or_else(String::new, |time| {
                        format!("token expires {}", relative_time(time, now()))
                    });
                    vec![page::safe(&one.name, 80), uid, since(one.added, one.revoked), ends]
                })
                .collect();
            output::say(|out, _| Ok(page::table(out, &rows)?))
        }
        AgentsWhat::Add { name, uid, own_addresses, days, person } => {
            let agent = NewAgent {
                name: name.clone(),
                uid: *uid,
                own_addresses: own_addresses.clone(),
                days: *days,
            };
            let token = PersonSession::open_to_change(person)?.add_agent(&agent)?;
            once(name, "token", &token, person.json)
        }
        AgentsWhat::Revoke(args) => {
            PersonSession::open_to_change(&args.person)?.revoke_agent(&args.name)?;
            gone(&args.name, args.person.json, "was revoked")
        }
        AgentsWhat::Token(args) => {
            let token = PersonSession::open_to_change(&args.person)?.new_token(&args.name)?;
            once(&args.name, "token", &token, args.person.json)
        }
        AgentsWhat::Quarantine { lift: None, person } => list_quarantines(person),
        AgentsWhat::Quarantine { lift: Some(agent), person } => {
            PersonSession::open_to_change(person)?.lift_quarantine(agent)?;
            if person.json {
                return output::json(&serde_json::json!({ "agent": agent, "lifted": true }));
            }
            output::line(&format!("{} may ask again.", page::safe(agent, 80)))
        }
    }
}

fn list_quarantines(person: &PersonArgs) -> Result<ExitCode, Failure> {
    let quarantines = PersonSession::open(person)?.quarantines()?;
    if person.json {
        return output::json(&quarantines);
    }
    output::say(|out, _| {
        if quarantines.is_empty() {
            return Ok(writeln!(out, "No agent is in quarantine.")?);
        }
        for one in &quarantines {
            let ends = relative_time(one.until, now());
            writeln!(out, "{}  ends {ends}", page::safe(&one.agent, 80))?;
        }
        Ok(())
    })
}

fn since(added: Option<Time>, revoked: Option<Time>) -> String {
    match (added, revoked) {
        (_, Some(time)) => format!("revoked {}", relative_time(time, now())),
        (Some(time), None) => format!("added {}", relative_time(time, now())),
        (None, None) => String::new(),
    }
}

/// Prints a secret that is shown only once.
fn once(name: &str, kind: &str, secret: &str, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(&serde_json::json!({ "name": name, kind: secret }));
    }
    let (name, secret) = (page::safe(name, 80), page::safe(secret, 200));
    output::say(|out, _| {
        writeln!(out, "{secret}\n")?;
        Ok(writeln!(out, "This is the {kind} of {name}. It is shown only once and is not stored.")?)
    })
}

fn gone(name: &str, json: bool, what: &str) -> Result<ExitCode, Failure> {
    if json {
        return output::json(&serde_json::json!({ "name": name, "revoked": true }));
    }
    output::line(&format!("{} {what}.", page::safe(name, 80)))
}
