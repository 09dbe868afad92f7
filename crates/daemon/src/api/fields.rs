//! JSON bodies read strictly: the right types, no doubled keys, no unknown members.

use std::cell::RefCell;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use countersign_core::json::{self, Value};
use countersign_core::time::Span;

use super::problem::Problem;

/// The longest body.
pub const MAX_BODY: usize = 256 << 10;

/// Reads a body, as JSON by its own word: a form or a plain text could come from any web page.
pub async fn body(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    if !essence.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not-json",
            "JSON is needed",
            "the content type must be application/json",
        ));
    }
    axum::body::to_bytes(body, MAX_BODY).await.map_err(|_| {
        Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            "This is too large",
            format!("a body may have at most {MAX_BODY} bytes, and must arrive whole"),
        )
    })
}

/// The same where there need not be one: an empty body needs no content type.
pub async fn body_or_none(headers: &HeaderMap, content: Body) -> Result<Option<Bytes>, Problem> {
    let empty = hyper::body::Body::is_end_stream(&content);
    if empty && !headers.contains_key(header::CONTENT_TYPE) {
        return Ok(None);
    }
    let bytes = body(headers, content).await?;
    Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
}

/// The JSON of a body.
pub fn parse(bytes: &[u8]) -> Result<Value<'_>, Problem> {
    json::parse_bytes(bytes).map_err(|error| Problem::bad(format!("invalid JSON: {error}")))
}

/// The text of a member exactly as it came, for raw digests. The text must have been parsed.
pub fn member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    json::member_text(text, name).ok().flatten()
}

/// The texts of a list's items exactly as they came. The text must have been parsed.
pub fn items(list: &str) -> Vec<&str> {
    let inner = list.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let Some(inner) = inner.filter(|inner| !inner.trim().is_empty()) else { return Vec::new() };
    let (mut found, mut start) = (Vec::new(), 0);
    let (mut depth, mut quoted, mut escaped) = (0_u32, false, false);
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' => depth = depth.saturating_add(1),
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push(inner.get(start..at).unwrap_or_default().trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(inner.get(start..).unwrap_or_default().trim());
    found
}

/// The members of an object, each asked for by name.
pub struct Fields<'v, 'a> {
    members: &'v [(std::borrow::Cow<'a, str>, Value<'a>)],
    asked: RefCell<Vec<&'static str>>,
}

impl<'v, 'a> Fields<'v, 'a> {
    /// Of an object.
    pub fn of(value: &'v Value<'a>) -> Result<Fields<'v, 'a>, Problem> {
        let members = value.as_object().ok_or_else(|| Problem::bad("an object is needed"))?;
        Ok(Fields { members, asked: RefCell::default() })
    }

    /// A member that is there and not null.
    pub fn get(&self, name: &'static str) -> Option<&'v Value<'a>> {
        self.asked.borrow_mut().push(name);
        let found = self.members.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value).filter(|value| !value.is_null())
    }

    /// A text, if there is one.
    pub fn text(&self, name: &'static str) -> Result<Option<&'v str>, Problem> {
        self.get(name)
            .map(|value| value.as_str().ok_or_else(|| wrong(name, "a string")))
            .transpose()
    }

    /// A text that must be there and say something.
    pub fn needed_text(&self, name: &'static str) -> Result<&'v str, Problem> {
        let text = self.text(name)?.filter(|text| !text.is_empty());
        text.ok_or_else(|| Problem::bad(format!("`{name}` is needed")))
    }

    /// A boolean, if there is one. Nothing else is taken for one: not "false", not 0.
    pub fn flag(&self, name: &'static str) -> Result<Option<bool>, Problem> {
        self.get(name)
            .map(|value| value.as_bool().ok_or_else(|| wrong(name, "true or false")))
            .transpose()
    }

    /// A number of seconds, if there is one.
    pub fn seconds(&self, name: &'static str) -> Result<Option<f64>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value.as_number().and_then(|digits| digits.parse::<f64>().ok());
        let number = number.filter(|number| number.is_finite() && *number > 0.0);
        number.map(Some).ok_or_else(|| wrong(name, "a number of seconds above 0"))
    }

    /// A list, if there is one.
    pub fn list(&self, name: &'static str) -> Result<Option<&'v [Value<'a>]>, Problem> {
        self.get(name)
            .map(|value| value.as_array().ok_or_else(|| wrong(name, "a list")))
            .transpose()
    }

    /// Refuses members that nobody asked for: a misspelt one would be passed over.
    pub fn finish(&self) -> Result<(), Problem> {
        let asked = self.asked.borrow();
        let unknown = self.members.iter().find(|(key, _)| !asked.iter().any(|name| key == name));
        unknown.map_or(Ok(()), |(key, _)| {
            let shown = countersign_core::show::show_within(key, 60);
            Err(Problem::bad(format!("there is no member `{}`", shown.text)))
        })
    }
}

/// A span from seconds above nought.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "above 0 by the check in `seconds`, and a cast of a float stays on the scale"
)]
pub fn span(seconds: f64) -> Span {
    Span(((seconds * 1000.0) as u64).max(1))
}

fn wrong(name: &str, wanted: &str) -> Problem {
    Problem::bad(format!("`{name}` must be {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_given_as_they_came() {
        let list = r#" [ {"a": "],[\\"} , [1,[2, 3]],"\"," , 1e3 ] "#;
        assert!(json::parse(list).is_ok());
        assert_eq!(items(list), [r#"{"a": "],[\\"}"#, "[1,[2, 3]]", r#""\",""#, "1e3"]);
        assert!(items("[ ]").is_empty());
    }
}
