//! Secrets, read from files that only their owner can read, and the signatures of webhooks.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use countersign_json::base64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

/// The longest file.
const LARGEST: u64 = 4096;
/// The length of a secret in bytes (Standard Webhooks).
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

/// Signatures of one message that are checked.
const MOST_SIGNATURES: usize = 8;

/// Why a secret cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The file could not be read.
    #[error("could not read {0}: {1}")]
    Unreadable(String, String),
    /// Other users can read the file.
    #[error("other users can read {0}: run `chmod 600 {0}`")]
    Exposed(String),
    /// The file has a line that is not a secret.
    #[error("{0}: each line must be `whsec_` followed by 24 to 64 bytes in base64")]
    Form(String),
    /// The file does not contain exactly one token.
    #[error("{0} must contain one token and nothing else")]
    NoToken(String),
}

/// One secret, or the new and the old one while the receiver rotates its secret.
pub struct Secrets(Vec<Zeroizing<Vec<u8>>>);

impl Secrets {
    /// Reads a file with one secret per line, the newest first.
    pub fn read(path: &Path) -> Result<Secrets, SecretError> {
        let name = path.display().to_string();
        let text = private_text(path)?;
        Secrets::parse(&text).ok_or(SecretError::Form(name))
    }

    fn parse(text: &str) -> Option<Secrets> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let secrets: Option<Vec<_>> = lines
            .map(|line| {
                let bytes = base64::decode(line.strip_prefix("whsec_")?).ok()?;
                LENGTHS.contains(&bytes.len()).then(|| Zeroizing::new(bytes))
            })
            .collect();
        secrets.filter(|secrets| !secrets.is_empty()).map(Secrets)
    }

    #[cfg(test)]
    pub(crate) fn from_text(text: &str) -> Secrets {
        Secrets::parse(text).unwrap()
    }

    /// The header `webhook-signature`: one signature for each secret.
    pub fn sign(&self, id: &str, seconds: i64, body: &str) -> String {
        let signatures: Vec<String> = self
            .0
            .iter()
            .filter_map(|secret| {
                // HMAC takes keys of any length, so this never drops a signature.
                let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
                mac.update(format!("{id}.{seconds}.").as_bytes());
                mac.update(body.as_bytes());
                Some(format!("v1,{}", base64::encode(&mac.finalize().into_bytes())))
            })
            .collect();
        signatures.join(" ")
    }

    /// Whether one of the signatures in a header was made with one of the secrets.
    pub fn holds(&self, id: &str, seconds: i64, body: &[u8], header: &str) -> bool {
        let given = header.split(' ').take(MOST_SIGNATURES);
        let given = given.filter_map(|one| base64::decode(one.strip_prefix("v1,")?).ok());
        given.into_iter().any(|signature| {
            self.0.iter().any(|secret| {
                let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return false };
                mac.update(format!("{id}.{seconds}.").as_bytes());
                mac.update(body);
                // Compares in constant time.
                mac.verify_slice(&signature).is_ok()
            })
        })
    }
}

/// The text of a file that only its owner can read.
fn private_text(path: &Path) -> Result<Zeroizing<String>, SecretError> {
    let name = path.display().to_string();
    let unreadable =
        |error: std::io::Error| SecretError::Unreadable(name.clone(), error.kind().to_string());
    // The permissions are checked on the open file, so the file cannot be replaced in between.
    let file = File::open(path).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() {
        return Err(SecretError::Unreadable(name, "not a file".to_owned()));
    }
    if about.mode() & 0o077 != 0 {
        return Err(SecretError::Exposed(name));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(LARGEST).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// An API token: one word in a file that only its owner can read.
pub struct Token(Zeroizing<String>);

impl Token {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Token, SecretError> {
        let text = private_text(path)?;
        Token::parse(&text).ok_or_else(|| SecretError::NoToken(path.display().to_string()))
    }

    /// A token as typed: one word.
    pub fn parse(text: &str) -> Option<Token> {
        let word = text.trim();
        let plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic());
        plain.then(|| Token(Zeroizing::new(word.to_owned())))
    }

    #[cfg(test)]
    pub(crate) fn from_text(text: &str) -> Token {
        Token(Zeroizing::new(text.to_owned()))
    }

    /// The token itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// The example of the Standard Webhooks specification's own libraries.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn it_signs_as_the_standard_s_own_libraries_do() {
        let secrets = Secrets::parse(SECRET).unwrap();
        let signature =
            secrets.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, "{\"test\": 2432232314}");
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn only_what_was_signed_with_a_secret_holds() {
        let secrets = Secrets::parse(SECRET).unwrap();
        let (id, time, body) =
            ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b"{\"test\": 2432232314}");
        let good = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert!(secrets.holds(id, time, body, good));
        assert!(secrets.holds(id, time, body, &format!("v1a,AAAA v1,AAAA {good}")));
        assert!(!secrets.holds("msg_2", time, body, good));
        assert!(!secrets.holds(id, time + 1, body, good));
        assert!(!secrets.holds(id, time, b"{}", good));
        let late = format!("{}{good}", "v1,AAAA ".repeat(MOST_SIGNATURES));
        let (bare, short) = (good.trim_start_matches("v1,"), good.replace("OE=", ""));
        for bad in ["", "v1,", bare, &short, &good.replace("v1", "v2"), &late] {
            assert!(!secrets.holds(id, time, body, bad), "{bad}");
        }
    }

    #[test]
    fn two_secrets_give_two_signatures() {
        let other = base64::encode(&[7; 32]);
        let secrets = Secrets::parse(&format!("whsec_{other}\n{SECRET}\n")).unwrap();
        let signature =
            secrets.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, "{\"test\": 2432232314}");
        assert_eq!(signature.split(' ').count(), 2);
        assert!(signature.ends_with(" v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn a_secret_that_others_can_read_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, SECRET).unwrap();
        for mode in [0o644, 0o640, 0o604, 0o620] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert!(matches!(Secrets::read(&path), Err(SecretError::Exposed(_))), "{mode:o}");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let secrets = Secrets::read(&path).unwrap();
        assert_eq!(format!("{secrets:?}"), "Secrets(1)");
    }

    #[test]
    fn what_is_no_secret_is_refused_without_being_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let short = format!("whsec_{}", base64::encode(&[1; 23]));
        for text in ["", "hunter2hunter2hunter2hunter2", "whsec_", "whsec_!!", short.as_str()] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            let problem = Secrets::read(&path).unwrap_err().to_string();
            assert!(problem.contains("whsec_") && !problem.contains("hunter2"), "{problem}");
        }
        assert!(Secrets::read(&folder.path().join("none")).is_err());
        assert!(Secrets::read(folder.path()).is_err());
    }
}
