//! The layout of every page, and its security headers.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use maud::{DOCTYPE, Markup, html};

use super::assets;
use super::freeze;
use super::page::{PageError, SignedIn};
use crate::api::ApiProblem;

/// Nothing from other origins, nothing inline, no framing, no forms to other origins.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types countersign";

/// The entry of a page in the menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MenuItem {
    /// Pending requests.
    Pending,
    /// All requests.
    History,
    /// The ledger.
    Ledger,
    /// Grants.
    Grants,
    /// MCP servers.
    Servers,
    /// Agents.
    Agents,
    /// People.
    People,
    /// Own passkeys and browsers.
    Devices,
    /// Channels.
    Channels,
    /// Sessions in a crisis.
    Crises,
    /// Calls that ran first.
    Reviews,
    /// Sessions of agents.
    Sessions,
    /// Rules, attention and calibration.
    Settings,
    /// None of these.
    Elsewhere,
}

type MenuEntry = (MenuItem, &'static str, &'static str);

/// What people look at every day.
const MENU: [MenuEntry; 6] = [
    (MenuItem::Pending, "/", "Inbox"),
    (MenuItem::History, "/history", "Activity"),
    (MenuItem::Sessions, "/sessions", "Sessions"),
    (MenuItem::Grants, "/grants", "Grants"),
    (MenuItem::Crises, "/crises", "Crises"),
    (MenuItem::Ledger, "/ledger", "Ledger"),
];

/// What is set up once, behind `Manage`.
const MANAGE: [MenuEntry; 7] = [
    (MenuItem::Reviews, "/reviews", "Reviews"),
    (MenuItem::Agents, "/agents", "Agents"),
    (MenuItem::Servers, "/servers", "MCP servers"),
    (MenuItem::People, "/people", "People"),
    (MenuItem::Devices, "/devices", "Devices"),
    (MenuItem::Channels, "/channels", "Channels"),
    (MenuItem::Settings, "/settings", "Settings"),
];

/// The links to all pages.
fn menu(place: MenuItem) -> Markup {
    let link = |(of, address, name): &MenuEntry| {
        html! { a href=(address) aria-current=[(*of == place).then_some("page")] { (name) } }
    };
    let open = MANAGE.iter().find(|(of, ..)| *of == place);
    html! {
        nav aria-label="Pages" {
            div.links { @for entry in &MENU { (link(entry)) } }
            details.manage {
                summary data-here=[open.map(|_| "")] {
                    (open.map_or("Manage", |(_, _, name)| name))
                }
                div { @for entry in &MANAGE { (link(entry)) } }
            }
        }
    }
}

/// A whole page.
pub fn page(title: &str, place: MenuItem, identity: Option<&SignedIn>, body: &Markup) -> Response {
    let text = html! {
        (DOCTYPE)
        html lang="en" {
            (head(title))
            body {
                a.skip href="#main" { "Skip to content" }
                header.top {
                    a.name href="/" { "Countersign" }
                    @if let Some(identity) = identity {
                        (menu(place))
                        (freeze::button(identity.freeze.as_ref()))
                        span.live #live role="status" { "" }
                        @let title = format!("Signed in as {}", identity.person);
                        button.quiet #leave type="button" title=(title) { "Sign out" }
                    }
                }
                (freeze::banner(identity.and_then(|identity| identity.freeze.as_ref())))
                main #main { (body) }
            }
        }
    };
    html_response(text.into_string())
}

/// The head of a page: style sheets, icons and scripts.
fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport"
                content="width=device-width, initial-scale=1, viewport-fit=cover";
            meta name="color-scheme" content="light dark";
            noscript {
                // A form that the browser sends by itself needs a referrer for the Origin
                // check.
                meta name="referrer" content="same-origin";
                link rel="stylesheet" href=(assets::address("plain.css"));
            }
            title { (title) " · Countersign" }
            link rel="stylesheet" href=(assets::address("inbox.css"));
            link rel="stylesheet" href=(assets::address("pages.css"));
            link rel="icon" href=(assets::address("icon.svg")) type="image/svg+xml";
            link rel="manifest" href="/manifest.webmanifest";
            link rel="apple-touch-icon" href="/icon-192.png";
            meta name="theme-color" content="#101418";
            script src=(assets::address("inbox.js")) defer {}
            script src=(assets::address("pending.js")) defer {}
            script src=(assets::address("answer.js")) defer {}
            script src=(assets::address("pages.js")) defer {}
            script src=(assets::address("passkey.js")) defer {}
            script src=(assets::address("push.js")) defer {}
        }
    }
}

/// A fragment of a page, for the script.
pub fn part(body: Markup) -> Response {
    html_response(body.into_string())
}

/// An error page.
pub fn error_page(problem: &ApiProblem, identity: Option<&SignedIn>) -> PageError {
    let body = html! {
        section.narrow {
            h1 { (problem.title) }
            p { (problem.detail) }
            p { a href="/" { "Back to the inbox" } }
        }
    };
    let mut response = page(problem.title, MenuItem::Elsewhere, identity, &body);
    *response.status_mut() =
        StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
    response.into()
}

fn html_response(text: String) -> Response {
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    let policy = HeaderValue::from_static(POLICY);
    let opener = HeaderValue::from_static("same-origin");
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::HeaderName::from_static("cross-origin-opener-policy"), opener),
    ];
    (StatusCode::OK, headers, text).into_response()
}
