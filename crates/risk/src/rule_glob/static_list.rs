//! Lists of the rule tables. There are tens of thousands, so each is a place in one table of its
//! kind: four bytes instead of a pointer and a length.

use std::marker::PhantomData;
use std::ops::Deref;

/// A kind of value that lists hold.
pub trait TableValue: Sized + 'static {
    /// The table that holds the values of all lists.
    fn table() -> &'static [Self];
}

/// A list of the rule tables: neighbours in the table of their kind.
#[derive(Debug)]
pub struct StaticList<T> {
    start: u16,
    len: u16,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for StaticList<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for StaticList<T> {}

impl<T> StaticList<T> {
    /// No values.
    pub const NONE: StaticList<T> = StaticList::new(0, 0);

    /// So many values of the table, from this place on.
    pub(crate) const fn new(start: u16, len: u16) -> StaticList<T> {
        StaticList { start, len, kind: PhantomData }
    }

    /// Whether it has no values.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
}

impl<T: TableValue> StaticList<T> {
    /// Its values.
    #[inline]
    pub fn values(self) -> &'static [T] {
        let start = usize::from(self.start);
        T::table().get(start..start + usize::from(self.len)).unwrap_or_default()
    }
}

impl<T: TableValue> Deref for StaticList<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.values()
    }
}

impl<T: TableValue> IntoIterator for StaticList<T> {
    type Item = &'static T;
    type IntoIter = std::slice::Iter<'static, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.values().iter()
    }
}
