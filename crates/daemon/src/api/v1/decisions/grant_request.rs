//! A grant that a person gives together with an approval.

use axum::body::Bytes;
use axum::http::request::Parts;
use countersign_json::Value;
use countersign_risk::tools;
use countersign_store::StoredRequest;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Millis};
use countersign_workflow::grant::{Grant, GrantDetails, GrantShape};

use crate::api::fields::Fields;
use crate::api::v1::grants::call_text;
use crate::api::{Api, ApiProblem, StepUpProof, step_up};
use crate::auth::PersonIdentity;
use crate::random;

/// A grant lasts at most 30 days.
const MAX_MINUTES: u32 = 43_200;
/// How long a grant for a session lasts unless the person says how long.
const SESSION_MINUTES: u32 = 720;

/// The proof that an answer needs, if it brings a grant beyond exactly this call in its session. As
/// without an answer, only administrators give such grants.
pub async fn proof(
    api: &Api,
    identity: &PersonIdentity,
    grant: Option<&GrantRequest>,
    (parts, body): (&Parts, &Bytes),
) -> Result<Option<StepUpProof>, ApiProblem> {
    if !grant.is_some_and(GrantRequest::needs_step_up) {
        return Ok(None);
    }
    identity.administrator()?;
    step_up::prove(api, identity, parts, body).await.map(Some)
}

/// A grant that a person wants to give with an approval.
pub struct GrantRequest {
    exact: bool,
    session: bool,
    minutes: u32,
}

impl GrantRequest {
    /// A grant for exactly this call, in its session and for at most 12 hours, allows nothing that
    /// the same person could not approve again. Every other grant needs an administrator and a
    /// proof.
    fn needs_step_up(&self) -> bool {
        !(self.exact && self.session && self.minutes <= SESSION_MINUTES)
    }

    /// Reads it from the answer.
    pub fn read(value: &Value<'_>) -> Result<GrantRequest, ApiProblem> {
        let fields = Fields::new(value)?;
        let exact = match fields.required_text("shape")? {
            "exact" => true,
            "action" => false,
            _ => return Err(ApiProblem::bad_request("`grant.shape` must be exact or action")),
        };
        let session = match fields.required_text("scope")? {
            "session" => true,
            "until" => false,
            _ => return Err(ApiProblem::bad_request("`grant.scope` must be session or until")),
        };
        let minutes = fields.get("minutes").and_then(Value::as_number);
        let minutes = match minutes {
            None if session => Some(SESSION_MINUTES),
            None => None,
            Some(digits) => digits.parse().ok(),
        };
        fields.finish()?;
        let minutes = minutes.filter(|minutes| (1..=MAX_MINUTES).contains(minutes));
        let minutes = minutes.ok_or_else(|| {
            ApiProblem::bad_request(format!("`grant.minutes` must be 1 to {MAX_MINUTES}"))
        })?;
        Ok(GrantRequest { exact, session, minutes })
    }

    /// The grant for this request, if such a grant may be given.
    pub fn grant(
        &self,
        api: &Api,
        stored: &StoredRequest,
        identity: &PersonIdentity,
    ) -> Result<Grant, ApiProblem> {
        let request = &stored.request;
        if request.tier == Tier::Critical || request.crisis {
            return Err(ApiProblem::conflict(
                "no grant covers CRITICAL calls or calls in a crisis",
            ));
        }
        if !self.exact && request.tier >= Tier::High {
            return Err(ApiProblem::conflict("a grant for a tool covers no call from HIGH up"));
        }
        if !self.exact && tools::runs_programs(&stored.tool, &Value::Object(Vec::new())) {
            return Err(ApiProblem::conflict(
                "this tool runs commands, so it cannot have a grant for all calls; approve this \
                 exact call",
            ));
        }
        if self.session && stored.session.is_empty() {
            return Err(ApiProblem::conflict("the agent did not name a session"));
        }
        let now = api.gate.clock().now().at;
        let (shape, shown) = if self.exact {
            (GrantShape::Exact { digest: request.digest }, call_text(stored))
        } else {
            (GrantShape::Action { tool: stored.tool.clone() }, None)
        };
        Ok(Grant {
            id: random::id(now)
                .map_err(|_| ApiProblem::from(crate::gate::Rejection::EntropyUnavailable))?,
            shape,
            agent: Some(request.requester.name().to_owned()),
            session: self.session.then(|| stored.session.clone()),
            made_by: identity.person.clone(),
            made_at: now,
            expires: Some(now.plus(Millis::from_seconds(self.minutes.saturating_mul(60)))),
            uses_left: None,
            revoked: None,
            details: GrantDetails { shown, ..GrantDetails::default() },
        })
    }
}
