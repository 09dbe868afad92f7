//! What is said of doors, and how often.

use super::*;
use crate::courier::rig::{self, Manner, Receiver, Rig};
use crate::trial;

fn door(state: DoorState) -> Vec<Door> {
    vec![Door { name: "Claude Code".to_owned(), state, why: "so it seems".to_owned() }]
}

/// What is said in each round: `!` begins an alarm.
fn said(rounds: impl IntoIterator<Item = Round>) -> Vec<String> {
    let mut known = Known::default();
    let words = |change: Change| {
        format!("{}{} {}", if change.is_alarm { "!" } else { "" }, change.door, change.state)
    };
    let mut take = |round| known.take(round, Timestamp(1)).into_iter().map(words);
    rounds.into_iter().map(|round| take(round).collect::<Vec<_>>().join(", ")).collect()
}

#[test]
fn what_changed_is_said_once() {
    use DoorState::{NeverTested, NotGated, Open, Shut};
    let doors = |states: &[DoorState]| said(states.iter().map(|state| Ok(door(*state))));
    let (open, shut) = ("!Claude Code open", "Claude Code shut");
    assert_eq!(doors(&[Shut, Open, Open, Shut, Shut]), ["", open, "", shut, ""]);
    // At first sight too.
    assert_eq!(doors(&[Open, NeverTested, Open, Shut]), [open, "", "", shut]);
    // What was never shut and is never tested is no news; what was shut is.
    assert_eq!(doors(&[NeverTested, NeverTested, Shut]), ["", "", ""]);
    let lost = "!Claude Code never_tested";
    assert_eq!(doors(&[Shut, NeverTested, NeverTested, Open]), ["", lost, "", open]);
    assert_eq!(doors(&[Shut, NeverTested, Shut]), ["", lost, shut]);
    // Who takes a gate out hears of it once; who never had one, never.
    assert_eq!(doors(&[NotGated, NotGated]), ["", ""]);
    let out = "!Claude Code not_gated";
    assert_eq!(doors(&[Shut, NotGated, NotGated, Shut, Open]), ["", out, "", "", open]);
}

#[test]
fn a_proof_that_fails_is_said_once_and_forgets_nothing() {
    let hangs = || Err("no answer".to_owned());
    let rounds = [Ok(door(DoorState::Shut)), hangs(), hangs(), Ok(door(DoorState::Open))];
    let both = " tested, !Claude Code open";
    assert_eq!(said(rounds), ["", "! untested", "", both]);
    // At first as well; and with nobody installed nothing is said.
    assert_eq!(said([hangs(), Ok(Vec::new()), Ok(Vec::new())]), ["! untested", " tested", ""]);
    assert_eq!(said([Ok(door(DoorState::Open)), Ok(Vec::new())])[1], "Claude Code gone");
}

#[test]
fn of_two_doors_with_one_name_the_worse_one_counts() {
    for (first, second) in [(DoorState::Open, DoorState::Shut), (DoorState::Shut, DoorState::Open)]
    {
        let mut known = Known::default();
        let changes = known.take(Ok([door(first), door(second)].concat()), Timestamp(1));
        assert_eq!((changes.len(), known.counts().open), (1, 1), "{changes:?}");
    }
}

#[test]
fn what_is_known_outlives_the_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path();
    assert!(Proofs::open(state, true).take(Ok(door(DoorState::Shut)), Timestamp(7)).is_empty());
    assert_eq!(Proofs::open(state, true).counts().last, Some(Timestamp(7)));
    assert_eq!(
        Proofs::open(state, true).take(Ok(door(DoorState::NeverTested)), Timestamp(8)).len(),
        1
    );
    assert!(remembered(state)[0].contains("cannot be tested any more"));
    assert!(
        Proofs::open(state, true).take(Ok(door(DoorState::NeverTested)), Timestamp(9)).is_empty()
    );
    // Who has them tried no more is not shown for ever what was found last.
    assert!(Proofs::open(state, false).alarms().is_empty() && remembered(state).is_empty());
    std::fs::write(state.join(FILE), "nonsense").unwrap();
    assert_eq!(Proofs::open(state, true).counts(), Counts::default());
}

#[tokio::test]
async fn an_alarm_is_told_in_quiet_hours_and_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::start(Manner::Answers(204)).await;
    let text = format!(
        "[ladder]\nfirst = [\"ops\"]\ntime_zone = \"UTC\"\n[quiet]\nfrom = \"00:00\"\n\
         to = \"23:59\"\n{}",
        receiver.channel("ops", folder.path())
    );
    let rig = Rig::open(folder.path(), &text).await;
    let alarm = Alarm::new(Arc::clone(&rig.gate), Arc::clone(&rig.reach.lines), Arc::default());
    assert!(alarm.is_enforced());
    for state in [DoorState::Shut, DoorState::Open, DoorState::Open, DoorState::Shut] {
        alarm.take(Ok(door(state))).await;
    }
    rig::until("both messages", async || {
        receiver.got().iter().any(|(_, body)| body.to_string().contains("shut again"))
    })
    .await;
    let told = receiver.got().iter().map(|(_, body)| body.to_string()).collect::<String>();
    assert!(
        told.contains("THE GATE IS OPEN: so it seems") && told.contains("shut again"),
        "{told}"
    );
    let entries = rig.gate.store().entries(0, 100).await.unwrap();
    let lines: Vec<String> =
        entries.entries.iter().map(|entry| String::from_utf8_lossy(entry).into_owned()).collect();
    let with = |kind: &str| lines.iter().filter(|line| line.contains(kind)).count();
    assert_eq!((with("\"door_open\""), with("\"door_shut\"")), (1, 1), "{lines:#?}");
}

#[tokio::test]
async fn what_nobody_could_be_told_is_told_with_the_next_proof() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::start(Manner::Answers(404)).await;
    let channel = receiver.channel("ops", folder.path());
    let rig = Rig::open(folder.path(), &format!("[ladder]\nfirst = [\"ops\"]\n{channel}")).await;
    let alarm = Alarm::new(Arc::clone(&rig.gate), Arc::clone(&rig.reach.lines), Arc::default());
    alarm.take(Ok(door(DoorState::Open))).await;
    rig::until("the first attempt", async || receiver.got().len() == 1).await;
    *receiver.manner.lock().unwrap() = Manner::Answers(204);
    rig::until("its end", async || alarm.proofs.telling.try_lock().is_ok()).await;
    for times in [2, 2] {
        alarm.take(Ok(door(DoorState::Open))).await;
        rig::until("the second", async || alarm.proofs.lock().untold().is_empty()).await;
        assert_eq!(receiver.got().len(), times);
    }
    let told = receiver.got()[1].1.to_string();
    assert!(told.contains("THE GATE IS OPEN"), "{told}");
}

#[tokio::test]
async fn people_see_it_at_the_top_of_the_inbox_and_in_the_counts() {
    let trial = trial::trial().await;
    let page = |text: &str| text.contains("THE GATE IS OPEN");
    assert!(!page(&trial.person("/", "").await.text));
    trial.api.proofs.take(Ok(door(DoorState::Open)), Timestamp(5_000));
    assert!(page(&trial.person("/", "").await.text));
    let counts = trial.person("/metrics", "").await.text;
    for line in ["countersign_doors_open 1", "countersign_doors_proved_timestamp_seconds 5"] {
        assert!(counts.contains(line), "{line}: {counts}");
    }
    trial.api.proofs.take(Ok(door(DoorState::Shut)), Timestamp(6_000));
    assert!(!page(&trial.person("/", "").await.text));
    assert!(trial.person("/metrics", "").await.text.contains("countersign_doors_open 0"));
}
