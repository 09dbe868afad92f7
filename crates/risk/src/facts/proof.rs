//! Who looked, provably: a look of the hook or the proxy carries a code made with a key that only
//! people's own programs read.

use super::FactObserver;
use countersign_json::base64;
use countersign_json::canonical::Digest;

/// The length of the blocks that SHA-256 reads.
const BLOCK: usize = 64;
/// Stands before what a proof covers, so that no other digest can pass for it.
const TAG: &[u8] = b"countersign/facts/1\0";

/// The key that hook, proxy and daemon share.
#[derive(Clone, PartialEq, Eq)]
pub struct FactsKey([u8; 32]);

impl std::fmt::Debug for FactsKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FactsKey")
    }
}

impl FactsKey {
    /// The beginning of the key file.
    pub const HEAD: &'static str = "countersign-facts-1 ";
    /// The name of the key file in the daemon's state folder.
    pub const FILE: &'static str = "facts.key";

    /// A key from its bytes.
    pub const fn new(bytes: [u8; 32]) -> FactsKey {
        FactsKey(bytes)
    }

    /// A key as it is written in its file.
    pub fn parse(text: &str) -> Option<FactsKey> {
        let bytes = base64::decode(text.trim_end().strip_prefix(FactsKey::HEAD)?).ok()?;
        bytes.try_into().ok().map(FactsKey)
    }

    /// HMAC-SHA-256 (RFC 2104) of what a claim covers, in the observer's name.
    pub fn prove(&self, observer: FactObserver, covers: &Digest) -> Digest {
        let mut padded = [0; BLOCK];
        for (place, byte) in padded.iter_mut().zip(self.0) {
            *place = byte;
        }
        let keyed = |pad: u8| padded.map(|byte| byte ^ pad).to_vec();
        let mut inner = keyed(0x36);
        inner.push(observer as u8);
        inner.extend_from_slice(covers.as_bytes());
        let mut outer = keyed(0x5c);
        outer.extend_from_slice(Digest::of(&inner).as_bytes());
        Digest::of(&outer)
    }
}

/// The claim of an observer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FactsClaim {
    /// Who claims to have looked.
    pub observer: FactObserver,
    /// What the proof covers, see [`covered`].
    pub covers: Digest,
    /// The proof.
    pub proof: Digest,
}

impl FactsClaim {
    /// Who looked: the observer that the claim names if its proof is right, else the agent.
    pub fn observer(&self, key: Option<&FactsKey>) -> FactObserver {
        match key {
            Some(key) if key.prove(self.observer, &self.covers) == self.proof => self.observer,
            _ => FactObserver::Agent,
        }
    }
}

/// The digest of facts together with the call that they are about.
pub fn covered(tool: &str, arguments: &str, cwd: Option<&str>, facts: &str) -> Digest {
    let mut bytes = TAG.to_vec();
    for part in [tool, arguments, cwd.unwrap_or_default(), facts] {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    Digest::of(&bytes)
}
