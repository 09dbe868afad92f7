//! Who is who: agents by token or socket, people by passphrase and login. No claim counts.

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

/// What agents' tokens begin with.
pub const AGENT_TOKEN: &str = "csa_";
/// What people's tokens begin with.
pub const PERSON_TOKEN: &str = "csp_";

/// What a client sends in `X-Countersign-Step-Up` to confirm a change with a passphrase.
pub fn step_up_proof(passphrase: &str) -> String {
    format!("passphrase {}", countersign_json::base64::encode_url(passphrase.as_bytes()))
}

/// Why somebody is not let in. Nothing more is said to who knocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// No credential.
    #[error("a credential is needed")]
    Missing,
    /// One that is unknown, has ended or was revoked.
    #[error("this credential is unknown or has ended")]
    Invalid,
    /// The right kind of door, the wrong kind of credential.
    #[error("this needs a person's credential; agents cannot answer")]
    NotAPerson,
    /// A browser session without its proof: somebody else may have got hold of the cookie.
    #[error("a browser session changes something only with its proof (X-Countersign-Proof)")]
    MissingProof,
    /// A person, but without the right to this.
    #[error("this needs an administrator")]
    NotAnAdministrator,
    /// Too many wrong guesses.
    #[error("too many wrong guesses; try again in {0} s")]
    LockedOut(u32),
}
