//! Who is told when: by tier, in quiet hours, and while somebody sits at the inbox.

use std::time::Duration;

use countersign_store::{AttemptResult, DeliveryStatus};
use countersign_types::time::Clock as _;

use super::super::rig::{Manner, Receiver, Rig, until};
use super::super::{digest, is_overtaken};
use super::{HIGH, deliveries};

/// Asks a person, and is not grave.
const MEDIUM: &str = "python3 -c 'print(1)'";
const CRITICAL: &str = "rm -rf /";
const ALWAYS_QUIET: &str = "[quiet]\nfrom = \"00:00\"\nto = \"00:00\"\n";
const LONG_ENOUGH: Duration = Duration::from_millis(300);

/// What came, as tiers.
fn tiers(hook: &Receiver) -> Vec<String> {
    hook.got().iter().map(|(_, body)| body["data"]["tier"].as_str().unwrap().into()).collect()
}

#[tokio::test]
async fn a_tier_has_rungs_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (usual, grave) =
        (Receiver::start(Manner::Answers(200)).await, Receiver::start(Manner::Answers(200)).await);
    let text = format!(
        "[ladder]\nfirst = [\"usual\"]\n[ladder.critical]\nfirst = [\"grave\"]\n{}{}",
        usual.channel("usual", folder.path()),
        grave.channel("grave", folder.path())
    );
    let rig = Rig::open(folder.path(), &text).await.courier();
    rig.ask(MEDIUM).await;
    let critical = rig.ask(CRITICAL).await;
    rig.outbox_is_empty().await;
    assert_eq!((tiers(&usual), tiers(&grave)), (vec!["MEDIUM".into()], vec!["CRITICAL".into()]));
    // The end goes where the question went.
    rig.deny(&critical).await;
    rig.outbox_is_empty().await;
    assert_eq!((usual.kinds().len(), grave.kinds()), (1, vec!["asked".into(), "ended".into()]));
}

#[tokio::test]
async fn quiet_hours_keep_medium_in_the_inbox_and_a_digest_tells_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let hook = Receiver::start(Manner::Answers(200)).await;
    let text = format!(
        "[ladder]\nfirst = [\"hook\"]\n{ALWAYS_QUIET}digest = [\"hook\"]\n{}",
        hook.channel("hook", folder.path())
    );
    let rig = Rig::open(folder.path(), &text).await.courier();
    let since = rig.gate.clock().now().at;
    let quiet = rig.ask(MEDIUM).await;
    rig.outbox_is_empty().await;
    assert!(hook.got().is_empty(), "nobody is disturbed");
    assert!(rig.lines(&quiet, "notify_failed").await.is_empty(), "and nothing has failed");
    rig.ask(HIGH).await;
    until("what is grave", async || tiers(&hook) == ["HIGH"]).await;
    rig.deny(&quiet).await;
    rig.outbox_is_empty().await;
    assert_eq!(hook.got().len(), 1, "who was not asked is not told of the end");
    let text = digest::summary(&rig.gate, since).await.unwrap().unwrap();
    assert_eq!(text, "While it was quiet, 1 call was asked about: 1 denied.");
    digest::tell(&rig.gate, &rig.reach.lines, &text).await;
    assert_eq!(hook.kinds(), ["asked", "notice"]);
    assert_eq!(hook.got()[1].1["data"]["brief"], text, "machines hear what it says, too");
}

#[tokio::test]
async fn while_somebody_is_at_the_inbox_the_phone_waits_and_never_for_what_is_critical() {
    let folder = tempfile::tempdir().unwrap();
    let hook = Receiver::start(Manner::Answers(200)).await;
    let text = format!(
        "[ladder]\nfirst = [\"hook\"]\nat_keyboard_seconds = 2\n{}",
        hook.channel("hook", folder.path())
    );
    let rig = Rig::open(folder.path(), &text).await.courier();
    rig.reach.presence.saw(rig.gate.clock().now().at);
    let answered = rig.ask(HIGH).await;
    rig.ask(CRITICAL).await;
    until("what is critical", async || tiers(&hook) == ["CRITICAL"]).await;
    tokio::time::sleep(LONG_ENOUGH).await;
    assert_eq!(tiers(&hook), ["CRITICAL"]);
    // Answered at the keyboard: the phone never rings.
    rig.deny(&answered).await;
    let waits = rig.ask(MEDIUM).await;
    until("what nobody answered", async || tiers(&hook).contains(&"MEDIUM".to_owned())).await;
    let waited = rig.gate.clock().now().at.0 - waits.request.plan.created.0;
    assert!(waited >= 2_000, "{waited} ms");
    rig.outbox_is_empty().await;
    assert!(!tiers(&hook).contains(&"HIGH".to_owned()), "{:?}", tiers(&hook));
    let tried = deliveries(&rig, &answered).await;
    let overtaken = |one: &DeliveryStatus| matches!(&one.result, AttemptResult::Retry(why, _) if is_overtaken(why));
    assert!(tried.iter().any(overtaken), "{tried:?}");
}

#[tokio::test]
async fn a_channel_at_the_desk_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let hook = Receiver::start(Manner::Answers(200)).await;
    let text = format!(
        "[ladder]\nfirst = [\"hook\"]\nat_keyboard_seconds = 60\n{}rings = false\n",
        hook.channel("hook", folder.path())
    );
    let rig = Rig::open(folder.path(), &text).await.courier();
    rig.reach.presence.saw(rig.gate.clock().now().at);
    rig.ask(HIGH).await;
    until("the question", async || tiers(&hook) == ["HIGH"]).await;
}
