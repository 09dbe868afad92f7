//! The agents' door: its two busiest questions go straight to their handlers, the rest is routed.

use std::convert::Infallible;
use std::pin::Pin;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Method, Request};
use axum::response::{IntoResponse as _, Response};
use axum::routing::future::RouteFuture;
use hyper::body::Incoming;
use tower_service::Service as _;

use super::{AGENTS, Answered, Api, Problem, guarded, may_be_an_agent, misdirected, seed, v1};
use crate::doors::{Answers, Peer};

/// The ways a request can take. Only the busiest is not boxed: everybody carries its size.
enum Way<C> {
    Confirm(C),
    Request(Pin<Box<dyn Future<Output = Answered> + Send>>),
    Routed(Box<RouteFuture<Infallible>>),
    Nowhere,
}

/// Everything that agents ask, with the same checks on both ways.
#[derive(Clone)]
pub struct Agents {
    api: Api,
    router: Router,
}

impl Agents {
    /// Over these parts.
    pub fn new(api: &Api) -> Agents {
        Agents { api: api.clone(), router: super::agents(api) }
    }

    /// Answers one request, whatever carries its body.
    pub fn ask<B>(
        &self,
        mut request: Request<B>,
        peer: Peer,
    ) -> impl Future<Output = Response> + Send + use<B>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let api = self.api.clone();
        let way = match straight(request.method(), request.uri().path()) {
            None => {
                request.extensions_mut().insert(peer);
                Way::Routed(Box::new(self.router.clone().call(request.map(Body::new))))
            }
            Some(_) if !may_be_an_agent(&api, request.headers(), request.uri(), Some(peer)) => {
                Way::Nowhere
            }
            Some(straight) => {
                let (parts, body) = request.into_parts();
                match straight {
                    Straight::Confirm => {
                        Way::Confirm(seed::confirm_now(api.clone(), parts, Some(peer), body))
                    }
                    Straight::Request => {
                        let asking = v1::create_now(api.clone(), parts, Some(peer), body);
                        Way::Request(Box::pin(asking))
                    }
                }
            }
        };
        async move {
            let answered = match way {
                Way::Confirm(asking) => asking.await,
                Way::Request(asking) => asking.await,
                Way::Routed(routed) => return routed.await.unwrap_or_else(|never| match never {}),
                Way::Nowhere => return misdirected().into_response(),
            };
            let response = answered.unwrap_or_else(Problem::into_response);
            api.gate.metrics().answered(AGENTS, response.status().as_u16());
            guarded(response)
        }
    }
}

/// What goes straight to its handler. Neither looks at cookies.
#[derive(Clone, Copy)]
enum Straight {
    Confirm,
    Request,
}

impl Answers for Agents {
    fn answer(
        &self,
        request: Request<Incoming>,
        peer: Peer,
    ) -> impl Future<Output = Response> + Send + use<> {
        self.ask(request, peer)
    }
}

fn straight(method: &Method, path: &str) -> Option<Straight> {
    match path {
        _ if method != Method::POST => None,
        "/confirm" => Some(Straight::Confirm),
        "/v1/requests" => Some(Straight::Request),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::House;

    #[tokio::test]
    async fn who_waits_carries_little() {
        let house = House::usual().await;
        let request = Request::builder().uri("/confirm").method("POST");
        let request = request.body(Body::empty()).unwrap();
        let asking = Agents::new(&house.api).ask(request, Peer::Network { local: true });
        // One for each connection, moved about for each request.
        let size = size_of_val(&asking);
        assert!(size <= 3_072, "{size} bytes");
    }
}
