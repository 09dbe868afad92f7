//! Wrong guesses: counted by name, and answered with waiting that grows.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use countersign_core::time::{Span, Timestamp};

use super::Stranger;

/// So many wrong guesses are free.
const FREE: u32 = 5;
/// The first lock-out; each further one doubles it, up to an hour.
const FIRST: u64 = 30_000;
const LONGEST: u64 = 3_600_000;
/// Names remembered at most: who guesses names cannot fill the memory.
const NAMES: usize = 10_000;

/// Counts wrong guesses.
#[derive(Debug, Default)]
pub struct Strikes {
    by_name: Mutex<HashMap<String, Count>>,
}

#[derive(Debug, Default)]
struct Count {
    wrong: u32,
    until: Timestamp,
}

impl Strikes {
    /// Whether this name may guess now.
    pub fn may_try(&self, name: &str, now: Timestamp) -> Result<(), Stranger> {
        let by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        match by_name.get(name) {
            Some(count) if count.until > now => {
                let seconds = now.until(count.until).0.div_ceil(1000);
                Err(Stranger::LockedOut(u32::try_from(seconds).unwrap_or(u32::MAX)))
            }
            _ => Ok(()),
        }
    }

    /// A wrong guess; says whether it locks the name out.
    pub fn wrong(&self, name: &str, now: Timestamp) -> bool {
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        if by_name.len() >= NAMES && !by_name.contains_key(name) {
            by_name.retain(|_, count| count.until > now);
        }
        let count = by_name.entry(name.to_owned()).or_default();
        count.wrong = count.wrong.saturating_add(1);
        let Some(beyond) = count.wrong.checked_sub(FREE) else { return false };
        let wait = (FIRST << beyond.min(7)).min(LONGEST);
        count.until = now.plus(Span(wait));
        true
    }

    /// The right one: forgotten.
    pub fn right(&self, name: &str) {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guessing_costs_more_and_more_time() {
        let strikes = Strikes::default();
        let now = Timestamp(1_000);
        for _ in 0..FREE - 1 {
            assert!(!strikes.wrong("ana", now));
        }
        assert_eq!(strikes.may_try("ana", now), Ok(()));
        assert!(strikes.wrong("ana", now));
        assert_eq!(strikes.may_try("ana", now), Err(Stranger::LockedOut(30)));
        assert_eq!(strikes.may_try("bob", now), Ok(()));
        assert!(strikes.wrong("ana", now));
        assert_eq!(strikes.may_try("ana", now), Err(Stranger::LockedOut(60)));
        for _ in 0..200 {
            strikes.wrong("ana", now);
        }
        assert_eq!(strikes.may_try("ana", now), Err(Stranger::LockedOut(3_600)));
        strikes.right("ana");
        assert_eq!(strikes.may_try("ana", now), Ok(()));
    }
}
