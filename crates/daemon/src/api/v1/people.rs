//! People: added and taken out by administrators.

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{delete, get, post};
use countersign_core::canon::Digest;
use countersign_core::time::Clock as _;
use countersign_store::{Person, Role, Store as _};
use serde_json::json;
use zeroize::Zeroizing;

use super::login;
use crate::api::fields::{self, Fields};
use crate::api::{Answered, Api, Problem, who};
use crate::auth::{NameError, fresh_passphrase, person_name};
use crate::gate::Held;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/people", get(list).post(add))
        .route("/v1/people/{name}", delete(revoke))
        .route("/v1/people/{name}/passphrase", post(change_passphrase))
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
                "revoked": person.revoked,
            })
        })
        .collect();
    Ok(axum::Json(json!({ "people": people })).into_response())
}

async fn add(State(api): State<Api>, request: Request) -> Answered {
    let who = who::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let name = said.needed_text("name")?.to_owned();
    let role = match said.needed_text("role")? {
        "approver" => Role::Approver,
        "administrator" => Role::Administrator,
        _ => return Err(Problem::bad("`role` must be approver or administrator")),
    };
    said.finish()?;
    person_name(&name)?;
    let (passphrase, hashed) = fresh(&api).await?;
    let changing = api.book.changing().await;
    still_administrator(&api, &parts.headers)?;
    let people = api.gate.store().people().await?;
    if people.iter().any(|person| person.name.eq_ignore_ascii_case(&name)) {
        return Err(Problem::conflict("this name is or was somebody's; no name is given twice"));
    }
    let added = api.gate.clock().now().at;
    let person = Person { name: name.clone(), role, passphrase: hashed, added, revoked: None };
    api.gate.store().keep_person(person, api.note_by(&who.person)).await?;
    api.book.read(api.gate.store()).await?;
    drop(changing);
    let body = json!({ "name": name, "role": role, "passphrase": *passphrase });
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

/// Asked again when it is one's turn: somebody may have taken the right away in between.
pub fn still_administrator(api: &Api, headers: &HeaderMap) -> Result<(), Problem> {
    who::administrator(api, headers).map(|_| ())
}

/// A fresh passphrase and what is kept of it.
async fn fresh(api: &Api) -> Result<(Zeroizing<String>, String), Problem> {
    let passphrase = fresh_passphrase().map_err(|_| Problem::from(Held::NoChance))?;
    let hashed = api.checks.hash(passphrase.clone()).await?;
    let hashed = hashed.ok_or_else(|| Problem::from(Held::NoChance))?;
    Ok((passphrase, hashed))
}

async fn revoke(State(api): State<Api>, Path(name): Path<String>, headers: HeaderMap) -> Answered {
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
    api.gate.store().keep_person(person, api.note_by(&who.person)).await?;
    api.book.strike_person(&name);
    api.book.read(api.gate.store()).await?;
    Ok(axum::Json(json!({ "name": name, "revoked": at })).into_response())
}

fn no_such() -> Problem {
    Problem::not_found("there is no such person")
}

async fn change_passphrase(
    State(api): State<Api>,
    Path(name): Path<String>,
    request: Request,
) -> Answered {
    let may = |headers: &HeaderMap| {
        let who = who::person(&api, headers)?;
        if who.person != name {
            who.administrator()?;
        }
        Ok::<_, Problem>(who)
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
    api.gate.store().keep_person(person, api.note_by(&who.person)).await?;
    api.book.read(api.gate.store()).await?;
    end_logins(&api, &name, who.login).await?;
    Ok(axum::Json(json!({ "name": name, "passphrase": *passphrase })).into_response())
}

/// A new passphrase is made when the old one may be known: whoever came in with it goes out.
async fn end_logins(api: &Api, name: &str, but: Digest) -> Result<(), Problem> {
    for login in api.gate.store().logins().await? {
        if login.person == name && login.secret != but {
            login::end(api, login).await?;
        }
    }
    Ok(())
}
