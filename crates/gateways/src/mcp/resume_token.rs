//! Resume tokens: a client sends one back to continue waiting. Each is bound to one question and
//! call.

use countersign_json::base64;
use countersign_json::canonical::Digest;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::message::ToolCall;
use super::raw_json;

/// Every resume token starts with this.
const PREFIX: &str = "countersign:";
/// Clients come back ten times and then give up; in the last round the model is told instead.
const MAX_ROUNDS: u8 = 9;
/// Longer state of a server is not carried: then the model is told to try again.
const MAX_STATE: usize = 32 << 10;

/// What a call carries for its server, as it is written. It must reach the server, however often
/// the client comes back to the proxy in between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerState {
    /// The text of the server's `requestState`.
    pub state: Option<String>,
    /// The text of the client's `inputResponses`.
    pub responses: Option<String>,
}

impl ServerState {
    /// From a call; nothing if it carries nothing, or one of our resume tokens.
    pub fn of(call: &ToolCall<'_>) -> Option<ServerState> {
        let is_ours =
            call.state.and_then(raw_json::unquote).is_some_and(|one| ResumeTokens::is_ours(&one));
        let text = |written: Option<&str>| written.map(ToOwned::to_owned);
        let server_state = ServerState { state: text(call.state), responses: text(call.responses) };
        let is_empty = server_state.state.is_none() && server_state.responses.is_none();
        (!is_ours && !is_empty).then_some(server_state)
    }
}

/// Makes and reads resume tokens. They are valid in this process only.
pub struct ResumeTokens {
    key: [u8; 32],
}

impl std::fmt::Debug for ResumeTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Parking")
    }
}

/// What a resume token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeToken {
    /// The question.
    pub question: u64,
    /// How often the client has come back.
    pub round: u8,
    /// What the call carried for its server.
    pub server_state: Option<ServerState>,
}

impl ResumeTokens {
    /// With a random key.
    pub fn new() -> Result<ResumeTokens, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(ResumeTokens { key })
    }

    /// Whether a `requestState` claims to be a resume token.
    pub fn is_ours(state: &str) -> bool {
        state.starts_with(PREFIX)
    }

    /// The token for a question; nothing if the client came back too often, or if the token would
    /// be too long.
    pub fn write(
        &self,
        question: u64,
        identity: &str,
        round: u8,
        server_state: Option<&ServerState>,
    ) -> Option<String> {
        if round > MAX_ROUNDS {
            return None;
        }
        let mut said = format!("{question}.{round}");
        if let Some(server_state) = server_state {
            let text =
                serde_json::to_string(server_state).ok().filter(|text| text.len() <= MAX_STATE)?;
            said.push('.');
            said.push_str(&base64::encode_url(text.as_bytes()));
        }
        let seal = self.seal(&said, identity)?;
        Some(format!("{PREFIX}{said}.{}", base64::encode_url(&seal.finalize().into_bytes())))
    }

    /// What a token says, if it was made in this process for this very call.
    pub fn read(&self, state: &str, identity: &str) -> Option<ResumeToken> {
        let (said, seal) = state.strip_prefix(PREFIX)?.rsplit_once('.')?;
        let seal = base64::decode_url(seal).ok()?;
        self.seal(said, identity)?.verify_slice(&seal).ok()?;
        let (question, rest) = said.split_once('.')?;
        let (round, server_state) = match rest.split_once('.') {
            Some((round, text)) => {
                let bytes = base64::decode_url(text).ok()?;
                (round, Some(serde_json::from_slice(&bytes).ok()?))
            }
            None => (rest, None),
        };
        Some(ResumeToken {
            question: question.parse().ok()?,
            round: round.parse().ok()?,
            server_state,
        })
    }

    fn seal(&self, said: &str, identity: &str) -> Option<Hmac<Sha256>> {
        let mut seal = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        seal.update(said.as_bytes());
        seal.update(b"\0");
        seal.update(Digest::of(identity.as_bytes()).as_bytes());
        Some(seal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_valid_for_its_own_call_in_its_own_process_and_for_a_few_rounds() {
        let tokens = ResumeTokens::new().unwrap();
        let state = tokens.write(7, "pay\0{}", 1, None).unwrap();
        assert!(ResumeTokens::is_ours(&state));
        let token = ResumeToken { question: 7, round: 1, server_state: None };
        assert_eq!(tokens.read(&state, "pay\0{}"), Some(token));
        assert_eq!(tokens.read(&state, "pay\0{\"more\":1}"), None);
        assert_eq!(tokens.read(&state.replacen("7.1", "8.1", 1), "pay\0{}"), None);
        assert_eq!(tokens.read("countersign:7.1.", "pay\0{}"), None);
        assert_eq!(tokens.read("elsewhere", "pay\0{}"), None);
        assert_eq!(ResumeTokens::new().unwrap().read(&state, "pay\0{}"), None);
        assert_eq!(tokens.write(7, "pay\0{}", 10, None), None);
    }

    #[test]
    fn server_state_is_carried_whole_sealed_and_bounded() {
        let tokens = ResumeTokens::new().unwrap();
        let server_state = |state: &str| ServerState {
            state: Some(format!("\"{state}\"")),
            responses: Some("{\"a\" : 1e2}".to_owned()),
        };
        let state = tokens.write(7, "pay\0{}", 1, Some(&server_state("s1"))).unwrap();
        let found = tokens.read(&state, "pay\0{}").unwrap();
        assert_eq!(
            found,
            ResumeToken { question: 7, round: 1, server_state: Some(server_state("s1")) }
        );
        // No part of a token can be replaced.
        let other = tokens.write(7, "pay\0{}", 1, Some(&server_state("s2"))).unwrap();
        let (said, _) = other.rsplit_once('.').unwrap();
        let (_, seal) = state.rsplit_once('.').unwrap();
        assert_eq!(tokens.read(&format!("{said}.{seal}"), "pay\0{}"), None);
        assert_eq!(tokens.read(&format!("{PREFIX}7.1.{seal}"), "pay\0{}"), None);
        let long = server_state(&"x".repeat(MAX_STATE));
        assert_eq!(tokens.write(7, "pay\0{}", 1, Some(&long)), None);
    }
}
