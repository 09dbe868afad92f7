//! Threads for blocking work: waiting for the daemon, locking and writing files.

use std::io;
use std::thread;

use tokio::sync::oneshot;

/// A small stack: these threads mostly wait, and there may be many.
const STACK: usize = 512 << 10;

/// Starts a thread.
pub fn start(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().stack_size(STACK).spawn(work).map(drop)
}

/// Runs blocking work on a thread of its own, so that the runtime's only thread goes on.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (sender, receiver) = oneshot::channel();
    start(move || drop(sender.send(work())))?;
    receiver.await.map_err(|_| io::Error::other("the thread ended early"))
}
