//! The sign-in page.

use axum::extract::Query;
use axum::response::Response;
use maud::html;
use serde::Deserialize;

use super::{layout, no_script};

#[derive(Deserialize)]
pub struct LoginQuery {
    next: Option<String>,
}

/// The page. It only redirects to a path of this host afterwards.
pub async fn page(Query(asked): Query<LoginQuery>) -> Response {
    let next = asked.next.filter(|next| is_local_path(next)).unwrap_or_else(|| "/".to_owned());
    let body = html! {
        section.narrow {
            h1 { "Sign in" }
            // Without JavaScript the passphrase must not end up in a URL, so the method is POST.
            form #login method="post" data-next=(next) {
                label { "Name"
                    input name="name" value="owner" autocomplete="username" required;
                }
                label { "Passphrase"
                    input name="passphrase" type="password" autocomplete="current-password"
                        required autofocus;
                }
                p.wrong role="alert" {}
                button.main type="submit" { "Sign in" }
            }
            p.hint { "The passphrase was shown once, at the first start of Countersign." }
            details.add {
                summary { "Use a recovery code" }
                form.api data-method="POST" data-path="/v1/recover" data-once="passphrase"
                    data-open="yes" {
                    p.hint {
                        "An administrator can have a code sent to your linked chat account, or a "
                        "user of the daemon's machine creates one with "
                        code { "countersign people recover NAME" }
                        ". It gives you a new passphrase and ends your sessions."
                    }
                    label { "Name" input name="name" autocomplete="username" required; }
                    label { "Code" input name="code" autocomplete="off" required; }
                    p.wrong role="alert" {}
                    button type="submit" { "Get a new passphrase" }
                }
            }
            noscript {
                @if let Some(id) = no_script::named(&next) { (no_script::form(id)) }
                p {
                    "Signing in needs JavaScript: every answer is signed by a key that only this "
                    "browser has. The terminal works without it: countersign pending"
                }
            }
        }
    };
    layout::page("Sign in", layout::MenuItem::Elsewhere, None, &body)
}

/// A path on this host: one slash, no host after it.
fn is_local_path(next: &str) -> bool {
    next.starts_with('/') && !next.starts_with("//") && !next.contains(['\\', '\r', '\n'])
}

#[cfg(test)]
mod tests {
    use super::is_local_path;

    #[test]
    fn redirects_stay_on_this_host() {
        assert!(is_local_path("/") && is_local_path("/requests/01m7?x=1"));
        for next in ["//evil.example", "https://evil.example", "/\\evil.example", "", "x"] {
            assert!(!is_local_path(next), "{next}");
        }
    }
}
