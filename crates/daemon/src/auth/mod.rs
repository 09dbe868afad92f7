//! Authentication: agents by token or Unix socket, people by passphrase, session and passkey.

mod directory;
mod follow;
mod login_throttle;
mod names;
pub mod origin;
mod passphrase;
pub mod recovery;

#[cfg(test)]
mod tests;

pub use directory::{Directory, PersonIdentity};
pub use follow::follow;
pub use login_throttle::LoginThrottle;
pub use names::{ANONYMOUS, NameError, agent_name, person_name};
pub use passphrase::{
    PassphraseChecks, TooManyLogins, generate as generate_passphrase, hash as hash_passphrase,
};

/// The prefix of agents' tokens.
pub const AGENT_TOKEN: &str = "csa_";
/// The prefix of people's tokens.
pub const PERSON_TOKEN: &str = "csp_";

/// The value of `X-Countersign-Step-Up` that confirms a change with a passphrase.
pub fn step_up_proof(passphrase: &str) -> String {
    format!("passphrase {}", countersign_json::base64::encode_url(passphrase.as_bytes()))
}

/// Why a caller is not authenticated. The caller learns no more than this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// No credential.
    #[error("a credential is required")]
    Missing,
    /// A credential that is unknown, expired or revoked.
    #[error("the credential is invalid, expired or revoked")]
    Invalid,
    /// An agent's credential where a person's is required.
    #[error("this needs a person's credential; an agent's is not accepted")]
    NotAPerson,
    /// A browser session without its proof: another program may have got hold of the cookie.
    #[error("a change from a browser session needs its proof in X-Countersign-Proof")]
    MissingProof,
    /// A person without the required role.
    #[error("this needs the role administrator")]
    NotAnAdministrator,
    /// Too many failed logins.
    #[error("too many failed logins; try again in {0} s")]
    LockedOut(u32),
}
