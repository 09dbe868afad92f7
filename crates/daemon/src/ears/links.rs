//! Codes that link an account elsewhere to a person: short-lived, used once, few guesses.

use std::sync::{Mutex, PoisonError};

use countersign_types::time::{Span, Timestamp};
use subtle::ConstantTimeEq as _;

use crate::chance::{self, NoChance};

/// How long a code is good.
const GOOD_FOR: Span = Span::seconds(600);
/// Codes at the same time; the oldest gives way.
const MOST: usize = 64;
/// Wrong codes before all codes are void: who guesses gains nothing by patience.
const GUESSES: u32 = 20;
/// Letters that nobody takes for another.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// Letters of a code: 40 bits.
const LENGTH: usize = 8;

/// The codes that are good.
#[derive(Debug, Default)]
pub struct Links {
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    offers: Vec<Offer>,
    wrong: u32,
}

#[derive(Debug)]
struct Offer {
    code: String,
    channel: String,
    person: String,
    until: Timestamp,
}

impl Links {
    /// A fresh code for a person and a channel; an older one for the same is void.
    pub fn offer(
        &self,
        channel: &str,
        person: &str,
        now: Timestamp,
    ) -> Result<(String, Timestamp), NoChance> {
        let code: String = chance::bytes::<LENGTH>()?
            .iter()
            .filter_map(|byte| LETTERS.get(usize::from(byte % 32)))
            .map(|letter| char::from(*letter))
            .collect();
        let until = now.plus(GOOD_FOR);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.wrong = 0;
        open.offers.retain(|offer| {
            offer.until > now && !(offer.channel == channel && offer.person == person)
        });
        if open.offers.len() >= MOST {
            open.offers.remove(0);
        }
        let (channel, person) = (channel.to_owned(), person.to_owned());
        open.offers.push(Offer { code: code.clone(), channel, person, until });
        Ok((code, until))
    }

    /// The person whose code this is; it is void from now on.
    pub fn take(&self, channel: &str, code: &str, now: Timestamp) -> Option<String> {
        let code: String =
            code.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_uppercase();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.offers.retain(|offer| offer.until > now);
        let found = open.offers.iter().position(|offer| {
            offer.channel == channel && bool::from(offer.code.as_bytes().ct_eq(code.as_bytes()))
        });
        if let Some(at) = found {
            return Some(open.offers.remove(at).person);
        }
        open.wrong = open.wrong.saturating_add(1);
        if open.wrong >= GUESSES {
            open.offers.clear();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    #[test]
    fn a_code_is_used_once_in_time_and_where_it_was_made_for() {
        let links = Links::default();
        let (code, until) = links.offer("telegram", "ana", NOW).unwrap();
        assert!(code.len() == LENGTH && until == NOW.plus(GOOD_FOR));
        assert_eq!(links.take("slack", &code, NOW), None);
        let (first, rest) = code.split_at(4);
        let typed = format!(" {}-{} ", first.to_lowercase(), rest);
        assert_eq!(links.take("telegram", &typed, NOW).as_deref(), Some("ana"));
        assert_eq!(links.take("telegram", &code, NOW), None);
        let (late, until) = links.offer("telegram", "ana", NOW).unwrap();
        assert_eq!(links.take("telegram", &late, until), None);
        assert_eq!(links.take("telegram", "", NOW), None);
    }

    #[test]
    fn a_newer_code_voids_the_older_and_guessing_voids_all() {
        let links = Links::default();
        let (old, _) = links.offer("telegram", "ana", NOW).unwrap();
        let (new, _) = links.offer("telegram", "ana", NOW).unwrap();
        assert_eq!(links.take("telegram", &old, NOW), None);
        for guess in 0..GUESSES {
            links.take("telegram", &format!("{guess:08}"), NOW);
        }
        assert_eq!(links.take("telegram", &new, NOW), None);
    }
}
