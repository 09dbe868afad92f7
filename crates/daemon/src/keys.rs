//! The daemon's keys: one signs permits and checkpoints, another one signs responses to clients.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use countersign_channels::webpush::VapidKey;
use countersign_json::base64;
use countersign_json::canonical::Digest;
use countersign_ledger::checkpoint;
use countersign_ledger::checkpoint::{Checkpoint, NoteError, VerifierKey};
use countersign_ledger::permit;
use countersign_ledger::permit::{Claims, PermitError};
use countersign_ledger::response_signature::{SignedExchange, write_public_key};
use countersign_risk::facts::FactsKey;
use ed25519_dalek::{Signature, Signer as _, SigningKey};
use zeroize::Zeroizing;

use crate::random;

/// The headers of the key files.
const HEAD: &str = "countersign-ed25519-1 ";
const PUSH_HEAD: &str = "countersign-p256-1 ";
const TLS_HEAD: &str = "countersign-tls-pkcs8-1 ";

/// The file of the key that signs responses, beside the signing key. It can be replaced without
/// touching the ledger.
pub const RESPONSE_KEY_FILE: &str = "response.key";
/// The file of its public half, which clients pin.
pub const PUBLIC_KEY_FILE: &str = "daemon.pub";

/// Makes the bytes of a new key.
type FreshKey = fn() -> Result<Zeroizing<Vec<u8>>, random::EntropyUnavailable>;

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    /// The file has another content.
    #[error("{0} is not a key file of Countersign")]
    Unreadable(PathBuf),
    /// Other users can read the file.
    #[error("{0} can be read by other users, so its signatures prove nothing; run chmod 600")]
    Exposed(PathBuf),
    /// The system has no randomness.
    #[error(transparent)]
    EntropyUnavailable(#[from] random::EntropyUnavailable),
}

/// The key and its names.
pub struct Keys {
    key: SigningKey,
    response: SigningKey,
    kid: String,
    origin: String,
}

impl Keys {
    /// Reads the keys, or creates them at the first start.
    pub fn open(file: &Path, origin: &str) -> Result<Keys, KeyError> {
        let key = signing_key(file)?;
        let response = signing_key(&file.with_file_name(RESPONSE_KEY_FILE))?;
        let kid = permit::thumbprint(key.verifying_key().as_bytes());
        Ok(Keys { key, response, kid, origin: origin.to_owned() })
    }

    /// The keys in a state folder.
    pub fn open_in(state: &Path, origin: &str) -> Result<Keys, KeyError> {
        Keys::open(&state.join("signing.key"), origin)
    }

    /// The public half of the key that signs responses.
    pub fn response_public(&self) -> [u8; 32] {
        self.response.verifying_key().to_bytes()
    }

    /// The header with the signature of a response.
    pub fn sign_response(&self, exchange: &SignedExchange<'_>) -> String {
        let signature = self.response.sign(exchange.signing_input().as_bytes());
        base64::encode_url(&signature.to_bytes())
    }

    /// Writes the public key that clients pin, if its file has another content.
    pub fn publish(&self, folder: &Path) -> Result<(), KeyError> {
        let file = folder.join(PUBLIC_KEY_FILE);
        let text = write_public_key(&self.response_public());
        if fs::read_to_string(&file).is_ok_and(|found| found == text) {
            return Ok(());
        }
        replace(&file, &text, 0o644)
    }

    /// A key for another purpose, derived from this one, which it does not reveal.
    pub fn derived(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        let mut text =
            Zeroizing::new(format!("countersign derived key 1\n{purpose}\n").into_bytes());
        text.extend_from_slice(self.key.as_bytes());
        Zeroizing::new(*Digest::of(&text).as_bytes())
    }

    /// The key id in permits.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The public key.
    pub fn public(&self) -> [u8; 32] {
        self.key.verifying_key().to_bytes()
    }

    /// The public key as a JWK set.
    pub fn jwks(&self) -> String {
        permit::jwks(&[self.public()])
    }

    /// The public key as a JWK.
    pub fn jwk(&self) -> String {
        permit::jwk(&self.public())
    }

    /// Whether this is a strict signature of our key. No other key counts, not even an older one of
    /// ours.
    pub fn holds(&self, kid: &str, message: &[u8], signature: &[u8; 64]) -> bool {
        let signature = Signature::from_bytes(signature);
        kid == self.kid && self.key.verifying_key().verify_strict(message, &signature).is_ok()
    }

    /// Reads a checkpoint if this key signed it.
    pub fn signed_checkpoint(&self, note: &str) -> Result<Checkpoint, NoteError> {
        let key = VerifierKey::new(&self.origin, self.public())?;
        checkpoint::verify(note, &key, |_, message, signature| {
            self.holds(&self.kid, message, signature)
        })
    }

    /// The verifier key of checkpoints.
    pub fn vkey(&self) -> Result<String, NoteError> {
        Ok(VerifierKey::new(&self.origin, self.public())?.to_string())
    }

    /// A signed permit.
    pub fn permit(&self, claims: &Claims) -> Result<String, PermitError> {
        let input = permit::signing_input(claims, &self.kid)?;
        let signature = self.key.sign(input.as_bytes()).to_bytes();
        Ok(permit::assemble(&input, &signature))
    }

    /// The signature of a ledger mark.
    pub fn sign_mark(&self, text: &[u8]) -> [u8; 64] {
        self.key.sign(text).to_bytes()
    }

    /// A signed checkpoint.
    pub fn checkpoint(&self, size: u64, root: Digest) -> Result<String, NoteError> {
        let checkpoint = Checkpoint { origin: self.origin.clone(), size, root };
        checkpoint.sign(&self.origin, &self.public(), |body| self.key.sign(body).to_bytes())
    }
}

/// The public key by which clients of this state folder recognize the daemon, as the text of its
/// file. The key is created if there is none yet.
pub fn response_key_text(folder: &Path) -> Result<String, KeyError> {
    let key = signing_key(&folder.join(RESPONSE_KEY_FILE))?;
    Ok(write_public_key(key.verifying_key().as_bytes()))
}

/// A new key, and the text of its file.
pub(crate) fn new_signing_key() -> Result<(SigningKey, Zeroizing<String>), KeyError> {
    let seed = Zeroizing::new(random::bytes::<32>()?);
    let text = Zeroizing::new(format!("{HEAD}{}\n", base64::encode(seed.as_slice())));
    Ok((SigningKey::from_bytes(&seed), text))
}

/// The key in a file that must be there.
pub(crate) fn existing_signing_key(file: &Path) -> Result<SigningKey, KeyError> {
    signing_key_in(file, None)
}

fn signing_key(file: &Path) -> Result<SigningKey, KeyError> {
    signing_key_in(file, Some(|| Ok(Zeroizing::new(random::bytes::<32>()?.to_vec()))))
}

fn signing_key_in(file: &Path, fresh: Option<FreshKey>) -> Result<SigningKey, KeyError> {
    let bytes = if let Some(fresh) = fresh {
        kept(file, HEAD, fresh)?
    } else {
        let text = fs::read_to_string(file).map(Zeroizing::new);
        read(file, HEAD, &text.map_err(|error| KeyError::File(file.to_owned(), error))?)?
    };
    let seed = <[u8; 32]>::try_from(bytes.as_slice()).map(Zeroizing::new);
    let seed = seed.map_err(|_| KeyError::Unreadable(file.to_owned()))?;
    Ok(SigningKey::from_bytes(&seed))
}

/// Replaces a file in one step: readers see the old or the new text.
pub(crate) fn replace(file: &Path, text: &str, mode: u32) -> Result<(), KeyError> {
    let failed = |error| KeyError::File(file.to_owned(), error);
    let new = file.with_extension("new");
    let _ = fs::remove_file(&new);
    let mut out =
        OpenOptions::new().write(true).create_new(true).mode(mode).open(&new).map_err(failed)?;
    // The process's umask must not hide the public key from its readers.
    out.set_permissions(fs::Permissions::from_mode(mode)).map_err(failed)?;
    out.write_all(text.as_bytes()).and_then(|()| out.sync_all()).map_err(failed)?;
    fs::rename(&new, file).map_err(failed)
}

/// The VAPID key for push services and browsers.
pub fn push_key(file: &Path) -> Result<VapidKey, KeyError> {
    let bytes = kept(file, PUSH_HEAD, || VapidKey::generate().ok_or(random::EntropyUnavailable))?;
    VapidKey::read(&bytes).ok_or_else(|| KeyError::Unreadable(file.to_owned()))
}

/// The daemon's own TLS key, as PKCS #8.
pub fn tls_key<E>(
    file: &Path,
    fresh: impl FnOnce() -> Result<Zeroizing<Vec<u8>>, E>,
) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    kept(file, TLS_HEAD, || fresh().map_err(|_| random::EntropyUnavailable))
}

/// The key with which the hook proves what it found on this machine.
pub fn facts_key(file: &Path) -> Result<FactsKey, KeyError> {
    let fresh = || Ok(Zeroizing::new(random::bytes::<32>()?.to_vec()));
    let bytes = kept(file, FactsKey::HEAD, fresh)?;
    let bytes = <[u8; 32]>::try_from(bytes.as_slice());
    bytes.map(FactsKey::new).map_err(|_| KeyError::Unreadable(file.to_owned()))
}

/// The content of a key file; created at the first start.
fn kept(
    file: &Path,
    head: &str,
    fresh: impl FnOnce() -> Result<Zeroizing<Vec<u8>>, random::EntropyUnavailable>,
) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    match fs::read_to_string(file) {
        Ok(text) => read(file, head, &Zeroizing::new(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let bytes = fresh()?;
            write(file, head, &bytes)?;
            Ok(bytes)
        }
        Err(error) => Err(KeyError::File(file.to_owned(), error)),
    }
}

fn read(file: &Path, head: &str, text: &str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let mode = fs::metadata(file).map_err(|error| KeyError::File(file.to_owned(), error))?;
    if mode.permissions().mode() & 0o077 != 0 {
        return Err(KeyError::Exposed(file.to_owned()));
    }
    let bytes = text.trim_end().strip_prefix(head).and_then(|text| base64::decode(text).ok());
    bytes.map(Zeroizing::new).ok_or_else(|| KeyError::Unreadable(file.to_owned()))
}

fn write(file: &Path, head: &str, bytes: &[u8]) -> Result<(), KeyError> {
    let text = Zeroizing::new(format!("{head}{}\n", base64::encode(bytes)));
    let failed = |error| KeyError::File(file.to_owned(), error);
    // `create_new`: a file that another user put there first does not get our key.
    let mut out =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).map_err(failed)?;
    out.write_all(text.as_bytes()).and_then(|()| out.sync_all()).map_err(failed)
}
