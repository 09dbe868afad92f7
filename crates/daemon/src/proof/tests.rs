//! Which results are announced, and how often.

use super::*;
use crate::notifier::test_notifier::{self, ReceiverBehavior, TestNotifier, WebhookReceiver};
use crate::test_gate;

fn result(state: GateState) -> Vec<GateReport> {
    vec![GateReport { name: "Claude Code".to_owned(), state, why: "so it seems".to_owned() }]
}

/// What is said in each round: `!` begins an alarm.
fn said(rounds: impl IntoIterator<Item = ProofResult>) -> Vec<String> {
    let mut known = GateHistory::default();
    let words = |change: GateChange| {
        format!("{}{} {}", if change.is_alarm { "!" } else { "" }, change.gate, change.state)
    };
    let mut take = |round| known.take(round, Timestamp(1)).into_iter().map(words);
    rounds.into_iter().map(|round| take(round).collect::<Vec<_>>().join(", ")).collect()
}

#[test]
fn a_change_is_announced_once() {
    use GateState::{NoGate, Protected, Unprotected, Untested};
    let gates = |states: &[GateState]| said(states.iter().map(|state| Ok(result(*state))));
    let (open, closed) = ("!Claude Code unprotected", "Claude Code protected");
    assert_eq!(
        gates(&[Protected, Unprotected, Unprotected, Protected, Protected]),
        ["", open, "", closed, ""]
    );
    // In the first test too.
    assert_eq!(gates(&[Unprotected, Untested, Unprotected, Protected]), [open, "", "", closed]);
    // A failed test is only announced for a gate that was protected before.
    assert_eq!(gates(&[Untested, Untested, Protected]), ["", "", ""]);
    let lost = "!Claude Code untested";
    assert_eq!(gates(&[Protected, Untested, Untested, Unprotected]), ["", lost, "", open]);
    assert_eq!(gates(&[Protected, Untested, Protected]), ["", lost, closed]);
    // A removed gate is announced once; an agent that never had one, never.
    assert_eq!(gates(&[NoGate, NoGate]), ["", ""]);
    let out = "!Claude Code no_gate";
    assert_eq!(
        gates(&[Protected, NoGate, NoGate, Protected, Unprotected]),
        ["", out, "", "", open]
    );
}

#[test]
fn a_failed_test_is_announced_once_and_keeps_the_states() {
    let hangs = || Err("no answer".to_owned());
    let rounds =
        [Ok(result(GateState::Protected)), hangs(), hangs(), Ok(result(GateState::Unprotected))];
    let both = " tested, !Claude Code unprotected";
    assert_eq!(said(rounds), ["", "! untested", "", both]);
    // In the first test too; without an agent nothing is announced.
    assert_eq!(said([hangs(), Ok(Vec::new()), Ok(Vec::new())]), ["! untested", " tested", ""]);
    assert_eq!(said([Ok(result(GateState::Unprotected)), Ok(Vec::new())])[1], "Claude Code gone");
}

#[test]
fn of_two_results_with_one_name_the_worse_one_counts() {
    for (first, second) in [
        (GateState::Unprotected, GateState::Protected),
        (GateState::Protected, GateState::Unprotected),
    ] {
        let mut known = GateHistory::default();
        let changes = known.take(Ok([result(first), result(second)].concat()), Timestamp(1));
        assert_eq!((changes.len(), known.counts().unprotected), (1, 1), "{changes:?}");
    }
}

#[test]
fn results_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path();
    assert!(
        Proofs::open(state, true).take(Ok(result(GateState::Protected)), Timestamp(7)).is_empty()
    );
    assert_eq!(Proofs::open(state, true).counts().last, Some(Timestamp(7)));
    assert_eq!(
        Proofs::open(state, true).take(Ok(result(GateState::Untested)), Timestamp(8)).len(),
        1
    );
    assert!(saved_alarms(state)[0].contains("can no longer be tested"));
    assert!(
        Proofs::open(state, true).take(Ok(result(GateState::Untested)), Timestamp(9)).is_empty()
    );
    // If tests are turned off, the last results are dropped.
    assert!(Proofs::open(state, false).alarms().is_empty() && saved_alarms(state).is_empty());
    std::fs::write(state.join(FILE), "nonsense").unwrap();
    assert_eq!(Proofs::open(state, true).counts(), GateCounts::default());
}

#[tokio::test]
async fn an_alarm_is_delivered_in_quiet_hours_and_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = WebhookReceiver::start(ReceiverBehavior::Answers(204)).await;
    let text = format!(
        "[escalation]\nfirst = [\"ops\"]\ntime_zone = \"UTC\"\n[quiet]\nfrom = \"00:00\"\n\
         to = \"23:59\"\n{}",
        receiver.channel("ops", folder.path())
    );
    let notifier = TestNotifier::open(folder.path(), &text).await;
    let alarm = Alarm::new(
        Arc::clone(&notifier.gate),
        Arc::clone(&notifier.parts.channels),
        Arc::default(),
    );
    assert!(alarm.is_enforced());
    for state in
        [GateState::Protected, GateState::Unprotected, GateState::Unprotected, GateState::Protected]
    {
        alarm.take(Ok(result(state))).await;
    }
    test_notifier::until("both messages", async || {
        receiver.got().iter().any(|(_, body)| body.to_string().contains("protected again"))
    })
    .await;
    let message = receiver.got().iter().map(|(_, body)| body.to_string()).collect::<String>();
    assert!(
        message.contains("NOT PROTECTED: so it seems") && message.contains("protected again"),
        "{message}"
    );
    let entries = notifier.gate.store().entries(0, 100).await.unwrap();
    let entries_text: Vec<String> =
        entries.entries.iter().map(|entry| String::from_utf8_lossy(entry).into_owned()).collect();
    let with = |kind: &str| entries_text.iter().filter(|line| line.contains(kind)).count();
    assert_eq!(
        (with("\"gate_unprotected\""), with("\"gate_protected\"")),
        (1, 1),
        "{entries_text:#?}"
    );
}

#[tokio::test]
async fn an_undelivered_alarm_is_repeated_with_the_next_test() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = WebhookReceiver::start(ReceiverBehavior::Answers(404)).await;
    let channel = receiver.channel("ops", folder.path());
    let notifier =
        TestNotifier::open(folder.path(), &format!("[escalation]\nfirst = [\"ops\"]\n{channel}"))
            .await;
    let alarm = Alarm::new(
        Arc::clone(&notifier.gate),
        Arc::clone(&notifier.parts.channels),
        Arc::default(),
    );
    alarm.take(Ok(result(GateState::Unprotected))).await;
    test_notifier::until("the first attempt", async || receiver.got().len() == 1).await;
    *receiver.behavior.lock().unwrap() = ReceiverBehavior::Answers(204);
    test_notifier::until("its end", async || alarm.proofs.telling.try_lock().is_ok()).await;
    for times in [2, 2] {
        alarm.take(Ok(result(GateState::Unprotected))).await;
        test_notifier::until("the second", async || alarm.proofs.lock().unsent().is_empty()).await;
        assert_eq!(receiver.got().len(), times);
    }
    let message = receiver.got()[1].1.to_string();
    assert!(message.contains("NOT PROTECTED"), "{message}");
}

#[tokio::test]
async fn the_inbox_and_the_metrics_show_the_alarm() {
    let gate = test_gate::test_gate().await;
    let page = |text: &str| text.contains("NOT PROTECTED");
    assert!(!page(&gate.person("/", "").await.text));
    gate.api.proofs.take(Ok(result(GateState::Unprotected)), Timestamp(5_000));
    assert!(page(&gate.person("/", "").await.text));
    let counts = gate.person("/metrics", "").await.text;
    for line in ["countersign_gates_unprotected 1", "countersign_gates_tested_timestamp_seconds 5"]
    {
        assert!(counts.contains(line), "{line}: {counts}");
    }
    gate.api.proofs.take(Ok(result(GateState::Protected)), Timestamp(6_000));
    assert!(!page(&gate.person("/", "").await.text));
    assert!(gate.person("/metrics", "").await.text.contains("countersign_gates_unprotected 0"));
}
