//! A person's own devices: passkeys, and browsers with notifications.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_json::base64;
use countersign_store::{Passkey, PushSubscription};
use countersign_text::sanitize::sanitize_within;
use countersign_types::time::{Clock as _, Timestamp};
use maud::{Markup, html};

use super::labels::relative_time;
use super::layout;
use super::page::{ApiState, PageResult, signed_in_page};
use crate::api::push;
use crate::passkeys::algorithm_name;

const NAME: usize = 200;

fn shown(text: &str) -> String {
    sanitize_within(text, NAME).text.into_owned()
}

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let now = api.gate.clock().now().at;
    let passkeys = api.directory.passkeys(&identity.person);
    let browsers = push::own(&api, &identity.person).await;
    let browsers = browsers.map_err(|problem| layout::error_page(&problem, Some(&identity)))?;
    let here = api.people_hosts.passkey_origin(&headers);
    let named = api.people_hosts.origin_for_passkeys().unwrap_or_default();
    let body = html! {
        section.wide.devices {
            h1 { "Your devices" }
            h2 { "Passkeys" }
            p.hint {
                "A passkey is a key on your device, unlocked by fingerprint, face or PIN. Once "
                "you have one, you approve CRITICAL calls and confirm changes with it: it signs "
                "exactly what you see, and a stolen session is not enough."
            }
            @if passkeys.is_empty() { p { "You have no passkeys." } }
            ul.list { @for passkey in &passkeys { (passkey_line(passkey, now)) } }
            @if here.is_some() { (add_passkey(passkeys.is_empty())) } @else {
                p.notice {
                    "Browsers allow passkeys only under a host name, and this page was opened by "
                    "an IP address. Open it here instead: "
                    a href={ (named) "/devices" } { (named) "/devices" }
                }
            }
            h2 { "Notifications" }
            p.hint {
                "This browser can notify you of pending requests, even when the page is closed. "
                "Notifications are encrypted for it, so that no server in between can read them."
            }
            ul.list { @for (name, browser) in &browsers { (browser_line(name, browser, now)) } }
            form #add-browser data-key=(push::key(&api)) {
                p.wrong role="alert" {}
                button.main type="submit" { "Notify me in this browser" }
            }
        }
    };
    Ok(layout::page("Devices", layout::MenuItem::Devices, Some(&identity), &body))
}

fn passkey_line(passkey: &Passkey, now: Timestamp) -> Markup {
    let id = base64::encode_url(&passkey.credential);
    html! {
        li {
            div {
                strong { (shown(&passkey.name)) }
                p.hint {
                    (algorithm_name(passkey.algorithm)) ", added "
                    (relative_time(passkey.added, now))
                    @match passkey.used {
                        Some(at) => { ", last used " (relative_time(at, now)) }
                        None => ", not used yet",
                    }
                    @if passkey.active_from > now {
                        ", can sign " (relative_time(passkey.active_from, now))
                    }
                }
            }
            details.add {
                summary { "Remove" }
                form.api data-method="POST" data-path={ "/v1/passkeys/" (id) "/remove" } {
                    p.wrong role="alert" {}
                    button type="submit" { "Remove passkey" }
                }
            }
        }
    }
}

fn add_passkey(first: bool) -> Markup {
    html! {
        details.add open[first] {
            summary { "Add a passkey" }
            form #add-passkey {
                label {
                    "Name"
                    input name="name" required maxlength="64" placeholder="my laptop";
                }
                p.wrong role="alert" {}
                button.main type="submit" { "Add it" }
            }
        }
    }
}

fn browser_line(name: &str, browser: &PushSubscription, now: Timestamp) -> Markup {
    html! {
        li {
            div {
                strong { (shown(&browser.called)) }
                p.hint { "notifications on, added " (relative_time(browser.added, now)) }
            }
            button type="button" data-method="DELETE" data-path={ "/v1/push/" (name) }
                data-question="This browser will show no more notifications. Stop them?" { "Stop" }
        }
    }
}
