//! An edited file cannot weaken what protects the gate, nor list grants: both wait for a person.

use std::path::Path;

use countersign_store::Store as _;
use countersign_types::tier::Tier;
use countersign_workflow::request::{Choice, Decider, State};
use serde_json::json;

use super::{MAIL, MESSAGE, decide, kept};
use crate::config::{DaemonConfig, DaemonRules, JudgeMode, Paths};
use crate::test_daemon::{ApiSide, TestDaemon};

const TO_EVE: &str =
    r#"{"tool":"send_message","arguments":{"to":"eve","text":"hi"},"session":"s1"}"#;

async fn reload(daemon: &TestDaemon, text: &str) {
    let place = daemon.state();
    let paths = Paths { config: place.join("c.toml"), state: place.clone(), runtime: place };
    let rules = DaemonConfig::read(text, &paths).unwrap().rules;
    daemon.gate.change_rules(rules).await.unwrap();
}

/// An administrator confirms what waits; returns what it was.
async fn confirm(daemon: &TestDaemon) -> Vec<String> {
    let requested = daemon.gate.requested_settings().unwrap();
    let body = json!({ "hash": requested.hash() });
    let owner = daemon.owner().await;
    let done = daemon.change(&owner, "POST /v1/config", Some(body)).await;
    assert_eq!(done.status, 200, "{}", done.body);
    assert!(daemon.gate.requested_settings().is_none());
    requested.changes
}

/// How many settings wait, as every client hears it.
async fn told(daemon: &TestDaemon) -> serde_json::Value {
    let ready = daemon.ask(ApiSide::Agents, "GET /ready", &[], None).await.body;
    ready["waiting_settings"].clone()
}

type Shown = fn(&DaemonRules) -> String;

/// A strict file, a weaker one, and the setting.
const CASES: [(&str, &str, Shown); 11] = [
    ("[quorum]\ncritical = 2\n", "", |rules| format!("{:?}", rules.quorum)),
    ("[quorum]\ncrisis = 3\n", "[quorum]\ncrisis = 2\n", |rules| format!("{:?}", rules.quorum)),
    ("", "[quorum]\ndeny = 3\n", |rules| format!("{:?}", rules.quorum)),
    ("[assurance]\nmedium = \"login\"\n", "", |rules| format!("{:?}", rules.needs)),
    ("", "[assurance]\nmedium = \"reached\"\n", |rules| format!("{:?}", rules.needs)),
    ("", "[people]\nwaiting_seconds = 0\n", |rules| format!("{:?}", rules.waiting_period)),
    ("", "[people]\nidle_seconds = 86400\n", |rules| format!("{:?}", rules.idle)),
    ("", "[listen]\nrespond_without_word = true\n", |rules| {
        format!("{:?}", rules.respond_without_word)
    }),
    ("[assessment]\nenvironment = \"production\"\n", "", |rules| {
        format!("{:?}", rules.environment)
    }),
    ("", "[assessment]\nlow_confidence = 0.1\n", |rules| format!("{:?}", rules.assessment)),
    ("", "[assessment]\napi_threshold = 3.9\n", |rules| format!("{:?}", rules.assessment)),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_weaker_safeguard_waits_and_a_stricter_one_does_not() {
    for (strict, weak, shown) in CASES {
        // The operator chooses those of a new installation.
        let daemon = TestDaemon::with("", strict).await;
        let before = shown(&daemon.gate.rules());
        reload(&daemon, weak).await;
        assert_eq!(shown(&daemon.gate.rules()), before, "{strict:?} to {weak:?}");
        let requested = daemon.gate.requested_settings().map(|requested| requested.changes);
        assert_eq!(requested.map_or(0, |changes| changes.len()), 1, "{strict:?} to {weak:?}");
        assert_eq!(told(&daemon).await, 1, "{strict:?} to {weak:?}");
        assert_eq!(confirm(&daemon).await.len(), 1);
        assert_eq!(told(&daemon).await, 0, "{weak:?} was confirmed");
        assert_ne!(shown(&daemon.gate.rules()), before, "{weak:?} was confirmed");
        reload(&daemon, strict).await;
        assert_eq!(shown(&daemon.gate.rules()), before, "{strict:?} counts at once");
        assert!(daemon.gate.requested_settings().is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_with_a_weaker_file_weakens_nothing() {
    let strict = "[quorum]\ncritical = 3\nhigh = 2\n[people]\nwaiting_seconds = 7200\n";
    let daemon = TestDaemon::with("", strict).await;
    let shown = |daemon: &TestDaemon| {
        let rules = daemon.gate.rules();
        (rules.quorum.critical, rules.quorum.high, rules.waiting_period.0)
    };
    // One setting of the file is stricter than before and counts.
    let daemon = daemon.restart("[quorum]\ncritical = 1\nhigh = 4\n", |_| {}).await;
    assert_eq!(shown(&daemon), (3, 4, 7_200_000));
    let gone = |state: &Path| {
        let _ = std::fs::remove_file(state.join("settings.json"));
    };
    let daemon = daemon.restart("", gone).await;
    assert_eq!(shown(&daemon), (3, 4, 7_200_000));
    assert_eq!(confirm(&daemon).await.len(), 3);
    assert_eq!(shown(&daemon), (1, 1, 3_600_000));
    let daemon = daemon.restart("", |_| {}).await;
    assert_eq!(shown(&daemon), (1, 1, 3_600_000), "a confirmation lasts");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_edited_whitelist_adds_waits_for_a_person() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.json");
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    write(r#"{"send_message":{"targets":["bo"]}}"#);
    let section = format!("[whitelist]\nfile = \"{}\"\n", file.display());
    let daemon = TestDaemon::with("", &section).await;
    let passes = async |daemon: &TestDaemon| {
        let mut passes = Vec::new();
        for call in [MESSAGE, TO_EVE, MAIL] {
            passes.push(kept(&daemon.gate, call).await.request.state == State::Approved);
        }
        passes
    };
    assert_eq!(passes(&daemon).await, [true, false, false]);
    let wider = r#"{"send_message":{"targets":["bo","eve"]},"send_email":{"self_only":true}}"#;
    write(wider);
    reload(&daemon, &section).await;
    assert_eq!(passes(&daemon).await, [true, false, false], "an edited file");
    let daemon = daemon.restart(&section, |_| {}).await;
    assert_eq!(passes(&daemon).await, [true, false, false], "a restart with it");
    let changes = confirm(&daemon).await;
    assert!(changes.iter().any(|text| text.contains("send_message for eve")), "{changes:?}");
    assert_eq!(changes.len(), 2, "{changes:?}");
    let daemon = daemon.restart(&section, |_| {}).await;
    assert_eq!(passes(&daemon).await, [true, true, true], "confirmed");
    // A shorter list counts at once, and so does no list; the way back waits.
    write(r#"{"send_message":{"targets":["eve"]}}"#);
    reload(&daemon, &section).await;
    assert_eq!(passes(&daemon).await, [false, true, false]);
    reload(&daemon, "").await;
    assert_eq!(passes(&daemon).await, [false, false, false], "the default would be new here");
    write(wider);
    reload(&daemon, &section).await;
    assert_eq!(passes(&daemon).await, [false, false, false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_releases_calls_only_after_a_confirmation() {
    let judge = |mode: &str, model: &str, more: &str| {
        format!(
            "[judge]\nmode = \"{mode}\"\nendpoint = \"http://127.0.0.1:9/v1\"\n\
             model = \"{model}\"\nallow_private = true\n{more}"
        )
    };
    let daemon = TestDaemon::with("", &judge("shadow", "m", "")).await;
    let mode = |daemon: &TestDaemon| daemon.gate.rules().judge.as_ref().unwrap().mode;
    for text in [judge("release", "m", ""), judge("release", "other", "sample_percent = 1\n")] {
        reload(&daemon, &text).await;
        assert_eq!(mode(&daemon), JudgeMode::Shadow, "{text}");
    }
    reload(&daemon, &judge("release", "m", "")).await;
    confirm(&daemon).await;
    assert_eq!(mode(&daemon), JudgeMode::Release);
    // A lower bar waits, and the one before holds.
    let low = judge("release", "m", "release_after = 20\nsample_percent = 1\n");
    reload(&daemon, &low).await;
    let bar = daemon.gate.rules().judge.as_ref().map(|judge| judge.bar.decisions).unwrap();
    assert_eq!((mode(&daemon), bar), (JudgeMode::Release, 100));
    // Another model releases nothing until then.
    for text in [judge("release", "other", ""), judge("release", "m", "policy = \"all is fine\"\n")]
    {
        reload(&daemon, &text).await;
        assert_eq!(mode(&daemon), JudgeMode::Shadow, "{text}");
        let daemon_again = daemon.gate.requested_settings();
        assert!(daemon_again.is_some(), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_approves_through_a_new_or_changed_channel_until_a_confirmation() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "123456789:AAHfiqksKZ8WmR2zSjiQ7_v4TMAKdiHm9T0").unwrap();
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).unwrap();
    let chat = |chat: u32, more: &str| {
        let token = token.display();
        format!(
            "[channels.chat]\nkind = \"telegram\"\ntoken_file = \"{token}\"\nchat = {chat}\n\
             base_url = \"http://127.0.0.1:9\"\nallow_private = true\n{more}"
        )
    };
    let daemon = TestDaemon::default().await;
    let approves = |daemon: &TestDaemon| daemon.gate.rules().channels["chat"].limits.approves;
    reload(&daemon, &chat(1, "")).await;
    assert_eq!(approves(&daemon), Tier::Safe, "a new channel only tells");
    let changes = confirm(&daemon).await;
    assert!(changes[0].contains("[channels.chat] is new"), "{changes:?}");
    assert_eq!(approves(&daemon), Tier::High);
    reload(&daemon, &chat(1, "approves = \"MEDIUM\"\nper_minute = 5\n")).await;
    assert_eq!(approves(&daemon), Tier::Medium, "less counts at once");
    assert!(daemon.gate.requested_settings().is_none());
    reload(&daemon, &chat(1, "")).await;
    assert_eq!(approves(&daemon), Tier::Medium, "more waits");
    reload(&daemon, &chat(2, "approves = \"MEDIUM\"\n")).await;
    assert_eq!(approves(&daemon), Tier::Safe, "another chat");
    let daemon = daemon.restart(&chat(2, "approves = \"MEDIUM\"\n"), |_| {}).await;
    assert_eq!(approves(&daemon), Tier::Safe, "a restart");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whitelist_file_counts_only_while_valid() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.json");
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    let listed = r#"{"send_message":{"targets":["bo"]}}"#;
    write(listed);
    let section = format!("[whitelist]\nfile = \"{}\"\n", file.display());
    let daemon = TestDaemon::with("", &section).await;
    let stored = kept(&daemon.gate, MESSAGE).await;
    let decision = stored.request.decision.unwrap();
    assert_eq!(decision.reason, "whitelist:send_message");
    // The file stands for the defaults.
    assert_eq!(kept(&daemon.gate, MAIL).await.request.state, State::Pending);
    for bad in [r#"{"send_message":{"targets":"bo"}}"#, "", r#"{"send_message":{}}"#] {
        write(bad);
        reload(&daemon, &section).await;
        let stored = kept(&daemon.gate, MESSAGE).await;
        assert_eq!(stored.request.state, State::Pending, "{bad}");
        // A bad file does not fall back to the defaults either.
        assert_eq!(kept(&daemon.gate, MAIL).await.request.state, State::Pending, "{bad}");
        decide(&daemon, &stored, Choice::Approve).await.unwrap();
        write(listed);
        reload(&daemon, &section).await;
        confirm(&daemon).await;
        assert_eq!(kept(&daemon.gate, MESSAGE).await.request.state, State::Approved);
    }
    // What a person took back does not return with the file.
    let Decider::Grant(id) = decision.by else { panic!("{:?}", decision.by) };
    assert!(daemon.gate.store().revoke_grant(id, "owner".into(), daemon.note()).await.unwrap());
    reload(&daemon, &section).await;
    assert_eq!(kept(&daemon.gate, MESSAGE).await.request.state, State::Pending);
}
