//! Hostile input: no panic, no hang, and never SAFE because of its size.
//!
//! Clocks are only a guard against hangs here; how the work grows is measured in `benches/`.

#[cfg(test)]
mod hostile {
    use std::time::{Duration, Instant};

    use countersign_crisis::{ScreenOptions, screen};
    use countersign_json as json;
    use countersign_risk::assess::assess;
    use countersign_risk::assess::with_all_readers;
    use countersign_risk::call::Call;
    use countersign_risk::context::Context;
    use countersign_risk::finding::Findings;
    use countersign_risk::readers::read_shell;
    use countersign_risk::verdict::Policy;
    use countersign_shell::posix;
    use countersign_text::sanitize;
    use countersign_types::tier::Tier;
    use proofs::families::{JSON, SHELL, TEXT};

    const KIB: usize = 1024;
    /// Only a hang takes so long, even unoptimised on a busy machine.
    const HANG: Duration = Duration::from_mins(1);

    /// Families that overflow the stack or grow without bound today, with the size at which they
    /// are still harmless. The list is to be emptied.
    const OPEN: [(&str, usize); 0] = [];

    /// The text of a family, or a smaller one while its fault is open.
    fn text(name: &str, make: fn(usize) -> String, size: usize) -> String {
        let open = OPEN.iter().find(|(n, _)| *n == name);
        make(open.map_or(size, |(_, harmless)| size.min(*harmless)))
    }

    fn read(text: &str) -> Findings {
        let mut findings = Findings::default();
        read_shell(text, 0, &with_all_readers(Context::default()), 0, &mut findings);
        findings
    }

    #[test]
    fn shell_families_end() {
        for (name, make) in SHELL {
            for size in [KIB, 16 * KIB, 64 * KIB, countersign_shell::MAX_BYTES] {
                let text = text(name, *make, size);
                let start = Instant::now();
                let findings = read(&text);
                assert!(start.elapsed() < HANG, "{name}: {:?} for {size}", start.elapsed());
                if posix::check(&text).is_err() {
                    assert!(findings.tier() >= Tier::Medium, "{name}: {:?}", findings.tier());
                }
            }
        }
    }

    #[test]
    fn what_is_too_long_is_high() {
        for (name, make) in SHELL {
            let text = make(1024 * KIB + 4096);
            if text.len() > countersign_shell::MAX_BYTES {
                let tier = read(&text).tier();
                assert!(tier >= Tier::High, "{name}: {} bytes are {tier:?}", text.len());
            }
        }
    }

    #[test]
    fn what_hides_behind_the_budget_is_not_safe() {
        let padding: [(&str, String); 6] = [
            ("commands", "ls;".repeat(20_000)),
            ("blocks", "{ ls; };".repeat(8_000)),
            ("loops", "for a in 1 2 3 4 5 6; do ls; done;".repeat(1_500)),
            ("variables", "a=b;".repeat(15_000)),
            ("words", "echo ".to_owned() + &"a ".repeat(30_000) + ";"),
            ("evals", "eval ls;".repeat(7_000)),
        ];
        for (name, before) in padding {
            let tier = read(&(before + "rm -rf /")).tier();
            assert!(tier >= Tier::High, "{name}: {tier:?}");
        }
    }

    #[test]
    fn the_whole_assessment_ends() {
        for (name, make) in SHELL {
            let text = text(name, *make, 64 * KIB);
            let start = Instant::now();
            let found = assess(&Call::shell(&text), &Policy::default());
            assert!(start.elapsed() < HANG, "{name}: {:?}", start.elapsed());
            if posix::check(&text).is_err() {
                assert!(found.tier >= Tier::Medium, "{name}: {:?}", found.tier);
            }
        }
    }

    #[test]
    fn screening_ends() {
        for (name, make) in TEXT.iter().chain(JSON).chain(SHELL) {
            let text = make(64 * KIB);
            let start = Instant::now();
            let _ = screen(&text, &ScreenOptions::default());
            assert!(start.elapsed() < HANG, "{name}: {:?}", start.elapsed());
        }
    }

    #[test]
    fn json_families_end() {
        for (name, make) in JSON {
            for size in [KIB, 64 * KIB, 1024 * KIB - 4096] {
                let text = make(size);
                let start = Instant::now();
                if let Ok(value) = json::parse(&text) {
                    let canonical = countersign_json::canonical::canonical(&value);
                    assert!(json::parse_within(&canonical.text, usize::MAX).is_ok(), "{name}");
                    let _ = Call::from_json(&value);
                }
                assert!(start.elapsed() < HANG, "{name}: {:?} for {size}", start.elapsed());
            }
        }
    }

    #[test]
    fn json_that_is_too_long_or_too_deep_is_refused() {
        assert!(json::parse(&"[".repeat(1024 * KIB)).is_err());
        assert!(json::parse(&"[".repeat(2048 * KIB)).is_err());
        let deep = "[".repeat(json::MAX_DEPTH + 1) + &"]".repeat(json::MAX_DEPTH + 1);
        assert!(json::parse(&deep).is_err());
        let string = format!("\"{}\"", "a".repeat(json::MAX_BYTES));
        assert!(json::parse(&string).is_err());
    }

    #[test]
    fn what_is_shown_ends() {
        for (name, make) in SHELL {
            let text = make(64 * KIB);
            let start = Instant::now();
            let shown = sanitize::sanitize_within(&text, 4 * KIB);
            assert!(shown.text.len() < 5 * KIB, "{name}");
            assert!(start.elapsed() < HANG, "{name}: {:?}", start.elapsed());
        }
    }
}
