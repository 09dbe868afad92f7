//! Announcements over a real store and real sockets: told, told again, given up, withdrawn.

mod duty;

use std::time::Instant;

use countersign_store::{AttemptResult, DeliveryStatus, Store as _, StoredRequest};

use super::rig::{Manner, Receiver, Rig, rules, until};

const HIGH: &str = "rm -rf /tmp/build";

async fn deliveries(rig: &Rig, asked: &StoredRequest) -> Vec<DeliveryStatus> {
    rig.gate.store().deliveries(asked.request.id).await.unwrap()
}

#[tokio::test]
async fn a_question_is_told_and_its_end_withdraws_it() {
    let folder = tempfile::tempdir().unwrap();
    let hook = Receiver::start(Manner::Answers(204)).await;
    let text = format!("[ladder]\nfirst = [\"hook\"]\n{}", hook.channel("hook", folder.path()));
    let rig = Rig::open(folder.path(), &text).await.courier();
    let asked = rig.ask(HIGH).await;
    until("the question", async || hook.kinds() == ["asked"]).await;
    rig.outbox_is_empty().await;
    rig.deny(&asked).await;
    until("the end", async || hook.kinds() == ["asked", "ended"]).await;
    rig.outbox_is_empty().await;
    let got = hook.got();
    let data = &got[0].1["data"];
    assert_eq!(data["tier"], "HIGH");
    assert_eq!(data["agent"], "hermes");
    assert_eq!(data["request"], asked.request.id.to_string());
    assert!(data.get("arguments").is_none() && data.get("card").is_none());
    assert_eq!(got[1].1["data"]["ended"]["state"], "denied");
    assert_eq!(got[1].1["data"]["ended"]["by"], "ana");
    assert_ne!(got[0].0, got[1].0, "other news has another name");
    assert_eq!(rig.lines(&asked, "notified").await.len(), 2);
}

#[tokio::test]
async fn what_fails_is_sent_again_under_the_same_name_and_written_down() {
    for manner in [Manner::Answers(500), Manner::BreaksOff, Manner::Hangs] {
        let folder = tempfile::tempdir().unwrap();
        let hook = Receiver::start(manner).await;
        let text = format!("[ladder]\nfirst = [\"hook\"]\n{}", hook.channel("hook", folder.path()));
        let rig = Rig::open(folder.path(), &text).await.courier();
        let asked = rig.ask(HIGH).await;
        until("a failure on record", async || {
            let tried = deliveries(&rig, &asked).await;
            matches!(&tried[..], [one] if matches!(one.result, AttemptResult::Retry(..)))
        })
        .await;
        *hook.manner.lock().unwrap() = Manner::Answers(200);
        rig.outbox_is_empty().await;
        let (tried, got) = (deliveries(&rig, &asked).await, hook.got());
        assert!(matches!(tried[0].result, AttemptResult::Delivered(_)), "{manner:?}: {tried:?}");
        assert!(tried[0].attempts >= 2 && got.len() >= 2, "{manner:?}");
        assert!(got.iter().all(|one| *one == got[0]), "{manner:?}: same name, same body");
    }
}

#[tokio::test]
async fn when_nobody_on_a_rung_can_be_reached_the_next_is_asked_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (moved, good) =
        (Receiver::start(Manner::Answers(302)).await, Receiver::start(Manner::Answers(200)).await);
    let text = format!(
        "[ladder]\nfirst = [\"moved\", \"terminal-less\"]\nnext = [\"good\"]\n\
         [channels.terminal-less]\nkind = \"command\"\nprogram = [\"/nowhere/page\"]\n{}{}",
        moved.channel("moved", folder.path()),
        good.channel("good", folder.path())
    );
    let rig = Rig::open(folder.path(), &text).await.courier();
    let since = Instant::now();
    let asked = rig.ask(HIGH).await;
    until("the next rung", async || good.kinds() == ["asked"]).await;
    assert!(since.elapsed().as_secs() < 5, "long before the climb");
    rig.outbox_is_empty().await;
    assert_eq!(moved.got().len(), 1, "a redirect is neither followed nor tried again");
    assert_eq!(rig.lines(&asked, "notify_failed").await.len(), 2);
    let told = rig.lines(&asked, "notified").await;
    assert!(told.len() == 1 && told[0].contains("\"early\":true"), "{told:?}");
    assert_eq!(rig.stored(&asked).await.request.rung.label(), "first", "it has not climbed");
    // The end is told only where the question was.
    rig.deny(&asked).await;
    until("the end", async || good.kinds() == ["asked", "ended"]).await;
    rig.outbox_is_empty().await;
    assert_eq!(moved.got().len(), 1);
}

#[tokio::test]
async fn killed_between_sending_and_writing_down_it_is_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let hook = Receiver::start(Manner::Hangs).await;
    let text = format!("[ladder]\nfirst = [\"hook\"]\n{}", hook.channel("hook", folder.path()));
    let rig = Rig::open(folder.path(), &text).await.courier();
    let asked = rig.ask(HIGH).await;
    until("the question", async || hook.got().len() == 1).await;
    rig.crash().await;
    *hook.manner.lock().unwrap() = Manner::Answers(200);
    let rig = Rig::open(folder.path(), &text).await.courier();
    rig.outbox_is_empty().await;
    let got = hook.got();
    assert!(got.len() == 2 && got[0] == got[1], "the same announcement, twice");
    assert_eq!(deliveries(&rig, &asked).await.len(), 1);
}

#[tokio::test]
async fn an_end_is_told_where_a_prompt_may_stand_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let hook = Receiver::start(Manner::Hangs).await;
    let text = format!("[ladder]\nfirst = [\"hook\"]\n{}", hook.channel("hook", folder.path()));
    let rig = Rig::open(folder.path(), &text).await.courier();
    let asked = rig.ask(HIGH).await;
    until("the question", async || hook.got().len() == 1).await;
    rig.crash().await;
    *hook.manner.lock().unwrap() = Manner::Answers(200);
    // Decided before the courier is back: the question is not told again, but its end is.
    let rig = Rig::open(folder.path(), &text).await;
    rig.deny(&asked).await;
    let rig = rig.courier();
    rig.outbox_is_empty().await;
    assert_eq!(hook.kinds(), ["asked", "ended"]);
}

#[tokio::test]
async fn what_is_over_before_it_was_sent_is_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let hook = Receiver::start(Manner::Answers(200)).await;
    let text = format!("[ladder]\nfirst = [\"hook\"]\n{}", hook.channel("hook", folder.path()));
    let rig = Rig::open(folder.path(), &text).await;
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let mut courier = super::Rounds::new(std::sync::Arc::clone(&rig.gate), rig.reach.clone());
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let asked = rig.ask(HIGH).await;
    rig.deny(&asked).await;
    until("an empty outbox", async || {
        courier.take().await;
        while let Some(ended) = courier.rows.join_next_with_id().await {
            courier.over(ended.unwrap().0, false);
        }
        rig.gate.store().outbox(0, 10).await.unwrap().is_empty()
    })
    .await;
    assert!(hook.got().is_empty());
    assert!(rig.lines(&asked, "notify_failed").await.is_empty());
}

#[tokio::test]
async fn a_channel_that_hangs_keeps_no_other_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let (slow, quick) =
        (Receiver::start(Manner::Hangs).await, Receiver::start(Manner::Answers(200)).await);
    let text = format!(
        "[ladder]\nfirst = [\"slow\", \"quick\"]\n{}{}",
        slow.channel("slow", folder.path()),
        quick.channel("quick", folder.path())
    );
    let rig = Rig::open(folder.path(), &text).await.courier();
    for place in 0..5 {
        rig.ask(&format!("{HIGH}{place}")).await;
    }
    let since = Instant::now();
    until("all five", async || quick.got().len() == 5).await;
    assert!(since.elapsed().as_millis() < 900, "{:?}", since.elapsed());
}

#[tokio::test]
async fn channels_follow_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) =
        (Receiver::start(Manner::Answers(500)).await, Receiver::start(Manner::Answers(200)).await);
    let ladder = "[ladder]\nfirst = [\"hook\"]\n";
    let text = format!("{ladder}{}", old.channel("hook", folder.path()));
    let rig = Rig::open(folder.path(), &text).await.courier();
    rig.ask(HIGH).await;
    until("the old place", async || !old.got().is_empty()).await;
    let text = format!("{ladder}{}", new.channel("hook", folder.path()));
    rig.gate.change_rules(rules(folder.path(), &text)).await.unwrap();
    until("the new place", async || new.kinds() == ["asked"]).await;
    rig.outbox_is_empty().await;
}

#[tokio::test]
async fn a_channel_carries_nothing_graver_than_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let hook = Receiver::start(Manner::Answers(200)).await;
    let text = format!(
        "[ladder]\nfirst = [\"hook\"]\n{}most = \"MEDIUM\"\n",
        hook.channel("hook", folder.path())
    );
    let rig = Rig::open(folder.path(), &text).await.courier();
    let asked = rig.ask(HIGH).await;
    rig.outbox_is_empty().await;
    assert!(hook.got().is_empty());
    assert_eq!(rig.lines(&asked, "notify_failed").await.len(), 1);
}
