//! Handles one reply: a linking code, a question, an approval or a denial. Anything unclear changes
//! nothing.

use std::sync::Arc;

use countersign_channels::{PersonReply, ReplyContent, ReplyReceiver};
use countersign_store::{LinkedAccount, Store as _};
use countersign_text::humanize;
use countersign_text::sanitize::sanitize_within;
use countersign_types::time::Millis;
use countersign_workflow::assurance::Tenure;
use countersign_workflow::request::Choice;

use super::context::InboundContext;
use super::responder::Responder;
use crate::notifier::{self, OpenChannel};

/// The maximum length of a stored display name.
const MAX_NAME: usize = 60;

/// Handles a reply; returns the answer for its sender.
pub async fn handle_message(
    context: &InboundContext,
    open_channel: &Arc<OpenChannel>,
    word: &PersonReply,
) -> String {
    let channel = open_channel.channel.name();
    let Some(answers) = open_channel.channel.reply_receiver() else {
        return "This channel does not accept replies.".to_owned();
    };
    if let ReplyContent::Link(code) = &word.content {
        return link(context, channel, word, code).await;
    }
    let Some((person, tenure)) = person(context, answers, channel, word) else {
        tracing::warn!(channel, "a reply came from an account that is not linked");
        return format!(
            "This account is not linked to a person, so it cannot reply. In the inbox, under \
             Channels, get a code and send: {} CODE",
            answers.command_text("link")
        );
    };
    let responder = Responder { context, open_channel, answers, person, tenure };
    match &word.content {
        ReplyContent::Button(text) => responder.press_button(text, "", "").await,
        ReplyContent::Reasoned { button, reason, words } => {
            responder.press_button(button, reason, words).await
        }
        ReplyContent::Approve(which) => responder.answer_by_name(Choice::Approve, which).await,
        ReplyContent::Deny(which) => responder.answer_by_name(Choice::Deny, which).await,
        ReplyContent::Pending => responder.list_pending().await,
        ReplyContent::Freeze => responder.freeze().await,
        ReplyContent::Link(_) | ReplyContent::Help => responder.help(),
    }
}

/// The person of an account, or the one that the operator configured for the channel.
fn person(
    context: &InboundContext,
    answers: &dyn ReplyReceiver,
    channel: &str,
    word: &PersonReply,
) -> Option<(String, Tenure)> {
    match answers.person() {
        Some(name) => context
            .directory
            .record(name)
            .map(|_| (name.to_owned(), context.directory.tenure(name))),
        None => context.directory.account(channel, &word.account),
    }
}

async fn link(context: &InboundContext, channel: &str, word: &PersonReply, code: &str) -> String {
    let now = context.now();
    let Some(person) = context.link_codes.redeem(channel, code, now) else {
        return "This code is wrong or too old. Get a new one in the inbox, under Channels."
            .to_owned();
    };
    let account = LinkedAccount {
        channel: channel.to_owned(),
        account: word.account.clone(),
        person: person.clone(),
        called: sanitize_within(&word.display_name, MAX_NAME).text.into_owned(),
        linked: now,
        active_from: now.plus(context.waiting_period(&person)),
        ended: None,
    };
    match context.gate.store().save_account(account, context.gate.note_by(&person)).await {
        Ok(()) => {}
        Err(countersign_store::StoreError::Exists(_)) => {
            return "This account is linked to another person. They or an administrator can unlink \
                    it in the inbox."
                .to_owned();
        }
        Err(error) => return format!("Not linked: {error}."),
    }
    if let Err(error) = context.directory.reload(context.gate.store()).await {
        tracing::error!(%error, "a linked account could not be loaded; it works after a restart");
    }
    let news =
        format!("{person} linked an account on {channel}: it can approve calls as {person}.");
    notifier::broadcast_in_background(&context.gate, &context.channels, news);
    match context.waiting_period(&person) {
        Millis(0) => format!("Linked. Your replies here count as {person} from now on."),
        wait => {
            let wait = humanize::duration(wait.0 / 1000);
            format!("Linked. You can deny here as {person} now, and approve in {wait}.")
        }
    }
}
