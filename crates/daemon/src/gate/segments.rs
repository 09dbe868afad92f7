//! The parts of a compound command that a person may approve alone, as its request shows and stores
//! them.

use countersign_json::canonical::Digest;
use countersign_risk::assess::Assessment;
use countersign_risk::card::{Card, CardSegment};
use countersign_risk::policy_ruling::PolicyRuling;
use countersign_risk::segments::{AssessedPart, PartPlace, assessed_parts, part_key};
use countersign_risk::session_answer::SessionQuestion;
use countersign_risk::verdict::Verdict;
use countersign_types::time::Clock as _;
use countersign_workflow::grant::GrantQuery;

use super::caller::Caller;
use super::persist::Settled;
use super::repository;
use super::session_question::with_repository;
use super::state::Gate;
use super::submission::CallSubmission;
use crate::config::DaemonRules;

/// The parts of a call that a person is asked about.
#[derive(Debug, Default)]
struct CallParts {
    /// The key of the call itself, as a part that stands alone.
    own: Option<Digest>,
    parts: Vec<AssessedPart>,
    /// Whether people approved each part before.
    approved: Vec<bool>,
}

impl CallParts {
    /// Shows the parts on the card and adds them to the question. Parts that the card cannot show
    /// in full are not offered.
    fn added_to(self, question: SessionQuestion, card: &mut Card) -> SessionQuestion {
        let shown = self.parts.iter().zip(&self.approved).map(|(part, approved)| {
            let asks = part.seen.verdict != Verdict::Allow;
            CardSegment::new(&part.text, part.seen.tier, asks, *approved)
        });
        let shown: Option<Vec<CardSegment>> = shown.collect();
        let offered = shown.is_some_and(|shown| card.set_segments(shown));
        let parts = if offered { self.parts.as_slice() } else { &[] };
        question.with_parts(self.own, parts)
    }
}

impl Gate {
    /// The question with the repository that the call runs in, and with its parts if a card shows
    /// them.
    pub(super) async fn with_places(
        &self,
        question: SessionQuestion,
        (rules, submission, caller): (&DaemonRules, &CallSubmission<'_>, &Caller),
        seen: &Assessment,
        (card, settled): (Option<&mut Card>, Settled<'_>),
    ) -> SessionQuestion {
        // Nobody answers what a rule decided.
        if settled == Settled::Policy {
            return question;
        }
        let question = with_repository(question, submission, caller, seen).await;
        let Some(card) = card else { return question };
        let parts = self.find_parts(rules, submission, caller, seen).await;
        parts.added_to(question, card)
    }

    /// The parts of a call of a session, each assessed like the whole. None where a policy rule
    /// decided about the call: it decides about the call as a whole.
    async fn find_parts(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        seen: &Assessment,
    ) -> CallParts {
        let call = &submission.call;
        if call.session.as_deref().is_none_or(str::is_empty) {
            return CallParts::default();
        }
        let own = part_key(&call.arguments, PartPlace::of(&call.context), seen);
        let is_ruled = |ruling: &PolicyRuling| ruling.needs_person() || ruling.quorum.is_some();
        if seen.policy.as_ref().is_some_and(is_ruled) {
            return CallParts { own, ..CallParts::default() };
        }
        let parts = assessed_parts(call, seen, |part| {
            let mut seen = self.session_memories.assess(part, &rules.assessment);
            self.apply_policy(rules, (part, &submission.projects), &mut seen, (false, true));
            seen
        });
        if parts.iter().any(|part| !matches!(part.seen.verdict, Verdict::Allow | Verdict::Ask)) {
            return CallParts { own, ..CallParts::default() };
        }
        let repository = repository::find(caller, &call.context).await;
        let is_approved = |part: &AssessedPart| {
            let arguments = countersign_json::Value::Null;
            let digest = countersign_risk::call_digest::digest(call, submission.raw);
            let asked = GrantQuery {
                agent: &caller.agent,
                session: call.session.as_deref().unwrap_or_default(),
                repository: repository.as_deref(),
                cwd: call.context.cwd,
                environment: call.context.environment,
                own_addresses: &caller.own_addresses,
                digest: &digest,
                // Approvals for the session and the repository are about what is asked, not about
                // the arguments.
                arguments: &arguments,
                assessment: &part.seen,
                crisis: false,
            };
            self.grants.has_answers(&asked, self.clock.now())
        };
        let approved = parts.iter().map(is_approved).collect();
        CallParts { own, parts, approved }
    }
}
