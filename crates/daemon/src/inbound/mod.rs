//! Inbound replies of people through channels.
//!
//! A channel verifies the account; the directory knows its person; the state machine decides
//! whether the reply counts. A reply that cannot be parsed changes nothing.

mod handle;
mod link_codes;
mod outcome_text;
mod replay_guard;
mod responder;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_channels::{DeliveryFailure, HookRequest, HookResponse, PersonReply};
use countersign_store::Store as _;
use countersign_types::time::Clock as _;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::api::Api;
use crate::notifier::OpenChannel;
use crate::shutdown::{Stop, stopped};

pub use handle::handle_message;
pub use link_codes::LinkCodes;
pub use replay_guard::ReplayGuard;

/// How often the rules are checked for new and removed channels.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The first and the longest pause between two attempts to poll.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// A delivery is recorded at most this many seconds after the message was accepted.
const RECORD_ATTEMPTS: u32 = 5;
/// How long a reply may take.
const REPLY_TIMEOUT: Duration = Duration::from_secs(20);

/// Polls every channel that needs it, until the daemon stops.
pub async fn run(api: Api, mut stop: Stop) {
    let mut listeners_by_channel: HashMap<String, (Arc<OpenChannel>, tokio::task::AbortHandle)> =
        HashMap::new();
    let mut tasks = JoinSet::new();
    loop {
        let rules = api.gate.rules();
        let mut open: HashMap<String, Arc<OpenChannel>> = HashMap::new();
        for name in rules.channels.keys() {
            if let Ok(open_channel) = api.channels.get(&rules, name)
                && open_channel.channel.reply_receiver().is_some()
            {
                open.insert(name.clone(), open_channel);
            }
        }
        listeners_by_channel.retain(|name, (open_channel, task)| {
            let stays = open.get(name).is_some_and(|newer| Arc::ptr_eq(newer, open_channel));
            if !stays {
                task.abort();
            }
            stays && !task.is_finished()
        });
        for (name, open_channel) in open {
            listeners_by_channel.entry(name).or_insert_with(|| {
                let task = tasks.spawn(listen(api.clone(), Arc::clone(&open_channel)));
                (open_channel, task)
            });
        }
        tokio::select! {
            () = tokio::time::sleep(CHECK_INTERVAL) => {}
            Some(_) = tasks.join_next() => {}
            () = stopped(&mut stop) => {
                tasks.shutdown().await;
                return;
            }
        }
    }
}

/// Polls one channel for ever.
async fn listen(api: Api, open_channel: Arc<OpenChannel>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(answers) = open_channel.channel.reply_receiver() else { return };
        match answers.listen().await {
            Ok(words) => {
                pause = FIRST_PAUSE;
                for word in words {
                    let reply = handle_once(&api, &open_channel, &word).await;
                    if let Some(reply) = reply {
                        // The reply is sent in the background: the next message may be a denial.
                        tokio::spawn(send_reply(Arc::clone(&open_channel), word, reply));
                    }
                }
            }
            Err(error) => {
                let channel = open_channel.channel.name();
                tracing::warn!(
                    channel,
                    why = error.problem,
                    "a channel could not be polled for replies"
                );
                open_channel.record_result(Some(&error), api.gate.clock().now().at);
                tokio::time::sleep(pause.max(error.retry_after.unwrap_or_default())).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

async fn send_reply(open_channel: Arc<OpenChannel>, word: PersonReply, reply: String) {
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
async fn handle_once(
    api: &Api,
    open_channel: &Arc<OpenChannel>,
    word: &PersonReply,
) -> Option<String> {
    let now = api.gate.clock().now().at;
    if !api.replay_guard.is_new(open_channel.channel.name(), &word.key, now) {
        return None;
    }
    Some(handle_message(api, open_channel, word).await)
}

/// Marks a message as undelivered, which announces the request again. The platform may report this
/// before the delivery is recorded, so it is retried.
async fn record_undelivered(api: Api, channel: String, trouble: DeliveryFailure) {
    let DeliveryFailure { message, error } = trouble;
    if message.is_empty() {
        return;
    }
    for _ in 0..RECORD_ATTEMPTS {
        let (channel, message, why) = (channel.clone(), message.clone(), error.problem.clone());
        match api.gate.store().mark_undelivered(channel, message, why, api.note()).await {
            Ok(Some(request)) => {
                tracing::warn!(%request, "undelivered: the request is announced again");
                return;
            }
            Ok(None) => {}
            Err(error) => {
                tracing::error!(%error, "an undelivered message could not be recorded; retrying");
            }
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// Handles a platform's post to our hook; returns the response, `None` if the post was rejected.
pub async fn posted(
    api: &Api,
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
        if api.replay_guard.is_new(channel, &key, posted.now) {
            tokio::spawn(record_undelivered(api.clone(), channel.to_owned(), trouble));
        }
    }
    let mut answer = heard.response;
    for word in heard.replies {
        let Some(reply) = handle_once(api, open_channel, &word).await else { continue };
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
