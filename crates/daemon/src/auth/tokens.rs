//! The form of the tokens and proofs that callers send.

/// The prefix of agents' tokens.
pub const AGENT_TOKEN: &str = "csa_";
/// The prefix of people's tokens.
pub const PERSON_TOKEN: &str = "csp_";

/// The value of `X-Countersign-Step-Up` that confirms a change with a passphrase.
pub fn step_up_proof(passphrase: &str) -> String {
    format!("passphrase {}", countersign_json::base64::encode_url(passphrase.as_bytes()))
}
