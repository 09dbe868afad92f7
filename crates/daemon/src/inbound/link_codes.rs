//! Codes that link a chat account to a person: short-lived, used once, few guesses.

use std::sync::{Mutex, PoisonError};

use countersign_types::time::{Millis, Timestamp};
use subtle::ConstantTimeEq as _;

use crate::random::{self, EntropyUnavailable};

/// How long a code is valid.
const LIFETIME: Millis = Millis::from_seconds(600);
/// The maximum number of codes; the oldest is dropped.
const MAX_CODES: usize = 64;
/// The number of wrong codes that invalidates all codes, so that guessing does not pay.
const MAX_GUESSES: u32 = 20;
/// Characters that are not easily confused.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// The length of a code: 40 bits.
const CODE_LENGTH: usize = 8;

/// The valid codes.
#[derive(Debug, Default)]
pub struct LinkCodes {
    open: Mutex<UnusedCodes>,
}

#[derive(Debug, Default)]
struct UnusedCodes {
    codes: Vec<LinkCode>,
    wrong: u32,
}

#[derive(Debug)]
struct LinkCode {
    code: String,
    channel: String,
    person: String,
    until: Timestamp,
}

impl LinkCodes {
    /// A new code for a person and a channel; it replaces an older one.
    pub fn issue(
        &self,
        channel: &str,
        person: &str,
        now: Timestamp,
    ) -> Result<(String, Timestamp), EntropyUnavailable> {
        let code: String = random::bytes::<CODE_LENGTH>()?
            .iter()
            .filter_map(|byte| ALPHABET.get(usize::from(byte % 32)))
            .map(|letter| char::from(*letter))
            .collect();
        let until = now.plus(LIFETIME);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.wrong = 0;
        open.codes.retain(|issue| {
            issue.until > now && !(issue.channel == channel && issue.person == person)
        });
        if open.codes.len() >= MAX_CODES {
            open.codes.remove(0);
        }
        let (channel, person) = (channel.to_owned(), person.to_owned());
        open.codes.push(LinkCode { code: code.clone(), channel, person, until });
        Ok((code, until))
    }

    /// The person of this code, which is invalid from now on.
    pub fn redeem(&self, channel: &str, code: &str, now: Timestamp) -> Option<String> {
        let code: String =
            code.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_uppercase();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.codes.retain(|issue| issue.until > now);
        let found = open.codes.iter().position(|issue| {
            issue.channel == channel && bool::from(issue.code.as_bytes().ct_eq(code.as_bytes()))
        });
        if let Some(at) = found {
            return Some(open.codes.remove(at).person);
        }
        open.wrong = open.wrong.saturating_add(1);
        if open.wrong >= MAX_GUESSES {
            open.codes.clear();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    #[test]
    fn a_link_code_is_used_once_in_time_and_in_its_channel() {
        let codes = LinkCodes::default();
        let (code, until) = codes.issue("telegram", "ana", NOW).unwrap();
        assert!(code.len() == CODE_LENGTH && until == NOW.plus(LIFETIME));
        assert_eq!(codes.redeem("slack", &code, NOW), None);
        let (first, rest) = code.split_at(4);
        let typed = format!(" {}-{} ", first.to_lowercase(), rest);
        assert_eq!(codes.redeem("telegram", &typed, NOW).as_deref(), Some("ana"));
        assert_eq!(codes.redeem("telegram", &code, NOW), None);
        let (late, until) = codes.issue("telegram", "ana", NOW).unwrap();
        assert_eq!(codes.redeem("telegram", &late, until), None);
        assert_eq!(codes.redeem("telegram", "", NOW), None);
    }

    #[test]
    fn a_newer_code_replaces_the_older_and_guessing_voids_all() {
        let codes = LinkCodes::default();
        let (old, _) = codes.issue("telegram", "ana", NOW).unwrap();
        let (new, _) = codes.issue("telegram", "ana", NOW).unwrap();
        assert_eq!(codes.redeem("telegram", &old, NOW), None);
        for guess in 0..MAX_GUESSES {
            codes.redeem("telegram", &format!("{guess:08}"), NOW);
        }
        assert_eq!(codes.redeem("telegram", &new, NOW), None);
    }
}
