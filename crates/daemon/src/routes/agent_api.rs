//! The agent API: its two busiest routes go straight to their handlers, the rest through the
//! router.

use std::convert::Infallible;
use std::pin::Pin;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::future::RouteFuture;
use axum::routing::{get, post};
use tower_service::Service as _;

use super::responses::{host_not_allowed, method_not_allowed, not_found, with_security_headers};
use super::signed_response::SignedRequest;
use crate::api::{Api, ApiProblem, ApiResult, authenticate, confirm, health, respond, v1};
use crate::auth::origin::is_browser;
use crate::listeners::{Peer, ReceivedBody, RequestHandler};

/// The agent API's label in metrics.
const AGENTS: &str = "agents";

/// How a request is handled. Only the busiest variant is not boxed, because the others take its
/// size.
enum Dispatch<C> {
    Confirm(C),
    Request(Pin<Box<dyn Future<Output = ApiResult> + Send>>),
    Routed(Box<RouteFuture<Infallible>>),
    Nowhere,
}

/// The agent API, with the same checks on both paths.
#[derive(Clone)]
pub struct AgentApi {
    api: Api,
    router: Router,
}

impl AgentApi {
    /// Over these parts.
    pub fn new(api: &Api) -> AgentApi {
        AgentApi { api: api.clone(), router: agents(api) }
    }

    /// Handles one request; signs the response if the client sent a nonce.
    pub fn respond<B>(
        &self,
        request: Request<B>,
        peer: Peer,
    ) -> impl Future<Output = Response> + Send + use<B>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let (signed, plain) = if SignedRequest::is_wanted(request.headers()) {
            (Some(Box::pin(self.clone().respond_signed(request, peer))), None)
        } else {
            (None, Some(self.dispatch(request, peer)))
        };
        async move {
            match (signed, plain) {
                (Some(signed), _) => signed.await,
                (None, Some(plain)) => plain.await,
                (None, None) => host_not_allowed().into_response(),
            }
        }
    }

    async fn respond_signed<B>(self, request: Request<B>, peer: Peer) -> Response
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
    {
        match SignedRequest::read(request).await {
            Ok((signed, request)) => {
                let response = self.dispatch(request, peer).await;
                signed.sign(&self.api.keys, response).await
            }
            Err(problem) => with_security_headers(problem.into_response()),
        }
    }

    /// Handles one request, whatever carries its body.
    fn dispatch<B>(
        &self,
        mut request: Request<B>,
        peer: Peer,
    ) -> impl Future<Output = Response> + Send + use<B>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let api = self.api.clone();
        let way = match direct_route(request.method(), request.uri().path()) {
            None => {
                request.extensions_mut().insert(peer);
                Dispatch::Routed(Box::new(self.router.clone().call(request.map(Body::new))))
            }
            Some(_) if !is_agent_request(&api, request.headers(), request.uri(), Some(peer)) => {
                Dispatch::Nowhere
            }
            Some(direct_route) => {
                let (parts, body) = request.into_parts();
                match direct_route {
                    DirectRoute::Confirm => Dispatch::Confirm(confirm::confirm_request(
                        api.clone(),
                        parts,
                        Some(peer),
                        body,
                    )),
                    DirectRoute::Request => {
                        let handling = v1::create_request(api.clone(), parts, Some(peer), body);
                        Dispatch::Request(Box::pin(handling))
                    }
                }
            }
        };
        async move {
            let answered = match way {
                Dispatch::Confirm(handling) => handling.await,
                Dispatch::Request(handling) => handling.await,
                Dispatch::Routed(routed) => {
                    return routed.await.unwrap_or_else(|never| match never {});
                }
                Dispatch::Nowhere => return host_not_allowed().into_response(),
            };
            let response = answered.unwrap_or_else(ApiProblem::into_response);
            api.gate.metrics().answered(AGENTS, response.status().as_u16());
            with_security_headers(response)
        }
    }
}

/// Routes that bypass the router. Neither reads cookies.
#[derive(Clone, Copy)]
enum DirectRoute {
    Confirm,
    Request,
}

impl RequestHandler for AgentApi {
    fn handle(
        &self,
        request: Request<ReceivedBody>,
        peer: Peer,
    ) -> impl Future<Output = Response> + Send + use<> {
        self.respond(request, peer)
    }
}

fn direct_route(method: &Method, path: &str) -> Option<DirectRoute> {
    match path {
        _ if method != Method::POST => None,
        "/confirm" => Some(DirectRoute::Confirm),
        "/v1/requests" => Some(DirectRoute::Request),
        _ => None,
    }
}

/// The agent API: ask, read own requests, cancel. Nothing here can decide without a person's
/// credential.
pub fn agents(api: &Api) -> Router {
    Router::new()
        .route("/health", get(health::seed))
        .route("/ready", get(health::ready))
        .route("/confirm", post(confirm::confirm))
        .route("/pending", get(confirm::pending))
        .route("/respond", post(respond_on_agent_api))
        .merge(v1::agents())
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn_with_state(api.clone(), check_agent_request))
        .with_state(api.clone())
}

/// Clients of the original API answer on the agent API; the configuration can turn that off.
async fn respond_on_agent_api(State(api): State<Api>, request: Request<Body>) -> ApiResult {
    if api.gate.rules().respond_on_agent_api {
        authenticate::record_use(&api, request.headers());
        respond::respond(State(api), request).await
    } else {
        Err(not_found().await)
    }
}

/// Whether a request can be an agent's: right host, and not from a browser.
fn is_agent_request(api: &Api, headers: &HeaderMap, uri: &Uri, peer: Option<Peer>) -> bool {
    let unix = matches!(peer, Some(Peer::User(_)));
    (unix || api.agent_hosts.is_host_allowed(headers, uri)) && !is_browser(headers)
}

async fn check_agent_request(
    State(api): State<Api>,
    mut request: Request<Body>,
    next: Next,
) -> Response {
    let peer = request.extensions().get().copied();
    if !is_agent_request(&api, request.headers(), request.uri(), peer) {
        return host_not_allowed().into_response();
    }
    // Agents have no cookies.
    request.headers_mut().remove(header::COOKIE);
    let response = next.run(request).await;
    api.gate.metrics().answered(AGENTS, response.status().as_u16());
    with_security_headers(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_daemon::TestDaemon;

    #[tokio::test]
    async fn a_waiting_request_takes_little_memory() {
        let daemon = TestDaemon::default().await;
        let request = Request::builder().uri("/confirm").method("POST");
        let request = request.body(Body::empty()).unwrap();
        let handling = AgentApi::new(&daemon.api).respond(request, Peer::Network { local: true });
        // One future for each connection, moved for each request.
        let size = size_of_val(&handling);
        assert!(size <= 3_072, "{size} bytes");
    }
}
