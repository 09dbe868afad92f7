//! People: who may answer, and a way to add and to revoke them.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_store::{Role, Store as _, StoreError, StoredPerson};
use countersign_types::time::{Clock as _, Timestamp};
use maud::{Markup, html};

use super::controls::{action_button, is_administrator, only_administrators, shown};
use super::labels::{percent_encode, relative_time};
use super::layout;
use super::page::{ApiState, PageResult, signed_in_page};

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let failed = |error: StoreError| layout::error_page(&error.into(), Some(&identity));
    let all = api.gate.store().people().await.map_err(failed)?;
    let now = api.gate.clock().now().at;
    let body = html! {
        section.wide {
            h1 { "People" }
            @if is_administrator(&identity) {
                ul.list {
                    @for person in all.iter().filter(|person| person.revoked.is_none()) {
                        (person_line(person, person.name == identity.person, now))
                    }
                }
                details.add {
                    summary { "Add a person" }
                    form.api data-method="POST" data-path="/v1/people" data-once="passphrase" {
                        label { "Name" input name="name" required maxlength="64"; }
                        label { "May" select name="role" {
                            option value="approver" { "answer requests" }
                            option value="administrator" {
                                "answer, and change people, agents and grants"
                            }
                        } }
                        p.wrong role="alert" {}
                        button.main type="submit" { "Add person" }
                    }
                }
            } @else { (only_administrators()) }
        }
    };
    Ok(layout::page("People", layout::MenuItem::People, Some(&identity), &body))
}

fn person_line(person: &StoredPerson, own: bool, now: Timestamp) -> Markup {
    let path = format!("/v1/people/{}", percent_encode(&person.name));
    let role = if person.role == Role::Administrator { "administrator" } else { "approver" };
    html! {
        li {
            div {
                strong { (shown(&person.name)) }
                p.hint {
                    (role) ", added " (relative_time(person.added, now))
                    @if person.active_from > now {
                        ", can approve " (relative_time(person.active_from, now))
                    }
                }
            }
            div.pair {
                @if own {
                    button type="button" data-method="POST" data-path={ (path) "/passphrase" }
                        data-once="passphrase"
                        data-question="Your other sessions end at once. Create a new passphrase?" {
                            "New passphrase"
                        }
                }
                @if !own {
                    @let send = "A one-time code goes to the linked account of this person. Send it?";
                    (action_button("Send a recovery code", "POST", &format!("{path}/recovery"), send))
                }
                @let question = "The person can no longer sign in or answer. Revoke them?";
                (action_button("Revoke", "DELETE", &path, question))
            }
        }
    }
}
