//! Runs several futures at once, in one task.

use std::future::poll_fn;
use std::task::Poll;

/// The outputs of all futures, in their order. Each is polled for the first time in this order, so
/// that their writes reach the store in it.
pub(super) async fn join_in_order<F: Future>(
    futures: impl IntoIterator<Item = F>,
) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        let mut waits = false;
        for (future, output) in running.iter_mut().filter(|(_, output)| output.is_none()) {
            match future.as_mut().poll(context) {
                Poll::Ready(ready) => *output = Some(ready),
                Poll::Pending => waits = true,
            }
        }
        if waits { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    running.into_iter().filter_map(|(_, output)| output).collect()
}
