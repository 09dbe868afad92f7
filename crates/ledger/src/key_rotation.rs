//! Statements about replaced keys: the old key signs the new one, so that a client that pinned the
//! old key can check who replaced it.

use countersign_json::base64;

/// The first word of a statement, so that no other signature of a key is accepted.
const PURPOSE: &str = "countersign-key-rotation-1";
/// The most statements that are followed from a pinned key to the newest one.
pub const MAX_ROTATIONS: usize = 64;

/// What a statement says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRotation {
    /// The public key that was replaced.
    pub old: [u8; 32],
    /// The public key that replaced it.
    pub new: [u8; 32],
    /// When, in milliseconds since 1970.
    pub at: i64,
}

/// A statement with the signatures of both keys: the new one proves that it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedKeyRotation {
    /// What it says.
    pub rotation: KeyRotation,
    /// The signature of the old key.
    pub by_old: [u8; 64],
    /// The signature of the new key.
    pub by_new: [u8; 64],
}

impl KeyRotation {
    /// The text that both keys sign.
    pub fn signing_input(&self) -> String {
        let (old, new) = (base64::encode_url(&self.old), base64::encode_url(&self.new));
        format!("{PURPOSE}\n{old}\n{new}\n{}\n", self.at)
    }
}

impl SignedKeyRotation {
    /// The statement as one line, without its line break.
    pub fn to_line(&self) -> String {
        let KeyRotation { old, new, at } = &self.rotation;
        let parts = [old.as_slice(), new.as_slice(), &self.by_old, &self.by_new];
        let [old, new, by_old, by_new] = parts.map(base64::encode_url);
        format!("{PURPOSE} {old} {new} {at} {by_old} {by_new}")
    }

    /// Parses a line; `None` if it is anything else.
    pub fn parse(line: &str) -> Option<SignedKeyRotation> {
        let mut words = line.strip_prefix(PURPOSE)?.strip_prefix(' ')?.split(' ');
        let (old, new) = (bytes(words.next()?)?, bytes(words.next()?)?);
        let at = words.next()?.parse().ok()?;
        let (by_old, by_new) = (bytes(words.next()?)?, bytes(words.next()?)?);
        let rotation = KeyRotation { old, new, at };
        words.next().is_none().then_some(SignedKeyRotation { rotation, by_old, by_new })
    }
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    base64::decode_url(text).ok()?.try_into().ok()
}

/// The newest key to which statements lead from a pinned one; `None` if they lead nowhere.
/// `is_signed` checks a signature by a public key over a text.
pub fn newest_key(
    pinned: [u8; 32],
    statements: &str,
    is_signed: impl Fn(&[u8; 32], &[u8], &[u8; 64]) -> bool,
) -> Option<[u8; 32]> {
    let statements: Vec<_> = statements.lines().filter_map(SignedKeyRotation::parse).collect();
    let mut key = pinned;
    for _ in 0..MAX_ROTATIONS {
        let next = statements.iter().rev().find(|statement| {
            let (rotation, text) = (&statement.rotation, statement.rotation.signing_input());
            rotation.old == key
                && is_signed(&rotation.old, text.as_bytes(), &statement.by_old)
                && is_signed(&rotation.new, text.as_bytes(), &statement.by_new)
        });
        match next {
            Some(statement) if statement.rotation.new != pinned => key = statement.rotation.new,
            _ => break,
        }
    }
    (key != pinned).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stand-in for signatures: the key and the length of the text.
    fn sign(key: [u8; 32], text: &[u8]) -> [u8; 64] {
        let mut signature = [u8::try_from(text.len()).unwrap(); 64];
        signature[..32].copy_from_slice(&key);
        signature
    }

    fn is_signed(key: &[u8; 32], text: &[u8], signature: &[u8; 64]) -> bool {
        *signature == sign(*key, text)
    }

    fn statement(old: u8, new: u8) -> SignedKeyRotation {
        let rotation = KeyRotation { old: [old; 32], new: [new; 32], at: 7 };
        let text = rotation.signing_input();
        let by = |key: [u8; 32]| sign(key, text.as_bytes());
        SignedKeyRotation { rotation, by_old: by(rotation.old), by_new: by(rotation.new) }
    }

    fn follow(pinned: u8, statements: &[SignedKeyRotation]) -> Option<[u8; 32]> {
        let lines: Vec<String> = statements.iter().map(SignedKeyRotation::to_line).collect();
        newest_key([pinned; 32], &lines.join("\n"), is_signed)
    }

    #[test]
    fn a_statement_is_one_line() {
        let one = statement(1, 2);
        assert_eq!(SignedKeyRotation::parse(&one.to_line()), Some(one));
        let line = one.to_line();
        let cut = line.rsplit_once(' ').unwrap().0;
        for bad in ["", cut, &format!("{line} x"), &format!(" {line}"), &line.replace('1', "2")] {
            assert_eq!(SignedKeyRotation::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_chain_leads_from_the_pinned_key_to_the_newest() {
        let chain = [statement(1, 2), statement(2, 3), statement(3, 4)];
        for pinned in [1, 2, 3] {
            assert_eq!(follow(pinned, &chain), Some([4; 32]), "{pinned}");
        }
        assert_eq!(follow(4, &chain), None);
        assert_eq!(follow(9, &chain), None);
        // A rotation that was interrupted leaves a statement about a key that is never used.
        assert_eq!(follow(1, &[statement(1, 8), statement(1, 2)]), Some([2; 32]));
        // A circle ends.
        let _ = follow(1, &[statement(1, 2), statement(2, 3), statement(3, 2)]);
        assert_eq!(follow(1, &[statement(1, 2), statement(2, 1)]), Some([2; 32]));
    }

    #[test]
    fn both_keys_must_sign() {
        let good = statement(1, 2);
        for forged in [
            SignedKeyRotation { by_old: good.by_new, ..good },
            SignedKeyRotation { by_new: good.by_old, ..good },
            SignedKeyRotation { rotation: KeyRotation { at: 70, ..good.rotation }, ..good },
            SignedKeyRotation { rotation: KeyRotation { new: [3; 32], ..good.rotation }, ..good },
        ] {
            assert_eq!(follow(1, &[forged]), None);
        }
    }
}
