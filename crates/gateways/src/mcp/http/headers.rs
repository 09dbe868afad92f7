//! Headers: which are forwarded, and what they say about a message.

use countersign_json::{Value, base64};
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;

use crate::mcp::message::{MODERN, RequestMeta};

/// Headers of one connection, and a header by which a server would compress what we must read.
pub const NOT_FORWARDED: [HeaderName; 8] = [
    CONNECTION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    CONTENT_LENGTH,
    ACCEPT_ENCODING,
    HeaderName::from_static("keep-alive"),
];

/// The type of a body, without parameters.
pub fn content_type(headers: &HeaderMap) -> String {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a body is a stream of events.
pub fn is_event_stream(headers: &HeaderMap) -> bool {
    content_type(headers) == "text/event-stream"
}

/// Whether a client accepts a stream of events.
pub fn accepts_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    let mut accepted = accepted.filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.contains("text/event-stream") || value.contains("*/*"))
}

/// A request for the server, with the headers of the client's request. For a request of our own
/// the headers name its method.
pub fn request_for_server(
    parts: &Parts,
    body: Bytes,
    own_method: Option<&'static str>,
) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    request.method_mut().clone_from(&parts.method);
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    if let Ok(uri) = path.parse() {
        *request.uri_mut() = uri;
    }
    for (name, value) in &parts.headers {
        if !NOT_FORWARDED.contains(name) {
            request.headers_mut().append(name, value.clone());
        }
    }
    if let Some(method) = own_method {
        name_method(request.headers_mut(), method);
    }
    request
}

/// Makes the headers that repeat the message fit another method without a name.
fn name_method(headers: &mut HeaderMap, method: &'static str) {
    if headers.contains_key("mcp-method") {
        headers.insert("mcp-method", HeaderValue::from_static(method));
    }
    let is_named =
        |name: &HeaderName| name.as_str() == "mcp-name" || name.as_str().starts_with("mcp-param-");
    let names: Vec<HeaderName> = headers.keys().filter(|name| is_named(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Checks that the headers of a modern message say what the message says. A held call is answered
/// before its server sees it, so for calls no header may be missing either.
pub fn check(headers: &HeaderMap, method: &str, params: &Value<'_>) -> Result<(), String> {
    let meta = RequestMeta::of(params);
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let version = header("mcp-protocol-version");
    if !meta.is_modern() && version.is_none_or(|version| version < MODERN) {
        return Ok(());
    }
    let name = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str);
    let in_message = [
        ("mcp-method", Some(method)),
        ("mcp-protocol-version", meta.version.as_deref()),
        ("mcp-name", name),
    ];
    for (header_name, value) in in_message {
        let Some(value) = value else { continue };
        match header(header_name).map(|text| decoded(text.trim())) {
            Some(text) if text.as_deref() == Some(value) => {}
            Some(_) => return Err(format!("the header {header_name} and the message differ")),
            None if method == "tools/call" => {
                return Err(format!("the header {header_name} is missing"));
            }
            None => {}
        }
    }
    Ok(())
}

/// The text of a header, which may be encoded.
fn decoded(text: &str) -> Option<String> {
    let Some(inside) = text.strip_prefix("=?base64?") else { return Some(text.to_owned()) };
    let bytes = base64::decode(inside.strip_suffix("?=")?).ok()?;
    String::from_utf8(bytes).ok()
}
