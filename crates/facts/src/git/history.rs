//! Which commits one side has and the other one does not.

use std::collections::{BinaryHeap, HashMap};

use super::commit::Commit;
use super::objects::{ObjectName, ObjectStore};

/// How many commits are read for one comparison.
const MAX_COMMITS: usize = 2_000;
/// The sides that reach a commit.
const NEW: u8 = 1;
const OLD: u8 = 2;
const BOTH: u8 = NEW | OLD;

/// The difference between two points of a history.
#[derive(Debug)]
pub struct HistoryDifference {
    /// Commits that only the new side has, the newest first.
    pub added: Vec<(ObjectName, String)>,
    /// How many commits only the old side has.
    pub removed: usize,
    /// The tree of the newest commit that both have.
    pub common_tree: Option<ObjectName>,
    /// Whether all commits were read.
    pub is_exact: bool,
}

struct Walk<'s> {
    store: &'s mut ObjectStore,
    sides: HashMap<ObjectName, u8>,
    commits: HashMap<ObjectName, Commit>,
    /// By time, the newest first.
    open: BinaryHeap<(i64, ObjectName)>,
    is_exact: bool,
}

/// Compares a commit with those that the other side has.
pub fn compare(store: &mut ObjectStore, new: ObjectName, old: &[ObjectName]) -> HistoryDifference {
    let mut walk = Walk {
        store,
        sides: HashMap::new(),
        commits: HashMap::new(),
        open: BinaryHeap::new(),
        is_exact: true,
    };
    walk.reach(new, NEW);
    for name in old {
        walk.reach(*name, OLD);
    }
    walk.run();
    let side = |name: &ObjectName| walk.sides.get(name).copied().unwrap_or_default();
    let mut sorted: Vec<(&ObjectName, &Commit)> = walk.commits.iter().collect();
    sorted.sort_by_key(|(name, commit)| (std::cmp::Reverse(commit.time), **name));
    let added = sorted.iter().filter(|(name, _)| side(name) == NEW);
    let common = sorted.iter().find(|(name, _)| side(name) == BOTH);
    HistoryDifference {
        added: added.map(|(name, commit)| (**name, commit.subject.clone())).collect(),
        removed: sorted.iter().filter(|(name, _)| side(name) == OLD).count(),
        common_tree: common.map(|(_, commit)| commit.tree),
        is_exact: walk.is_exact,
    }
}

impl Walk<'_> {
    fn reach(&mut self, name: ObjectName, side: u8) {
        let known = self.sides.entry(name).or_default();
        if *known | side == *known {
            return;
        }
        *known |= side;
        if !self.commits.contains_key(&name) {
            if self.commits.len() >= MAX_COMMITS {
                self.is_exact = false;
                return;
            }
            let Some(commit) = Commit::read(self.store, &name) else {
                self.is_exact = false;
                return;
            };
            self.commits.insert(name, commit);
        }
        let time = self.commits.get(&name).map(|commit| commit.time).unwrap_or_default();
        self.open.push((time, name));
    }

    /// Follows the parents until everything that is left is common to both sides.
    fn run(&mut self) {
        while self.open.iter().any(|(_, name)| self.sides.get(name) != Some(&BOTH)) {
            let Some((_, name)) = self.open.pop() else { return };
            let side = self.sides.get(&name).copied().unwrap_or_default();
            let parents = self.commits.get(&name).map(|commit| commit.parents.clone());
            for parent in parents.unwrap_or_default() {
                self.reach(parent, side);
            }
            if self.store.is_over() {
                self.is_exact = false;
                return;
            }
        }
        self.mark_known_as_common();
    }

    /// Marks the ancestors of common commits among those that one side reached before. Commits of
    /// the same second are read in any order, so that a side may be far ahead of the other.
    fn mark_known_as_common(&mut self) {
        while let Some((_, name)) = self.open.pop() {
            let parents = self.commits.get(&name).map(|commit| commit.parents.clone());
            for parent in parents.unwrap_or_default() {
                if self.commits.contains_key(&parent) {
                    self.reach(parent, BOTH);
                }
            }
        }
    }
}
