//! Cold start: a fresh process for one command, compared with an empty program and `/bin/true`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use countersign_gateways::install::HookCommand;

use crate::measure::{at, micros, ratio, time};

/// What Claude Code tells its hook before a call that only reads.
const READS: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/srv",
    "tool_name":"Read","tool_use_id":"toolu_1","tool_input":{"file_path":"/srv/notes.txt"}}"#;

struct Program {
    name: &'static str,
    path: PathBuf,
    arguments: Vec<String>,
    runs: Vec<u64>,
}

/// Starts each program once a round, in random order, and prints.
pub fn agent_run(rounds: usize) -> Result<(), String> {
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let beside = |name: &str| here.with_file_name(name);
    let program = |name, path, words: &[&str]| {
        let arguments = words.iter().map(|&word| word.to_owned()).collect();
        Program { name, path, arguments, runs: Vec::new() }
    };
    let small = beside("countersign-hook");
    let ours = HookCommand { program: small.display().to_string(), patience: 60, daemon_key: None };
    let mut programs = vec![
        program("an empty Rust program", beside("empty"), &[]),
        program("/bin/true", PathBuf::from("/bin/true"), &[]),
        program("countersign assess, safe", beside("countersign"), &["assess", "git status"]),
        program("countersign assess, risky", beside("countersign"), &["assess", "rm -rf /srv"]),
        program("countersign-hook, a read", small, &["hook", "claude"]),
        program("  as installed, in its shell", "/bin/sh".into(), &["-c", &ours.gate("claude")]),
        program("countersign hook, a read", beside("countersign"), &["hook", "claude"]),
        program("countersign --version", beside("countersign"), &["--version"]),
    ];
    let home = std::env::temp_dir().join(format!("countersign-bench-{}", std::process::id()));
    std::fs::create_dir_all(&home).map_err(|e| e.to_string())?;
    std::fs::write(home.join("call.json"), READS).map_err(|e| e.to_string())?;
    programs.retain(|p| {
        let there = p.path.exists();
        if !there {
            println!("\n{} is not built: cargo build --release -p countersign", p.path.display());
        }
        there
    });
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..rounds {
        let mut order: Vec<usize> = (0..programs.len()).collect();
        while !order.is_empty() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let pick = usize::try_from(random >> 33).unwrap_or(0) % order.len();
            let Some(program) = programs.get_mut(order.swap_remove(pick)) else { continue };
            let nanos = time(|| start(program, &home));
            program.runs.push(nanos);
        }
    }
    print(&programs, rounds);
    std::fs::remove_dir_all(&home).map_err(|e| e.to_string())
}

fn start(program: &Program, home: &Path) {
    // Every program gets the same input and the same home, so that only the program differs.
    let input = File::open(home.join("call.json")).map_or_else(|_| Stdio::null(), Stdio::from);
    let _ = Command::new(&program.path)
        .args(&program.arguments)
        .env("COUNTERSIGN_STATE", home.join("state"))
        .stdin(input)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

fn print(programs: &[Program], rounds: usize) {
    println!("\ncold start: {rounds} rounds, random order");
    println!("{:34} {:>9} {:>9} {:>9}  median ratio", "µs", "median", "p90", "p99");
    let Some(empty) = programs.first() else { return };
    for program in programs {
        let mut sorted = program.runs.clone();
        sorted.sort_unstable();
        let pairs = program.runs.iter().zip(&empty.runs);
        let mut ratios: Vec<f64> = pairs.map(|(&this, &empty)| ratio(this, empty)).collect();
        ratios.sort_by(f64::total_cmp);
        println!(
            "{:34} {:>9} {:>9} {:>9}  {:.2}",
            program.name,
            micros(at(&sorted, 500)),
            micros(at(&sorted, 900)),
            micros(at(&sorted, 990)),
            ratios.get(ratios.len() / 2).copied().unwrap_or(0.0)
        );
    }
}
