//! A socket whose reader must read: a write that is not taken whole in time ends the connection,
//! also if the reader takes a byte now and then.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A socket with a time limit for each write, from its first byte to its last.
pub(crate) struct WriteTimeout<S> {
    socket: S,
    limit: Duration,
    /// Set while a write, or the rest of one, waits for the reader.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(crate) fn new(socket: S, limit: Duration) -> WriteTimeout<S> {
        WriteTimeout { socket, limit, stalled: None }
    }

    /// The result of a write, or the end of its time. `is_whole`: whether nothing is left of it.
    fn check<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        is_whole: impl FnOnce(&T) -> bool,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(Ok(done)) = &written
            && is_whole(done)
        {
            self.stalled = None;
            return written;
        }
        if matches!(written, Poll::Ready(Err(_))) {
            return written;
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        match stalled.as_mut().poll(context) {
            Poll::Ready(()) => {
                // A further write fails at once as well.
                stalled.as_mut().reset(Instant::now());
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            Poll::Pending => written,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, room)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.check(written, |count| *count == bytes.len(), context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(context, bytes);
        let whole: usize = bytes.iter().map(|part| part.len()).sum();
        self.check(written, |count| *count == whole, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A socket has nothing to flush: this says nothing about the rest of a write.
        let flushed = Pin::new(&mut self.socket).poll_flush(context);
        if flushed.is_ready() { flushed } else { self.check(flushed, |()| true, context) }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.socket).poll_shutdown(context);
        self.check(ended, |()| true, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn a_reader_that_stops_ends_the_write() {
        let (near, mut far) = tokio::io::duplex(16);
        let mut near = WriteTimeout::new(near, Duration::from_millis(200));
        let reading = tokio::spawn(async move {
            far.read_exact(&mut [0; 32]).await.unwrap();
            far
        });
        near.write_all(&[0; 48]).await.unwrap();
        let _far = reading.await.unwrap();
        // Nothing is read any more.
        let error = near.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(near.write_all(&[0; 64]).await.is_err());
    }
    #[tokio::test]
    async fn a_reader_that_takes_a_byte_at_a_time_ends_the_write() {
        let (near, mut far) = tokio::io::duplex(16);
        let mut near = WriteTimeout::new(near, Duration::from_millis(300));
        let reading = tokio::spawn(async move {
            // Far more often than the limit, and far less than is written.
            while far.read_exact(&mut [0; 1]).await.is_ok() {
                sleep(Duration::from_millis(50)).await;
            }
        });
        let error = near.write_all(&[0; 4096]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(near);
        reading.await.unwrap();
    }

    #[tokio::test]
    async fn writes_that_are_taken_whole_have_the_whole_time_each() {
        let (near, mut far) = tokio::io::duplex(16);
        let mut near = WriteTimeout::new(near, Duration::from_millis(400));
        let reading = tokio::spawn(async move {
            let mut count = 0;
            while far.read_exact(&mut [0; 16]).await.is_ok() {
                count += 1;
                sleep(Duration::from_millis(100)).await;
            }
            count
        });
        for _ in 0..8 {
            near.write_all(&[0; 16]).await.unwrap();
        }
        drop(near);
        assert_eq!(reading.await.unwrap(), 8);
    }
}
