//! Walking a pipeline again with former values: which values, put in place and put back.

use std::borrow::Cow;

use super::combinations::{Asked, Binding, Combinations};
use super::eval_state::EvalState;

impl EvalState<'_, '_> {
    /// Begins to note what is read that had another value before; returns what was noted so far.
    pub fn begin_asking(&mut self) -> Vec<Asked> {
        std::mem::take(&mut self.asked)
    }

    /// Ends it: `outer` is what `begin_asking` returned; returns what was noted since.
    pub fn end_asking(&mut self, outer: Vec<Asked>) -> Vec<Asked> {
        std::mem::replace(&mut self.asked, outer)
    }

    /// The former values of what was asked.
    pub fn combinations(&self, asked: &[Asked]) -> Combinations {
        let former = |asked: &Asked| -> Vec<Binding> {
            match asked {
                Asked::Variable(name) => {
                    let former = self.variables.former_of(name);
                    former.map(|v| Binding::Variable(v.value.clone(), v.taint)).collect()
                }
                Asked::File(name) => {
                    self.files.former_of(name).map(|f| Binding::File(f.clone())).collect()
                }
            }
        };
        Combinations::of(asked.iter().map(former).collect())
    }

    /// Puts a value in place, none leaves it; returns what was there.
    pub fn swap(&mut self, asked: &Asked, binding: Option<Binding>) -> Option<Binding> {
        match asked {
            Asked::Variable(name) => {
                let other = match binding {
                    Some(Binding::Variable(value, taint)) => Some((value, taint)),
                    _ => None,
                };
                let (value, taint) = self.variables.swap(name, other)?;
                Some(Binding::Variable(value, taint))
            }
            Asked::File(name) => {
                let other = match binding {
                    Some(Binding::File(flow)) => Some(flow),
                    _ => None,
                };
                self.files.swap(name, other).map(Binding::File)
            }
        }
    }

    /// Puts back what was there; what came in between stays possible. `quiet` says that nothing
    /// came in between: then nothing has changed, unless it cannot be put back.
    pub fn restore(&mut self, asked: &Asked, binding: Binding, quiet: bool) {
        match (asked, binding) {
            (Asked::Variable(name), Binding::Variable(value, taint)) => {
                self.variables.restore(name, value, taint, quiet);
            }
            (Asked::File(name), Binding::File(flow)) => self.files.restore(name, &flow, quiet),
            _ => {}
        }
    }

    /// Whether a combination only repeats what is so now. Where nothing was changed since, the
    /// first walk found the same; among all combinations, an earlier one that leaves the value
    /// alone did.
    pub fn is_walked(
        &self,
        asked: &[Asked],
        combination: &[Option<Cow<'_, Binding>>],
        combinations: &Combinations,
    ) -> bool {
        let is_so = |(asked, binding): (&Asked, &Binding)| match (asked, binding) {
            (Asked::Variable(name), Binding::Variable(value, taint)) => {
                let now = self.variables.get(name);
                now.is_some_and(|v| v.value == *value && v.taint == *taint)
            }
            (Asked::File(name), Binding::File(flow)) => self.files.content(name) == Some(flow),
            _ => false,
        };
        let mut values =
            asked.iter().zip(combination).filter_map(|(a, b)| Some((a, b.as_deref()?)));
        if combinations.is_complete() { values.any(is_so) } else { values.all(is_so) }
    }
}
