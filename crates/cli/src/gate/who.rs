//! `countersign people` and `agents`: who may answer, and who may ask.

use std::process::ExitCode;

use countersign_client::{NewAgent, Time};

use super::args::{AgentsWhat, PeopleWhat};
use super::credential::Session;
use super::now::{apart, now};
use super::{args, house, page};
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
            let passphrase = Session::open(person)?.add_person(name, role)?;
            once(name, "passphrase", &passphrase, person.json)
        }
        PeopleWhat::Revoke(args) => {
            Session::open(&args.person)?.revoke_person(&args.name)?;
            gone(&args.name, args.person.json, "may not answer any more")
        }
        PeopleWhat::Passphrase(args) => {
            let passphrase = Session::open(&args.person)?.new_passphrase(&args.name)?;
            once(&args.name, "passphrase", &passphrase, args.person.json)
        }
    }
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
            let token = Session::open(person)?.add_agent(&agent)?;
            once(name, "token", &token, person.json)
        }
        AgentsWhat::Revoke(args) => {
            Session::open(&args.person)?.revoke_agent(&args.name)?;
            gone(&args.name, args.person.json, "may not ask any more")
        }
        AgentsWhat::Token(args) => {
            let token = Session::open(&args.person)?.new_token(&args.name)?;
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
