//! The ledger: entries, the Merkle tree over them (RFC 6962), signed checkpoints, verification.

pub mod checkpoint;
pub mod entry;
pub mod key_rotation;
pub mod merkle;
pub mod permit;
pub mod response_signature;
pub mod verify;
