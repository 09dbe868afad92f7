//! The button of a test message: a tap shows that replies work too. It decides no request and works
//! once.

use std::sync::{Mutex, PoisonError};

use countersign_json::base64;
use countersign_types::time::{Millis, Timestamp};
use subtle::ConstantTimeEq as _;

use crate::random::{self, EntropyUnavailable};

/// The prefix of the data of a test button; buttons of requests have another prefix.
const PREFIX: &str = "t:";
/// How long the button is valid.
const LIFETIME: Millis = Millis::from_seconds(600);
/// The most valid buttons of one channel; the oldest is dropped.
const MAX_OPEN: usize = 16;

/// The test buttons of one channel.
#[derive(Debug, Default)]
pub struct TestButtons {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    open: Vec<(String, Timestamp)>,
    last_tap: Option<TestButtonTap>,
}

/// The last tap on a test's button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestButtonTap {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
}

impl TestButtons {
    /// The data of a new button.
    pub fn offer(&self, now: Timestamp) -> Result<String, EntropyUnavailable> {
        let button = format!("{PREFIX}{}", base64::encode_url(&random::bytes::<18>()?));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.open.retain(|(_, until)| *until > now);
        if known.open.len() >= MAX_OPEN {
            known.open.remove(0);
        }
        known.open.push((button.clone(), now.plus(LIFETIME)));
        Ok(button)
    }

    /// Whether the data belongs to a test button.
    pub fn is_test_button(button: &str) -> bool {
        button.starts_with(PREFIX)
    }

    /// Records a tap; returns whether the button was valid and not used before.
    pub fn tap(&self, button: &str, by: &str, now: Timestamp) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.open.retain(|(_, until)| *until > now);
        let same =
            |(ours, _): &(String, Timestamp)| bool::from(ours.as_bytes().ct_eq(button.as_bytes()));
        let Some(at) = known.open.iter().position(same) else { return false };
        known.open.remove(at);
        known.last_tap = Some(TestButtonTap { at: now, by: by.to_owned() });
        true
    }

    /// The last tap.
    pub fn last_tap(&self) -> Option<TestButtonTap> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).last_tap.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_button_works_once_in_time_and_in_its_channel() {
        let (test_buttons, now) = (TestButtons::default(), Timestamp(1_000));
        let button = test_buttons.offer(now).unwrap();
        assert!(
            TestButtons::is_test_button(&button) && button.len() <= 64,
            "Telegram takes 64 bytes"
        );
        assert!(crate::buttons::Buttons::read(&button).is_none(), "it answers no request");
        for wrong in ["", "t:", button.split_at(9).0, "t:AAAAAAAAAAAAAAAAAAAAAAAA"] {
            assert!(!test_buttons.tap(wrong, "ana", now), "{wrong}");
        }
        assert!(!TestButtons::default().tap(&button, "ana", now), "another channel's");
        assert_eq!(test_buttons.last_tap(), None);
        assert!(test_buttons.tap(&button, "ana", now));
        assert_eq!(test_buttons.last_tap(), Some(TestButtonTap { at: now, by: "ana".to_owned() }));
        assert!(!test_buttons.tap(&button, "bo", now), "twice");
        let late = test_buttons.offer(now).unwrap();
        assert!(!test_buttons.tap(&late, "ana", now.plus(LIFETIME)));
        assert_eq!(test_buttons.last_tap().unwrap().by, "ana");
    }
}
