//! Who is told when: by tier, in quiet hours, and while a person sits at the inbox.

use countersign_store::{AttemptResult, DeliveryStatus};
use countersign_types::time::Clock as _;

use super::super::test_notifier::{ReceiverBehavior, TestNotifier, WebhookReceiver, until};
use super::super::{digest, is_superseded};
use super::{HIGH, deliveries};

/// Asks a person, and is not grave.
const MEDIUM: &str = "python3 -c 'print(1)'";
const CRITICAL: &str = "rm -rf /";
const ALWAYS_QUIET: &str = "[quiet]\nfrom = \"00:00\"\nto = \"00:00\"\n";

/// What came, as tiers.
fn tiers(hook: &WebhookReceiver) -> Vec<String> {
    hook.got().iter().map(|(_, body)| body["data"]["tier"].as_str().unwrap().into()).collect()
}

#[tokio::test]
async fn a_tier_can_have_its_own_levels() {
    let folder = tempfile::tempdir().unwrap();
    let (usual, grave) = (
        WebhookReceiver::start(ReceiverBehavior::Answers(200)).await,
        WebhookReceiver::start(ReceiverBehavior::Answers(200)).await,
    );
    let text = format!(
        "[escalation]\nfirst = [\"usual\"]\n[escalation.critical]\nfirst = [\"grave\"]\n{}{}",
        usual.channel("usual", folder.path()),
        grave.channel("grave", folder.path())
    );
    let notifier = TestNotifier::open(folder.path(), &text).await.start();
    notifier.ask(MEDIUM).await;
    let critical = notifier.ask(CRITICAL).await;
    notifier.outbox_is_empty().await;
    assert_eq!((tiers(&usual), tiers(&grave)), (vec!["MEDIUM".into()], vec!["CRITICAL".into()]));
    // The end goes where the question went.
    notifier.deny(&critical).await;
    notifier.outbox_is_empty().await;
    assert_eq!((usual.kinds().len(), grave.kinds()), (1, vec!["asked".into(), "ended".into()]));
}

#[tokio::test]
async fn quiet_hours_silence_medium_and_a_digest_follows() {
    let folder = tempfile::tempdir().unwrap();
    let hook = WebhookReceiver::start(ReceiverBehavior::Answers(200)).await;
    let text = format!(
        "[escalation]\nfirst = [\"hook\"]\n{ALWAYS_QUIET}digest = [\"hook\"]\n{}",
        hook.channel("hook", folder.path())
    );
    let notifier = TestNotifier::open(folder.path(), &text).await.start();
    let since = notifier.gate.clock().now().at;
    let quiet = notifier.ask(MEDIUM).await;
    notifier.outbox_is_empty().await;
    assert!(hook.got().is_empty(), "nobody is disturbed");
    assert!(
        notifier.ledger_lines(&quiet, "notify_failed").await.is_empty(),
        "and nothing has failed"
    );
    notifier.ask(HIGH).await;
    until("what is grave", async || tiers(&hook) == ["HIGH"]).await;
    notifier.deny(&quiet).await;
    notifier.outbox_is_empty().await;
    assert_eq!(hook.got().len(), 1, "who was not asked is not told of the end");
    let text = digest::summary(&notifier.gate, since).await.unwrap().unwrap();
    assert_eq!(text, "While it was quiet, 1 call was asked about: 1 denied.");
    digest::tell(&notifier.gate, &notifier.parts.channels, &text).await;
    assert_eq!(hook.kinds(), ["asked", "notice"]);
    assert_eq!(hook.got()[1].1["data"]["brief"], text, "machines hear what it says, too");
}

#[tokio::test]
async fn phones_are_delayed_while_someone_is_present_except_for_critical() {
    let folder = tempfile::tempdir().unwrap();
    let hook = WebhookReceiver::start(ReceiverBehavior::Answers(200)).await;
    let text = format!(
        "[escalation]\nfirst = [\"hook\"]\nat_keyboard_seconds = 60\n{}",
        hook.channel("hook", folder.path())
    );
    let notifier = TestNotifier::open(folder.path(), &text).await.start();
    notifier.parts.presence.saw(notifier.gate.clock().now().at);
    let answered = notifier.ask(HIGH).await;
    notifier.ask(CRITICAL).await;
    // Answered at the keyboard, before the delay (the longest there is) has passed: no phone rings.
    notifier.deny(&answered).await;
    until("what is critical", async || tiers(&hook) == ["CRITICAL"]).await;
    let waits = notifier.ask(MEDIUM).await;
    until("what nobody answered", async || tiers(&hook).contains(&"MEDIUM".to_owned())).await;
    let waited = notifier.gate.clock().now().at.0 - waits.request.schedule.created.0;
    assert!(waited >= 60_000, "{waited} ms");
    notifier.outbox_is_empty().await;
    assert!(!tiers(&hook).contains(&"HIGH".to_owned()), "{:?}", tiers(&hook));
    let tried = deliveries(&notifier, &answered).await;
    let overtaken = |one: &DeliveryStatus| match &one.result {
        AttemptResult::Retry(why, _) => is_superseded(why),
        AttemptResult::Delivered(_) | AttemptResult::Failed(_) => false,
    };
    assert!(tried.iter().any(overtaken), "{tried:?}");
}

#[tokio::test]
async fn a_channel_that_does_not_interrupt_is_not_delayed() {
    let folder = tempfile::tempdir().unwrap();
    let hook = WebhookReceiver::start(ReceiverBehavior::Answers(200)).await;
    let text = format!(
        "[escalation]\nfirst = [\"hook\"]\nat_keyboard_seconds = 60\n{}interrupts = false\n",
        hook.channel("hook", folder.path())
    );
    let notifier = TestNotifier::open(folder.path(), &text).await.start();
    notifier.parts.presence.saw(notifier.gate.clock().now().at);
    notifier.ask(HIGH).await;
    until("the question", async || tiers(&hook) == ["HIGH"]).await;
}

#[tokio::test]
async fn a_policy_rule_tells_further_channels_also_in_quiet_hours() {
    let folder = tempfile::tempdir().unwrap();
    let (usual, ops) = (
        WebhookReceiver::start(ReceiverBehavior::Answers(200)).await,
        WebhookReceiver::start(ReceiverBehavior::Answers(200)).await,
    );
    let rule = "[[policy.rule]]\nname = \"told\"\ndecision = \"ask\"\n\
        commands = [\"acmectl\"]\nroute = [\"ops\"]\n";
    let channels =
        format!("{}{}", usual.channel("usual", folder.path()), ops.channel("ops", folder.path()));
    let text = format!("[escalation]\nfirst = [\"usual\"]\n{rule}{channels}");
    let notifier = TestNotifier::open(folder.path(), &text).await.start();
    notifier.ask(MEDIUM).await;
    let told = notifier.ask("acmectl deploy").await;
    notifier.outbox_is_empty().await;
    assert_eq!((usual.kinds().len(), ops.kinds().len()), (2, 1));
    notifier.deny(&told).await;
    notifier.outbox_is_empty().await;
    assert_eq!(ops.kinds(), ["asked", "ended"]);
    notifier.crash().await;
    let quiet = tempfile::tempdir().unwrap();
    let text = format!("[escalation]\nfirst = []\n{ALWAYS_QUIET}{rule}{channels}");
    let notifier = TestNotifier::open(quiet.path(), &text).await.start();
    notifier.ask("acmectl start").await;
    notifier.outbox_is_empty().await;
    assert_eq!((usual.kinds().len(), ops.kinds().len()), (3, 3));
}
