//! Parts of a compound command approved alone: the command as a whole is denied.

use std::fmt::Write as _;

use countersign_json::Value;
use countersign_json::canonical::{CallDigest, Digest};
use countersign_risk::card::Card;
use countersign_risk::segments::APPROVED_ONLY;
use countersign_store::{StoredRequest, WriteContext};
use countersign_types::tier::Tier;
use countersign_types::time::Clock as _;
use countersign_workflow::assurance::Assurance;
use countersign_workflow::grant::{
    Grant, GrantDetails, GrantShape, PART_LASTS, PartShape, SESSION_ANSWER_LASTS,
};
use countersign_workflow::request::{ApprovalScope, Choice, Event, PartsAnswer, TransitionError};
use serde_json::json;

use super::answer::PersonAnswer;
use crate::api::fields::Fields;
use crate::api::{Api, ApiProblem, passkey_signature};
use crate::auth::PersonIdentity;
use crate::passkeys::{Purpose, SignedDecision};
use crate::random;

/// The parts that a person names in an answer.
#[derive(Debug)]
pub struct ChosenParts {
    /// From 1, each once, in the order of the command.
    numbers: Vec<u8>,
}

impl ChosenParts {
    /// Reads the parts of an approval; none if the answer is about the whole call.
    pub fn read(
        fields: &Fields<'_, '_>,
        choice: Choice,
    ) -> Result<Option<ChosenParts>, ApiProblem> {
        let Some(list) = fields.list("segments")? else { return Ok(None) };
        let number = |item: &Value<'_>| item.as_number().and_then(|digits| digits.parse().ok());
        let numbers: Option<Vec<u8>> = list.iter().map(number).collect();
        let Some(mut numbers) = numbers.filter(|numbers| !numbers.is_empty()) else {
            let what = "`segments` must be a list of numbers, as the card shows them";
            return Err(ApiProblem::bad_request(what));
        };
        if choice == Choice::Deny {
            return Err(ApiProblem::bad_request("a denial cannot name segments"));
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(Some(ChosenParts { numbers }))
    }

    /// The digest that stands for the approved parts in a signature.
    pub fn digest(&self, stored: &StoredRequest) -> Result<Digest, ApiProblem> {
        let mut text = format!("countersign/segments/1\n{}\n", stored.request.digest.canonical);
        for number in &self.numbers {
            let part = stored.session_question.parts.get(usize::from(*number).wrapping_sub(1));
            let part = part.ok_or_else(|| ApiProblem::from(TransitionError::NoParts))?;
            let _ = writeln!(text, "{number} {}", part.key);
        }
        Ok(Digest::of(text.as_bytes()))
    }

    /// Applies the answer: the whole is denied, and each named part that asks gets a grant.
    pub async fn approve(
        &self,
        api: &Api,
        identity: &PersonIdentity,
        stored: &StoredRequest,
        given: PersonAnswer,
    ) -> Result<StoredRequest, ApiProblem> {
        let Some(seen) = given.seen else {
            let what =
                "`digest` is required to approve: send the digest of the call that was shown";
            return Err(ApiProblem::bad_request(what));
        };
        let digest = self.digest(stored)?;
        let texts = self.check(stored, given.scope)?;
        let mut facts = serde_json::Map::new();
        facts.insert("segments".to_owned(), self.facts(stored, &digest));
        if given.scope != ApprovalScope::Once {
            facts.insert("scope".to_owned(), json!(given.scope.label()));
        }
        let mut standing = api.standing(&identity.person);
        if let Some(signed) = &given.signed {
            let request = stored.request.id;
            let decided =
                SignedDecision { request, digest, choice: Choice::Approve, scope: given.scope };
            let purpose = Purpose::Decide(decided);
            let kept = passkey_signature::signed(api, identity, signed, purpose).await?;
            facts.insert("passkey".to_owned(), kept);
            standing.assurance = Assurance::Passkey;
        }
        let event = Event::AnswerParts(Box::new(PartsAnswer {
            person: identity.person.clone(),
            seen: CallDigest { canonical: seen, ..stored.request.digest },
            channel: identity.channel.clone(),
            told: told(&texts, &given.reason),
            tier: self.tier(stored),
            people: api.gate.rules().quorum.of(self.tier(stored), false).approve,
            grants: self.grants(api, identity, stored, (given.scope, &texts))?,
            reason: given.reason,
            word: given.word,
            scope: given.scope,
            standing: (standing, api.gate.rules().needs),
        }));
        let facts = Some(serde_json::Value::Object(facts).to_string());
        let note = WriteContext { policy: api.gate.rules().hash, facts, edited: None };
        Ok(api.gate.decide(stored.request.id, event, note).await?.stored)
    }

    fn has(&self, number: usize) -> bool {
        self.numbers.iter().any(|known| usize::from(*known) == number)
    }

    /// The riskiest named part.
    fn tier(&self, stored: &StoredRequest) -> Tier {
        let parts = (1..).zip(&stored.session_question.parts);
        let named = parts.filter(|(number, _)| self.has(*number));
        named.map(|(_, part)| part.tier()).max().unwrap_or(Tier::Critical)
    }

    /// The text of each part, and whether it is approved; an error if the answer cannot be given.
    fn check(
        &self,
        stored: &StoredRequest,
        scope: ApprovalScope,
    ) -> Result<Vec<(String, bool)>, ApiProblem> {
        let card = countersign_json::parse(&stored.card).ok();
        let card = card.and_then(|value| Card::from_json(&value).ok());
        let segments = card.map(|card| card.segments).unwrap_or_default();
        let parts = &stored.session_question.parts;
        if segments.is_empty() || segments.len() != parts.len() {
            return Err(TransitionError::NoParts.into());
        }
        if (1..=parts.len()).all(|number| self.has(number)) {
            let what = "all parts are named; approve the call itself, without `segments`";
            return Err(ApiProblem::bad_request(what));
        }
        let mut named = (1..).zip(parts).filter(|(number, part)| self.has(*number) && part.asks);
        if scope == ApprovalScope::Session && named.any(|(_, part)| part.answers.is_empty()) {
            return Err(TransitionError::NotForSession.into());
        }
        let shown = (1..).zip(segments);
        Ok(shown.map(|(number, segment)| (segment.text, self.has(number))).collect())
    }

    /// What the ledger says: which parts were approved, which were not.
    fn facts(&self, stored: &StoredRequest, digest: &Digest) -> serde_json::Value {
        let all = 1..=stored.session_question.parts.len();
        let denied: Vec<usize> = all.filter(|number| !self.has(*number)).collect();
        json!({ "approved": self.numbers, "denied": denied, "digest": digest })
    }

    /// A grant for each named part that asks; the others pass without one.
    fn grants(
        &self,
        api: &Api,
        identity: &PersonIdentity,
        stored: &StoredRequest,
        (scope, texts): (ApprovalScope, &[(String, bool)]),
    ) -> Result<Vec<Grant>, ApiProblem> {
        let now = api.gate.clock().now().at;
        let mut grants = Vec::new();
        let parts = self.numbers.iter().filter_map(|number| {
            let at = usize::from(*number).checked_sub(1)?;
            Some((*number, stored.session_question.parts.get(at)?, texts.get(at)?))
        });
        for (number, part, (text, _)) in parts.filter(|(_, part, _)| part.asks) {
            let shape = PartShape::once(stored.request.id, number, part);
            let (shape, lasts, uses_left) = match scope {
                ApprovalScope::Session => (shape.for_session(part), SESSION_ANSWER_LASTS, None),
                _ => (shape, PART_LASTS, Some(1)),
            };
            grants.push(Grant {
                id: random::id(now)
                    .map_err(|_| ApiProblem::from(crate::gate::Rejection::EntropyUnavailable))?,
                shape: GrantShape::Part(Box::new(shape)),
                agent: Some(stored.request.requester.name().to_owned()),
                session: Some(stored.session.clone()),
                made_by: identity.person.clone(),
                made_at: now,
                expires: Some(now.plus(lasts)),
                uses_left,
                revoked: None,
                details: GrantDetails { shown: Some(text.clone()), ..GrantDetails::default() },
            });
        }
        Ok(grants)
    }
}

/// What the agent is told.
fn told(texts: &[(String, bool)], message: &str) -> String {
    let list = |approved: bool| {
        let chosen = texts.iter().filter(|(_, is_approved)| *is_approved == approved);
        chosen.map(|(text, _)| format!("`{text}`")).collect::<Vec<_>>().join(", ")
    };
    let one = texts.iter().filter(|(_, approved)| *approved).count() == 1;
    let next = if one { "the approved part" } else { "each approved part" };
    let message = message.trim();
    let message = if message.is_empty() { String::new() } else { format!(" {message}") };
    format!(
        "{APPROVED_ONLY}{}; not approved: {}. Propose {next} alone, exactly as written.{message}",
        list(true),
        list(false)
    )
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn the_agent_is_told_which_part_was_approved() {
        let texts = [("npm run build".to_owned(), true), ("rm -rf ../data".to_owned(), false)];
        assert_eq!(
            told(&texts, " not the data "),
            "Approved only: `npm run build`; not approved: `rm -rf ../data`. Propose the approved \
             part alone, exactly as written. not the data"
        );
    }
}
