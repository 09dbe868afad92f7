//! On the page about attention: drills, what they are, and how many were caught.

use countersign_store::StoredRequest;
use countersign_text::sanitize::show_within;
use countersign_types::time::Timestamp;
use maud::{Markup, html};

use super::words::{self, apart};
use crate::config::Drills;
use crate::drills::caught;

/// So many are listed.
const LISTED: usize = 10;
/// What turns them on.
const LINES: &str = "[drills]\nper_week = 1";

/// The section. `drills` have ended.
pub fn section(
    rules: &Drills,
    drills: &[StoredRequest],
    administrator: bool,
    now: Timestamp,
) -> Markup {
    html! {
        section.person #drills {
            h2.part { "Drills" }
            p {
                "A drill is a made-up risky call that looks like any other until it is answered. "
                "Then it says what it was, and what should have been noticed. Nothing runs, "
                "nothing is granted or learned from it, and the ledger says from the start that "
                "it is one."
            }
            p { (setting(rules)) }
            @if rules.per_week == 0 { pre.call { (LINES) } }
            @if !drills.is_empty() {
                p { strong { (counts(drills)) } }
                ul.list { @for one in drills.iter().take(LISTED) { (line(one, now)) } }
            }
            @if administrator {
                button type="button" data-method="POST" data-path="/v1/drills" data-open="yes"
                    data-question="One made-up call comes to the inbox and to the first channels, \
                                   at once. Whoever answers is told that it was one." {
                    "Send one now"
                }
            }
        }
    }
}

fn setting(rules: &Drills) -> Markup {
    html! {
        @match rules.per_week {
            0 => "They are off. These lines in countersign.toml turn them on, after a SIGHUP:",
            1 => { "At most one comes in seven days, " (when(rules)) }
            many => { "At most " (many) " come in seven days, " (when(rules)) }
        }
    }
}

fn when(rules: &Drills) -> String {
    format!(
        "at a time nobody can foresee: while somebody sits at the inbox, or {}; never in quiet \
         hours, in a crisis, or while something HIGH or CRITICAL waits.",
        rules.hours.words()
    )
}

/// "Caught 3 of 4 in thirty days; 1 was not answered."
fn counts(drills: &[StoredRequest]) -> String {
    let answered = drills.iter().filter_map(caught);
    let (yes, all) = answered.fold((0, 0), |(yes, all), one| (yes + u32::from(one), all + 1));
    let left = drills.len().saturating_sub(usize::try_from(all).unwrap_or(usize::MAX));
    let rest = match left {
        0 => String::new(),
        1 => "; 1 was not answered".to_owned(),
        many => format!("; {many} were not answered"),
    };
    format!("Caught {yes} of {all} in thirty days{rest}.")
}

fn line(stored: &StoredRequest, now: Timestamp) -> Markup {
    let request = &stored.request;
    html! {
        li {
            div {
                a href={ "/requests/" (request.id) } { (show_within(&stored.brief, 160).text) }
                p.hint {
                    (request.tier.label()) ", " (apart(request.plan.created, now))
                    @for vote in &request.votes { ", " (show_within(&vote.person, 60).text) }
                }
            }
            span.end.(request.state.label()) {
                @match caught(stored) {
                    Some(true) => "caught",
                    Some(false) => "approved",
                    None => (words::state(request.state)),
                }
            }
        }
    }
}
