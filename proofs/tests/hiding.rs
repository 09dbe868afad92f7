//! Every place in shell text where bash runs a command is a place where we find it.
//!
//! Bash itself is the oracle: it runs each text with a harmless function in the place.

#[cfg(test)]
mod hiding {
    use std::process::{Command, Stdio};

    use countersign_risk::assess::with_all_readers;
    use countersign_risk::command_text;
    use countersign_risk::context::Context;
    use countersign_risk::finding::Findings;
    use countersign_shell::posix;
    use countersign_types::tier::Tier;
    use proof_skip::{Cause, skip};

    /// Places where bash runs a command and we do not see it yet. The list is to be emptied.
    const OPEN: &[&str] = &[];

    /// A substitution of the command, in both spellings.
    fn substitutions(command: &str) -> [String; 2] {
        [format!("$({command})"), format!("`{command}`")]
    }

    /// Texts with `@@` where a substitution stands.
    fn places() -> Vec<String> {
        let lines = include_str!("../corpus/places.txt").lines();
        let blocks = include_str!("../corpus/places_lines.txt").split("%%\n");
        lines.chain(blocks).map(str::to_owned).collect()
    }

    /// Places where the bare command stands. An editor would not leave these line ends alone.
    const BARE: [&str; 8] = [
        "echo a \\\r\n@@",
        "echo a \r\n@@ x",
        "echo a # \\\n@@",
        "cat <<E\nE\r\nE\n@@",
        "echo 'a\\'\n@@",
        "echo a\\\\\n@@",
        "echo \"\\\\\"\n@@",
        "echo $'\\\\'\n@@",
    ];

    /// Whether bash runs the function `probe` when it runs the text.
    fn runs(text: &str) -> bool {
        let script = format!("probe() {{ echo RAN >&7; echo 0; }}\n{text}\n");
        let output = Command::new("bash")
            .args(["--norc", "-O", "extglob", "-c"])
            .arg(format!("exec 7>&1 >/dev/null 2>/dev/null\n{script}"))
            .current_dir(env!("CARGO_TARGET_TMPDIR"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).contains("RAN")
    }

    #[test]
    fn what_bash_runs_we_find() {
        if !Command::new("bash").arg("--version").output().is_ok_and(|o| o.status.success()) {
            return skip(Cause::Tool, "bash is not installed");
        }
        let mut seen = Seen::default();
        for place in places() {
            for (probe, harm) in substitutions("probe").iter().zip(substitutions("rm -rf ~/")) {
                seen.look(&place, probe, &harm);
            }
        }
        for place in BARE {
            seen.look(place, "probe", "rm -rf ~/");
        }
        println!("bash runs {} texts, {} are open", seen.ran, seen.open);
        let missed = seen.missed.join("\n");
        assert!(seen.missed.is_empty(), "{} not seen:\n{missed}", seen.missed.len());
    }

    #[derive(Default)]
    struct Seen {
        ran: usize,
        open: usize,
        missed: Vec<String>,
    }

    impl Seen {
        fn look(&mut self, place: &str, probe: &str, harm: &str) {
            let text = place.replace("@@", probe);
            if !runs(&text) {
                println!("bash does not run it: {text:?}");
                return;
            }
            self.ran += 1;
            let found = posix::commands(&text).contains(&Some("probe".to_owned()));
            let readable = posix::check(&text).is_ok();
            let mut findings = Findings::default();
            let harmful = place.replace("@@", harm);
            command_text::read(&harmful, &with_all_readers(Context::default()), &mut findings);
            let tier = findings.tier();
            let assessed = tier >= if readable { Tier::High } else { Tier::Medium };
            if assessed && (found || !readable) {
                return;
            }
            let line = format!("{text:?}: found {found}, with harm {}", tier.label());
            if OPEN.contains(&place) {
                println!("open: {line}");
                self.open += 1;
            } else {
                self.missed.push(line);
            }
        }
    }
}
