//! Suggestions of grants: calls that people approved many times in a row. They permit nothing: an
//! administrator gives the grant like any other.

use std::collections::HashSet;

use countersign_json::canonical::{CallDigest, Digest};
use countersign_risk::card::Card;
use countersign_store::{RequestQuery, Store as _, StoreError, StoredRequest};
use countersign_types::id::Id;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::grant::{Grant, GrantShape};
use countersign_workflow::learning::{
    AnsweredCall, ApprovalCounts, RepeatedAnswer, may_suggest, may_suggest_effects,
};
use countersign_workflow::request::{Decider, State};

use super::state::Gate;

/// How many requests are read at most, and how many at once.
const MAX_REQUESTS: usize = 20_000;
const PAGE: u32 = 500;

/// The longest call that is suggested, in bytes: people must see all of it.
const MAX_CALL: usize = 500;

/// A call that could have a grant.
#[derive(Debug)]
pub struct GrantSuggestion {
    /// The newest approved request for it.
    pub request: Id,
    /// How often people approved it in a row.
    pub approvals: u32,
    /// The agent.
    pub agent: String,
    /// Its tier.
    pub tier: Tier,
    /// What it does.
    pub brief: String,
    /// The whole call, safe to show.
    pub call: String,
    /// When it was asked for the first time in this row.
    pub first: Timestamp,
    /// And the last time.
    pub last: Timestamp,
    /// The call.
    pub digest: CallDigest,
}

impl Gate {
    /// The calls that people approved at least so often in a row, the newest first.
    pub async fn grant_suggestions(&self, needed: u32) -> Result<Vec<GrantSuggestion>, StoreError> {
        let requests = self.answered_requests().await?;
        let regretted = self.store.regretted().await?;
        let regretted: HashSet<(&str, Digest)> =
            regretted.iter().map(|call| (call.agent.as_str(), call.digest)).collect();
        let mut counts = ApprovalCounts::default();
        for request in requests.iter().rev() {
            counts.note(&request.answered());
        }
        let granted = self.store.grants(false).await?;
        let now = self.clock.now().at;
        let granted: Vec<&Grant> =
            granted.iter().filter(|grant| self.grants.in_force(grant, now)).collect();
        let (mut seen, mut found) = (HashSet::new(), Vec::new());
        for request in &requests {
            let approvals = counts.approvals(&request.agent, &request.digest);
            let is_newest = seen.insert((&request.agent, request.digest.canonical));
            if is_newest
                && approvals >= needed.max(1)
                && !regretted.contains(&(request.agent.as_str(), request.digest.canonical))
                && !granted.iter().any(|grant| covers(grant, request))
            {
                let call = self.shown_call(request.id).await?;
                found.extend(call.map(|call| suggestion(request, approvals, call, &requests)));
            }
        }
        Ok(found)
    }

    /// The call of a request, if its card shows all of it and only effects that may be suggested.
    async fn shown_call(&self, id: Id) -> Result<Option<String>, StoreError> {
        Ok(self.store.request(id).await?.as_ref().and_then(suggested_call))
    }

    /// The requests that people answered, newest first, without their cards.
    async fn answered_requests(&self) -> Result<Vec<AnsweredRequest>, StoreError> {
        let (mut found, mut read, mut before) = (Vec::new(), 0, None);
        loop {
            let query = RequestQuery { before, limit: PAGE, ..RequestQuery::default() };
            let page = self.store.find(query).await?;
            read += page.requests.len();
            found.extend(page.requests.iter().filter_map(AnsweredRequest::new));
            before = page.next;
            if before.is_none() || read >= MAX_REQUESTS {
                return Ok(found);
            }
        }
    }
}

/// What counts of a request.
struct AnsweredRequest {
    id: Id,
    agent: String,
    digest: CallDigest,
    tier: Tier,
    crisis: bool,
    answer: RepeatedAnswer,
    created: Timestamp,
    brief: String,
}

impl AnsweredRequest {
    /// A request that people answered. One that ended without a person counts neither way; the
    /// approval of an edited call was for another call, and counts as a denial of this one.
    fn new(stored: &StoredRequest) -> Option<AnsweredRequest> {
        let request = &stored.request;
        let made = request.decision.as_ref()?;
        if request.requester.is_drill() || !matches!(made.by, Decider::People(_)) {
            return None;
        }
        let answer = match made.state {
            State::Approved if stored.edited.is_none() && made.digest == request.digest => {
                RepeatedAnswer::Approved
            }
            State::Approved | State::Denied => RepeatedAnswer::Denied,
            _ => return None,
        };
        Some(AnsweredRequest {
            id: request.id,
            agent: request.requester.display_name().to_owned(),
            digest: request.digest,
            tier: request.tier,
            crisis: request.crisis,
            answer,
            created: request.schedule.created,
            brief: stored.brief.clone(),
        })
    }

    fn answered(&self) -> AnsweredCall<'_> {
        AnsweredCall {
            agent: &self.agent,
            digest: self.digest,
            tier: self.tier,
            crisis: self.crisis,
            answer: self.answer,
        }
    }
}

fn suggested_call(stored: &StoredRequest) -> Option<String> {
    let card = countersign_json::parse(&stored.card).ok()?;
    let card = Card::from_json(&card).ok()?;
    let may = may_suggest(card.tier, stored.request.crisis)
        && may_suggest_effects(card.effects)
        && card.folded == 0;
    let call = card.command.unwrap_or_else(|| format!("{} {}", card.tool, card.arguments));
    Some(call).filter(|call| may && call.len() <= MAX_CALL)
}

/// Whether a grant for exactly this call is in force.
fn covers(grant: &Grant, request: &AnsweredRequest) -> bool {
    let is_call = matches!(&grant.shape, GrantShape::Exact { digest }
        if digest.canonical == request.digest.canonical);
    is_call
        && grant.session.is_none()
        && grant.agent.as_ref().is_none_or(|agent| *agent == request.agent)
}

fn suggestion(
    newest: &AnsweredRequest,
    approvals: u32,
    call: String,
    requests: &[AnsweredRequest],
) -> GrantSuggestion {
    let same = |other: &&AnsweredRequest| {
        other.agent == newest.agent && other.digest.canonical == newest.digest.canonical
    };
    let row = requests.iter().filter(same).take(approvals as usize);
    GrantSuggestion {
        request: newest.id,
        approvals,
        agent: newest.agent.clone(),
        tier: newest.tier,
        brief: newest.brief.clone(),
        call,
        first: row.last().map_or(newest.created, |first| first.created),
        last: newest.created,
        digest: newest.digest,
    }
}
