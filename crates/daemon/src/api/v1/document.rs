//! The request document: what agents and people read about a request.

use countersign_json::canonical::CallDigest;
use countersign_ledger::permit::Claims;
use countersign_risk::assess::Assessment;
use countersign_risk::route::Pass;
use countersign_risk::word_pair::word_pair;
use countersign_store::{AttemptResult, DeliveryStatus, StoredRequest};
use countersign_types::time::Timestamp;
use countersign_workflow::request::{ApprovalScope, Choice, Decider, Decision, State};
use serde_json::{Map, Value, json};

use super::proposed_edit;
use crate::config::NO_CHANNEL;
use crate::current_call::as_asked;
use crate::drills;
use crate::gate::{Passed, agent_label, agent_version};
use crate::keys::Keys;
use crate::notifier::is_superseded;

/// The document for the agent that asked. Only this one contains the permit, if there are keys to
/// sign it.
pub fn for_agent(
    stored: &StoredRequest,
    keys: Option<&Keys>,
    issuer: &str,
    now: Timestamp,
) -> Value {
    let mut document = plain(stored);
    let permit = keys.and_then(|keys| permit(stored, keys, issuer, now));
    document.insert("permit".to_owned(), json!(permit));
    Value::Object(document)
}

/// The document for people, with the card and the judge's opinion.
pub fn for_people(
    stored: &StoredRequest,
    deliveries: &[DeliveryStatus],
    opinion: Option<&Value>,
) -> Value {
    let mut document = for_the_list(stored);
    let card: Value = serde_json::from_str(&as_asked(stored).card).unwrap_or_default();
    document.insert("card".to_owned(), card);
    document.insert("edited_card".to_owned(), json!(edited_card(stored)));
    proposed_edit::insert_cards(&mut document, stored);
    document.insert("judge".to_owned(), json!(opinion));
    let deliveries = deliveries.iter().filter(|one| one.channel != NO_CHANNEL);
    let deliveries: Vec<Value> = deliveries.map(delivery).collect();
    document.insert("deliveries".to_owned(), json!(deliveries));
    Value::Object(document)
}

/// The document in lists and events: everything but the card. While several people decide an edit,
/// it has the digest, tier and summary of the edited call, which is what they are asked about.
pub fn for_the_list(stored: &StoredRequest) -> Map<String, Value> {
    let mut document = listed(&as_asked(stored));
    document.insert("proposed_edit".to_owned(), proposed_edit::summary(stored));
    document
}

fn listed(stored: &StoredRequest) -> Map<String, Value> {
    let mut document = plain(stored);
    let detail: Value = serde_json::from_str(&stored.detail).unwrap_or_default();
    let description = detail.pointer("/description").or(detail.pointer("/seed/description"));
    let votes: Vec<Value> = stored.request.votes.iter().map(|vote| json!(vote)).collect();
    document.insert("description".to_owned(), json!(description));
    document.insert("votes".to_owned(), json!(votes));
    document.insert("policy".to_owned(), json!(stored.policy));
    document.insert("edited".to_owned(), edited(stored));
    let for_session = stored.session_question.is_answerable();
    document.insert("session_scope".to_owned(), json!(for_session));
    let repository = stored.session_question.answerable_repository();
    document.insert("repository_scope".to_owned(), json!(repository));
    document.insert("drill".to_owned(), drills::document(stored));
    document
}

/// The same with the card and where the call would run, for a person who tries out other rules.
pub fn with_card(stored: &StoredRequest) -> Map<String, Value> {
    let mut document = listed(stored);
    let card: Value = serde_json::from_str(&stored.card).unwrap_or_default();
    let detail: Value = serde_json::from_str(&stored.detail).unwrap_or_default();
    document.insert("card".to_owned(), card);
    document.insert("place".to_owned(), json!(detail.get("place")));
    // The request as the agent made it.
    document.insert("proposed_edit".to_owned(), Value::Null);
    document
}

/// The snapshot under which the call may run before a person looks at it.
fn review(stored: &StoredRequest) -> Option<Value> {
    let detail: Value = serde_json::from_str(&stored.detail).ok()?;
    detail.get("review").cloned()
}

fn edited_card(stored: &StoredRequest) -> Option<Value> {
    stored.edited_card.as_deref().and_then(|text| serde_json::from_str(text).ok())
}

/// The assessment of the edited call, if one was approved.
fn edited(stored: &StoredRequest) -> Value {
    let part = |card: &Value, name: &str| card.get(name).cloned().unwrap_or_default();
    let of = |card: Value| {
        json!({
            "brief": part(&card, "brief"), "tier": part(&card, "tier"),
            "phrase": part(&card, "phrase"), "digest": part(&card, "digest"),
        })
    };
    edited_card(stored).map_or(Value::Null, of)
}

/// A call that passed: only its ledger entry is stored.
pub fn passed(passed: &Passed, agent: &str, session: Option<&str>, now: Timestamp) -> Value {
    let assessment = &passed.assessment;
    let mut document = assessed(assessment, &passed.digest);
    let decision = json!({
        "result": "approved",
        "by": { "kind": "policy" },
        "scope": "once",
        "channel": "",
        "reason": "",
        "at": now,
    });
    let rest = json!({
        "id": null, "state": "approved", "decision": decision, "brief": null,
        "agent": agent, "session": session.unwrap_or_default(), "group": null, "crisis": false,
        "created": now, "deadline": now, "level": "first",
        "quorum": { "approve": 0, "deny": 0 }, "approvals": 0,
        "permit": null, "permit_until": null, "edited_arguments": null, "review": null,
        "redeemed": null, "reported": null, "observed": passed.why == Pass::Watching,
    });
    if let Value::Object(rest) = rest {
        document.extend(rest);
    }
    Value::Object(document)
}

/// The assessment's part of a document.
fn assessed(assessment: &Assessment, digest: &CallDigest) -> Map<String, Value> {
    let part = json!({
        "tool": assessment.tool, "tier": assessment.tier, "points": assessment.points,
        "risk": assessment.risk, "confidence": assessment.confidence,
        "phrase": word_pair(&digest.canonical),
        "digest": digest.canonical, "raw_digest": digest.raw, "both_bind": digest.both_bind,
    });
    if let Value::Object(part) = part { part } else { Map::new() }
}

fn plain(stored: &StoredRequest) -> Map<String, Value> {
    let request = &stored.request;
    let card: Value = serde_json::from_str(&stored.card).unwrap_or_default();
    let edited: Option<Value> =
        stored.edited.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let reported: Option<Value> =
        stored.outcome.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let said_yes = |choice: &Choice| *choice == Choice::Approve;
    let approvals = request.votes.iter().filter(|vote| said_yes(&vote.choice)).count();
    let document = json!({
        "id": request.id,
        "state": request.state,
        "decision": request.decision.as_ref().map(|one| decision(one, request.approval_scope())),
        "tool": stored.tool,
        "brief": stored.brief,
        "tier": request.tier,
        "points": card.get("points"),
        "risk": card.get("risk"),
        "confidence": card.get("confidence"),
        "phrase": word_pair(&request.digest.canonical),
        "digest": request.digest.canonical,
        "raw_digest": request.digest.raw,
        "both_bind": request.digest.both_bind,
        "agent": request.requester.display_name(),
        "agent_kind": agent_label(stored),
        "agent_version": agent_version(stored),
        "session": stored.session,
        "group": stored.group,
        "crisis": request.crisis,
        "created": request.schedule.created,
        "deadline": request.schedule.deadline,
        "level": request.level,
        "quorum": request.quorum,
        "approvals": approvals,
        "permit_until": stored.permit_until,
        "edited_arguments": edited,
        "review": review(stored),
        "redeemed": stored.redeemed,
        "reported": reported,
        "observed": false,
    });
    if let Value::Object(document) = document { document } else { Map::new() }
}

fn decision(decision: &Decision, scope: ApprovalScope) -> Value {
    let by = match &decision.by {
        Decider::People(people) => json!({ "kind": "people", "people": people }),
        Decider::Deadline => json!({ "kind": "deadline" }),
        Decider::Requester => json!({ "kind": "agent" }),
        Decider::Policy => json!({ "kind": "policy" }),
        Decider::Grant(id) => json!({ "kind": "grant", "grant": id }),
        Decider::Judge(model) => json!({ "kind": "judge", "model": model }),
    };
    json!({
        "result": decision.state,
        "by": by,
        "scope": scope,
        "channel": decision.channel,
        "reason": decision.reason,
        "at": decision.at,
    })
}

fn delivery(delivery: &DeliveryStatus) -> Value {
    let (state, detail) = match &delivery.result {
        AttemptResult::Delivered(name) => ("arrived", name.as_str()),
        AttemptResult::Retry(error, _) if is_superseded(error) => ("overtaken", error.as_str()),
        AttemptResult::Retry(error, _) => ("trying", error.as_str()),
        AttemptResult::Failed(error) => ("failed", error.as_str()),
    };
    json!({
        "channel": delivery.channel, "state": state, "detail": detail,
        "attempts": delivery.attempts, "at": delivery.at,
    })
}

/// The permit of an approved request, while it can be used. It is built from stored data, so it is
/// always the same one.
pub fn permit(stored: &StoredRequest, keys: &Keys, issuer: &str, now: Timestamp) -> Option<String> {
    let request = &stored.request;
    let decision = request.decision.as_ref()?;
    let until = stored.permit_until?;
    if request.requester.is_drill()
        || request.state != State::Approved
        || now >= until
        || stored.redeemed.is_some()
    {
        return None;
    }
    let (decided_by, grant) = match &decision.by {
        Decider::People(people) => (people.join(","), None),
        Decider::Grant(id) => ("grant".to_owned(), Some(id.to_string())),
        Decider::Policy => ("policy".to_owned(), None),
        Decider::Judge(_) => ("judge".to_owned(), None),
        Decider::Deadline | Decider::Requester => return None,
    };
    let claims = Claims {
        iss: issuer.to_owned(),
        iat: decision.at.seconds(),
        exp: until.seconds(),
        jti: request.id.to_string(),
        sub: request.requester.name().to_owned(),
        aud: None,
        request: request.id.to_string(),
        tool: stored.tool.clone(),
        digest: decision.digest.canonical,
        raw_digest: decision.digest.raw,
        both_bind: decision.digest.both_bind,
        session: Some(stored.session.clone()).filter(|session| !session.is_empty()),
        policy: stored.policy,
        tier: request.tier,
        decided_by,
        channel: decision.channel.clone(),
        grant,
    };
    keys.permit(&claims).ok()
}
