//! Pipes, each with a thread that reads or writes it: standard input and output may block.

use std::io::{self, BufReader, Read, Write};

use hyper::body::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::mcp::line_reader::{LineRead, LineReader};
use crate::mcp::message::MAX_MESSAGE;
use crate::mcp::threads::start;

/// How many bytes are read at once.
const BUFFER: usize = 64 << 10;
/// How many lines may wait for the other side.
const MAX_LINES: usize = 64;

/// What was read from a pipe.
#[derive(Debug)]
pub enum PipeRead {
    /// A whole line.
    Line(Bytes),
    /// A part of a line that is too long; more of it follows.
    Part(Bytes),
    /// The last part of such a line.
    LastPart(Bytes),
}

/// Reads a pipe on a thread. The channel is closed when the pipe ends.
pub fn read_lines(pipe: impl Read + Send + 'static) -> io::Result<mpsc::Receiver<PipeRead>> {
    let (sender, receiver) = mpsc::channel(MAX_LINES);
    start(move || {
        let mut lines = LineReader::new(BufReader::with_capacity(BUFFER, pipe), MAX_MESSAGE);
        loop {
            let mut line = Vec::new();
            let read = match lines.next(&mut line) {
                Ok(LineRead::Line) => PipeRead::Line(line.into()),
                Ok(LineRead::Part) => PipeRead::Part(line.into()),
                Ok(LineRead::LastPart) => PipeRead::LastPart(line.into()),
                Ok(LineRead::End) | Err(_) => return,
            };
            if sender.blocking_send(read).is_err() {
                return;
            }
        }
    })?;
    Ok(receiver)
}

/// Bytes for a pipe. Between the parts of one line nothing else is written.
enum PipeWrite {
    Whole(Bytes),
    Part(Bytes),
    LastPart(Bytes),
}

/// Writes a pipe on a thread. The pipe is closed when every writer is dropped.
#[derive(Clone, Debug)]
pub struct PipeWriter {
    sender: mpsc::Sender<PipeWrite>,
}

impl PipeWriter {
    /// Starts the thread. The second value resolves when everything is written.
    pub fn start(
        mut pipe: impl Write + Send + 'static,
    ) -> io::Result<(PipeWriter, oneshot::Receiver<()>)> {
        let (sender, mut writes) = mpsc::channel(MAX_LINES);
        let (finished, is_finished) = oneshot::channel();
        start(move || {
            // A reader that is gone is noticed where its own side ends.
            let _ = write_all(&mut pipe, &mut writes);
            drop(pipe);
            let _ = finished.send(());
        })?;
        Ok((PipeWriter { sender }, is_finished))
    }

    /// Writes a message; a newline is added if it has none.
    pub async fn send_line(&self, message: Bytes) {
        let message = if message.ends_with(b"\n") {
            message
        } else {
            Bytes::from([&message[..], b"\n"].concat())
        };
        self.send(message).await;
    }

    /// Writes bytes.
    pub async fn send(&self, bytes: Bytes) {
        // The other side is gone.
        let _ = self.sender.send(PipeWrite::Whole(bytes)).await;
    }

    /// Writes what was read from another pipe.
    pub async fn copy(&self, read: PipeRead) {
        let write = match read {
            PipeRead::Line(bytes) => PipeWrite::Whole(bytes),
            PipeRead::Part(bytes) => PipeWrite::Part(bytes),
            PipeRead::LastPart(bytes) => PipeWrite::LastPart(bytes),
        };
        let _ = self.sender.send(write).await;
    }
}

fn write_all(pipe: &mut impl Write, writes: &mut mpsc::Receiver<PipeWrite>) -> io::Result<()> {
    let (mut in_parts, mut deferred) = (false, Vec::new());
    while let Some(write) = writes.blocking_recv() {
        let bytes = match write {
            PipeWrite::Whole(bytes) if in_parts => {
                deferred.push(bytes);
                continue;
            }
            PipeWrite::Whole(bytes) => bytes,
            PipeWrite::Part(bytes) => {
                in_parts = true;
                bytes
            }
            PipeWrite::LastPart(bytes) => {
                in_parts = false;
                bytes
            }
        };
        pipe.write_all(&bytes)?;
        if !in_parts {
            for bytes in deferred.drain(..) {
                pipe.write_all(&bytes)?;
            }
        }
        pipe.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn nothing_is_written_between_the_parts_of_a_line() {
        let written = Written::default();
        let (writer, finished) = PipeWriter::start(written.clone()).unwrap();
        writer.copy(PipeRead::Part("a".into())).await;
        writer.send_line("other".into()).await;
        writer.copy(PipeRead::Part("b".into())).await;
        writer.copy(PipeRead::LastPart("c\n".into())).await;
        writer.send_line("last\n".into()).await;
        drop(writer);
        finished.await.unwrap();
        assert_eq!(*written.0.lock().unwrap(), b"abc\nother\nlast\n");
    }
}
