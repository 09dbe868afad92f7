//! How people are reached: each channel with what it may do, how it went last, a test, and the
//! accounts that answer through it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_channels::{ChannelError, ChannelLimits};
use countersign_store::{LinkedAccount, Role, Store as _, StoreError};
use countersign_types::time::{Clock as _, Timestamp};
use countersign_workflow::request::Rung;
use maud::{Markup, html};

use super::settings::{act, may_change, shown};
use super::words::{apart, encoded};
use super::{House, Shown, frame, visitor};
use crate::api::Api;
use crate::auth::Who;
use crate::config::{Rules, SetUp};
use crate::courier::Line;

/// The page.
pub async fn page(State(api): House, headers: HeaderMap, uri: Uri) -> Shown {
    let who = visitor(&api, &headers, &uri)?;
    let failed = |error: StoreError| frame::sorry(&error.into(), Some(&who));
    let mut accounts = api.gate.store().accounts().await.map_err(failed)?;
    let all = who.role == Role::Administrator;
    accounts.retain(|account| account.ended.is_none() && (all || account.person == who.person));
    let rules = api.gate.rules();
    let now = api.gate.clock().now().at;
    let mut channels: Vec<_> = rules.channels.iter().collect();
    channels.sort_by_key(|(name, _)| rung(&rules, name).map_or(Rung::ALL.len(), |it| it as usize));
    let body = html! {
        section.wide {
            h1 { "Channels" }
            p.hint {
                "How people are asked, and where they can answer. They are set up in "
                "countersign.toml; a bot on Telegram with "
                code { "countersign channel add telegram" } "."
            }
            ul.list {
                @for (name, set_up) in channels {
                    (channel(&Seen { api: &api, rules: &rules, who: &who, now }, name, set_up,
                        &accounts))
                }
            }
        }
    };
    Ok(frame::page("Channels", frame::Place::Channels, Some(&who), &body))
}

/// Who looks, at what, and when.
struct Seen<'a> {
    api: &'a Api,
    rules: &'a Arc<Rules>,
    who: &'a Who,
    now: Timestamp,
}

fn channel(seen: &Seen<'_>, name: &str, set_up: &SetUp, accounts: &[LinkedAccount]) -> Markup {
    let line = seen.api.lines.get(seen.rules, name);
    let answers = line.as_ref().is_ok_and(|line| line.channel.reply_receiver().is_some());
    let path = format!("/v1/channels/{}", encoded(name));
    html! {
        li.channel {
            div {
                strong { (shown(name)) }
                @if name != set_up.settings.kind() {
                    span.hint { " (" (set_up.settings.kind()) ")" }
                }
                p.hint { (used(rung(seen.rules, name))) }
                p.hint { (limits(set_up.limits, answers)) }
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

/// The first rung of the usual ladder on which it stands.
fn rung(rules: &Rules, name: &str) -> Option<Rung> {
    let mut rungs = rules.ladder.iter().zip(Rung::ALL);
    let found = rungs.find(|(channels, _)| channels.iter().any(|known| known == name));
    found.map(|(_, rung)| rung)
}

/// When it is used, in words.
const fn used(rung: Option<Rung>) -> &'static str {
    match rung {
        Some(Rung::First) => "Asked first.",
        Some(Rung::Next) => "Asked next, when nobody answers.",
        Some(Rung::Administrators) => "Asked after that, for the administrators.",
        Some(Rung::Emergency) => "Asked last, as an emergency.",
        None => "Not on the usual ladder: nobody is asked here unless a tier or an hour says so.",
    }
}

fn limits(limits: ChannelLimits, answers: bool) -> String {
    let may = match (answers, limits.details) {
        (true, true) => format!("Approves up to {}.", limits.approves.label()),
        (true, false) => "Takes a no, approves nothing.".to_owned(),
        (false, _) => "Only tells: nobody answers through it.".to_owned(),
    };
    let (most, pace) = (limits.max_tier.label(), limits.per_minute);
    let with = if limits.details { "with" } else { "without" };
    format!("{may} Carries up to {most}, {pace} messages a minute, {with} the call itself.")
}

fn health(line: Result<&Arc<Line>, &ChannelError>, now: Timestamp) -> Markup {
    let line = match line {
        Ok(line) => line,
        Err(error) => {
            return html! { p.wrong { "It cannot be used: " (shown(&error.problem)) "." } };
        }
    };
    let health = line.health();
    html! {
        p.hint {
            @match health.told {
                Some(at) => { "Last message " (apart(at, now)) "." }
                None => { "No message since the daemon started." }
            }
            @if let Some(tapped) = line.tries.tapped() {
                " " (shown(&tapped.by)) " tapped a test's button " (apart(tapped.at, now)) "."
            }
        }
        @if let Some((at, problem)) = &health.failed {
            p.wrong { "It failed " (apart(*at, now)) ": " (shown(problem)) "." }
        }
    }
}

fn linked(channel: &str, accounts: &[LinkedAccount], seen: &Seen<'_>) -> Markup {
    let here: Vec<&LinkedAccount> =
        accounts.iter().filter(|account| account.channel == channel).collect();
    html! {
        @if here.is_empty() {
            p.hint { "No account is linked, so nobody can answer here yet." }
        } @else {
            ul.accounts {
                @for account in here {
                    @let (place, number) = (encoded(channel), encoded(&account.account));
                    @let question = "Nothing that this account says counts any more. Unlink it?";
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
