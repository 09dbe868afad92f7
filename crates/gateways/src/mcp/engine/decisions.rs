//! Waiting for the decision on a held call: progress, time limit, a client that leaves.

use std::time::Duration;

use countersign_client::ReportStatus;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, interval_at, sleep_until};

use super::state::{Engine, HeldCall};
use super::transport::{ProgressFloor, ProxyClient as _, Transport};
use crate::mcp::approval::ApprovedCall;
use crate::mcp::message::RequestId;
use crate::mcp::pending_calls::Update;
use crate::mcp::replies;
use crate::mcp::reporter::RunningCall;

/// How often a client gets progress for a call that waits.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// What became of a held call.
pub(super) enum Decision {
    /// It runs; with the progress that the client was told.
    Run(ApprovedCall, Option<ProgressFloor>),
    /// The client gets this response.
    Answer(String),
    /// It was cancelled, or the client left.
    Withdrawn,
}

impl<T: Transport> Engine<T> {
    /// Waits for the decision.
    pub(super) async fn decision(
        &self,
        held: &HeldCall<T>,
        mut updates: UnboundedReceiver<Update>,
    ) -> Decision {
        let start = Instant::now() + PROGRESS_INTERVAL;
        let mut progress = interval_at(start, PROGRESS_INTERVAL);
        let (mut thousandths, mut is_over) = (0_u32, false);
        loop {
            tokio::select! {
                biased;
                () = held.client.left() => {
                    if !self.pending.withdraw(held.key)
                        && let Ok(Update::Run(approved)) = updates.try_recv()
                    {
                        self.skip(held, &approved);
                    }
                    return Decision::Withdrawn;
                }
                update = updates.recv() => return match update {
                    None => Decision::Withdrawn,
                    Some(Update::Answer(text)) => Decision::Answer(text),
                    Some(Update::Run(approved)) => self.released(held, approved, thousandths),
                },
                () = sleep_until(held.end), if !is_over => {
                    match self.pending.end_round(held.key) {
                        Some(text) => return Decision::Answer(text),
                        // The update is on its way.
                        None => is_over = true,
                    }
                }
                _ = progress.tick(), if held.progress.is_some() => {
                    let Some(token) = &held.progress else { continue };
                    thousandths += 1;
                    let reference = self.pending.reference(held.key);
                    let text = format!("Waiting for a person's approval ({reference})");
                    let text = replies::progress(token, thousandths, &text);
                    held.client.notify(&held.id, text).await;
                }
            }
        }
    }

    fn released(&self, held: &HeldCall<T>, approved: ApprovedCall, thousandths: u32) -> Decision {
        // It may have been cancelled after it was approved.
        if held.client.has_left() || !self.transport.is_reserved(&held.client, &held.id) {
            self.skip(held, &approved);
            return Decision::Withdrawn;
        }
        let token = held.progress.as_deref().and_then(RequestId::read);
        let value = f64::from(thousandths) / 1000.0;
        let floor = token.filter(|_| thousandths > 0).map(|token| ProgressFloor { token, value });
        Decision::Run(approved, floor)
    }

    /// An approved call does not run, because its client withdrew it.
    fn skip(&self, held: &HeldCall<T>, approved: &ApprovedCall) {
        let call = RunningCall {
            request: approved.request.clone(),
            tier: approved.tier.clone(),
            identity: held.identity.clone(),
            since: std::time::Instant::now(),
        };
        let summary = "the client withdrew the call before it ran";
        self.knowledge.reporter.report_outcome(&call, ReportStatus::Skipped, summary);
    }
}
