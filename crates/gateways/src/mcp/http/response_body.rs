//! Bodies of responses: whole, sent in parts while they are made, or the server's own.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::sync::mpsc::Receiver;

/// A response's body.
pub enum ResponseBody {
    /// All of it, once.
    Whole(Option<Bytes>),
    /// Parts, as they are made. An error breaks the connection off.
    Parts(Receiver<io::Result<Bytes>>),
    /// The server's own, byte for byte.
    Server(Incoming),
}

impl ResponseBody {
    /// A text as a whole body.
    pub fn text(text: String) -> ResponseBody {
        ResponseBody::Whole(Some(Bytes::from(text)))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            ResponseBody::Whole(bytes) => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))))
            }
            ResponseBody::Parts(parts) => {
                parts.poll_recv(context).map(|part| part.map(|part| part.map(Frame::data)))
            }
            ResponseBody::Server(body) => {
                let frame = Pin::new(body).poll_frame(context);
                frame.map(|frame| frame.map(|frame| frame.map_err(io::Error::other)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ResponseBody::Whole(bytes) => bytes.is_none(),
            ResponseBody::Parts(_) => false,
            ResponseBody::Server(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ResponseBody::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64)
            }
            ResponseBody::Parts(_) => SizeHint::default(),
            ResponseBody::Server(body) => body.size_hint(),
        }
    }
}
