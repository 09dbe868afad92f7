//! A call that is kept: the request made of it, and its first commit.

use countersign_json::canonical::CallDigest;
use countersign_risk::assess::Assessment;
use countersign_risk::card::Card;
use countersign_store::{NewRequest, Store as _, Submission, WriteContext};
use countersign_types::time::Clock as _;
use countersign_workflow::request::{Request, Requester, Settled, Terms};
use tracing::Instrument as _;

use super::answer::{self, Answer, Rejection};
use super::flood::Place;
use super::{Caller, Gate, Question, request_span};
use crate::chance;
use crate::config::Rules;

impl Gate {
    /// Makes it durable: pending, or settled by the judgement or a grant.
    pub(super) async fn keep(
        &self,
        rules: &Rules,
        asks: &Question<'_>,
        caller: &Caller,
        judged: (&Assessment, CallDigest, bool),
        settled: Option<Settled>,
        place: Option<Place<'_>>,
    ) -> Result<Answer, Rejection> {
        let (seen, digest, crisis) = judged;
        let now = self.clock.now();
        if settled.is_some() && !now.settled {
            return Err(Rejection::ClockUnsettled);
        }
        let terms = Terms { tier: seen.tier, crisis, quorum: rules.quorum.of(seen.tier, crisis) };
        let plan = rules.times.plan(now.at, seen.tier, crisis, asks.time);
        let id = chance::id(now.at).map_err(|_| Rejection::NoChance)?;
        let requester = Requester::Agent(caller.agent.clone());
        let mut request = Request::new(id, requester, digest, terms, plan);
        if let Some(settled) = settled {
            request = request.settled(settled, now.at);
            if let (Settled::Grant(id), Some(decision)) = (settled, &mut request.decision) {
                decision.reason = self.grants.name(id).unwrap_or_default();
            }
        }
        let card = Card::new(&asks.call, seen, &digest);
        let written = |card: &Card| serde_json::to_string(card).map_err(|_| Rejection::Unwritable);
        // In a crisis a person must see what they approve, but nothing of it stays afterwards.
        let minimal = crisis.then(|| written(&Card::minimal(&asks.call, seen, &digest)));
        let detail = (asks.detail)();
        let detail = if crisis { answer::without_words(&detail) } else { detail };
        let new = NewRequest {
            request,
            // As on the card: a tool's name can hold a secret, too.
            tool: card.tool.clone(),
            session: asks.call.session.as_deref().unwrap_or_default().to_owned(),
            brief: card.brief.clone(),
            card: written(&card)?,
            card_after: minimal.transpose()?,
            detail,
            idempotency: asks.key.clone(),
            group: asks.group,
            permit_for: rules.permit_for,
            context: WriteContext {
                policy: rules.hash,
                facts: Some(answer::facts(seen)),
                edited: None,
            },
        };
        self.write_down(new, place).instrument(request_span(id)).await
    }

    async fn write_down(
        &self,
        new: NewRequest,
        place: Option<Place<'_>>,
    ) -> Result<Answer, Rejection> {
        let started = std::time::Instant::now();
        let submitted = self.store.submit(new).await;
        self.metrics.wrote(started.elapsed());
        match submitted {
            Ok(Submission::New(stored)) => {
                if stored.request.state.has_ended() {
                    self.metrics.ended(&stored);
                } else {
                    self.opened(&stored).await;
                }
                Ok(Answer::Kept(Box::new(stored)))
            }
            known_or_failed => {
                place.into_iter().for_each(Place::unused);
                match known_or_failed? {
                    Submission::New(stored) | Submission::Existing(stored) => {
                        Ok(Answer::Kept(Box::new(stored)))
                    }
                }
            }
        }
    }
}
