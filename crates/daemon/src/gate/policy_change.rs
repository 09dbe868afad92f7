//! A change of the policy rules through the API: a CRITICAL request that people decide, applied
//! when they approve it.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError};

use countersign_json::Value;
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_risk::assess::{Assessment, assess};
use countersign_risk::call::{Annotations, Call};
use countersign_risk::call_digest::digest;
use countersign_risk::card::Card;
use countersign_risk::context::Context;
use countersign_risk::session_answer::SessionQuestion;
use countersign_store::{
    BY_REQUEST_FACT, NewRequest, Store as _, StoredRequest, SubmitResult, WriteContext,
};
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Millis};
use countersign_workflow::request::{Request, Requester, State, Terms};
use serde_json::json;

use super::answer::{self, Rejection};
use super::api_policy::{ProposedPolicy, source};
use super::confirmed_policy::RequestedPolicy;
use super::state::Gate;
use crate::random;
use crate::recorded_settings::policy_fact;

/// The tool on the card.
pub(super) const TOOL: &str = "countersign_policy";
/// The member of the stored data.
pub(super) const MEMBER: &str = "policy_change";

/// The arguments of the call that people decide about.
fn arguments(text: &str, proposed: &ProposedPolicy) -> Value<'static> {
    let list = |lines: &[String]| {
        Value::Array(lines.iter().map(|line| Value::String(line.clone().into())).collect())
    };
    let own = |text: String| Value::String(text.into());
    Value::Object(vec![
        ("differences".into(), list(&proposed.differences)),
        ("weaker".into(), list(&proposed.weaker)),
        ("rules".into(), own(text.to_owned())),
        ("replaces".into(), own(proposed.base.to_string())),
    ])
}

/// The ledger facts of a proposal, with the proposer's proof.
fn proposal_facts(seen: &Assessment, note: &WriteContext) -> String {
    let facts = answer::with_member(&answer::facts(seen, false), MEMBER, &json!(true));
    note.facts.iter().fold(facts, |facts, proof| {
        let proof = serde_json::from_str(proof).unwrap_or_default();
        answer::with_member(&facts, "proposed", &proof)
    })
}

fn change_call(arguments: Value<'static>, person: &str) -> Call<'static> {
    Call {
        tool: Cow::Borrowed(TOOL),
        arguments,
        agent: Some(Cow::Owned(person.to_owned())),
        session: None,
        context: Context::default(),
        annotations: Annotations::default(),
        // Rules decide about every other call.
        claimed: Some(Tier::Critical),
        facts: None,
    }
}

/// The rules that a request proposes, by its row.
pub(super) fn proposed_text(stored: &StoredRequest) -> Option<String> {
    let detail: serde_json::Value = serde_json::from_str(&stored.detail).ok()?;
    detail.get(MEMBER)?.get("text")?.as_str().map(str::to_owned)
}

impl Gate {
    /// Stores the request of a person to replace the rules of the API. `Err` in the result: what is
    /// wrong with the rules.
    pub async fn propose_policy(
        &self,
        text: &str,
        person: &str,
        note: WriteContext,
    ) -> Result<Result<StoredRequest, String>, Rejection> {
        self.integrity.check()?;
        if self.is_policy_unknown() {
            let why = "it is not known which rules people confirmed; confirm them first";
            return Ok(Err(why.to_owned()));
        }
        let rules = self.rules();
        let proposed = match ProposedPolicy::check(text, &rules) {
            Ok(proposed) => proposed,
            Err(problem) => return Ok(Err(problem)),
        };
        let call = change_call(arguments(text, &proposed), person);
        let raw = call.arguments.to_json();
        let (seen, digest) = (assess(&call, &rules.assessment), digest(&call, raw.as_bytes()));
        let now = self.clock.now();
        let id = random::id(now.at).map_err(|_| Rejection::EntropyUnavailable)?;
        let quorum = rules.quorum.of(Tier::Critical, false);
        // A person who works alone has nobody else to ask.
        let terms = Terms { tier: Tier::Critical, crisis: false, quorum, own_approval: true };
        let schedule = rules.times.schedule(now.at, Tier::Critical, false, None);
        let requester = Requester::Person(person.to_owned());
        let mut card = Card::new(&call, &seen, &digest);
        card.brief = format!("Changes the policy rules: {}", proposed.differences.join("; "));
        let written = serde_json::to_string(&card).map_err(|_| Rejection::Unwritable)?;
        let facts = Some(proposal_facts(&seen, &note));
        let new = NewRequest {
            request: Request::new(id, requester, digest, terms, schedule),
            tool: card.tool.clone(),
            session: String::new(),
            brief: card.brief.clone(),
            card: written,
            card_after: None,
            detail: json!({ MEMBER: { "text": text } }).to_string(),
            idempotency: None,
            group: None,
            session_question: SessionQuestion::default(),
            further_grants: Vec::new(),
            grant_cost: countersign_workflow::grant::GrantCost::default(),
            permit_for: Millis(0),
            review: None,
            context: WriteContext { policy: rules.hash, facts, edited: None },
        };
        let (SubmitResult::New(stored) | SubmitResult::Existing(stored)) =
            self.store.submit(new).await?;
        Ok(Ok(stored))
    }

    /// Applies a change of the rules that people approved. If it cannot be applied, the rules stay
    /// as they are, and people hear why.
    pub(super) async fn apply_policy_change(&self, stored: &StoredRequest) {
        let Requester::Person(person) = &stored.request.requester else { return };
        let text = proposed_text(stored).filter(|_| stored.request.state == State::Approved);
        let Some(text) = text else { return };
        match self.change_policy(stored, &text, person).await {
            Ok(differences) => {
                let what = differences.join("; ");
                self.news.add(format!("The policy rules of {person} are in force: {what}."));
            }
            Err(why) => {
                let given_up = self.give_up_change(stored, person, &why).await;
                if let Err(error) = given_up {
                    tracing::error!(%error, why, "an approved change of the rules was not applied");
                }
            }
        }
    }

    async fn change_policy(
        &self,
        stored: &StoredRequest,
        text: &str,
        person: &str,
    ) -> Result<Vec<String>, String> {
        let _turn = self.changing_rules.lock().await;
        let mut rules = (*self.rules()).clone();
        let proposed = ProposedPolicy::check(text, &rules)?;
        // People approved these differences from these rules, and nothing else.
        let call = change_call(arguments(text, &proposed), person);
        let now = digest(&call, call.arguments.to_json().as_bytes());
        let decided = stored.request.decision.as_ref().map(|decision| decision.digest.canonical);
        if decided != Some(now.canonical) {
            return Err("the rules in force changed meanwhile; apply them again".to_owned());
        }
        let before = self.api_rules.read().map_err(|error| error.to_string())?;
        let write = |text: Option<&str>| self.api_rules.write(text);
        write(Some(text)).map_err(|error| format!("the file could not be written: {error}"))?;
        rules.set_policy(Arc::clone(&proposed.policy));
        let mut entry = Entry::new(0, EntryKind::Config, rules.hash);
        entry.person = Some(person.to_owned().into());
        let list = |lines: &[String]| {
            Value::Array(lines.iter().map(|line| Value::String(line.clone().into())).collect())
        };
        entry.facts.push(("applied_policy".into(), list(&proposed.differences)));
        let id = stored.request.id.to_string();
        entry.facts.push((BY_REQUEST_FACT.into(), Value::String(id.into())));
        entry.facts.push(policy_fact(&proposed.policy));
        if let Err(error) = self.store.append(vec![entry]).await {
            // The file must not bring rules into force that the ledger does not name.
            if let Err(failed) = write(before.as_deref()) {
                tracing::error!(%failed, "the rules before could not be written back");
            }
            return Err(error.to_string());
        }
        self.keep_policy(&proposed.policy);
        self.update_requested(text, &proposed);
        self.update_policy_marker(&rules.policy);
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        Ok(proposed.differences)
    }

    /// Rules of the configuration that wait for a person wait with the new rules of the API.
    fn update_requested(&self, text: &str, proposed: &ProposedPolicy) {
        let Some(kept) = self.confirmed_policy.get() else { return };
        let mut requested = kept.requested.write().unwrap_or_else(PoisonError::into_inner);
        *requested = requested.take().and_then(|waiting| {
            let policy = Arc::new(waiting.policy.with_file(&source(text)).ok()?);
            let changes = policy.weaker_than(&proposed.policy);
            Some(RequestedPolicy { policy, changes })
        });
    }
}
