//! People: added and taken out by administrators.

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{delete, get, post};
use countersign_json::canonical::Digest;
use countersign_store::{Role, Store as _, StoredPerson};
use countersign_types::time::Clock as _;
use serde_json::json;
use zeroize::Zeroizing;

use super::login;
use crate::api::fields::{self, Fields};
use crate::api::{Answered, Api, Problem, SteppedUp, who};
use crate::auth::{NameError, fresh_passphrase, person_name};
use crate::gate::Rejection;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/people", get(list).post(add))
        .route("/v1/people/{name}", delete(revoke))
        .route("/v1/people/{name}/passphrase", post(change_passphrase))
        .route("/v1/people/{name}/role", post(change_role))
}

impl From<NameError> for Problem {
    fn from(error: NameError) -> Problem {
        Problem::bad(error.to_string())
    }
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> Answered {
    who::administrator(&api, &headers)?;
    let people = api.gate.store().people().await?;
    let people: Vec<_> = people
        .iter()
        .map(|person| {
            json!({
                "name": person.name, "role": person.role, "added": person.added,
                "active_from": person.active_from, "revoked": person.revoked,
            })
        })
        .collect();
    Ok(axum::Json(json!({ "people": people })).into_response())
}

async fn add(State(api): State<Api>, proven: SteppedUp, request: Request) -> Answered {
    let who = who::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let name = said.needed_text("name")?.to_owned();
    let role = role(said.needed_text("role")?)?;
    said.finish()?;
    person_name(&name)?;
    let (passphrase, hashed) = fresh(&api).await?;
    let changing = api.book.changing().await;
    still_administrator(&api, &parts.headers)?;
    let people = api.gate.store().people().await?;
    if people.iter().any(|person| person.name.eq_ignore_ascii_case(&name)) {
        return Err(Problem::conflict("this name is or was somebody's; no name is given twice"));
    }
    let agents = api.gate.store().agents().await?;
    if agents.iter().any(|agent| agent.name.eq_ignore_ascii_case(&name)) {
        return Err(Problem::conflict("this name is or was an agent's; choose another one"));
    }
    let added = api.gate.clock().now().at;
    let active_from = added.plus(api.gate.rules().waiting_period);
    let person = StoredPerson {
        name: name.clone(),
        role,
        passphrase: hashed,
        added,
        role_since: added,
        active_from,
        revoked: None,
    };
    api.gate.store().save_person(person, proven.note(&api, &who.person)).await?;
    api.book.read(api.gate.store()).await?;
    drop(changing);
    api.announce(format!("{} added {name} as {}.", who.person, role_label(role)));
    let body = json!({
        "name": name, "role": role, "passphrase": *passphrase, "active_from": active_from,
    });
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

fn role(word: &str) -> Result<Role, Problem> {
    match word {
        "approver" => Ok(Role::Approver),
        "administrator" => Ok(Role::Administrator),
        _ => Err(Problem::bad("`role` must be approver or administrator")),
    }
}

fn role_label(role: Role) -> &'static str {
    match role {
        Role::Approver => "an approver",
        Role::Administrator => "an administrator",
    }
}

/// Changes a person's role. They wait again before they may approve with the new one.
async fn change_role(
    State(api): State<Api>,
    Path(name): Path<String>,
    proven: SteppedUp,
    request: Request,
) -> Answered {
    let who = who::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let role = role(said.needed_text("role")?)?;
    said.finish()?;
    let changing = api.book.changing().await;
    still_administrator(&api, &parts.headers)?;
    let people = api.gate.store().people().await?;
    let known = || people.iter().filter(|person| person.revoked.is_none());
    let mut person = known().find(|person| person.name == name).cloned().ok_or_else(no_such)?;
    let others =
        known().filter(|other| other.name != name && other.role == Role::Administrator).count();
    if role == Role::Approver && others == 0 {
        return Err(Problem::conflict("this is the last administrator: add another one first"));
    }
    if person.role != role {
        let now = api.gate.clock().now().at;
        person.role = role;
        person.role_since = now;
        if role == Role::Administrator {
            person.active_from = now.plus(api.gate.rules().waiting_period);
        }
        api.gate.store().save_person(person.clone(), proven.note(&api, &who.person)).await?;
        api.book.read(api.gate.store()).await?;
        api.announce(format!("{} made {name} {}.", who.person, role_label(role)));
    }
    drop(changing);
    let body = json!({ "name": name, "role": role, "active_from": person.active_from });
    Ok(axum::Json(body).into_response())
}

/// Asked again when it is one's turn: somebody may have taken the right away in between.
pub fn still_administrator(api: &Api, headers: &HeaderMap) -> Result<(), Problem> {
    who::administrator(api, headers).map(|_| ())
}

/// A fresh passphrase and what is kept of it.
pub async fn fresh(api: &Api) -> Result<(Zeroizing<String>, String), Problem> {
    let passphrase = fresh_passphrase().map_err(|_| Problem::from(Rejection::NoChance))?;
    let hashed = api.checks.hash(passphrase.clone()).await?;
    let hashed = hashed.ok_or_else(|| Problem::from(Rejection::NoChance))?;
    Ok((passphrase, hashed))
}

async fn revoke(
    State(api): State<Api>,
    Path(name): Path<String>,
    proven: SteppedUp,
    headers: HeaderMap,
) -> Answered {
    let who = who::administrator(&api, &headers)?;
    let _changing = api.book.changing().await;
    still_administrator(&api, &headers)?;
    let people = api.gate.store().people().await?;
    let mut known = people.into_iter().filter(|person| person.revoked.is_none());
    let (mut others, mut found) = (0, None);
    for person in known.by_ref() {
        if person.name == name {
            found = Some(person);
        } else if person.role == Role::Administrator {
            others += 1;
        }
    }
    let mut person = found.ok_or_else(no_such)?;
    if person.role == Role::Administrator && others == 0 {
        return Err(Problem::conflict("this is the last administrator: add another one first"));
    }
    let at = api.gate.clock().now().at;
    person.revoked = Some(at);
    api.gate.store().save_person(person, proven.note(&api, &who.person)).await?;
    api.book.strike_person(&name);
    api.book.read(api.gate.store()).await?;
    api.announce(format!("{} removed {name}.", who.person));
    Ok(axum::Json(json!({ "name": name, "revoked": at })).into_response())
}

fn no_such() -> Problem {
    Problem::not_found("there is no such person")
}

/// A new passphrase for oneself: whoever just proved who they are may read it. That of another
/// person is never told to an administrator's session; the person gets it with a recovery code.
async fn change_passphrase(
    State(api): State<Api>,
    Path(name): Path<String>,
    proven: SteppedUp,
    request: Request,
) -> Answered {
    let may = |headers: &HeaderMap| {
        let who = who::person(&api, headers)?;
        if who.person == name {
            return Ok(who);
        }
        who.administrator()?;
        api.book.record(&name).ok_or_else(no_such)?;
        Err(Problem {
            why: Some("recovery"),
            ..Problem::conflict(format!(
                "the passphrase of {name} is shown to {name} only: run `countersign people \
                 recover {name}` on the daemon's own machine and give them the code"
            ))
        })
    };
    may(request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    Fields::of(&fields::parse(&bytes)?)?.finish()?;
    let (passphrase, hashed) = fresh(&api).await?;
    let _changing = api.book.changing().await;
    let who = may(&parts.headers)?;
    let mut person = api.book.record(&name).ok_or_else(no_such)?;
    person.passphrase = hashed;
    api.gate.store().save_person(person, proven.note(&api, &who.person)).await?;
    api.book.read(api.gate.store()).await?;
    end_logins(&api, &name, Some(who.login)).await?;
    api.announce(format!("{name} changed their passphrase."));
    Ok(axum::Json(json!({ "name": name, "passphrase": *passphrase })).into_response())
}

/// A new passphrase is made when the old one may be known: whoever came in with it goes out.
pub async fn end_logins(api: &Api, name: &str, but: Option<Digest>) -> Result<(), Problem> {
    for login in api.gate.store().logins().await? {
        if login.person == name && Some(login.secret) != but {
            login::end(api, login).await?;
        }
    }
    Ok(())
}
