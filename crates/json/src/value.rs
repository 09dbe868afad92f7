//! A JSON value, and JSON pointers into it (RFC 6901).

use std::borrow::Cow;

/// How deeply arrays and objects may be nested.
pub const MAX_DEPTH: usize = 64;

/// A JSON value that borrows from its text where possible. Numbers keep their exact digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number exactly as written.
    Number(Cow<'a, str>),
    /// A string, unescaped.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// An object in the order written; keys are unique.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// The member of an object.
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        match self {
            Value::Object(members) => members.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The digits of a number, as written.
    pub fn as_number(&self) -> Option<&str> {
        match self {
            Value::Number(text) => Some(text),
            _ => None,
        }
    }

    /// The boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The items of an array.
    pub fn as_array(&self) -> Option<&[Value<'a>]> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The members of an object, in the order written.
    pub fn as_object(&self) -> Option<&[(Cow<'a, str>, Value<'a>)]> {
        match self {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The kind of value, as error messages name it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }

    /// The value at a JSON pointer (RFC 6901); the empty pointer is the value itself.
    pub fn pointer(&self, pointer: &str) -> Option<&Value<'a>> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |value, token| match value {
            Value::Object(_) => value.get(&token.replace("~1", "/").replace("~0", "~")),
            Value::Array(items) => items.get(array_index(token)?),
            _ => None,
        })
    }

    /// Calls `f` with the JSON pointer and the text of every string value, in order.
    ///
    /// Keys are not values: they are part of the pointers. Values nested deeper than twice
    /// `MAX_DEPTH`, which parsed text cannot contain, are not visited.
    pub fn strings(&self, mut f: impl FnMut(&str, &str)) {
        self.walk(&mut String::new(), 0, &mut f);
    }

    fn walk(&self, pointer: &mut String, depth: usize, f: &mut dyn FnMut(&str, &str)) {
        if depth > 2 * MAX_DEPTH {
            return;
        }
        let length = pointer.len();
        match self {
            Value::String(text) => f(pointer, text),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    push_index(pointer, index);
                    item.walk(pointer, depth + 1, f);
                    pointer.truncate(length);
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    push_key(pointer, key);
                    member.walk(pointer, depth + 1, f);
                    pointer.truncate(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The same value, borrowing every string from this one.
    pub fn reborrow(&self) -> Value<'_> {
        self.map(&|text| Cow::Borrowed(text))
    }

    /// The same value, owning all its text.
    pub fn into_owned(self) -> Value<'static> {
        let own = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        match self {
            Value::Null => Value::Null,
            Value::Bool(truth) => Value::Bool(truth),
            Value::Number(text) => Value::Number(own(text)),
            Value::String(text) => Value::String(own(text)),
            Value::Array(items) => Value::Array(items.into_iter().map(Value::into_owned).collect()),
            Value::Object(members) => Value::Object(
                members.into_iter().map(|(key, value)| (own(key), value.into_owned())).collect(),
            ),
        }
    }

    fn map<'b>(&'b self, text: &impl Fn(&'b str) -> Cow<'b, str>) -> Value<'b> {
        match self {
            Value::Null => Value::Null,
            Value::Bool(truth) => Value::Bool(*truth),
            Value::Number(digits) => Value::Number(text(digits)),
            Value::String(string) => Value::String(text(string)),
            Value::Array(items) => Value::Array(items.iter().map(|item| item.map(text)).collect()),
            Value::Object(members) => Value::Object(
                members.iter().map(|(key, value)| (text(key), value.map(text))).collect(),
            ),
        }
    }
}

/// Appends a key to a JSON pointer, escaped as RFC 6901 requires.
pub fn push_key(pointer: &mut String, key: &str) {
    pointer.push('/');
    for part in key.chars() {
        match part {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Appends an array index to a JSON pointer.
pub fn push_index(pointer: &mut String, index: usize) {
    pointer.push('/');
    pointer.push_str(&index.to_string());
}

/// RFC 6901 writes an index in decimal, without sign or leading zeros.
fn array_index(token: &str) -> Option<usize> {
    let plain = token.bytes().all(|b| b.is_ascii_digit());
    let padded = token.len() > 1 && token.starts_with('0');
    if plain && !padded { token.parse().ok() } else { None }
}
