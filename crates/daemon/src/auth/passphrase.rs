//! Passphrases: made of words, kept as argon2id only.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use countersign_core::phrase;
use zeroize::Zeroizing;

use crate::chance::{self, NoChance};

/// Words in a passphrase: 10 bits each.
const WORDS: usize = 7;

/// 19 MiB, two passes: what OWASP asks of argon2id at the least.
fn argon() -> Option<Argon2<'static>> {
    let params = Params::new(19_456, 2, 1, None).ok()?;
    Some(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// A fresh passphrase of seven words.
pub fn fresh() -> Result<Zeroizing<String>, NoChance> {
    let bytes = Zeroizing::new(chance::bytes::<{ WORDS * 2 }>()?);
    let words = bytes.chunks_exact(2).map(|pair| {
        let number = pair.iter().fold(0_usize, |number, &byte| number << 8 | usize::from(byte));
        phrase::word(number)
    });
    Ok(Zeroizing::new(words.collect::<Vec<_>>().join("-")))
}

/// What is kept of a passphrase.
pub fn hash(passphrase: &str) -> Option<String> {
    let hashed = argon()?.hash_password(passphrase.as_bytes()).ok()?;
    Some(hashed.to_string())
}

/// Whether this is the passphrase. Anything unreadable is a no.
pub fn check(passphrase: &str, kept: &str) -> bool {
    let (Some(argon), Ok(kept)) = (argon(), PasswordHash::new(kept)) else { return false };
    argon.verify_password(passphrase.as_bytes(), &kept).is_ok()
}
