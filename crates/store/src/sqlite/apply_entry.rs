//! The ledger entries of an event of a request.

use std::borrow::Cow;

use countersign_ledger::entry::{Entry, EntryKind};
use countersign_workflow::request::{
    ApprovalScope, Choice, Decider, FREEZE, Request, State, TAKE_OVER, Transition, Vote,
};

use super::batch::Batch;
use super::columns::drill_kind;
use super::entry::{Fact, entry, number_fact, set_request, text_fact};
use super::proposed_edit::{self, PROPOSAL, PROPOSED_BY};
use super::session_answers::DECIDED_SCOPE;
use crate::error::StoreResult;
use crate::record::{StoredRequest, WriteContext};

/// Appends the entries of a change. An edit comes before the first approval of the edited call.
pub(super) fn append(
    batch: &mut Batch<'_>,
    stored: &StoredRequest,
    change: &Transition,
    (before, context): (&Request, &WriteContext),
) -> StoreResult<()> {
    let request = &stored.request;
    let id = request.id.to_string();
    // A freeze ends a request for which its person may have voted before.
    let by_freeze = frozen_vote(change);
    let vote = by_freeze.as_ref().or(request.votes.last());
    let mut facts = Vec::new();
    facts.extend(drill_kind(&request.requester).map(|kind| text_fact("drill", kind)));
    let Some(kind) = kind_of(change, &mut facts) else { return Ok(()) };
    let by_person = matches!(kind, EntryKind::Vote | EntryKind::Approve | EntryKind::Deny);
    if by_person {
        add_vote(&mut facts, request);
    }
    let proposal = request.proposal.as_ref();
    let proposed_by = proposal.filter(|_| by_person).map(|proposal| proposal.person.as_str());
    facts.extend(proposed_by.map(|person| text_fact(PROPOSED_BY, person)));
    let mut entry = entry(kind, context, facts)?;
    set_request(&mut entry, request, &stored.session, &id);
    if by_person {
        entry.person = vote.map(|vote| Cow::Borrowed(vote.person.as_str()));
    }
    entry.digest = match change {
        Transition::Ended(decision) => Some(decision.digest.canonical),
        Transition::ApprovalCounted { .. } => Some(request.current_digest().canonical),
        _ => entry.digest,
    };
    let is_new = request.proposal.is_some() && request.proposal != before.proposal;
    let content =
        proposed_edit::content(stored).filter(|_| is_new).map(|digest| digest.to_string());
    if is_new || (stored.edited.is_some() && request.proposal.is_none()) {
        let mut edit = Entry { kind: EntryKind::Edit, ..entry.clone() };
        edit.facts.extend(content.as_deref().map(|content| text_fact(PROPOSAL, content)));
        batch.append(edit)?;
    }
    batch.append(entry)
}

/// The kind of the entry of a change, with the facts that it has; none if nothing changed.
fn kind_of(change: &Transition, facts: &mut Vec<Fact<'_>>) -> Option<EntryKind> {
    Some(match change {
        Transition::Nothing => return None,
        Transition::Escalated(level) => {
            facts.push(text_fact("level", level.label()));
            EntryKind::Escalate
        }
        Transition::ApprovalCounted { approvals: count, needed } => {
            facts.extend([text_fact("choice", "approve"), number_fact("count", *count)]);
            facts.push(number_fact("needed", *needed));
            EntryKind::Vote
        }
        Transition::DenialCounted { objections: count, needed } => {
            facts.extend([text_fact("choice", "deny"), number_fact("count", *count)]);
            facts.push(number_fact("needed", *needed));
            EntryKind::Vote
        }
        Transition::Ended(decision) => match decision.state {
            State::Approved => EntryKind::Approve,
            State::Denied => EntryKind::Deny,
            State::Cancelled => EntryKind::Cancel,
            State::Expired | State::Pending => EntryKind::Expire,
        },
    })
}

/// The denial by a freeze, or by a person who takes over.
fn frozen_vote(change: &Transition) -> Option<Vote> {
    let Transition::Ended(decision) = change else { return None };
    let Decider::People(people) = &decision.by else { return None };
    [FREEZE, TAKE_OVER].contains(&decision.channel.as_str()).then(|| Vote {
        scope: ApprovalScope::Once,
        person: people.first().cloned().unwrap_or_default(),
        choice: Choice::Deny,
        channel: decision.channel.clone(),
        reason: decision.reason.clone(),
        at: decision.at,
    })
}

/// Adds the facts of the vote that caused a change.
fn add_vote<'a>(facts: &mut Vec<Fact<'a>>, request: &'a Request) {
    if let Some(vote) = request.votes.last() {
        facts.extend([text_fact("channel", &vote.channel), text_fact("reason", &vote.reason)]);
        if vote.scope != ApprovalScope::Once {
            facts.push(text_fact("scope", vote.scope.label()));
        }
    }
    let scope = request.approval_scope();
    if scope != ApprovalScope::Once {
        facts.push(text_fact(DECIDED_SCOPE, scope.label()));
    }
}
