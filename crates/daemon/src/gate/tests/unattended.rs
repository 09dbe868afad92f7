//! An edited file cannot let calls run without a person: wider settings wait for a confirmation.

use serde_json::{Value, json};

use crate::config::{DaemonConfig, Paths};
use crate::test_daemon::{ApiSide, TestDaemon};

const REVIEW: &str = "[review]\nenabled = true\nmax_tier = \"LOW\"\n";
const LEARN: &str = "[learning]\nautomatic = true\n";

async fn reload(daemon: &TestDaemon, text: &str) {
    let place = daemon.state();
    let paths = Paths { config: place.join("c.toml"), state: place.clone(), runtime: place };
    let rules = DaemonConfig::read(text, &paths).unwrap().rules;
    daemon.gate.change_rules(rules).await.unwrap();
}

/// Whether reviews and learning are in force.
fn in_force(daemon: &TestDaemon) -> (bool, bool) {
    let rules = daemon.gate.rules();
    (rules.review.is_some(), rules.learning.automatic)
}

async fn requested(daemon: &TestDaemon, owner: &str) -> Value {
    let shown = daemon.by(owner, ApiSide::People, "GET /v1/config", None).await;
    assert_eq!(shown.status, 200, "{}", shown.body);
    shown.body["requested"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_file_switches_nothing_on_until_a_person_confirms() {
    let daemon = TestDaemon::default().await;
    let owner = daemon.owner().await;
    let both = format!("{REVIEW}{LEARN}");
    reload(&daemon, &both).await;
    assert_eq!(in_force(&daemon), (false, false), "a reload");
    let daemon = daemon.restart(&both, |_| {}).await;
    assert_eq!(in_force(&daemon), (false, false), "a restart with the edited file");
    let gone = |state: &std::path::Path| {
        let _ = std::fs::remove_file(state.join("settings.json"));
        let _ = std::fs::remove_file(state.join("policy.confirmed"));
    };
    let daemon = daemon.restart(&both, gone).await;
    assert_eq!(in_force(&daemon), (false, false), "without the files beside the store");
    let asked = requested(&daemon, &owner).await;
    assert_eq!(asked["changes"].as_array().unwrap().len(), 2, "{asked}");
    let (line, body) = ("POST /v1/config", json!({ "hash": asked["hash"] }));
    let stolen = daemon.by(&owner, ApiSide::People, line, Some(body.clone())).await;
    assert_eq!(stolen.body["type"], "urn:countersign:problem:step-up-required");
    for other in ["0".repeat(64), "0".repeat(16), "0".to_owned()] {
        let body = json!({ "hash": other });
        assert_eq!(daemon.change(&owner, line, Some(body)).await.status, 409, "{other}");
    }
    assert_eq!(in_force(&daemon), (false, false));
    let done = daemon.change(&owner, line, Some(body)).await;
    assert_eq!((done.status.as_u16(), &done.body["requested"]), (200, &Value::Null));
    assert_eq!(in_force(&daemon), (true, true));
    let entries = daemon.ledger().await;
    let confirmed = |entry: &&Value| entry["facts"]["confirmed_settings"].is_array();
    assert_eq!(entries.iter().find(confirmed).unwrap()["person"], "owner");
    // A confirmation lasts; a tighter file is in force at once, and the way back waits again.
    let daemon = daemon.restart(&both, |_| {}).await;
    assert_eq!(in_force(&daemon), (true, true));
    reload(&daemon, "").await;
    assert_eq!(in_force(&daemon), (false, false));
    reload(&daemon, &both).await;
    assert_eq!(in_force(&daemon), (false, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wider_review_keeps_the_settings_before() {
    // The operator chooses the settings of a new installation.
    let daemon = TestDaemon::with("", REVIEW).await;
    assert_eq!(in_force(&daemon), (true, false));
    let before = daemon.gate.rules().review.clone();
    for wider in [
        REVIEW.replace("LOW", "MEDIUM"),
        format!("{REVIEW}max_files = 500\n"),
        format!("{REVIEW}{LEARN}"),
    ] {
        reload(&daemon, &wider).await;
        assert_eq!(daemon.gate.rules().review, before, "{wider}");
        assert!(!daemon.gate.rules().learning.automatic, "{wider}");
        assert!(daemon.gate.requested_settings().is_some(), "{wider}");
    }
    reload(&daemon, &format!("{REVIEW}max_files = 5\n")).await;
    assert_eq!(daemon.gate.rules().review.as_ref().unwrap().max_files, 5);
    assert!(daemon.gate.requested_settings().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tighter_setting_does_not_wait_for_a_wider_one_of_the_same_file() {
    let daemon = TestDaemon::with("", REVIEW).await;
    let owner = daemon.owner().await;
    let both = format!("{REVIEW}max_files = 5\nmax_open = 150\n{LEARN}");
    let open = daemon.gate.rules().review.as_ref().unwrap().max_open;
    reload(&daemon, &both).await;
    let review = daemon.gate.rules().review.clone().unwrap();
    assert_eq!((review.max_files, review.max_open), (5, open));
    assert_eq!(in_force(&daemon), (true, false));
    let daemon = daemon.restart(&both, |_| {}).await;
    let review = daemon.gate.rules().review.clone().unwrap();
    assert_eq!((review.max_files, review.max_open), (5, open), "a restart");
    let asked = requested(&daemon, &owner).await;
    assert_eq!(asked["changes"].as_array().unwrap().len(), 2, "{asked}");
    let body = json!({ "hash": asked["hash"] });
    assert_eq!(daemon.change(&owner, "POST /v1/config", Some(body)).await.status, 200);
    let review = daemon.gate.rules().review.clone().unwrap();
    assert_eq!((review.max_files, review.max_open), (5, 150));
    // Switching reviews off is in force at once, whatever else the file asks for.
    let daemon = daemon.restart("[learning]\nautomatic = true\ndays = 30\n", |_| {}).await;
    assert_eq!(in_force(&daemon), (false, true));
    assert!(daemon.gate.requested_settings().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn confirmations_and_reloads_at_once_lose_nothing() {
    const ALLOW: &str = "[policy]\npermit_up_to = \"MEDIUM\"\n[[policy.rule]]\n\
        name = \"deploys\"\ndecision = \"allow\"\ncommands = [\"acmectl deploy\"]\n";
    const DENY: &str = "[[policy.rule]]\nname = \"no-destroy\"\ndecision = \"deny\"\n\
        commands = [\"terraform destroy\"]\n";
    let daemon = TestDaemon::default().await;
    let wider = format!("{LEARN}{ALLOW}");
    reload(&daemon, &wider).await;
    let gate = &daemon.gate;
    let policy = gate.requested_policy().unwrap().policy.hash().to_string();
    let settings = gate.requested_settings().unwrap().hash();
    let (one, two, three) = tokio::join!(
        gate.confirm_policy(&policy, "owner", daemon.note()),
        gate.confirm_settings(&settings, "owner", daemon.note()),
        gate.confirm_policy(&policy, "owner", daemon.note()),
    );
    let confirmed = [one.unwrap(), three.unwrap()];
    assert_eq!(confirmed.iter().flatten().count(), 1, "one of two confirmations");
    assert!(two.unwrap().is_some());
    let has = |name: &str| gate.rules().policy.rules().iter().any(|rule| rule.name() == name);
    assert_eq!((has("deploys"), in_force(&daemon).1), (true, true));
    // Neither does a tighter file during a confirmation.
    reload(&daemon, &format!("{LEARN}{ALLOW}[review]\nenabled = true\n")).await;
    let settings = gate.requested_settings().unwrap().hash();
    let tighter = format!("{wider}{DENY}");
    let (confirmed, ()) = tokio::join!(
        gate.confirm_settings(&settings, "owner", daemon.note()),
        reload(&daemon, &tighter),
    );
    assert!(confirmed.unwrap().is_some());
    assert!(has("deploys") && has("no-destroy"));
    assert_eq!(in_force(&daemon), (false, true), "the file without reviews is the newest");
    let kept = daemon.restart(&tighter, |_| {}).await;
    assert!(kept.gate.requested_policy().is_none());
}
