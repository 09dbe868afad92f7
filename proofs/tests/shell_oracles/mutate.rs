//! Texts of the corpus, damaged at random: never a panic, never much work, rarely too lenient.

use std::time::{Duration, Instant};

use countersign_risk::assess::with_all_readers;
use countersign_risk::context::Context;
use countersign_risk::finding::Findings;
use countersign_risk::readers::read_shell;
use countersign_shell::posix;
use countersign_types::tier::Tier;

use crate::{bash, corpus};

/// How many damaged texts are read …
const READ: usize = 20_000;
/// … and every so many of them are shown to bash.
const SHOWN: usize = 10;
/// Only a hang takes so long.
const HANG: Duration = Duration::from_mins(1);

const BITS: [&str; 24] = [
    "$(", ")", "`", "\"", "'", "\\", "${", "}", "((", "))", "[[", "]]", "<<E\n", "\nE\n", "|", "&",
    ";", "\n", "<(", "fi", "do", "esac", "{ ", "\r\n",
];

/// A small generator of our own: the same texts in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % n.max(1)
    }
}

fn damage(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        match random.below(5) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => {
                bytes.remove(at);
            }
            2 if at < bytes.len() => bytes[at] = u8::try_from(1 + random.below(127)).unwrap(),
            3 => {
                let tail = bytes.split_off(at);
                bytes.extend(tail.iter().take(8));
                bytes.extend(&tail);
            }
            _ => {
                let bit = BITS[random.below(BITS.len())];
                bytes.splice(at..at, bit.bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn damaged_texts_are_read_without_harm() {
    // One in four from the grammar, the others from all texts: the rules' plain lines are many.
    let corpora = [corpus::grammar(), corpus::all()];
    let mut random = Random(0x5eed_1234_5678_9abc);
    let mut shown = Vec::new();
    for round in 0..READ {
        let texts = &corpora[usize::from(random.below(4) > 0)];
        let text = damage(&texts[random.below(texts.len())], &mut random);
        let start = Instant::now();
        let mut findings = Findings::default();
        read_shell(&text, 0, &with_all_readers(Context::default()), 0, &mut findings);
        let _ = posix::commands(&text);
        assert!(start.elapsed() < HANG, "{:?} for {text:?}", start.elapsed());
        if posix::check(&text).is_err() {
            assert!(
                findings.tier() >= Tier::Medium,
                "unreadable and {:?}: {text:?}",
                findings.tier()
            );
        }
        if round % SHOWN == 0 && !text.contains('\0') {
            shown.push(text);
        }
    }
    if bash::missing() {
        return;
    }
    let accepted = bash::accepts_all(&shown);
    let (mut lenient, mut by_design, mut strict) = (0usize, 0usize, 0usize);
    for (text, accepted) in shown.iter().zip(accepted) {
        match (accepted, posix::check(text)) {
            // The grammar inside these is not ours to check: see `exceptions::OURS_LAXER`.
            (false, Ok(())) if text.contains("[[") || text.contains("((") => by_design += 1,
            (false, Ok(())) => {
                println!("bash refuses it, we read it: {text:?}");
                lenient += 1;
            }
            (true, Err(problem)) => {
                println!("bash reads it, we say {problem:?}: {text:?}");
                strict += 1;
            }
            _ => {}
        }
    }
    let all = shown.len();
    println!("of {all} damaged texts {strict} only bash reads, {lenient} only we read");
    println!("and {by_design} more that hold `[[` or `((`");
    assert!(lenient * 50 <= all, "{lenient} of {all} are read too leniently");
}
