//! Runs the automaton: only patterns whose words occur, and only states that a word can advance.

use super::engine::{Hit, Reading};
use super::near;
use super::search_plan::SearchPlan;
use super::tables::{self, NfaStep};

/// The longest pattern in words.
const REACH: usize = 80;

/// Every match in a text, except those in repetitions. `again` marks the repetitions, by token.
pub fn run(reading: &Reading, again: &[bool]) -> Vec<Hit> {
    let Some(plan) = SearchPlan::make(reading) else { return Vec::new() };
    let mut hits = Machine::new(reading, &plan, again).run();
    near::combine(reading, &mut hits);
    hits.sort_unstable();
    hits.dedup_by(|b, a| {
        let same = a.rule == b.rule && b.first <= a.last;
        if same {
            a.last = a.last.max(b.last);
        }
        same
    });
    hits
}

/// A state that expects its class before a certain token.
#[derive(Clone, Copy)]
struct Wait {
    state: u32,
    next: u32,
    from: u32,
    until: u32,
}

struct Machine<'a> {
    reading: &'a Reading,
    plan: &'a SearchPlan,
    /// By token: whether nothing new can begin there; empty if something can begin anywhere.
    again: &'a [bool],
    /// By local class: the states that expect it.
    waiting: Vec<Vec<Wait>>,
    /// By local class: the range of its starts.
    starts: Vec<(u32, u32)>,
    /// By local class: whether anything expects it or starts with it.
    active: Vec<bool>,
    /// The key classes of the words so far, and the ranges of each word.
    keys: Vec<u16>,
    key_range: Vec<(u32, u32)>,
    /// By local class: one more than the last token within reach that has it.
    wide: Vec<u32>,
    /// The same, within the sentence.
    sentence: Vec<u32>,
    /// For every token, the next end of a sentence.
    edge_after: Vec<u32>,
    entered: Vec<(u16, Wait)>,
    /// The last token that any state expects.
    latest: u32,
    hits: Vec<Hit>,
}

impl<'a> Machine<'a> {
    fn new(reading: &'a Reading, plan: &'a SearchPlan, again: &'a [bool]) -> Machine<'a> {
        let mut starts = vec![(0, 0); plan.count];
        let mut active = vec![false; plan.count];
        for start in &plan.starts {
            if let Some(active) = active.get_mut(usize::from(start.local)) {
                *active = true;
            }
        }
        let mut at = 0;
        for same in plan.starts.chunk_by(|a, b| a.local == b.local) {
            let end = at + u32::try_from(same.len()).unwrap_or(0);
            if let Some(range) = same.first().and_then(|s| starts.get_mut(usize::from(s.local))) {
                *range = (at, end);
            }
            at = end;
        }
        let mut edge = u32::try_from(reading.tokens.len()).unwrap_or(u32::MAX);
        let mut edge_after = vec![0; reading.tokens.len()];
        for ((at, token), after) in (0..edge).zip(&reading.tokens).zip(&mut edge_after).rev() {
            *after = edge;
            if token.edge {
                edge = at;
            }
        }
        Machine {
            reading,
            plan,
            again,
            waiting: vec![Vec::new(); plan.count],
            starts,
            active,
            keys: Vec::with_capacity(64),
            key_range: vec![(u32::MAX, 0); plan.words.len()],
            wide: vec![0; plan.count],
            sentence: vec![0; plan.count],
            edge_after,
            entered: Vec::new(),
            latest: 0,
            hits: Vec::new(),
        }
    }

    fn run(mut self) -> Vec<Hit> {
        let (plan, tokens) = (self.plan, &self.reading.tokens);
        let (mut near, mut far) = (0, 0);
        for (at, token) in tokens.iter().enumerate() {
            let end = (at + REACH).min(tokens.len());
            let edge = self.edge_after.get(at).map_or(end, |e| *e as usize);
            while far < end {
                if !self.passed(far) {
                    self.look(far, true);
                }
                far += 1;
            }
            near = near.max(at);
            while near < end.min(edge) {
                if !self.passed(near) {
                    self.look(near, false);
                }
                near += 1;
            }
            let at = u32::try_from(at).unwrap_or(u32::MAX);
            if self.is_again(at as usize) && at > self.latest {
                continue;
            }
            for local in plan.classes(token) {
                if self.active.get(usize::from(*local)).is_some_and(|active| *active) {
                    self.read(usize::from(*local), at);
                }
            }
            self.settle();
        }
        self.hits
    }

    /// Whether nothing new can begin at a token.
    fn is_again(&self, at: usize) -> bool {
        self.again.get(at).is_some_and(|again| *again)
    }

    /// Whether no possible start can reach this token.
    fn passed(&self, at: usize) -> bool {
        self.is_again(at) && at.checked_sub(REACH).is_some_and(|first| self.is_again(first))
    }

    /// Records the key classes of a token ahead.
    fn look(&mut self, at: usize, wide: bool) {
        let Some(token) = self.reading.tokens.get(at).filter(|t| t.classes.0 < t.classes.1) else {
            return;
        };
        let word = token.classes.0 as usize;
        let Some(range) = self.key_range.get_mut(word) else { return };
        if range.0 == u32::MAX {
            let from = self.keys.len();
            let key = |local: &u16| self.plan.key.get(usize::from(*local)).is_some_and(|k| *k);
            self.keys.extend(self.plan.classes(token).iter().copied().filter(key));
            let clip = |n: usize| u32::try_from(n).unwrap_or(u32::MAX - 1);
            *range = (clip(from), clip(self.keys.len()));
        }
        let mark = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let seen = if wide { &mut self.wide } else { &mut self.sentence };
        for local in self.keys.get(range.0 as usize..range.1 as usize).unwrap_or_default() {
            if let Some(last) = seen.get_mut(usize::from(*local)) {
                *last = mark;
            }
        }
    }

    /// Processes one class of the token at `at`.
    fn read(&mut self, local: usize, at: u32) {
        if let Some(list) = self.waiting.get_mut(local)
            && !list.is_empty()
        {
            list.retain(|w| w.until >= at);
            for index in 0..list.len() {
                let list = self.waiting.get(local);
                let Some(wait) = list.and_then(|l| l.get(index)).copied() else { break };
                self.advance(wait.next, wait.from, at);
            }
        }
        if self.is_again(at as usize) {
            return;
        }
        let (from, to) = self.starts.get(local).copied().unwrap_or_default();
        let plan = self.plan;
        for start in plan.starts.get(from as usize..to as usize).unwrap_or_default() {
            let seen = if start.crosses { &self.wide } else { &self.sentence };
            let near = |key: &u16| seen.get(usize::from(*key)).is_some_and(|last| *last > at);
            if start.keys.iter().all(near) {
                self.advance(start.next, at, at);
            }
        }
    }

    /// Enters what follows, for a match that began at `from` and has reached `at`.
    fn advance(&mut self, list: u32, from: u32, at: u32) {
        let edge = self.edge_after.get(at as usize).copied().unwrap_or(at + 1);
        for next in tables::next(list) {
            match next {
                NfaStep::Wait(state, (class, gap, across, next)) => {
                    let local = self.plan.local(class);
                    if local != 0 {
                        let most = at + 1 + u32::from(gap);
                        let until = if across { most } else { most.min(edge) };
                        self.entered.push((local, Wait { state, next, from, until }));
                    }
                }
                NfaStep::Match(rule, gap, across) => {
                    let most = at + u32::from(gap);
                    let end = u32::try_from(self.reading.tokens.len()).unwrap_or(0);
                    let bound = if across { end } else { edge };
                    let last = most.min(bound.saturating_sub(1)).max(at);
                    self.hits.push(Hit { rule, first: from, last });
                }
            }
        }
    }

    /// Adds the entered states, each once: with the longest wait and the nearest start.
    fn settle(&mut self) {
        for (local, new) in self.entered.drain(..) {
            let Some(list) = self.waiting.get_mut(usize::from(local)) else { continue };
            self.latest = self.latest.max(new.until);
            if let Some(active) = self.active.get_mut(usize::from(local)) {
                *active = true;
            }
            match list.iter_mut().find(|w| w.state == new.state) {
                Some(old) => {
                    // Adjacent starts count as one; otherwise a signal would extend back into
                    // unrelated text.
                    let one = new.from.abs_diff(old.from) < 3;
                    old.from = if one { old.from.min(new.from) } else { new.from };
                    old.until = old.until.max(new.until);
                }
                None => list.push(new),
            }
        }
    }
}
