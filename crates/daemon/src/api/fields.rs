//! JSON bodies read strictly: the right types, no duplicate keys, no unknown members.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use countersign_json as json;
use countersign_json::Value;
use countersign_types::time::Millis;

use super::problem::ApiProblem;

/// How long a caller may take to send its body: a slow one holds a connection.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest body in bytes.
pub const MAX_BODY: usize = 256 << 10;
/// Bodies up to this size are copied out of the connection's buffer.
const COPY_LIMIT: usize = 2 << 10;

/// Reads a body that is declared as JSON: a form or plain text could come from any web page.
pub async fn read_json_body<B>(headers: &HeaderMap, body: B) -> Result<Bytes, ApiProblem>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
{
    is_json(headers)?;
    read_body(body).await
}

/// Whether the content type is JSON.
pub fn is_json(headers: &HeaderMap) -> Result<(), ApiProblem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    if !essence.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Err(ApiProblem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not-json",
            "Unsupported media type",
            "send the body with content type application/json",
        ));
    }
    Ok(())
}

/// Reads the body after the headers were checked.
pub async fn read_body<B>(body: B) -> Result<Bytes, ApiProblem>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
{
    let collected = tokio::time::timeout(BODY_TIMEOUT, collect_body(body)).await;
    let collected = collected.map_err(|_| {
        ApiProblem::bad_request(format!(
            "the body did not arrive within {} seconds",
            BODY_TIMEOUT.as_secs()
        ))
    })?;
    collected.ok_or_else(|| {
        ApiProblem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            "Body too large",
            format!("the body must be complete and have at most {MAX_BODY} bytes"),
        )
    })
}

/// Collects a body that is complete and not too long. A short body is copied, because it would
/// otherwise keep its connection's whole buffer alive.
async fn collect_body<B>(mut body: B) -> Option<Bytes>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
{
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > MAX_BODY {
        return None;
    }
    let (mut first, mut all) = (None, Vec::new());
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(data) = frame.ok()?.into_data() else { continue };
        let length = first.as_ref().map_or(all.len(), Bytes::len);
        if length.saturating_add(data.len()) > MAX_BODY {
            return None;
        }
        match first.take() {
            None if all.is_empty() => first = Some(data),
            before => {
                all.extend_from_slice(&before.unwrap_or_default());
                all.extend_from_slice(&data);
            }
        }
    }
    Some(match first {
        Some(short) if short.len() <= COPY_LIMIT => Bytes::copy_from_slice(&short),
        Some(long) => long,
        None => all.into(),
    })
}

/// Reads a body that may be missing; an empty body needs no content type.
pub async fn read_optional_body(
    headers: &HeaderMap,
    content: Body,
) -> Result<Option<Bytes>, ApiProblem> {
    let empty = hyper::body::Body::is_end_stream(&content);
    if empty && !headers.contains_key(header::CONTENT_TYPE) {
        return Ok(None);
    }
    let bytes = read_json_body(headers, content).await?;
    Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
}

/// Parses the JSON of a body.
pub fn parse(bytes: &[u8]) -> Result<Value<'_>, ApiProblem> {
    json::parse_bytes(bytes)
        .map_err(|error| ApiProblem::bad_request(format!("invalid JSON: {error}")))
}

/// The text of a member exactly as received, for raw digests. The text must have been parsed.
pub fn member_text<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    json::member_text(text, name).ok().flatten()
}

/// The texts of a list's items exactly as received. The text must have been parsed.
pub fn item_texts(list: &str) -> Vec<&str> {
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

/// The members of an object, each read by name.
pub struct Fields<'v, 'a> {
    members: &'v [(std::borrow::Cow<'a, str>, Value<'a>)],
    /// Which members were read: a bit for each of the first 64. No route knows that many members,
    /// so of more than 64 one is always unknown.
    asked: Cell<u64>,
}

impl<'v, 'a> Fields<'v, 'a> {
    /// The members of this object.
    pub fn new(value: &'v Value<'a>) -> Result<Fields<'v, 'a>, ApiProblem> {
        let members = value
            .as_object()
            .ok_or_else(|| ApiProblem::bad_request("a JSON object is required"))?;
        Ok(Fields { members, asked: Cell::new(0) })
    }

    /// A member that is present and not null.
    pub fn get(&self, name: &'static str) -> Option<&'v Value<'a>> {
        let at = self.members.iter().position(|(key, _)| key == name)?;
        self.asked.set(self.asked.get() | bit(at));
        self.members.get(at).map(|(_, value)| value).filter(|value| !value.is_null())
    }

    /// The text of a member exactly as received, for raw digests. `whole` is the text of the
    /// object.
    pub fn raw_text<'t>(&self, name: &str, whole: &'t str) -> Option<&'t str> {
        let at = self.members.iter().position(|(key, _)| key == name)?;
        self.text_between_keys(at, whole).or_else(|| member_text(whole, name))
    }

    /// The arguments or the command of a call, exactly as received.
    pub fn raw_call<'t>(&self, whole: &'t str) -> &'t str {
        let arguments = self.raw_text("arguments", whole);
        arguments.or_else(|| self.raw_text("command", whole)).unwrap_or(whole)
    }

    /// The text between one key and the next. Keys usually point into the parsed text, so it need
    /// not be read again; keys with escapes do not.
    fn text_between_keys<'t>(&self, at: usize, whole: &'t str) -> Option<&'t str> {
        let (key, _) = self.members.get(at)?;
        let before = offset_in(whole, key)?.checked_add(key.len())?;
        let rest = match self.members.get(at + 1) {
            Some((next, _)) => {
                let rest = whole.get(before..offset_in(whole, next)?)?.strip_suffix('"')?;
                rest.trim_end().strip_suffix(',')?
            }
            None => whole.get(before..)?.trim_end().strip_suffix('}')?,
        };
        Some(rest.strip_prefix('"')?.trim_start().strip_prefix(':')?.trim())
    }

    /// A string, if present.
    pub fn text(&self, name: &'static str) -> Result<Option<&'v str>, ApiProblem> {
        self.get(name)
            .map(|value| value.as_str().ok_or_else(|| wrong_type(name, "a string")))
            .transpose()
    }

    /// A string that must be present and not empty.
    pub fn required_text(&self, name: &'static str) -> Result<&'v str, ApiProblem> {
        let text = self.text(name)?.filter(|text| !text.is_empty());
        text.ok_or_else(|| ApiProblem::bad_request(format!("`{name}` is required")))
    }

    /// A boolean, if present. Strings and numbers are not accepted as booleans.
    pub fn boolean(&self, name: &'static str) -> Result<Option<bool>, ApiProblem> {
        self.get(name)
            .map(|value| value.as_bool().ok_or_else(|| wrong_type(name, "true or false")))
            .transpose()
    }

    /// A number of seconds, if present.
    pub fn seconds(&self, name: &'static str) -> Result<Option<f64>, ApiProblem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value.as_number().and_then(|digits| digits.parse::<f64>().ok());
        let number = number.filter(|number| number.is_finite() && *number > 0.0);
        number.map(Some).ok_or_else(|| wrong_type(name, "a number of seconds above 0"))
    }

    /// A list, if present.
    pub fn list(&self, name: &'static str) -> Result<Option<&'v [Value<'a>]>, ApiProblem> {
        self.get(name)
            .map(|value| value.as_array().ok_or_else(|| wrong_type(name, "a list")))
            .transpose()
    }

    /// Rejects members that were not read: a misspelt one would otherwise be ignored.
    pub fn finish(&self) -> Result<(), ApiProblem> {
        let asked = self.asked.get();
        let unknown = self.members.iter().enumerate().find(|(at, _)| asked & bit(*at) == 0);
        unknown.map_or(Ok(()), |(_, (key, _))| {
            let shown = countersign_text::sanitize::sanitize_within(key, 60);
            Err(ApiProblem::bad_request(format!("unknown member `{}`", shown.text)))
        })
    }
}

/// The offset of a part in the text that it is a slice of.
fn offset_in(whole: &str, part: &str) -> Option<usize> {
    let at = part.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    (whole.get(at..)?.len() >= part.len()).then_some(at)
}

/// The bit of a member by its position; 0 beyond the first 64.
fn bit(place: usize) -> u64 {
    u32::try_from(place).ok().and_then(|place| 1_u64.checked_shl(place)).unwrap_or(0)
}

/// A span from a positive number of seconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive by the check in `seconds`, and a float cast saturates"
)]
pub fn span_from_seconds(seconds: f64) -> Millis {
    Millis(((seconds * 1000.0) as u64).max(1))
}

fn wrong_type(name: &str, wanted: &str) -> ApiProblem {
    ApiProblem::bad_request(format!("`{name}` must be {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_returned_as_received() {
        let list = r#" [ {"a": "],[\\"} , [1,[2, 3]],"\"," , 1e3 ] "#;
        assert!(json::parse(list).is_ok());
        assert_eq!(item_texts(list), [r#"{"a": "],[\\"}"#, "[1,[2, 3]]", r#""\",""#, "1e3"]);
        assert!(item_texts("[ ]").is_empty());
    }

    #[test]
    fn a_member_is_returned_as_received() {
        for text in [
            r#"{"payload":{"command":"git status"}}"#,
            r#" { "a" : "payload" , "payload" : { "x": [1, 2, {"payload": 3}] } , "b":[] } "#,
            r#"{"x":{"payload":1},"payload":"}\"],{","y":":"}"#,
            r#"{"p\u0061yload":[1 , 2],"z":1}"#,
            r#"{"z\\":1,"payload":null}"#,
            r#"{"z":"\\","payload": -1e3}"#,
            r#"{"z":["\"", {"payload":1}],"payload":""}"#,
            "{\"payload\"\n:\t[\r1] \n}",
            r#"{"":1,"payload":{"":2}}"#,
            r#"{"payload":"x","":[ 1 ]}"#,
            r#"{"a":1}"#,
            "{}",
            " { } ",
        ] {
            let (value, another) = (json::parse(text).unwrap(), text.to_owned());
            let fields = Fields::new(&value).unwrap();
            for name in ["payload", "z", "a", "b", "y", ""] {
                let wanted = json::member_text(text, name).unwrap();
                assert_eq!(fields.raw_text(name, text), wanted, "{name} of {text}");
                // The same works with an equal text at another address.
                assert_eq!(fields.raw_text(name, &another), wanted, "{name} of {text}");
            }
        }
    }

    #[test]
    fn an_unknown_member_is_rejected_at_any_position() {
        let many = |count: usize| {
            let members: Vec<String> = (0..count).map(|n| format!("\"m{n}\":{n}")).collect();
            format!("{{{},\"known\":1}}", members.join(","))
        };
        for count in [1, 62, 63, 64, 65, 200] {
            let text = many(count);
            let value = json::parse(&text).unwrap();
            let fields = Fields::new(&value).unwrap();
            assert!(fields.get("known").is_some() && fields.finish().is_err(), "{count}");
        }
        let value = json::parse(r#"{"known":null}"#).unwrap();
        let fields = Fields::new(&value).unwrap();
        assert!(
            fields.finish().is_err() && fields.get("known").is_none() && fields.finish().is_ok()
        );
    }

    #[tokio::test]
    async fn a_body_in_several_frames_is_joined_and_bounded() {
        static HALF: [u8; MAX_BODY / 2] = [b' '; MAX_BODY / 2];
        struct Pieces(Vec<&'static [u8]>);
        impl hyper::body::Body for Pieces {
            type Data = Bytes;
            type Error = std::convert::Infallible;

            fn poll_frame(
                mut self: Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>>
            {
                let next = (!self.0.is_empty()).then(|| self.0.remove(0));
                let frame = next.map(|piece| Ok(hyper::body::Frame::data(Bytes::from(piece))));
                std::task::Poll::Ready(frame)
            }
        }
        assert_eq!(collect_body(Pieces(vec![b"ab", b"", b"c", b"de"])).await.unwrap(), "abcde");
        assert_eq!(collect_body(Pieces(vec![b"", b"a"])).await.unwrap(), "a");
        assert_eq!(collect_body(Pieces(vec![])).await.unwrap(), "");
        assert_eq!(collect_body(Pieces(vec![&HALF, &HALF])).await.unwrap().len(), MAX_BODY);
        assert!(collect_body(Pieces(vec![&HALF, &HALF, b"x"])).await.is_none());
        assert!(collect_body(Pieces(vec![b"x", &HALF, &HALF])).await.is_none());
    }
}
