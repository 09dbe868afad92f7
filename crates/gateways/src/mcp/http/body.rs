//! Bodies of answers: whole, fed while they are made, or passed while they are listened to.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::sync::mpsc::Receiver;

use super::events::Events;

/// What is done with the data of each event that passes.
pub type Listener = Box<dyn FnMut(&str) + Send>;

/// An answer's body.
pub enum Out {
    /// All of it, once.
    Whole(Option<Bytes>),
    /// Piece by piece, as somebody makes it.
    Fed(Receiver<Bytes>),
    /// The server's own, byte for byte.
    Theirs(Incoming),
    /// The same, with each event heard before it passes.
    Heard(Incoming, Events, Listener),
}

impl Out {
    /// A text as a whole body.
    pub fn text(text: String) -> Out {
        Out::Whole(Some(Bytes::from(text)))
    }
}

impl Body for Out {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Out::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Out::Fed(receiver) => {
                receiver.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
            Out::Theirs(body) => Pin::new(body).poll_frame(context),
            Out::Heard(body, events, listener) => {
                let polled = Pin::new(body).poll_frame(context);
                if let Poll::Ready(Some(Ok(frame))) = &polled
                    && let Some(bytes) = frame.data_ref()
                {
                    for data in events.feed(bytes) {
                        listener(&data);
                    }
                }
                polled
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Out::Whole(bytes) => bytes.is_none(),
            Out::Fed(_) => false,
            Out::Theirs(body) | Out::Heard(body, ..) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Out::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Out::Fed(_) => SizeHint::default(),
            Out::Theirs(body) | Out::Heard(body, ..) => body.size_hint(),
        }
    }
}
