//! What is known about a value without running anything: text, number, name, origin.

use std::rc::Rc;

use crate::code::table::TAINT_MANY;
use crate::limit::{Excess, Limit};

/// Longest text that is put together.
pub(super) const TEXT: Limit = Limit::new("bytes in a text", 32 * 1024);
/// Most entries of a list that are kept.
const ITEMS: Limit = Limit::new("entries in a list", 512);
/// Most values that one name is followed with.
const CHOICES: Limit = Limit::new("values of a name", 16);
/// Cut off by one of these bounds; reported where it is used.
pub(super) const TAINT_LOST: u32 = 1 << 31;
/// Stands for a part that is only known when it runs.
pub(super) const HOLE: char = '\u{1a}';

/// Text, borrowed from the source where it stands there as it is.
#[derive(Debug, Clone)]
pub(super) enum Text<'a> {
    Src(&'a str),
    Own(Rc<str>),
}

impl Text<'_> {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Text::Src(s) => s,
            Text::Own(s) => s,
        }
    }
}

/// How `items` are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Shape {
    #[default]
    One,
    List,
    /// One of the items, we do not know which.
    AnyOf,
}

/// A value.
#[derive(Debug, Clone, Default)]
pub(super) struct Value<'a> {
    /// Place in the trie of names; 0 for none.
    pub(super) node: u16,
    /// Name of a function, method or argument.
    pub(super) name: &'a str,
    /// Key in a call or a dictionary.
    pub(super) key: &'a str,
    pub(super) text: Option<Text<'a>>,
    pub(super) num: Option<i64>,
    pub(super) items: Option<Rc<[Value<'a>]>>,
    pub(super) shape: Shape,
    pub(super) taint: u32,
    /// Where it is in the source.
    pub(super) at: (u32, u32),
    /// Where its text starts in the source, if it stands there as it is.
    pub(super) exact: Option<u32>,
}

/// The mark of what a bound cut off.
pub(super) fn lost(within: Result<(), Excess>) -> u32 {
    within.map_or_else(|_| TAINT_LOST, |()| 0)
}

impl<'a> Value<'a> {
    pub(super) fn text(&self) -> Option<&str> {
        self.text.as_ref().map(Text::as_str)
    }

    /// Text with no unknown part.
    pub(super) fn whole(&self) -> Option<&str> {
        self.text().filter(|t| !t.contains(HOLE))
    }

    pub(super) fn of_text(text: String, taint: u32) -> Value<'a> {
        let taint = taint | lost(TEXT.check(text.len()));
        let text = (taint & TAINT_LOST == 0).then(|| Text::Own(text.into()));
        Value { text, taint, ..Value::default() }
    }

    /// Alternatives never nest: alternatives of alternatives are alternatives.
    pub(super) fn of_items(mut items: Vec<Value<'a>>, shape: Shape) -> Value<'a> {
        if shape == Shape::AnyOf && items.iter().any(|v| v.shape == Shape::AnyOf) {
            items = items.iter().flat_map(|v| v.choices().iter().cloned()).collect();
        }
        let taint = items.iter().fold(lost(ITEMS.check(items.len())), |t, v| t | v.taint);
        items.truncate(512);
        Value { items: Some(items.into()), shape, taint, ..Value::default() }
    }

    pub(super) fn unknown(taint: u32) -> Value<'a> {
        Value { taint, ..Value::default() }
    }

    pub(super) fn items(&self) -> &[Value<'a>] {
        self.items.as_deref().unwrap_or_default()
    }

    /// All values this one may stand for: itself, or its alternatives.
    pub(super) fn choices(&self) -> &[Value<'a>] {
        if self.shape == Shape::AnyOf { self.items() } else { std::slice::from_ref(self) }
    }

    /// The last alternative, for putting text together.
    pub(super) fn latest(&self) -> &Value<'a> {
        self.choices().last().unwrap_or(self)
    }

    /// What a loop over the value sees.
    pub(super) fn element(&self) -> Value<'a> {
        let element = self.any_item();
        Value { taint: element.taint | self.taint & TAINT_LOST, ..element }
    }

    fn any_item(&self) -> Value<'a> {
        match (&self.items, self.shape) {
            (Some(items), Shape::List) => Value::of_items(items.to_vec(), Shape::AnyOf),
            _ if self.taint & TAINT_MANY != 0 => self.clone(),
            (Some(_), _) => {
                let inner = self.items().iter().flat_map(|v| v.items().iter().cloned());
                Value::of_items(inner.collect(), Shape::AnyOf)
            }
            _ => Value { text: None, exact: None, num: None, ..self.clone() },
        }
    }

    /// This value or that one.
    pub(super) fn or(self, other: Value<'a>) -> Value<'a> {
        if other.text.is_none() && other.node == 0 && other.items.is_none() && other.num.is_none() {
            return Value { taint: self.taint | other.taint, ..self };
        }
        if self.text.is_none() && self.node == 0 && self.items.is_none() && self.num.is_none() {
            return Value { taint: self.taint | other.taint, ..other };
        }
        let mut all: Vec<Value<'a>> = self.choices().to_vec();
        for value in other.choices() {
            let same = |v: &Value<'a>| {
                v.node == value.node
                    && v.num == value.num
                    && v.text() == value.text()
                    && v.items.is_none() == value.items.is_none()
            };
            if value.items.is_some() || !all.iter().any(same) {
                all.push(value.clone());
            }
        }
        let cut = lost(CHOICES.check(all.len()));
        all.truncate(16);
        let any = Value::of_items(all, Shape::AnyOf);
        Value { taint: any.taint | cut, ..any }
    }

    /// The argument with a key.
    pub(super) fn keyed<'v>(args: &'v [Value<'a>], key: &str) -> Option<&'v Value<'a>> {
        args.iter().find(|a| a.key == key)
    }

    /// The n-th argument without a key.
    pub(super) fn nth<'v>(args: &'v [Value<'a>], n: u8) -> Option<&'v Value<'a>> {
        args.iter().filter(|a| a.key.is_empty()).nth(usize::from(n))
    }
}
