//! Syntax of the shells that agents use: text in, syntax tree out.
//!
//! This crate knows nothing about programs or risk. Reading is one bounded pass over the text. When
//! it stops early, the result says why and where and keeps what was read before.

pub mod cmd;
pub mod posix;
pub mod powershell;

/// Replaces text in a word that is known only when the command runs.
pub const UNKNOWN: char = '\0';
/// The longest text that is read, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;
