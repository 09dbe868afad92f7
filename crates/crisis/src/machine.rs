//! Runs the automaton: only patterns whose words occur, and only states that a word can advance.

use super::engine::{Hit, Reading, Token};
use super::near;
use super::tables::{self, Next, Pattern, What};

/// The class of the end of a sentence.
const EDGE: u16 = 0;
/// No pattern spans more words than this.
const REACH: usize = 80;

/// Every match in a text, but for those that only say again what was said before.
/// `again` says where, by token.
pub fn run(reading: &Reading, again: &[bool]) -> Vec<Hit> {
    let Some(plan) = Plan::make(reading) else { return Vec::new() };
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

/// What of the tables this text can touch.
struct Plan {
    /// For every class its number in this text, 0 when it does not occur.
    local: Vec<u16>,
    count: usize,
    /// The local classes of all different words, beside `Reading::all_classes`.
    words: Vec<u16>,
    /// By local class: whether some pattern here cannot do without it.
    key: Vec<bool>,
    /// Where patterns may begin, sorted by local class.
    starts: Vec<Start>,
}

/// A word a pattern may begin with.
struct Start {
    local: u16,
    /// Local classes the pattern cannot do without.
    keys: [u16; 3],
    crosses: bool,
    next: u32,
}

impl Plan {
    fn make(reading: &Reading) -> Option<Plan> {
        let classes = reading.all_classes();
        let mut plan = Plan {
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
        let mut feasible: Vec<&'static Pattern> = Vec::new();
        let mut marks = [0_u64; 15];
        let mut sign = false;
        for class in &present {
            for pattern in tables::keyed(*class) {
                let [_, second, third] = pattern.0;
                if plan.local(second) == 0 || plan.local(third) == 0 {
                    continue;
                }
                feasible.push(pattern);
                let Some(rule) = tables::rules().get(usize::from(pattern.2)) else { continue };
                match rule.what {
                    What::Signal(..) => sign = true,
                    What::Mark(bit) => {
                        if let Some(set) = marks.get_mut(rule.lang) {
                            *set |= 1 << bit;
                        }
                    }
                    What::Frame(..) => {}
                }
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

    fn begin(&mut self, pattern: &'static Pattern) {
        let keys = pattern.0.map(|key| self.local(key));
        for local in keys {
            if let Some(key) = self.key.get_mut(usize::from(local)) {
                *key = true;
            }
        }
        for (class, next) in tables::starts(pattern) {
            let local = self.local(*class);
            if local != 0 {
                self.starts.push(Start { local, keys, crosses: pattern.1, next: *next });
            }
        }
    }

    /// The local classes of a token. The first of all words is the end of a sentence.
    fn classes(&self, token: &Token) -> &[u16] {
        let (from, to) =
            if token.edge { (0, 1) } else { (token.classes.0 + 1, token.classes.1 + 1) };
        self.words.get(from as usize..to as usize).unwrap_or_default()
    }

    fn local(&self, class: u16) -> u16 {
        self.local.get(usize::from(class)).copied().unwrap_or(0)
    }
}

/// A state that waits for its class until a certain token.
#[derive(Clone, Copy)]
struct Wait {
    state: u32,
    next: u32,
    from: u32,
    until: u32,
}

struct Machine<'a> {
    reading: &'a Reading,
    plan: &'a Plan,
    /// By token: whether nothing new can begin there; empty when something can everywhere.
    again: &'a [bool],
    /// By local class: who waits for it.
    waiting: Vec<Vec<Wait>>,
    /// By local class: where its starts begin and end.
    starts: Vec<(u32, u32)>,
    /// By local class: whether anything waits for it or starts with it.
    active: Vec<bool>,
    /// The key classes of the words met so far, and where those of a word are.
    keys: Vec<u16>,
    key_range: Vec<(u32, u32)>,
    /// By local class: one more than the last token, within reach, that has it.
    wide: Vec<u32>,
    /// The same, within the sentence.
    sentence: Vec<u32>,
    /// For every token, the next end of a sentence.
    edge_after: Vec<u32>,
    entered: Vec<(u16, Wait)>,
    /// The last token that anything waits for.
    latest: u32,
    hits: Vec<Hit>,
}

impl<'a> Machine<'a> {
    fn new(reading: &'a Reading, plan: &'a Plan, again: &'a [bool]) -> Machine<'a> {
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

    /// Whether no place where something may begin can see this token.
    fn passed(&self, at: usize) -> bool {
        self.is_again(at) && at.checked_sub(REACH).is_some_and(|first| self.is_again(first))
    }

    /// Notes the key classes of a token ahead.
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

    /// Takes in one class of the token at `at`.
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

    /// Enters what follows, for a match that began at `from` and has come to `at`.
    fn advance(&mut self, list: u32, from: u32, at: u32) {
        let edge = self.edge_after.get(at as usize).copied().unwrap_or(at + 1);
        for next in tables::next(list) {
            match next {
                Next::Wait(state, (class, gap, across, next)) => {
                    let local = self.plan.local(class);
                    if local != 0 {
                        let most = at + 1 + u32::from(gap);
                        let until = if across { most } else { most.min(edge) };
                        self.entered.push((local, Wait { state, next, from, until }));
                    }
                }
                Next::Match(rule, gap, across) => {
                    let most = at + u32::from(gap);
                    let end = u32::try_from(self.reading.tokens.len()).unwrap_or(0);
                    let bound = if across { end } else { edge };
                    let last = most.min(bound.saturating_sub(1)).max(at);
                    self.hits.push(Hit { rule, first: from, last });
                }
            }
        }
    }

    /// Lets what was entered wait, each state once: the longest wait, the nearest beginning.
    fn settle(&mut self) {
        for (local, new) in self.entered.drain(..) {
            let Some(list) = self.waiting.get_mut(usize::from(local)) else { continue };
            self.latest = self.latest.max(new.until);
            if let Some(active) = self.active.get_mut(usize::from(local)) {
                *active = true;
            }
            match list.iter_mut().find(|w| w.state == new.state) {
                Some(old) => {
                    // Neighbours are one beginning; else a sign would reach back into the noise.
                    let one = new.from.abs_diff(old.from) < 3;
                    old.from = if one { old.from.min(new.from) } else { new.from };
                    old.until = old.until.max(new.until);
                }
                None => list.push(new),
            }
        }
    }
}
