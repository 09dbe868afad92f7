//! Which parts of the tables a text can use: its classes, and the patterns that they can start.

use super::engine::{Reading, TextToken};
use super::near;
use super::tables::{self, NfaPattern, RuleMeaning};

/// The class of the end of a sentence.
const EDGE: u16 = 0;

/// The part of the tables that this text can use.
pub struct SearchPlan {
    /// The number of each class in this text; 0 if it does not occur.
    pub local: Vec<u16>,
    pub count: usize,
    /// The local classes of all distinct words, parallel to `Reading::all_classes`.
    pub words: Vec<u16>,
    /// By local class: whether some pattern here requires it.
    pub key: Vec<bool>,
    /// Where patterns may begin, sorted by local class.
    pub starts: Vec<PatternStart>,
}

/// A word that a pattern may begin with.
pub struct PatternStart {
    pub local: u16,
    /// Local classes that the pattern requires.
    pub keys: [u16; 3],
    pub crosses: bool,
    pub next: u32,
}

impl SearchPlan {
    /// The plan for a text; `None` if no rule can match.
    pub fn make(reading: &Reading) -> Option<SearchPlan> {
        let (mut plan, present) = SearchPlan::number_classes(reading.all_classes());
        let mut feasible: Vec<&'static NfaPattern> = Vec::new();
        let mut marks = [0_u64; 15];
        let mut sign = false;
        for pattern in present.iter().flat_map(|class| tables::keyed(*class)) {
            let [_, second, third] = pattern.0;
            if plan.local(second) == 0 || plan.local(third) == 0 {
                continue;
            }
            feasible.push(pattern);
            let Some(rule) = tables::rules().get(usize::from(pattern.2)) else { continue };
            match rule.what {
                RuleMeaning::Signal(..) => sign = true,
                RuleMeaning::Mark(bit) => {
                    if let Some(set) = marks.get_mut(rule.lang) {
                        *set |= 1 << bit;
                    }
                }
                RuleMeaning::Frame(..) => {}
            }
        }
        let useful = near::useful(&marks);
        if !sign && useful.iter().all(|set| *set == 0) {
            return None;
        }
        plan.key = vec![false; plan.count];
        for pattern in feasible {
            if near::is_useful(pattern.2, &useful) {
                plan.begin(pattern);
            }
        }
        plan.starts.sort_unstable_by_key(|s| s.local);
        Some(plan)
    }

    /// Numbers the classes of a text. Returns the classes in the order of their numbers.
    fn number_classes(classes: &[u16]) -> (SearchPlan, Vec<u16>) {
        let mut plan = SearchPlan {
            local: vec![0; tables::classes()],
            count: 1,
            words: Vec::with_capacity(classes.len()),
            key: Vec::new(),
            starts: Vec::new(),
        };
        let mut present: Vec<u16> = Vec::with_capacity(classes.len().min(4096) + 1);
        for class in [EDGE].iter().chain(classes) {
            let Some(local) = plan.local.get_mut(usize::from(*class)) else { continue };
            if *local == 0 {
                *local = u16::try_from(plan.count).unwrap_or(u16::MAX);
                plan.count += 1;
                present.push(*class);
            }
            plan.words.push(*local);
        }
        (plan, present)
    }

    fn begin(&mut self, pattern: &'static NfaPattern) {
        let keys = pattern.0.map(|key| self.local(key));
        for local in keys {
            if let Some(key) = self.key.get_mut(usize::from(local)) {
                *key = true;
            }
        }
        for (class, next) in tables::starts(pattern) {
            let local = self.local(*class);
            if local != 0 {
                self.starts.push(PatternStart { local, keys, crosses: pattern.1, next: *next });
            }
        }
    }

    /// The local classes of a token. The first is the end of a sentence.
    pub fn classes(&self, token: &TextToken) -> &[u16] {
        let (from, to) =
            if token.edge { (0, 1) } else { (token.classes.0 + 1, token.classes.1 + 1) };
        self.words.get(from as usize..to as usize).unwrap_or_default()
    }

    pub fn local(&self, class: u16) -> u16 {
        self.local.get(usize::from(class)).copied().unwrap_or(0)
    }
}
