//! The current rules in plain words, each with the field that changes it.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_risk::verdict::Mode;
use countersign_text::humanize::{duration, thousands};
use countersign_text::sanitize::sanitize_within;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Millis, Timestamp};
use countersign_workflow::assurance::Assurance;
use countersign_workflow::request::Profile;
use maud::{Markup, html};

use super::layout;
use super::page::{ApiState, PageResult, signed_in_page};
use crate::config::DaemonRules;

const TABS: [(&str, &str); 3] =
    [("/settings", "Current rules"), ("/attention", "Attention"), ("/calibration", "Calibration")];

/// The tabs of the settings pages.
pub fn tabs(current: &str) -> Markup {
    html! {
        nav.tabs aria-label="Settings" {
            @for (address, name) in TABS {
                a href=(address) aria-current=[(address == current).then_some("page")] { (name) }
            }
        }
    }
}

/// The page.
pub async fn page(State(api): ApiState, headers: HeaderMap, uri: Uri) -> PageResult {
    let identity = signed_in_page(&api, &headers, &uri)?;
    let rules = api.gate.rules();
    let now = api.gate.clock().now().at;
    let body = html! {
        section.wide {
            h1 { "Settings" }
            (tabs("/settings"))
            p.hint {
                "The rules are in countersign.toml and can only be changed there, so that someone "
                "with access to a browser cannot loosen them. After a change, "
                code { "kill -HUP" } " makes the daemon read the file again. Changes that let more "
                "calls run without a person wait until an administrator confirms them."
            }
            (part("When a person is asked", &asked(&rules)))
            (part("Deadlines", &times(&rules)))
            (part("Who is notified now", &told(&rules, now)))
            (part("Who can approve", &yes(&rules)))
            (part("Rate limits", &floods(&rules)))
            p.hint { "The hash of these rules, in every ledger entry: " code { (rules.hash) } }
        }
    };
    Ok(layout::page("Settings", layout::MenuItem::Settings, Some(&identity), &body))
}

/// A rule, and the field that changes it.
type Rule = (String, &'static str);

fn part(title: &str, rules: &[Rule]) -> Markup {
    html! {
        h2.part { (title) }
        ul.rules {
            @for (words, field) in rules { li { span { (words) } code { (field) } } }
        }
    }
}

fn span(span: Millis) -> String {
    duration(span.0 / 1000)
}

fn asked(rules: &DaemonRules) -> Vec<Rule> {
    let mode = match rules.mode {
        Mode::Enforce => "Risky calls wait for a person.",
        Mode::CrisisOnly => "Only the crisis rules apply; all other calls pass and are recorded.",
        Mode::Observe => "No call waits; calls that would have been asked about are recorded.",
    };
    let sure = rules.assessment.low_confidence;
    let place = format!("{:?}", rules.environment).to_lowercase();
    vec![
        (mode.to_owned(), "mode"),
        (
            format!("A LOW call passes if the confidence of its assessment is at least {sure} %."),
            "assessment.low_confidence",
        ),
        (
            format!("Agents run in this environment unless they report production: {place}."),
            "assessment.environment",
        ),
    ]
}

fn times(rules: &DaemonRules) -> Vec<Rule> {
    let times = &rules.times;
    let profile = match times.profile {
        Profile::Standard => "Requests escalate until the deadline and are then denied.",
        Profile::Strict => "Requests do not escalate; they are denied at the first step.",
    };
    let escalates = |tier: &str, time| format!("{tier}: escalates after {}.", span(time));
    vec![
        (profile.to_owned(), "times.profile"),
        (
            format!("A request is pending for {} by default.", span(times.default_timeout)),
            "times.usual_seconds",
        ),
        (
            format!("A request is pending for at most {}.", span(times.max_timeout)),
            "times.longest_seconds",
        ),
        (escalates("MEDIUM", times.medium), "times.medium_escalation_seconds"),
        (escalates("HIGH", times.high), "times.high_escalation_seconds"),
        (escalates("CRITICAL", times.critical), "times.critical_escalation_seconds"),
    ]
}

fn told(rules: &DaemonRules, now: Timestamp) -> Vec<Rule> {
    let levels = |name: &str, tier, crisis| {
        let levels = rules.oncall.levels_at(&rules.escalation, tier, crisis, now);
        let levels = levels.into_iter().filter(|level| !level.is_empty());
        let levels: Vec<String> = levels.map(|level| level.join(" and ")).collect();
        let levels =
            if levels.is_empty() { "no channel".to_owned() } else { levels.join(", then ") };
        format!("{name}: {}.", sanitize_within(&levels, 300).text)
    };
    let quiet = match rules.oncall.describe_quiet_hours() {
        None => "There are no quiet hours.".to_owned(),
        Some(words) => {
            let state = if rules.oncall.is_quiet_hour(now) { "Quiet now" } else { "Not quiet now" };
            format!("No notifications for MEDIUM from {words}. {state}.")
        }
    };
    let pause = rules.oncall.at_keyboard;
    let pause = if pause.0 == 0 {
        "Phones are notified at once, even while someone is at the inbox.".to_owned()
    } else {
        format!("While someone is at the inbox, phones are notified {} later.", span(pause))
    };
    vec![
        (levels("MEDIUM", Tier::Medium, false), "escalation, escalation.medium"),
        (levels("HIGH", Tier::High, false), "escalation, escalation.high"),
        (levels("CRITICAL", Tier::Critical, false), "escalation, escalation.critical"),
        (levels("In a crisis", Tier::Medium, true), "escalation, escalation.crisis"),
        (quiet, "quiet"),
        (pause, "escalation.at_keyboard_seconds"),
    ]
}

fn yes(rules: &DaemonRules) -> Vec<Rule> {
    let way = |tier, crisis| match rules.needs.of(tier, crisis, false) {
        Assurance::Reached => "anyone who was notified",
        Assurance::Linked => "from a linked account or signed in",
        Assurance::Login => "signed in",
        Assurance::Passkey => "signed with a passkey",
    };
    let people = |tier, crisis| match rules.quorum.of(tier, crisis).approve {
        1 => "one person".to_owned(),
        many => format!("{many} different people"),
    };
    let line = |name: &str, tier, crisis| {
        format!("{name}: {}, {}.", people(tier, crisis), way(tier, crisis))
    };
    let deny = match rules.quorum.deny {
        1 => "One denial ends a request.".to_owned(),
        many => format!("{many} denials end a request."),
    };
    vec![
        (line("MEDIUM", Tier::Medium, false), "quorum.medium, assurance.medium"),
        (line("HIGH", Tier::High, false), "quorum.high, assurance.high"),
        (
            line("CRITICAL", Tier::Critical, false) + " A person with a passkey signs with it.",
            "quorum.critical, assurance.critical",
        ),
        (line("In a crisis", Tier::Medium, true), "quorum.crisis"),
        (deny, "quorum.deny"),
        (
            format!("An approval can be used for {}, once.", span(rules.permit_for)),
            "permits.seconds",
        ),
    ]
}

fn floods(rules: &DaemonRules) -> Vec<Rule> {
    let flood = &rules.flood;
    vec![
        (
            format!(
                "An agent can have {} pending requests.",
                thousands(flood.open_per_agent.into())
            ),
            "flood.open_per_agent",
        ),
        (
            format!("An agent can ask {} times a minute.", thousands(flood.asks_per_minute.into())),
            "flood.asks_per_minute",
        ),
        (
            format!(
                "All agents together can ask {} times an hour.",
                thousands(flood.asks_per_hour.into())
            ),
            "flood.asks_per_hour",
        ),
        (
            format!(
                "Calls that pass or are refused can fill {} MiB of the disk an hour.",
                thousands(flood.disk_per_hour >> 20)
            ),
            "flood.disk_mib_per_hour",
        ),
        (
            format!(
                "After {} denials within {} an agent is quarantined for {}.",
                thousands(flood.denials.into()),
                span(flood.within),
                span(flood.quarantine)
            ),
            "flood.denials, flood.within_minutes, flood.quarantine_minutes",
        ),
    ]
}
