//! Randomness: the only place that draws it, and what is made of it.

use std::cell::RefCell;

use countersign_json::base64;
use countersign_types::id::Id;
use countersign_types::time::Timestamp;

/// The machine gave no randomness: nothing that needs it may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this machine gives no randomness")]
pub struct EntropyUnavailable;

/// Random bytes.
pub fn bytes<const N: usize>() -> Result<[u8; N], EntropyUnavailable> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| EntropyUnavailable)?;
    Ok(bytes)
}

/// Random bytes for ids, drawn by the hundred: ids are no secrets, and every call gets one.
#[derive(Default)]
struct Pool {
    bytes: Vec<[u8; 10]>,
}

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
}

impl Pool {
    fn draw(&mut self) -> Result<[u8; 10], EntropyUnavailable> {
        if self.bytes.is_empty() {
            let many = bytes::<1000>()?;
            self.bytes.extend(many.as_chunks::<10>().0);
        }
        self.bytes.pop().ok_or(EntropyUnavailable)
    }
}

/// A new id.
pub fn id(at: Timestamp) -> Result<Id, EntropyUnavailable> {
    Ok(Id::new(at, POOL.with_borrow_mut(Pool::draw)?))
}

/// A new secret of 256 bits with a prefix that says what it is for.
pub fn secret(prefix: &str) -> Result<String, EntropyUnavailable> {
    Ok(format!("{prefix}{}", base64::encode_url(&bytes::<32>()?)))
}
