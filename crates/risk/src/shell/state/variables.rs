//! The variables of a text, and the values that they had before.

use super::counters::{Counters, Totals};
use crate::flow::Taint;
use crate::limit::Limit;
use crate::shell::plain::is_like_any;
use countersign_shell::UNKNOWN;

/// How long a variable's value may be.
const VALUE: Limit = Limit::new("bytes in a variable", 32 * 1024);
/// How many variables are followed.
const VARIABLES: Limit = Limit::new("variables", 256);
/// How many former values are kept.
const FORMER: Limit = Limit::new("values that variables had before", 64);
/// How many former values of one variable are kept.
const FORMER_EACH: Limit = Limit::new("values that a variable had before", 12);
/// How many elements of a list are read one by one.
const MAX_ELEMENTS: usize = 256;

/// A variable and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    pub name: String,
    pub value: String,
    pub taint: Taint,
}

/// All variables of one call.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    /// The newest last; a name may occur more than once.
    current: Vec<Variable>,
    /// Values that variables had before they were set again. A branch, subshell or function may not
    /// really have set them, so commands that use them are assessed with these as well.
    former: Vec<Variable>,
    /// Variables that loops change without end, and the beginning that their values keep.
    widened: Vec<(String, String)>,
    /// More variables were set than are followed.
    lost: bool,
    /// A variable was declared to be a number: what is assigned is evaluated.
    integers: bool,
    counters: Counters,
}

impl Variables {
    /// The newest value of a variable.
    pub fn get(&self, name: &str) -> Option<&Variable> {
        self.counters.read();
        self.current.iter().rev().find(|v| v.name == name)
    }

    /// The text of its newest value.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.get(name).map(|v| v.value.as_str())
    }

    /// The elements of a list, or the positional words for `*` and `@`.
    pub fn elements(&self, name: &str) -> Vec<String> {
        let key = |i: usize| match name {
            "*" | "@" => (i + 1).to_string(),
            _ => format!("{name}[{i}]"),
        };
        (0..MAX_ELEMENTS).map_while(|i| self.value(&key(i)).map(str::to_owned)).collect()
    }

    /// Every variable as it is now; none if there are more than are followed. Not counted as read:
    /// no finding depends on it.
    pub fn current(&self) -> Option<&[Variable]> {
        (!self.lost).then_some(&self.current)
    }

    /// Every value, of now and of before.
    pub fn all(&self) -> impl Iterator<Item = &Variable> {
        self.counters.read();
        self.current.iter().chain(&self.former)
    }

    /// Whether a name that is not found may be one of those that are not followed.
    pub fn is_lost(&self) -> bool {
        self.counters.read();
        self.lost
    }

    /// Sets a variable; the value it had before stays possible.
    pub fn assign(&mut self, name: &str, value: String, taint: Taint) {
        // A value that grows without end is not followed.
        let (mut value, mut taint) = match VALUE.check(value.len()) {
            Ok(()) => (value, taint),
            Err(excess) => (UNKNOWN.to_string(), taint.and(excess.into())),
        };
        if let Some((_, wide)) = self.widened.iter().find(|(n, _)| n == name) {
            let begins = value.starts_with(wide.trim_end_matches(UNKNOWN));
            value = if begins { wide.clone() } else { UNKNOWN.to_string() };
        }
        let slot = self.current.iter_mut().rev().find(|v| v.name == name);
        if let Some(slot) = slot {
            if slot.value != value {
                self.counters.change();
                taint = keep_former(&mut self.former, slot, taint);
            }
            if slot.taint != taint {
                self.counters.edit();
            }
            (slot.value, slot.taint) = (value, taint);
        } else if VARIABLES.check(self.current.len() + 1).is_ok() {
            self.counters.change();
            self.current.push(Variable { name: name.to_owned(), value, taint });
        } else {
            // From now on a name that is not found may be one of those.
            self.counters.edit();
            self.lost = true;
        }
    }

    /// Sets a variable where the value it had before is not possible any more.
    pub fn overwrite(&mut self, name: &str, value: &str, taint: Taint) {
        match self.current.iter_mut().rev().find(|v| v.name == name) {
            Some(slot) => {
                self.counters.edit();
                (slot.value, slot.taint) = (value.to_owned(), taint);
            }
            None => self.assign(name, value.to_owned(), taint),
        }
    }

    /// From now on assigned values are arithmetic.
    pub fn declare_integers(&mut self) {
        self.counters.edit();
        self.integers = true;
    }

    pub fn has_integers(&self) -> bool {
        self.integers
    }

    pub fn totals(&self) -> Totals {
        self.counters.totals()
    }
}

/// Values for a while. The caller takes them away again, so they count as neither change nor edit.
impl Variables {
    /// How many there are: what comes later can be taken away again.
    pub fn count(&self) -> usize {
        self.current.len()
    }

    /// Sets a variable for one command; it hides one of the same name.
    pub fn push_temporary(&mut self, variable: Variable) {
        self.current.push(variable);
    }

    /// Takes away this many temporary ones behind the first `kept`.
    pub fn remove_temporary(&mut self, kept: usize, temporary: usize) {
        let end = (kept + temporary).min(self.current.len());
        self.current.drain(kept.min(end)..end);
    }

    /// Takes away all behind the first `kept`.
    pub fn truncate(&mut self, kept: usize) {
        self.current.truncate(kept);
    }

    /// Takes away the positional ones behind the first `kept`: the arguments of a function.
    pub fn remove_positional(&mut self, kept: usize) {
        let positional =
            |n: &str| matches!(n, "@" | "*" | "#") || n.bytes().all(|b| b.is_ascii_digit());
        let mut at = 0;
        self.current.retain(|v| {
            at += 1;
            at <= kept || !positional(&v.name)
        });
    }
}

/// What the code needs that walks a text again.
impl Variables {
    /// A copy of all variables as they are now.
    pub fn snapshot(&self) -> Vec<Variable> {
        self.current.clone()
    }

    pub fn has_former(&self) -> bool {
        !self.former.is_empty()
    }

    /// How many former values there are.
    pub fn former_count(&self) -> usize {
        self.former.len()
    }

    pub fn has_former_of(&self, name: &str) -> bool {
        self.former.iter().any(|v| v.name == name)
    }

    /// The former values of one variable.
    pub fn former_of(&self, name: &str) -> impl Iterator<Item = &Variable> {
        self.former.iter().filter(move |v| v.name == name)
    }

    /// The first former value of a variable behind the first `count` former values of all.
    pub fn former_since(&self, count: usize, name: &str) -> Option<&str> {
        self.former.iter().skip(count).find(|v| v.name == name).map(|v| v.value.as_str())
    }

    /// How many variables are widened.
    pub fn widened_count(&self) -> usize {
        self.widened.len()
    }

    /// From now on whatever is assigned to this variable becomes `wide`.
    pub fn widen(&mut self, name: &str, wide: String) {
        self.widened.retain(|(n, _)| n != name);
        self.widened.push((name.to_owned(), wide.clone()));
        self.assign(name, wide, Taint::COMPUTED);
    }

    /// Variables behind the first `kept` are assigned as they are again.
    pub fn end_widening(&mut self, kept: usize) {
        self.widened.truncate(kept);
    }

    /// Puts a value in place for another walk, none leaves it; returns what was there.
    /// `restore` takes the value away again and counts what the walk left.
    pub(super) fn swap(
        &mut self,
        name: &str,
        other: Option<(String, Taint)>,
    ) -> Option<(String, Taint)> {
        let slot = self.current.iter_mut().rev().find(|v| v.name == name)?;
        let now = (slot.value.clone(), slot.taint);
        if let Some(other) = other {
            (slot.value, slot.taint) = other;
        }
        Some(now)
    }

    /// Puts back what `swap` returned; what came in between stays possible. `quiet` says that
    /// nothing came in between: then nothing has changed, unless it cannot be put back.
    pub(super) fn restore(&mut self, name: &str, value: String, taint: Taint, quiet: bool) {
        let (edits, formers, again) = (self.counters.edits(), self.former.len(), value.clone());
        self.assign(name, value, taint);
        if quiet && formers == self.former.len() && self.value(name) == Some(&again) {
            self.counters.forget_edits_since(edits);
        }
    }
}

/// Keeps the value of a variable that gets another one; returns the taint of the other one, which
/// says so where there is no room for the former value.
fn keep_former(former: &mut Vec<Variable>, slot: &Variable, taint: Taint) -> Taint {
    let unknown = slot.value.contains(UNKNOWN);
    let like = is_like_any(&slot.value);
    let known = |f: &Variable| {
        f.name == slot.name
            && (f == slot || like && f.value.contains(UNKNOWN) == unknown && is_like_any(&f.value))
    };
    if former.iter().any(known) {
        return taint;
    }
    let each = former.iter().filter(|f| f.name == slot.name).count();
    let room = FORMER.check(former.len() + 1);
    match room.and(FORMER_EACH.check(each + 1)) {
        Ok(()) => former.push(slot.clone()),
        // It may still be that value.
        Err(excess) if !like => return taint.and(excess.into()),
        Err(_) => {}
    }
    taint
}
