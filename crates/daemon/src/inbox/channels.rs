//! The channels: their limits, their last result, a test, and the accounts that answer through
//! them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_channels::{ChannelError, ChannelLimits};
use countersign_store::{LinkedAccount, Role, Store as _, StoreError};
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::Rung;
use maud::{Markup, html};

use super::controls::{act, may_change, shown};
use super::labels::{apart, encoded};
use super::layout;
use super::page::{ApiState, PageResult, signed_in_page};
use crate::api::Api;
use crate::auth::PersonIdentity;
use crate::config::{ChannelConfig, DaemonRules};
use crate::notifier::OpenChannel;

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let who = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&who));
    let mut accounts = api.gate.store().accounts().await.map_err(failed)?;
    let all = who.role == Role::Administrator;
    accounts.retain(|account| account.ended.is_none() && (all || account.person == who.person));
    let rules = api.gate.rules();
    let now = api.gate.clock().now().at;
    let mut channels: Vec<_> = rules.channels.iter().collect();
    channels.sort_by_key(|(name, _)| rung(&rules, name).map_or(Rung::ALL.len(), |it| it as usize));
    let seen = Seen { api: &api, rules: &rules, who: &who, now };
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
    Ok(layout::page("Channels", layout::MenuItem::Channels, Some(&who), &body))
}

/// The context of one rendering.
struct Seen<'a> {
    api: &'a Api,
    rules: &'a Arc<DaemonRules>,
    who: &'a PersonIdentity,
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
    let path = format!("/v1/channels/{}", encoded(name));
    html! {
        li.channel {
            div {
                strong { (shown(name)) }
                @if name != channel_config.settings.kind() {
                    span.hint { " (" (channel_config.settings.kind()) ")" }
                }
                p.hint { (used(rung(seen.rules, name))) }
                p.hint { (limits(channel_config.limits, answers)) }
                (health(line.as_ref(), seen.now))
            }
            div.pair {
                @if may_change(seen.who) {
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
fn rung(rules: &DaemonRules, name: &str) -> Option<Rung> {
    let mut rungs = rules.ladder.iter().zip(Rung::ALL);
    let found = rungs.find(|(channels, _)| channels.iter().any(|known| known == name));
    found.map(|(_, rung)| rung)
}

/// When the channel is used, in words.
const fn used(rung: Option<Rung>) -> &'static str {
    match rung {
        Some(Rung::First) => "Notified first.",
        Some(Rung::Next) => "Notified next, if nobody answers.",
        Some(Rung::Administrators) => "Notified after that, for administrators.",
        Some(Rung::Emergency) => "Notified last, as an emergency.",
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
                Some(at) => { "Last message " (apart(at, now)) "." }
                None => { "No message since the daemon started." }
            }
            @if let Some(tapped) = line.test_buttons.last_tap() {
                " " (shown(&tapped.by)) " tapped the test button " (apart(tapped.at, now)) "."
            }
        }
        @if let Some((at, problem)) = &health.failed {
            p.wrong { "Failed " (apart(*at, now)) ": " (shown(problem)) "." }
        }
    }
}

fn linked(channel: &str, accounts: &[LinkedAccount], seen: &Seen<'_>) -> Markup {
    let here: Vec<&LinkedAccount> =
        accounts.iter().filter(|account| account.channel == channel).collect();
    html! {
        @if here.is_empty() {
            p.hint { "No linked account, so nobody can answer here yet." }
        } @else {
            ul.accounts {
                @for account in here {
                    @let (place, number) = (encoded(channel), encoded(&account.account));
                    @let question = "This account can no longer answer. Unlink it?";
                    li {
                        span {
                            (shown(&account.person)) " is " (shown(&account.called))
                            span.hint {
                                " (" (shown(&account.account)) "), linked "
                                (apart(account.linked, seen.now))
                            }
                        }
                        (act("Unlink", "DELETE", &format!("/v1/accounts/{place}/{number}"),
                            question))
                    }
                }
            }
        }
    }
}
