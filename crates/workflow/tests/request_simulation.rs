//! Random sequences of events against a model: the guarantees hold in every order of events.
//!
//! A failure names its seed: `SEED=123 cargo test -p countersign-workflow --test
//! request_simulation` repeats it. `RUNS=1000000` runs more sequences.

#[cfg(test)]
mod simulation {
    use std::collections::HashSet;

    use countersign_json::canonical::{CallDigest, Digest};
    use countersign_risk::word_pair::word_pair;
    use countersign_types::id::Id;
    use countersign_types::tier::Tier;
    use countersign_types::time::{Millis, Moment, Timestamp};
    use countersign_workflow::assurance::{Assurance, Authority, RequiredAssurance, Tenure};
    use countersign_workflow::request::{
        ApprovalScope, Choice, Decider, EditedCall, EscalationLevel, EscalationTimes, Event,
        PartsAnswer, Profile, Quorum, Request, Requester, State, StopCause, Terms, Transition,
        TransitionError,
    };

    const SCOPES: [ApprovalScope; 3] =
        [ApprovalScope::Once, ApprovalScope::Session, ApprovalScope::Repository];
    const PEOPLE: [&str; 4] = ["ana", "bo", "cy", "dee"];

    /// `SplitMix64`: small, and the same on every machine.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }

        fn below(&mut self, end: u64) -> u64 {
            self.roll() % end
        }

        fn one_in(&mut self, odds: u64) -> bool {
            self.below(odds) == 0
        }

        fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
            &list[usize::try_from(self.below(list.len() as u64)).unwrap()]
        }
    }

    fn call(byte: u8) -> CallDigest {
        let digest = Digest::from_bytes([byte; 32]);
        CallDigest { canonical: digest, raw: digest, both_bind: byte.is_multiple_of(2) }
    }

    /// The expected behaviour, written independently of the implementation: sets and one condition.
    struct Model {
        requester: Requester,
        deadline: i64,
        created: Timestamp,
        crisis: bool,
        tier: Tier,
        quorum: Quorum,
        own_approval: bool,
        /// The edit that several people must approve, if there is one.
        proposal: Option<EditedCall>,
        /// Who approved which call, and how many edits came before.
        yes: Vec<(String, CallDigest, u32)>,
        edits: u32,
        no: HashSet<String>,
        end: Option<State>,
    }

    impl Model {
        /// The expected end after an event, if any.
        fn expects(&mut self, event: &Event, now: Moment) -> Option<State> {
            if self.end.is_some() {
                return None;
            }
            let late = now.at.0 >= self.deadline;
            let end = match event {
                Event::Time => late.then_some(State::Expired),
                // Whatever people voted before, and whoever asked.
                Event::Stop { .. } if late => Some(State::Expired),
                Event::Stop { .. } => Some(State::Denied),
                // Parts run alone; the whole is denied, by a person who may approve each part.
                Event::AnswerParts(given) => {
                    let accepted = !late && self.may_approve_parts(given, now);
                    if accepted {
                        self.no.insert(given.person.clone());
                    }
                    accepted.then_some(State::Denied)
                }
                Event::Cancel { by } => {
                    (!late && *by == self.requester).then_some(State::Cancelled)
                }
                Event::Answer { .. } if late => None,
                Event::Answer { .. } => self.expects_answer(event, now),
            };
            self.end = end;
            end
        }

        /// Whether this person approved the call that people are asked about now.
        fn approved(&self, person: &str) -> bool {
            self.yes.iter().any(|(name, _, edits)| name == person && *edits == self.edits)
        }

        fn current(&self) -> CallDigest {
            self.proposal.map_or(call(1), |proposal| proposal.digest)
        }

        fn expects_answer(&mut self, event: &Event, now: Moment) -> Option<State> {
            let Event::Answer { person, choice, seen, edited, reason, word, standing, .. } = event
            else {
                return None;
            };
            let is_own = self.requester == Requester::Person(person.clone());
            if *choice == Choice::Deny {
                let again =
                    self.no.contains(person) || (self.approved(person) && self.proposal.is_none());
                if again || (is_own && !self.own_approval) {
                    return None;
                }
                self.no.insert(person.clone());
                let enough = self.no.len() >= usize::from(self.quorum.deny.max(1));
                return (enough || self.proposal.is_some()).then_some(State::Denied);
            }
            // Everything that is said about the call: by the request, the proposal and the edit.
            let is_new = edited.is_some_and(|edited| edited.digest != self.current());
            let said = self.proposal.filter(|_| !is_new).into_iter().chain(*edited);
            let said: Vec<EditedCall> = said.collect();
            let tier = said.iter().map(|call| call.tier).fold(self.tier, Tier::max);
            let needed = said.iter().map(|call| call.quorum.approve);
            let needed = needed.fold(self.quorum.approve.max(1), u8::max);
            let assurance = said.iter().filter_map(|call| call.assurance).max();
            let troubled = said.iter().any(|call| call.crisis);
            let runs = edited.map_or(self.current(), |edited| edited.digest);
            let needs_reason = self.crisis || troubled || tier == Tier::Critical;
            let worded = !needs_reason || !reason.trim().is_empty();
            let may_edit = said.is_empty() || if self.crisis { needed == 1 } else { !troubled };
            // HIGH takes a word of the call that would run.
            let pair = word_pair(&runs.canonical);
            let high = tier == Tier::High && !self.crisis && !troubled;
            let words = [pair.first, pair.second, &format!("{}-{}", pair.first, pair.second)];
            let typed = !high || words.contains(&word.as_str());
            let tenure = standing.0.tenure;
            let there = tenure.since <= self.created && tenure.active_from <= now.at;
            let own = is_own && (!self.own_approval || needed > 1);
            let answered = self.no.contains(person) || (self.approved(person) && !is_new);
            let sure = self.sure_of(tier, standing.0, standing.1.at_least(assurance));
            let accepted = now.reliable && *seen == self.current() && worded && typed;
            if !accepted || own || answered || !may_edit || !there || !sure {
                return None;
            }
            if is_new {
                self.edits += 1;
                let raised = EditedCall {
                    digest: runs,
                    tier,
                    crisis: self.crisis || troubled,
                    quorum: Quorum { approve: needed, ..self.quorum },
                    assurance,
                };
                self.proposal = (needed > 1).then_some(raised);
            }
            self.yes.push((person.clone(), runs, self.edits));
            let since = self.yes.iter().filter(|(_, _, edits)| *edits == self.edits);
            assert!(since.clone().all(|(_, digest, _)| *digest == runs), "votes for two calls");
            (since.count() >= usize::from(needed)).then_some(State::Approved)
        }

        /// Whether a person may approve parts: what one person may approve alone, as the whole.
        fn may_approve_parts(&self, given: &PartsAnswer, now: Moment) -> bool {
            let own = self.requester == Requester::Person(given.person.clone());
            let answered = self.approved(&given.person) || self.no.contains(&given.person);
            let alone = given.people <= 1 && self.quorum.approve <= 1 && self.quorum.deny <= 1;
            let critical = given.tier == Tier::Critical;
            let scope = match given.scope {
                ApprovalScope::Once => true,
                ApprovalScope::Session => !critical,
                ApprovalScope::Repository => false,
            };
            let pair = word_pair(&call(1).canonical);
            let words = [pair.first, pair.second, &format!("{}-{}", pair.first, pair.second)];
            let typed = given.tier != Tier::High || words.contains(&given.word.as_str());
            let (standing, needs) = given.standing;
            let tenure = standing.tenure;
            let there = tenure.since <= self.created && tenure.active_from <= now.at;
            let shown = now.reliable && given.seen == call(1) && !self.crisis;
            !own && !answered
                && self.proposal.is_none()
                && alone
                && scope
                && typed
                && there
                && shown
                && given.tier <= self.tier
                && (!critical || !given.reason.trim().is_empty())
                && self.sure_of(given.tier, standing, needs)
        }

        /// Whether the identity of the approver is certain enough.
        fn sure_of(&self, tier: Tier, standing: Authority, needs: RequiredAssurance) -> bool {
            let (sure, critical) = (standing.assurance, tier == Tier::Critical);
            let logged_in = matches!(sure, Assurance::Login | Assurance::Passkey);
            let set = match tier {
                Tier::Critical => needs.critical,
                Tier::High => needs.high,
                Tier::Medium | Tier::Low | Tier::Safe => needs.medium,
            };
            sure >= set
                && standing.approves >= tier
                && (tier != Tier::High || sure != Assurance::Reached)
                && (logged_in || !(critical || self.crisis))
                && (sure == Assurance::Passkey || !(critical && standing.has_passkey))
        }
    }

    fn random_tenure(dice: &mut Dice) -> Tenure {
        let any = |dice: &mut Dice| match dice.below(4) {
            0 => Timestamp(i64::try_from(dice.below(1 << 41)).unwrap()),
            _ => Timestamp(0),
        };
        Tenure { since: any(dice), active_from: any(dice) }
    }

    fn random_standing(dice: &mut Dice) -> (Authority, RequiredAssurance) {
        if dice.one_in(2) {
            return (Authority::login(false, random_tenure(dice)), RequiredAssurance::default());
        }
        let standing = Authority {
            assurance: *dice.pick(&Assurance::ALL),
            approves: *dice.pick(&Tier::ALL),
            has_passkey: dice.one_in(2),
            tenure: random_tenure(dice),
        };
        let mut any = || *dice.pick(&Assurance::ALL);
        (standing, RequiredAssurance { medium: any(), high: any(), critical: any() })
    }

    /// Nothing, the words of one of the calls, or other words.
    fn typed_word(dice: &mut Dice) -> String {
        let pair = |byte| word_pair(&call(byte).canonical);
        let words = [
            String::new(),
            pair(1).first.to_owned(),
            pair(1).to_string(),
            pair(3).second.to_owned(),
            pair(3).to_string(),
            pair(5).to_string(),
            "yes".to_owned(),
        ];
        dice.pick(&words).clone()
    }

    fn random_event(dice: &mut Dice, requester: &Requester, current: CallDigest) -> Event {
        if dice.one_in(40) {
            let person = (*dice.pick(&PEOPLE)).to_owned();
            let freezes = dice.one_in(2);
            let cause = if freezes { StopCause::Freeze } else { StopCause::TakeOver };
            return Event::Stop { person, cause };
        }
        match dice.below(10) {
            0..3 => Event::Time,
            3 => {
                let others =
                    [Requester::Agent("eve".to_owned()), Requester::Person("ana".to_owned())];
                let by = if dice.one_in(2) { requester } else { dice.pick(&others) };
                Event::Cancel { by: by.clone() }
            }
            4 => Event::AnswerParts(Box::new(PartsAnswer {
                person: (*dice.pick(&PEOPLE)).to_owned(),
                seen: if dice.one_in(6) { call(2) } else { call(1) },
                channel: "web".to_owned(),
                told: "Approved only: ls".to_owned(),
                reason: (*dice.pick(&["", " \t", "asked the customer"])).to_owned(),
                word: typed_word(dice),
                scope: *dice.pick(&SCOPES),
                standing: random_standing(dice),
                tier: *dice.pick(&Tier::ALL),
                people: u8::from(dice.one_in(4)) + 1,
                grants: Vec::new(),
            })),
            _ => Event::Answer {
                person: (*dice.pick(&PEOPLE)).to_owned(),
                choice: if dice.one_in(3) { Choice::Deny } else { Choice::Approve },
                scope: ApprovalScope::Once,
                seen: match dice.below(6) {
                    0 => call(2),
                    1 => call(1),
                    _ => current,
                },
                edited: dice.one_in(3).then(|| EditedCall {
                    digest: call(*dice.pick(&[1, 3, 3, 5])),
                    tier: *dice.pick(&Tier::ALL),
                    crisis: dice.one_in(8),
                    quorum: Quorum { approve: u8::try_from(dice.below(4)).unwrap(), deny: 1 },
                    assurance: dice.one_in(6).then(|| *dice.pick(&Assurance::ALL)),
                }),
                channel: "web".to_owned(),
                reason: (*dice.pick(&["", " \t", "asked the customer"])).to_owned(),
                word: typed_word(dice),
                standing: random_standing(dice),
            },
        }
    }

    fn random_request(dice: &mut Dice) -> Request {
        let tier = *dice.pick(&Tier::ALL);
        let crisis = dice.one_in(4);
        let small = |dice: &mut Dice| u8::try_from(dice.below(4)).unwrap();
        let quorum = Quorum { approve: small(dice), deny: small(dice) };
        let times = EscalationTimes {
            profile: if dice.one_in(3) { Profile::Strict } else { Profile::Standard },
            ..EscalationTimes::default()
        };
        let asked = dice.one_in(2).then(|| Millis(dice.below(900_000)));
        let created = Timestamp(i64::try_from(dice.below(1 << 40)).unwrap());
        let plan = times.schedule(created, tier, crisis, asked);
        let requester = match dice.below(3) {
            0 => Requester::Person((*dice.pick(&PEOPLE)).to_owned()),
            _ => Requester::Agent((*dice.pick(&["claude", "ana"])).to_owned()),
        };
        let id = Id::new(created, [9; 10]);
        let terms = Terms { tier, crisis, quorum, own_approval: dice.one_in(2) };
        Request::new(id, requester, call(1), terms, plan)
    }

    fn check_end(request: &Request, now: Moment, seed: u64) {
        let decision = request.decision.as_ref().expect("an end has a decision");
        assert_eq!(decision.state, request.state, "seed {seed}");
        match request.state {
            State::Approved => {
                assert!(
                    now.at < request.schedule.deadline && now.reliable,
                    "seed {seed}: approved late"
                );
                let Decider::People(people) = &decision.by else { panic!("seed {seed}") };
                let distinct: HashSet<_> = people.iter().collect();
                let proposed = request.proposal.as_ref();
                let needed = proposed.map_or(0, |proposed| proposed.call.quorum.approve);
                let needed = usize::from(needed.max(request.quorum.approve).max(1));
                assert_eq!(distinct.len(), people.len(), "seed {seed}: a person counted twice");
                assert!(distinct.len() >= needed, "seed {seed}: too few");
                let own = matches!(&request.requester, Requester::Person(p) if people.contains(p));
                let alone = request.own_approval && needed == 1;
                assert!(!own || alone, "seed {seed}: the requester approved");
                let edited = decision.digest != request.digest;
                assert!(
                    !edited || [call(3), call(5)].contains(&decision.digest),
                    "seed {seed}: a call that was not edited"
                );
                let other = proposed.is_some_and(|one| one.call.digest != decision.digest);
                assert!(!other, "seed {seed}: another call than the proposed one");
            }
            State::Expired => {
                assert!(now.at >= request.schedule.deadline, "seed {seed}: expired early");
            }
            State::Denied | State::Cancelled => {
                assert!(
                    now.at < request.schedule.deadline,
                    "seed {seed}: ended after its deadline"
                );
            }
            State::Pending => panic!("seed {seed}: pending is not an end state"),
        }
    }

    /// What a sequence came to.
    struct Outcome {
        state: State,
        /// How often parts were approved.
        partial: u32,
        /// Whether several people approved an edit.
        approved_proposal: bool,
        /// Whether an edit took the place of another one.
        replaced: bool,
    }

    /// Every request ends: after its deadline one tick is enough.
    fn expire(request: &mut Request, seed: u64) -> State {
        if !request.state.has_ended() {
            let late = Moment { at: request.schedule.deadline, reliable: false };
            let ended = request.apply(Event::Time, late);
            assert!(matches!(ended, Ok(Transition::Ended(_))), "seed {seed}");
            assert_eq!(request.state, State::Expired, "seed {seed}");
        }
        request.state
    }

    /// Runs one sequence from its seed.
    fn run(seed: u64) -> Outcome {
        let mut dice = Dice(seed);
        let mut request = random_request(&mut dice);
        let mut model = Model {
            requester: request.requester.clone(),
            deadline: request.schedule.deadline.0,
            created: request.schedule.created,
            crisis: request.crisis,
            tier: request.tier,
            quorum: request.quorum,
            own_approval: request.own_approval,
            proposal: None,
            yes: Vec::new(),
            edits: 0,
            no: HashSet::new(),
            end: None,
        };
        let mut now = Moment::reliable(request.schedule.created);
        let (mut level, mut partial, mut replaced) = (EscalationLevel::First, 0, false);
        for _ in 0..40 {
            now.at = now.at.plus(Millis(dice.below(40_000)));
            now.reliable = !dice.one_in(8);
            let before = request.clone();
            let event = random_event(&mut dice, &before.requester, before.current_digest());
            let expected = model.expects(&event, now);
            let change = request.apply(event.clone(), now);
            if before.state.has_ended() {
                assert_eq!(request, before, "seed {seed}: an end was changed by {event:?}");
                assert!(matches!(change, Ok(Transition::Nothing) | Err(TransitionError::Ended(_))));
                continue;
            }
            if change.is_err() {
                assert_eq!(request, before, "seed {seed}: a refusal changed something");
            }
            let ended = request.state.has_ended().then_some(request.state);
            assert_eq!(ended, expected, "seed {seed}: {event:?} at {now:?} of {before:?}");
            let call = |request: &Request| request.proposal.as_ref().map(|one| one.call);
            assert_eq!(call(&request), model.proposal, "seed {seed}: {event:?} of {before:?}");
            replaced |= before.proposal.is_some() && before.proposal != request.proposal;
            assert!(request.level >= level, "seed {seed}: the level went down");
            level = request.level;
            if let Event::AnswerParts(given) = &event {
                // Nothing but a denial of the whole, by this person.
                let is_denied = ended == Some(State::Denied);
                assert_eq!(change.is_ok(), is_denied, "seed {seed}: parts left it pending");
                let vote = request.votes.last().filter(|_| is_denied);
                let denies = vote
                    .is_none_or(|vote| vote.choice == Choice::Deny && vote.person == given.person);
                assert!(denies, "seed {seed}: parts count as an approval of the whole");
                partial += u32::from(is_denied);
            }
            if ended.is_some() {
                check_end(&request, now, seed);
            } else if matches!(event, Event::Time) {
                let due = request.next_due().expect("something is due while it is open");
                assert!(
                    due > now.at,
                    "seed {seed}: time passed and {due} is still due at {}",
                    now.at
                );
            }
        }
        let state = expire(&mut request, seed);
        let approved_proposal = state == State::Approved && request.proposal.is_some();
        Outcome { state, partial, approved_proposal, replaced }
    }

    fn number(name: &str) -> Option<u64> {
        std::env::var(name).ok()?.parse().ok()
    }

    #[test]
    fn the_guarantees_hold_in_every_sequence() {
        if let Some(seed) = number("SEED") {
            run(seed);
            return;
        }
        let (mut ends, mut partial, mut proposals, mut replaced) = ([0_u32; 5], 0, 0, 0);
        for seed in 0..number("RUNS").unwrap_or(50_000) {
            let outcome = run(seed);
            partial += outcome.partial;
            proposals += u32::from(outcome.approved_proposal);
            replaced += u32::from(outcome.replaced);
            ends[State::ALL.iter().position(|&state| state == outcome.state).unwrap()] += 1;
        }
        // A simulation in which a state never occurs proves nothing about it.
        assert!(ends[1..].iter().all(|&count| count > 100), "{ends:?}");
        assert!(partial > 100, "{partial} answers to parts");
        assert!(proposals > 30, "{proposals} edits approved by several people");
        assert!(replaced > 10, "{replaced} edits replaced by another");
    }
}
