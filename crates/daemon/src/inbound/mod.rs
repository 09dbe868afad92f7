//! The ears: what people say through channels, heard, understood and answered.
//!
//! A channel vouches for the account; the book knows whose it is; the state machine decides whether
//! their word counts. Whatever is not understood changes nothing.

mod handle;
mod link_codes;
mod replay_guard;
mod responder;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_channels::{Posted, Posting, Trouble, Word};
use countersign_store::Store as _;
use countersign_types::time::Clock as _;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::api::Api;
use crate::listeners::{self, Stop};
use crate::notifier::OpenChannel;

pub use handle::handle_message;
pub use link_codes::LinkCodes;
pub use replay_guard::ReplayGuard;

/// How often the rules are looked at for channels that came or went.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Between two attempts to listen, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// So many seconds after a message was taken it is written down at the latest.
const RECORD_ATTEMPTS: u32 = 5;
/// How long a reply may take.
const REPLY_TIMEOUT: Duration = Duration::from_secs(20);

/// Listens to every channel that has to be asked, until the daemon stops.
pub async fn run(api: Api, mut stop: Stop) {
    let mut listeners_by_channel: HashMap<String, (Arc<OpenChannel>, tokio::task::AbortHandle)> =
        HashMap::new();
    let mut tasks = JoinSet::new();
    loop {
        let rules = api.gate.rules();
        let mut open: HashMap<String, Arc<OpenChannel>> = HashMap::new();
        for name in rules.channels.keys() {
            if let Ok(open_channel) = api.channels.get(&rules, name)
                && open_channel.channel.answers().is_some()
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
            () = listeners::stopped(&mut stop) => {
                tasks.shutdown().await;
                return;
            }
        }
    }
}

/// Listens to one channel for ever.
async fn listen(api: Api, open_channel: Arc<OpenChannel>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(answers) = open_channel.channel.answers() else { return };
        match answers.listen().await {
            Ok(words) => {
                pause = FIRST_PAUSE;
                for word in words {
                    let reply = handle_once(&api, &open_channel, &word).await;
                    if let Some(reply) = reply {
                        // Nobody waits for a toast: the next word may be a no.
                        tokio::spawn(send_reply(Arc::clone(&open_channel), word, reply));
                    }
                }
            }
            Err(error) => {
                let channel = open_channel.channel.name();
                tracing::warn!(channel, why = error.problem, "a channel cannot be heard");
                open_channel.record_result(Some(&error), api.gate.clock().now().at);
                tokio::time::sleep(pause.max(error.retry_after.unwrap_or_default())).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

async fn send_reply(open_channel: Arc<OpenChannel>, word: Word, reply: String) {
    let Some(answers) = open_channel.channel.answers() else { return };
    let said = tokio::time::timeout(REPLY_TIMEOUT, answers.reply(&word, &reply)).await;
    let channel = open_channel.channel.name();
    match said {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(channel, why = error.problem, "a reply was not sent"),
        Err(_) => tracing::warn!(channel, "a reply was not sent in time"),
    }
}

/// What becomes of one word, in words for who said it; nothing if it was heard before.
async fn handle_once(api: &Api, open_channel: &Arc<OpenChannel>, word: &Word) -> Option<String> {
    let now = api.gate.clock().now().at;
    if !api.replay_guard.is_new(open_channel.channel.name(), &word.key, now) {
        return None;
    }
    Some(handle_message(api, open_channel, word).await)
}

/// Somebody else is told, where that message was the only one. The platform may say so before it is
/// written down that it took the message.
async fn record_undelivered(api: Api, channel: String, trouble: Trouble) {
    let Trouble { message, error } = trouble;
    if message.is_empty() {
        return;
    }
    for _ in 0..RECORD_ATTEMPTS {
        let (channel, message, why) = (channel.clone(), message.clone(), error.problem.clone());
        match api.gate.store().undelivered(channel, message, why, api.note()).await {
            Ok(Some(request)) => {
                tracing::warn!(%request, "what counted as told was not: it is taken up again");
                return;
            }
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "it could not be written down; tried again"),
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// What a platform posted to our hook, and what goes back to it; nothing if it is not believed.
pub async fn posted(
    api: &Api,
    open_channel: &Arc<OpenChannel>,
    posted: &Posted<'_>,
) -> Option<Posting> {
    let heard = open_channel.channel.answers()?.hear(posted);
    let channel = open_channel.channel.name();
    let heard = match heard {
        Ok(heard) => heard,
        Err(why) => {
            if open_channel.should_log_rejection(Instant::now()) {
                tracing::warn!(channel, %why, "a hook is called in vain; said once a minute");
            }
            return None;
        }
    };
    if let Some(trouble) =
        open_channel.channel.answers().and_then(|answers| answers.trouble(posted))
    {
        tracing::warn!(channel, why = trouble.error.problem, "a message did not arrive");
        open_channel.record_result(Some(&trouble.error), posted.now);
        // Said once: who saw it may say it again and again.
        let key = format!("undelivered {}", trouble.message);
        if api.replay_guard.is_new(channel, &key, posted.now) {
            tokio::spawn(record_undelivered(api.clone(), channel.to_owned(), trouble));
        }
    }
    let mut answer = heard.answer;
    for word in heard.words {
        let Some(reply) = handle_once(api, open_channel, &word).await else { continue };
        match open_channel.channel.answers().and_then(|answers| answers.answer(&word, &reply)) {
            Some(own) => answer = own,
            None => {
                tokio::spawn(send_reply(Arc::clone(open_channel), word, reply));
            }
        }
    }
    Some(answer)
}
