//! Failed logins, counted by name and over all names; lockouts grow with each failure.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use countersign_types::time::{Millis, Timestamp};

use super::error::AuthError;

/// Failed guesses without a lockout.
const FREE_GUESSES: u32 = 5;
/// The first lockout; each further one doubles it, up to an hour.
const FIRST_LOCKOUT: u64 = 30_000;
const MAX_LOCKOUT: u64 = 3_600_000;
/// The most names in memory, so that guessing names cannot fill it.
const MAX_NAMES: usize = 10_000;
/// Guesses over all names before further ones are limited to one a second.
const BUDGET: u64 = 60;
/// How long it takes until one guess of the budget is restored.
const REFILL: u64 = 1_000;

/// Counts failed logins. A guess counts as failed from its start until it succeeds, so that
/// parallel guesses gain nothing.
#[derive(Debug, Default)]
pub struct LoginThrottle {
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    by_name: HashMap<String, Count>,
    /// When the budget over all names is full again.
    budget_full_at: Timestamp,
    lockouts: u64,
}

#[derive(Debug, Default)]
struct Count {
    wrong: u32,
    in_progress: u32,
    until: Timestamp,
}

impl LoginThrottle {
    /// Whether this name may try now. Every `Ok` is followed by `record_failure`, `record_success`
    /// or `record_skipped`.
    pub fn begin(&self, name: &str, now: Timestamp) -> Result<(), AuthError> {
        let mut counts = self.lock();
        let used = now.until(counts.budget_full_at).0;
        if used >= BUDGET * REFILL {
            return Err(AuthError::LockedOut(seconds(used - (BUDGET - 1) * REFILL)));
        }
        if counts.by_name.len() >= MAX_NAMES && !counts.by_name.contains_key(name) {
            counts.by_name.retain(|_, count| count.until > now || count.in_progress > 0);
            // 10,000 names are locked out or in progress: names are being guessed.
            if counts.by_name.len() >= MAX_NAMES {
                return Err(AuthError::LockedOut(seconds(FIRST_LOCKOUT)));
            }
        }
        let count = counts.by_name.entry(name.to_owned()).or_default();
        if count.until > now {
            return Err(AuthError::LockedOut(seconds(now.until(count.until).0)));
        }
        if count.in_progress > 0 && count.wrong.saturating_add(count.in_progress) >= FREE_GUESSES {
            return Err(AuthError::LockedOut(1));
        }
        count.in_progress = count.in_progress.saturating_add(1);
        counts.budget_full_at = counts.budget_full_at.max(now).plus(Millis(REFILL));
        Ok(())
    }

    /// Records a failure; returns the length of the lockout in seconds, if there is one.
    pub fn record_failure(&self, name: &str, now: Timestamp) -> Option<u32> {
        let mut counts = self.lock();
        let count = counts.by_name.entry(name.to_owned()).or_default();
        count.in_progress = count.in_progress.saturating_sub(1);
        count.wrong = count.wrong.saturating_add(1);
        let beyond = count.wrong.checked_sub(FREE_GUESSES)?;
        let wait = (FIRST_LOCKOUT << beyond.min(7)).min(MAX_LOCKOUT);
        count.until = now.plus(Millis(wait));
        counts.lockouts = counts.lockouts.saturating_add(1);
        Some(seconds(wait))
    }

    /// Records a success: the name's failures are forgotten, and the budget is restored.
    pub fn record_success(&self, name: &str) {
        let mut counts = self.lock();
        counts.by_name.remove(name);
        counts.budget_full_at = Timestamp(counts.budget_full_at.0.saturating_sub_unsigned(REFILL));
    }

    /// The guess was not checked, because too many others were in progress.
    pub fn record_skipped(&self, name: &str) {
        let mut counts = self.lock();
        if let Some(count) = counts.by_name.get_mut(name) {
            count.in_progress = count.in_progress.saturating_sub(1);
        }
        counts.budget_full_at = Timestamp(counts.budget_full_at.0.saturating_sub_unsigned(REFILL));
    }

    /// How many lockouts there were since the start.
    pub fn lockouts(&self) -> u64 {
        self.lock().lockouts
    }

    /// How many names are locked out now.
    pub fn locked_out(&self, now: Timestamp) -> usize {
        self.lock().by_name.values().filter(|count| count.until > now).count()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds(millis: u64) -> u32 {
    u32::try_from(millis.div_ceil(1000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn guess(
        throttle: &LoginThrottle,
        name: &str,
        at: Timestamp,
    ) -> Result<Option<u32>, AuthError> {
        throttle.begin(name, at).map(|()| throttle.record_failure(name, at))
    }

    #[test]
    fn lockouts_grow_with_each_failure() {
        let throttle = LoginThrottle::default();
        for _ in 0..FREE_GUESSES - 1 {
            assert_eq!(guess(&throttle, "ana", NOW), Ok(None));
        }
        assert_eq!(guess(&throttle, "ana", NOW), Ok(Some(30)));
        assert_eq!(guess(&throttle, "ana", NOW), Err(AuthError::LockedOut(30)));
        assert_eq!(guess(&throttle, "bob", NOW), Ok(None));
        let later = NOW.plus(Millis(30_000));
        assert_eq!(guess(&throttle, "ana", later), Ok(Some(60)));
        let mut at = later;
        for _ in 0..20 {
            at = at.plus(Millis(MAX_LOCKOUT));
            assert!(guess(&throttle, "ana", at).is_ok());
        }
        assert_eq!(throttle.begin("ana", at), Err(AuthError::LockedOut(3_600)));
        assert_eq!(throttle.locked_out(at), 1);
        assert!(throttle.lockouts() > 20);
        at = at.plus(Millis(MAX_LOCKOUT));
        throttle.begin("ana", at).unwrap();
        throttle.record_success("ana");
        assert_eq!(guess(&throttle, "ana", at), Ok(None));
    }

    #[test]
    fn parallel_guesses_gain_nothing() {
        let throttle = LoginThrottle::default();
        let begun = (0..100).filter(|_| throttle.begin("ana", NOW).is_ok()).count();
        assert_eq!(begun, usize::try_from(FREE_GUESSES).unwrap());
        for _ in 0..FREE_GUESSES {
            throttle.record_failure("ana", NOW);
        }
        let later = NOW.plus(Millis(MAX_LOCKOUT));
        assert_eq!(throttle.begin("ana", later), Ok(()));
        assert_eq!(throttle.begin("ana", later), Err(AuthError::LockedOut(1)));
    }

    #[test]
    fn guessing_many_names_is_limited_to_one_per_second() {
        let throttle = LoginThrottle::default();
        let names: Vec<String> = (0..100_000).map(|name| format!("n{name}")).collect();
        let begun = names.iter().filter(|name| guess(&throttle, name, NOW).is_ok()).count();
        assert_eq!(u64::try_from(begun), Ok(BUDGET));
        assert_eq!(guess(&throttle, "owner", NOW), Err(AuthError::LockedOut(1)));
        let later = NOW.plus(Millis(10_000));
        let begun = names.iter().filter(|name| guess(&throttle, name, later).is_ok()).count();
        assert_eq!(begun, 10);
        assert!(throttle.lock().by_name.len() <= 70);
    }

    #[test]
    fn successful_logins_use_no_budget() {
        let throttle = LoginThrottle::default();
        for _ in 0..1_000 {
            throttle.begin("ana", NOW).unwrap();
            throttle.record_success("ana");
        }
        assert_eq!(guess(&throttle, "bob", NOW), Ok(None));
    }
}
