//! `countersign people` and `agents`: who may answer, and who may ask.

use std::process::ExitCode;

use countersign_client::{NewAgent, Time};
use countersign_daemon::auth::recovery;

use super::args::{AgentsWhat, PeopleWhat};
use super::credential::{self, Session};
use super::now::{apart, now};
use super::{args, house, page, reach};
use crate::failure::Failure;

/// Runs `countersign people`.
pub fn people(args: &args::People) -> Result<ExitCode, Failure> {
    match &args.what {
        PeopleWhat::List(args) => {
            let people = Session::open(&args.person)?.people()?;
            if args.person.json {
                return house::json(&people);
            }
            let rows: Vec<Vec<String>> = people
                .iter()
                .map(|one| {
                    let name = page::safe(&one.name, 80);
                    vec![name, page::safe(&one.role, 20), since(one.added, one.revoked)]
                })
                .collect();
            house::say(|out, _| Ok(page::table(out, &rows)?))
        }
        PeopleWhat::Add { name, administrator, person } => {
            let role = if *administrator { "administrator" } else { "approver" };
            let passphrase = Session::open_to_change(person)?.add_person(name, role)?;
            once(name, "passphrase", &passphrase, person.json)
        }
        PeopleWhat::Revoke(args) => {
            Session::open_to_change(&args.person)?.revoke_person(&args.name)?;
            gone(&args.name, args.person.json, "may not answer any more")
        }
        PeopleWhat::Passphrase(args) => {
            let passphrase = Session::open_to_change(&args.person)?.new_passphrase(&args.name)?;
            once(&args.name, "passphrase", &passphrase, args.person.json)
        }
        PeopleWhat::Role { name, role, person } => {
            Session::open_to_change(person)?.change_role(name, role)?;
            if person.json {
                return house::json(&serde_json::json!({ "name": name, "role": role }));
            }
            house::line(&format!("{} is {role} now.", page::safe(name, 80)))
        }
        PeopleWhat::Recover { name, remove_passkeys, state, json } => {
            recover(name, *remove_passkeys, state.as_deref(), *json)
        }
        PeopleWhat::UseCode(args) => {
            let endpoint = reach::people_api(args.person.people.as_deref())?;
            let code = credential::recovery_code(&args.person)?;
            let passphrase = countersign_client::People::recover(&endpoint, &args.name, &code)?;
            once(&args.name, "passphrase", &passphrase, args.person.json)
        }
        PeopleWhat::Sessions(args) => sessions(args),
        PeopleWhat::EndSession(args) => {
            Session::open(&args.person)?.end_session(&args.name)?;
            if args.person.json {
                return house::json(&serde_json::json!({ "id": args.name, "ended": true }));
            }
            house::line("The session has ended.")
        }
    }
}

/// Issues a recovery code. Whoever can write the daemon's state folder may do so; no session can.
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
        Failure::at(&state, format!("no recovery code could be written there: {error}"))
    })?;
    if json {
        return house::json(&serde_json::json!({
            "name": name, "code": *code, "expires": expires.to_string(),
        }));
    }
    let name = page::safe(name, 80);
    house::say(|out, _| {
        writeln!(out, "{}\n", page::safe(&code, 200))?;
        Ok(writeln!(
            out,
            "This is the recovery code of {name}, good once until {expires}. Give it to {name}, \
             who runs\n`countersign people use-code {name}` or enters it on the sign-in page."
        )?)
    })
}

/// Prints the sessions of the person.
fn sessions(args: &args::PersonOnly) -> Result<ExitCode, Failure> {
    let sessions = Session::open(&args.person)?.sessions()?;
    if args.person.json {
        return house::json(&sessions);
    }
    let rows: Vec<Vec<String>> = sessions
        .iter()
        .map(|one| {
            let used = one.used.map_or_else(String::new, |time| apart(time, now()));
            let current = if one.current { "this one" } else { "" };
            vec![
                page::safe(&one.id, 60),
                page::safe(&one.channel, 20),
                format!("used {used}"),
                current.to_owned(),
            ]
        })
        .collect();
    house::say(|out, _| Ok(page::table(out, &rows)?))
}

/// Runs `countersign agents`.
pub fn agents(args: &args::Agents) -> Result<ExitCode, Failure> {
    match &args.what {
        AgentsWhat::List(args) => {
            let agents = Session::open(&args.person)?.agents()?;
            if args.person.json {
                return house::json(&agents);
            }
            let rows: Vec<Vec<String>> = agents
                .iter()
                .map(|one| {
                    let uid = one.uid.map_or(String::new(), |uid| format!("user {uid}"));
                    let ends = one.expires.map_or_else(String::new, |time| {
                        format!("token ends {}", apart(time, now()))
                    });
                    vec![page::safe(&one.name, 80), uid, since(one.added, one.revoked), ends]
                })
                .collect();
            house::say(|out, _| Ok(page::table(out, &rows)?))
        }
        AgentsWhat::Add { name, uid, own_addresses, days, person } => {
            let agent = NewAgent {
                name: name.clone(),
                uid: *uid,
                own_addresses: own_addresses.clone(),
                days: *days,
            };
            let token = Session::open_to_change(person)?.add_agent(&agent)?;
            once(name, "token", &token, person.json)
        }
        AgentsWhat::Revoke(args) => {
            Session::open_to_change(&args.person)?.revoke_agent(&args.name)?;
            gone(&args.name, args.person.json, "may not ask any more")
        }
        AgentsWhat::Token(args) => {
            let token = Session::open_to_change(&args.person)?.new_token(&args.name)?;
            once(&args.name, "token", &token, args.person.json)
        }
    }
}

fn since(added: Option<Time>, revoked: Option<Time>) -> String {
    match (added, revoked) {
        (_, Some(time)) => format!("revoked {}", apart(time, now())),
        (Some(time), None) => format!("added {}", apart(time, now())),
        (None, None) => String::new(),
    }
}

/// A secret that is told once.
fn once(name: &str, kind: &str, secret: &str, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return house::json(&serde_json::json!({ "name": name, kind: secret }));
    }
    let (name, secret) = (page::safe(name, 80), page::safe(secret, 200));
    house::say(|out, _| {
        writeln!(out, "{secret}\n")?;
        Ok(writeln!(out, "This is the {kind} of {name}. It is shown once and kept nowhere.")?)
    })
}

fn gone(name: &str, json: bool, what: &str) -> Result<ExitCode, Failure> {
    if json {
        return house::json(&serde_json::json!({ "name": name, "revoked": true }));
    }
    house::line(&format!("{} {what}.", page::safe(name, 80)))
}
