//! Receives replies: each is handled once, and its sender gets an answer.

use std::sync::Arc;
use std::time::Duration;

use countersign_channels::{DeliveryFailure, HookRequest, HookResponse, PersonReply};
use countersign_store::Store as _;
use tokio::time::Instant;

use super::context::InboundContext;
use super::handle::handle_message;
use crate::notifier::OpenChannel;

/// A delivery is recorded at most this many seconds after the message was accepted.
const RECORD_ATTEMPTS: u32 = 5;
/// The pause between two attempts to record.
const RECORD_PAUSE: Duration = Duration::from_secs(1);
/// How long a reply may take.
const REPLY_TIMEOUT: Duration = Duration::from_secs(20);

/// Sends the answer to a reply.
pub async fn send_reply(open_channel: Arc<OpenChannel>, word: PersonReply, reply: String) {
    let Some(answers) = open_channel.channel.reply_receiver() else { return };
    let said = tokio::time::timeout(REPLY_TIMEOUT, answers.reply(&word, &reply)).await;
    let channel = open_channel.channel.name();
    match said {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(channel, why = error.problem, "a reply was not sent"),
        Err(_) => tracing::warn!(channel, "a reply was not sent in time"),
    }
}

/// Handles one reply; returns the answer for its sender, `None` for a duplicate.
pub async fn handle_once(
    context: &InboundContext,
    open_channel: &Arc<OpenChannel>,
    word: &PersonReply,
) -> Option<String> {
    let now = context.now();
    if !context.replay_guard.is_new(open_channel.channel.name(), &word.key, now) {
        return None;
    }
    Some(handle_message(context, open_channel, word).await)
}

/// Marks a message as undelivered, which announces the request again. The platform may report this
/// before the delivery is recorded, so it is retried.
async fn record_undelivered(
    context: Arc<InboundContext>,
    channel: String,
    trouble: DeliveryFailure,
) {
    let DeliveryFailure { message, error } = trouble;
    if message.is_empty() {
        return;
    }
    for _ in 0..RECORD_ATTEMPTS {
        let (channel, message, why) = (channel.clone(), message.clone(), error.problem.clone());
        match context
            .gate
            .store()
            .mark_undelivered(channel, message, why, context.gate.note())
            .await
        {
            Ok(Some(request)) => {
                tracing::warn!(%request, "undelivered: the request is announced again");
                return;
            }
            Ok(None) => {}
            Err(error) => {
                tracing::error!(%error, "an undelivered message could not be recorded; retrying");
            }
        }
        tokio::time::sleep(RECORD_PAUSE).await;
    }
}

/// Handles a platform's post to our hook; returns the response, `None` if the post was rejected.
pub async fn posted(
    context: &Arc<InboundContext>,
    open_channel: &Arc<OpenChannel>,
    posted: &HookRequest<'_>,
) -> Option<HookResponse> {
    let heard = open_channel.channel.reply_receiver()?.receive(posted);
    let channel = open_channel.channel.name();
    let heard = match heard {
        Ok(heard) => heard,
        Err(why) => {
            if open_channel.should_log_rejection(Instant::now()) {
                tracing::warn!(channel, %why, "a hook's post was rejected; logged once a minute");
            }
            return None;
        }
    };
    if let Some(trouble) =
        open_channel.channel.reply_receiver().and_then(|answers| answers.delivery_failure(posted))
    {
        tracing::warn!(channel, why = trouble.error.problem, "a message was not delivered");
        open_channel.record_result(Some(&trouble.error), posted.now);
        // Handled once, because the report can be replayed.
        let key = format!("undelivered {}", trouble.message);
        if context.replay_guard.is_new(channel, &key, posted.now) {
            tokio::spawn(record_undelivered(Arc::clone(context), channel.to_owned(), trouble));
        }
    }
    let mut answer = heard.response;
    for word in heard.replies {
        let Some(reply) = handle_once(context, open_channel, &word).await else { continue };
        match open_channel
            .channel
            .reply_receiver()
            .and_then(|answers| answers.hook_response(&word, &reply))
        {
            Some(own) => answer = own,
            None => {
                tokio::spawn(send_reply(Arc::clone(open_channel), word, reply));
            }
        }
    }
    Some(answer)
}
