//! Authentication: agents by token or Unix socket, people by passphrase, session and passkey.

mod directory;
mod error;
mod follow;
mod login_throttle;
mod names;
pub mod origin;
mod passphrase;
pub mod recovery;
mod tokens;

#[cfg(test)]
mod tests;

pub use directory::{Directory, PersonIdentity};
pub use error::AuthError;
pub use follow::follow;
pub use login_throttle::LoginThrottle;
pub use names::{ANONYMOUS, NameError, agent_name, person_name};
pub use passphrase::{
    PassphraseChecks, TooManyLogins, generate as generate_passphrase, hash as hash_passphrase,
};
pub use tokens::{AGENT_TOKEN, PERSON_TOKEN, step_up_proof};
