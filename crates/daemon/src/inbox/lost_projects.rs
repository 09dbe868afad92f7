//! The notice about projects whose adopted policy rules are lost.

use maud::{Markup, html};

use super::controls;
use crate::api::Api;

/// What people must know about them.
pub fn notice(api: &Api) -> Markup {
    html! {
        @for folder in api.gate.lost_projects() {
            p.alarm role="alert" {
                "The adopted policy rules of " code { (controls::shown(&folder)) }
                " are lost, because policy.adopted was deleted or replaced. Every call there is a "
                "question until an administrator runs " code { "countersign policy adopt" } " or "
                code { "countersign policy revoke" } " for this folder."
            }
        }
    }
}
