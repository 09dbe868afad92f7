//! A test message's own button: whoever taps it shows that the way back works as well. It answers
//! no request, and works once.

use std::sync::{Mutex, PoisonError};

use countersign_json::base64;
use countersign_types::time::{Span, Timestamp};
use subtle::ConstantTimeEq as _;

use crate::chance::{self, NoChance};

/// What such a button carries begins so; those of requests begin otherwise.
const MARK: &str = "t:";
/// How long it can be tapped.
const GOOD_FOR: Span = Span::seconds(600);
/// Buttons of one channel at the same time; the oldest gives way.
const MOST: usize = 16;

/// Tests of one channel.
#[derive(Debug, Default)]
pub struct Tries {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    open: Vec<(String, Timestamp)>,
    tapped: Option<Tapped>,
}

/// The last tap on a test's button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tapped {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
}

impl Tries {
    /// What the button of a new test carries.
    pub fn offer(&self, now: Timestamp) -> Result<String, NoChance> {
        let button = format!("{MARK}{}", base64::encode_url(&chance::bytes::<18>()?));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.open.retain(|(_, until)| *until > now);
        if known.open.len() >= MOST {
            known.open.remove(0);
        }
        known.open.push((button.clone(), now.plus(GOOD_FOR)));
        Ok(button)
    }

    /// Whether a button is one of a test, by how it begins.
    pub fn is_one(button: &str) -> bool {
        button.starts_with(MARK)
    }

    /// Somebody taps it: whether it was one of ours, in time and for the first time.
    pub fn tap(&self, button: &str, by: &str, now: Timestamp) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.open.retain(|(_, until)| *until > now);
        let same =
            |(ours, _): &(String, Timestamp)| bool::from(ours.as_bytes().ct_eq(button.as_bytes()));
        let Some(at) = known.open.iter().position(same) else { return false };
        known.open.remove(at);
        known.tapped = Some(Tapped { at: now, by: by.to_owned() });
        true
    }

    /// The last tap.
    pub fn tapped(&self) -> Option<Tapped> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).tapped.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_works_once_in_time_and_only_if_it_is_ours() {
        let (tries, now) = (Tries::default(), Timestamp(1_000));
        let button = tries.offer(now).unwrap();
        assert!(Tries::is_one(&button) && button.len() <= 64, "Telegram takes 64 bytes");
        assert!(crate::buttons::Buttons::read(&button).is_none(), "it answers no request");
        for wrong in ["", "t:", button.split_at(9).0, "t:AAAAAAAAAAAAAAAAAAAAAAAA"] {
            assert!(!tries.tap(wrong, "ana", now), "{wrong}");
        }
        assert!(!Tries::default().tap(&button, "ana", now), "another channel's");
        assert_eq!(tries.tapped(), None);
        assert!(tries.tap(&button, "ana", now));
        assert_eq!(tries.tapped(), Some(Tapped { at: now, by: "ana".to_owned() }));
        assert!(!tries.tap(&button, "bo", now), "twice");
        let late = tries.offer(now).unwrap();
        assert!(!tries.tap(&late, "ana", now.plus(GOOD_FOR)));
        assert_eq!(tries.tapped().unwrap().by, "ana");
    }
}
