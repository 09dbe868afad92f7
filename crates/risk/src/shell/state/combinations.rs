//! Former values of what a pipeline read, and the combinations of them that it is walked with.

use std::borrow::Cow;

use crate::flow::{Flow, Taint};
use crate::shell::plain::is_like_any;
use countersign_shell::UNKNOWN;

/// How many combinations of values are tried for one pipeline.
const MAX_COMBINATIONS: usize = 40;

/// Something that had another value before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    Variable(String),
    File(String),
}

/// One value of it.
#[derive(Debug, Clone)]
pub(crate) enum Binding {
    Variable(String, Taint),
    File(Flow),
}

/// All combinations of former values; where they are too many, one former value at a time, and
/// once with nothing known.
pub(crate) struct Combinations {
    former: Vec<Vec<Binding>>,
    all: bool,
    count: usize,
}

/// One combination: a value for each thing asked, none for what is true now.
pub(crate) type Combination<'w> = Vec<Option<Cow<'w, Binding>>>;

impl Combinations {
    /// The combinations of these former values, one list for each thing asked.
    pub(super) fn of(former: Vec<Vec<Binding>>) -> Combinations {
        let count = former.iter().fold(1_usize, |n, f| n.saturating_mul(f.len() + 1));
        if count <= MAX_COMBINATIONS {
            return Combinations { former, all: true, count: count - 1 };
        }
        let singles: usize = former.iter().map(|f| f.len().min(MAX_COMBINATIONS)).sum();
        Combinations { former, all: false, count: singles + 1 }
    }

    /// Whether every combination is among them.
    pub(super) fn is_complete(&self) -> bool {
        self.all
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether all values are plain data, so that it does not matter which of them come together.
    pub fn is_plain(&self) -> bool {
        let plain = |b: &Binding| matches!(b, Binding::Variable(v, _) if is_like_any(v));
        self.former.iter().filter(|values| !values.iter().all(plain)).count() < 2
    }

    /// The nth of them.
    pub fn get(&self, n: usize) -> Combination<'_> {
        if self.all {
            return self.mixed(n);
        }
        if n + 1 < self.count {
            return self.single(n);
        }
        // Combinations of values that matter were not tried: reported where one is used.
        let lost = if self.is_plain() { Taint::default() } else { Taint::LOST };
        let unknown = |former: &Vec<Binding>| match former.first()? {
            Binding::Variable(..) => {
                Some(Binding::Variable(UNKNOWN.to_string(), Taint::COMPUTED.and(lost)))
            }
            Binding::File(_) => Some(Binding::File(Flow::unknown(Taint::FILE.and(lost)))),
        };
        self.former.iter().map(|former| unknown(former).map(Cow::Owned)).collect()
    }

    /// The nth of all combinations. What is true now comes first and was assessed already: counting
    /// begins behind it. The last thing asked changes fastest.
    fn mixed(&self, n: usize) -> Combination<'_> {
        let mut rest = n + 1;
        let mut combination = Vec::with_capacity(self.former.len());
        for former in self.former.iter().rev() {
            let choices = former.len() + 1;
            let value = (rest % choices).checked_sub(1).and_then(|at| former.get(at));
            combination.push(value.map(Cow::Borrowed));
            rest /= choices;
        }
        combination.reverse();
        combination
    }

    /// The nth where only one thing has a former value.
    fn single(&self, n: usize) -> Combination<'_> {
        let mut rest = Some(n);
        let one_each = |former| {
            let former: &Vec<Binding> = former;
            let at = rest?;
            let mine = former.len().min(MAX_COMBINATIONS);
            rest = at.checked_sub(mine);
            former.get(at).filter(|_| at < mine).map(Cow::Borrowed)
        };
        self.former.iter().map(one_each).collect()
    }
}
