//! Polls the channels whose platforms do not post to our hook.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::context::InboundContext;
use super::receive::{handle_once, send_reply};
use crate::notifier::OpenChannel;
use crate::shutdown::{Stop, stopped};

/// How often the rules are checked for new and removed channels.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The first and the longest pause between two attempts to poll.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Polls every channel that needs it, until the daemon stops.
pub async fn run(context: Arc<InboundContext>, mut stop: Stop) {
    let mut listeners_by_channel: HashMap<String, (Arc<OpenChannel>, tokio::task::AbortHandle)> =
        HashMap::new();
    let mut tasks = JoinSet::new();
    loop {
        let rules = context.gate.rules();
        let mut open: HashMap<String, Arc<OpenChannel>> = HashMap::new();
        for name in rules.channels.keys() {
            if let Ok(open_channel) = context.channels.get(&rules, name)
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
                let task = tasks.spawn(listen(Arc::clone(&context), Arc::clone(&open_channel)));
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
async fn listen(context: Arc<InboundContext>, open_channel: Arc<OpenChannel>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(answers) = open_channel.channel.reply_receiver() else { return };
        match answers.listen().await {
            Ok(words) => {
                pause = FIRST_PAUSE;
                for word in words {
                    let reply = handle_once(&context, &open_channel, &word).await;
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
                open_channel.record_result(Some(&error), context.now());
                tokio::time::sleep(pause.max(error.retry_after.unwrap_or_default())).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}
