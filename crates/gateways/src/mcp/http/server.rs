//! Listens for clients on this machine.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use countersign_client::AgentClient;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_ENCODING, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::client::{HttpClient, json_response};
use super::response_body::ResponseBody;
use super::transport::HttpTransport;
use super::upstream::Upstream;
use crate::mcp::engine::Engine;
use crate::mcp::engine::observer::ServerKnowledge;
use crate::mcp::engine::transport::{Forward, Transport as _};
use crate::mcp::known_tools::KnownTools;
use crate::mcp::message::MAX_MESSAGE;
use crate::mcp::pending_calls::PendingCalls;
use crate::mcp::pins::Pins;
use crate::mcp::replies;
use crate::mcp::reporter::Reporter;
use crate::mcp::resume_token::ResumeTokens;
use crate::mcp::settings::{McpError, ProxySettings};
use crate::mcp::tool_labels::LabelledServer;

/// How long to wait after a connection could not be accepted, such as without file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// The proxy, and the names by which clients may address it.
struct HttpProxy {
    engine: Arc<Engine<HttpTransport>>,
    names: Vec<String>,
}

/// Serves until the process ends; `ready` gets the address.
pub fn run_http(
    settings: ProxySettings,
    agent: AgentClient,
    listen: SocketAddr,
    url: &str,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), McpError> {
    if !listen.ip().is_loopback() {
        return Err(McpError(format!("{listen} is not this machine alone: use 127.0.0.1:PORT")));
    }
    let failed = |error: &dyn std::fmt::Display| McpError(format!("{listen}: {error}"));
    let upstream = Upstream::parse(url).map_err(|error| McpError(format!("{url}: {error}")))?;
    let tokens = ResumeTokens::new().map_err(|error| failed(&error))?;
    let pins = Pins::new(&settings.state, &settings.server, &[url.to_owned()]);
    let reporter = Reporter::new(agent.clone(), &settings.state);
    let labels = LabelledServer::new(agent.clone(), &settings.server, url.to_owned());
    let knowledge = ServerKnowledge::new(KnownTools::new(pins), reporter, labels);
    let pending = PendingCalls::new(agent, tokens);
    let transport = HttpTransport::new(upstream, Arc::clone(&knowledge));
    let engine = Engine::new(settings, transport, knowledge, pending);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(&error))?;
    runtime.block_on(async {
        let listener = TcpListener::bind(listen).await.map_err(|error| failed(&error))?;
        let address = listener.local_addr().map_err(|error| failed(&error))?;
        let port = address.port();
        let names = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}"));
        ready(address);
        serve(&listener, Arc::new(HttpProxy { engine, names: names.to_vec() })).await;
        Ok(())
    })
}

async fn serve(listener: &TcpListener, proxy: Arc<HttpProxy>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let proxy = Arc::clone(&proxy);
        let service = hyper::service::service_fn(move |request| {
            let proxy = Arc::clone(&proxy);
            async move { Ok::<_, Infallible>(proxy.respond(request).await) }
        });
        let served = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service);
        // A client that breaks off ends its own connection and nothing else.
        tokio::spawn(served);
    }
}

impl HttpProxy {
    async fn respond(&self, request: Request<Incoming>) -> Response<ResponseBody> {
        if !self.is_addressed(request.headers()) {
            return rejected(StatusCode::FORBIDDEN, "the Host or Origin is not allowed");
        }
        let (parts, body) = request.into_parts();
        let has_no_message =
            matches!(parts.method, Method::GET | Method::HEAD | Method::DELETE | Method::OPTIONS);
        let message = if has_no_message {
            Bytes::new()
        } else if parts.headers.contains_key(CONTENT_ENCODING) {
            let why = "an encoded message cannot be assessed";
            return rejected(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
        } else {
            let Ok(whole) = Limited::new(body, MAX_MESSAGE).collect().await else {
                let why = "the message is incomplete or too long";
                return rejected(StatusCode::PAYLOAD_TOO_LARGE, why);
            };
            whole.to_bytes()
        };
        let (client, replying) = HttpClient::new(parts);
        let engine = Arc::clone(&self.engine);
        // The work goes on if the client leaves: an approved call has an outcome to report.
        tokio::spawn(async move {
            if has_no_message {
                engine.transport().forward(&client, Forward::without_requests(message)).await;
            } else {
                engine.handle(client, message).await;
            }
        });
        replying.response().await.unwrap_or_else(|| {
            rejected(StatusCode::INTERNAL_SERVER_ERROR, "the proxy gave no response")
        })
    }

    /// Whether the request is meant for this proxy: a page in a browser could reach this port too,
    /// but it says where it comes from.
    fn is_addressed(&self, headers: &HeaderMap) -> bool {
        let text = |value: &HeaderValue| value.to_str().map(str::to_ascii_lowercase).ok();
        let is_ours = |name: &str| self.names.iter().any(|ours| ours == name);
        let host = headers.get(HOST).and_then(text).is_some_and(|host| is_ours(&host));
        let origins = headers.get_all(ORIGIN).iter();
        let mut origins = origins.map(|origin| text(origin).unwrap_or_default());
        host && origins.all(|origin| origin.strip_prefix("http://").is_some_and(is_ours))
    }
}

fn rejected(status: StatusCode, why: &str) -> Response<ResponseBody> {
    json_response(status, replies::error("null", -32600, why))
}
