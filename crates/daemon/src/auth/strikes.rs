//! Wrong guesses: counted by name and over all names, and answered with waiting that grows.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use countersign_types::time::{Span, Timestamp};

use super::Stranger;

/// So many wrong guesses are free.
const FREE: u32 = 5;
/// The first lock-out; each further one doubles it, up to an hour.
const FIRST: u64 = 30_000;
const LONGEST: u64 = 3_600_000;
/// Names remembered at most: who guesses names cannot fill the memory.
const NAMES: usize = 10_000;
/// Wrong guesses over all names before every further one has to wait for its second.
const BUDGET: u64 = 60;
/// How long it takes until one guess of the budget is given back.
const GIVEN_BACK: u64 = 1_000;

/// Counts wrong guesses. A guess counts as wrong from its beginning until it proves right, so
/// that many at once are no more than many one after the other.
#[derive(Debug, Default)]
pub struct Strikes {
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    by_name: HashMap<String, Count>,
    /// When the budget over all names is whole again.
    whole: Timestamp,
    lockouts: u64,
}

#[derive(Debug, Default)]
struct Count {
    wrong: u32,
    under_way: u32,
    until: Timestamp,
}

impl Strikes {
    /// Whether this name may guess now. Every `Ok` is followed by `wrong`, `right` or `unheard`.
    pub fn begin(&self, name: &str, now: Timestamp) -> Result<(), Stranger> {
        let mut counts = self.lock();
        let used = now.until(counts.whole).0;
        if used >= BUDGET * GIVEN_BACK {
            return Err(Stranger::LockedOut(seconds(used - (BUDGET - 1) * GIVEN_BACK)));
        }
        if counts.by_name.len() >= NAMES && !counts.by_name.contains_key(name) {
            counts.by_name.retain(|_, count| count.until > now || count.under_way > 0);
            // Ten thousand names that are locked out or under way: somebody is guessing.
            if counts.by_name.len() >= NAMES {
                return Err(Stranger::LockedOut(seconds(FIRST)));
            }
        }
        let count = counts.by_name.entry(name.to_owned()).or_default();
        if count.until > now {
            return Err(Stranger::LockedOut(seconds(now.until(count.until).0)));
        }
        if count.under_way > 0 && count.wrong.saturating_add(count.under_way) >= FREE {
            return Err(Stranger::LockedOut(1));
        }
        count.under_way = count.under_way.saturating_add(1);
        counts.whole = counts.whole.max(now).plus(Span(GIVEN_BACK));
        Ok(())
    }

    /// A wrong guess; says for how many seconds it locks the name out, if it does.
    pub fn wrong(&self, name: &str, now: Timestamp) -> Option<u32> {
        let mut counts = self.lock();
        let count = counts.by_name.entry(name.to_owned()).or_default();
        count.under_way = count.under_way.saturating_sub(1);
        count.wrong = count.wrong.saturating_add(1);
        let beyond = count.wrong.checked_sub(FREE)?;
        let wait = (FIRST << beyond.min(7)).min(LONGEST);
        count.until = now.plus(Span(wait));
        counts.lockouts = counts.lockouts.saturating_add(1);
        Some(seconds(wait))
    }

    /// The right one: forgotten, and given back to the budget.
    pub fn right(&self, name: &str) {
        let mut counts = self.lock();
        counts.by_name.remove(name);
        counts.whole = Timestamp(counts.whole.0.saturating_sub_unsigned(GIVEN_BACK));
    }

    /// The guess was not looked at, because too many others were.
    pub fn unheard(&self, name: &str) {
        let mut counts = self.lock();
        if let Some(count) = counts.by_name.get_mut(name) {
            count.under_way = count.under_way.saturating_sub(1);
        }
        counts.whole = Timestamp(counts.whole.0.saturating_sub_unsigned(GIVEN_BACK));
    }

    /// How often a name was locked out since the start.
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

    fn guess(strikes: &Strikes, name: &str, at: Timestamp) -> Result<Option<u32>, Stranger> {
        strikes.begin(name, at).map(|()| strikes.wrong(name, at))
    }

    #[test]
    fn guessing_costs_more_and_more_time() {
        let strikes = Strikes::default();
        for _ in 0..FREE - 1 {
            assert_eq!(guess(&strikes, "ana", NOW), Ok(None));
        }
        assert_eq!(guess(&strikes, "ana", NOW), Ok(Some(30)));
        assert_eq!(guess(&strikes, "ana", NOW), Err(Stranger::LockedOut(30)));
        assert_eq!(guess(&strikes, "bob", NOW), Ok(None));
        let later = NOW.plus(Span(30_000));
        assert_eq!(guess(&strikes, "ana", later), Ok(Some(60)));
        let mut at = later;
        for _ in 0..20 {
            at = at.plus(Span(LONGEST));
            assert!(guess(&strikes, "ana", at).is_ok());
        }
        assert_eq!(strikes.begin("ana", at), Err(Stranger::LockedOut(3_600)));
        assert_eq!(strikes.locked_out(at), 1);
        assert!(strikes.lockouts() > 20);
        at = at.plus(Span(LONGEST));
        strikes.begin("ana", at).unwrap();
        strikes.right("ana");
        assert_eq!(guess(&strikes, "ana", at), Ok(None));
    }

    #[test]
    fn many_guesses_at_once_are_no_more_than_one_after_the_other() {
        let strikes = Strikes::default();
        let begun = (0..100).filter(|_| strikes.begin("ana", NOW).is_ok()).count();
        assert_eq!(begun, usize::try_from(FREE).unwrap());
        for _ in 0..FREE {
            strikes.wrong("ana", NOW);
        }
        let later = NOW.plus(Span(LONGEST));
        assert_eq!(strikes.begin("ana", later), Ok(()));
        assert_eq!(strikes.begin("ana", later), Err(Stranger::LockedOut(1)));
    }

    #[test]
    fn guessing_many_names_is_slowed_to_one_in_a_second() {
        let strikes = Strikes::default();
        let names: Vec<String> = (0..100_000).map(|name| format!("n{name}")).collect();
        let begun = names.iter().filter(|name| guess(&strikes, name, NOW).is_ok()).count();
        assert_eq!(u64::try_from(begun), Ok(BUDGET));
        assert_eq!(guess(&strikes, "owner", NOW), Err(Stranger::LockedOut(1)));
        let later = NOW.plus(Span(10_000));
        let begun = names.iter().filter(|name| guess(&strikes, name, later).is_ok()).count();
        assert_eq!(begun, 10);
        assert!(strikes.lock().by_name.len() <= 70);
    }

    #[test]
    fn who_knows_the_passphrase_uses_no_budget_up() {
        let strikes = Strikes::default();
        for _ in 0..1_000 {
            strikes.begin("ana", NOW).unwrap();
            strikes.right("ana");
        }
        assert_eq!(guess(&strikes, "bob", NOW), Ok(None));
    }
}
