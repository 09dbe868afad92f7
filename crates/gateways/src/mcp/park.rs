//! The state that a client brings back: bound to one case and one call, good for a few rounds.

use countersign_json::base64;
use countersign_json::canonical::Digest;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::message::ToolCall;
use super::scan;

/// So stands before every state of ours.
const MARK: &str = "countersign:";
/// Clients come back ten times and then give up; the last time the model is told instead.
const ROUNDS: u8 = 9;
/// A server's own state that is longer is not carried: then the model is told to try again.
const LONGEST: usize = 32 << 10;

/// What a call brings back to its server, as it is written: it has to arrive there, however often
/// the client comes back to us in between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// The server's state.
    pub state: Option<String>,
    /// What the client answers to the server's questions.
    pub responses: Option<String>,
}

impl Carried {
    /// From a call whose state is not ours.
    pub fn of(call: &ToolCall<'_>) -> Option<Carried> {
        let is_ours = call.state.and_then(scan::plain).is_some_and(|one| Parking::is_ours(&one));
        let text = |written: Option<&str>| written.map(ToOwned::to_owned);
        let carried = Carried { state: text(call.state), responses: text(call.responses) };
        let is_empty = carried.state.is_none() && carried.responses.is_none();
        (!is_ours && !is_empty).then_some(carried)
    }
}

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// Which case.
    pub case: u64,
    /// How often the client has come back with it.
    pub round: u8,
    /// What the call brought for its server.
    pub carried: Option<Carried>,
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

    /// The state for a case; nothing where the client came back too often already, or where it
    /// would have to carry too much.
    pub fn write(
        &self,
        case: u64,
        same: &str,
        round: u8,
        carried: Option<&Carried>,
    ) -> Option<String> {
        if round > ROUNDS {
            return None;
        }
        let mut said = format!("{case}.{round}");
        if let Some(carried) = carried {
            let text = serde_json::to_string(carried).ok().filter(|text| text.len() <= LONGEST)?;
            said.push('.');
            said.push_str(&base64::encode_url(text.as_bytes()));
        }
        let seal = self.seal(&said, same)?;
        Some(format!("{MARK}{said}.{}", base64::encode_url(&seal.finalize().into_bytes())))
    }

    /// What a state says, if it was made here for this very call.
    pub fn read(&self, state: &str, same: &str) -> Option<Parked> {
        let (said, seal) = state.strip_prefix(MARK)?.rsplit_once('.')?;
        let seal = base64::decode_url(seal).ok()?;
        self.seal(said, same)?.verify_slice(&seal).ok()?;
        let (case, rest) = said.split_once('.')?;
        let (round, carried) = match rest.split_once('.') {
            Some((round, text)) => {
                let bytes = base64::decode_url(text).ok()?;
                (round, Some(serde_json::from_slice(&bytes).ok()?))
            }
            None => (rest, None),
        };
        Some(Parked { case: case.parse().ok()?, round: round.parse().ok()?, carried })
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
        let state = parking.write(7, "pay\0{}", 1, None).unwrap();
        assert!(Parking::is_ours(&state));
        let parked = Parked { case: 7, round: 1, carried: None };
        assert_eq!(parking.read(&state, "pay\0{}"), Some(parked));
        assert_eq!(parking.read(&state, "pay\0{\"more\":1}"), None);
        assert_eq!(parking.read(&state.replacen("7.1", "8.1", 1), "pay\0{}"), None);
        assert_eq!(parking.read("countersign:7.1.", "pay\0{}"), None);
        assert_eq!(parking.read("elsewhere", "pay\0{}"), None);
        assert_eq!(Parking::new().unwrap().read(&state, "pay\0{}"), None);
        assert_eq!(parking.write(7, "pay\0{}", 10, None), None);
    }

    #[test]
    fn what_is_for_the_server_is_carried_whole_sealed_and_within_bounds() {
        let parking = Parking::new().unwrap();
        let carried = |state: &str| Carried {
            state: Some(format!("\"{state}\"")),
            responses: Some("{\"a\" : 1e2}".to_owned()),
        };
        let state = parking.write(7, "pay\0{}", 1, Some(&carried("s1"))).unwrap();
        let found = parking.read(&state, "pay\0{}").unwrap();
        assert_eq!(found, Parked { case: 7, round: 1, carried: Some(carried("s1")) });
        // Nothing in it can be put in place of something else.
        let other = parking.write(7, "pay\0{}", 1, Some(&carried("s2"))).unwrap();
        let (said, _) = other.rsplit_once('.').unwrap();
        let (_, seal) = state.rsplit_once('.').unwrap();
        assert_eq!(parking.read(&format!("{said}.{seal}"), "pay\0{}"), None);
        assert_eq!(parking.read(&format!("{MARK}7.1.{seal}"), "pay\0{}"), None);
        let long = carried(&"x".repeat(LONGEST));
        assert_eq!(parking.write(7, "pay\0{}", 1, Some(&long)), None);
    }
}
