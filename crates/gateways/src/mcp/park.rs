//! The state that a client brings back: bound to one case and one call, good for a few rounds.

use countersign_core::base64;
use countersign_core::canon::Digest;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// So stands before every state of ours.
const MARK: &str = "countersign:";
/// Clients come back ten times and then give up; the last time the model is told instead.
const ROUNDS: u8 = 9;

/// Makes and reads states. What it made is worthless to any other run.
pub struct Parking {
    key: [u8; 32],
}

impl std::fmt::Debug for Parking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Parking")
    }
}

/// What a state says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parked {
    /// Which case.
    pub case: u64,
    /// How often the client has come back with it.
    pub round: u8,
}

impl Parking {
    /// With a key of its own.
    pub fn new() -> Result<Parking, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Parking { key })
    }

    /// Whether a state claims to be ours.
    pub fn is_ours(state: &str) -> bool {
        state.starts_with(MARK)
    }

    /// The state for a case; nothing where the client came back too often already.
    pub fn write(&self, case: u64, same: &str, round: u8) -> Option<String> {
        if round > ROUNDS {
            return None;
        }
        let said = format!("{case}.{round}");
        let seal = self.seal(&said, same)?;
        Some(format!("{MARK}{said}.{}", base64::encode_url(&seal.finalize().into_bytes())))
    }

    /// What a state says, if it was made here for this very call.
    pub fn read(&self, state: &str, same: &str) -> Option<Parked> {
        let (said, seal) = state.strip_prefix(MARK)?.rsplit_once('.')?;
        let seal = base64::decode_url(seal).ok()?;
        self.seal(said, same)?.verify_slice(&seal).ok()?;
        let (case, round) = said.split_once('.')?;
        Some(Parked { case: case.parse().ok()?, round: round.parse().ok()? })
    }

    fn seal(&self, said: &str, same: &str) -> Option<Hmac<Sha256>> {
        let mut seal = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        seal.update(said.as_bytes());
        seal.update(b"\0");
        seal.update(Digest::of(same.as_bytes()).as_bytes());
        Some(seal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_good_for_its_own_call_in_its_own_run_and_not_for_ever() {
        let parking = Parking::new().unwrap();
        let state = parking.write(7, "pay\0{}", 1).unwrap();
        assert!(Parking::is_ours(&state));
        assert_eq!(parking.read(&state, "pay\0{}"), Some(Parked { case: 7, round: 1 }));
        assert_eq!(parking.read(&state, "pay\0{\"more\":1}"), None);
        assert_eq!(parking.read(&state.replacen("7.1", "8.1", 1), "pay\0{}"), None);
        assert_eq!(parking.read("countersign:7.1.", "pay\0{}"), None);
        assert_eq!(parking.read("elsewhere", "pay\0{}"), None);
        assert_eq!(Parking::new().unwrap().read(&state, "pay\0{}"), None);
        assert_eq!(parking.write(7, "pay\0{}", 10), None);
    }
}
