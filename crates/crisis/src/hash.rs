//! The hash of the word tables: FNV-1a, shared by the build script and the program.

/// The initial value.
pub const SEED: u32 = 0x811C_9DC5;

/// Adds one byte.
pub const fn step(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}
