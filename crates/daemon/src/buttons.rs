//! The payload of a message's buttons: the request, the choice, and a proof that the daemon made it
//! for exactly this call and this channel. Who pressed the button is checked elsewhere.

use countersign_json::base64;
use countersign_json::canonical::CallDigest;
use countersign_types::id::Id;
use countersign_workflow::request::Choice;
use hmac::{Hmac, KeyInit as _, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Bytes of a proof, 12 characters as text. Each guess has to pass a platform and a person.
const PROOF_BYTES: usize = 9;
/// The number of codes that a person can type where there are no buttons.
const DIGITS: u64 = 1_000_000;

/// Creates and verifies button payloads.
pub struct Buttons {
    key: Zeroizing<[u8; 32]>,
}

/// What a button is for.
#[derive(Debug, Clone, Copy)]
pub struct ButtonTarget<'a> {
    /// The channel.
    pub channel: &'a str,
    /// The request.
    pub request: Id,
    /// The digests of the call.
    pub digest: &'a CallDigest,
}

/// The content of a pressed button, not verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PressedButton {
    /// The choice.
    pub choice: Choice,
    /// The request.
    pub request: Id,
    proof: String,
}

impl Buttons {
    /// With a secret key.
    pub fn new(key: Zeroizing<[u8; 32]>) -> Buttons {
        Buttons { key }
    }

    /// The payload of a button, 41 characters.
    pub fn write(&self, choice: Choice, target: ButtonTarget<'_>) -> String {
        let proof = self.proof(word(choice), target);
        let proof = proof.get(..PROOF_BYTES).unwrap_or_default();
        format!("{}:{}:{}", word(choice), target.request, base64::encode_url(proof))
    }

    /// Parses a payload; its proof is verified once the request is known.
    pub fn read(text: &str) -> Option<PressedButton> {
        let (choice, rest) = text.split_once(':')?;
        let choice = match choice {
            "a" => Choice::Approve,
            "d" => Choice::Deny,
            _ => return None,
        };
        let (id, proof) = rest.split_once(':')?;
        Some(PressedButton { choice, request: Id::parse(id)?, proof: proof.to_owned() })
    }

    /// Whether the daemon made this button for this call and this channel.
    pub fn verify(&self, pressed: &PressedButton, target: ButtonTarget<'_>) -> bool {
        let Ok(given) = base64::decode_url(&pressed.proof) else { return false };
        let proof = self.proof(word(pressed.choice), target);
        let proof = proof.get(..PROOF_BYTES).unwrap_or_default();
        pressed.request == target.request
            && given.len() == PROOF_BYTES
            && bool::from(given.as_slice().ct_eq(proof))
    }

    /// Six digits that name a request where a person has to type them.
    pub fn code(&self, target: ButtonTarget<'_>) -> String {
        let proof = self.proof("code", target);
        let bytes = proof.first_chunk::<8>().copied().unwrap_or_default();
        format!("{:06}", u64::from_be_bytes(bytes) % DIGITS)
    }

    fn proof(&self, about: &str, target: ButtonTarget<'_>) -> Vec<u8> {
        // HMAC accepts a key of any length; on an error nothing would ever match.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.key.as_slice()) else {
            return Vec::new();
        };
        let ButtonTarget { channel, request, digest } = target;
        mac.update(format!("countersign button 1\n{about}\n{channel}\n{request}\n").as_bytes());
        mac.update(digest.canonical.as_bytes());
        mac.update(digest.raw.as_bytes());
        mac.finalize().into_bytes().to_vec()
    }
}

impl std::fmt::Debug for Buttons {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Buttons")
    }
}

const fn word(choice: Choice) -> &'static str {
    match choice {
        Choice::Approve => "a",
        Choice::Deny => "d",
    }
}

#[cfg(test)]
mod tests {
    use countersign_json::canonical::Digest;

    use super::*;

    fn call(byte: u8) -> CallDigest {
        let digest = Digest::from_bytes([byte; 32]);
        CallDigest { canonical: digest, raw: digest, both_bind: false }
    }

    #[test]
    fn a_button_is_bound_to_one_call_choice_and_channel() {
        let buttons = Buttons::new(Zeroizing::new([7; 32]));
        let (digest, other) = (call(1), call(2));
        let request = Id::from_bytes([3; 16]);
        let target = ButtonTarget { channel: "telegram", request, digest: &digest };
        let text = buttons.write(Choice::Deny, target);
        assert_eq!(text.len(), 41);
        let pressed = Buttons::read(&text).unwrap();
        assert!(buttons.verify(&pressed, target));
        let yes = Buttons::read(&text.replacen('d', "a", 1)).unwrap();
        assert!(!buttons.verify(&yes, target));
        assert!(!buttons.verify(&pressed, ButtonTarget { channel: "slack", ..target }));
        assert!(!buttons.verify(&pressed, ButtonTarget { digest: &other, ..target }));
        assert!(
            !buttons.verify(&pressed, ButtonTarget { request: Id::from_bytes([4; 16]), ..target })
        );
        let stranger = Buttons::new(Zeroizing::new([8; 32]));
        assert!(!stranger.verify(&pressed, target));
        let short = PressedButton { proof: String::new(), ..pressed };
        assert!(!buttons.verify(&short, target));
    }

    #[test]
    fn invalid_button_payloads_are_rejected() {
        for text in ["", "a", "a:b", "a:b:c", "x:00000000000000000000000001:AAAAAAAAAAAA", "a::"] {
            assert_eq!(Buttons::read(text), None, "{text}");
        }
    }

    #[test]
    fn codes_are_six_digits_and_differ() {
        let buttons = Buttons::new(Zeroizing::new([7; 32]));
        let digest = call(1);
        let code = |byte| {
            let request = Id::from_bytes([byte; 16]);
            buttons.code(ButtonTarget { channel: "sms", request, digest: &digest })
        };
        assert!(code(1).len() == 6 && code(1).bytes().all(|byte| byte.is_ascii_digit()));
        assert_ne!(code(1), code(2));
    }
}
