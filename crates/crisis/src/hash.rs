//! The hash of the word tables: FNV-1a, shared by the build script and the program.

/// Where every hash begins.
pub const SEED: u32 = 0x811C_9DC5;

/// One more byte.
pub const fn step(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}
