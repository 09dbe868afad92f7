//! A reverse proxy before an MCP server that speaks Streamable HTTP; for this machine alone.

mod batch;
mod body;
mod call;
mod events;
mod tasks;
mod upstream;

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use countersign_client::Agent;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap,
    HeaderName, HeaderValue, ORIGIN, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;

use self::body::{Listener, Out};
use self::events::Events;
use self::upstream::Upstream;
use super::continued::Continued;
use super::desk::Desk;
use super::heard::{self, Heard};
use super::looks;
use super::message::{self, Kind, LONGEST, Meta};
use super::park::Parking;
use super::pins::Pins;
use super::reports::{Ran, Reports};
use super::scan;
use super::session::lock;
use super::tools::Tools;
use super::words;
use super::{McpError, Settings};

/// Headers of one connection, not of what is said over it; and what would hide an answer from us.
const NOT_PASSED_ON: [HeaderName; 8] = [
    CONNECTION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    CONTENT_LENGTH,
    ACCEPT_ENCODING,
    HeaderName::from_static("keep-alive"),
];

/// A proxy before one server.
struct Proxy {
    settings: Settings,
    upstream: Upstream,
    desk: Arc<Desk>,
    tools: Mutex<Tools>,
    reports: Reports,
    continued: Mutex<Continued>,
    /// Calls that wait as tasks, by the names that we gave them.
    tasks: Mutex<HashMap<String, tasks::Kept>>,
    /// The newest client's name for itself: most proxies have one client.
    client: Mutex<Option<String>>,
    /// One list at a time.
    listing: tokio::sync::Mutex<()>,
    /// What clients may call us.
    names: Vec<String>,
}

/// What is learned from an answer.
enum Learn {
    Nothing,
    Greeting,
    List,
    /// What came of an approved call.
    Outcome(Ran),
}

/// Serves until the process ends; `ready` is told the address.
pub fn run(
    settings: Settings,
    agent: Agent,
    listen: SocketAddr,
    url: &str,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), McpError> {
    if !listen.ip().is_loopback() {
        return Err(McpError(format!("{listen} is not this machine alone: use 127.0.0.1:PORT")));
    }
    let failed = |error: &dyn std::fmt::Display| McpError(format!("{listen}: {error}"));
    let upstream = Upstream::parse(url).map_err(|error| McpError(format!("{url}: {error}")))?;
    let parking = Parking::new().map_err(|error| failed(&error))?;
    let pins = Pins::new(&settings.state, &settings.server, &[url.to_owned()]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(&error))?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(listen).await.map_err(|e| failed(&e))?;
        let address = listener.local_addr().map_err(|error| failed(&error))?;
        let port = address.port();
        let proxy = Arc::new(Proxy {
            reports: Reports::new(agent.clone()),
            settings,
            upstream,
            desk: Desk::new(agent, parking),
            tools: Mutex::new(Tools::new(pins)),
            continued: Mutex::default(),
            tasks: Mutex::default(),
            client: Mutex::default(),
            listing: tokio::sync::Mutex::default(),
            names: ["127.0.0.1", "localhost", "[::1]"].map(|h| format!("{h}:{port}")).to_vec(),
        });
        ready(address);
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // Out of file descriptors, say: trying again at once would only burn time.
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let proxy = Arc::clone(&proxy);
            let service = hyper::service::service_fn(move |request| {
                let proxy = Arc::clone(&proxy);
                async move { Ok::<_, Infallible>(proxy.answer(request).await) }
            });
            let served = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            // A client that breaks off ends its own connection and nothing else.
            tokio::spawn(served);
        }
    })
}

impl Proxy {
    async fn answer(self: Arc<Proxy>, request: Request<Incoming>) -> Response<Out> {
        if !self.is_meant_for_us(request.headers()) {
            return refused(StatusCode::FORBIDDEN, "null", -32600, "this is not for this proxy");
        }
        let (parts, body) = request.into_parts();
        if matches!(parts.method, Method::GET | Method::HEAD | Method::DELETE | Method::OPTIONS) {
            return self.pass(&parts, Bytes::new(), Learn::Nothing).await;
        }
        if parts.headers.contains_key(CONTENT_ENCODING) {
            let why = "a message that is encoded cannot be judged";
            return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "null", -32600, why);
        }
        if let Ok(whole) = Limited::new(body, LONGEST).collect().await {
            self.post(parts, whole.to_bytes()).await
        } else {
            let why = "the message broke off or is too long";
            refused(StatusCode::PAYLOAD_TOO_LARGE, "null", -32600, why)
        }
    }

    /// A page in a browser could reach this port too; it says where it comes from.
    fn is_meant_for_us(&self, headers: &HeaderMap) -> bool {
        let text = |value: &HeaderValue| value.to_str().map(str::to_ascii_lowercase).ok();
        let known = |name: &str| self.names.iter().any(|ours| ours == name);
        let host = headers.get(HOST).and_then(text).is_some_and(|host| known(&host));
        let origins = headers.get_all(ORIGIN).iter();
        let mut origins = origins.map(|origin| text(origin).unwrap_or_default());
        host && origins.all(|origin| origin.strip_prefix("http://").is_some_and(known))
    }

    async fn post(self: Arc<Proxy>, parts: Parts, bytes: Bytes) -> Response<Out> {
        let Ok(text) = std::str::from_utf8(&bytes) else {
            let why = "the message is not UTF-8";
            return refused(StatusCode::BAD_REQUEST, "null", -32700, why);
        };
        let message = match message::parse(text) {
            Ok(message) => message,
            Err(_) if self.is_something_else(&parts, text) => {
                return self.pass(&parts, bytes.clone(), Learn::Nothing).await;
            }
            Err(no) => return refused(StatusCode::BAD_REQUEST, &no.id, no.code, &no.why),
        };
        let learn = match message {
            Kind::Blank | Kind::Response => Learn::Nothing,
            Kind::Batch(items) => return self.batch(&parts, &items, &bytes).await,
            Kind::Notification { method, params } => {
                if method == "tools/call" {
                    let why = "a call without an id is not run";
                    return refused(StatusCode::BAD_REQUEST, "null", -32600, why);
                }
                let id = params.get("requestId").and_then(message::Id::of);
                let place = id.map(|id| place(&parts.headers, &id));
                if method == "notifications/cancelled"
                    && place.is_some_and(|place| self.desk.withdraw(&place))
                {
                    return status(StatusCode::ACCEPTED);
                }
                Learn::Nothing
            }
            Kind::Request { id, written, method, params } => {
                if let Some(why) = contradicted(&parts.headers, &method, &params) {
                    return refused(StatusCode::BAD_REQUEST, written, -32020, &why);
                }
                if method == "initialize" {
                    let name = params.pointer("/clientInfo/name").and_then(|name| name.as_str());
                    *lock(&self.client) = name.map(ToOwned::to_owned);
                }
                if method.starts_with("tasks/")
                    && let Some(answer) = self.about_task(&parts, &method, written, &params)
                {
                    return answer;
                }
                match method.as_ref() {
                    "tools/call" => {
                        let called = call::Called { id, written, text, bytes: &bytes };
                        return self.call(&parts, called, &params).await;
                    }
                    method if looks::is_look(method) => {
                        let called = call::Called { id, written, text, bytes: &bytes };
                        return self.look(&parts, called, method, &params).await;
                    }
                    "tools/list" => Learn::List,
                    "initialize" | "server/discover" => Learn::Greeting,
                    _ => Learn::Nothing,
                }
            }
        };
        self.pass(&parts, bytes.clone(), learn).await
    }

    /// Whether a body is none that any MCP server could take for a message: to get a token, say.
    fn is_something_else(&self, parts: &Parts, text: &str) -> bool {
        if parts.uri.path() == self.upstream.path() {
            return false;
        }
        let kind = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let form = "application/x-www-form-urlencoded";
        let is_form = kind.is_some_and(|kind| kind.starts_with(form));
        let is_json = text.trim_start().starts_with(['{', '[']);
        let members = scan::members(text).unwrap_or_default();
        let asks = |(key, _): &(Cow<'_, str>, &str)| key.eq_ignore_ascii_case("method");
        is_form && !is_json || !members.is_empty() && !members.iter().any(asks)
    }

    /// Passes a request on and its answer back.
    async fn pass(self: &Arc<Proxy>, parts: &Parts, body: Bytes, learn: Learn) -> Response<Out> {
        match self.upstream.send(copied(parts, body)).await {
            Ok(response) => self.back(response, learn).await,
            Err(why) => {
                let why = format!("the MCP server cannot be reached: {why}");
                refused(StatusCode::BAD_GATEWAY, "null", -32603, &why)
            }
        }
    }

    /// An answer goes back as it came; what it teaches is learned before the client sees it.
    async fn back(self: &Arc<Proxy>, response: Response<Incoming>, learn: Learn) -> Response<Out> {
        let (mut head, body) = response.into_parts();
        for name in NOT_PASSED_ON.iter().filter(|name| **name != CONTENT_LENGTH) {
            head.headers.remove(name);
        }
        let kind = kind(&head.headers);
        let out = if kind == "text/event-stream" {
            Out::Heard(body, Events::default(), self.listener(learn))
        } else if matches!(learn, Learn::Nothing) {
            Out::Theirs(body)
        } else {
            let Ok(whole) = Limited::new(body, LONGEST).collect().await else {
                let why = "the MCP server's answer broke off";
                return refused(StatusCode::BAD_GATEWAY, "null", -32603, why);
            };
            let whole = whole.to_bytes();
            let mut listener = self.listener(learn);
            listener(std::str::from_utf8(&whole).unwrap_or_default());
            Out::Whole(Some(whole))
        };
        Response::from_parts(head, out)
    }

    /// Hears every message of an answer.
    fn listener(self: &Arc<Proxy>, learn: Learn) -> Listener {
        let (proxy, mut learn) = (Arc::clone(self), learn);
        Box::new(move |text| match heard::read(text) {
            Some(Heard::ListChanged) => lock(&proxy.tools).doubt(),
            Some(Heard::Answer { result, .. }) => {
                match (std::mem::replace(&mut learn, Learn::Nothing), result) {
                    (Learn::Greeting, Ok(result)) => lock(&proxy.tools).greeted(result),
                    // A list that cannot be read is remembered as such.
                    (Learn::List, Ok(result)) => drop(lock(&proxy.tools).learn(result)),
                    (Learn::Outcome(ran), result) => {
                        if let Ok(result) = result {
                            lock(&proxy.continued).remember(&ran, result);
                        }
                        proxy.reports.ran(&ran, result);
                    }
                    _ => {}
                }
            }
            Some(Heard::Progress { .. }) | None => {}
        })
    }
}

/// The same request for the server, with the headers that are meant for it.
fn copied(parts: &Parts, body: Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    request.method_mut().clone_from(&parts.method);
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    if let Ok(uri) = path.parse() {
        *request.uri_mut() = uri;
    }
    for (name, value) in &parts.headers {
        if !NOT_PASSED_ON.contains(name) {
            request.headers_mut().append(name, value.clone());
        }
    }
    request
}

/// What the headers of a modern message say must be what the message says. A held call is
/// answered before its server sees it, so for calls nothing may be missing either.
fn contradicted(
    headers: &HeaderMap,
    method: &str,
    params: &countersign_json::Value<'_>,
) -> Option<String> {
    let meta = Meta::of(params);
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let version = header("mcp-protocol-version");
    if !meta.is_modern() && version.is_none_or(|version| version < message::MODERN) {
        return None;
    }
    let name = params.get("name").or_else(|| params.get("uri")).and_then(|name| name.as_str());
    let meant = [
        ("mcp-method", Some(method)),
        ("mcp-protocol-version", meta.version.as_deref()),
        ("mcp-name", name),
    ];
    for (header_name, meant) in meant {
        let Some(meant) = meant else { continue };
        match header(header_name).map(|said| decoded(said.trim())) {
            Some(said) if said.as_deref() == Some(meant) => {}
            Some(_) => {
                return Some(format!("the header {header_name} and the message differ"));
            }
            None if method == "tools/call" => {
                return Some(format!("the header {header_name} is missing"));
            }
            None => {}
        }
    }
    None
}

/// A header's text, which may be encoded.
fn decoded(said: &str) -> Option<String> {
    let Some(inside) = said.strip_prefix("=?base64?") else { return Some(said.to_owned()) };
    let bytes = countersign_json::base64::decode(inside.strip_suffix("?=")?).ok()?;
    String::from_utf8(bytes).ok()
}

/// Which client's request it is.
fn place(headers: &HeaderMap, id: &message::Id) -> String {
    let session = headers.get("mcp-session-id").and_then(|value| value.to_str().ok());
    format!("{}|{id}", session.unwrap_or_default())
}

fn kind(headers: &HeaderMap) -> String {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn refused(code: StatusCode, id: &str, number: i32, why: &str) -> Response<Out> {
    said(code, words::error(id, number, why))
}

/// A message of ours.
fn said(code: StatusCode, text: String) -> Response<Out> {
    let mut response = Response::new(Out::text(text));
    *response.status_mut() = code;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn status(code: StatusCode) -> Response<Out> {
    let mut response = Response::new(Out::Whole(None));
    *response.status_mut() = code;
    response
}
