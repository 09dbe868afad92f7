//! How people are reached: each channel with what it may do, how it went last, a test, and the
//! accounts that answer through it.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_channels::ChannelError;
use countersign_core::request::Rung;
use countersign_core::time::{Clock as _, Timestamp};
use countersign_store::{Account, Role, Store as _, StoreError};
use maud::{Markup, html};

use super::settings::{act, may_change, shown};
use super::words::{apart, encoded, rung};
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
    let body = html! {
        section.wide {
            h1 { "Channels" }
            p.hint {
                "How people are asked, and where they can answer. They are set up in "
                "countersign.toml; a bot on Telegram with "
                code { "countersign channel add telegram" } "."
            }
            ul.list {
                @for (name, set_up) in &rules.channels {
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

fn channel(seen: &Seen<'_>, name: &str, set_up: &SetUp, accounts: &[Account]) -> Markup {
    let line = seen.api.lines.get(seen.rules, name);
    let answers = line.as_ref().is_ok_and(|line| line.channel.answers().is_some());
    let path = format!("/v1/channels/{}", encoded(name));
    html! {
        li.channel {
            div {
                strong { (shown(name)) }
                @if name != set_up.settings.kind() {
                    span.hint { " (" (set_up.settings.kind()) ")" }
                }
                p.hint { (used(seen.rules, name)) }
                p.hint { (limits(set_up, answers)) }
                (health(line.as_ref(), seen.now))
                @if answers { (linked(name, accounts, seen)) }
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
        }
    }
}

/// When it is used, in words.
fn used(rules: &Rules, name: &str) -> String {
    let mut rungs = rules.ladder.iter().zip(Rung::ALL);
    let first = rungs.find(|(channels, _)| channels.iter().any(|known| known == name));
    match first {
        Some((_, Rung::First)) => "Asked first.".to_owned(),
        Some((_, later)) => format!("Asked later: {}.", rung(later)),
        None => "Not on the usual ladder: nobody is asked here unless a tier or an hour says so."
            .to_owned(),
    }
}

fn limits(set_up: &SetUp, answers: bool) -> String {
    let limits = set_up.limits;
    let mut text = format!(
        "Carries up to {}, at most {} messages a minute",
        limits.most.label(),
        limits.per_minute
    );
    let not = if limits.details { "" } else { " not" };
    let _ = write!(text, "; the call itself is{not} in them");
    if answers && limits.details {
        let _ = write!(text, "; approves up to {}", limits.approves.label());
    } else if answers {
        text.push_str("; takes a no, approves nothing");
    } else {
        text.push_str("; only tells, nobody answers through it");
    }
    text + "."
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
        }
        @if let Some((at, problem)) = &health.failed {
            p.wrong { "It failed " (apart(*at, now)) ": " (shown(problem)) "." }
        }
    }
}

fn linked(channel: &str, accounts: &[Account], seen: &Seen<'_>) -> Markup {
    let here: Vec<&Account> =
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
