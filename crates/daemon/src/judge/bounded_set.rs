//! A set that drops its oldest entries.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// A map with a limit; the oldest entry makes room for a new one.
#[derive(Debug)]
pub struct BoundedMap<K, V> {
    known: HashMap<K, V>,
    order: VecDeque<K>,
    limit: usize,
}

impl<K: Clone + Eq + Hash, V> BoundedMap<K, V> {
    /// An empty map with this limit.
    pub fn new(limit: usize) -> BoundedMap<K, V> {
        BoundedMap { known: HashMap::new(), order: VecDeque::new(), limit }
    }

    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.known.get(key)
    }

    /// Removes a key and returns its value. Its place in the order stays until it is the oldest.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.known.remove(key)
    }

    /// The value of a key, created if needed.
    pub fn entry(&mut self, key: K, value: impl FnOnce() -> V) -> &mut V {
        if !self.known.contains_key(&key) {
            self.order.push_back(key.clone());
            while self.order.len() > self.limit
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
        }
        self.known.entry(key).or_insert_with(value)
    }
}
