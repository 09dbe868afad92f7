//! A list that keeps its first entries in place: most commands have few words.

use std::ops::Deref;

/// A list of which the first `N` entries need no memory of their own.
pub(super) struct Few<T, const N: usize> {
    /// How many entries are in `near`; not used once there are more than fit.
    used: usize,
    near: [T; N],
    /// All of them, as soon as they do not fit.
    far: Vec<T>,
}

impl<T: Copy + Default, const N: usize> Few<T, N> {
    pub fn new() -> Few<T, N> {
        Few { used: 0, near: [T::default(); N], far: Vec::new() }
    }

    pub fn push(&mut self, entry: T) {
        if let Some(slot) = self.near.get_mut(self.used) {
            *slot = entry;
            self.used += 1;
            return;
        }
        if self.far.is_empty() {
            self.far.reserve(4 * N);
            self.far.extend_from_slice(&self.near);
        }
        self.far.push(entry);
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.far.is_empty() { self.near.get(..self.used).unwrap_or_default() } else { &self.far }
    }
}

impl<'f, T, const N: usize> IntoIterator for &'f Few<T, N> {
    type Item = &'f T;
    type IntoIter = std::slice::Iter<'f, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn keeps_every_entry_in_order_whether_it_fits_or_not() {
        for count in 0..20_u16 {
            let mut few: Few<u16, 4> = Few::new();
            (0..count).for_each(|n| few.push(n));
            assert_eq!(few.to_vec(), (0..count).collect::<Vec<_>>());
        }
    }
}
