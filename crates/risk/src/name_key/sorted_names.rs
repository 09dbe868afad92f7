//! Many sorted names in little room: a name is stored as the bytes that it does not share with the
//! name before it.

use super::first_bytes;

/// Sorted names. Each is the number of bytes that it shares with the name before, the number of its
/// other bytes, and these; the first of a block shares nothing.
#[derive(Debug)]
pub(crate) struct SortedNames {
    /// The names.
    pub names: &'static [u8],
    /// Where each block starts.
    pub blocks: &'static [u32],
    /// The first bytes of the first name of each block.
    pub keys: &'static [u64],
}

/// How many names a block has.
const BLOCK: usize = 8;

impl SortedNames {
    /// The place of a name in the order of all names.
    pub fn find(&self, name: &str) -> Option<usize> {
        let wanted = name.as_bytes();
        let key = first_bytes(name);
        let mut from = self.keys.partition_point(|first| *first < key);
        // Names with the same first bytes are compared as a whole.
        while self.keys.get(from) == Some(&key) && self.first(*self.blocks.get(from)?) <= wanted {
            from += 1;
        }
        let block = from.checked_sub(1)?;
        let mut at = *self.blocks.get(block)? as usize;
        // How many bytes the wanted name begins with of the name before.
        let mut common = 0;
        for place in block * BLOCK..(block + 1) * BLOCK {
            let (shared, rest) = self.stored(at)?;
            at += 2 + rest.len();
            // A name that shares fewer bytes is behind the wanted one; one with more is before it.
            if shared < common {
                return None;
            }
            if shared == common {
                let wanted = wanted.get(common..)?;
                if wanted == rest {
                    return Some(place);
                }
                common += wanted.iter().zip(rest).take_while(|(a, b)| a == b).count();
            }
        }
        None
    }

    /// All names.
    pub fn all(&self) -> impl Iterator<Item = String> {
        let (mut at, mut name) = (0, Vec::new());
        std::iter::from_fn(move || {
            let (shared, rest) = self.stored(at)?;
            at += 2 + rest.len();
            name.truncate(shared);
            name.extend_from_slice(rest);
            String::from_utf8(name.clone()).ok()
        })
    }

    /// The name that is stored here: how many bytes it shares, and its other bytes.
    fn stored(&self, at: usize) -> Option<(usize, &'static [u8])> {
        let [shared, len, rest @ ..] = self.names.get(at..)? else { return None };
        Some((usize::from(*shared), rest.get(..usize::from(*len))?))
    }

    /// The first name of a block.
    fn first(&self, start: u32) -> &'static [u8] {
        self.stored(start as usize).map_or(&[], |(_, name)| name)
    }
}
