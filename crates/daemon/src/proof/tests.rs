//! What is said of doors, and how often.

use super::*;
use crate::notifier::test_notifier::{self, ReceiverBehavior, TestNotifier, WebhookReceiver};
use crate::test_gate;

fn door(state: GateState) -> Vec<AgentGate> {
    vec![AgentGate { name: "Claude Code".to_owned(), state, why: "so it seems".to_owned() }]
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
fn each_change_is_reported_once() {
    use GateState::{NotInstalled, NotProtected, NotTested, Protected};
    let doors = |states: &[GateState]| said(states.iter().map(|state| Ok(door(*state))));
    let (open, shut) = ("!Claude Code not_protected", "Claude Code protected");
    assert_eq!(
        doors(&[Protected, NotProtected, NotProtected, Protected, Protected]),
        ["", open, "", shut, ""]
    );
    // At first sight too.
    assert_eq!(doors(&[NotProtected, NotTested, NotProtected, Protected]), [open, "", "", shut]);
    // What was never shut and is never tested is no news; what was shut is.
    assert_eq!(doors(&[NotTested, NotTested, Protected]), ["", "", ""]);
    let lost = "!Claude Code not_tested";
    assert_eq!(doors(&[Protected, NotTested, NotTested, NotProtected]), ["", lost, "", open]);
    assert_eq!(doors(&[Protected, NotTested, Protected]), ["", lost, shut]);
    // Who takes a gate out hears of it once; who never had one, never.
    assert_eq!(doors(&[NotInstalled, NotInstalled]), ["", ""]);
    let out = "!Claude Code not_installed";
    assert_eq!(
        doors(&[Protected, NotInstalled, NotInstalled, Protected, NotProtected]),
        ["", out, "", "", open]
    );
}

#[test]
fn a_failed_test_is_reported_once_and_keeps_the_state() {
    let hangs = || Err("no answer".to_owned());
    let rounds =
        [Ok(door(GateState::Protected)), hangs(), hangs(), Ok(door(GateState::NotProtected))];
    let both = " tested, !Claude Code not_protected";
    assert_eq!(said(rounds), ["", "! untested", "", both]);
    // At first as well; and with nobody installed nothing is said.
    assert_eq!(said([hangs(), Ok(Vec::new()), Ok(Vec::new())]), ["! untested", " tested", ""]);
    assert_eq!(said([Ok(door(GateState::NotProtected)), Ok(Vec::new())])[1], "Claude Code gone");
}

#[test]
fn of_two_gates_with_one_name_the_worse_counts() {
    for (first, second) in [
        (GateState::NotProtected, GateState::Protected),
        (GateState::Protected, GateState::NotProtected),
    ] {
        let mut known = GateHistory::default();
        let changes = known.take(Ok([door(first), door(second)].concat()), Timestamp(1));
        assert_eq!((changes.len(), known.counts().open), (1, 1), "{changes:?}");
    }
}

#[test]
fn gate_states_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path();
    assert!(
        Proofs::open(state, true).take(Ok(door(GateState::Protected)), Timestamp(7)).is_empty()
    );
    assert_eq!(Proofs::open(state, true).counts().last, Some(Timestamp(7)));
    assert_eq!(
        Proofs::open(state, true).take(Ok(door(GateState::NotTested)), Timestamp(8)).len(),
        1
    );
    assert!(saved_alarms(state)[0].contains("cannot be tested any more"));
    assert!(
        Proofs::open(state, true).take(Ok(door(GateState::NotTested)), Timestamp(9)).is_empty()
    );
    // Who has them tried no more is not shown for ever what was found last.
    assert!(Proofs::open(state, false).alarms().is_empty() && saved_alarms(state).is_empty());
    std::fs::write(state.join(FILE), "nonsense").unwrap();
    assert_eq!(Proofs::open(state, true).counts(), GateCounts::default());
}

#[tokio::test]
async fn an_alarm_is_sent_in_quiet_hours_and_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = WebhookReceiver::start(ReceiverBehavior::Answers(204)).await;
    let text = format!(
        "[ladder]\nfirst = [\"ops\"]\ntime_zone = \"UTC\"\n[quiet]\nfrom = \"00:00\"\n\
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
    for state in [
        GateState::Protected,
        GateState::NotProtected,
        GateState::NotProtected,
        GateState::Protected,
    ] {
        alarm.take(Ok(door(state))).await;
    }
    test_notifier::until("both messages", async || {
        receiver.got().iter().any(|(_, body)| body.to_string().contains("shut again"))
    })
    .await;
    let message = receiver.got().iter().map(|(_, body)| body.to_string()).collect::<String>();
    assert!(
        message.contains("THE GATE IS OPEN: so it seems") && message.contains("shut again"),
        "{message}"
    );
    let entries = notifier.gate.store().entries(0, 100).await.unwrap();
    let entries_text: Vec<String> =
        entries.entries.iter().map(|entry| String::from_utf8_lossy(entry).into_owned()).collect();
    let with = |kind: &str| entries_text.iter().filter(|line| line.contains(kind)).count();
    assert_eq!((with("\"door_open\""), with("\"door_shut\"")), (1, 1), "{entries_text:#?}");
}

#[tokio::test]
async fn unsent_alarms_are_sent_after_the_next_test() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = WebhookReceiver::start(ReceiverBehavior::Answers(404)).await;
    let channel = receiver.channel("ops", folder.path());
    let notifier =
        TestNotifier::open(folder.path(), &format!("[ladder]\nfirst = [\"ops\"]\n{channel}")).await;
    let alarm = Alarm::new(
        Arc::clone(&notifier.gate),
        Arc::clone(&notifier.parts.channels),
        Arc::default(),
    );
    alarm.take(Ok(door(GateState::NotProtected))).await;
    test_notifier::until("the first attempt", async || receiver.got().len() == 1).await;
    *receiver.behavior.lock().unwrap() = ReceiverBehavior::Answers(204);
    test_notifier::until("its end", async || alarm.proofs.telling.try_lock().is_ok()).await;
    for times in [2, 2] {
        alarm.take(Ok(door(GateState::NotProtected))).await;
        test_notifier::until("the second", async || alarm.proofs.lock().unsent().is_empty()).await;
        assert_eq!(receiver.got().len(), times);
    }
    let message = receiver.got()[1].1.to_string();
    assert!(message.contains("THE GATE IS OPEN"), "{message}");
}

#[tokio::test]
async fn alarms_are_shown_in_the_inbox_and_metrics() {
    let gate = test_gate::test_gate().await;
    let page = |text: &str| text.contains("THE GATE IS OPEN");
    assert!(!page(&gate.person("/", "").await.text));
    gate.api.proofs.take(Ok(door(GateState::NotProtected)), Timestamp(5_000));
    assert!(page(&gate.person("/", "").await.text));
    let counts = gate.person("/metrics", "").await.text;
    for line in
        ["countersign_gates_not_protected 1", "countersign_gates_tested_timestamp_seconds 5"]
    {
        assert!(counts.contains(line), "{line}: {counts}");
    }
    gate.api.proofs.take(Ok(door(GateState::Protected)), Timestamp(6_000));
    assert!(!page(&gate.person("/", "").await.text));
    assert!(gate.person("/metrics", "").await.text.contains("countersign_gates_not_protected 0"));
}
