//! Unit tests of proposed edits: attacks first.

use super::tests::{at, call, edited_call, request, says};
use super::*;
use crate::assurance::{Assurance, Authority, Tenure};
use countersign_risk::word_pair::word_pair;

const TWO: Quorum = Quorum { approve: 2, deny: 1 };

/// A person edits the call that is asked about now into this one.
fn edits(asked: &Request, person: &str, byte: u8, tier: Tier, quorum: Quorum) -> Event {
    let mut event = says(person, Choice::Approve, "asked the customer");
    if let Event::Answer { seen, edited, word, .. } = &mut event {
        *seen = asked.current_digest();
        *edited = Some(EditedCall { digest: call(byte), ..edited_call(tier, quorum) });
        *word = word_pair(&call(byte).canonical).to_string();
    }
    event
}

/// A person approves the call with this digest.
fn approves(person: &str, byte: u8) -> Event {
    let mut event = says(person, Choice::Approve, "asked the customer");
    if let Event::Answer { seen, word, .. } = &mut event {
        *seen = call(byte);
        *word = word_pair(&call(byte).canonical).to_string();
    }
    event
}

/// A MEDIUM call for one person, which ana edited into a CRITICAL one for two.
fn proposed() -> Request {
    let mut asked = request(Tier::Medium, Quorum::default());
    let event = edits(&asked, "ana", 9, Tier::Critical, TWO);
    let counted = asked.apply(event, at(1));
    assert_eq!(counted, Ok(Transition::ApprovalCounted { approvals: 1, needed: 2 }));
    assert_eq!(asked.proposal.as_ref().map(|one| one.person.as_str()), Some("ana"));
    assert_eq!((asked.current_digest(), asked.current_tier()), (call(9), Tier::Critical));
    asked
}

#[test]
fn two_people_approve_the_same_edit() {
    let mut asked = proposed();
    asked.apply(approves("bo", 9), at(2)).unwrap();
    let decision = asked.decision.unwrap();
    assert_eq!((decision.state, decision.digest), (State::Approved, call(9)));
    assert_eq!(decision.by, Decider::People(vec!["ana".to_owned(), "bo".to_owned()]));
}

#[test]
fn nobody_votes_twice_for_a_proposed_edit() {
    let mut asked = proposed();
    let again = asked.apply(approves("ana", 9), at(2));
    assert_eq!(again, Err(TransitionError::AlreadyAnswered));
    // The same edit once more is the same vote.
    let event = edits(&asked, "ana", 9, Tier::Critical, TWO);
    assert_eq!(asked.apply(event, at(2)), Err(TransitionError::AlreadyAnswered));
    // Another edit of the same person replaces it and has one vote.
    let event = edits(&asked, "ana", 8, Tier::Critical, TWO);
    let counted = asked.apply(event, at(3));
    assert_eq!(counted, Ok(Transition::ApprovalCounted { approvals: 1, needed: 2 }));
    assert_eq!(asked.votes.len(), 1);
    // The same edit by another person is the second vote.
    let event = edits(&asked, "bo", 8, Tier::Critical, TWO);
    asked.apply(event, at(4)).unwrap();
    assert_eq!(asked.decision.unwrap().digest, call(8));
}

#[test]
fn a_vote_for_another_call_does_not_count_for_a_proposed_edit() {
    let mut asked = proposed();
    for byte in [1, 2] {
        let other = asked.apply(approves("bo", byte), at(2));
        assert_eq!(other, Err(TransitionError::DigestMismatch), "{byte}");
    }
    // Neither does the edit of a person who was shown the original.
    let mut stale = edits(&asked, "bo", 8, Tier::Low, Quorum::default());
    if let Event::Answer { seen, .. } = &mut stale {
        *seen = call(1);
    }
    assert_eq!(asked.apply(stale, at(2)), Err(TransitionError::DigestMismatch));
    assert_eq!((asked.state, asked.votes.len()), (State::Pending, 1));
    // An approval of the original from before the edit is discarded.
    let mut asked = request(Tier::Critical, TWO);
    asked.apply(approves("cy", 1), at(1)).unwrap();
    let event = edits(&asked, "ana", 9, Tier::Low, Quorum::default());
    let counted = asked.apply(event, at(2));
    assert_eq!(counted, Ok(Transition::ApprovalCounted { approvals: 1, needed: 2 }));
    asked.apply(approves("cy", 9), at(3)).unwrap();
    assert_eq!(asked.state, State::Approved);
}

#[test]
fn an_edit_back_to_a_milder_call_does_not_inherit_votes() {
    // The milder call takes two people too: the vote of ana was for another call.
    let mut asked = proposed();
    let event = edits(&asked, "bo", 8, Tier::High, TWO);
    let counted = asked.apply(event, at(2));
    assert_eq!(counted, Ok(Transition::ApprovalCounted { approvals: 1, needed: 2 }));
    assert_eq!(asked.proposal.as_ref().unwrap().person, "bo");
    let old = asked.apply(approves("cy", 9), at(3));
    assert_eq!(old, Err(TransitionError::DigestMismatch));
    asked.apply(approves("ana", 8), at(4)).unwrap();
    assert_eq!(asked.decision.unwrap().digest, call(8));
    // It takes one person: bo alone approves it, as an edit of the original.
    let mut asked = proposed();
    let event = edits(&asked, "bo", 8, Tier::Low, Quorum::default());
    asked.apply(event, at(2)).unwrap();
    assert_eq!(asked.proposal, None);
    let decision = asked.decision.unwrap();
    assert_eq!(decision.by, Decider::People(vec!["bo".to_owned()]));
    assert_eq!(decision.digest, call(8));
}

#[test]
fn a_denial_by_anybody_ends_a_proposed_edit() {
    for person in ["ana", "bo"] {
        let mut asked = proposed();
        asked.quorum.deny = 3;
        let mut denial = says(person, Choice::Deny, "");
        if let Event::Answer { seen, .. } = &mut denial {
            *seen = call(2);
        }
        asked.apply(denial, at(2)).unwrap();
        assert_eq!(asked.state, State::Denied, "{person}");
        let decision = asked.decision.unwrap();
        assert_eq!(decision.by, Decider::People(vec![person.to_owned()]));
    }
}

#[test]
fn further_approvals_take_the_reason_and_assurance_of_the_edit() {
    let asked = proposed();
    let answer = |change: fn(&mut Event)| {
        let (mut asked, mut event) = (asked.clone(), approves("bo", 9));
        change(&mut event);
        asked.apply(event, at(2)).map(|_| asked.state)
    };
    assert_eq!(answer(|_| ()), Ok(State::Approved));
    let blank = answer(|event| {
        if let Event::Answer { reason, .. } = event {
            reason.clear();
        }
    });
    assert_eq!(blank, Err(TransitionError::ReasonRequired));
    let session = answer(|event| {
        if let Event::Answer { scope, .. } = event {
            *scope = ApprovalScope::Session;
        }
    });
    assert_eq!(session, Err(TransitionError::EditForSession));
    let linked = answer(|event| {
        if let Event::Answer { standing, .. } = event {
            standing.0.assurance = Assurance::Linked;
        }
    });
    assert!(matches!(linked, Err(TransitionError::InsufficientAssurance(_))), "{linked:?}");
    // A rule that asks for a passkey asks every approver.
    let mut strict = request(Tier::Medium, Quorum::default());
    let mut event = edits(&strict, "ana", 9, Tier::Medium, TWO);
    if let Event::Answer { edited: Some(edited), standing, .. } = &mut event {
        edited.assurance = Some(Assurance::Passkey);
        standing.0.assurance = Assurance::Passkey;
    }
    strict.apply(event, at(1)).unwrap();
    let login = strict.apply(approves("bo", 9), at(2));
    assert!(matches!(login, Err(TransitionError::InsufficientAssurance(_))), "{login:?}");
    // HIGH takes a word of the edited call.
    let mut high = request(Tier::Medium, Quorum::default());
    let event = edits(&high, "ana", 9, Tier::High, TWO);
    high.apply(event, at(1)).unwrap();
    let mut event = approves("bo", 9);
    if let Event::Answer { word, .. } = &mut event {
        *word = word_pair(&call(1).canonical).to_string();
    }
    assert_eq!(high.apply(event, at(2)), Err(TransitionError::WordRequired));
}

#[test]
fn the_requester_does_not_propose_an_edit_for_others() {
    let quorum = Quorum::default();
    let terms = Terms { tier: Tier::Medium, crisis: false, quorum, own_approval: true };
    let plan = request(Tier::Medium, quorum).schedule;
    let requester = Requester::Person("ana".to_owned());
    let mut asked = Request::new(Id::from_bytes([7; 16]), requester, call(1), terms, plan);
    let event = edits(&asked, "ana", 9, Tier::Critical, TWO);
    assert_eq!(asked.apply(event, at(1)), Err(TransitionError::OwnRequest));
    // An edit of bo that one other person must approve: ana does not.
    let event = edits(&asked, "bo", 9, Tier::Critical, TWO);
    asked.apply(event, at(1)).unwrap();
    assert_eq!(asked.apply(approves("ana", 9), at(2)), Err(TransitionError::OwnRequest));
}

#[test]
fn a_crisis_keeps_no_edited_text_for_further_people() {
    let mut asked = Request { crisis: true, ..request(Tier::Medium, TWO) };
    let event = edits(&asked, "ana", 9, Tier::Medium, TWO);
    let refused = asked.apply(event, at(1));
    assert_eq!(refused, Err(TransitionError::CrisisEditNeedsOnePerson));
}

#[test]
fn a_person_who_is_newer_than_the_request_approves_no_edit_of_it() {
    let mut asked = proposed();
    let mut event = approves("bo", 9);
    if let Event::Answer { standing, .. } = &mut event {
        standing.0 = Authority::login(false, Tenure::from(at(1).at));
    }
    assert_eq!(asked.apply(event, at(2)), Err(TransitionError::NewerThanRequest));
}
