//! The call that people are asked about: the requested one, or the proposed edit of it.

use std::borrow::Cow;

use countersign_json as json;
use countersign_risk::card::Card;
use countersign_risk::session_answer::SessionQuestion;
use countersign_store::StoredRequest;
use countersign_workflow::request::State;

/// The request with the call that people are asked about: while it has a proposed edit, with the
/// digests, tier, quorum, summary and card of the edited call. The edited call is approved once, so
/// that it has no question for its session.
pub fn as_asked(stored: &StoredRequest) -> Cow<'_, StoredRequest> {
    let request = &stored.request;
    let (Some(proposal), Some(text)) = (&request.proposal, &stored.proposed) else {
        return Cow::Borrowed(stored);
    };
    if request.state != State::Pending {
        return Cow::Borrowed(stored);
    }
    let mut asked = stored.clone();
    asked.request.digest = proposal.call.digest;
    asked.request.tier = request.current_tier();
    asked.request.quorum.approve = request.approvals_needed();
    asked.brief = brief(&text.card);
    asked.card.clone_from(&text.card);
    asked.session_question = SessionQuestion::default();
    asked.proposed = None;
    Cow::Owned(asked)
}

/// The card of the proposed edit; none if there is none, or it is of another call.
pub fn proposed_card(stored: &StoredRequest) -> Option<Card> {
    let proposal = stored.request.proposal.as_ref()?;
    let card = json::parse(&stored.proposed.as_ref()?.card).ok()?;
    let card = Card::from_json(&card).ok()?;
    (card.digest == proposal.call.digest.canonical).then_some(card)
}

/// The summary on a card.
fn brief(card: &str) -> String {
    let card: serde_json::Value = serde_json::from_str(card).unwrap_or_default();
    card.get("brief").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
}
