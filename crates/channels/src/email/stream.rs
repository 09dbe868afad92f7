//! The connection under an SMTP session, with two rules that `lettre` does not have.
//!
//! The bytes and lines that a server may send are bounded. And one read never goes beyond the end
//! of a line: `lettre` keeps what it has read when it changes to TLS, so a line injected behind the
//! answer to STARTTLS would otherwise count as if it had come through TLS. Here it stays below TLS,
//! where it breaks the handshake.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncBufRead as _, AsyncRead, AsyncWrite, BufReader, ReadBuf};

/// All bytes that a server may send in a session, a TLS handshake included.
const MAX_INCOMING: usize = 64 * 1024;

/// All lines of them. `lettre` reads a reply again from its beginning with each line.
const MAX_LINES: usize = 512;

/// A connection that is read line by line.
pub struct LineStream<S> {
    inner: BufReader<S>,
    peer: SocketAddr,
    remaining: usize,
    remaining_lines: usize,
}

impl<S: AsyncRead> LineStream<S> {
    pub fn new(inner: S, peer: SocketAddr) -> LineStream<S> {
        LineStream {
            inner: BufReader::new(inner),
            peer,
            remaining: MAX_INCOMING,
            remaining_lines: MAX_LINES,
        }
    }
}

impl<S> fmt::Debug for LineStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LineStream")
    }
}

impl<S> AsyncTokioStream for LineStream<S>
where
    S: AsyncRead + AsyncWrite + Send + Sync + Unpin,
{
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LineStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let mut inner = Pin::new(&mut this.inner);
        let bytes = ready!(inner.as_mut().poll_fill_buf(context))?;
        let line = bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        let part = line.get(..line.len().min(buffer.remaining())).unwrap_or_default();
        let length = part.len();
        let lines = this.remaining_lines.checked_sub(usize::from(part.ends_with(b"\n")));
        let (Some(remaining), Some(lines)) = (this.remaining.checked_sub(length), lines) else {
            return Poll::Ready(Err(io::Error::other("the mail server sent too much")));
        };
        buffer.put_slice(part);
        (this.remaining, this.remaining_lines) = (remaining, lines);
        inner.consume(length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for LineStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}
