//! What people read about an edit that several people decide.

use countersign_json::canonical::Digest;
use countersign_risk::word_pair::word_pair;
use countersign_store::StoredRequest;
use countersign_types::tier::Tier;
use serde_json::{Map, Value, json};

/// Who proposed the edit, how many approvals it takes, the edited call and the original; null if
/// there is none.
pub fn summary(stored: &StoredRequest) -> Value {
    let request = &stored.request;
    let (Some(proposal), Some(text)) = (&request.proposal, &stored.proposed) else {
        return Value::Null;
    };
    let card: Value = serde_json::from_str(&text.card).unwrap_or_default();
    let brief = card.get("brief").and_then(Value::as_str).unwrap_or_default();
    json!({
        "by": proposal.person,
        "at": proposal.at,
        "needed": request.approvals_needed(),
        "edited": call(brief, request.current_tier(), &proposal.call.digest.canonical),
        "original": call(&stored.brief, request.tier, &request.digest.canonical),
    })
}

fn call(brief: &str, tier: Tier, digest: &Digest) -> Value {
    json!({ "brief": brief, "tier": tier, "phrase": word_pair(digest), "digest": digest })
}

/// Adds the cards of the edited call and of the original; null if there is no edit.
pub fn insert_cards(document: &mut Map<String, Value>, stored: &StoredRequest) {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let proposed = stored.request.proposal.as_ref().and(stored.proposed.as_ref());
    let original = proposed.map(|_| read(&stored.card));
    document.insert("proposed_card".to_owned(), json!(proposed.map(|text| read(&text.card))));
    document.insert("original_card".to_owned(), json!(original));
}
