//! Unit tests of the request.

use super::*;
use crate::assurance::{Authority, RequiredAssurance, Tenure};
use countersign_json::canonical::Digest;
use countersign_risk::word_pair::word_pair;
use countersign_types::time::{Millis, Moment};

pub(super) fn call(byte: u8) -> CallDigest {
    let digest = Digest::from_bytes([byte; 32]);
    CallDigest { canonical: digest, raw: digest, both_bind: false }
}

pub(super) fn request(tier: Tier, quorum: Quorum) -> Request {
    let terms = Terms { tier, crisis: false, quorum, own_approval: false };
    let plan = EscalationTimes::default().schedule(Timestamp(1_000), tier, false, None);
    let id = Id::from_bytes([7; 16]);
    Request::new(id, Requester::Agent("claude".to_owned()), call(1), terms, plan)
}

pub(super) fn says(person: &str, choice: Choice, reason: &str) -> Event {
    Event::Answer {
        person: person.to_owned(),
        choice,
        scope: ApprovalScope::Once,
        seen: call(1),
        edited: None,
        channel: "web".to_owned(),
        reason: reason.to_owned(),
        word: word_pair(&call(1).canonical).to_string(),
        standing: (
            Authority::login(false, Tenure::from(Timestamp(1_000))),
            RequiredAssurance::default(),
        ),
    }
}

pub(super) fn edited_call(tier: Tier, quorum: Quorum) -> EditedCall {
    EditedCall { digest: call(9), tier, crisis: false, quorum, assurance: None }
}

pub(super) fn at(seconds: i64) -> Moment {
    Moment::reliable(Timestamp(1_000 + seconds * 1_000))
}

#[test]
fn one_approval_in_time_decides_and_later_events_change_nothing() {
    let mut asked = request(Tier::Medium, Quorum::default());
    let change = asked.apply(says("ana", Choice::Approve, ""), at(5)).unwrap();
    let Transition::Ended(decision) = change else { panic!("{change:?}") };
    assert_eq!(decision.state, State::Approved);
    assert_eq!(decision.by, Decider::People(vec!["ana".to_owned()]));
    assert_eq!(decision.digest, call(1));
    let refused = asked.apply(says("bob", Choice::Deny, ""), at(6));
    assert_eq!(refused, Err(TransitionError::Ended(State::Approved)));
    assert_eq!(asked.apply(Event::Time, at(9_999)), Ok(Transition::Nothing));
    assert_eq!(asked.state, State::Approved);
}

#[test]
fn an_unanswered_request_expires_and_a_late_approval_changes_nothing() {
    let mut asked = request(Tier::Medium, Quorum::default());
    let late = asked.apply(says("ana", Choice::Approve, ""), at(300));
    assert_eq!(late, Err(TransitionError::DeadlinePassed));
    assert_eq!(asked.state, State::Pending);
    assert!(matches!(asked.apply(Event::Time, at(300)), Ok(Transition::Ended(_))));
    assert_eq!(asked.state, State::Expired);
    let later = asked.apply(says("ana", Choice::Approve, ""), at(301));
    assert_eq!(later, Err(TransitionError::Ended(State::Expired)));
}

#[test]
fn it_escalates_by_tier_and_reports_each_level_once() {
    let mut asked = request(Tier::High, Quorum::default());
    assert_eq!(asked.next_due(), Some(at(30).at));
    assert_eq!(asked.apply(Event::Time, at(29)), Ok(Transition::Nothing));
    assert_eq!(asked.apply(Event::Time, at(30)), Ok(Transition::Escalated(EscalationLevel::Next)));
    assert_eq!(asked.apply(Event::Time, at(31)), Ok(Transition::Nothing));
    // A daemon that was suspended goes to the level that is due now.
    assert_eq!(
        asked.apply(Event::Time, at(95)),
        Ok(Transition::Escalated(EscalationLevel::Emergency))
    );
    assert_eq!(asked.next_due(), Some(at(300).at));
}

#[test]
fn in_a_crisis_people_are_paged_at_0_1_3_and_5_minutes_and_nothing_ends_before() {
    let strict = EscalationTimes { profile: Profile::Strict, ..EscalationTimes::default() };
    let long = EscalationTimes { max_timeout: Millis::from_seconds(86_400), ..strict };
    for times in [EscalationTimes::default(), strict, long] {
        let asked = Some(Millis::from_seconds(5));
        let plan = times.schedule(Timestamp(0), Tier::Medium, true, asked);
        let mut asked = Request { crisis: true, ..request(Tier::Medium, Quorum::default()) };
        asked.schedule = plan;
        let mut pages = Vec::new();
        while let Some(due) = asked.next_due().filter(|due| *due < plan.deadline) {
            let due = Moment { at: due, reliable: true };
            assert!(matches!(asked.apply(Event::Time, due), Ok(Transition::Escalated(_))));
            pages.push(due.at.0 / 60_000);
        }
        assert_eq!(pages, [1, 3, 5]);
        assert_eq!(asked.state, State::Pending);
        assert!(plan.deadline >= Timestamp(600_000), "the last page has time for an answer");
    }
    let plan = long.schedule(Timestamp(0), Tier::Medium, true, None);
    assert_eq!(plan.deadline, Timestamp(900_000));
}

#[test]
fn the_strict_profile_ends_at_the_first_interval() {
    let strict = EscalationTimes { profile: Profile::Strict, ..EscalationTimes::default() };
    for (tier, seconds) in [(Tier::Medium, 60), (Tier::High, 30), (Tier::Critical, 10)] {
        let plan = strict.schedule(Timestamp(0), tier, false, Some(Millis::from_seconds(600)));
        assert_eq!(plan.deadline, Timestamp(seconds * 1_000));
    }
}

#[test]
fn a_caller_can_change_the_deadline_only_within_limits() {
    let times = EscalationTimes::default();
    let ends = |asked| times.schedule(Timestamp(0), Tier::Medium, false, asked).deadline.0;
    assert_eq!(ends(None), 300_000);
    assert_eq!(ends(Some(Millis::from_seconds(20))), 20_000);
    assert_eq!(ends(Some(Millis::from_seconds(86_400))), 600_000);
    assert_eq!(ends(Some(Millis(0))), 1);
    let never = EscalationTimes {
        default_timeout: Millis(u64::MAX),
        max_timeout: Millis(u64::MAX),
        ..times
    };
    assert!(never.schedule(Timestamp(0), Tier::Medium, false, None).deadline > Timestamp(0));
}

#[test]
fn each_person_counts_once_and_one_denial_ends_it() {
    let mut asked = request(Tier::High, Quorum { approve: 2, deny: 1 });
    let first = asked.apply(says("ana", Choice::Approve, ""), at(1));
    assert_eq!(first, Ok(Transition::ApprovalCounted { approvals: 1, needed: 2 }));
    let again = asked.apply(says("ana", Choice::Approve, ""), at(2));
    assert_eq!(again, Err(TransitionError::AlreadyAnswered));
    assert_eq!(asked.state, State::Pending);
    let mut other = asked.clone();
    asked.apply(says("bob", Choice::Approve, ""), at(3)).unwrap();
    assert_eq!(asked.state, State::Approved);
    other.apply(says("bob", Choice::Deny, ""), at(3)).unwrap();
    assert_eq!(other.state, State::Denied);
}

#[test]
fn a_requester_cannot_answer_or_cancel_for_others() {
    let mut asked = request(Tier::Medium, Quorum { approve: 2, deny: 1 });
    asked.requester = Requester::Person("ana".to_owned());
    let own = asked.apply(says("ana", Choice::Approve, ""), at(1));
    assert_eq!(own, Err(TransitionError::OwnRequest));
    // One person is enough, and the terms do not say that it may be the requester.
    let mut alone = request(Tier::Medium, Quorum::default());
    alone.requester = Requester::Person("ana".to_owned());
    let own = alone.apply(says("ana", Choice::Approve, ""), at(1));
    assert_eq!(own, Err(TransitionError::OwnRequest));
    let with_terms = |approve: u8| {
        let quorum = Quorum { approve, deny: 1 };
        let terms = Terms { tier: Tier::Medium, crisis: false, quorum, own_approval: true };
        Request::new(alone.id, alone.requester.clone(), call(1), terms, alone.schedule)
    };
    let mut two = with_terms(2);
    let own = two.apply(says("ana", Choice::Approve, ""), at(1));
    assert_eq!(own, Err(TransitionError::OwnRequest), "two people must decide");
    let mut alone = with_terms(1);
    alone.apply(says("ana", Choice::Approve, ""), at(1)).unwrap();
    assert_eq!(alone.state, State::Approved);
    let foreign = Event::Cancel { by: Requester::Agent("ana".to_owned()) };
    assert_eq!(asked.apply(foreign, at(1)), Err(TransitionError::NotRequester));
    let own = Event::Cancel { by: Requester::Person("ana".to_owned()) };
    assert!(matches!(asked.apply(own, at(1)), Ok(Transition::Ended(_))));
    assert_eq!(asked.state, State::Cancelled);
}

#[test]
fn an_approval_needs_the_digest_a_reliable_clock_and_for_critical_a_reason() {
    let mut asked = request(Tier::Critical, Quorum::default());
    let blank = asked.apply(says("ana", Choice::Approve, " \n"), at(1));
    assert_eq!(blank, Err(TransitionError::ReasonRequired));
    let behind = Moment { reliable: false, ..at(1) };
    let jumped = asked.apply(says("ana", Choice::Approve, "asked Bo"), behind);
    assert_eq!(jumped, Err(TransitionError::ClockUnreliable));
    let mut other = says("ana", Choice::Approve, "asked Bo");
    if let Event::Answer { seen, .. } = &mut other {
        *seen = call(2);
    }
    assert_eq!(asked.apply(other, at(1)), Err(TransitionError::DigestMismatch));
    // A denial needs none of that.
    let mut no = says("ana", Choice::Deny, "");
    if let Event::Answer { seen, .. } = &mut no {
        *seen = call(2);
    }
    asked.apply(no, behind).unwrap();
    assert_eq!(asked.state, State::Denied);
}

#[test]
fn an_edited_call_is_what_is_approved() {
    let mut asked = request(Tier::High, Quorum::default());
    let edit = |asked: &mut Request| {
        let mut event = says("ana", Choice::Approve, "");
        if let Event::Answer { edited, word, .. } = &mut event {
            *edited = Some(edited_call(Tier::High, Quorum::default()));
            *word = word_pair(&call(9).canonical).to_string();
        }
        asked.apply(event, at(1))
    };
    let mut shared = Request { quorum: Quorum { approve: 2, deny: 1 }, ..asked.clone() };
    let first = edit(&mut shared);
    assert_eq!(first, Ok(Transition::ApprovalCounted { approvals: 1, needed: 2 }));
    let mut crisis = Request { crisis: true, ..asked.clone() };
    assert_eq!(edit(&mut crisis), Err(TransitionError::ReasonRequired));
    edit(&mut asked).unwrap();
    assert_eq!(asked.decision.unwrap().digest, call(9));
}

/// Every requested tier, every edited tier, one person or two for CRITICAL: the edited call is
/// approved only under the rules of the higher tier.
#[test]
fn an_edited_call_takes_its_own_quorum_reason_and_assurance() {
    let quorum_of = |tier, critical| Quorum {
        approve: if tier == Tier::Critical { critical } else { 1 },
        deny: 1,
    };
    for asked_tier in Tier::ALL {
        for edited_tier in Tier::ALL {
            for critical in [1, 2] {
                for reason in ["", "asked Bo"] {
                    for standing in [
                        Authority::login(false, Tenure::from(Timestamp(0))),
                        Authority::login(true, Tenure::from(Timestamp(0))),
                        Authority {
                            assurance: crate::assurance::Assurance::Linked,
                            ..Authority::login(false, Tenure::from(Timestamp(0)))
                        },
                    ] {
                        let mut asked = request(asked_tier, quorum_of(asked_tier, critical));
                        let mut event = says("ana", Choice::Approve, reason);
                        if let Event::Answer { edited, word, standing: given, .. } = &mut event {
                            *word = word_pair(&call(9).canonical).to_string();
                            let quorum = quorum_of(edited_tier, critical);
                            *edited = Some(edited_call(edited_tier, quorum));
                            given.0 = standing;
                        }
                        let grave = asked_tier.max(edited_tier) == Tier::Critical;
                        let plain = Authority::login(false, Tenure::from(Timestamp(0)));
                        let may = !grave || !reason.is_empty() && standing == plain;
                        let alone = !grave || critical == 1;
                        let counted = asked.apply(event, at(1)).is_ok();
                        let name = format!(
                            "{asked_tier:?} edited into {edited_tier:?}, {critical}, {reason:?}"
                        );
                        assert_eq!(counted, may, "{name}");
                        let approved = asked.state == State::Approved;
                        assert_eq!(approved, may && alone, "{name}");
                        assert_eq!(asked.proposal.is_some(), may && !alone, "{name}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_new_person_cannot_approve_older_requests_or_during_the_waiting_period() {
    let created = Timestamp(1_000);
    let answer = |tenure, choice| {
        let mut asked = request(Tier::Medium, Quorum::default());
        let mut event = says("ana", choice, "");
        if let Event::Answer { standing, .. } = &mut event {
            standing.0 = Authority::login(false, tenure);
        }
        asked.apply(event, at(10)).map(|_| asked.state)
    };
    let approve = |tenure| answer(tenure, Choice::Approve);
    assert_eq!(approve(Tenure::from(created)), Ok(State::Approved));
    let newer = Tenure::from(Timestamp(1_001));
    assert_eq!(approve(newer), Err(TransitionError::NewerThanRequest));
    let waits = Tenure { since: Timestamp(0), active_from: Timestamp(11_001) };
    assert_eq!(approve(waits), Err(TransitionError::WaitingUntil(Timestamp(11_001))));
    let waited = Tenure { since: Timestamp(0), active_from: Timestamp(11_000) };
    assert_eq!(approve(waited), Ok(State::Approved));
    for new in [newer, waits] {
        assert_eq!(answer(new, Choice::Deny), Ok(State::Denied), "a denial is always taken");
    }
    assert_eq!(waits.and(newer), Tenure { since: newer.since, active_from: waits.active_from });
}

#[test]
fn high_takes_one_of_the_words_of_the_call_that_runs() {
    let pair = word_pair(&call(1).canonical);
    for tier in Tier::ALL {
        for (given, fits) in
            [(pair.first, true), (pair.second, true), ("", false), ("yes", false), ("-", false)]
        {
            let mut asked = request(tier, Quorum::default());
            let mut event = says("ana", Choice::Approve, "asked Bo");
            if let Event::Answer { word, .. } = &mut event {
                given.clone_into(word);
            }
            let done = asked.apply(event, at(1));
            let may = tier != Tier::High || fits;
            assert_eq!(done.is_ok(), may, "{tier:?} {given:?}");
            assert!(may || done == Err(TransitionError::WordRequired));
        }
    }
    // The words of the original call do not approve an edited one, and a denial takes none.
    let mut asked = request(Tier::High, Quorum::default());
    let mut event = says("ana", Choice::Approve, "");
    if let Event::Answer { edited, .. } = &mut event {
        *edited = Some(edited_call(Tier::Low, Quorum::default()));
    }
    assert_eq!(asked.apply(event, at(1)), Err(TransitionError::WordRequired));
    let mut no = says("ana", Choice::Deny, "");
    if let Event::Answer { word, .. } = &mut no {
        word.clear();
    }
    asked.apply(no, at(1)).unwrap();
    assert_eq!(asked.state, State::Denied);
}

#[test]
fn an_approval_for_the_session_takes_every_approval_and_no_edit() {
    let for_session = |person: &str| {
        let mut event = says(person, Choice::Approve, "");
        if let Event::Answer { scope, .. } = &mut event {
            *scope = ApprovalScope::Session;
        }
        event
    };
    let two = Quorum { approve: 2, deny: 1 };
    for (first, scope) in [
        (for_session("ana"), ApprovalScope::Session),
        (says("ana", Choice::Approve, ""), ApprovalScope::Once),
    ] {
        let mut asked = request(Tier::Medium, two);
        asked.apply(first, at(1)).unwrap();
        assert_eq!(asked.approval_scope(), ApprovalScope::Once, "not decided yet");
        asked.apply(for_session("bo"), at(2)).unwrap();
        assert_eq!((asked.state, asked.approval_scope()), (State::Approved, scope));
    }
    let mut edited = for_session("ana");
    if let Event::Answer { edited, word, .. } = &mut edited {
        *word = word_pair(&call(9).canonical).to_string();
        *edited = Some(edited_call(Tier::Medium, Quorum::default()));
    }
    let mut asked = request(Tier::Medium, Quorum::default());
    assert_eq!(asked.apply(edited, at(1)), Err(TransitionError::EditForSession));
    let mut grave = request(Tier::Critical, Quorum::default());
    let mut event = for_session("ana");
    if let Event::Answer { reason, .. } = &mut event {
        "as agreed".clone_into(reason);
    }
    assert_eq!(grave.apply(event, at(1)), Err(TransitionError::NotForSession));
}
