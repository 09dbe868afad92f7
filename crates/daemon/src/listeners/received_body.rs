//! The body of a request, which tells its connection when it has arrived completely.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::connections::ConnectionUse;

/// A body on its way from a caller.
#[derive(Debug)]
pub struct ReceivedBody {
    body: Incoming,
    connection: ConnectionUse,
}

impl ReceivedBody {
    pub(super) fn new(body: Incoming, connection: ConnectionUse) -> ReceivedBody {
        ReceivedBody { body, connection }
    }
}

impl Body for ReceivedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) {
            self.connection.received();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
