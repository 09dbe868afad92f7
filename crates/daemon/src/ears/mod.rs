//! The ears: what people say through channels, heard, understood and answered.
//!
//! A channel vouches for the account; the book knows whose it is; the state machine decides whether
//! their word counts. Whatever is not understood changes nothing.

mod heard;
mod links;
mod meaning;

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
use crate::courier::Line;
use crate::doors::{self, Stop};

pub use heard::Heard;
pub use links::Links;
pub use meaning::understood;

/// How often the rules are looked at for channels that came or went.
const LOOK: Duration = Duration::from_secs(1);
/// Between two attempts to listen, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// So many seconds after a message was taken it is written down at the latest.
const WRITTEN_DOWN: u32 = 5;
/// How long a reply may take.
const REPLY: Duration = Duration::from_secs(20);

/// Listens to every channel that has to be asked, until the daemon stops.
pub async fn run(api: Api, mut stop: Stop) {
    let mut listening: HashMap<String, (Arc<Line>, tokio::task::AbortHandle)> = HashMap::new();
    let mut tasks = JoinSet::new();
    loop {
        let rules = api.gate.rules();
        let mut open: HashMap<String, Arc<Line>> = HashMap::new();
        for name in rules.channels.keys() {
            if let Ok(line) = api.lines.get(&rules, name)
                && line.channel.reply_receiver().is_some()
            {
                open.insert(name.clone(), line);
            }
        }
        listening.retain(|name, (line, task)| {
            let stays = open.get(name).is_some_and(|newer| Arc::ptr_eq(newer, line));
            if !stays {
                task.abort();
            }
            stays && !task.is_finished()
        });
        for (name, line) in open {
            listening.entry(name).or_insert_with(|| {
                let task = tasks.spawn(listen(api.clone(), Arc::clone(&line)));
                (line, task)
            });
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            Some(_) = tasks.join_next() => {}
            () = doors::stopped(&mut stop) => {
                tasks.shutdown().await;
                return;
            }
        }
    }
}

/// Listens to one channel for ever.
async fn listen(api: Api, line: Arc<Line>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(answers) = line.channel.reply_receiver() else { return };
        match answers.listen().await {
            Ok(words) => {
                pause = FIRST_PAUSE;
                for word in words {
                    let reply = hear(&api, &line, &word).await;
                    if let Some(reply) = reply {
                        // Nobody waits for a toast: the next word may be a no.
                        tokio::spawn(say(Arc::clone(&line), word, reply));
                    }
                }
            }
            Err(error) => {
                let channel = line.channel.name();
                tracing::warn!(channel, why = error.problem, "a channel cannot be heard");
                line.went(Some(&error), api.gate.clock().now().at);
                tokio::time::sleep(pause.max(error.retry_after.unwrap_or_default())).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

async fn say(line: Arc<Line>, word: PersonReply, reply: String) {
    let Some(answers) = line.channel.reply_receiver() else { return };
    let said = tokio::time::timeout(REPLY, answers.reply(&word, &reply)).await;
    let channel = line.channel.name();
    match said {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(channel, why = error.problem, "a reply was not sent"),
        Err(_) => tracing::warn!(channel, "a reply was not sent in time"),
    }
}

/// What becomes of one word, in words for who said it; nothing if it was heard before.
async fn hear(api: &Api, line: &Arc<Line>, word: &PersonReply) -> Option<String> {
    let now = api.gate.clock().now().at;
    if !api.heard.is_new(line.channel.name(), &word.key, now) {
        return None;
    }
    Some(understood(api, line, word).await)
}

/// Somebody else is told, where that message was the only one. The platform may say so before it is
/// written down that it took the message.
async fn did_not_arrive(api: Api, channel: String, trouble: DeliveryFailure) {
    let DeliveryFailure { message, error } = trouble;
    if message.is_empty() {
        return;
    }
    for _ in 0..WRITTEN_DOWN {
        let (channel, message, why) = (channel.clone(), message.clone(), error.problem.clone());
        match api.gate.store().mark_undelivered(channel, message, why, api.note()).await {
            Ok(Some(request)) => {
                tracing::warn!(%request, "what counted as told was not: it is taken up again");
                return;
            }
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "it could not be written down; tried again"),
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What a platform posted to our hook, and what goes back to it; nothing if it is not believed.
pub async fn posted(api: &Api, line: &Arc<Line>, posted: &HookRequest<'_>) -> Option<HookResponse> {
    let heard = line.channel.reply_receiver()?.receive(posted);
    let channel = line.channel.name();
    let heard = match heard {
        Ok(heard) => heard,
        Err(why) => {
            if line.may_complain(Instant::now()) {
                tracing::warn!(channel, %why, "a hook is called in vain; said once a minute");
            }
            return None;
        }
    };
    if let Some(trouble) =
        line.channel.reply_receiver().and_then(|answers| answers.delivery_failure(posted))
    {
        tracing::warn!(channel, why = trouble.error.problem, "a message did not arrive");
        line.went(Some(&trouble.error), posted.now);
        // Said once: who saw it may say it again and again.
        let key = format!("undelivered {}", trouble.message);
        if api.heard.is_new(channel, &key, posted.now) {
            tokio::spawn(did_not_arrive(api.clone(), channel.to_owned(), trouble));
        }
    }
    let mut answer = heard.response;
    for word in heard.replies {
        let Some(reply) = hear(api, line, &word).await else { continue };
        match line.channel.reply_receiver().and_then(|answers| answers.hook_response(&word, &reply))
        {
            Some(own) => answer = own,
            None => {
                tokio::spawn(say(Arc::clone(line), word, reply));
            }
        }
    }
    Some(answer)
}
