//! `countersign service install` with a real systemd: what it installs, who can do what to it, and
//! that it comes back after a crash.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use proof_skip::{Cause, skip};
use serde_json::Value;
use tempfile::TempDir;

use super::fake_daemon::{stderr, stdout};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gate/service_machine.sh");
const ATTACKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../proofs/tests/gate/own_user.py");
const SYSTEMD: &str = "/lib/systemd/systemd";
const HANG: Duration = Duration::from_mins(2);

/// A machine with systemd, in namespaces of its own.
struct Machine {
    outside: Child,
    /// The id of its systemd on this machine.
    systemd: String,
    _folder: TempDir,
}

impl Machine {
    /// None if systemd cannot be started in namespaces here.
    fn boot() -> Option<Machine> {
        let folder = tempfile::tempdir().unwrap();
        let programs = Path::new(env!("CARGO_BIN_EXE_countersign")).parent().unwrap();
        let mut command = Command::new("unshare");
        let own = ["--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "--fork"];
        command.args(own).args(["--kill-child", "bash", SCRIPT]).arg(folder.path()).arg(programs);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut outside = quiet.spawn().ok()?;
        let children = format!("/proc/{0}/task/{0}/children", outside.id());
        let started = Instant::now();
        while started.elapsed() < HANG && outside.try_wait().unwrap().is_none() {
            let child = fs::read_to_string(&children).unwrap_or_default().trim().to_owned();
            let name = fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
            if name.trim() == "systemd" {
                let machine = Machine { outside, systemd: child, _folder: folder };
                until("systemd runs", || {
                    stdout(&machine.run("systemctl is-system-running")).trim() == "running"
                });
                return Some(machine);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = outside.kill();
        let _ = outside.wait();
        None
    }

    /// What enters the machine.
    fn entry(&self) -> Vec<String> {
        let words = format!("nsenter -t {} -m -p -n -u -i -C -r -w env -i", self.systemd);
        let path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        words.split(' ').chain([path, "NO_COLOR=1"]).map(str::to_owned).collect()
    }

    /// Runs a shell text on the machine as root.
    fn run(&self, text: &str) -> Output {
        let entry = self.entry();
        let mut command = Command::new(&entry[0]);
        command.args(&entry[1..]).args(["sh", "-c", text]).stdin(Stdio::null()).output().unwrap()
    }

    /// The same, and it must succeed; returns what it printed.
    fn done(&self, text: &str) -> String {
        let output = self.run(text);
        assert!(output.status.success(), "{text}: {}{}", stdout(&output), stderr(&output));
        stdout(&output)
    }

    /// Runs a shell text as a user without further rights.
    fn run_as(&self, user: &str, text: &str) -> Output {
        let drop = "--init-groups --no-new-privs --inh-caps=-all --bounding-set=-all";
        self.run(&format!("setpriv --reuid={user} --regid={user} {drop} env HOME=/tmp {text}"))
    }

    /// Runs a shell text on a terminal of its own; returns what the screen shows.
    fn on_terminal(&self, text: &str) -> String {
        let command = format!("{} {text}", self.entry().join(" "));
        let mut script = Command::new("script");
        let output = script.args(["-qec", &command, "/dev/null"]).stdin(Stdio::null()).output();
        stdout(&output.unwrap())
    }

    /// The id of the service's process, seen on the machine.
    fn daemon(&self) -> String {
        self.done("systemctl show --value --property MainPID countersign").trim().to_owned()
    }

    /// What the script of an agent printed, run as a user.
    fn script(&self, user: &str, request: &str, mode: &str) -> Value {
        let daemon = self.daemon();
        let words = format!("python3 /layout/agent.py /layout 6000 6001 {daemon} {request} {mode}");
        let output = self.run_as(user, &words);
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // With its first process, all others of the machine end.
        let _ = Command::new("kill").args(["-KILL", &self.systemd]).status();
        let _ = self.outside.wait();
    }
}

/// Waits for an event.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < HANG, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The places of the service under the names that the script of the agent knows.
const LAYOUT: &str = "mkdir -p /layout/bin
    ln -s /var/lib/countersign /layout/state
    ln -s /run/countersign /layout/run
    ln -s /etc/countersign/countersign.toml /layout/countersign.toml
    ln -s /etc/systemd/system/countersign.service /layout/countersign.service
    ln -s /usr/local/bin/countersign /layout/bin/gate
    chmod 644 /layout/agent.py";

/// Owners and modes as in docs/service.md.
const FILES: [(&str, &str); 7] = [
    ("/usr/local/bin/countersign", "root:root 755"),
    ("/usr/local/bin/countersign-hook", "root:root 755"),
    ("/etc/countersign/countersign.toml", "root:countersign 640"),
    ("/etc/countersign/daemon.pub", "root:root 644"),
    ("/var/lib/countersign", "countersign:countersign 700"),
    ("/run/countersign/agents.sock", "countersign:countersign-agents 660"),
    ("/etc/systemd/system/countersign.service", "root:root 644"),
];

#[test]
fn a_system_service_is_installed_protected_restarted_and_removed() {
    if stdout(&Command::new("id").arg("-u").output().unwrap()).trim() != "0" {
        return skip(Cause::Machine, "only root can start a systemd in namespaces");
    }
    if !Path::new(SYSTEMD).exists() {
        return skip(Cause::Machine, "systemd is not installed");
    }
    let Some(machine) = Machine::boot() else {
        return skip(Cause::Machine, "systemd does not start in namespaces here");
    };
    machine.done("useradd --create-home mia && useradd --create-home leo");
    let install = "/run/programs/countersign service install --system --own-user --agent-user mia";
    let screen = machine.on_terminal(install);
    let passphrase = screen.lines().find_map(|line| line.strip_prefix("    "));
    let passphrase = passphrase.unwrap_or_else(|| panic!("{screen}")).trim().to_owned();
    assert!(screen.contains("The daemon answers at unix:/run/countersign/agents.sock"), "{screen}");
    let status = machine.done("countersign service status");
    assert!(status.contains("The system service runs"), "{status}");
    assert!(status.contains("Its key is the one in /etc/countersign/daemon.pub"), "{status}");
    for (path, access) in FILES {
        assert_eq!(machine.done(&format!("stat -c '%U:%G %a' {path}")).trim(), access, "{path}");
    }
    // The passphrase went to the terminal and nowhere else.
    let everywhere =
        format!("grep -rl -e {passphrase} /etc /var/lib/countersign /var/log /run /tmp");
    assert_eq!(stdout(&machine.run(&everywhere)), "", "the passphrase was written to a file");
    let journal = machine.done("journalctl --no-pager --unit countersign");
    assert!(!journal.contains(&passphrase), "{journal}");
    assert!(journal.contains("Countersign is running"), "{journal}");
    // The agent's user reaches R1, and can ask and nothing else.
    let doctor = stdout(&machine.run_as("mia", "countersign doctor"));
    assert!(doctor.starts_with("R1, own user"), "{doctor}");
    agent_can_only_ask(&machine);
    comes_back_after_a_crash(&machine);
    machine.done("countersign service restart");
    until("the daemon answers again", || {
        machine.run("countersign service status").status.success()
    });
    let removed = machine.done("countersign service uninstall");
    assert!(removed.contains("Kept: /etc/countersign/countersign.toml"), "{removed}");
    machine.done("test -e /var/lib/countersign/countersign.db");
    assert!(!machine.run("systemctl cat countersign").status.success());
    assert!(!machine.run("pgrep -x countersign").status.success(), "the daemon still runs");
}

fn agent_can_only_ask(machine: &Machine) {
    let text = fs::read_to_string(ATTACKS).unwrap();
    let words = "mkdir /layout && cat > /layout/agent.py";
    let entry = machine.entry();
    let mut command = Command::new(&entry[0]);
    let command = command.args(&entry[1..]).args(["sh", "-c", words]).stdin(Stdio::piped());
    let mut writer = command.spawn().unwrap();
    std::io::Write::write_all(&mut writer.stdin.take().unwrap(), text.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
    machine.done(LAYOUT);
    let asked = machine.script("mia", "-", "submit");
    assert_eq!(asked["safe"][1]["state"], "approved", "{asked}");
    assert_eq!(asked["risky"][1]["state"], "pending", "{asked}");
    let request = asked["risky"][1]["id"].as_str().unwrap();
    let attempts: BTreeMap<String, String> =
        serde_json::from_value(machine.script("mia", request, "attack")).unwrap();
    assert!(attempts.len() > 30, "{attempts:?}");
    for (name, result) in &attempts {
        assert_ne!(result, "done", "the agent's user can {name}");
    }
    // A user outside the group cannot even ask.
    assert_ne!(machine.script("leo", "-", "connect")["connect"], "done");
}

fn comes_back_after_a_crash(machine: &Machine) {
    let before = machine.daemon();
    machine.done(&format!("kill -KILL {before}"));
    until("systemd starts the daemon again", || {
        let now = machine.daemon();
        now != "0" && now != before && machine.run("countersign service status").status.success()
    });
    let status = machine.done("countersign service status");
    assert!(status.contains("1 pending"), "the request was lost: {status}");
}
