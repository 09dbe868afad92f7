//! A recorded call, built again from its card: rules see facts that a score does not hold.

use std::collections::BTreeSet;

use countersign_client::RequestRecord;
use countersign_json as json;
use countersign_risk::call_digest::digest;
use countersign_types::time::Timestamp;

use super::setting::{ReplayOutcome, ReplaySetting};
use crate::engine::{Call, Card, Context, assess_with, tool_call};

/// The reason that rules in force at the time added to a card.
const POLICY_REASON: &str = "policy.rule";

/// What a setting with rules does with a recorded call. None if the call cannot be built again:
/// its card does not hold all of it, or its assessment had more to go by (the memory of its
/// session, files of its machine, or other rules of the assessment).
pub fn outcome(setting: &ReplaySetting, request: &RequestRecord) -> Option<ReplayOutcome> {
    let card = request.card.as_ref()?.to_string();
    let card = Card::from_json(&json::parse(&card).ok()?).ok()?;
    let arguments = json::parse(&card.arguments).ok()?;
    let place = request.place.clone().unwrap_or_default();
    let call = Call {
        agent: Some(request.agent.as_str().into()),
        session: request.session.as_deref().filter(|name| !name.is_empty()).map(Into::into),
        context: Context {
            platform: card.platform,
            cwd: card.cwd.as_deref(),
            project: place.project.as_deref(),
            host: place.host.as_deref(),
            environment: card.environment,
            ..Context::default()
        },
        ..tool_call(&card.tool, arguments)
    };
    // The digest covers agent, folder, environment, tool and arguments: nothing was taken out.
    let found = digest(&call, card.arguments.as_bytes());
    if found.canonical != card.digest {
        return None;
    }
    let seen = assess_with(&call, &setting.policy);
    let at = (request.crisis, Timestamp(request.created.millis()));
    let is_same = says_the_same(&Card::new(&call, &seen, &found), &card);
    is_same.then(|| setting.outcome_at(&call, &seen, at))
}

/// Whether two cards of a call say all the same that rules can see.
fn says_the_same(built: &Card, stored: &Card) -> bool {
    let codes = |card: &Card| -> BTreeSet<String> {
        let reasons = card.reasons.iter().filter(|reason| reason.code != POLICY_REASON);
        reasons.map(|reason| reason.code.to_string()).collect()
    };
    built.points == stored.points
        && (built.confidence - stored.confidence).abs() < 1e-9
        && built.effects == stored.effects
        && built.impact == stored.impact
        && built.doubts == stored.doubts
        && built.reversible == stored.reversible
        && codes(built) == codes(stored)
}
