//! Where in the arguments of a call a value is.

use std::borrow::Cow;

/// Where in the arguments a value is.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    pub parent: Option<&'p Place<'p>>,
    pub key: &'p str,
    pub index: Option<usize>,
    pub depth: u8,
}

impl Place<'_> {
    /// The place of an item of the array that is here.
    pub(super) fn item(&self, index: usize) -> Place<'_> {
        Place { parent: Some(self), key: self.key, index: Some(index), depth: self.depth + 1 }
    }

    /// Its JSON pointer, without an allocation for the names that most calls use.
    pub(super) fn shown(&self) -> Cow<'static, str> {
        match (self.parent, self.index, self.key) {
            (None, None, "command") => Cow::Borrowed("/command"),
            (None, None, "cmd") => Cow::Borrowed("/cmd"),
            (None, None, "path") => Cow::Borrowed("/path"),
            _ => Cow::Owned(self.pointer()),
        }
    }

    /// Its JSON pointer.
    pub(super) fn pointer(&self) -> String {
        let mut head = self.parent.map_or_else(String::new, Place::pointer);
        head.push('/');
        match self.index {
            Some(index) => head.push_str(&index.to_string()),
            None => head.push_str(&self.key.replace('~', "~0").replace('/', "~1")),
        }
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_json_pointers() {
        let a = Place { parent: None, key: "a/b~", index: None, depth: 0 };
        let b = Place { parent: Some(&a), key: "", index: Some(2), depth: 1 };
        assert_eq!(b.pointer(), "/a~1b~0/2");
        for key in ["command", "cmd", "path", "a/b"] {
            let top = Place { parent: None, key, index: None, depth: 0 };
            assert_eq!(top.shown(), top.pointer());
            let inner = Place { parent: Some(&a), ..top };
            assert_eq!(inner.shown(), inner.pointer());
        }
    }
}
