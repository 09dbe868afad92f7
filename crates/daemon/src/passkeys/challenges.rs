//! Open challenges: each for one person, one session and one purpose, used once and short-lived.
//! They are in memory only: after a restart people are asked again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use countersign_json::canonical::Digest;
use countersign_types::id::Id;
use countersign_types::time::{Millis, Timestamp};
use countersign_workflow::request::{ApprovalScope, Choice};

use crate::random::{self, EntropyUnavailable};

/// How long a person has to use their passkey.
const LIFETIME: Millis = Millis::from_seconds(180);
/// The most open challenges of one person; the oldest are dropped.
const MAX_OPEN: usize = 8;

/// The decision that a passkey signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedDecision {
    /// The request.
    pub request: Id,
    /// The call that would run.
    pub digest: Digest,
    /// The choice.
    pub choice: Choice,
    /// For how long an approval counts.
    pub scope: ApprovalScope,
}

/// The purpose of a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A new passkey.
    Enrol,
    /// A decision.
    Decide(SignedDecision),
    /// A change of people, rights or settings, by its digest.
    Change(Digest),
}

#[derive(Debug)]
struct Open {
    person: String,
    login: Digest,
    purpose: Purpose,
    nonce: [u8; 32],
    until: Timestamp,
}

/// The open challenges.
#[derive(Debug, Default)]
pub struct Challenges {
    open: Mutex<HashMap<Digest, Open>>,
}

/// The challenge for a decision. It can be computed again from the ledger.
pub fn decision_challenge(decided: &SignedDecision, nonce: &[u8; 32]) -> Digest {
    let choice = match (decided.choice, decided.scope) {
        (Choice::Approve, ApprovalScope::Once) => "approve",
        (Choice::Approve, ApprovalScope::Session) => "approve for session",
        (Choice::Approve, ApprovalScope::Repository) => "approve for repository",
        (Choice::Deny, _) => "deny",
    };
    let SignedDecision { request, digest, .. } = decided;
    let mut text = format!("countersign passkey 1\n{request}\n{digest}\n{choice}\n").into_bytes();
    text.extend_from_slice(nonce);
    Digest::of(&text)
}

/// The challenge for a change. It can be computed again from the ledger.
pub fn change_challenge(change: &Digest, nonce: &[u8; 32]) -> Digest {
    let mut text = change.as_bytes().to_vec();
    text.extend_from_slice(nonce);
    Digest::of(&text)
}

impl Challenges {
    /// A new challenge for a signed-in person.
    pub fn begin(
        &self,
        (person, login): (&str, Digest),
        purpose: Purpose,
        now: Timestamp,
    ) -> Result<Digest, EntropyUnavailable> {
        let nonce = random::bytes::<32>()?;
        let challenge = match &purpose {
            Purpose::Enrol => Digest::of(&nonce),
            Purpose::Decide(decided) => decision_challenge(decided, &nonce),
            Purpose::Change(change) => change_challenge(change, &nonce),
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, open| now < open.until);
        let mut own: Vec<(Timestamp, Digest)> = open
            .iter()
            .filter(|(_, open)| open.person == person)
            .map(|(challenge, open)| (open.until, *challenge))
            .collect();
        own.sort_by_key(|(until, _)| *until);
        for (_, oldest) in own.iter().take((own.len() + 1).saturating_sub(MAX_OPEN)) {
            open.remove(oldest);
        }
        let person = person.to_owned();
        open.insert(challenge, Open { person, login, purpose, nonce, until: now.plus(LIFETIME) });
        Ok(challenge)
    }

    /// Takes a challenge; it is removed, whatever is wrong with it. Returns its nonce if it was
    /// made for exactly this purpose.
    pub fn take(
        &self,
        challenge: &[u8],
        (person, login): (&str, Digest),
        purpose: Purpose,
        now: Timestamp,
    ) -> Option<[u8; 32]> {
        let challenge = Digest::from_bytes(challenge.try_into().ok()?);
        let found = self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&challenge)?;
        let ours = found.person == person && found.login == login && found.purpose == purpose;
        (ours && now < found.until).then_some(found.nonce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn decide(byte: u8) -> Purpose {
        Purpose::Decide(SignedDecision {
            request: Id::from_bytes([byte; 16]),
            digest: Digest::from_bytes([byte; 32]),
            choice: Choice::Approve,
            scope: ApprovalScope::Once,
        })
    }

    #[test]
    fn a_challenge_is_bound_to_person_session_purpose_and_time() {
        let (all, ana) = (Challenges::default(), ("ana", Digest::of(b"login")));
        let fresh = |purpose| *all.begin(ana, purpose, NOW).unwrap().as_bytes();
        let good = fresh(decide(1));
        assert!(all.take(&good, ana, decide(1), NOW).is_some());
        assert_eq!(all.take(&good, ana, decide(1), NOW), None, "twice");
        let later = NOW.plus(LIFETIME);
        for (who, purpose, at) in [
            (("bo", ana.1), decide(1), NOW),
            (("ana", Digest::of(b"another login")), decide(1), NOW),
            (ana, decide(2), NOW),
            (ana, Purpose::Enrol, NOW),
            (ana, Purpose::Change(Digest::from_bytes([1; 32])), NOW),
            (ana, decide(1), later),
        ] {
            let challenge = fresh(decide(1));
            assert_eq!(all.take(&challenge, who, purpose, at), None, "{who:?} {purpose:?}");
            assert_eq!(all.take(&challenge, ana, decide(1), NOW), None, "it is gone");
        }
        assert_eq!(all.take(b"short", ana, decide(1), NOW), None);
    }

    #[test]
    fn the_oldest_own_challenges_are_dropped() {
        let (all, login) = (Challenges::default(), Digest::of(b"login"));
        let others = all.begin(("bo", login), Purpose::Enrol, NOW).unwrap();
        let at = |step: i64| Timestamp(NOW.0 + step);
        let own: Vec<Digest> = (0..20)
            .map(|step| all.begin(("ana", login), Purpose::Enrol, at(step)).unwrap())
            .collect();
        let take = |challenge: &Digest, who| {
            all.take(challenge.as_bytes(), (who, login), Purpose::Enrol, at(30)).is_some()
        };
        let from_stored: Vec<bool> = own.iter().map(|challenge| take(challenge, "ana")).collect();
        assert!(
            from_stored.iter().take(12).all(|from_stored| !from_stored)
                && from_stored.iter().skip(12).all(|from_stored| *from_stored)
        );
        assert!(take(&others, "bo"));
    }

    #[test]
    fn every_part_of_an_answer_is_in_its_challenge() {
        let one = SignedDecision {
            request: Id::from_bytes([1; 16]),
            digest: Digest::from_bytes([1; 32]),
            choice: Choice::Approve,
            scope: ApprovalScope::Once,
        };
        let base = decision_challenge(&one, &[0; 32]);
        assert_ne!(base, decision_challenge(&one, &[1; 32]));
        assert_ne!(
            base,
            decision_challenge(&SignedDecision { choice: Choice::Deny, ..one }, &[0; 32])
        );
        let other = SignedDecision { digest: Digest::from_bytes([2; 32]), ..one };
        assert_ne!(base, decision_challenge(&other, &[0; 32]));
        let other = SignedDecision { request: Id::from_bytes([2; 16]), ..one };
        assert_ne!(base, decision_challenge(&other, &[0; 32]));
        let other = SignedDecision { scope: ApprovalScope::Session, ..one };
        assert_ne!(base, decision_challenge(&other, &[0; 32]));
    }
}
