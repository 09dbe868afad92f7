//! What a word means: a link, a question, a yes or a no. In doubt it means nothing.

use std::sync::Arc;

use countersign_channels::{Answers, Said, Word};
use countersign_store::{Account, Store as _};
use countersign_text::humanize;
use countersign_text::sanitize::sanitize_within;
use countersign_types::time::{Clock as _, Millis};
use countersign_workflow::assurance::Tenure;
use countersign_workflow::request::Choice;

use super::responder::Responder;
use crate::api::Api;
use crate::notifier::OpenChannel;

/// The longest account name that is stored.
const MAX_NAME: usize = 60;

/// What becomes of a word, in words for who said it.
pub async fn handle_message(api: &Api, open_channel: &Arc<OpenChannel>, word: &Word) -> String {
    let channel = open_channel.channel.name();
    let Some(answers) = open_channel.channel.answers() else {
        return "Nobody can answer here.".to_owned();
    };
    if let Said::Link(code) = &word.said {
        return link(api, channel, word, code).await;
    }
    let Some((person, tenure)) = person(api, answers, channel, word) else {
        tracing::warn!(channel, "an account that is nobody's said something");
        return format!(
            "This account is linked to nobody here, so it cannot answer. In the inbox, under \
             Channels, get a code and send: {} CODE",
            answers.command("link")
        );
    };
    let responder = Responder { api, open_channel, answers, person, tenure };
    match &word.said {
        Said::Button(text) => responder.press_button(text, "").await,
        Said::Reasoned { button, reason } => responder.press_button(button, reason).await,
        Said::Approve(which) => responder.answer_by_name(Choice::Approve, which).await,
        Said::Deny(which) => responder.answer_by_name(Choice::Deny, which).await,
        Said::Pending => responder.list_pending().await,
        Said::Link(_) | Said::Help => responder.help(),
    }
}

/// Who speaks: whose account it is, or whose the operator says that the channel is.
fn person(
    api: &Api,
    answers: &dyn Answers,
    channel: &str,
    word: &Word,
) -> Option<(String, Tenure)> {
    match answers.person() {
        Some(name) => {
            api.directory.record(name).map(|_| (name.to_owned(), api.directory.tenure(name)))
        }
        None => api.directory.account(channel, &word.account),
    }
}

async fn link(api: &Api, channel: &str, word: &Word, code: &str) -> String {
    let now = api.gate.clock().now().at;
    let Some(person) = api.link_codes.redeem(channel, code, now) else {
        return "This code is wrong or too old. Get a new one in the inbox, under Channels."
            .to_owned();
    };
    let account = Account {
        channel: channel.to_owned(),
        account: word.account.clone(),
        person: person.clone(),
        called: sanitize_within(&word.called, MAX_NAME).text.into_owned(),
        linked: now,
        active_from: now.plus(api.waiting_period(&person)),
        ended: None,
    };
    match api.gate.store().keep_account(account, api.note_by(&person)).await {
        Ok(()) => {}
        Err(countersign_store::StoreError::Exists(_)) => {
            return "This account is linked to somebody else. They or an administrator can end \
                    that in the inbox."
                .to_owned();
        }
        Err(error) => return format!("Not linked: {error}."),
    }
    if let Err(error) = api.directory.reload(api.gate.store()).await {
        tracing::error!(%error, "a new link is not known yet");
    }
    api.announce(format!(
        "{person} linked an account on {channel}: it can approve calls as {person}."
    ));
    match api.waiting_period(&person) {
        Millis(0) => format!("Linked. You answer here as {person} from now on."),
        wait => {
            let wait = humanize::duration(wait.0 / 1000);
            format!("Linked. You can deny here as {person} now, and approve in {wait}.")
        }
    }
}
