//! What it takes to approve, and what never does.

use countersign_client::{DecisionChoice, DecisionScope};

use super::super::event::{InboxEffect, InboxEvent, InputKey, Link};
use super::super::model::{ActivePrompt, Focus};
use super::super::state::SETTLE;
use super::{Bench, ended, request};

fn medium() -> Vec<countersign_client::RequestRecord> {
    vec![request(1, "git push origin main", "MEDIUM"), request(2, "npm install left-pad", "MEDIUM")]
}

#[test]
fn a_and_y_approve_the_call_that_is_shown() {
    let waiting = medium();
    let mut bench = Bench::new(80, 24, &waiting);
    bench.press("a");
    assert!(matches!(bench.inbox.asking, ActivePrompt::Approve(_)));
    assert_eq!(bench.approvals(), 0);
    bench.press("\n\n ");
    assert_eq!(bench.approvals(), 0, "Enter is no yes");
    bench.press("y");
    let current = bench.inbox.list.current().unwrap();
    let answer = bench.answers()[0].clone();
    assert_eq!((&answer.id, &answer.digest), (&current.id, &current.request.digest));
    assert_eq!((answer.choice, answer.scope), (DecisionChoice::Approve, DecisionScope::Once));
    bench.wait(1000);
    bench.press("ay");
    assert_eq!(bench.approvals(), 1, "an answer that is on its way is not given again");
}

#[test]
fn high_takes_a_typed_word_and_critical_a_reason() {
    let mut bench = Bench::new(80, 24, &[request(1, "rm -rf /srv/build", "HIGH")]);
    let phrase = bench.inbox.list.current().unwrap().request.phrase.clone();
    let first = phrase.split('-').next().unwrap();
    bench.press("a\n");
    for typed in ["nope\n", "y\n", "yes\n"] {
        bench.press(typed);
        assert_eq!(bench.approvals(), 0, "{typed} is not one of the two words");
    }
    bench.press(first);
    assert_eq!(bench.approvals(), 0, "a word is typed, then sent");
    bench.press("\n");
    assert_eq!(bench.approvals(), 1);
    for tier in ["CRITICAL", "SOMETHING NEW"] {
        let mut bench = Bench::new(80, 24, &[request(1, "rm -rf /srv", tier)]);
        bench.press("a\n   \n");
        assert_eq!(bench.approvals(), 0, "{tier}");
        bench.press("we agreed on it\n");
        assert_eq!(bench.answers()[0].reason, "we agreed on it");
        assert_eq!(bench.approvals(), 1, "{tier}");
    }
}

#[test]
fn what_just_came_up_takes_no_approval() {
    let waiting = medium();
    let mut bench = Bench::new(80, 24, &waiting);
    bench.press("j");
    bench.press("a");
    assert_eq!(bench.inbox.asking, ActivePrompt::Nothing, "the other card has only just come up");
    assert!(bench.shows("just appeared"));
    bench.wait(SETTLE);
    bench.press("ay");
    assert_eq!(bench.approvals(), 1);
    // The one that is looked at is taken back; five seconds later its neighbour stands there.
    let mut bench = Bench::new(80, 24, &waiting);
    let looked = bench.inbox.list.current().unwrap().request.clone();
    bench.tell(InboxEvent::Changed(Box::new(ended(&looked, "cancelled"))));
    bench.press("ay");
    bench.wait(5000);
    assert_ne!(bench.inbox.list.current().unwrap().request.id, looked.id);
    bench.press("ay");
    assert_eq!(bench.approvals(), 0);
}

#[test]
fn a_question_about_something_that_is_over_goes_and_what_is_typed_on_does_nothing() {
    let waiting = medium();
    let mut bench = Bench::new(80, 24, &waiting);
    let looked = bench.inbox.list.current().unwrap().request.clone();
    bench.press("d");
    bench.press("not ");
    bench.tell(InboxEvent::Changed(Box::new(ended(&looked, "cancelled"))));
    // The rest of a sentence, typed at a slow person's speed: by its end another one stands there.
    for letter in "today, the data is needed and so is daisy\n".chars() {
        bench.wait(300);
        bench.press(&letter.to_string());
    }
    assert_ne!(bench.inbox.list.current().unwrap().request.id, looked.id);
    assert!(bench.answers().is_empty(), "{:?}", bench.effects);
    assert_eq!(bench.inbox.asking, ActivePrompt::Nothing);
}

#[test]
fn a_long_call_is_read_to_its_end_before_it_is_approved() {
    let command = format!("cat > notes <<'EOF'\n{}EOF\nrm -rf ~/shop", "a line\n".repeat(60));
    let mut bench = Bench::new(80, 24, &[request(1, &command, "MEDIUM")]);
    assert!(bench.shows("more bytes, Enter shows all"), "{}", bench.text());
    assert!(bench.shows("rm -rf ~/shop"), "the dangerous part is never folded away");
    bench.press("ay");
    assert_eq!(bench.inbox.focus, Focus::Card);
    assert!(bench.shows("Read the call to the end"), "{}", bench.text());
    bench.press("ay");
    assert_eq!(bench.approvals(), 0);
    for _ in 0..20 {
        bench.key(InputKey::PageDown);
    }
    bench.wait(SETTLE);
    bench.press("ay");
    assert_eq!(bench.approvals(), 1, "{}", bench.text());
}

#[test]
fn what_is_on_no_card_takes_the_word() {
    let command = format!("echo {}", "x".repeat(60_000));
    let mut bench = Bench::new(80, 24, &[request(1, &command, "MEDIUM")]);
    bench.key(InputKey::Enter);
    bench.key(InputKey::End);
    bench.wait(SETTLE);
    bench.press("a");
    assert!(bench.shows("are not stored"), "{}", bench.text());
    bench.press("y\n");
    assert_eq!(bench.approvals(), 0);
    let phrase = bench.inbox.list.current().unwrap().request.phrase.clone();
    bench.press(phrase.split('-').next().unwrap());
    bench.press("\n");
    assert_eq!(bench.approvals(), 1);
}

#[test]
fn what_cannot_be_shown_cannot_be_approved() {
    let mut bare = request(1, "git push", "MEDIUM");
    bare.card = None;
    let mut other = request(2, "git push", "MEDIUM");
    other.card = request(3, "rm -rf /", "MEDIUM").card;
    for request in [bare, other] {
        let mut bench = Bench::new(80, 24, &[request]);
        bench.press("ay");
        assert!(bench.shows("cannot be approved here"), "{}", bench.text());
        assert_eq!(bench.approvals(), 0);
    }
    let waiting = medium();
    let mut bench = Bench::new(80, 24, &waiting);
    bench.tell(InboxEvent::Link(Link::Down("it is away".to_owned())));
    bench.press("ay");
    assert!(bench.shows("does not respond"), "{}", bench.text());
    assert_eq!(bench.approvals(), 0);
}

#[test]
fn a_denial_has_its_reason_and_all_are_denied_only_for_a_yes() {
    let waiting = medium();
    let mut bench = Bench::new(80, 24, &waiting);
    bench.press("dwrong branch\n");
    assert_eq!(bench.answers()[0].choice, DecisionChoice::Deny);
    assert_eq!(bench.answers()[0].reason, "wrong branch");
    let mut bench = Bench::new(80, 24, &waiting);
    bench.press("x");
    assert!(bench.shows("Deny all 2?"), "{}", bench.text());
    bench.press("\n");
    bench.press("xno\n");
    assert!(!bench.effects.iter().any(|effect| matches!(effect, InboxEffect::DenyAll(_))));
    bench.press("x");
    bench.asked(&request(3, "npm publish", "HIGH"));
    bench.press("yes\n");
    let all = bench.effects.iter().find_map(|effect| match effect {
        InboxEffect::DenyAll(list) => Some(list.len()),
        _ => None,
    });
    assert_eq!(all, Some(2), "what came after the question is not meant");
}

#[test]
fn for_this_session_is_offered_where_the_gate_would_take_it() {
    let waiting = medium();
    let mut bench = Bench::new(80, 24, &waiting);
    bench.press("s");
    assert!(bench.shows("The same command"), "{}", bench.text());
    bench.press("y");
    assert_eq!(bench.answers()[0].scope, DecisionScope::Session);
    let mut alone = request(1, "git push", "MEDIUM");
    (alone.session, alone.session_scope) = (None, false);
    for request in [alone, request(2, "rm -rf /", "CRITICAL")] {
        let mut bench = Bench::new(80, 24, &[request]);
        bench.press("sy\n");
        assert_eq!(bench.approvals(), 0);
        assert!(bench.shows("only be approved once"), "{}", bench.text());
    }
}

#[test]
fn for_this_repository_is_offered_where_the_gate_would_take_it() {
    let mut unknown = request(1, "frobnicate", "MEDIUM");
    let mut bench = Bench::new(80, 24, &[unknown.clone()]);
    bench.press("py\n");
    assert_eq!(bench.approvals(), 0);
    assert!(bench.shows("first use of an unknown program"), "{}", bench.text());
    unknown.repository_scope = Some("/srv/shop".to_owned());
    let mut bench = Bench::new(80, 24, &[unknown]);
    bench.press("p");
    assert!(bench.shows("for this repository"), "{}", bench.text());
    bench.press("y");
    assert_eq!(bench.answers()[0].scope, DecisionScope::Repository);
}

#[test]
fn a_pasted_text_is_never_a_command() {
    let waiting = medium();
    let mut bench = Bench::new(80, 24, &waiting);
    bench.tell(InboxEvent::Pasted("ay\nay\n".to_owned()));
    bench.press("a");
    bench.tell(InboxEvent::Pasted("y\n".to_owned()));
    assert_eq!(bench.approvals(), 0);
    let mut bench = Bench::new(80, 24, &[request(1, "rm -rf /srv", "CRITICAL")]);
    bench.press("a");
    bench.tell(InboxEvent::Pasted("we agreed\n".to_owned()));
    assert_eq!(bench.approvals(), 0);
    bench.press("\n");
    assert_eq!(bench.answers()[0].reason, "we agreed");
}

#[test]
fn the_daemon_hears_that_somebody_is_there_not_too_often() {
    let waiting = medium();
    let mut bench = Bench::new(80, 24, &waiting);
    let here =
        |bench: &Bench| bench.effects.iter().filter(|one| **one == InboxEffect::Here).count();
    assert_eq!(here(&bench), 0, "nobody has touched a key");
    bench.press("jkjkjk");
    assert_eq!(here(&bench), 1);
    bench.wait(19_000);
    bench.press("j");
    assert_eq!(here(&bench), 1);
    bench.wait(1000);
    bench.press("j");
    assert_eq!(here(&bench), 2);
}

/// Numbers that look like chance and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % 1_000_003).unwrap() % sides
    }
}

/// Plays keys and a lively world against each other; `watch` sees each moment.
fn play(letters: &str, seed: u64, watch: &mut dyn FnMut(&Bench, u64)) -> usize {
    let kinds = [
        request(1, "git push origin main", "MEDIUM"),
        request(2, "rm -rf /srv/build", "HIGH"),
        request(3, "rm -rf /", "CRITICAL"),
        request(4, "npm install left-pad", "LOW"),
    ];
    let keys = [
        InputKey::Enter,
        InputKey::Up,
        InputKey::Down,
        InputKey::Left,
        InputKey::Right,
        InputKey::Escape,
        InputKey::Backspace,
        InputKey::PageDown,
        InputKey::End,
    ];
    let letters: Vec<char> = letters.chars().collect();
    let mut dice = Dice(seed);
    let mut bench = Bench::new(70, 20, &kinds[..2]);
    bench.blind = true;
    // The first card came up when the bench was set up.
    let mut moved = 0;
    for _ in 0..150 {
        let stood = bench.inbox.list.current().map(|entry| entry.id.clone());
        let number = dice.roll(kinds.len());
        match dice.roll(24) {
            0 => bench.asked(&kinds[number]),
            1 => {
                let state = ["cancelled", "approved", "expired"][dice.roll(3)];
                bench.tell(InboxEvent::Changed(Box::new(ended(&kinds[number], state))));
            }
            2 => bench.wait(dice.roll(6000) as u64),
            3 => bench.tell(InboxEvent::Listed(kinds[..number].to_vec())),
            4 => bench.tell(InboxEvent::Pasted("yes\ny\nbecause\n".to_owned())),
            5 => bench.tell(InboxEvent::Link(if number == 0 {
                Link::Down("away".to_owned())
            } else {
                Link::Up
            })),
            6..9 => bench.wait(450),
            at => {
                let letter = letters[dice.roll(letters.len())];
                let key =
                    if at < 13 { keys[dice.roll(keys.len())] } else { InputKey::Char(letter) };
                bench.key(key);
                watch(&bench, moved);
            }
        }
        if bench.inbox.list.current().map(|entry| entry.id.clone()) != stood {
            moved = bench.steady;
        }
    }
    bench.approvals()
}

#[test]
fn nothing_is_approved_without_an_a_or_an_s_whatever_else_is_typed() {
    for seed in 1..60 {
        // q is left out only because it would end the game.
        let letters = "yYnNdxjkghlG/?b eiorty0123456789-.";
        let given = play(letters, seed * 7919, &mut |_, _| {});
        assert_eq!(given, 0, "seed {seed}");
    }
}

#[test]
fn what_is_approved_was_looked_at_long_enough_and_is_still_the_same() {
    let mut given = 0;
    for seed in 1..120 {
        let mut before = 0;
        given += play("aayyyysyolive", seed * 104_729, &mut |bench, moved| {
            let answers = bench.answers();
            let new =
                answers.iter().skip(before).filter(|one| one.choice == DecisionChoice::Approve);
            for answer in new {
                let entry = bench.inbox.list.current().unwrap();
                assert_eq!((&answer.id, &answer.digest), (&entry.id, &entry.request.digest));
                assert!(bench.steady - moved >= SETTLE, "seed {seed}");
            }
            before = answers.len();
        });
    }
    assert!(given > 5, "the game must reach approvals to say anything: {given}");
}

#[test]
fn one_key_freezes_everything_and_says_whether_it_did() {
    let mut bench = Bench::new(80, 24, &medium());
    bench.press("f");
    let freezes = |bench: &Bench| {
        bench.effects.iter().filter(|effect| **effect == InboxEffect::Freeze).count()
    };
    assert_eq!(freezes(&bench), 0);
    bench.press("F");
    assert_eq!((freezes(&bench), bench.approvals()), (1, 0));
    bench.tell(InboxEvent::Frozen(Err("the daemon does not respond".to_owned())));
    assert!(bench.shows("Not frozen: the daemon does not respond"), "{}", bench.text());
    bench.tell(InboxEvent::Frozen(Ok(())));
    assert!(bench.shows("Frozen. Every call is refused"), "{}", bench.text());
    // In a text, it is a letter.
    bench.press("dFor now\n");
    assert_eq!((freezes(&bench), &*bench.answers()[0].reason), (1, "For now"));
}
