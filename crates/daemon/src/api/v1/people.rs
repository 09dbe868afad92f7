//! People: added and revoked by administrators.

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

use crate::api::credentials::end_session;
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, StepUpProof, authenticate};
use crate::auth::{NameError, generate_passphrase, person_name};
use crate::gate::Rejection;

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/people", get(list).post(add))
        .route("/v1/people/{name}", delete(revoke))
        .route("/v1/people/{name}/passphrase", post(change_passphrase))
        .route("/v1/people/{name}/role", post(change_role))
}

impl From<NameError> for ApiProblem {
    fn from(error: NameError) -> ApiProblem {
        ApiProblem::bad_request(error.to_string())
    }
}

async fn list(State(api): State<Api>, headers: HeaderMap) -> ApiResult {
    authenticate::administrator(&api, &headers)?;
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

async fn add(State(api): State<Api>, proven: StepUpProof, request: Request) -> ApiResult {
    let identity = authenticate::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let name = fields.required_text("name")?.to_owned();
    let role = role(fields.required_text("role")?)?;
    fields.finish()?;
    person_name(&name)?;
    let (passphrase, hashed) = new_passphrase(&api).await?;
    let changing = api.directory.lock_changes().await;
    check_administrator(&api, &parts.headers)?;
    let people = api.gate.store().people().await?;
    if people.iter().any(|person| person.name.eq_ignore_ascii_case(&name)) {
        return Err(ApiProblem::conflict(
            "this name is or was used by a person; choose another name",
        ));
    }
    let agents = api.gate.store().agents().await?;
    if agents.iter().any(|agent| agent.name.eq_ignore_ascii_case(&name)) {
        return Err(ApiProblem::conflict(
            "this name is or was used by an agent; choose another name",
        ));
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
    api.gate.store().save_person(person, proven.note(&api, &identity.person)).await?;
    api.directory.reload(api.gate.store()).await?;
    drop(changing);
    api.announce(format!("{} added {name} as {}.", identity.person, role_label(role)));
    let body = json!({
        "name": name, "role": role, "passphrase": *passphrase, "active_from": active_from,
    });
    Ok((StatusCode::CREATED, axum::Json(body)).into_response())
}

fn role(word: &str) -> Result<Role, ApiProblem> {
    match word {
        "approver" => Ok(Role::Approver),
        "administrator" => Ok(Role::Administrator),
        _ => Err(ApiProblem::bad_request("`role` must be approver or administrator")),
    }
}

fn role_label(role: Role) -> &'static str {
    match role {
        Role::Approver => "an approver",
        Role::Administrator => "an administrator",
    }
}

/// Changes a person's role. A new administrator waits again before they may approve.
async fn change_role(
    State(api): State<Api>,
    Path(name): Path<String>,
    proven: StepUpProof,
    request: Request,
) -> ApiResult {
    let identity = authenticate::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let role = role(fields.required_text("role")?)?;
    fields.finish()?;
    let changing = api.directory.lock_changes().await;
    check_administrator(&api, &parts.headers)?;
    let people = api.gate.store().people().await?;
    let known = || people.iter().filter(|person| person.revoked.is_none());
    let mut person = known().find(|person| person.name == name).cloned().ok_or_else(not_found)?;
    let others =
        known().filter(|other| other.name != name && other.role == Role::Administrator).count();
    if role == Role::Approver && others == 0 {
        return Err(ApiProblem::conflict("this is the last administrator; add another one first"));
    }
    if person.role != role {
        let now = api.gate.clock().now().at;
        person.role = role;
        person.role_since = now;
        if role == Role::Administrator {
            person.active_from = now.plus(api.gate.rules().waiting_period);
        }
        api.gate.store().save_person(person.clone(), proven.note(&api, &identity.person)).await?;
        api.directory.reload(api.gate.store()).await?;
        api.announce(format!("{} made {name} {}.", identity.person, role_label(role)));
    }
    drop(changing);
    let body = json!({ "name": name, "role": role, "active_from": person.active_from });
    Ok(axum::Json(body).into_response())
}

/// Checked again under the lock: the right may have been taken away meanwhile.
pub fn check_administrator(api: &Api, headers: &HeaderMap) -> Result<(), ApiProblem> {
    authenticate::administrator(api, headers).map(|_| ())
}

/// A new passphrase and its hash.
pub async fn new_passphrase(api: &Api) -> Result<(Zeroizing<String>, String), ApiProblem> {
    let passphrase =
        generate_passphrase().map_err(|_| ApiProblem::from(Rejection::EntropyUnavailable))?;
    let hashed = api.checks.hash(passphrase.clone()).await?;
    let hashed = hashed.ok_or_else(|| ApiProblem::from(Rejection::EntropyUnavailable))?;
    Ok((passphrase, hashed))
}

async fn revoke(
    State(api): State<Api>,
    Path(name): Path<String>,
    proven: StepUpProof,
    headers: HeaderMap,
) -> ApiResult {
    let identity = authenticate::administrator(&api, &headers)?;
    let _changing = api.directory.lock_changes().await;
    check_administrator(&api, &headers)?;
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
    let mut person = found.ok_or_else(not_found)?;
    if person.role == Role::Administrator && others == 0 {
        return Err(ApiProblem::conflict("this is the last administrator; add another one first"));
    }
    let at = api.gate.clock().now().at;
    person.revoked = Some(at);
    api.gate.store().save_person(person, proven.note(&api, &identity.person)).await?;
    api.directory.remove_person(&name);
    api.directory.reload(api.gate.store()).await?;
    api.announce(format!("{} removed {name}.", identity.person));
    Ok(axum::Json(json!({ "name": name, "revoked": at })).into_response())
}

fn not_found() -> ApiProblem {
    ApiProblem::not_found("person not found")
}

/// A new passphrase for the person themselves. The passphrase of another person is never shown to
/// an administrator; the person gets it with a recovery code.
async fn change_passphrase(
    State(api): State<Api>,
    Path(name): Path<String>,
    proven: StepUpProof,
    request: Request,
) -> ApiResult {
    let may = |headers: &HeaderMap| {
        let identity = authenticate::person(&api, headers)?;
        if identity.person == name {
            return Ok(identity);
        }
        identity.administrator()?;
        api.directory.record(&name).ok_or_else(not_found)?;
        Err(ApiProblem {
            why: Some("recovery"),
            ..ApiProblem::conflict(format!(
                "the passphrase of {name} is only shown to {name}; send a code to their linked \
                 account with `countersign people send-code {name}`, or run `countersign \
                 people recover {name}` on the daemon's machine and give them the code"
            ))
        })
    };
    may(request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    Fields::new(&fields::parse(&bytes)?)?.finish()?;
    let (passphrase, hashed) = new_passphrase(&api).await?;
    let _changing = api.directory.lock_changes().await;
    let identity = may(&parts.headers)?;
    let mut person = api.directory.record(&name).ok_or_else(not_found)?;
    person.passphrase = hashed;
    api.gate.store().save_person(person, proven.note(&api, &identity.person)).await?;
    api.directory.reload(api.gate.store()).await?;
    end_sessions(&api, &name, Some(identity.login)).await?;
    api.announce(format!("{name} changed their passphrase."));
    Ok(axum::Json(json!({ "name": name, "passphrase": *passphrase })).into_response())
}

/// Ends the person's sessions: anyone who knew the old passphrase is signed out.
pub async fn end_sessions(api: &Api, name: &str, but: Option<Digest>) -> Result<(), ApiProblem> {
    for login in api.gate.store().logins().await? {
        if login.person == name && Some(login.secret) != but {
            end_session(api, login).await?;
        }
    }
    Ok(())
}
