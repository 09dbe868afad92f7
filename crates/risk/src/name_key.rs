//! The number by which a name is found in a sorted table before the name itself is compared.

pub(crate) mod sorted_names;

/// The first eight bytes of a name as a number that sorts like the name.
pub(crate) fn first_bytes(name: &str) -> u64 {
    let mut bytes = [0; 8];
    for (slot, byte) in bytes.iter_mut().zip(name.bytes()) {
        *slot = byte;
    }
    u64::from_be_bytes(bytes)
}
