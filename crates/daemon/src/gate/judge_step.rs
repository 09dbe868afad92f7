//! The model judge's step on the path of a call: before a person is asked, or meanwhile.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use countersign_json::Value;
use countersign_json::canonical::CallDigest;
use countersign_judge::{JudgeAction, JudgeSubject, NeverReleased, OpinionUse, act, use_of};
use countersign_ledger::entry::{Entry, EntryKind};
use countersign_risk::assess::Assessment;
use countersign_risk::card::Card;
use countersign_risk::policy_ruling::PolicyRuling;
use countersign_store::{Store as _, StoredRequest};
use countersign_types::tier::Tier;
use countersign_types::time::Clock as _;
use serde_json::json;

use super::answer::GateAnswer;
use super::caller::Caller;
use super::persist::{JudgeRuling, quorum};
use super::state::Gate;
use super::submission::CallSubmission;
use crate::config::DaemonRules;
use crate::judge::{
    JudgeExchange, JudgeOpinion, JudgeQuestion, ModelJudge, OpinionJob, ShownOpinion, choice_of,
};
use crate::random;

/// What the judge was asked, and what follows from it.
pub(super) enum Consulted {
    /// It is not asked.
    Not,
    /// A person is asked; the opinion is formed meanwhile.
    Later(Arc<ModelJudge>, Box<JudgeQuestion>),
    /// It was asked first.
    Now(Box<Consultation>),
}

/// An opinion that came before the question to a person.
pub(super) struct Consultation {
    judge: Arc<ModelJudge>,
    question: JudgeQuestion,
    opinion: JudgeOpinion,
    ruling: Option<JudgeRuling>,
    flag: Option<serde_json::Value>,
}

impl Consulted {
    /// What the judge decided, if it did.
    pub(super) fn ruling(&self) -> Option<&JudgeRuling> {
        match self {
            Consulted::Now(consultation) => consultation.ruling.as_ref(),
            Consulted::Not | Consulted::Later(..) => None,
        }
    }

    /// Takes back what the judge decided: the call was assessed again since.
    pub(super) fn without_ruling(self, in_crisis: bool) -> Consulted {
        match self {
            Consulted::Now(mut consultation) if !in_crisis => {
                consultation.ruling = None;
                Consulted::Now(consultation)
            }
            _ => Consulted::Not,
        }
    }

    /// What a person is told about the judge's opinion.
    pub(super) fn flag(&self) -> Option<&serde_json::Value> {
        match self {
            Consulted::Now(consultation) => consultation.flag.as_ref(),
            Consulted::Not | Consulted::Later(..) => None,
        }
    }
}

impl Gate {
    /// Asks the judge about a call that a person would be asked about. It waits for the opinion
    /// only where that may end the question, and at most for the judge's deadline.
    pub(super) async fn consult_judge(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        assessed: (&Assessment, CallDigest, bool),
    ) -> Consulted {
        let Some(judge) = self.judge.current() else { return Consulted::Not };
        let Some(question) = self.question(rules, submission, caller, assessed, &judge).await
        else {
            return Consulted::Not;
        };
        let now = self.clock.now();
        let may_decide = question.decides
            && judge.held_back(now.at).is_none()
            && self.check_automatic_decision(now).is_ok();
        if !may_decide {
            return Consulted::Later(judge, Box::new(question));
        }
        let opinion = judge.consult(&question, now.at).await;
        self.count(&judge, &opinion);
        // A crisis began while the model thought: nothing of the call is kept with its opinion.
        if self.crises.holds(&caller.agent, submission.call.session.as_deref()) {
            self.metrics.judge_action("asked");
            return Consulted::Not;
        }
        let action = act(&question.subject, opinion.verdict(), &rules.assessment.thresholds);
        let sampled = action == JudgeAction::Allow && is_sampled(judge.config().sample_percent);
        let facts = opinion.facts(judge.model(), judge.identity(), "release");
        let ruling = |approves| JudgeRuling {
            model: judge.model().to_owned(),
            approves,
            facts: facts.clone(),
        };
        let (ruling, flag, counted) = match action {
            // People see the sample like any other request, so that they decide without a hint.
            JudgeAction::Allow if sampled => (None, None, "sampled"),
            JudgeAction::Ask { flagged } => {
                let told = shown(&judge, &opinion, question.subject.tier).filter(|_| flagged);
                (None, told.map(|told| told.stored()), if flagged { "flagged" } else { "asked" })
            }
            _ if !self.may_still_decide(rules, submission, caller, (&judge, &question, action)) => {
                (None, None, "asked")
            }
            JudgeAction::Allow => (Some(ruling(true)), None, "released"),
            JudgeAction::Deny => (Some(ruling(false)), None, "denied"),
        };
        self.metrics.judge_action(counted);
        Consulted::Now(Box::new(Consultation { judge, question, opinion, ruling, flag }))
    }

    /// The question to the judge; none if it is not asked about this call.
    async fn question(
        &self,
        rules: &DaemonRules,
        submission: &CallSubmission<'_>,
        caller: &Caller,
        (seen, digest, crisis): (&Assessment, CallDigest, bool),
        judge: &ModelJudge,
    ) -> Option<JudgeQuestion> {
        let call = &submission.call;
        let session = call.session.as_deref().unwrap_or_default();
        let in_crisis = crisis || self.crises.holds(&caller.agent, call.session.as_deref());
        let proved =
            call.facts.as_deref().is_some_and(countersign_risk::facts::CallFacts::can_lower);
        let card = Card::new(call, seen, &digest);
        let subject = JudgeSubject::new(&card, seen, in_crisis, proved);
        let person_required = submission.join.ignore_grants
            || self.freeze.suspends_grants()
            || seen.policy.as_ref().is_some_and(PolicyRuling::needs_person);
        let quorum = quorum(rules, seen, crisis).approve > 1;
        let subject = subject
            .limited(person_required.then_some(NeverReleased::PersonRequired))
            .limited(quorum.then_some(NeverReleased::Quorum));
        let thresholds = &rules.assessment.thresholds;
        if use_of(&subject, thresholds) == OpinionUse::NotAsked {
            return None;
        }
        let (agent, session) = (caller.agent.clone(), session.to_owned());
        let words = self.user_words(&agent, &session).await.unwrap_or_default();
        let mut question = JudgeQuestion { subject, agent, session, words, decides: false };
        let limit = judge.limit(&question, self.clock.now().at);
        question.subject = question.subject.limited(limit);
        question.decides = use_of(&question.subject, thresholds) == OpinionUse::Decides;
        Some(question)
    }

    /// What follows once the request is stored: the opinion is recorded, or formed.
    pub(super) async fn after_judge(&self, consulted: Consulted, kept: &GateAnswer) {
        let GateAnswer::Kept(stored) = kept else { return };
        match consulted {
            Consulted::Not => {}
            Consulted::Later(judge, question) => {
                let request = stored.request.id;
                let job = OpinionJob { request, question: *question, judge };
                if !self.judge.queue(job) {
                    self.metrics.judge_action("dropped");
                }
            }
            Consulted::Now(consultation) => {
                let Consultation { judge, question, opinion, ruling, .. } = *consultation;
                self.log_exchange(&judge, stored, &opinion);
                judge.asked_for(&question, &opinion, stored.request.id);
                match ruling {
                    Some(ruling) if ruling.approves => judge.released(),
                    Some(_) => {}
                    None => self.record_opinion(&judge, &question, &opinion, stored).await,
                }
            }
        }
    }

    /// Forms an opinion while a person is asked, and records it.
    pub async fn form_opinion(&self, job: OpinionJob) {
        let OpinionJob { request, question, judge } = job;
        let opinion = judge.consult(&question, self.clock.now().at).await;
        self.count(&judge, &opinion);
        match self.store.request(request).await {
            Ok(Some(stored)) => {
                self.log_exchange(&judge, &stored, &opinion);
                judge.asked_for(&question, &opinion, request);
                self.record_opinion(&judge, &question, &opinion, &stored).await;
            }
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "an opinion of the judge was not recorded"),
        }
    }

    /// Writes an opinion to the ledger and compares it with the person's decision. An opinion that
    /// is not compared is shown to people while they decide.
    async fn record_opinion(
        &self,
        judge: &ModelJudge,
        question: &JudgeQuestion,
        opinion: &JudgeOpinion,
        stored: &StoredRequest,
    ) {
        let mode = judge.config().mode.label();
        let mut facts = opinion.facts(judge.model(), judge.identity(), mode);
        if let Some(members) = facts.as_object_mut() {
            members.insert("compared".to_owned(), json!(question.decides));
        }
        let text = facts.to_string();
        let mut entry = Entry::new(0, EntryKind::JudgeOpinion, self.rules().hash);
        if let Ok(facts) = countersign_json::parse(&text) {
            entry.facts.push((Cow::Borrowed("judge"), Value::into_owned(facts)));
        }
        let request = &stored.request;
        let told = shown(judge, opinion, request.tier).filter(|_| !question.decides);
        if let Some(told) = told {
            self.metrics.judge_action(if told.is_against() { "flagged" } else { "shown" });
            // Before the entry, whose commit tells open pages to read the request again.
            self.judge.show(request.id, &told);
        }
        entry.agent = Some(Cow::Owned(request.requester.name().to_owned()));
        entry.session = Some(Cow::Owned(stored.session.clone()));
        entry.request = Some(Cow::Owned(request.id.to_string()));
        entry.digest = Some(request.digest.canonical);
        if let Err(error) = self.store.append(vec![entry]).await {
            tracing::error!(%error, "an opinion of the judge was not recorded");
            return;
        }
        let Some(verdict) = opinion.verdict().filter(|_| question.decides) else { return };
        // The person may have decided while the model thought.
        let ended = match self.store.request(request.id).await {
            Ok(Some(now)) => choice_of(&now),
            Ok(None) | Err(_) => None,
        };
        judge.note_opinion(request.id, verdict, ended);
    }

    fn log_exchange(&self, judge: &ModelJudge, stored: &StoredRequest, opinion: &JudgeOpinion) {
        let Some(log) = self.judge.exchanges() else { return };
        if let Some(exchange) = JudgeExchange::of(stored.request.id, judge.model(), opinion) {
            log.write(&exchange);
        }
    }

    /// Counts a question in the metrics.
    pub(super) fn count(&self, judge: &ModelJudge, opinion: &JudgeOpinion) {
        let result = match &opinion.result {
            Ok(_) if opinion.cached => "cached",
            Ok(reply) => reply.verdict.label(),
            Err(why) => why.label(),
        };
        let took = opinion.prompt.as_ref().map(|_| Duration::from_millis(opinion.millis));
        self.count_question(judge, result, opinion.tokens, took);
    }
}

/// Whether people are asked about this call although the judge would release it. Without
/// randomness they are.
fn is_sampled(percent: u32) -> bool {
    random::bytes::<4>().map_or(true, |bytes| u32::from_le_bytes(bytes) % 100 < percent)
}

/// What people are told about an opinion.
fn shown(judge: &ModelJudge, opinion: &JudgeOpinion, tier: Tier) -> Option<ShownOpinion> {
    opinion.result.as_ref().ok().and_then(|reply| ShownOpinion::new(judge.model(), tier, *reply))
}
