//! `doctor` as the user of an agent, against a daemon of another user: the level, and each reason
//! why it is not reached.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use proof_skip::{Cause, skip};
use serde_json::Value;

/// Two users and the group of the agents; removed with the test.
struct Accounts {
    daemon: String,
    agent: String,
    group: String,
}

impl Accounts {
    fn create() -> Option<Accounts> {
        let name = |role: &str| format!("cs-level-{role}-{}", std::process::id());
        let accounts =
            Accounts { daemon: name("daemon"), agent: name("agent"), group: name("group") };
        let plain = ["--system", "--no-create-home", "--user-group"];
        let user = |name: &str| succeeds(&[&["useradd"], &plain[..], &[name]].concat());
        let made = succeeds(&["groupadd", "--system", &accounts.group]);
        (made && user(&accounts.daemon) && user(&accounts.agent)).then_some(accounts)
    }

    /// A program as a user, with these groups.
    fn command(user: &str, groups: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={user}"), format!("--regid={}", id("-g", user))]);
        command.args([&format!("--groups={groups}"), "--inh-caps=-all", "--no-new-privs"]);
        command.env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
        command
    }
}

impl Drop for Accounts {
    fn drop(&mut self) {
        for user in [&self.daemon, &self.agent] {
            succeeds(&["userdel", user]);
        }
        succeeds(&["groupdel", &self.group]);
    }
}

fn succeeds(words: &[&str]) -> bool {
    let mut command = Command::new(words[0]);
    let status = command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn id(which: &str, user: &str) -> u32 {
    let output = Command::new("id").args([which, user]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A daemon as the system service runs it, in a folder of root.
struct OwnUserDaemon {
    child: Child,
    folder: PathBuf,
    people: String,
}

impl OwnUserDaemon {
    fn start(folder: &Path, accounts: &Accounts) -> OwnUserDaemon {
        let (uid, gid) = (id("-u", &accounts.daemon), id("-g", &accounts.daemon));
        set_mode(folder, 0o755);
        let folders = [("state", 0o700, uid), ("run", 0o755, uid), ("bin", 0o755, 0)];
        let agent = id("-u", &accounts.agent);
        for (name, mode, owner) in folders.into_iter().chain([("home", 0o755, agent)]) {
            let path = folder.join(name);
            fs::create_dir(&path).unwrap();
            set_mode(&path, mode);
            chown(&path, Some(owner), None).unwrap();
        }
        let program = folder.join("bin/countersign");
        fs::copy(env!("CARGO_BIN_EXE_countersign"), &program).unwrap();
        set_mode(&program, 0o755);
        let (config, socket) = (folder.join("countersign.toml"), folder.join("run/agents.sock"));
        let text = format!(
            "[listen]\nagents = \"127.0.0.1:0\"\npeople = \"127.0.0.1:0\"\nsocket = {socket:?}\n\
             socket_mode = \"0660\"\nsocket_group = {:?}\n[doctor]\nevery_hours = 0\n",
            accounts.group
        );
        fs::write(&config, text).unwrap();
        chown(&config, Some(0), Some(gid)).unwrap();
        set_mode(&config, 0o640);
        let mut command = Accounts::command(&accounts.daemon, &accounts.group);
        command.arg(&program).args(["serve", "--json", "--config"]).arg(&config);
        command.arg("--state").arg(folder.join("state")).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        let people = line["people"].as_str().unwrap().to_owned();
        // What an administrator does for the agent's user: the daemon's public key is pinned.
        let pinned = folder.join("home/.config/countersign");
        fs::create_dir_all(&pinned).unwrap();
        fs::copy(folder.join("state/daemon.pub"), pinned.join("daemon.pub")).unwrap();
        set_mode(&pinned.join("daemon.pub"), 0o644);
        OwnUserDaemon { child, folder: folder.to_owned(), people }
    }

    /// The level and the failed checks that the agent's user sees.
    fn doctor(&self, user: &str, groups: &str) -> (String, Vec<String>) {
        let mut command = Accounts::command(user, groups);
        let socket = format!("unix:{}", self.folder.join("run/agents.sock").display());
        command.arg(self.folder.join("bin/countersign")).args(["doctor", "--json"]);
        command.args(["--agents", &socket, "--people", &self.people]);
        command.env("HOME", self.folder.join("home")).current_dir("/");
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let report: Value = serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{e}: {text} {}", String::from_utf8_lossy(&output.stderr)));
        let checks = report["checks"].as_array().unwrap().iter();
        let say = |check: &Value| check["say"].as_str().unwrap().to_owned();
        // Nothing can be approved here: the output of this daemon is no terminal.
        let bad = checks.filter(|check| check["mark"] == "bad").map(say);
        let bad = bad.filter(|say| !say.starts_with("Nothing can be approved"));
        (report["level"].as_str().unwrap().to_owned(), bad.collect())
    }
}

impl Drop for OwnUserDaemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn each_reason_why_a_level_is_not_reached_is_named() {
    if !rustix::process::getuid().is_root() {
        return skip(Cause::Machine, "only root can create the two users");
    }
    let Some(accounts) = Accounts::create() else {
        return skip(Cause::Machine, "the two users cannot be created");
    };
    let folder = tempfile::tempdir().unwrap();
    let daemon = OwnUserDaemon::start(folder.path(), &accounts);
    let Accounts { agent, group, .. } = &accounts;
    assert_eq!(daemon.doctor(agent, group), ("R1".to_owned(), Vec::new()));
    // As the daemon's own user, and as root.
    assert_eq!(daemon.doctor(&accounts.daemon, group).0, "R0");
    assert_eq!(daemon.doctor("root", group).0, "R0");
    // A user whom the socket does not let in cannot confirm any level.
    assert_eq!(daemon.doctor("nobody", &id("-g", "nobody").to_string()).0, "R0");

    let at = |name: &str| folder.path().join(name);
    for (name, broken, intact, reason) in [
        ("state", 0o755, 0o700, "can read the state folder"),
        ("state", 0o703, 0o700, "can change the state folder"),
        ("countersign.toml", 0o644, 0o640, "can read the configuration"),
        ("countersign.toml", 0o642, 0o640, "can change the configuration"),
        ("bin/countersign", 0o757, 0o755, "can change the program"),
        ("bin", 0o757, 0o755, "can change the program"),
        ("run", 0o757, 0o755, "can change the folder of the socket"),
    ] {
        set_mode(&at(name), broken);
        let (level, reasons) = daemon.doctor(agent, group);
        set_mode(&at(name), intact);
        assert_eq!(level, "R0", "{name}: {reasons:?}");
        assert!(reasons.iter().any(|say| say.contains(reason)), "{reason}: {reasons:?}");
    }
    let own = id("-g", &accounts.daemon);
    for (number, reason) in [(0, "in the group root"), (own, "group of the daemon")] {
        let (level, reasons) = daemon.doctor(agent, &format!("{group},{number}"));
        assert_eq!(level, "R0", "{reasons:?}");
        assert!(reasons.iter().any(|say| say.contains(reason)), "{reason}: {reasons:?}");
    }
    assert_eq!(daemon.doctor(agent, group).0, "R1");
}
