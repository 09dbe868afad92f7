//! Auto-approved questions a second, in turn at three servers, by wrk.

use std::io::{self, BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{HARMLESS, installation};
use crate::measure::{at, ratio};

/// How long each visit takes, in seconds.
const VISIT: &str = "2";

/// A yardstick that tells its port on its first line. Dropping it kills it.
struct Server {
    child: Child,
    endpoint: SocketAddr,
}

impl Server {
    fn start(command: &mut Command) -> io::Result<Server> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let port: u16 = line.trim().parse().map_err(|_| io::Error::other("no port"))?;
        Ok(Server { child, endpoint: ([127, 0, 0, 1], port).into() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Visits every server in turn and prints the medians of the ratios.
pub fn agent_run(folder: &Path, rounds: usize) -> io::Result<()> {
    if Command::new("wrk").arg("-v").output().is_err() {
        println!("\ngate: wrk is not installed, so requests a second are not measured");
        return Ok(());
    }
    let script = script(folder)?;
    let gate = installation(folder)?.start()?;
    let beside = std::env::current_exe()?.with_file_name("bare");
    let bare = Server::start(&mut Command::new(beside))?;
    let seed = python().and_then(|python| {
        Server::start(Command::new(python).arg(Path::new(SOURCE).join("seed_daemon.py")))
    });
    if let Err(error) = &seed {
        println!("\ngate: no aiohttp ({error}), so the first daemon's shape is not measured");
    }
    println!("\ngate: auto-approved questions a second, medians of {rounds} rounds in turn");
    println!(
        "{:>12} {:>9} {:>9} {:>9} {:>10} {:>10}",
        "connections", "gate", "bare", "seed", "gate/bare", "gate/seed"
    );
    for connections in ["16", "64"] {
        let (mut ours, mut bares, mut seeds) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds.max(1) {
            ours.push(visit(gate.agents, connections, &script)?);
            bares.push(visit(bare.endpoint, connections, &script)?);
            if let Ok(seed) = &seed {
                seeds.push(visit(seed.endpoint, connections, &script)?);
            }
        }
        println!(
            "{connections:>12} {:>9} {:>9} {:>9} {:>10.2} {:>10.2}",
            median(&ours),
            median(&bares),
            median(&seeds),
            ratios(&ours, &bares),
            ratios(&ours, &seeds)
        );
    }
    Ok(())
}

const SOURCE: &str = env!("CARGO_MANIFEST_DIR");

/// wrk's script: the same question each time.
fn script(folder: &Path) -> io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let file = folder.join("post.lua");
    let text = format!(
        "wrk.method = \"POST\"\nwrk.body = [[{HARMLESS}]]\n\
         wrk.headers[\"Content-Type\"] = \"application/json\"\n"
    );
    std::fs::write(&file, text)?;
    Ok(file)
}

/// A Python with aiohttp, in a folder of its own.
fn python() -> io::Result<PathBuf> {
    let venv = Path::new(SOURCE).join("../target/seed-venv");
    let python = venv.join("bin/python");
    if !python.is_file() {
        Command::new("python3").args(["-m", "venv"]).arg(&venv).status()?;
        Command::new(&python).args(["-m", "pip", "-q", "install", "aiohttp"]).status()?;
    }
    let has = Command::new(&python).args(["-c", "import aiohttp"]).status()?;
    if has.success() { Ok(python) } else { Err(io::Error::other("it cannot be installed")) }
}

/// Requests a second; nothing but the right answers counts.
fn visit(endpoint: SocketAddr, connections: &str, script: &Path) -> io::Result<u64> {
    let words = ["-t1", "-c", connections, "-d", VISIT, "-s"];
    let url = format!("http://{endpoint}/confirm");
    let out = Command::new("wrk").args(words).arg(script).arg(url).output()?;
    let text = String::from_utf8_lossy(&out.stdout);
    if text.contains("Non-2xx") || text.contains("Socket errors") {
        return Err(io::Error::other(format!("{endpoint}: {text}")));
    }
    let figure = text.lines().find_map(|line| line.strip_prefix("Requests/sec:"));
    let figure = figure.and_then(|figure| figure.trim().split('.').next()?.parse().ok());
    figure.ok_or_else(|| io::Error::other(text.into_owned()))
}

fn median(figures: &[u64]) -> u64 {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable();
    at(&sorted, 500)
}

/// The median of the ratios of each round.
fn ratios(one: &[u64], other: &[u64]) -> f64 {
    let mut ratios: Vec<f64> = one.iter().zip(other).map(|(&a, &b)| ratio(a, b)).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
}
