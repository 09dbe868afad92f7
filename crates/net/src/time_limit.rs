//! A time limit for connecting: for everything up to the end of the TLS handshake.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use tower_service::Service;

use crate::NetError;

/// How long connecting and the TLS handshake may take together.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(15);

/// A connector that gives up: a server may accept a connection and then never say anything.
#[derive(Clone, Debug)]
pub(crate) struct TimeLimited<C>(pub C);

type BoxError = Box<dyn Error + Send + Sync>;

impl<C> Service<Uri> for TimeLimited<C>
where
    C: Service<Uri>,
    C::Response: 'static,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let connecting = self.0.call(url);
        Box::pin(async move {
            match tokio::time::timeout(HANDSHAKE_TIMEOUT, connecting).await {
                Ok(connected) => connected.map_err(Into::into),
                Err(_) => Err(NetError::TimedOut(HANDSHAKE_TIMEOUT).into()),
            }
        })
    }
}
