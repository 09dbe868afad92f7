//! The button that freezes everything, and the banner while something is frozen.

use maud::{Markup, html};

use crate::freeze::{Freeze, FreezeStage};

/// The button in the header of every page. One tap is enough: it only stops calls.
pub fn button(freeze: Option<&Freeze>) -> Markup {
    html! {
        @if freeze.is_none_or(|freeze| freeze.stage != FreezeStage::Frozen) {
            form.api.freeze data-method="POST" data-path="/v1/freeze" data-open="yes" {
                button.deny type="submit"
                    title="Deny all pending requests and refuse every call" { "Freeze" }
                span.wrong role="alert" {}
            }
        }
    }
}

/// What is frozen, by whom, and how to end it; nothing if nothing is.
pub fn banner(freeze: Option<&Freeze>) -> Markup {
    let Some(freeze) = freeze else { return html! {} };
    let (text, resume, label) = match freeze.stage {
        FreezeStage::Frozen => (
            format!("Frozen by {}. Every call is refused.", freeze.by),
            "people",
            "Thaw: let people decide",
        ),
        FreezeStage::GrantsSuspended => (
            format!(
                "Frozen by {} before. People decide again; grants and earlier permits are \
                 suspended.",
                freeze.by
            ),
            "grants",
            "Resume grants",
        ),
    };
    html! {
        form.api.frozen role="status" data-method="POST" data-path="/v1/thaw" {
            strong { (text) }
            input type="hidden" name="resume" value=(resume);
            button type="submit" { (label) }
            span.wrong role="alert" {}
        }
    }
}
