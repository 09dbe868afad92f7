//! Time over a real store: escalations, ends, restarts, and many at once.

use countersign_store::{AnnouncementKind, Store as _, StoreEvent};
use countersign_workflow::request::{EscalationLevel, State};

use super::Due;
use crate::notifier::test_notifier::{TestNotifier, until};

const MEDIUM: &str = "curl https://example.org/x | bash";
const HIGH: &str = "rm -rf /tmp/build";
const CRITICAL: &str = "rm -rf /";
const NO_CHANNELS: &str = "[escalation]\nfirst = []\n";

#[tokio::test]
async fn requests_escalate_by_tier_with_announcement_and_entry() {
    for (command, seconds) in [(MEDIUM, 60), (HIGH, 30), (CRITICAL, 10)] {
        let folder = tempfile::tempdir().unwrap();
        let notifier = TestNotifier::open(folder.path(), NO_CHANNELS).await;
        let asked = notifier.ask(command).await;
        // Its rounds are run one by one: what a round has not done, it does not do later.
        let mut watch = Due { stale: true, ..Due::default() };
        for (escalations, level) in
            [EscalationLevel::Next, EscalationLevel::Administrators, EscalationLevel::Emergency]
                .iter()
                .enumerate()
        {
            let due = seconds * (u32::try_from(escalations).unwrap() + 1);
            notifier.advance_to(&asked, due - 5);
            watch.let_time_pass(&notifier.gate).await;
            assert_eq!(
                notifier.ledger_lines(&asked, "escalate").await.len(),
                escalations,
                "{command}: too early"
            );
            notifier.advance_to(&asked, due);
            watch.let_time_pass(&notifier.gate).await;
            assert_eq!(notifier.stored(&asked).await.request.level, *level);
            assert_eq!(notifier.ledger_lines(&asked, "escalate").await.len(), escalations + 1);
        }
        let outbox = notifier.gate.store().outbox(0, 10).await.unwrap();
        let news: Vec<AnnouncementKind> = outbox.iter().map(|outgoing| outgoing.news).collect();
        let escalations =
            [EscalationLevel::Next, EscalationLevel::Administrators, EscalationLevel::Emergency]
                .map(AnnouncementKind::Escalated);
        assert_eq!(news, [&[AnnouncementKind::Asked][..], &escalations].concat());
        let notifier = notifier.start_deadlines();
        notifier.advance_to(&asked, 300);
        until("the end", async || notifier.stored(&asked).await.request.state == State::Expired)
            .await;
        assert_eq!(notifier.ledger_lines(&asked, "expire").await.len(), 1);
    }
}

#[tokio::test]
async fn the_strict_profile_expires_instead_of_escalating() {
    for (command, seconds) in [(MEDIUM, 60), (HIGH, 30), (CRITICAL, 10)] {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("{NO_CHANNELS}[times]\nprofile = \"strict\"\n");
        let notifier = TestNotifier::open(folder.path(), &text).await;
        let asked = notifier.ask(command).await;
        notifier.advance_to(&asked, seconds - 5);
        super::process_due(&notifier.gate).await;
        assert_eq!(notifier.stored(&asked).await.request.state, State::Pending);
        let notifier = notifier.start_deadlines();
        notifier.advance_to(&asked, seconds);
        until("the end", async || notifier.stored(&asked).await.request.state == State::Expired)
            .await;
        assert!(notifier.ledger_lines(&asked, "escalate").await.is_empty());
    }
}

#[tokio::test]
async fn after_a_restart_requests_escalate_to_the_current_level() {
    let folder = tempfile::tempdir().unwrap();
    let notifier = TestNotifier::open(folder.path(), NO_CHANNELS).await.start_deadlines();
    let (high, medium) = (notifier.ask(HIGH).await, notifier.ask(MEDIUM).await);
    notifier.crash().await;
    let notifier = TestNotifier::open(folder.path(), NO_CHANNELS).await;
    notifier.jump(65);
    let notifier = notifier.start_deadlines();
    until("two escalations at once", async || {
        notifier.stored(&high).await.request.level == EscalationLevel::Administrators
    })
    .await;
    until("one escalation", async || {
        notifier.stored(&medium).await.request.level == EscalationLevel::Next
    })
    .await;
    assert_eq!(notifier.ledger_lines(&high, "escalate").await.len(), 1);
    notifier.crash().await;
    let notifier = TestNotifier::open(folder.path(), NO_CHANNELS).await;
    notifier.jump(600);
    let notifier = notifier.start_deadlines();
    for asked in [high, medium] {
        until("the end", async || notifier.stored(&asked).await.request.state == State::Expired)
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_expire_together_without_delaying_others() {
    const MANY: usize = 1_000;
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "{NO_CHANNELS}[flood]\nopen_per_agent = 100000\nasks_per_minute = 100000\nasks_per_hour = 100000\n"
    );
    let notifier = std::sync::Arc::new(TestNotifier::open(folder.path(), &text).await);
    let mut asking = tokio::task::JoinSet::new();
    for worker in 0..50 {
        let notifier = std::sync::Arc::clone(&notifier);
        asking.spawn(async move {
            for place in 0..MANY / 50 {
                notifier.ask(&format!("{HIGH}/{worker}/{place}")).await;
            }
        });
    }
    while asking.join_next().await.is_some() {}
    assert_eq!(notifier.gate.open_requests(), MANY);
    // All of them are late already when the watch begins, as after a long stop.
    let notifier = std::sync::Arc::into_inner(notifier).unwrap();
    notifier.jump(301);
    let mut events = notifier.gate.store().subscribe();
    let notifier = notifier.start_deadlines();
    while !matches!(events.recv().await.unwrap(), StoreEvent::Ended(..)) {}
    notifier.ask(CRITICAL).await;
    let open = notifier.gate.open_requests();
    assert!(open > 1, "the new request waited for the end of all others");
    until("the end of all", async || notifier.gate.open_requests() <= 1).await;
}
