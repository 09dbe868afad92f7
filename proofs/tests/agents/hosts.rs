//! The hosts as they are: what each does with its hook's answer, its silence and its death.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use countersign_gateways::live::{SUBJECTS, Scratch, named};

use crate::bench::{HARM, trial};
use crate::by_hand;

#[test]
fn without_a_gate_the_harm_is_done() {
    let only = std::env::var("AGENT").ok();
    for subject in SUBJECTS {
        if only.as_deref().is_some_and(|name| name != subject.name) {
            continue;
        }
        let Some(trial) = trial(subject, HARM, 90, |_| {}) else { continue };
        println!("{} {:?} {}", subject.name, trial.run.took, trial.ran);
    }
}

const WRAP: &str = r#"/bin/sh -c 'o=$(timeout -k 1 SECONDS "$0" hook) && case $o in {*}) printf %s "$o"; exit 0;; esac; printf %s "$1"' PROGRAM 'DENIAL'"#;

#[test]
fn explore() {
    let only = std::env::var("AGENT").unwrap_or_default();
    let cases = std::env::var("CASES").unwrap_or_default();
    for name in ["claude", "codex", "gemini", "copilot"] {
        if !only.is_empty() && only != name {
            continue;
        }
        let denial = by_hand::denial(name, "No, says the fake.");
        let behaviours: Vec<(&str, String, u64)> = vec![
            ("deny", format!("printf '%s' '{denial}'"), 20),
            ("pass", "exit 0".to_owned(), 20),
            ("object", "printf '{}'".to_owned(), 20),
            ("exit1", "exit 1".to_owned(), 20),
            ("exit2", "exit 2".to_owned(), 20),
            ("exit2said", "echo no >&2; exit 2".to_owned(), 20),
            ("crash", "kill -SEGV $$".to_owned(), 20),
            ("garbage", "echo nonsense".to_owned(), 20),
            ("partial", format!("printf '%s' '{}'; kill -9 $$", &denial[..30]), 20),
            ("silent", "exec sleep 30".to_owned(), 4),
            ("slow", format!("sleep 4; printf '%s' '{denial}'"), 20),
            ("empty", String::new(), 20),
            ("missing", String::new(), 20),
            ("killparent", "kill -9 $PPID; sleep 1".to_owned(), 20),
        ];
        for (case, script, seconds) in behaviours {
            if !cases.is_empty() && !cases.split(',').any(|one| one == case) {
                continue;
            }
            for wrapped in [false, true] {
                let put_up = |scratch: &mut Scratch| {
                    let program = scratch.home().join("fake");
                    if case != "missing" {
                        let text = if case == "empty" {
                            String::new()
                        } else {
                            format!("#!/bin/sh\ncat >/dev/null\n{script}\n")
                        };
                        fs::write(&program, text).unwrap();
                        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
                    }
                    let program = program.display().to_string();
                    let command = if wrapped {
                        let own = (seconds - 2).to_string();
                        let text = WRAP.replace("SECONDS", &own).replace("PROGRAM", &program);
                        text.replace("DENIAL", &by_hand::denial(name, "No, says the shell."))
                    } else {
                        format!("{program} hook")
                    };
                    by_hand::put_up(name, scratch, &command, seconds);
                };
                let Some(trial) = trial(named(name).unwrap(), HARM, 60, put_up) else { continue };
                let told = trial.told();
                let told: String = told.chars().take(300).collect();
                println!(
                    "{name:8} {case:10} {:8} {:5} proposed={} {:.1}s {told}",
                    if wrapped { "wrapped" } else { "bare" },
                    if trial.ran { "RUNS" } else { "shut" },
                    trial.seen.proposed,
                    trial.run.took.as_secs_f32(),
                );
            }
        }
    }
}
