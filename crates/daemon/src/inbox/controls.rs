//! Buttons, names and hints that several pages of lists share.

use countersign_text::sanitize::show_within;
use maud::{Markup, html};

use crate::auth::PersonIdentity;

const NAME: usize = 200;

pub fn shown(text: &str) -> String {
    show_within(text, NAME).text.into_owned()
}

/// A button that calls the API, after a confirmation if there is a question.
pub fn act(label: &str, method: &str, path: &str, question: &str) -> Markup {
    html! {
        button type="button" data-method=(method) data-path=(path) data-question=(question) {
            (label)
        }
    }
}

pub fn may_change(who: &PersonIdentity) -> bool {
    who.administrator().is_ok()
}

pub fn only_administrators() -> Markup {
    html! { p.hint { "Only administrators can see and change this." } }
}
