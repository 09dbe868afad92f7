//! Grants: standing permissions, given by administrators and taken back by anybody.

use std::borrow::Cow;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{delete, get};
use countersign_json::Value;
use countersign_json::canonical::{CallDigest, Digest};
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::{Annotations, Call};
use countersign_risk::context::Context;
use countersign_risk::effect::Effect;
use countersign_risk::tools;
use countersign_store::Store as _;
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Span};
use countersign_workflow::grant::{Grant, Shape, is_command_shape};
use serde::Deserialize;
use serde_json::json;

use crate::api::fields::{self, Fields};
use crate::api::{Answered, Api, Problem, SteppedUp, who};
use crate::chance;
use crate::gate::Rejection;

/// A grant lasts a month at most, and that long if nobody says how long.
const LONGEST: u32 = 43_200;
const MOST_USES: u32 = 1_000_000;
const TARGETS: usize = 100;
const LONGEST_TARGET: usize = 320;
const LONGEST_NAME: usize = 200;

/// What people may do.
pub fn people() -> Router<Api> {
    Router::new()
        .route("/v1/grants", get(list).post(give))
        .route("/v1/grants/{id}", delete(take_back))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    #[serde(default)]
    all: bool,
}

async fn list(
    State(api): State<Api>,
    headers: HeaderMap,
    asked: Result<Query<Which>, QueryRejection>,
) -> Answered {
    who::person(&api, &headers)?;
    let Query(Which { all }) = asked.map_err(|error| Problem::bad(error.body_text()))?;
    let grants = api.gate.store().grants(all).await?;
    let wanted = |grant: &&Grant| all || in_force(&api, grant);
    let list: Vec<_> = grants.iter().filter(wanted).map(|grant| document(&api, grant)).collect();
    Ok(axum::Json(json!({ "grants": list })).into_response())
}

fn in_force(api: &Api, grant: &Grant) -> bool {
    api.gate.grants().in_force(grant, api.gate.clock().now().at)
}

/// The grant, whether it is in force, and its name in decisions if it has one.
fn document(api: &Api, grant: &Grant) -> serde_json::Value {
    let mut document = json!(grant);
    if let Some(members) = document.as_object_mut() {
        members.insert("in_force".to_owned(), json!(in_force(api, grant)));
        members.insert("name".to_owned(), json!(api.gate.grants().name(grant.id)));
    }
    document
}

async fn give(State(api): State<Api>, proven: SteppedUp, request: Request) -> Answered {
    let who = who::administrator(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let said = Fields::of(&value)?;
    let shape = shape(&said)?;
    let (agent, session) = whose(&api, &said)?;
    let minutes = whole(&said, "minutes", LONGEST)?.unwrap_or(LONGEST);
    let uses_left = whole(&said, "uses", MOST_USES)?;
    said.finish()?;
    may_be_given(&api, &shape)?;
    let now = api.gate.clock().now().at;
    let grant = Grant {
        id: chance::id(now).map_err(|_| Problem::from(Rejection::NoChance))?,
        shape,
        agent,
        session,
        made_by: who.person.clone(),
        made_at: now,
        expires: Some(now.plus(Span::seconds(minutes.saturating_mul(60)))),
        uses_left,
        revoked: None,
    };
    let note = proven.note(&api, &who.person);
    api.gate.store().create_grant(grant.clone(), note).await?;
    api.gate.grants().add(grant.clone());
    Ok((StatusCode::CREATED, axum::Json(document(&api, &grant))).into_response())
}

fn shape(said: &Fields<'_, '_>) -> Result<Shape, Problem> {
    let word = said.needed_text("shape")?;
    let named = |name: &str| {
        if name.len() <= LONGEST_NAME {
            Ok(name.to_owned())
        } else {
            Err(Problem::bad(format!("`tool` may have at most {LONGEST_NAME} bytes")))
        }
    };
    match word {
        "exact" => Ok(Shape::Exact { digest: digest(said)? }),
        "action" => Ok(Shape::Action { tool: named(said.needed_text("tool")?)? }),
        "to_self" => Ok(Shape::ToSelf { tool: named(said.needed_text("tool")?)? }),
        "targets" => {
            let tool = named(said.needed_text("tool")?)?;
            Ok(Shape::Targets { tool, targets: targets(said.list("targets")?)? })
        }
        _ => Err(Problem::bad("`shape` must be exact, action, targets or to_self")),
    }
}

fn digest(said: &Fields<'_, '_>) -> Result<CallDigest, Problem> {
    let one = |name| {
        let text = said.needed_text(name)?;
        Digest::parse(text).map_err(|error| Problem::bad(format!("`{name}`: {error}")))
    };
    let both_bind = said.flag("both_bind")?;
    let both_bind = both_bind.ok_or_else(|| Problem::bad("`both_bind` is needed"))?;
    Ok(CallDigest { canonical: one("digest")?, raw: one("raw_digest")?, both_bind })
}

fn targets(list: Option<&[Value<'_>]>) -> Result<Vec<String>, Problem> {
    let list = list.unwrap_or_default();
    let fits = |text: &&str| (1..=LONGEST_TARGET).contains(&text.len());
    let texts: Option<Vec<String>> =
        list.iter().map(|text| text.as_str().filter(fits).map(ToOwned::to_owned)).collect();
    texts
        .filter(|texts| (1..=TARGETS).contains(&texts.len()))
        .ok_or_else(|| Problem::bad(format!("`targets` must be 1 to {TARGETS} texts")))
}

/// For which agent and session. Any agent may name its session as another one does.
fn whose(api: &Api, said: &Fields<'_, '_>) -> Result<(Option<String>, Option<String>), Problem> {
    let agent = said.text("agent")?.map(ToOwned::to_owned);
    let session = said.text("session")?.map(ToOwned::to_owned);
    if let Some(agent) = &agent {
        let uid = agent.strip_prefix("uid:").is_some_and(|uid| uid.parse::<u32>().is_ok());
        if agent != who::ANONYMOUS && !uid && !api.book.knows_agent(agent) {
            return Err(Problem::not_found("there is no such agent"));
        }
    }
    if session.as_ref().is_some_and(|text| text.is_empty() || text.len() > LONGEST_NAME) {
        return Err(Problem::bad(format!("`session` must have 1 to {LONGEST_NAME} bytes")));
    }
    if session.is_some() && agent.is_none() {
        return Err(Problem::bad("a grant for a session must name the agent too"));
    }
    Ok((agent, session))
}

fn whole(said: &Fields<'_, '_>, name: &'static str, most: u32) -> Result<Option<u32>, Problem> {
    let Some(value) = said.get(name) else { return Ok(None) };
    let number = value.as_number().and_then(|digits| digits.parse().ok());
    let number = number.filter(|number| (1..=most).contains(number));
    number.map(Some).ok_or_else(|| Problem::bad(format!("`{name}` must be 1 to {most}")))
}

/// What no call of this name could use is not given: it would only look like a permission. Each
/// call is held against the grant again when it comes.
fn may_be_given(api: &Api, shape: &Shape) -> Result<(), Problem> {
    let (tool, by_name) = match shape {
        Shape::Exact { .. } => return Ok(()),
        Shape::Action { tool } => (tool, true),
        Shape::Targets { tool, .. } | Shape::ToSelf { tool } => (tool, false),
    };
    let runs = tools::runs_programs(tool, &Value::Object(Vec::new()));
    match shape {
        Shape::Action { .. } if runs => {
            return Err(Problem::conflict(
                "this tool runs commands, so a grant for all of it would cover every command: \
                 name the commands, such as `git push origin`, as `targets`",
            ));
        }
        Shape::Targets { targets, .. } if runs => {
            if let Some(wide) = targets.iter().find(|text| !is_command_shape(text)) {
                let wide = countersign_text::sanitize::show_within(wide, 60);
                return Err(Problem::conflict(format!(
                    "`{}` is no command shape: a program and at least one further word, without \
                     quotes, variables or other shell syntax, not ending in an option",
                    wide.text
                )));
            }
        }
        _ => {}
    }
    let seen = bare(api, tool);
    if seen.tier == Tier::Critical || seen.crisis_sensitive || seen.effects.has(Effect::Crisis) {
        return Err(Problem::conflict("no grant covers CRITICAL calls or calls in a crisis"));
    }
    if by_name && seen.tier >= Tier::High {
        return Err(Problem::conflict("a grant by name covers nothing from HIGH up"));
    }
    Ok(())
}

/// What is known of a tool by its name alone.
fn bare(api: &Api, tool: &str) -> Assessment {
    let rules = api.gate.rules();
    let context = Context { environment: rules.environment, ..Context::default() };
    let call = Call {
        tool: Cow::Borrowed(tool),
        arguments: Value::Object(Vec::new()),
        agent: None,
        session: None,
        context,
        annotations: Annotations::default(),
        claimed: None,
    };
    assess(&call, &rules.judgement)
}

async fn take_back(
    State(api): State<Api>,
    Path(text): Path<String>,
    proven: SteppedUp,
    headers: HeaderMap,
) -> Answered {
    let who = who::person(&api, &headers)?;
    let no_such = || Problem::not_found("there is no such grant");
    let id = Id::parse(&text).ok_or_else(no_such)?;
    let note = proven.note(&api, &who.person);
    let revoked = api.gate.store().revoke_grant(id, who.person, note).await?;
    api.gate.grants().drop(id);
    if !revoked {
        return Err(no_such());
    }
    Ok(axum::Json(json!({ "id": id, "revoked": true })).into_response())
}
