//! A person's own devices: passkeys that sign, browsers that are called.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_json::base64;
use countersign_store::{Passkey, PushSubscription};
use countersign_text::sanitize::show_within;
use countersign_types::time::{Clock as _, Timestamp};
use maud::{Markup, html};

use super::words::apart;
use super::{House, Shown, frame, visitor};
use crate::api::push;
use crate::passkeys::algorithm_name;

const NAME: usize = 200;

fn shown(text: &str) -> String {
    show_within(text, NAME).text.into_owned()
}

/// The page.
pub async fn page(State(api): House, headers: HeaderMap, uri: Uri) -> Shown {
    let who = visitor(&api, &headers, &uri)?;
    let now = api.gate.clock().now().at;
    let passkeys = api.book.passkeys(&who.person);
    let browsers = push::own(&api, &who.person).await;
    let browsers = browsers.map_err(|problem| frame::sorry(&problem, Some(&who)))?;
    let here = api.people_names.passkey_origin(&headers);
    let named = api.people_names.named_origin().unwrap_or_default();
    let body = html! {
        section.wide.devices {
            h1 { "Your devices" }
            h2 { "Passkeys" }
            p.hint {
                "A passkey is your finger, your face or a PIN on a device of yours. Once you have "
                "one, you approve CRITICAL calls and confirm changes with it: it signs exactly "
                "what you see, and a stolen session is not enough."
            }
            @if passkeys.is_empty() { p { "You have none." } }
            ul.list { @for passkey in &passkeys { (passkey_line(passkey, now)) } }
            @if here.is_some() { (add_passkey(passkeys.is_empty())) } @else {
                p.notice {
                    "Browsers use passkeys only under a name, and this page was opened by an "
                    "address of numbers. Open it here instead: "
                    a href={ (named) "/devices" } { (named) "/devices" }
                }
            }
            h2 { "Notifications" }
            p.hint {
                "This browser can notify you when something waits, even when the page is closed. "
                "What is sent is sealed for it: nobody in between reads it."
            }
            ul.list { @for (name, browser) in &browsers { (browser_line(name, browser, now)) } }
            form #add-browser data-key=(push::key(&api)) {
                p.wrong role="alert" {}
                button.main type="submit" { "Notify me in this browser" }
            }
        }
    };
    Ok(frame::page("Devices", frame::Place::Devices, Some(&who), &body))
}

fn passkey_line(passkey: &Passkey, now: Timestamp) -> Markup {
    let id = base64::encode_url(&passkey.credential);
    html! {
        li {
            div {
                strong { (shown(&passkey.name)) }
                p.hint {
                    (algorithm_name(passkey.algorithm)) ", added " (apart(passkey.added, now))
                    @match passkey.used {
                        Some(at) => { ", last used " (apart(at, now)) }
                        None => ", not used yet",
                    }
                    @if passkey.active_from > now {
                        ", can sign " (apart(passkey.active_from, now))
                    }
                }
            }
            details.add {
                summary { "Remove" }
                form.api data-method="POST" data-path={ "/v1/passkeys/" (id) "/remove" } {
                    p.wrong role="alert" {}
                    button type="submit" { "Remove it" }
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
                    "What you call it"
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
                p.hint { "notified, added " (apart(browser.added, now)) }
            }
            button type="button" data-method="DELETE" data-path={ "/v1/push/" (name) }
                data-question="This browser shows no notifications any more. Stop them?" { "Stop" }
        }
    }
}
