//! An edited call: assessed as if the agent had asked for it.

use std::borrow::Cow;

use countersign_json::Value;
use countersign_json::canonical::{Digest, canonical};
use countersign_redact::redact_value;
use countersign_risk::call::{Annotations, Call};
use countersign_risk::call_digest::digest;
use countersign_risk::card::Card;
use countersign_risk::context::{Context, Environment, Platform};
use countersign_store::{EditRecord, StoredRequest};
use countersign_workflow::request::EditedCall;
use serde_json::json;

use crate::api::{Api, ApiProblem};
use crate::gate::{Caller, PolicyDemands};

/// The call as a person changed it, with its assessment.
pub struct AssessedEdit {
    /// The edited call as the request records it.
    pub call: EditedCall,
    arguments: String,
    /// Facts for the ledger.
    pub facts: serde_json::Map<String, serde_json::Value>,
    /// The assessment of the edited call.
    pub card: Card,
    /// The card that is kept: in a crisis, nothing of the call is on it.
    kept: Card,
}

impl AssessedEdit {
    /// The edit of an answer. The answer names the digest of the edited call whose assessment the
    /// person saw, so that no one approves an edit without its assessment.
    pub async fn checked(
        api: &Api,
        stored: &StoredRequest,
        edited: Option<&Value<'_>>,
        checked: Option<Digest>,
    ) -> Result<Option<AssessedEdit>, ApiProblem> {
        let Some(arguments) = edited else {
            return match checked {
                None => Ok(None),
                Some(_) => {
                    Err(ApiProblem::bad_request("`edited_digest` requires `edited_arguments`"))
                }
            };
        };
        let edit = AssessedEdit::new(api, stored, arguments).await?;
        match checked {
            Some(digest) if digest == edit.call.digest.canonical => Ok(Some(edit)),
            Some(_) => Err(ApiProblem::conflict(
                "the edited arguments are not the call that was checked; check the edit again",
            )),
            None => Err(ApiProblem::bad_request(
                "`edited_digest` is required to approve an edited call: check the edit with \
                 POST /v1/requests/{id}/edit and send the digest of the answer",
            )),
        }
    }

    /// The part of the edit that the store keeps.
    pub fn record(&self) -> Result<EditRecord, ApiProblem> {
        let card = serde_json::to_string(&self.kept);
        let card = card.map_err(|error| ApiProblem::bad_request(error.to_string()))?;
        Ok(EditRecord { arguments: self.arguments.clone(), card })
    }

    /// Assesses the edited call.
    pub async fn new(
        api: &Api,
        stored: &StoredRequest,
        arguments: &Value<'_>,
    ) -> Result<AssessedEdit, ApiProblem> {
        let card: serde_json::Value = serde_json::from_str(&stored.card).unwrap_or_default();
        check_editable(&card, arguments)?;
        let detail: serde_json::Value = serde_json::from_str(&stored.detail).unwrap_or_default();
        let call = edited_call(stored, (&card, &detail), arguments);
        // An edit can make a call riskier than the original. The workflow approves it under the
        // higher tier of the two.
        let caller = Caller::named(stored.request.requester.name());
        let projects = api.gate.find_projects_of_edit(&caller, &call.context).await;
        let (assessment, crisis) = api.gate.assess_edit(&call, &projects)?;
        let arguments = canonical(arguments).text;
        let digest = digest(&call, arguments.as_bytes());
        // The agent reads the edit as JSON and would read another number than was approved.
        if digest.both_bind {
            return Err(ApiProblem::bad_request(
                "a number in the edited arguments has more digits than a JSON reader keeps; write \
                 it as a string",
            ));
        }
        let facts = json!({
            "edited": true, "from": stored.request.digest.canonical, "to": digest.canonical,
            "tier": assessment.tier,
        });
        let facts = facts.as_object().cloned().unwrap_or_default();
        let card = Card::new(&call, &assessment, &digest);
        let crisis = crisis || stored.request.crisis;
        let kept = if crisis { Card::minimal(&call, &assessment, &digest) } else { card.clone() };
        let quorum = api.gate.quorum_of(&assessment, crisis);
        let assurance = PolicyDemands::of(&assessment).assurance;
        let call = EditedCall { digest, tier: assessment.tier, crisis, quorum, assurance };
        Ok(AssessedEdit { call, arguments, facts, card, kept })
    }
}

/// Whether this call may be edited, with these arguments.
fn check_editable(card: &serde_json::Value, arguments: &Value<'_>) -> Result<(), ApiProblem> {
    if arguments.as_object().is_none() {
        return Err(ApiProblem::bad_request("`edited_arguments` must be an object"));
    }
    let count = |name: &str| card.get(name).and_then(serde_json::Value::as_array).map(Vec::len);
    if count("hidden") != Some(0) {
        return Err(ApiProblem::conflict(
            "this call contains secrets that are not shown, so it cannot be edited here",
        ));
    }
    if !redact_value(arguments).1.is_empty() {
        return Err(ApiProblem::bad_request(
            "the edited arguments contain a secret; secrets are not stored here",
        ));
    }
    Ok(())
}

fn edited_call<'v>(
    stored: &'v StoredRequest,
    (card, detail): (&'v serde_json::Value, &'v serde_json::Value),
    arguments: &'v Value<'_>,
) -> Call<'v> {
    let place = |name: &str| detail.pointer("/place").and_then(|place| place.get(name)?.as_str());
    let text = |name: &str| card.get(name).and_then(serde_json::Value::as_str);
    let environment = text("environment").and_then(Environment::parse).unwrap_or_default();
    Call {
        tool: Cow::Borrowed(&stored.tool),
        arguments: arguments.reborrow(),
        agent: Some(Cow::Borrowed(stored.request.requester.name())),
        session: Some(Cow::Borrowed(&stored.session)),
        context: Context {
            platform: Platform::Api,
            environment,
            cwd: text("cwd"),
            project: place("project"),
            host: place("host"),
            ..Context::default()
        },
        annotations: Annotations::default(),
        claimed: None,
        facts: None,
    }
}
