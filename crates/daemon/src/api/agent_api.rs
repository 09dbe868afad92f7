//! The agent API: its two busiest routes go straight to their handlers, the rest through the
//! router.

use std::convert::Infallible;
use std::pin::Pin;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Method, Request};
use axum::response::{IntoResponse as _, Response};
use axum::routing::future::RouteFuture;
use hyper::body::Incoming;
use tower_service::Service as _;

use super::{
    AGENTS, Api, ApiProblem, ApiResult, confirm, host_not_allowed, is_agent_request, v1,
    with_security_headers,
};
use crate::listeners::{Peer, RequestHandler};

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
        AgentApi { api: api.clone(), router: super::agents(api) }
    }

    /// Handles one request, whatever carries its body.
    pub fn dispatch<B>(
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
        request: Request<Incoming>,
        peer: Peer,
    ) -> impl Future<Output = Response> + Send + use<> {
        self.dispatch(request, peer)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_daemon::TestDaemon;

    #[tokio::test]
    async fn a_waiting_request_takes_little_memory() {
        let daemon = TestDaemon::default().await;
        let request = Request::builder().uri("/confirm").method("POST");
        let request = request.body(Body::empty()).unwrap();
        let handling = AgentApi::new(&daemon.api).dispatch(request, Peer::Network { local: true });
        // One future for each connection, moved for each request.
        let size = size_of_val(&handling);
        assert!(size <= 3_072, "{size} bytes");
    }
}
