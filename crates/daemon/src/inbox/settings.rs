//! The rules in force, in plain words, each with the name of the field that changes it.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use countersign_risk::verdict::Mode;
use countersign_text::humanize::{length, thousands};
use countersign_text::sanitize::show_within;
use countersign_types::tier::Tier;
use countersign_types::time::{Clock as _, Span, Timestamp};
use countersign_workflow::assurance::Assurance;
use countersign_workflow::request::Profile;
use maud::{Markup, html};

use super::layout;
use super::page::{ApiState, PageResult, signed_in_page};
use crate::config::DaemonRules;

const TABS: [(&str, &str); 3] =
    [("/settings", "Rules in force"), ("/attention", "Attention"), ("/calibration", "Calibration")];

/// The pages that belong together.
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
    let who = signed_in_page(&api, &headers, &uri)?;
    let rules = api.gate.rules();
    let now = api.gate.clock().now().at;
    let body = html! {
        section.wide {
            h1 { "Settings" }
            (tabs("/settings"))
            p.hint {
                "They stand in countersign.toml and are changed there, not here: whoever gets hold "
                "of a browser cannot loosen them. After a change, "
                code { "kill -HUP" } " makes the daemon read it again."
            }
            (part("What is asked about", &asked(&rules)))
            (part("How long it waits", &times(&rules)))
            (part("Who is told, right now", &told(&rules, now)))
            (part("Who may say yes", &yes(&rules)))
            (part("Against floods", &floods(&rules)))
            p.hint { "The hash of all of this, in every ledger entry: " code { (rules.hash) } }
        }
    };
    Ok(layout::page("Settings", layout::MenuItem::Settings, Some(&who), &body))
}

/// What holds, and the field that changes it.
type Rule = (String, &'static str);

fn part(title: &str, rules: &[Rule]) -> Markup {
    html! {
        h2.part { (title) }
        ul.rules {
            @for (words, field) in rules { li { span { (words) } code { (field) } } }
        }
    }
}

fn span(span: Span) -> String {
    length(span.0 / 1000)
}

fn asked(rules: &DaemonRules) -> Vec<Rule> {
    let mode = match rules.mode {
        Mode::Enforce => "Risky calls wait for a person.",
        Mode::CrisisOnly => {
            "Only the crisis rules hold; everything else passes and is written down."
        }
        Mode::Observe => "Nothing is held up; what would have been asked is written down.",
    };
    let sure = rules.judgement.low_confidence;
    let place = format!("{:?}", rules.environment).to_lowercase();
    vec![
        (mode.to_owned(), "mode"),
        (
            format!("A LOW call passes when the judgement is at least {sure} % sure of it."),
            "judgement.low_confidence",
        ),
        (format!("Where agents run, unless they say worse: {place}."), "judgement.environment"),
    ]
}

fn times(rules: &DaemonRules) -> Vec<Rule> {
    let times = &rules.times;
    let profile = match times.profile {
        Profile::Standard => {
            "More and more people are asked until the deadline; then it is denied."
        }
        Profile::Strict => "What is not answered at once is denied.",
    };
    let climb = |tier: &str, time| format!("{tier}: the next rung is asked after {}.", span(time));
    vec![
        (profile.to_owned(), "times.profile"),
        (
            format!("A call waits {} where the agent says nothing.", span(times.usual)),
            "times.usual_seconds",
        ),
        (format!("It waits at most {}.", span(times.longest)), "times.longest_seconds"),
        (climb("MEDIUM", times.medium), "times.medium_climb_seconds"),
        (climb("HIGH", times.high), "times.high_climb_seconds"),
        (climb("CRITICAL", times.critical), "times.critical_climb_seconds"),
    ]
}

fn told(rules: &DaemonRules, now: Timestamp) -> Vec<Rule> {
    let ladder = |name: &str, tier, crisis| {
        let rungs = rules.oncall.ladder(&rules.ladder, tier, crisis, now);
        let rungs = rungs.into_iter().filter(|rung| !rung.is_empty());
        let rungs: Vec<String> = rungs.map(|rung| rung.join(" and ")).collect();
        let rungs = if rungs.is_empty() { "nobody".to_owned() } else { rungs.join(", then ") };
        format!("{name}: {}.", show_within(&rungs, 300).text)
    };
    let quiet = match rules.oncall.describe_quiet_hours() {
        None => "There are no quiet hours.".to_owned(),
        Some(words) => {
            let state = if rules.oncall.is_quiet_hour(now) { "It is quiet now" } else { "Not now" };
            format!("Nobody is disturbed for MEDIUM from {words}. {state}.")
        }
    };
    let pause = rules.oncall.at_keyboard;
    let pause = if pause.0 == 0 {
        "Phones ring at once, even while somebody is at the inbox.".to_owned()
    } else {
        format!("While somebody is at the inbox, phones wait {} for them.", span(pause))
    };
    vec![
        (ladder("MEDIUM", Tier::Medium, false), "ladder, ladder.medium"),
        (ladder("HIGH", Tier::High, false), "ladder, ladder.high"),
        (ladder("CRITICAL", Tier::Critical, false), "ladder, ladder.critical"),
        (ladder("In a crisis", Tier::Medium, true), "ladder, ladder.crisis"),
        (quiet, "quiet"),
        (pause, "ladder.at_keyboard_seconds"),
    ]
}

fn yes(rules: &DaemonRules) -> Vec<Rule> {
    let way = |tier, crisis| match rules.needs.of(tier, crisis, false) {
        Assurance::Reached => "whoever was reached",
        Assurance::Linked => "from a linked account, or logged in",
        Assurance::Login => "logged in here",
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
        1 => "One no ends it, from everybody who is known.".to_owned(),
        many => format!("{many} people who say no end it."),
    };
    vec![
        (line("MEDIUM", Tier::Medium, false), "quorum.medium, assurance.medium"),
        (line("HIGH", Tier::High, false), "quorum.high, assurance.high"),
        (
            line("CRITICAL", Tier::Critical, false) + " Who has a passkey signs with it.",
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
            format!("An agent may have {} questions open.", thousands(flood.open_per_agent.into())),
            "flood.open_per_agent",
        ),
        (
            format!("It may ask {} in a minute.", thousands(flood.asks_per_minute.into())),
            "flood.asks_per_minute",
        ),
        (
            format!("All agents may ask {} in an hour.", thousands(flood.asks_per_hour.into())),
            "flood.asks_per_hour",
        ),
        (
            format!(
                "After {} denials within {} an agent may ask nothing for {}.",
                thousands(flood.denials.into()),
                span(flood.within),
                span(flood.quarantine)
            ),
            "flood.denials, flood.within_minutes, flood.quarantine_minutes",
        ),
    ]
}
