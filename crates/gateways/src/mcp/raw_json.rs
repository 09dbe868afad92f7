//! Parts of a JSON text as they are written, without parsing or rewriting the rest.

use std::borrow::Cow;

use countersign_json as json;

/// The members of an object as they are written: each name, and the text of its value.
///
/// Nothing if the text is not an object. This reader is lenient: where a misread message could do
/// harm, `countersign_json` reads the same text strictly first.
pub fn members(text: &str) -> Option<Vec<(Cow<'_, str>, &str)>> {
    let mut raw_json = Scan { text, at: 0 };
    let mut found = Vec::with_capacity(8);
    raw_json.take(b'{')?;
    if raw_json.peek()? == b'}' {
        return raw_json.end(found);
    }
    loop {
        let name = raw_json.string()?;
        raw_json.take(b':')?;
        found.push((unquote(name)?, raw_json.value()?));
        match raw_json.peek()? {
            b',' => raw_json.at += 1,
            b'}' => return raw_json.end(found),
            _ => return None,
        }
    }
}

/// The items of an array as they are written.
pub fn items(text: &str) -> Option<Vec<&str>> {
    let mut raw_json = Scan { text, at: 0 };
    let mut found = Vec::new();
    raw_json.take(b'[')?;
    if raw_json.peek()? == b']' {
        return raw_json.end(found);
    }
    loop {
        found.push(raw_json.value()?);
        match raw_json.peek()? {
            b',' => raw_json.at += 1,
            b']' => return raw_json.end(found),
            _ => return None,
        }
    }
}

/// The text of one member.
pub fn member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    members(text)?.into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

/// The value of a string; nothing for other JSON texts.
pub fn unquote(written: &str) -> Option<Cow<'_, str>> {
    let inside = written.strip_prefix('"')?.strip_suffix('"')?;
    if !inside.contains('\\') {
        return Some(Cow::Borrowed(inside));
    }
    match json::parse_within(written, written.len()).ok()? {
        json::Value::String(text) => Some(Cow::Owned(text.into_owned())),
        _ => None,
    }
}

/// The same object with some members set, or left out if their new text is nothing; every other
/// value keeps its bytes.
pub fn with_members(text: &str, changes: &[(&str, Option<&str>)]) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 64);
    let mut add = |name: &str, value: &str| {
        out.push(if out.is_empty() { '{' } else { ',' });
        out.push_str(&serde_json::Value::from(name).to_string());
        out.push(':');
        out.push_str(value);
    };
    let found = members(text)?;
    for (name, value) in &found {
        match changes.iter().find(|(changed, _)| changed == name) {
            None => add(name, value),
            Some((_, Some(new))) => add(name, new),
            Some((_, None)) => {}
        }
    }
    for (name, value) in changes {
        if let (Some(value), false) = (value, found.iter().any(|(known, _)| known == name)) {
            add(name, value);
        }
    }
    if out.is_empty() {
        out.push('{');
    }
    out.push('}');
    Some(out)
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The next byte that is not a blank.
    fn peek(&mut self) -> Option<u8> {
        let blanks = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        self.at += self.rest().iter().take_while(|byte| blanks(byte)).count();
        self.rest().first().copied()
    }

    fn take(&mut self, wanted: u8) -> Option<()> {
        if self.peek()? != wanted {
            return None;
        }
        self.at += 1;
        Some(())
    }

    fn since(&self, start: usize) -> Option<&'a str> {
        self.text.get(start..self.at)
    }

    /// A string with its quotes.
    fn string(&mut self) -> Option<&'a str> {
        self.take(b'"')?;
        let start = self.at - 1;
        loop {
            let next = self.rest().iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
            let quote = self.rest().get(next) == Some(&b'"');
            self.at += next + if quote { 1 } else { 2 };
            if quote {
                return self.since(start);
            }
        }
    }

    fn value(&mut self) -> Option<&'a str> {
        match self.peek()? {
            b'"' => self.string(),
            b'{' | b'[' => self.nested(),
            _ => {
                let start = self.at;
                let ends =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
                let rest = self.rest();
                self.at += rest.iter().position(ends).unwrap_or(rest.len());
                self.since(start).filter(|text| !text.is_empty())
            }
        }
    }

    fn nested(&mut self) -> Option<&'a str> {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            let marks = |byte: &u8| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']');
            self.at += self.rest().iter().position(marks)?;
            match self.rest().first()? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                _ => depth = depth.checked_sub(1)?,
            }
            self.at += 1;
            if depth == 0 {
                return self.since(start);
            }
        }
    }

    /// The result, if nothing follows.
    fn end<T>(&mut self, found: T) -> Option<T> {
        self.at += 1;
        self.peek().is_none().then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_bytes() {
        let text = r#" { "a" : 1e2 , "b\u0063" : {"x":[1,"}"]} ,"d":"\"]" } "#;
        let found = members(text).unwrap();
        let expected = [("a", "1e2"), ("bc", r#"{"x":[1,"}"]}"#), ("d", r#""\"]""#)];
        let found: Vec<_> = found.iter().map(|(name, value)| (name.as_ref(), *value)).collect();
        assert_eq!(found, expected);
        assert_eq!(member("{}", "a"), None);
        assert_eq!(items("[1, {\"a\":[]} ,\"]\"]"), Some(vec!["1", "{\"a\":[]}", "\"]\""]));
        for bad in ["", "{", "[1", "{\"a\"}", "{\"a\":}", "{\"a\":1}x", "{\"a\":\"", "{\"a\":[}"] {
            assert!(members(bad).is_none() && items(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn one_member_is_changed_and_the_others_are_not() {
        let text = r#"{"n": 12345678901234567890123, "s":"a" ,"q":1}"#;
        let changed =
            with_members(text, &[("s", Some("{\"x\":1.0}")), ("q", None), ("z", Some("2"))]);
        let expected = r#"{"n":12345678901234567890123,"s":{"x":1.0},"z":2}"#;
        assert_eq!(changed.as_deref(), Some(expected));
        assert_eq!(with_members("{}", &[("a", None)]).as_deref(), Some("{}"));
    }
}
