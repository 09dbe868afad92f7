//! The section about drills: what they are, and how many were caught.

use countersign_store::StoredRequest;
use countersign_text::sanitize::sanitize_within;
use countersign_types::time::Timestamp;
use maud::{Markup, html};

use super::labels::{self, relative_time};
use crate::config::DrillsConfig;
use crate::drills::caught;

/// The most drills that are listed.
const LISTED: usize = 10;
/// The configuration that turns them on.
const LINES: &str = "[drills]\nper_week = 1";

/// The section. All `drills` have ended.
pub fn section(
    rules: &DrillsConfig,
    drills: &[StoredRequest],
    administrator: bool,
    now: Timestamp,
) -> Markup {
    html! {
        section.person #drills {
            h2.part { "Drills" }
            p {
                "A drill is a made-up risky call that looks like any other until it is answered. "
                "Then it says that it was a drill, and what should have been noticed. Nothing "
                "runs, nothing is granted or learned from it, and the ledger marks it from the "
                "start."
            }
            p { (setting(rules)) }
            @if rules.per_week == 0 { pre.call { (LINES) } }
            @if !drills.is_empty() {
                p { strong { (counts(drills)) } }
                ul.list { @for one in drills.iter().take(LISTED) { (line(one, now)) } }
            }
            @if administrator {
                button type="button" data-method="POST" data-path="/v1/drills" data-open="yes"
                    data-question="Sends one made-up call to the inbox and to the first channels \
                                   now. The person who answers is told that it was a drill." {
                    "Send a drill now"
                }
            }
        }
    }
}

fn setting(rules: &DrillsConfig) -> Markup {
    html! {
        @match rules.per_week {
            0 => "Drills are off. These lines in countersign.toml turn them on, after a SIGHUP:",
            1 => { "At most one drill in seven days, " (when(rules)) }
            many => { "At most " (many) " drills in seven days, " (when(rules)) }
        }
    }
}

fn when(rules: &DrillsConfig) -> String {
    format!(
        "at a random time: while someone is at the inbox, or {}; never in quiet hours, in a \
         crisis, or while a HIGH or CRITICAL request is pending.",
        rules.hours.describe()
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
                a href={ "/requests/" (request.id) } { (sanitize_within(&stored.brief, 160).text) }
                p.hint {
                    (request.tier.label()) ", " (relative_time(request.schedule.created, now))
                    @for vote in &request.votes { ", " (sanitize_within(&vote.person, 60).text) }
                }
            }
            span.end.(request.state.label()) {
                @match caught(stored) {
                    Some(true) => "caught",
                    Some(false) => "approved",
                    None => (labels::state_label(request.state)),
                }
            }
        }
    }
}
