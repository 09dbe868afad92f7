//! The channels: their limits, their last result, a test, and the accounts that answer through
//! them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_channels::{ChannelError, ChannelLimits};
use countersign_store::{LinkedAccount, Role, Store as _, StoreError};
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::EscalationLevel;
use maud::{Markup, html};

use super::controls::{action_button, is_administrator, shown};
use super::labels::{percent_encode, relative_time};
use super::layout;
use super::page::{ApiState, PageResult, signed_in_page};
use crate::api::Api;
use crate::auth::PersonIdentity;
use crate::config::{ChannelConfig, DaemonRules};
use crate::notifier::OpenChannel;

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&identity));
    let mut accounts = api.gate.store().accounts().await.map_err(failed)?;
    let all = identity.role == Role::Administrator;
    accounts
        .retain(|account| account.ended.is_none() && (all || account.person == identity.person));
    let rules = api.gate.rules();
    let now = api.gate.clock().now().at;
    let mut channels: Vec<_> = rules.channels.iter().collect();
    channels.sort_by_key(|(name, _)| {
        level(&rules, name).map_or(EscalationLevel::ALL.len(), |it| it as usize)
    });
    let seen = Seen { api: &api, rules: &rules, identity: &identity, now };
    let body = html! {
        section.wide {
            h1 { "Channels" }
            p.hint {
                "How people are notified, and where they can answer. Channels are configured in "
                "countersign.toml; a Telegram bot with "
                code { "countersign channel add telegram" } "."
            }
            ul.list {
                @for (name, channel_config) in channels {
                    (channel(&seen, name, channel_config, &accounts))
                }
            }
        }
    };
    Ok(layout::page("Channels", layout::MenuItem::Channels, Some(&identity), &body))
}

/// The context of one rendering.
struct Seen<'a> {
    api: &'a Api,
    rules: &'a Arc<DaemonRules>,
    identity: &'a PersonIdentity,
    now: Timestamp,
}

fn channel(
    seen: &Seen<'_>,
    name: &str,
    channel_config: &ChannelConfig,
    accounts: &[LinkedAccount],
) -> Markup {
    let line = seen.api.channels.get(seen.rules, name);
    let answers = line.as_ref().is_ok_and(|line| line.channel.reply_receiver().is_some());
    let path = format!("/v1/channels/{}", percent_encode(name));
    html! {
        li.channel {
            div {
                strong { (shown(name)) }
                @if name != channel_config.settings.kind() {
                    span.hint { " (" (channel_config.settings.kind()) ")" }
                }
                p.hint { (used(level(seen.rules, name))) }
                p.hint { (limits(channel_config.limits, answers)) }
                (health(line.as_ref(), seen.now))
            }
            div.pair {
                @if is_administrator(seen.identity) {
                    button type="button" data-tell="test" data-path={ (path) "/test" } { "Test" }
                }
                @if answers {
                    button type="button" data-tell="link" data-path={ (path) "/link" } {
                        "Link my account"
                    }
                }
            }
            @if answers { (linked(name, accounts, seen)) }
        }
    }
}

/// The first step of the default escalation that uses the channel.
fn level(rules: &DaemonRules, name: &str) -> Option<EscalationLevel> {
    let mut levels = rules.escalation.iter().zip(EscalationLevel::ALL);
    let found = levels.find(|(channels, _)| channels.iter().any(|known| known == name));
    found.map(|(_, level)| level)
}

/// When the channel is used, in words.
const fn used(level: Option<EscalationLevel>) -> &'static str {
    match level {
        Some(EscalationLevel::First) => "Notified first.",
        Some(EscalationLevel::Next) => "Notified next, if no person answers.",
        Some(EscalationLevel::Administrators) => "Notified after that, for administrators.",
        Some(EscalationLevel::Emergency) => "Notified last, as an emergency.",
        None => "Not in the default escalation: used only for certain tiers or hours.",
    }
}

fn limits(limits: ChannelLimits, answers: bool) -> String {
    let may = match (answers, limits.details) {
        (true, true) => format!("Approves up to {}.", limits.approves.label()),
        (true, false) => "Can deny, cannot approve.".to_owned(),
        (false, _) => "Notifications only, no answers.".to_owned(),
    };
    let (most, pace) = (limits.max_tier.label(), limits.per_minute);
    let with = if limits.details { "with" } else { "without" };
    format!("{may} Up to {most}, {pace} messages a minute, {with} the call itself.")
}

fn health(line: Result<&Arc<OpenChannel>, &ChannelError>, now: Timestamp) -> Markup {
    let line = match line {
        Ok(line) => line,
        Err(error) => {
            return html! { p.wrong { "Not usable: " (shown(&error.problem)) "." } };
        }
    };
    let health = line.health();
    html! {
        p.hint {
            @match health.told {
                Some(at) => { "Last message " (relative_time(at, now)) "." }
                None => { "No message since the daemon started." }
            }
            @if let Some(tapped) = line.test_buttons.last_tap() {
                " " (shown(&tapped.by)) " tapped the test button "
                (relative_time(tapped.at, now)) "."
            }
        }
        @if let Some((at, problem)) = &health.failed {
            p.wrong { "Failed " (relative_time(*at, now)) ": " (shown(problem)) "." }
        }
    }
}

fn linked(channel: &str, accounts: &[LinkedAccount], seen: &Seen<'_>) -> Markup {
    let here: Vec<&LinkedAccount> =
        accounts.iter().filter(|account| account.channel == channel).collect();
    html! {
        @if here.is_empty() {
            p.hint { "No linked account: people cannot decide here yet." }
        } @else {
            ul.accounts {
                @for account in here {
                    @let (name, id) = (percent_encode(channel), percent_encode(&account.account));
                    @let path = format!("/v1/accounts/{name}/{id}");
                    @let question = "This account can no longer answer. Unlink it?";
                    li {
                        span {
                            (shown(&account.person)) " is " (shown(&account.called))
                            span.hint {
                                " (" (shown(&account.account)) "), linked "
                                (relative_time(account.linked, seen.now))
                            }
                        }
                        (action_button("Unlink", "DELETE", &path, question))
                    }
                }
            }
        }
    }
}
