//! Announcements over a real store and real sockets: told, told again, given up, withdrawn.

mod crisis;
mod oncall;

use countersign_store::{AttemptResult, DeliveryStatus, Store as _, StoredRequest};

use super::test_notifier::{ReceiverBehavior, TestNotifier, WebhookReceiver, rules, until};

const HIGH: &str = "rm -rf /tmp/build";

async fn deliveries(notifier: &TestNotifier, asked: &StoredRequest) -> Vec<DeliveryStatus> {
    notifier.gate.store().deliveries(asked.request.id).await.unwrap()
}

#[tokio::test]
async fn a_question_is_announced_and_withdrawn_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let hook = WebhookReceiver::start(ReceiverBehavior::Answers(204)).await;
    let text = format!("[escalation]\nfirst = [\"hook\"]\n{}", hook.channel("hook", folder.path()));
    let notifier = TestNotifier::open(folder.path(), &text).await.start();
    let asked = notifier.ask(HIGH).await;
    until("the question", async || hook.kinds() == ["asked"]).await;
    notifier.outbox_is_empty().await;
    notifier.deny(&asked).await;
    until("the end", async || hook.kinds() == ["asked", "ended"]).await;
    notifier.outbox_is_empty().await;
    let got = hook.got();
    let data = &got[0].1["data"];
    assert_eq!(data["tier"], "HIGH");
    assert_eq!(data["agent"], "coder");
    assert_eq!(data["request"], asked.request.id.to_string());
    assert!(data.get("arguments").is_none() && data.get("card").is_none());
    assert_eq!(got[1].1["data"]["ended"]["state"], "denied");
    assert_eq!(got[1].1["data"]["ended"]["by"], "ana");
    assert_ne!(got[0].0, got[1].0, "other news has another name");
    assert_eq!(notifier.ledger_lines(&asked, "notified").await.len(), 2);
}

#[tokio::test]
async fn failures_are_retried_under_the_same_id_and_recorded() {
    for behavior in
        [ReceiverBehavior::Answers(500), ReceiverBehavior::BreaksOff, ReceiverBehavior::Hangs]
    {
        let folder = tempfile::tempdir().unwrap();
        let hook = WebhookReceiver::start(behavior).await;
        let text =
            format!("[escalation]\nfirst = [\"hook\"]\n{}", hook.channel("hook", folder.path()));
        let notifier = TestNotifier::open(folder.path(), &text).await.start();
        let asked = notifier.ask(HIGH).await;
        until("a failure on record", async || {
            let tried = deliveries(&notifier, &asked).await;
            matches!(&tried[..], [one] if matches!(one.result, AttemptResult::Retry(..)))
        })
        .await;
        *hook.behavior.lock().unwrap() = ReceiverBehavior::Answers(200);
        notifier.outbox_is_empty().await;
        let (tried, got) = (deliveries(&notifier, &asked).await, hook.got());
        assert!(matches!(tried[0].result, AttemptResult::Delivered(_)), "{behavior:?}: {tried:?}");
        assert!(tried[0].attempts >= 2 && got.len() >= 2, "{behavior:?}");
        assert!(got.iter().all(|one| *one == got[0]), "{behavior:?}: same name, same body");
    }
}

#[tokio::test]
async fn if_all_channels_of_a_level_fail_the_next_is_asked_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (moved, good) = (
        WebhookReceiver::start(ReceiverBehavior::Answers(302)).await,
        WebhookReceiver::start(ReceiverBehavior::Answers(200)).await,
    );
    let text = format!(
        "[escalation]\nfirst = [\"moved\", \"terminal-less\"]\nnext = [\"good\"]\n\
         [channels.terminal-less]\nkind = \"command\"\nprogram = [\"/nowhere/page\"]\n{}{}",
        moved.channel("moved", folder.path()),
        good.channel("good", folder.path())
    );
    let notifier = TestNotifier::open(folder.path(), &text).await.start();
    let asked = notifier.ask(HIGH).await;
    until("the next level", async || good.kinds() == ["asked"]).await;
    notifier.outbox_is_empty().await;
    assert_eq!(moved.got().len(), 1, "a redirect is neither followed nor tried again");
    assert_eq!(notifier.ledger_lines(&asked, "notify_failed").await.len(), 2);
    let told = notifier.ledger_lines(&asked, "notified").await;
    assert!(told.len() == 1 && told[0].contains("\"early\":true"), "{told:?}");
    assert_eq!(
        notifier.stored(&asked).await.request.level.label(),
        "first",
        "it has not escalated"
    );
    // The end is told only where the question was.
    notifier.deny(&asked).await;
    until("the end", async || good.kinds() == ["asked", "ended"]).await;
    notifier.outbox_is_empty().await;
    assert_eq!(moved.got().len(), 1);
}

#[tokio::test]
async fn an_announcement_is_sent_again_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let hook = WebhookReceiver::start(ReceiverBehavior::Hangs).await;
    let text = format!("[escalation]\nfirst = [\"hook\"]\n{}", hook.channel("hook", folder.path()));
    let notifier = TestNotifier::open(folder.path(), &text).await.start();
    let asked = notifier.ask(HIGH).await;
    until("the question", async || hook.got().len() == 1).await;
    notifier.crash().await;
    *hook.behavior.lock().unwrap() = ReceiverBehavior::Answers(200);
    let notifier = TestNotifier::open(folder.path(), &text).await.start();
    notifier.outbox_is_empty().await;
    let got = hook.got();
    assert!(got.len() == 2 && got[0] == got[1], "the same announcement, twice");
    assert_eq!(deliveries(&notifier, &asked).await.len(), 1);
}

#[tokio::test]
async fn an_end_is_announced_where_a_prompt_may_be_shown_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let hook = WebhookReceiver::start(ReceiverBehavior::Hangs).await;
    let text = format!("[escalation]\nfirst = [\"hook\"]\n{}", hook.channel("hook", folder.path()));
    let notifier = TestNotifier::open(folder.path(), &text).await.start();
    let asked = notifier.ask(HIGH).await;
    until("the question", async || hook.got().len() == 1).await;
    notifier.crash().await;
    *hook.behavior.lock().unwrap() = ReceiverBehavior::Answers(200);
    // Decided before the notifier is back: the question is not told again, but its end is.
    let notifier = TestNotifier::open(folder.path(), &text).await;
    notifier.deny(&asked).await;
    let notifier = notifier.start();
    notifier.outbox_is_empty().await;
    assert_eq!(hook.kinds(), ["asked", "ended"]);
}

#[tokio::test]
async fn an_ended_request_is_not_announced() {
    let folder = tempfile::tempdir().unwrap();
    let hook = WebhookReceiver::start(ReceiverBehavior::Answers(200)).await;
    let text = format!("[escalation]\nfirst = [\"hook\"]\n{}", hook.channel("hook", folder.path()));
    let notifier = TestNotifier::open(folder.path(), &text).await;
    let mut dispatcher =
        super::Dispatcher::new(std::sync::Arc::clone(&notifier.gate), notifier.parts.clone());
    let asked = notifier.ask(HIGH).await;
    notifier.deny(&asked).await;
    until("an empty outbox", async || {
        dispatcher.take().await;
        while let Some(ended) = dispatcher.deliveries.join_next_with_id().await {
            dispatcher.finish_task(ended.unwrap().0, false);
        }
        notifier.gate.store().outbox(0, 10).await.unwrap().is_empty()
    })
    .await;
    assert!(hook.got().is_empty());
    assert!(notifier.ledger_lines(&asked, "notify_failed").await.is_empty());
}

#[tokio::test]
async fn a_hanging_channel_delays_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (slow, quick) = (
        WebhookReceiver::start(ReceiverBehavior::Hangs).await,
        WebhookReceiver::start(ReceiverBehavior::Answers(200)).await,
    );
    let text = format!(
        "[escalation]\nfirst = [\"slow\", \"quick\"]\n{}{}",
        // Longer than `until` waits: a delivery behind this one would be missed.
        slow.channel("slow", folder.path()).replace("timeout_seconds = 1", "timeout_seconds = 60"),
        quick.channel("quick", folder.path())
    );
    let notifier = TestNotifier::open(folder.path(), &text).await.start();
    let mut asked = Vec::new();
    for place in 0..5 {
        asked.push(notifier.ask(&format!("{HIGH}{place}")).await);
    }
    until("all five", async || quick.got().len() == 5).await;
    until("a hanging one", async || !slow.got().is_empty()).await;
    for asked in asked {
        let slow = |one: &DeliveryStatus| one.channel == "slow";
        assert!(!deliveries(&notifier, &asked).await.iter().any(slow), "it no longer hangs");
    }
}

#[tokio::test]
async fn channels_follow_configuration_changes() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (
        WebhookReceiver::start(ReceiverBehavior::Answers(500)).await,
        WebhookReceiver::start(ReceiverBehavior::Answers(200)).await,
    );
    let escalation = "[escalation]\nfirst = [\"hook\"]\n";
    let text = format!("{escalation}{}", old.channel("hook", folder.path()));
    let notifier = TestNotifier::open(folder.path(), &text).await.start();
    notifier.ask(HIGH).await;
    until("the old place", async || !old.got().is_empty()).await;
    let text = format!("{escalation}{}", new.channel("hook", folder.path()));
    notifier.gate.change_rules(rules(folder.path(), &text)).await.unwrap();
    until("the new place", async || new.kinds() == ["asked"]).await;
    notifier.outbox_is_empty().await;
}

#[tokio::test]
async fn a_channel_does_not_announce_above_its_max_tier() {
    let folder = tempfile::tempdir().unwrap();
    let hook = WebhookReceiver::start(ReceiverBehavior::Answers(200)).await;
    let text = format!(
        "[escalation]\nfirst = [\"hook\"]\n{}max_tier = \"MEDIUM\"\n",
        hook.channel("hook", folder.path())
    );
    let notifier = TestNotifier::open(folder.path(), &text).await.start();
    let asked = notifier.ask(HIGH).await;
    notifier.outbox_is_empty().await;
    assert!(hook.got().is_empty());
    assert_eq!(notifier.ledger_lines(&asked, "notify_failed").await.len(), 1);
}

#[tokio::test]
async fn a_burst_of_one_session_is_one_message_until_it_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let hook = WebhookReceiver::start(ReceiverBehavior::Answers(204)).await;
    let text = format!(
        "[escalation]\nfirst = [\"hook\"]\n[flood]\ndenials = 100\n{}",
        hook.channel("hook", folder.path())
    );
    let notifier = TestNotifier::open(folder.path(), &text).await.start();
    let mut asked = Vec::new();
    for number in 1..=3 {
        asked.push(notifier.ask_in("s1", &format!("frobnicate {number}")).await);
    }
    until("three questions", async || hook.kinds() == ["asked", "asked", "asked"]).await;
    notifier.outbox_is_empty().await;
    for number in 4..=6 {
        asked.push(notifier.ask_in("s1", &format!("frobnicate {number}")).await);
    }
    notifier.outbox_is_empty().await;
    let got = hook.got();
    assert_eq!(got.len(), 4, "one digest: {got:?}");
    let digest = got[3].1.to_string();
    assert!(digest.contains("questions from coder in session s1"), "{digest}");
    assert!(digest.contains("/review?agent=coder&session=s1"), "{digest}");
    // CRITICAL is always announced, and other sessions are.
    notifier.ask_in("s1", "rm -rf /").await;
    notifier.ask_in("s2", "frobnicate 1").await;
    until("both", async || hook.got().len() == 6).await;
    // Once it is answered, the next question is announced again.
    for one in &asked {
        notifier.deny(one).await;
    }
    notifier.outbox_is_empty().await;
    let before = hook.kinds().iter().filter(|kind| *kind == "asked").count();
    notifier.ask_in("s1", "frobnicate 7").await;
    until("the next question", async || {
        hook.kinds().iter().filter(|kind| *kind == "asked").count() == before + 1
    })
    .await;
}
