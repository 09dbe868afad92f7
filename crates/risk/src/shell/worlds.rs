//! What may have happened before: a command is judged with every value, file and folder it may
//! find.

use std::borrow::Cow;

use super::ast::{Join, Pipeline};
use super::flow::{Flow, Taint};
use super::folders::Folders;
use super::plain::is_like_any;
use super::signs;
use super::walk::{Shared, Walker};
use crate::limit::Limit;
use crate::paths::UNKNOWN;

/// How many ways to combine values are tried for one pipeline.
const MAX_WAYS: usize = 40;
/// How deep such trying may nest.
const NESTING: Limit = Limit::new("combinations of former values", 2);
/// What is left undone when nothing may be walked any more.
const WALKED: Limit = Limit::new("commands", 1_500);
/// How many former contents of files are kept.
const MAX_FORMER_FILES: usize = 24;
/// How many files are followed.
const MAX_FILES: usize = 64;

/// How often a loop is walked until nothing changes any more.
const MAX_TURNS: usize = 6;

/// Something that had another value before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    Variable(String),
    File(String),
}

/// One value of it.
#[derive(Debug, Clone)]
enum Held {
    Variable(String, Taint),
    File(Flow),
}

/// All combinations of former values; where they are too many, one former value at a time, and
/// once with nothing known.
struct Ways {
    former: Vec<Vec<Held>>,
    all: bool,
    count: usize,
}

impl Ways {
    /// Whether all values are plain data, so that it does not matter which of them come together.
    fn is_plain(&self) -> bool {
        let plain = |held: &Held| matches!(held, Held::Variable(v, _) if is_like_any(v));
        self.former.iter().filter(|held| !held.iter().all(plain)).count() < 2
    }

    /// The nth of them: a value for each thing asked, none for what is true now.
    fn way<'w>(&'w self, n: usize) -> Vec<Option<Cow<'w, Held>>> {
        if self.all {
            // What is true now comes first and was judged already: counting begins behind it. The
            // last thing asked changes fastest.
            let mut rest = n + 1;
            let mut way = Vec::with_capacity(self.former.len());
            for former in self.former.iter().rev() {
                let choices = former.len() + 1;
                let held = (rest % choices).checked_sub(1).and_then(|at| former.get(at));
                way.push(held.map(Cow::Borrowed));
                rest /= choices;
            }
            way.reverse();
            return way;
        }
        let mut rest = Some(n);
        let one_each = |former: &'w Vec<Held>| {
            let at = rest?;
            let mine = former.len().min(MAX_WAYS);
            rest = at.checked_sub(mine);
            former.get(at).filter(|_| at < mine).map(Cow::Borrowed)
        };
        if n + 1 < self.count {
            return self.former.iter().map(one_each).collect();
        }
        // Combinations of values that matter were not tried: reported where one is used.
        let lost = if self.is_plain() { Taint::default() } else { Taint::LOST };
        let unknown = |former: &Vec<Held>| match former.first()? {
            Held::Variable(..) => {
                Some(Held::Variable(UNKNOWN.to_string(), Taint::COMPUTED.and(lost)))
            }
            Held::File(_) => Some(Held::File(Flow::unknown(Taint::FILE.and(lost)))),
        };
        self.former.iter().map(|former| unknown(former).map(Cow::Owned)).collect()
    }
}

impl<'t> Walker<'t, '_, '_, '_> {
    /// Pipelines one after the other, with what `&&` and `||` say of the folder they run in.
    pub(super) fn list(&mut self, list: &'t [Pipeline<'t>], stdin: &Flow) -> Flow {
        if let [only] = list
            && only.join == Join::Then
            && !only.background
        {
            // Nothing stands before it or behind it.
            return self.pipeline(only, stdin.clone());
        }
        let mut flow = Flow::none();
        let mut begun = self.shared.folders.clone();
        // Where a chain that has failed so far would be; none is where it would be otherwise.
        let mut failed: Option<Folders> = None;
        for pipeline in list {
            let mut good = Folders::nowhere();
            match pipeline.join {
                Join::Then => {
                    if let Some(failed) = failed.take() {
                        self.shared.folders.join(failed);
                    }
                    if self.shared.folders.is_nowhere() {
                        self.shared.folders = begun;
                    }
                    begun = self.shared.folders.clone();
                }
                Join::And => {
                    failed.get_or_insert_with(|| self.shared.folders.clone());
                }
                Join::Or => {
                    let next = failed.take().unwrap_or_else(|| self.shared.folders.clone());
                    good = std::mem::replace(&mut self.shared.folders, next);
                }
            }
            if self.shared.folders.is_nowhere() {
                self.shared.folders = begun.clone();
            }
            let next = self.pipeline(pipeline, stdin.clone());
            flow = flow.then(next);
            let mut bad = self.shared.failed.take();
            if let Some(before) = failed.filter(|f| bad.is_some() || *f != self.shared.folders) {
                bad.get_or_insert_with(|| self.shared.folders.clone()).join(before);
            }
            if !good.is_nowhere() {
                bad.get_or_insert_with(|| self.shared.folders.clone());
                self.shared.folders.join(good);
            }
            failed = bad;
            if pipeline.background {
                self.shared.folders = begun.clone();
                failed = None;
            }
        }
        self.shared.failed = failed;
        flow
    }

    /// A pipeline, and again with each former value of what it looked at.
    fn pipeline(&mut self, pipeline: &'t Pipeline<'t>, stdin: Flow) -> Flow {
        if self.shared.former.is_empty() && self.shared.former_files.is_empty() {
            return self.once(pipeline, stdin);
        }
        let entry = self.shared.folders.clone();
        let edits = self.shared.edits;
        let outer = std::mem::take(&mut self.shared.asked);
        let mut flow = self.once(pipeline, stdin.clone());
        let asked = std::mem::replace(&mut self.shared.asked, outer);
        if asked.is_empty() {
            return flow;
        }
        if let Err(excess) = NESTING.check(usize::from(self.shared.nesting) + 1) {
            if !self.shared.ways(&asked).is_plain() {
                self.shared.exceeded(excess, None);
            }
            return flow;
        }
        let (mut after, mut failed) = (self.shared.folders.clone(), self.shared.failed.take());
        let mut newest = None;
        self.shared.nesting += 1;
        let ways = self.shared.ways(&asked);
        for n in 0..ways.count {
            if self.shared.budget == 0 {
                self.shared.exceeded(WALKED.exceeded(), None);
                break;
            }
            let way = ways.way(n);
            if self.shared.edits == edits && self.shared.is_walked(&asked, &way, ways.all) {
                continue;
            }
            // Until here nothing was walked, so these are what the first walk left.
            newest.get_or_insert_with(|| self.shared.variables.clone());
            self.shared.folders = entry.clone();
            let before = self.shared.edits;
            let now: Vec<Option<Held>> = asked
                .iter()
                .zip(way)
                .map(|(a, h)| self.shared.swap(a, h.map(Cow::into_owned)))
                .collect();
            let other = self.once(pipeline, stdin.clone());
            let quiet = self.shared.edits == before;
            for (asked, held) in asked.iter().zip(now) {
                if let Some(held) = held {
                    self.shared.restore(asked, held, quiet);
                }
            }
            flow = flow.or(&other);
            let mut bad = self.shared.failed.take();
            if let Some(bad) = bad.as_mut().filter(|_| failed.is_none()) {
                bad.join(after.clone());
            }
            if let Some(failed) = failed.take() {
                bad.get_or_insert_with(|| self.shared.folders.clone()).join(failed);
            }
            failed = bad;
            after.join(self.shared.folders.clone());
        }
        self.shared.nesting -= 1;
        for (name, value, taint) in newest.into_iter().flatten() {
            if self.shared.value(&name).is_some_and(|now| now != value) {
                self.shared.assign(&name, value, taint);
            }
        }
        (self.shared.folders, self.shared.failed) = (after, failed);
        flow
    }

    fn once(&mut self, pipeline: &'t Pipeline<'t>, stdin: Flow) -> Flow {
        let mut flow = stdin;
        if let [stage] = pipeline.stages.as_slice() {
            flow = self.stage(stage, flow);
            if pipeline.negated
                && let Some(failed) = self.shared.failed.take()
            {
                self.shared.folders.join(failed);
            }
            return flow;
        }
        // Each stage is a shell of its own; in some shells the last is not.
        let entry = self.shared.folders.clone();
        let mut last = Folders::nowhere();
        for stage in &pipeline.stages {
            self.shared.folders = entry.clone();
            flow = self.stage(stage, flow);
            last = std::mem::replace(&mut self.shared.folders, entry.clone());
            if let Some(failed) = self.shared.failed.take() {
                last.join(failed);
            }
        }
        self.shared.folders.join(last);
        flow
    }

    /// Runs something that may not happen at all, or that happens in a shell of its own.
    pub(super) fn apart<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let entry = self.shared.folders.clone();
        let result = run(self);
        self.shared.folders = entry;
        self.shared.failed = None;
        result
    }

    /// Runs something after which the folder may have changed or not.
    pub(super) fn maybe<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let entry = self.shared.folders.clone();
        let result = run(self);
        if let Some(failed) = self.shared.failed.take() {
            self.shared.folders.join(failed);
        }
        self.shared.folders.join(entry);
        result
    }

    /// The parts of `if` and `while`, each of which may run after any other that stands before it.
    pub(super) fn parts(&mut self, list: &'t [Pipeline<'t>], stdin: &Flow) -> Flow {
        let mut flow = Flow::none();
        let mut rest = list;
        while !rest.is_empty() {
            let chain = 1 + rest.iter().skip(1).take_while(|p| p.join != Join::Then).count();
            let (now, later) = rest.split_at(chain.min(rest.len()));
            let next = self.maybe(|w| w.list(now, stdin));
            flow = flow.then(next);
            rest = later;
        }
        flow
    }

    /// A loop runs again with what its first turn left behind; what still changes then is unknown.
    pub(super) fn turns(&mut self, mut turn: impl FnMut(&mut Self) -> Flow) -> Flow {
        let changes = self.shared.changes;
        let mut flow = self.maybe(&mut turn);
        if self.shared.changes == changes || self.shared.loops >= 2 {
            return flow;
        }
        self.shared.loops += 1;
        let keep = self.shared.open.len();
        for at in 0.. {
            let (before, formers) = (self.shared.variables.clone(), self.shared.former.len());
            flow = flow.then(self.maybe(&mut turn));
            let mut widened = false;
            for (name, value, _) in before {
                let more = self.shared.former.iter().skip(formers).find(|f| f.0 == name);
                let now = self.shared.value(&name).filter(|now| *now != value);
                let more = more.map(|f| f.1.as_str()).filter(|former| *former != value);
                let Some(now) = now.or(more) else { continue };
                if now == UNKNOWN.encode_utf8(&mut [0; 4]) {
                    widened |= value != now;
                    continue;
                }
                // A list that only grows still begins as it did.
                let stem = value.split(UNKNOWN).next().unwrap_or_default();
                let stem = if now.starts_with(stem) { stem } else { "" };
                let open = format!("{stem}{UNKNOWN}");
                self.shared.open.retain(|(n, _)| *n != name);
                self.shared.open.push((name.clone(), open.clone()));
                self.set(&name, open, Taint::COMPUTED);
                widened = true;
            }
            if !widened {
                break;
            }
            if at >= MAX_TURNS {
                self.shared.sign(&signs::TOO_MANY, None);
                break;
            }
        }
        self.shared.open.truncate(keep);
        self.shared.loops -= 1;
        flow.text = None;
        flow
    }
}

impl Shared<'_, '_> {
    /// The newest value of a variable.
    fn value(&self, name: &str) -> Option<&str> {
        self.variables.iter().rev().find(|(n, _, _)| n == name).map(|(_, v, _)| v.as_str())
    }

    /// Sets a variable without a doubt.
    pub fn put(&mut self, name: &str, value: &str, taint: Taint) {
        match self.variables.iter_mut().rev().find(|(n, _, _)| n == name) {
            Some(slot) => {
                self.edits += 1;
                (slot.1, slot.2) = (value.to_owned(), taint);
            }
            None => self.assign(name, value.to_owned(), taint),
        }
    }

    /// Notes that something was set anew.
    pub fn changed(&mut self) {
        self.changes += 1;
        self.edits += 1;
    }

    /// Notes that something was looked at that had another value before.
    pub fn ask_variable(&mut self, name: &str) {
        if self.former.iter().any(|(n, _, _)| n == name) {
            let known = |a: &Asked| matches!(a, Asked::Variable(n) if n == name);
            if !self.asked.iter().any(known) {
                self.asked.push(Asked::Variable(name.to_owned()));
            }
        }
    }

    fn ask_file(&mut self, name: &str) {
        if self.former_files.iter().any(|(n, _)| n == name) {
            let asked = Asked::File(name.to_owned());
            if !self.asked.contains(&asked) {
                self.asked.push(asked);
            }
        }
    }

    /// The former values of what was asked.
    fn ways(&self, asked: &[Asked]) -> Ways {
        let former = |asked: &Asked| -> Vec<Held> {
            match asked {
                Asked::Variable(name) => {
                    let former = self.former.iter().filter(|(n, _, _)| n == name);
                    former.map(|(_, v, t)| Held::Variable(v.clone(), *t)).collect()
                }
                Asked::File(name) => {
                    let former = self.former_files.iter().filter(|(n, _)| n == name);
                    former.map(|(_, f)| Held::File(f.clone())).collect()
                }
            }
        };
        let former: Vec<Vec<Held>> = asked.iter().map(former).collect();
        let count = former.iter().fold(1_usize, |n, f| n.saturating_mul(f.len() + 1));
        if count <= MAX_WAYS {
            return Ways { former, all: true, count: count - 1 };
        }
        let singles: usize = former.iter().map(|f| f.len().min(MAX_WAYS)).sum();
        Ways { former, all: false, count: singles + 1 }
    }

    /// Puts a value in place, none leaves it; returns what was there.
    fn swap(&mut self, asked: &Asked, held: Option<Held>) -> Option<Held> {
        match asked {
            Asked::Variable(name) => {
                let slot = self.variables.iter_mut().rev().find(|(n, _, _)| n == name)?;
                let now = Held::Variable(slot.1.clone(), slot.2);
                if let Some(Held::Variable(value, taint)) = held {
                    (slot.1, slot.2) = (value, taint);
                }
                Some(now)
            }
            Asked::File(name) => {
                self.file_turns += 1;
                let slot = self.files.iter_mut().find(|(n, _)| n == name)?;
                let now = Held::File(slot.1.clone());
                if let Some(Held::File(flow)) = held {
                    slot.1 = flow;
                }
                Some(now)
            }
        }
    }

    /// Whether a way only says again what is so now. Where nothing was changed since, the first
    /// walk found the same; among all combinations, an earlier one that leaves the value alone did.
    fn is_walked(&self, asked: &[Asked], way: &[Option<Cow<'_, Held>>], all: bool) -> bool {
        let is_so = |(asked, held): (&Asked, &Held)| match (asked, held) {
            (Asked::Variable(name), Held::Variable(value, taint)) => {
                let now = self.variables.iter().rev().find(|(n, _, _)| n == name);
                now.is_some_and(|(_, v, t)| v == value && t == taint)
            }
            (Asked::File(name), Held::File(flow)) => {
                self.files.iter().find(|(n, _)| n == name).is_some_and(|(_, f)| f == flow)
            }
            _ => false,
        };
        let mut held = asked.iter().zip(way).filter_map(|(a, h)| Some((a, h.as_deref()?)));
        if all { held.any(is_so) } else { held.all(is_so) }
    }

    /// Puts back what was there; what came in between stays possible. `quiet` says that nothing
    /// came in between: then nothing has changed, unless it cannot be put back.
    fn restore(&mut self, asked: &Asked, held: Held, quiet: bool) {
        let edits = self.edits;
        match (asked, held) {
            (Asked::Variable(name), Held::Variable(value, taint)) => {
                let formers = self.former.len();
                let again = value.clone();
                self.assign(name, value, taint);
                if quiet && formers == self.former.len() && self.value(name) == Some(&again) {
                    self.edits = edits;
                }
            }
            (Asked::File(name), Held::File(flow)) => {
                let formers = self.former_files.len();
                self.hold(name.clone(), flow.clone());
                let now = self.files.iter().find(|(n, _)| n == name);
                if quiet
                    && formers == self.former_files.len()
                    && now.is_some_and(|(_, f)| *f == flow)
                {
                    self.edits = edits;
                }
            }
            _ => {}
        }
    }

    /// Remembers what a file now holds.
    pub fn hold(&mut self, name: String, flow: Flow) {
        let Some((_, content)) = self.files.iter_mut().find(|(n, _)| *n == name) else {
            if self.files.len() < MAX_FILES {
                self.files.push((name, flow));
                self.file_turns += 1;
                self.changed();
            } else {
                self.files_lost = true;
                self.file_turns += 1;
                self.edits += 1;
            }
            return;
        };
        if content.text == flow.text && content.taint == flow.taint {
            return;
        }
        self.changes += 1;
        self.edits += 1;
        self.file_turns += 1;
        let old = std::mem::replace(content, flow);
        let known = |(n, f): &(String, Flow)| *n == name && f.text == old.text;
        if self.former_files.iter().any(known) {
            return;
        }
        if self.former_files.len() >= MAX_FORMER_FILES {
            *content = Flow::unknown(old.taint.and(content.taint));
            return;
        }
        self.former_files.push((name, old));
    }

    /// What this text wrote into a file before.
    pub fn known_file(&mut self, path: &str) -> Option<Flow> {
        self.file_uses += 1;
        if self.files.is_empty() {
            return None;
        }
        let names = self.names_of(path);
        let mut found = self.files.iter().filter(|(n, _)| names.contains(n));
        let Some((name, flow)) = found.next().cloned() else {
            return self.files_lost.then(|| Flow::unknown(Taint::FILE));
        };
        self.asks += 1;
        // Seen from another folder it is another file.
        let others: Vec<Flow> = found.map(|(_, f)| f.clone()).collect();
        for other in others {
            if self.former_files.len() >= MAX_FORMER_FILES {
                return Some(Flow::unknown(flow.taint.and(other.taint)));
            }
            if !self.former_files.iter().any(|(n, f)| *n == name && f.text == other.text) {
                self.edits += 1;
                self.former_files.push((name.clone(), other));
            }
        }
        self.ask_file(&name);
        Some(flow)
    }
}
