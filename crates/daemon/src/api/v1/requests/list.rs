//! Lists of requests: an agent's own, and all of them for people.

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use countersign_store::Store as _;
use countersign_types::id::Id;
use countersign_workflow::request::State as RequestState;
use serde::Deserialize;
use serde_json::json;

use super::ask::check_length;
use super::shared::{QueryResult, for_agent, query};
use crate::api::v1::document;
use crate::api::{Api, ApiProblem, ApiResult, authenticate};

/// The filters of a list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Filter {
    state: Option<String>,
    agent: Option<String>,
    session: Option<String>,
    group: Option<String>,
    q: Option<String>,
    before: Option<String>,
    limit: Option<u32>,
    /// With cards; only for people.
    cards: Option<bool>,
}

impl Filter {
    fn query(self) -> Result<countersign_store::RequestQuery, ApiProblem> {
        let state = self
            .state
            .map(|word| {
                RequestState::parse(&word).ok_or_else(|| ApiProblem::bad_request("unknown `state`"))
            })
            .transpose()?;
        let place = |text: Option<String>| {
            text.map(|text| {
                Id::parse(&text).ok_or_else(|| {
                    ApiProblem::bad_request("`group` and `before` must be ids of requests")
                })
            })
            .transpose()
        };
        for (field, text) in [("agent", &self.agent), ("session", &self.session), ("q", &self.q)] {
            check_length(field, text.as_deref().unwrap_or_default())?;
        }
        let limit = self.limit.unwrap_or(50);
        if !(1..=500).contains(&limit) {
            return Err(ApiProblem::bad_request("`limit` must be 1 to 500"));
        }
        Ok(countersign_store::RequestQuery {
            state,
            agent: self.agent,
            session: self.session,
            group: place(self.group)?,
            text: self.q,
            before: place(self.before)?,
            limit,
        })
    }
}

pub(super) async fn list_own(
    State(api): State<Api>,
    asked: QueryResult<Filter>,
    request: Request,
) -> ApiResult {
    let caller = authenticate::agent(&api, &request)?;
    let asked = query(asked)?;
    if asked.cards.is_some() {
        return Err(ApiProblem::bad_request("only people can list requests with their cards"));
    }
    let mut wanted = asked.query()?;
    if wanted.agent.is_some_and(|agent| agent != caller.agent) {
        return Err(ApiProblem::bad_request("an agent can only list its own requests"));
    }
    wanted.agent = Some(caller.agent);
    let page = api.gate.store().find(wanted).await?;
    let list: Vec<_> = page.requests.iter().map(|stored| for_agent(&api, stored)).collect();
    Ok(axum::Json(page_document(&list, &page)).into_response())
}

pub(super) async fn list_all(
    State(api): State<Api>,
    headers: HeaderMap,
    asked: QueryResult<Filter>,
) -> ApiResult {
    authenticate::person(&api, &headers)?;
    let asked = query(asked)?;
    let document = match asked.cards {
        Some(true) => document::with_card,
        _ => document::for_the_list,
    };
    let page = api.gate.store().find(asked.query()?).await?;
    let list: Vec<_> = page.requests.iter().map(document).collect();
    Ok(axum::Json(page_document(&list, &page)).into_response())
}

fn page_document(
    list: &impl serde::Serialize,
    page: &countersign_store::StoredRequestPage,
) -> serde_json::Value {
    json!({ "requests": list, "next": page.next, "truncated": page.truncated })
}
