//! What people say about a call that ran: whether it was right. It gives no right to anyone, and a
//! regretted call ends what was learned of its form.

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::IntoResponse as _;
use axum::routing::post;
use countersign_store::{CallFeedback, StoreError};
use countersign_types::time::Clock as _;
use serde_json::json;

use super::requests::id;
use crate::api::fields::{self, Fields};
use crate::api::{Api, ApiProblem, ApiResult, authenticate};

/// The routes of the people API.
pub fn people() -> Router<Api> {
    Router::new().route("/v1/requests/{id}/feedback", post(give))
}

async fn give(State(api): State<Api>, Path(text): Path<String>, request: Request) -> ApiResult {
    let identity = authenticate::person(&api, request.headers())?;
    let (parts, body) = request.into_parts();
    let bytes = fields::read_json_body(&parts.headers, body).await?;
    let value = fields::parse(&bytes)?;
    let fields = Fields::new(&value)?;
    let right = fields.boolean("right")?;
    fields.finish()?;
    let right = right.ok_or_else(|| ApiProblem::bad_request("`right` must be true or false"))?;
    let said = CallFeedback {
        request: id(&text)?,
        regretted: !right,
        person: identity.person.clone(),
        at: api.gate.clock().now().at,
    };
    let ended = api.gate.give_feedback(said.clone()).await.map_err(|error| match error {
        StoreError::Invalid(why) => ApiProblem::conflict(why),
        error => error.into(),
    })?;
    let body = json!({
        "request": said.request, "right": !said.regretted, "person": said.person, "at": said.at,
        "revoked": ended,
    });
    Ok(axum::Json(body).into_response())
}

#[cfg(test)]
mod tests {
    use crate::test_gate::{AGENT, test_gate};

    #[tokio::test]
    async fn a_person_says_whether_a_call_that_ran_was_right_and_an_agent_cannot() {
        let gate = test_gate().await;
        gate.permit(r#"{"command":"rm -rf /tmp/build"}"#).await;
        let listed = gate.agent(AGENT, "/v1/requests", "").await.json();
        let id = listed["requests"][0]["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/requests/{id}/feedback");
        assert_eq!(gate.person(&path, r#"{"right":false}"#).await.status, 409, "it did not run");
        let ended = format!("/v1/requests/{id}/outcome");
        assert_eq!(gate.agent(AGENT, &ended, r#"{"status":"ok"}"#).await.status, 200);
        assert_eq!(gate.agent(AGENT, &path, r#"{"right":true}"#).await.status, 404);
        let said = gate.person(&path, r#"{"right":false}"#).await;
        assert_eq!((said.status, &said.json()["right"]), (200, &false.into()), "{}", said.text);
        let shown = gate.person(&format!("/requests/{id}"), "").await;
        assert!(shown.text.contains("Was that right?") && shown.text.contains("said no"));
        let calibration = gate.person("/v1/calibration", "").await.json();
        assert_eq!(calibration["regretted"], 1);
        for wrong in ["{}", r#"{"right":"no"}"#] {
            assert_eq!(gate.person(&path, wrong).await.status, 400, "{wrong}");
        }
    }
}
